"""Tree of hyperplanes stored as arrays, the descent of rows through it, and joins of its leaves."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import check_integer, require
from ravine.hyperplane import Hyperplane, check_planes
from ravine.rows import as_rows
from ravine.tree import editing, text

if TYPE_CHECKING:
    import pandas as pd

    from ravine.plotting import TreeDisplay

NONE = -1
Indices = NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class LeafJoins:
    """Joins of leaves that no valley separates, and the evidence for valleys between the clusters that remain.

    Attributes
    ----------
    leaves : ndarray of shape (n_leaves - 1, 2), int
        A leaf of each of the two groups that are joined, in the order of the joins. The first joins make the clusters
        of the tree; the others would continue, across the weakest boundaries, to a single cluster.
    evidence : ndarray of shape (n_leaves - 1,)
        z-score for a valley between the two groups: minus infinity if there is none, infinity if they do not touch.
    boundaries : ndarray of shape (n_boundaries, 2), int
        Pairs of clusters that touch.
    boundary_evidence : ndarray of shape (n_boundaries,)
        z-score for a valley between these.
    """

    leaves: Indices
    evidence: Array
    boundaries: Indices = field(default_factory=lambda: editing.NO_PAIRS)
    boundary_evidence: Array = field(default_factory=lambda: np.zeros(0))

    def label_leaves(self, n_nodes: int, n_joins: int) -> Indices:
        """Return the group of each leaf after the first joins; other nodes are alone."""
        return editing.label_unions(n_nodes, self.leaves[:n_joins])


@dataclass(frozen=True)
class Node:
    """View of one node.

    Attributes
    ----------
    number : int
        Its position in the arrays of the tree; the root is 0.
    depth : int
        Number of splits above it.
    size : int
        Number of rows of the training data that reach it.
    hyperplane : Hyperplane or None
        None for a leaf.
    pvalue : float
        P-value of the test of its split, also for a leaf that was tested but not split; NaN if not tested.
    cluster : int
        Number of the cluster for a leaf, else -1.
    """

    number: int
    depth: int
    size: int
    hyperplane: Hyperplane | None
    pvalue: float
    cluster: int


@dataclass(frozen=True, eq=False, repr=False)
class Tree:
    """Binary tree whose inner nodes are hyperplanes and whose leaves are (parts of) clusters.

    Every array has one element (or row) for each node; the root is node 0, and parents precede their children. Rows
    with a positive distance to the hyperplane of a node go to its right child.

    Parameters
    ----------
    parent, left, right : ndarray of shape (m,), int
        Numbers of the parent and of the children; -1 if there is none.
    normal : ndarray of shape (m, d)
        Unit normals of the hyperplanes; NaN for leaves.
    point : ndarray of shape (m, d)
        A point on each hyperplane near the data; NaN for leaves.
    offset, bandwidth, alpha, density, relative_depth : ndarray of shape (m,)
        Properties of the hyperplanes; NaN for leaves.
    pvalue : ndarray of shape (m,)
        P-values of the tests of the splits, also for leaves that were tested but not split; NaN if not tested.
    size : ndarray of shape (m,), int
        Numbers of rows of the training data that reach the nodes.
    order : ndarray of shape (m,), int
        Order of the splits: 0 for the first, 1 for the second, and so on; -1 for leaves.
    cluster : ndarray of shape (m,), int
        Number of the cluster of a leaf, from 0 in the order of the leaves; merged leaves have the same. -1 for inner
        nodes.
    joins : LeafJoins or None
        Joins of leaves that no valley separates, if the tree was grown so; None after any edit.
    level : float
        Level of the tests of the splits; NaN if the fit tested none.
    feature_names : tuple of str or None
        Names of the features; None for x0, x1, ...

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import MinimumDensityTree
    >>> X, y = make_blobs([60, 50, 40], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    >>> tree = MinimumDensityTree(n_clusters=3, random_state=0).fit(X).tree_
    >>> tree.n_leaves
    3
    >>> sorted(int(tree.size[leaf]) for leaf in tree.leaves())
    [40, 50, 60]
    """

    parent: NDArray[np.intp]
    left: NDArray[np.intp]
    right: NDArray[np.intp]
    normal: Array
    point: Array
    offset: Array
    bandwidth: Array
    alpha: Array
    density: Array
    relative_depth: Array
    pvalue: Array
    size: NDArray[np.intp]
    order: NDArray[np.intp]
    cluster: NDArray[np.intp]
    joins: LeafJoins | None = None
    level: float = np.nan
    feature_names: tuple[str, ...] | None = None

    def validate(self) -> None:
        """Check that every descent ends in a leaf, and that every inner node has a hyperplane."""
        m, d = self.normal.shape
        for name, values in editing.list_arrays(self):
            require(values.shape == ((m, d) if name in ("normal", "point") else (m,)), name)
        nodes, inner = np.arange(m), self.left >= 0
        require(m % 2 == 1 and self.parent[0] == -1 and (inner == (self.right >= 0)).all(), "nodes")
        require((self.left[~inner] == NONE).all() and (self.right[~inner] == NONE).all(), "leaves")
        children = np.concatenate([self.left[inner], self.right[inner]])
        parents = np.concatenate([nodes[inner], nodes[inner]])
        # Every node but the root is a child of exactly one earlier node.
        require(np.array_equal(np.sort(children), nodes[1:]) and (parents < children).all(), "children")
        require(np.array_equal(self.parent[children], parents), "parents")
        clusters, order, size = self.cluster[~inner], self.order, self.size
        require((self.cluster[inner] == -1).all() and 0 <= clusters.min() <= clusters.max() < m, "clusters")
        require(np.array_equal(np.unique(clusters), np.arange(clusters.max() + 1)), "clusters")
        require(np.array_equal(np.sort(order[inner]), np.arange(inner.sum())) and (order[~inner] == -1).all(), "order")
        whole = size[self.left[inner]] + size[self.right[inner]]
        require((size > 0).all() and np.array_equal(size[inner], whole), "sizes")
        check_planes(self.normal[inner], self.point[inner], self.offset[inner])
        require(np.isfinite(self.offset[inner]).all(), "offset")
        require(self.feature_names is None or len(self.feature_names) == d, "feature_names")
        if self.joins is not None:
            self._check_joins(self.joins)

    def _check_joins(self, joins: LeafJoins) -> None:
        """Check that the joins lead to the clusters of the tree, and from there to one."""
        leaves, n = self.leaves(), self.n_leaves
        require(joins.leaves.shape == (n - 1, 2) and set(joins.leaves.ravel().tolist()) <= set(leaves), "joins")
        require(joins.evidence.shape == (n - 1,), "evidence")
        require(len(np.unique(joins.label_leaves(len(self), n)[leaves])) == 1, "joins")
        groups = joins.label_leaves(len(self), n - self.n_clusters)[leaves]
        require(len({*zip(groups.tolist(), self.cluster[leaves].tolist(), strict=True)}) == self.n_clusters, "joins")
        pairs = joins.boundaries
        require(pairs.shape == (len(joins.boundary_evidence), 2), "boundaries")
        require((pairs[:, 0] >= 0).all() and (pairs[:, 0] < pairs[:, 1]).all(), "boundaries")
        require((pairs < self.n_clusters).all(), "boundaries")

    # ------------------------------------------------------------------------------------------- shape

    def __len__(self) -> int:
        return len(self.parent)

    def __iter__(self) -> Iterator[Node]:
        """Iterate over views of the nodes, parents before children."""
        return map(self.node, range(len(self)))

    @property
    def n_leaves(self) -> int:
        """Number of leaves."""
        return int((self.left == NONE).sum())

    @property
    def n_clusters(self) -> int:
        """Number of clusters: the number of leaves, unless some are joined or merged."""
        return int(self.cluster.max()) + 1

    @property
    def depth(self) -> NDArray[np.intp]:
        """Number of splits above each node."""
        depth = np.zeros(len(self), dtype=np.intp)
        for k in range(1, len(self)):
            depth[k] = depth[self.parent[k]] + 1
        return depth

    def is_leaf(self, node: int) -> bool:
        """Return whether a node is a leaf."""
        return bool(self.left[self.check_node(node)] == NONE)

    def leaves(self, node: int = 0) -> list[int]:
        """Return the numbers of the leaves below a node, from left to right."""
        found, waiting = [], [self.check_node(node)]
        while waiting:
            k = waiting.pop()
            if self.left[k] == NONE:
                found.append(k)
            else:
                waiting += [int(self.right[k]), int(self.left[k])]
        return found

    def hyperplane(self, node: int) -> Hyperplane | None:
        """Return the hyperplane of an inner node, or None for a leaf."""
        k = self.check_node(node)
        if self.left[k] == NONE:
            return None
        numbers = ("offset", "density", "relative_depth", "bandwidth", "alpha")
        values = {name: float(getattr(self, name)[k]) for name in numbers}
        return Hyperplane(self.normal[k], point=self.point[k], feature_names=self.feature_names, **values)

    def node(self, node: int) -> Node:
        """Return a view of one node."""
        depth = len(self.ancestry(node)) - 1
        return Node(
            node, depth, int(self.size[node]), self.hyperplane(node), float(self.pvalue[node]), int(self.cluster[node])
        )

    def check_node(self, node: Any) -> int:
        """Validate the number of a node."""
        if isinstance(node, bool) or not isinstance(node, int | np.integer):
            raise TypeError(f"node must be an integer, got {node!r}.")
        if not 0 <= node < len(self):
            raise ValueError(f"there is no node {node}: the tree has the nodes 0 to {len(self) - 1}.")
        return int(node)

    # ------------------------------------------------------------------------------------------- rows

    def apply(self, X: Any) -> NDArray[np.intp]:
        """Return the number of the leaf that each row reaches."""
        X = as_rows(X)
        if len(X.shape) != 2 or X.shape[1] != self.normal.shape[1]:
            raise ValueError(f"X must have {self.normal.shape[1]} features, got an array of shape {X.shape}.")
        reached = np.zeros(X.shape[0], dtype=np.intp)
        for visit in descend(self, X):
            if visit.hyperplane is None:
                reached[visit.indices] = visit.node
        return reached

    def predict(self, X: Any) -> NDArray[np.intp]:
        """Return the cluster of each row."""
        return np.asarray(self.cluster[self.apply(X)])

    def decision_path(self, X: Any) -> Any:
        """Return which nodes each row passes, as a sparse matrix of shape (n, m)."""
        from scipy.sparse import csr_array

        is_passed = np.zeros((len(self), len(self)), dtype=np.int8)
        for leaf in self.leaves():
            is_passed[leaf, self.ancestry(leaf)] = 1
        return csr_array(is_passed)[self.apply(X)]

    def ancestry(self, node: int) -> list[int]:
        """Return a node and all nodes above it, the root first."""
        path = [self.check_node(node)]
        while self.parent[path[-1]] != NONE:
            path.append(int(self.parent[path[-1]]))
        return path[::-1]

    # ------------------------------------------------------------------------------------------- views

    def to_pandas(self) -> pd.DataFrame:
        """Return a data frame with one row for each node."""
        import pandas as pd

        names = ("parent", "left", "right", "depth", "size", "cluster", "order")
        numbers = ("offset", "density", "relative_depth", "bandwidth", "alpha", "pvalue")
        columns = {name: getattr(self, name) for name in (*names, *numbers)}
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self), name="node"))

    def to_networkx(self) -> Any:
        """Return a directed graph from parents to children, with attributes of the nodes."""
        try:
            import networkx
        except ImportError as error:
            raise ImportError("to_networkx needs the package networkx: install it, or use to_pandas.") from error
        graph = networkx.DiGraph()
        for node in self:
            depth = node.hyperplane and node.hyperplane.relative_depth
            graph.add_node(node.number, size=node.size, cluster=node.cluster, relative_depth=depth, pvalue=node.pvalue)
        graph.add_edges_from((int(p), k) for k, p in enumerate(self.parent) if p != NONE)
        return graph

    def to_linkage(self) -> Array:
        """Return a linkage matrix of the leaves, from left to right, for SciPy's dendrogram.

        The height of a split is one more than the number of later splits, so that earlier splits are drawn higher. A
        tree of one leaf gives an empty matrix, which SciPy cannot draw.
        """
        leaves = self.leaves()
        number = {leaf: k for k, leaf in enumerate(leaves)}
        inner = [k for k in range(len(self)) if self.left[k] != NONE]
        rows = []
        for n_merged, k in enumerate(sorted(inner, key=lambda k: -self.order[k])):
            height = float(len(inner) - self.order[k])
            rows.append([number[int(self.left[k])], number[int(self.right[k])], height, len(self.leaves(k))])
            number[k] = len(leaves) + n_merged
        return np.array(rows, dtype=np.float64).reshape(-1, 4)

    def __repr__(self) -> str:
        return text.draw(self)

    def _repr_html_(self) -> str:
        return text.draw_html(self)

    def plot(self, X: Any = None, **options: Any) -> TreeDisplay:
        """Draw the tree, with the projected density of the rows of X in every node if X is given.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features), optional
            Data.
        **options
            Options of :meth:`ravine.plotting.TreeDisplay.from_tree`.

        Returns
        -------
        TreeDisplay
        """
        from ravine.plotting import TreeDisplay  # above this layer: loaded when something is drawn

        return TreeDisplay.from_tree(self, X, **options)

    def rules(
        self,
        leaf: int | None = None,
        feature_names: Any = None,
        n_features: int = 3,
        *,
        cluster: int | None = None,
    ) -> str:
        """Describe the splits that lead to a leaf, or to each leaf of a cluster.

        Parameters
        ----------
        leaf : int, optional
            Number of the leaf; not together with ``cluster``.
        feature_names : sequence of str, optional
            Names of the features; by default those of the tree.
        n_features : int
            Number of features of largest weight to show for each split.
        cluster : int, optional
            Number of the cluster, which may be a union of leaves.
        """
        if leaf is None and cluster is None:
            raise TypeError("node must be an integer, got None: give the number of a leaf, or of a cluster.")
        express = text.express_splits(self, feature_names, n_features)
        if cluster is None:
            return text.describe_path(self, self.check_node(leaf), express)
        if leaf is not None:
            raise ValueError(f"leaf={leaf!r} and cluster={cluster!r} are both given: choose one.")
        number = check_integer("cluster", cluster, low=0, high=self.n_clusters - 1)
        return text.describe_cluster(self, number, express)

    # ------------------------------------------------------------------------------------------- other trees

    def prune(self, node: int) -> Tree:
        """Return the tree in which a node is a leaf; leaves that were merged with one below it stay with it."""
        return editing.prune(self, [self.check_node(node)])

    def merge(self, leaf: int, other: int) -> Tree:
        """Return the tree in which two leaves, and all leaves merged with them before, are one cluster."""
        return editing.merge(self, self.check_node(leaf), self.check_node(other))

    def split(self, leaf: int, plane: Hyperplane, sizes: tuple[int, int], pvalue: float = np.nan) -> Tree:
        """Return the tree in which a leaf is split by a hyperplane.

        Parameters
        ----------
        leaf : int
            Number of the leaf.
        plane : Hyperplane
            Hyperplane that splits it.
        sizes : tuple of two int
            Numbers of rows of the training data on its two sides.
        pvalue : float, optional
            P-value of a test of the split.
        """
        return editing.split(self, self.check_node(leaf), plane, sizes, pvalue)

    def cut(self, n_clusters: int | None = None, significance: float | None = None) -> Tree:
        """Return the tree of the first splits only, or of those with a P-value of at most ``significance``.

        If leaves were joined, all splits stay, and joins are undone or continued.

        Parameters
        ----------
        n_clusters : int, optional
            Number of clusters to keep: at most ``n_clusters``, or ``n_leaves`` if leaves were joined.
        significance : float, optional
            A split is kept if its P-value, and those of all splits above, are at most this; splits without a P-value
            are kept.
        """
        if (n_clusters is None) == (significance is None):
            raise ValueError("exactly one of n_clusters and significance must be given.")
        if n_clusters is not None:
            return editing.keep_first_splits(self, n_clusters)
        assert significance is not None
        return editing.keep_significant_splits(self, significance)

    def with_arrays(self, **arrays: Any) -> Tree:
        """Return a copy with some arrays replaced."""
        return replace(self, **arrays)


@dataclass(frozen=True)
class Visit:
    """Rows that reach a node.

    Attributes
    ----------
    indices : ndarray of shape (m,), int
        Indices of the rows.
    hyperplane : Hyperplane or None
        None for a leaf.
    distances : ndarray of shape (m,) or None
        Signed distances of the rows from the hyperplane; None for a leaf.
    """

    node: int
    indices: NDArray[np.intp]
    hyperplane: Hyperplane | None
    distances: Array | None


def descend(tree: Tree, X: Any) -> Iterator[Visit]:
    """Send all rows down a tree and yield the rows that reach each node, parents before their children.

    Parameters
    ----------
    X : array, sparse matrix or Rows of shape (n, d)

    Yields
    ------
    Visit
    """
    rows = as_rows(X)
    everything = np.arange(rows.shape[0])
    waiting: list[tuple[int, NDArray[np.intp]]] = [(0, everything)]
    while waiting:
        k, indices = waiting.pop()
        plane = tree.hyperplane(k)
        if plane is None:
            yield Visit(k, indices, None, None)
            continue
        # All rows are faster to project without indices.
        distances = plane.distance(rows, None if indices is everything else indices)
        yield Visit(k, indices, plane, distances)
        positive = distances > 0.0
        waiting += [(int(tree.left[k]), indices[~positive]), (int(tree.right[k]), indices[positive])]
