"""The theory of the paper, as code: margins, shrinking bandwidths, stationarity."""
