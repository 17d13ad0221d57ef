"""Clustering study of the paper: Table 2, its figures and the statements about it."""
