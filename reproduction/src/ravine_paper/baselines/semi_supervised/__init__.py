"""Semi-supervised classifiers that the paper compares with."""
