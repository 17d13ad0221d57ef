"""Rows with two pairs of clusters: the test shows the pairs, and a valley divides one of them."""

from sklearn.datasets import make_blobs
from sklearn.preprocessing import StandardScaler

CENTRES = [[0, 0, 0, 0], [12, 0, 0, 0], [0, 4.0, 0, 0], [12, 4.0, 0, 0]]
N_SHOWN, N_SUGGESTED = 2, 3


def simulate_pairs():
    """Return standardised rows and the cluster of each."""
    X, y = make_blobs([40, 40, 40, 40], centers=CENTRES, random_state=2)
    return StandardScaler().fit_transform(X), y
