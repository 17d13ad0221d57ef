"""Baselines: any rows give labels, or an error that explains."""

from __future__ import annotations

import numpy as np

from fuzz.targets.estimators import write_labels
from fuzz.targets.rows import choose, write_rows

__all__ = ["write_baseline"]

CLUSTERERS = {
    "PDDP": ["", "3", "1"],
    "DePDDP": ["", "3", "'auto'", "spread='percentile'", "3, min_cluster_size=1"],
    "PdfCluster": ["", "3", "'auto'", "graph='delaunay'", "graph='pairs'"],
    "SelfTuningSpectral": ["", "3", "n_neighbors=2", "3, n_landmarks=10"],
    "LDAKMeans": ["", "3", "weighted=False", "3, n_init=3"],
    "IterativeSVR": ["", "kernel='rbf'", "3", "kernel='rbf', max_exact=5, n_components=4"],
}
CLASSIFIERS = {
    "LaplacianSVM": ["penalty=0.01, manifold_ratio=9.0", ""],
    "SSSL": ["n_components=2", ""],
    "XNV": ["penalty=0.1", ""],
    "GradientTSVM": ["C=1.0", ""],
}
RANDOM = {"SelfTuningSpectral", "LDAKMeans", "IterativeSVR", "LaplacianSVM", "SSSL", "XNV", "GradientTSVM"}
CHECK_CLUSTERS = """
assert model.labels_.shape == ({n},)
assert model.labels_.min() >= 0
if hasattr(model, "predict"):
    assert np.array_equal(model.predict(X), model.labels_), "predict differs from labels_"
"""
CHECK_CLASSES = """
labels = model.predict(X)
assert labels.shape == ({n},)
assert set(labels.tolist()) <= set(model.classes_.tolist())
assert not np.isnan(model.decision_function(X)).any(), "NaN in decision_function"
"""


def write_baseline(rng: np.random.Generator) -> str:
    """Write a script that fits one of the methods that the paper compares with."""
    rows = write_rows(rng)
    is_clusterer = rng.random() < 0.6
    table = CLUSTERERS if is_clusterer else CLASSIFIERS
    name = choose(rng, list(table))
    parameters = ", ".join(filter(None, [choose(rng, table[name]), "random_state=0" if name in RANDOM else ""]))
    labels = "" if is_clusterer else write_labels(rng, rows.n_rows)
    arguments = "X" if is_clusterer else "X, y"
    lines = f"\nfrom ravine_paper.baselines import {name}\nmodel = {name}({parameters}).fit({arguments})"
    return rows.text + labels + lines + (CHECK_CLUSTERS if is_clusterer else CHECK_CLASSES).format(n=rows.n_rows)
