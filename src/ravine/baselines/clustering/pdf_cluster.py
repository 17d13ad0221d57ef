"""PdfCluster: clusters are the high-density parts around the modes of a kernel density."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.spatial import QhullError
from sklearn.base import BaseEstimator, ClusterMixin

from ravine._typing import Array
from ravine.baselines._shared.numbering import number_by_size
from ravine.baselines.clustering.core_allocation import allocate, log_kernel_density, normal_bandwidth
from ravine.baselines.clustering.mode_tree import ModeTree, cores, mode_tree
from ravine.baselines.clustering.valley_graph import Edges, delaunay_edges, order_edges, pair_edges
from ravine.checks import check_choice, check_integer, check_number, restore_on_failure
from ravine.estimators.hyperplane import NoSplitWarning
from ravine.rows.inputs import validate_array

__all__ = ["PdfCluster"]

GRAPHS = ("auto", "delaunay", "pairs")
# Most columns for the Delaunay triangulation, whose size grows exponentially with them: simplices for each row, by
# columns, and the most of them (some 20 s) before pairs are preferred.
FEW_COLUMNS = 6
SIMPLICES = (1, 1, 2, 7, 32, 187, 1296)
MOST_SIMPLICES = 1_000_000


class PdfCluster(ClusterMixin, BaseEstimator):
    """Clustering by the connected high-density regions of a kernel density.

    A graph says which rows are neighbours. As a level sinks through the density of the rows, the rows above it form
    connected parts, which appear at modes and merge at saddles: the tree of modes. The rows around each mode, or each
    group of modes, that are above its saddle are the core of a cluster; the others join cores in stages by their
    densities.

    Parameters
    ----------
    n_clusters : int or "auto", default=2
        ``"auto"``: one cluster for each mode. An integer: the tree is cut at its lowest saddles so that this many
        branches result, or one for each mode if there are fewer modes. If there are more parts without any
        connection, the cores are those with the most rows.
    bandwidth_factor : float or None, default=None
        The bandwidth of each column is this factor times the one that is best for normal data. None is 0.75 up to six
        columns and 1 above.
    graph : {"auto", "delaunay", "pairs"}, default="auto"
        ``"delaunay"``: edges of the Delaunay triangulation of the standardised rows (for one column, each row and the
        next). ``"pairs"``: all pairs between which the density has no large valley. ``"auto"``: Delaunay up to six
        columns, if there is a triangulation that is not too large (five columns: 5347 rows, six: 771), else pairs.
    lam : float, default=0.1
        Largest valley on the segment between two rows that are joined: the share of the area under the density, with
        valleys filled, that the largest valley has.
    n_grid : int or None, default=None
        Levels, with equally many rows between them. None is 4 (5 + sqrt n), at most n.
    n_stages : int, default=5
        Stages in which rows outside of all cores join one.
    max_rows : int, default=5000
        More rows are refused: with pairs, time is O(n³) and memory O(n²).

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int
        Clusters from 0 on, by decreasing size.
    cluster_cores_ : ndarray of shape (n_samples,), int
        The cluster whose core a row is in; -1 for those that joined later.
    n_clusters_ : int
        Number of clusters.
    tree_ : ModeTree
        Levels, the number of parts at each, births and merges of the modes.
    density_ : ndarray of shape (n_samples,)
        The density at each row. In many columns it may be too large or too small for a number: see the next.
    log_density_ : ndarray of shape (n_samples,)
        Its logarithm.
    bandwidth_ : ndarray of shape (n_features,)
        Standard deviation of the kernel in each column; 0 for constant columns, which are ignored.
    graph_ : str
        "delaunay" or "pairs".
    edges_ : ndarray of shape (n_edges, 2), int
        Row numbers of neighbours.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    Notes
    -----
    Nothing is random. The densities on the segments between all pairs of rows take the time of a few products of n × n
    matrices: about a second for 1000 rows, in any number of columns, and a few minutes for 6000.

    References
    ----------
    A. Azzalini, N. Torelli. Clustering via Nonparametric Density Estimation. Statistics and Computing 17 (2007), 71-80.

    G. Menardi, A. Azzalini. An Advancement in Clustering via Nonparametric Density Estimation. Statistics and Computing
    24 (2014), 753-767.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.baselines import PdfCluster
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
            n_clusters = self._n_clusters()
            check_choice("graph", self.graph, GRAPHS)
            lam = check_number("lam", self.lam, low=0.0, high=1.0)
            n_stages = check_integer("n_stages", self.n_stages, low=1)
            n_grid = None if self.n_grid is None else check_integer("n_grid", self.n_grid, low=1)
            factor = self.bandwidth_factor
            if factor is not None:
                factor = check_number("bandwidth_factor", factor, low=0.0, open_low=True)
            X = validate_array(self, X, reset=True)
            n = self._check_size(len(X), n_clusters)
            rows, units = standardised(X)
            d = rows.shape[1]
            if factor is None:
                factor = 0.75 if d <= FEW_COLUMNS else 1.0
            self.bandwidth_ = np.zeros(X.shape[1])
            if not d:
                self._store_one_cluster(n)
                return self
            bandwidth = factor * normal_bandwidth(rows)
            self.bandwidth_[units > 0.0] = bandwidth * units[units > 0.0]
            log_density = log_kernel_density(rows, rows, bandwidth)
            self.graph_, edges = self._edges(rows, bandwidth, lam)
            self.edges_ = edges.astype(np.int32)
            self.tree_, joined = mode_tree(log_density, edges, n_grid or min(round(4.0 * (5.0 + n**0.5)), n))
            self.log_density_ = log_density - float(np.log(units[units > 0.0]).sum())
            with np.errstate(over="ignore", under="ignore"):
                self.density_ = np.exp(self.log_density_)
            core, count = cut(self.tree_, joined, n_clusters)
            self._store(core, allocate(rows, core, count, bandwidth, factor, n_stages), n_clusters)
        return self

    def _n_clusters(self) -> int | None:
        """Number of clusters; None for "auto"."""
        if isinstance(self.n_clusters, str):
            if self.n_clusters == "auto":
                return None
            raise ValueError(f"n_clusters must be an integer >= 1 or 'auto', got {self.n_clusters!r}.")
        return check_integer("n_clusters", self.n_clusters, low=1)

    def _check_size(self, n: int, n_clusters: int | None) -> int:
        most = check_integer("max_rows", self.max_rows, low=1)
        if n > most:
            raise ValueError(
                f"X has {n} rows, more than max_rows={most}. Time grows with the third power of the rows and memory "
                "with the second: cluster a random part of the rows, or increase max_rows and wait."
            )
        if n_clusters is not None and n < n_clusters:
            raise ValueError(f"n_clusters={n_clusters} needs at least {n_clusters} rows, got n_samples={n}.")
        return n

    def _edges(self, rows: Array, bandwidth: Array, lam: float) -> tuple[str, Edges]:
        n, d = rows.shape
        small = d <= FEW_COLUMNS and n * SIMPLICES[d] <= MOST_SIMPLICES
        if self.graph == "delaunay" or (self.graph == "auto" and small):
            try:
                return "delaunay", order_edges(rows[:, 0]) if d == 1 else delaunay_edges(rows)
            except QhullError as error:
                if self.graph == "delaunay":
                    raise ValueError(
                        f"graph='delaunay' found no triangulation of {n} rows in {d} columns that vary: there "
                        "are too few rows or some columns depend on the others. Use graph='pairs' or drop columns."
                    ) from error
        return "pairs", pair_edges(rows / bandwidth, lam)

    def _store(self, core: NDArray[np.intp], labels: NDArray[np.intp], n_clusters: int | None) -> None:
        self.labels_ = number_by_size(labels)
        self.n_clusters_ = int(self.labels_.max()) + 1
        self.cluster_cores_ = np.where(core >= 0, self.labels_, -1)
        if n_clusters is not None and self.n_clusters_ < n_clusters:
            warnings.warn(
                f"{self.n_clusters_} instead of n_clusters={n_clusters} clusters: modes found in the density: "
                f"{self.tree_.n_modes}. Try another bandwidth_factor or lam.",
                NoSplitWarning,
                stacklevel=3,
            )

    def _store_one_cluster(self, n: int) -> None:
        """All rows are equal."""
        self.graph_, self.edges_ = "pairs", np.empty((0, 2), dtype=np.int32)
        self.tree_ = ModeTree(np.empty(0), np.empty(0), np.empty(0, np.intp), np.empty(0, np.intp), ())
        self.log_density_, self.density_ = np.full(n, np.inf), np.full(n, np.inf)
        everything: NDArray[np.intp] = np.zeros(n, dtype=np.intp)
        self.labels_, self.cluster_cores_, self.n_clusters_ = everything, everything.copy(), 1
        if n > 1 and self.n_clusters not in ("auto", 1):
            warnings.warn("All rows are equal: they are given the label 0.", NoSplitWarning, stacklevel=3)


