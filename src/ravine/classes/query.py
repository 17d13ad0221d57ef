"""Unlabelled rows whose labels would help most."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import check_choice, check_integer
from ravine.rows import Rows

STRATEGIES = ("diverse", "uncertainty", "change", "density")
# Rows beside which distances are measured: the most uncertain ones, or an even sample for the density.
MOST_CANDIDATES = 2_000
# Diverse rows are chosen among this many times as many uncertain ones.
CANDIDATES_PER_ROW = 10


@dataclass(frozen=True)
class Units:
    """Coordinates in which squares of rows neither overflow nor vanish.

    Attributes
    ----------
    center : ndarray of shape (d,)
    scale : float
    """

    center: Array
    scale: float

    @classmethod
    def of(cls, rows: Rows, indices: NDArray[np.intp]) -> Units:
        """Measure an even sample of some rows."""
        few = rows.take(_space_evenly(indices)).astype(np.float64)
        largest = float(np.abs(few).max(initial=0.0)) or 1.0
        center = (few / largest).mean(axis=0) * largest
        return cls(center, float(np.abs(few - center).max(initial=0.0)) or 1.0)

    def apply(self, block: Any) -> Array:
        """Return rows in these coordinates, as an array."""
        dense = np.asarray(block.toarray() if hasattr(block, "toarray") else block, dtype=np.float64)
        return np.asarray((dense - self.center) / self.scale)


def choose_rows(
    rows: Rows,
    indices: NDArray[np.intp],
    predict_proba: Callable[[Any], Array],
    n: Any,
    strategy: Any,
) -> NDArray[np.intp]:
    """Choose the rows whose labels would help most, the most helpful first.

    Parameters
    ----------
    rows : Rows
    indices : ndarray of shape (m,)
        Unlabelled rows.
    predict_proba : callable
    n : int
        Number of rows to choose.
    strategy : {"diverse", "uncertainty", "change", "density"}
    """
    check_choice("strategy", strategy, STRATEGIES)
    n = check_integer("n", n, low=1)
    if n > len(indices):
        raise ValueError(f"n={n} is more than the {len(indices)} rows of X: ask for at most as many.")
    p = np.sort(np.asarray(rows.apply(predict_proba, indices)), axis=1)
    doubt = 1.0 - (p[:, -1] - p[:, -2])  # 1 at the border of two classes, 0 where a class is certain
    if strategy == "change":
        doubt = (1.0 - (p**2).sum(axis=1)) * _measure_lengths(rows, indices)
    elif strategy == "density":
        doubt = doubt * _measure_densities(rows, indices)
    order = np.argsort(-doubt, kind="stable")
    if strategy == "diverse" and n > 1:
        few = np.sort(order[: min(max(CANDIDATES_PER_ROW * n, n), max(MOST_CANDIDATES, n))])
        order = few[_spread(Units.of(rows, indices).apply(rows.take(indices[few])), doubt[few], n)]
    return np.asarray(indices[order[:n]])


def _measure_lengths(rows: Rows, indices: NDArray[np.intp]) -> Array:
    """Return the lengths of the rows and a constant 1, for features of mean 0 and a mean variance of 1.

    The expected change of a linear classifier by a label is proportional to this.
    """
    units = Units.of(rows, indices)
    few = units.apply(rows.take(_space_evenly(indices)))
    center, variance = few.mean(axis=0), float(few.var(axis=0).mean()) or 1.0

    def measure(block: Any) -> Array:
        return np.asarray(np.sqrt(1.0 + ((units.apply(block) - center) ** 2).mean(axis=1) / variance))

    return np.asarray(rows.apply(measure, indices))


def _measure_densities(rows: Rows, indices: NDArray[np.intp]) -> Array:
    """Return the mean similarity of each row to an even sample of the rows."""
    units = Units.of(rows, indices)
    few = units.apply(rows.take(_space_evenly(indices)))
    squares = (few**2).sum(axis=1)
    width = 2.0 * float(few.var(axis=0).sum()) or 1.0

    def measure(block: Any) -> Array:
        dense = units.apply(block)
        distances = (dense**2).sum(axis=1)[:, None] - 2.0 * dense @ few.T + squares
        return np.asarray(np.exp(-np.maximum(distances, 0.0) / width).mean(axis=1))

    return np.asarray(rows.apply(measure, indices))


def _space_evenly(indices: NDArray[np.intp]) -> NDArray[np.intp]:
    return indices[:: max(1, -(-len(indices) // MOST_CANDIDATES))]


def _spread(rows: Array, doubt: Array, n: int) -> NDArray[np.intp]:
    """Choose rows one by one: the most doubtful, then those of large doubt times the distance to the chosen ones."""
    chosen = [int(np.argmax(doubt))]
    nearest = np.full(len(rows), np.inf)
    for _ in range(n - 1):
        nearest = np.minimum(nearest, np.sqrt(((rows - rows[chosen[-1]]) ** 2).sum(axis=1)))
        gain = doubt * nearest
        gain[chosen] = -1.0
        chosen.append(int(np.argmax(gain)))
    return np.array(chosen, dtype=np.intp)
