"""Clusterers that a practitioner would take instead of MinimumDensityTree, and figures published for others."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np
from sklearn.cluster import HDBSCAN, AgglomerativeClustering, BisectingKMeans, KMeans, SpectralClustering
from sklearn.metrics import adjusted_rand_score
from sklearn.mixture import GaussianMixture

from ravine import MinimumDensityTree

__all__ = ["AUTOMATIC", "GIVEN_K", "PUBLISHED", "score"]


def _make_mixture(kind: str) -> Callable[[int, int], GaussianMixture]:
    return lambda k, seed: GaussianMixture(k, covariance_type=kind, n_init=3, random_state=seed)


# Number of clusters and seed -> clusterer.
GIVEN_K: dict[str, Callable[[int, int], object]] = {
    "tree": lambda k, seed: MinimumDensityTree(k, random_state=seed),
    "KMeans": lambda k, seed: KMeans(k, n_init=10, random_state=seed),
    "bisecting KMeans": lambda k, seed: BisectingKMeans(k, n_init=10, random_state=seed),
    "GMM full": _make_mixture("full"),
    "GMM tied": _make_mixture("tied"),
    "GMM diagonal": _make_mixture("diag"),
    "Ward": lambda k, _: AgglomerativeClustering(k),
    "spectral": lambda k, seed: SpectralClustering(k, affinity="nearest_neighbors", random_state=seed),
}
# Number of rows and seed -> clusterer.
AUTOMATIC: dict[str, Callable[[int, int], object]] = {
    "tree, auto": lambda _, seed: MinimumDensityTree(random_state=seed),
    "tree, shown": lambda _, seed: MinimumDensityTree("shown", random_state=seed),
    "HDBSCAN": lambda n, _: HDBSCAN(min_cluster_size=max(5, n // 100), copy=True),
}
# PPCI 0.1.5 (R), one run on each standardised set with the number of classes given.
PUBLISHED: dict[str, dict[str, float]] = {
    "PPCI mddc": {
        "banknote": 0.01, "breast_cancer": 0.88, "forest": 0.63, "image_seg": 0.53, "ionosphere": 0.18,
        "optidigits": 0.65, "pendigits": 0.65, "satellite": 0.56, "seeds": 0.73, "synth_control": 0.59, "voting": 0.50,
        "wine": 0.67, "yeast": 0.51,
    },
    "PPCI ncutdc": {
        "banknote": 0.01, "breast_cancer": 0.88, "forest": 0.29, "image_seg": 0.46, "ionosphere": 0.18,
        "optidigits": 0.65, "pendigits": 0.62, "satellite": 0.51, "seeds": 0.75, "synth_control": 0.61, "voting": 0.55,
        "wine": 0.61, "yeast": 0.58,
    },
    "PPCI mcdc": {
        "banknote": 0.87, "breast_cancer": 0.78, "forest": 0.51, "image_seg": 0.52, "ionosphere": 0.18,
        "optidigits": 0.59, "pendigits": 0.63, "satellite": 0.63, "seeds": 0.86, "synth_control": 0.69, "voting": 0.47,
        "wine": 0.59, "yeast": 0.48,
    },
}  # fmt: skip


def score(method: str, X: np.ndarray, y: np.ndarray, seed: int) -> list[float]:
    """Return the adjusted Rand index with the classes and the number of clusters.

    HDBSCAN's noise is one more group. A mixture whose components collapse has an index of 0 and no clusters.
    """
    n_classes = len(np.unique(y))
    model = GIVEN_K[method](n_classes, seed) if method in GIVEN_K else AUTOMATIC[method](len(X), seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            labels = model.fit_predict(X)  # type: ignore[attr-defined]
        except ValueError:
            if not isinstance(model, GaussianMixture):
                raise
            return [0.0, 0.0]
    return [float(adjusted_rand_score(y, labels)), float(len(set(labels.tolist()) - {-1}))]
