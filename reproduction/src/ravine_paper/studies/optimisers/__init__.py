"""Comparison of the optimisers: cost, value of the index and stationarity, from the same starts."""
