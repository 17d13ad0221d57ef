"""Growing subsamples of the rows for the multilevel scheme."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.checks import check_integer

__all__ = ["check_subsample", "draw_subsamples"]

# Number of rows in the first subsample, by default.
SUBSAMPLE = 10_000
# A subsample must be smaller than all rows by this factor to be worth a second optimisation.
WORTHWHILE = 4
# Each later subsample is larger than the one before, and smaller than all rows, by this factor.
GROWTH = 10


def check_subsample(subsample: Any) -> int | None:
    """Return the number of rows in the first subsample; None for no subsamples."""
    if isinstance(subsample, str) and subsample != "auto":
        raise ValueError(f"subsample must be an integer >= 2, 'auto' or None, got {subsample!r}.")
    if subsample is None or isinstance(subsample, str):
        return SUBSAMPLE if subsample == "auto" else None
    return check_integer("subsample", subsample, low=2)


def draw_subsamples(n: int, size: int | None, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Draw nested random subsets of the rows, each sorted; none if all rows are few enough.

    Parameters
    ----------
    n : int
        Number of rows.
    size : int or None
        Number of rows in the first subset; None for no subsets.
    """
    if size is None or n < WORTHWHILE * size:
        return []
    sizes = [size]
    while sizes[-1] * GROWTH * GROWTH <= n:
        sizes.append(sizes[-1] * GROWTH)
    chosen = rng.choice(n, sizes[-1], replace=False, shuffle=True)
    return [np.sort(chosen[:k]) for k in sizes]
