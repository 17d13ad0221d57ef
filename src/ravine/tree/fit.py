"""From rows to a tree of clusters: cells, convex growth, refinement, constraints and suggestion, in this order.

Read `fit_tree` first.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._kernels import StopFlag
from ravine._typing import Array
from ravine.rows import Rows, open_pool
from ravine.search import SearchSettings
from ravine.tree.constraints import Constraints, SizeLimits
from ravine.tree.grow import PRIORITIES, Candidate, Priority, Splitter, grow, split_rows
from ravine.tree.joined_cells import JoinedCells, build_tree, choose_shape, find_curved, find_joined_cells
from ravine.tree.linked_splits import ConstrainedSplitter, LabelSplitter, complete_constraints, join_leaves
from ravine.tree.neighbours import NeighbourGraph
from ravine.tree.nodes import Tree
from ravine.tree.refine import refine_tree
from ravine.tree.splitter import DensitySplitter, NodeTest, SizeLimitSplitter, prefer_large
from ravine.tree.stability import suggest_tree
from ravine.validity.valley_test import FEWEST_ROWS

Indices = NDArray[np.intp]
Partition = tuple[Tree, Indices]


@dataclass(frozen=True)
class TreeSettings:
    """Settings of `fit_tree`.

    Attributes
    ----------
    n_clusters : int or None
        Number of clusters; None if tests decide.
    splitter : SearchSettings or Splitter
        Settings of the searches for hyperplanes, or an object that splits.
    limits : SizeLimits
    test : {"pooled", "exact"} or None
        Test of every split; None for none.
    n_splits : int
        Number of repetitions of each test.
    level : float
        Level of the tests that decide.
    split_next : str or callable
        Name in `PRIORITIES`, or a priority.
    shape : {"auto", "convex", "any"}
    refine : bool
    is_suggested : bool
        Whether the suggested tree is the result, if tests decide.
    """

    n_clusters: int | None
    splitter: SearchSettings | Splitter
    limits: SizeLimits
    test: str | None = None
    n_splits: int = 1
    level: float = 0.05
    split_next: str | Callable[[Candidate], float] = "cut"
    shape: str = "auto"
    refine: bool = True
    is_suggested: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.splitter, SearchSettings):
            if self.limits.largest is not None:
                raise ValueError("max_cluster_size needs a hyperplane that is a MinimumDensityHyperplane.")
            if self.n_clusters is None:
                raise ValueError(
                    "n_clusters must be a number if hyperplane is an object that splits: only a "
                    "MinimumDensityHyperplane tests its splits."
                )

    @property
    def priority(self) -> Priority | None:
        """Priority of the leaves to split."""
        return self.split_next if callable(self.split_next) else PRIORITIES[self.split_next]

    def make_splitter(self, weights: Array | None = None) -> Splitter:
        """Return a new splitter.

        For splits, ``init="auto"`` means ``"axes"``: it takes a third of the time, and deeper hyperplanes do not make
        better trees. Tests use ``"auto"``.
        """
        if not isinstance(self.splitter, SearchSettings):
            if weights is not None:
                raise ValueError(
                    "sample_weight needs a hyperplane that is a MinimumDensityHyperplane: other objects that split are "
                    "called without weights."
                )
            return self.splitter
        test, search = None, self.splitter
        if self.test is not None:
            if weights is not None:
                raise ValueError(
                    "sample_weight cannot be used with tests: they count rows, and repeated rows are not independent "
                    "evidence. Give n_clusters a number, and a hyperplane without test."
                )
            test = NodeTest(search, self.n_splits, self.test, self.level if self.n_clusters is None else None)
        if isinstance(search.init, str) and search.init == "auto":
            search = replace(search, init="axes")
        return DensitySplitter(search, test, min_size=self.limits.smallest, weights=weights)


@dataclass(frozen=True)
class TreeFit:
    """Result of `fit_tree`.

    Attributes
    ----------
    tree : Tree
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    shape : {"convex", "any"}
        Shape of the clusters.
    shape_reason : str
        Why, as a sentence.
    n_separated : int
        Number of clusters that valleys separate.
    n_shown : int
        Number of clusters that tests show.
    suggested : tuple of Tree and ndarray of shape (n,), or None
        Tree with the suggested number of clusters and its leaves, if tests decide.
    """

    tree: Tree
    leaves: Indices
    shape: str
    shape_reason: str
    n_separated: int
    n_shown: int = 1
    suggested: Partition | None = None


def fit_tree(
    rows: Rows,
    weights: Array | None = None,
    constraints: Constraints | None = None,
    *,
    settings: TreeSettings,
    rng: np.random.Generator,
    n_threads: int = 1,
    notify: Callable[[Tree], object] | None = None,
) -> TreeFit:
    """Find clusters by a tree of minimum density hyperplanes.

    Cells of any shape come first. Unless they are clearly not convex, a tree of convex clusters is grown, and the two
    are compared. A convex tree then meets the constraints, or is continued to the number of clusters that is suggested.

    Parameters
    ----------
    rows : Rows
    weights : ndarray of shape (n,), optional
    constraints : Constraints, optional
    settings : TreeSettings
    rng : numpy.random.Generator
    n_threads : int
    notify : callable, optional
        Called with every tree.
    """
    work = _Work(rows, weights, constraints, settings, settings.make_splitter(weights), rng, n_threads, notify)
    with open_pool(n_threads, work.flag) as pool:
        groups = _find_joined_cells(work)
        reason = _decide_before_growth(groups, settings.shape)
        if not reason:
            tree, leaves, n_separated = _grow_convex(work, pool)
            use_joined, reason = _decide_after_growth(groups, tree, leaves, settings)
            if not use_joined:
                return _continue_growth(work, TreeFit(tree, leaves, "convex", reason, n_separated, tree.n_clusters))
    assert isinstance(groups, JoinedCells)
    joined, leaves = build_tree(groups, rows, work.bandwidth)
    if notify is not None:
        notify(joined)
    n_separated = min(groups.count_separated(), joined.n_clusters)
    suggested = (joined, leaves) if settings.n_clusters is None else None
    return TreeFit(joined, leaves, "any", reason, n_separated, joined.n_clusters, suggested)


class _Work:
    """Inputs of one growth, which its steps share."""

    def __init__(
        self,
        rows: Rows,
        weights: Array | None,
        constraints: Constraints | None,
        settings: TreeSettings,
        splitter: Splitter,
        rng: np.random.Generator,
        n_threads: int,
        notify: Callable[[Tree], object] | None,
    ) -> None:
        self.rows, self.weights, self.constraints, self.settings = rows, weights, constraints, settings
        self.splitter, self.rng, self.notify, self.flag = splitter, rng, notify, StopFlag()
        self.seed = int(rng.integers(2**31))
        # Options of `grow` that all steps share.
        self.options: dict[str, Any] = {
            "seed": self.seed,
            "min_cluster_size": settings.limits.smallest,
            "n_threads": rows.node_threads(n_threads),
            "notify": notify,
            "flag": self.flag,
            "weights": weights,
        }

    @property
    def bandwidth(self) -> Any:
        """Rule for the density on hyperplanes that no search found."""
        search = self.settings.splitter
        return search.bandwidth if isinstance(search, SearchSettings) else "silverman"

    def split_leaves(self, splitter: Splitter, tree: Tree, leaves: Indices, **options: Any) -> Partition:
        """Split leaves of a tree until the splitter finds no split, or until options of `grow` end it."""
        defaults = {"n_clusters": None, "priority": None, "start": (tree, leaves)}
        return grow(self.rows, splitter, **{**self.options, **defaults, **options})


# --------------------------------------------------------------------------------------------------- joined cells


def _find_joined_cells(work: _Work) -> JoinedCells | str:
    """Find clusters of any shape, unless the settings exclude it; then return the reason."""
    obstacle = _find_obstacle(work)
    if obstacle and work.settings.shape == "any":
        raise ValueError(
            f"shape='any' cuts cells of its own and does not test them, but {obstacle}: use shape='convex', or leave "
            "that out."
        )
    if obstacle:
        return obstacle
    # A generator of its own, so that convex clusters do not depend on the shape that is asked for.
    rng, settings = np.random.default_rng([work.seed, 1]), work.settings
    return find_joined_cells(work.rows, settings.n_clusters, settings.limits.smallest, rng, work.flag, settings.level)


def _find_obstacle(work: _Work) -> str:
    """Return why cells cannot be joined, as a part of a sentence; empty if they can be."""
    settings = work.settings
    is_tested = settings.test is not None
    obstacles = {
        "shape='convex'": settings.shape == "convex",
        "hyperplane is not a MinimumDensityHyperplane": not isinstance(settings.splitter, SearchSettings),
        f"split_next={settings.split_next!r}": settings.split_next != "cut",
        "sample_weight is given": work.weights is not None,
        "labels or links are given": work.constraints is not None,
        f"max_cluster_size={settings.limits.largest}": settings.limits.largest is not None,
        "splits are tested": is_tested and settings.n_clusters is not None,
        "the test is exact": settings.test == "exact" and settings.n_clusters is None,
    }
    return next((name for name, applies in obstacles.items() if applies), "")


def _decide_before_growth(groups: JoinedCells | str, shape: str) -> str:
    """Return why joined cells are used without a tree of convex clusters to compare with; empty if they are not."""
    if isinstance(groups, str):
        return ""
    return "Set by shape='any'." if shape == "any" else find_curved(groups)


def _decide_after_growth(
    groups: JoinedCells | str, tree: Tree, leaves: Indices, settings: TreeSettings
) -> tuple[bool, str]:
    """Return whether joined cells replace a tree of convex clusters, and why."""
    if settings.shape == "convex":
        return False, "Set by shape='convex'."
    if isinstance(groups, str):
        return False, f"Cells are not joined: {groups}."
    return choose_shape(groups, tree, leaves, settings.n_clusters)


# --------------------------------------------------------------------------------------------------- convex clusters


def _grow_convex(work: _Work, pool: ThreadPoolExecutor | None) -> tuple[Tree, Indices, int]:
    """Grow and refine a tree of convex clusters; return it, the leaves and the number that valleys separate."""
    settings, splitter, rows = work.settings, work.splitter, work.rows
    n_clusters, largest, priority = settings.n_clusters, settings.limits.largest, settings.priority
    is_default = isinstance(splitter, DensitySplitter)
    is_tested = isinstance(splitter, DensitySplitter) and splitter.test is not None
    # Splits stay as they were tested, and as a splitter of the user made them.
    refine = settings.refine and is_default and not is_tested and work.constraints is None
    chooses, graph = settings.split_next == "cut", None
    if chooses or callable(settings.split_next):
        graph = NeighbourGraph(rows, n_clusters, work.rng, work.weights, spread=not is_tested)
    grower = splitter
    if isinstance(splitter, DensitySplitter):
        splitter.pool, splitter.graph = pool, graph if chooses else None
        if largest is not None and n_clusters is not None:
            grower = SizeLimitSplitter(splitter, largest, is_exclusive=False)
    if work.constraints is not None:
        grower = ConstrainedSplitter(grower, work.constraints, settings.limits.smallest)
    if largest is not None and priority is not None:
        priority = prefer_large(priority, largest, rows.shape[0])
    grown, leaves = grow(rows, grower, n_clusters=n_clusters, priority=priority, graph=graph, **work.options)
    tree = grown
    if refine and graph is not None and chooses and n_clusters is not None:
        sizes = settings.limits.smallest, float("inf") if largest is None else largest
        tree, leaves = refine_tree(grown, leaves, rows, graph, sizes, work.bandwidth, n_clusters)
        if tree is not grown and work.notify is not None:
            work.notify(tree)
    return tree, leaves, grown.n_leaves


def _continue_growth(work: _Work, fit: TreeFit) -> TreeFit:
    """Meet the constraints, split clusters that are too large, or suggest more clusters."""
    if work.constraints is not None:
        return _meet_constraints(work, work.constraints, fit)
    if work.settings.n_clusters is not None:
        return fit
    splitter, largest = work.splitter, work.settings.limits.largest
    assert isinstance(splitter, DensitySplitter)
    if largest is not None and int(fit.tree.size[fit.tree.left < 0].max()) > largest:
        limited = SizeLimitSplitter(splitter, largest, is_exclusive=True)
        tree, leaves = work.split_leaves(limited, fit.tree, fit.leaves)
        return replace(fit, tree=tree, leaves=leaves)
    suggested = suggest_tree(fit.tree, fit.leaves, work.rows, splitter, work.rng, **work.options)
    tree, leaves = suggested if work.settings.is_suggested else (fit.tree, fit.leaves)
    return replace(fit, tree=tree, leaves=leaves, suggested=suggested)


def _meet_constraints(work: _Work, constraints: Constraints, fit: TreeFit) -> TreeFit:
    """Split leaves with rows that cannot be in one cluster, and join leaves with rows that are in one."""
    rows, splitter, settings = work.rows, work.splitter, work.settings
    n_clusters, smallest, grown = settings.n_clusters, settings.limits.smallest, fit.leaves
    grower = ConstrainedSplitter(splitter, constraints, smallest, is_exclusive=True)
    tree, leaves = work.split_leaves(grower, fit.tree, fit.leaves)
    joined = join_leaves(tree, leaves, rows, constraints, n_clusters)
    while n_clusters is not None and joined.n_clusters < n_clusters:  # joins need more leaves
        graph = splitter.graph if isinstance(splitter, DensitySplitter) else None
        more, more_leaves = work.split_leaves(
            ConstrainedSplitter(splitter, constraints, smallest),
            tree,
            leaves,
            n_clusters=tree.n_leaves + n_clusters - joined.n_clusters,
            priority=settings.priority if graph is not None else None,
            graph=graph,
        )
        if more.n_leaves == tree.n_leaves:
            break
        tree, leaves = more, more_leaves
        joined = join_leaves(tree, leaves, rows, constraints, n_clusters)
    is_met = not constraints.list_violations(joined.cluster[leaves])
    if not is_met or (n_clusters is not None and joined.n_clusters > n_clusters):
        complete = complete_constraints(constraints, rows, grown, n_clusters)
        for size in (smallest, 0):  # links win over min_cluster_size
            label_splitter = LabelSplitter(complete, max(size, 1))
            tree, leaves = work.split_leaves(label_splitter, tree, leaves, min_cluster_size=size)
        joined = join_leaves(tree, leaves, rows, complete, n_clusters)
    if joined.n_clusters < joined.n_leaves:
        fit = replace(fit, shape="any", shape_reason="Leaves were joined to meet constraints.")
    return replace(fit, tree=joined, leaves=leaves)


# --------------------------------------------------------------------------------------------------- one more split


def split_leaf(
    tree: Tree, leaves: Indices, leaf: int, rows: Rows, settings: TreeSettings, rng: np.random.Generator
) -> Partition:
    """Split one leaf of a tree; return the new tree and the leaf of each row.

    Parameters
    ----------
    tree : Tree
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    leaf : int
    rows : Rows
    settings : TreeSettings
    rng : numpy.random.Generator
    """
    if not tree.is_leaf(leaf):
        raise ValueError(f"node {leaf} is not a leaf: it is split already; prune({leaf}) makes it one.")
    inside, fewest = np.flatnonzero(leaves == leaf), settings.limits.smallest
    found = split_rows(settings.make_splitter(), rows, inside, rng)
    if found.hyperplane is None:
        raise ValueError(f"leaf {leaf} cannot be split: no hyperplane was found that splits it.")
    beyond = found.hyperplane.distance(rows, inside) > 0.0
    sizes = int((~beyond).sum()), int(beyond.sum())
    if min(sizes) < fewest:
        raise ValueError(
            f"leaf {leaf} cannot be split: a side would have fewer than min_cluster_size={fewest} rows; give split a "
            "smaller min_cluster_size."
        )
    split = tree.split(leaf, found.hyperplane, sizes, found.pvalue)
    of_row = leaves.copy()
    of_row[inside] = np.where(beyond, split.right[leaf], split.left[leaf])
    return split, of_row


# --------------------------------------------------------------------------------------------------- warnings


def describe_few_rows(settings: TreeSettings, n_rows: int) -> str:
    """Return a sentence that says that no split can be shown; empty if one can be."""
    if settings.n_clusters is not None or settings.test != "pooled" or n_rows >= FEWEST_ROWS:
        return ""
    return (
        f"the pooled test needs at least {FEWEST_ROWS} rows, but X has {n_rows}: no split can be shown. Give "
        "n_clusters a number, or use the exact test."
    )


def describe_few_valleys(fit: TreeFit, settings: TreeSettings, weights: Array | None, min_cluster_size: float) -> str:
    """Return a sentence that says that valleys separate fewer clusters than are asked for; empty if they do not."""
    n_clusters = settings.n_clusters
    if n_clusters is None or fit.n_separated >= n_clusters:
        return ""
    found = f"Only {fit.n_separated} clusters are" if fit.n_separated > 1 else "Only 1 cluster is"
    least, end = f"with at least min_cluster_size={min_cluster_size} rows each", ""
    if fit.tree.n_clusters == n_clusters and fit.shape == "convex":
        end = " All splits therefore come from a Gaussian mixture or from k-means."
    if weights is not None:
        least = f"with a sum of weights of at least min_cluster_size={min_cluster_size} each"
        total = float(weights.sum())
        if total < n_clusters * settings.limits.smallest:
            end += f" All weights sum to {total:.6g}: multiply them, for example so that their mean is 1."
    return f"{found} separated by valleys {least}, fewer than n_clusters={n_clusters}.{end}"
