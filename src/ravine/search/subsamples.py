"""Growing subsamples of the rows for the multilevel scheme."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

__all__ = ["draw_subsamples", "resolve_subsample"]

# Number of rows in the first subsample, by default.
SUBSAMPLE = 10_000
# A subsample must be smaller than all rows by this factor to be worth a second optimisation.
WORTHWHILE = 4
# Each later subsample is larger than the one before, and smaller than all rows, by this factor.
GROWTH = 10


def resolve_subsample(subsample: int | str | None) -> int | None:
    """Return the number of rows in the first subsample; None for no subsamples."""
    if subsample is None:
        return None
    return SUBSAMPLE if isinstance(subsample, str) else int(subsample)


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
