"""Rows near a hyperplane: which they are, and which of them stay if they are too many to gather."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.questions import RowsIn

__all__ = ["RowCollector", "find_near", "thin"]

# Its multiples, modulo 1, are spread evenly over any regular choice of rows: they replace random numbers.
GOLDEN_RATIO = 0.6180339887498949
# Rows move when the normal turns, so they are chosen by a kernel that is wider than the bandwidth by this factor.
WIDER = 2.0


def find_near(p: Array, r: RowsIn) -> NDArray[np.intp]:
    """Return the places of the projections within reach of b."""
    return np.flatnonzero(np.abs(p - r.b) <= r.reach)


def thin(
    places: NDArray[np.intp], p: Array, weights: Array | None, r: RowsIn
) -> tuple[NDArray[np.intp] | slice, Array | None]:
    """Choose at most ``r.most`` rows; return which of them, and weights that make up for the others.

    A row stays with a probability in proportion to its share in a density at b (priority sampling, Duffield, Lund &
    Thorup 2007), so that the rows that matter most are the likeliest to stay.

    Parameters
    ----------
    places : ndarray of shape (m,), int
        Numbers of the rows, in place of random numbers: the choice depends on nothing else.
    p : ndarray of shape (m,)
        Their projections.
    weights : ndarray of shape (m,) or None
    r : RowsIn
    """
    if len(places) <= r.most:
        return slice(None), weights
    share, priority = _rank(places, p, weights, r)
    threshold = np.partition(priority, int(r.most))[int(r.most)]
    kept = np.flatnonzero(priority < threshold)
    factors = np.exp(np.maximum(-threshold - share[kept], 0.0))
    return kept, factors if weights is None else factors * weights[kept]


def _rank(places: NDArray[np.intp], p: Array, weights: Array | None, r: RowsIn) -> tuple[Array, Array]:
    """Return the logarithms of the share of each row in a wider density at b, and of its priority (lowest first)."""
    share = -0.5 * ((p - r.b) / (WIDER * r.bandwidth)) ** 2
    if weights is not None:
        share += np.log(weights)
    return share, np.log((places + 1.0) * GOLDEN_RATIO % 1.0) - share


class RowCollector:
    """Rows near a hyperplane that come block by block; of too many, only those that `thin` may choose are kept."""

    def __init__(self, r: RowsIn) -> None:
        self.request = r
        self._parts: list[tuple[Any, ...]] = []
        self._count = 0

    def add(self, rows: NDArray[Any], places: NDArray[np.intp], p: Array, weights: Array | None) -> None:
        """Add rows near the hyperplane."""
        self._parts.append((rows, places, p, weights))
        self._count += len(rows)
        if self._count > 2 * self.request.most:
            rows, places, p, weights = self._join()
            _, priority = _rank(places, p, weights, self.request)
            most = int(self.request.most) + 1  # the first that does not stay determines the weights
            kept = np.sort(np.argpartition(priority, most)[:most])
            self._parts = [(rows[kept], places[kept], p[kept], None if weights is None else weights[kept])]
            self._count = most

    def finish(self) -> tuple[NDArray[Any], Array | None]:
        """Return the chosen rows and their weights."""
        rows, places, p, weights = self._join()
        kept, weights = thin(places, p, weights, self.request)
        return rows[kept], weights

    def _join(self) -> tuple[NDArray[Any], NDArray[np.intp], Array, Array | None]:
        """Join the parts, and forget each as soon as it is copied."""
        first = self._parts[0]
        rows = np.empty((self._count, first[0].shape[1]), np.result_type(*{part[0].dtype for part in self._parts}))
        places, p, weights = (
            None if first[k] is None else np.concatenate([part[k] for part in self._parts]) for k in (1, 2, 3)
        )
        start = 0
        for k, (block, *_) in enumerate(self._parts):
            rows[start : start + len(block)] = block
            start += len(block)
            self._parts[k] = ()
        return rows, places, p, weights  # type: ignore[return-value]
