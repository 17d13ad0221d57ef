"""The valley test: evidence that a split is real, by cross-fitting."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from ravine.hyperplane import Hyperplane
from ravine.rows import Rows
from ravine.search import SearchSettings, fit_hyperplane
from ravine.validity.folds import pool_folds
from ravine.validity.halves import cross_fit
from ravine.validity.results import ValleyTest

__all__ = ["TEST_METHODS", "run_valley_test"]

TEST_METHODS = "pooled", "exact"


def run_valley_test(
    rows: Rows,
    n_splits: int,
    settings: SearchSettings,
    rng: np.random.Generator,
    pool: ThreadPoolExecutor | None = None,
    method: str = "pooled",
    level: float = 0.05,
) -> ValleyTest:
    """Test whether rows have a valley, with hyperplanes found by MDP².

    Parameters
    ----------
    rows : Rows
    n_splits : int
        Number of random halvings of the exact test; the pooled test makes up to eight partitions for each.
    settings : SearchSettings
    rng : numpy.random.Generator
    pool : ThreadPoolExecutor, optional
        Threads for the fits; those of the settings by default.
    method : {"pooled", "exact"}
    level : float
        Level near which P is most precise: the pooled test stops when it is clearly above or below.
    """
    rows = rows.densify_if_small()
    quiet = replace(settings, callback=None)
    if method == "pooled":
        return pool_folds(rows, quiet, n_splits, rng, pool, level)

    def find(half: NDArray[np.intp], rng: np.random.Generator) -> Hyperplane:
        return fit_hyperplane(rows.subset(half), settings=quiet, rng=rng, pool=pool).hyperplane

    return cross_fit(rows, find, n_splits, rng)
