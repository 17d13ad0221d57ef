"""Success ratio and binary V-measure of a bi-partition, as the paper defines them."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import v_measure_score
from sklearn.metrics.cluster import contingency_matrix

__all__ = ["score_bipartition"]


def score_bipartition(y_true: ArrayLike, labels: ArrayLike) -> tuple[float, float]:
    """Success ratio (eq. SR) and binary V-measure of two clusters against any number of true ones."""
    table = contingency_matrix(y_true, labels)  # one row for each true cluster
    if table.shape[1] < 2:
        return 0.0, 0.0
    smaller = int(np.argmin(table.sum(axis=0)))
    side = np.where(table[:, 0] == table[:, 1], smaller, np.argmax(table, axis=1))
    merged = np.stack([table[side == k].sum(axis=0) for k in (0, 1)], axis=1)  # side x aggregate cluster
    error = min(np.trace(merged), merged[0, 1] + merged[1, 0])  # eq. error
    success = merged.max(axis=1).min() if len(set(side.tolist())) > 1 else 0  # eq. success
    _, codes = np.unique(np.asarray(y_true), return_inverse=True)
    ratio = success / (success + error) if success + error else 0.0
    return float(ratio), float(v_measure_score(side[codes], labels))
