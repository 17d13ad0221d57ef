"""Clustering methods that the paper compares with."""
