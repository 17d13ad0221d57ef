"""Growing subsets of the rows for the multilevel scheme."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["SUBSAMPLE", "subsample_levels"]

# Rows on which paths are followed when there are many.
SUBSAMPLE = 10_000
# The subset must be smaller than all rows by this factor to be worth a second optimisation.
WORTHWHILE = 4
# Each later level has this many times the rows of the one before, and is no larger than this fraction of all rows.
GROWTH = 10


def subsample_levels(n: int, size: int | None, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Nested random subsets of the rows, each sorted; none where all rows are few enough.

    Parameters
    ----------
    n : int
        Number of rows.
    size : int or None
        Rows of the first subset; None for no subsets.
    rng : numpy.random.Generator
    """
    if size is None or n < WORTHWHILE * size:
        return []
    sizes = [size]
    while sizes[-1] * GROWTH * GROWTH <= n:
        sizes.append(sizes[-1] * GROWTH)
    chosen = rng.choice(n, sizes[-1], replace=False, shuffle=True)
    return [np.sort(chosen[:k]) for k in sizes]