def standardised(X: NDArray[np.floating[Any]]) -> tuple[Array, Array]:
    """The columns that vary, with mean 0 and standard deviation 1, and the standard deviation of every column."""
    rows = np.array(X, dtype=np.float64)
    rows -= rows[0]  # a constant column becomes zero, whatever its value
    largest = np.abs(rows).max(axis=0)
    varying = largest > 0.0
    rows = rows[:, varying] / largest[varying]
    rows -= rows.mean(axis=0)
    spread = rows.std(axis=0, ddof=1) if len(rows) > 1 else np.ones(rows.shape[1])
    units = np.zeros(X.shape[1])
    units[varying] = spread * largest[varying]
    return rows / spread, units


def cut(tree: ModeTree, joined: list[tuple[int, ...]], n_clusters: int | None) -> tuple[NDArray[np.intp], int]:
    """Cores, numbered from 0, for ``n_clusters`` branches of the tree (None: all modes), and their number."""
    core = cores(joined, tree.groups(tree.n_modes if n_clusters is None else n_clusters))
    names, sizes = np.unique(core[core >= 0], return_counts=True)
    kept = names[np.argsort(-sizes, kind="stable")[:n_clusters]]
    if not len(kept):
        return np.zeros(len(core), dtype=np.intp), 1  # no two rows are neighbours: no tree at all
    number = np.full(tree.n_modes + 1, -1, dtype=np.intp)
    number[kept] = np.arange(len(kept))
    return number[core], len(kept)  # the last element, for -1, stays -1
