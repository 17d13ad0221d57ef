"""PdfCluster: clusters are the high-density regions around the modes of a kernel density."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import QhullError
from sklearn.base import BaseEstimator, ClusterMixin

from ravine import NoSplitWarning
from ravine.checks import (
    check_choice,
    check_cluster_count,
    check_enough_rows,
    check_integer,
    check_number,
    restore_on_failure,
)
from ravine.estimators import validate_array
from ravine_paper._typing import Array
from ravine_paper.baselines._shared.found_clusters import warn_of_fewer_clusters
from ravine_paper.baselines._shared.numbering import number_by_size
from ravine_paper.baselines.clustering.core_allocation import allocate, compute_log_density, compute_normal_bandwidth
from ravine_paper.baselines.clustering.mode_tree import Modes, ModeTree, build_mode_tree, find_cores
from ravine_paper.baselines.clustering.valley_graph import Edges, join_by_order, join_delaunay, join_without_valley

__all__ = ["PdfCluster"]

GRAPHS = ("auto", "delaunay", "pairs")
# The Delaunay triangulation grows exponentially with the number of features: most features for it, simplices per row by
# number of features, and the most simplices (about 20 s) before pairs are preferred.
FEW_FEATURES = 6
# The triangulation of 200 rows takes one second in six features, six in seven, and forty in eight.
MOST_TRIANGULATED_FEATURES = 7
SIMPLICES = (1, 1, 2, 7, 32, 187, 1296)
MOST_SIMPLICES = 1_000_000


@dataclass(frozen=True)
class _PdfOptions:
    """Validated parameters of `PdfCluster`."""

    n_clusters: int | None
    bandwidth_factor: float | None
    lam: float
    n_grid: int | None
    n_stages: int

    def choose_factor(self, n_features: int) -> float:
        if self.bandwidth_factor is not None:
            return self.bandwidth_factor
        return 0.75 if n_features <= FEW_FEATURES else 1.0

    def choose_grid(self, n_rows: int) -> int:
        return self.n_grid or min(round(4.0 * (5.0 + n_rows**0.5)), n_rows)


class PdfCluster(ClusterMixin, BaseEstimator):
    """Clustering by the connected high-density regions of a kernel density.

    A graph defines which rows are neighbours. As a level falls through the density of the rows, the rows above it form
    connected components, which appear at modes and merge at saddles: the tree of modes. The rows around each mode, or
    each group of modes, that are above its saddle are the core of a cluster; the others join cores in stages by their
    densities.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        ``"auto"``: one cluster for each mode. An integer: the tree is cut at its lowest saddles into this many
        branches, or one for each mode if there are fewer modes. If there are more unconnected components, the cores are
        those with the most rows.
    bandwidth_factor : float or None, default=None
        The bandwidth of each feature is this factor times the one that is best for normal data. None is 0.75 up to six
        features and 1 above.
    graph : {"auto", "delaunay", "pairs"}, default="auto"
        ``"delaunay"``: edges of the Delaunay triangulation of the standardised rows (for one feature, each row and the
        next; at most seven features). ``"pairs"``: all pairs between which the density has no large valley. ``"auto"``:
        Delaunay up to six features, if there is a triangulation that is not too large (five features: 5347 rows, six:
        771), else pairs.
    lam : float, default=0.1
        Largest valley on the segment between two rows that are joined, as a share of the area under the density with
        its valleys filled.
    n_grid : int or None, default=None
        Number of levels, with equally many rows between them. None is 4 (5 + sqrt n), at most n.
    n_stages : int, default=5
        Number of stages in which rows outside all cores join one.
    max_rows : int, default=5000
        More rows raise an error: with pairs, time is O(n³) and memory O(n²).

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int
        Cluster of each row, numbered from 0 by decreasing size.
    cluster_cores_ : ndarray of shape (n_samples,), int
        The cluster whose core contains the row; -1 for rows that joined later.
    n_clusters_ : int
        Number of clusters.
    tree_ : ModeTree
        Levels, the number of components at each, births and merges of the modes.
    density_ : ndarray of shape (n_samples,)
        The density at each row. With many features it may overflow or underflow; see `log_density_`.
    log_density_ : ndarray of shape (n_samples,)
        Its logarithm.
    bandwidth_ : ndarray of shape (n_features,)
        Standard deviation of the kernel in each feature; 0 for constant features, which are ignored.
    graph_ : str
        "delaunay" or "pairs".
    edges_ : ndarray of shape (n_edges, 2), int
        Row numbers of neighbours.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    The result is deterministic. The densities on the segments between all pairs of rows take the time of a few products
    of n × n matrices: about a second for 1000 rows, whatever the number of features, and a few minutes for 6000.

    References
    ----------
    A. Azzalini, N. Torelli. Clustering via Nonparametric Density Estimation. Statistics and Computing 17 (2007), 71-80.

    G. Menardi, A. Azzalini. An Advancement in Clustering via Nonparametric Density Estimation. Statistics and Computing
    24 (2014), 753-767.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine_paper.baselines import PdfCluster
    >>> X, y = make_blobs([40, 60, 50], centers=[[0, 0], [8, 0], [0, 8]], random_state=0)
    >>> pdf = PdfCluster("auto").fit(X)
    >>> pdf.n_clusters_
    3
    >>> PdfCluster().fit(X).n_clusters_
    2
    """

    def __init__(
        self,
        n_clusters: int | str = 2,
        *,
        bandwidth_factor: float | None = None,
        graph: str = "auto",
        lam: float = 0.1,
        n_grid: int | None = None,
        n_stages: int = 5,
        max_rows: int = 5000,
    ) -> None:
        self.n_clusters = n_clusters
        self.bandwidth_factor = bandwidth_factor
        self.graph = graph
        self.lam = lam
        self.n_grid = n_grid
        self.n_stages = n_stages
        self.max_rows = max_rows

    def fit(self, X: ArrayLike, y: object = None) -> PdfCluster:
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with restore_on_failure(self):
            options = self._check_options()
            X = validate_array(self, X, reset=True)
            self._check_size(len(X))
            check_enough_rows(options.n_clusters, len(X))
            rows, units = standardise(X)
            if not rows.shape[1]:
                self._store_one_cluster(X)
                return self
            self._fit_varying(rows, units, options)
        return self

    def _fit_varying(self, rows: Array, units: Array, options: _PdfOptions) -> None:
        """Fit the standardised features that are not constant."""
        varying = units > 0.0
        factor = options.choose_factor(rows.shape[1])
        bandwidth = factor * compute_normal_bandwidth(rows)
        self.bandwidth_ = np.zeros(len(units))
        self.bandwidth_[varying] = bandwidth * units[varying]
        log_density = compute_log_density(rows, rows, bandwidth)
        self.graph_, edges = self._join(rows, bandwidth, options.lam)
        self.edges_ = edges.astype(np.int32)
        self.tree_, joined = build_mode_tree(log_density, edges, options.choose_grid(len(rows)))
        self.log_density_ = log_density - float(np.log(units[varying]).sum())
        with np.errstate(over="ignore", under="ignore"):
            self.density_ = np.exp(self.log_density_)
        core, count = cut_tree(self.tree_, joined, options.n_clusters)
        self.labels_ = number_by_size(allocate(rows, core, count, bandwidth, factor, options.n_stages))
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.cluster_cores_ = np.where(core >= 0, self.labels_, -1)
        reason = f"the density has {self.tree_.n_modes} mode(s). Try another bandwidth_factor or lam"
        warn_of_fewer_clusters(options.n_clusters, self.n_clusters_, reason, stacklevel=4)

    def _check_options(self) -> _PdfOptions:
        n_clusters = check_cluster_count(self.n_clusters)
        check_choice("graph", self.graph, GRAPHS)
        factor = self.bandwidth_factor
        if factor is not None:
            factor = check_number("bandwidth_factor", factor, low=0.0, open_low=True)
        return _PdfOptions(
            n_clusters=n_clusters,
            lam=check_number("lam", self.lam, low=0.0, high=1.0),
            n_stages=check_integer("n_stages", self.n_stages, low=1),
            n_grid=None if self.n_grid is None else check_integer("n_grid", self.n_grid, low=1),
            bandwidth_factor=None
            if factor is None
            else check_number("bandwidth_factor", factor, low=0.0, open_low=True),
        )

    def _check_size(self, n: int) -> None:
        most = check_integer("max_rows", self.max_rows, low=1)
        if n > most:
            raise ValueError(
                f"X has {n} rows, more than max_rows={most}. Time grows with the third power of the number of rows and "
                "memory with the second: cluster a random subset of the rows, or increase max_rows."
            )

    def _join(self, rows: Array, bandwidth: Array, lam: float) -> tuple[str, Edges]:
        n, d = rows.shape
        small = d <= FEW_FEATURES and n * SIMPLICES[d] <= MOST_SIMPLICES
        if self.graph == "delaunay" and d > MOST_TRIANGULATED_FEATURES:
            raise ValueError(
                f"graph='delaunay' is limited to {MOST_TRIANGULATED_FEATURES} features, got {d}: the number of "
                "simplices grows exponentially. Use graph='pairs'."
            )
        if self.graph == "delaunay" or (self.graph == "auto" and small):
            try:
                return "delaunay", join_by_order(rows[:, 0]) if d == 1 else join_delaunay(rows)
            except QhullError as error:
                if self.graph == "delaunay":
                    raise ValueError(
                        f"graph='delaunay' found no triangulation of {n} rows in {d} features that vary: there are too "
                        "few rows, or some features depend on others. Use graph='pairs' or drop features."
                    ) from error
        return "pairs", join_without_valley(rows / bandwidth, lam)

    def _store_one_cluster(self, X: NDArray[np.floating[Any]]) -> None:
        """Store the result for rows that are all equal."""
        n = len(X)
        self.bandwidth_ = np.zeros(X.shape[1])
        self.graph_, self.edges_ = "pairs", np.empty((0, 2), dtype=np.int32)
        self.tree_ = ModeTree(np.empty(0), np.empty(0), np.empty(0, np.intp), np.empty(0, np.intp), ())
        self.log_density_, self.density_ = np.full(n, np.inf), np.full(n, np.inf)
        everything: NDArray[np.intp] = np.zeros(n, dtype=np.intp)
        self.labels_, self.cluster_cores_, self.n_clusters_ = everything, everything.copy(), 1
        if n > 1 and self.n_clusters not in ("auto", 1):
            warnings.warn("All rows are equal: they all get label 0.", NoSplitWarning, stacklevel=3)


def standardise(X: NDArray[np.floating[Any]]) -> tuple[Array, Array]:
    """Return the features that vary, with mean 0 and standard deviation 1, and the deviation of every feature."""
    rows = np.array(X, dtype=np.float64)
    rows -= rows[0]  # a constant feature becomes zero, whatever its value
    largest = np.abs(rows).max(axis=0)
    varying = largest > 0.0
    rows = rows[:, varying] / largest[varying]
    rows -= rows.mean(axis=0)
    spread = rows.std(axis=0, ddof=1) if len(rows) > 1 else np.ones(rows.shape[1])
    units = np.zeros(X.shape[1])
    units[varying] = spread * largest[varying]
    return rows / spread, units


def cut_tree(tree: ModeTree, joined: list[Modes], n_clusters: int | None) -> tuple[NDArray[np.intp], int]:
    """Return cores, numbered from 0, for ``n_clusters`` branches of the tree (None: all modes), and their number."""
    core = find_cores(joined, tree.groups(tree.n_modes if n_clusters is None else n_clusters))
    names, sizes = np.unique(core[core >= 0], return_counts=True)
    kept = names[np.argsort(-sizes, kind="stable")[:n_clusters]]
    if not len(kept):
        return np.zeros(len(core), dtype=np.intp), 1  # no two rows are neighbours, so the tree is empty
    number = np.full(tree.n_modes + 1, -1, dtype=np.intp)
    number[kept] = np.arange(len(kept))
    return number[core], len(kept)  # the last element, for -1, stays -1
