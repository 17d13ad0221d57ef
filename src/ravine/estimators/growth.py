"""Rows, splitter and options of one growth of MinimumDensityTree, which its steps share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._kernels import StopFlag
from ravine._typing import Array
from ravine.estimators.cluster_sizes import SizeLimits
from ravine.rows import Rows
from ravine.tree import Splitter, Tree, grow
from ravine.tree.constraints import Constraints

__all__ = ["Growth"]


@dataclass(frozen=True)
class Growth:
    """Rows, splitter and options of one growth.

    Attributes
    ----------
    rows : Rows
    n_clusters : int or None
        Number of clusters, or None if tests decide.
    weights : ndarray of shape (n,) or None
    splitter : Splitter
    limits : SizeLimits
    constraints : Constraints or None
    rng : numpy.random.Generator
    seed : int
    n_threads : int
        Number of nodes that are split at the same time.
    notify : callable or None
        Called with every tree.
    flag : StopFlag
        Stops the threads.
    """

    rows: Rows
    n_clusters: int | None
    weights: Array | None
    splitter: Splitter
    limits: SizeLimits
    constraints: Constraints | None
    rng: np.random.Generator
    seed: int
    n_threads: int
    notify: Callable[[Tree], object] | None
    flag: StopFlag

    @property
    def options(self) -> dict[str, Any]:
        """Options of `grow` that all steps share."""
        return {
            "seed": self.seed,
            "min_cluster_size": self.limits.smallest,
            "n_threads": self.n_threads,
            "notify": self.notify,
            "flag": self.flag,
            "weights": self.weights,
        }

    def split_leaves(
        self, splitter: Splitter, tree: Tree, leaves: NDArray[np.intp], **options: Any
    ) -> tuple[Tree, NDArray[np.intp]]:
        """Split leaves of a tree until the splitter finds no split, or until options of `grow` end it."""
        defaults = {"n_clusters": None, "priority": None, "start": (tree, leaves)}
        return grow(self.rows, splitter, **{**self.options, **defaults, **options})
