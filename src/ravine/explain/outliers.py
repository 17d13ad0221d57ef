"""Outlier scores of rows, from robust densities of the leaves of a tree.

Each leaf has a robust centre and covariance. In coordinates in which the covariance is the identity, a few normal
components with independent coordinates follow leaves that are not elliptical, if there are not too many features. A row
is scored by the log-density of its own leaf. Half of the difference between the levels of the leaves is removed: sparse
clusters are not outliers as a whole, and far rows that make up a leaf of their own still are.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import require
from ravine.explain.memberships import sample_nodes
from ravine.rows import Rows, as_rows, limit_library_threads
from ravine.tree import Tree
from ravine.tree.graph import repeat_rows

Indices = NDArray[np.intp]

# Rows that estimate the density of a leaf, at most; bytes of the rows that are in memory for that; and fewest rows.
ROWS_OF_LEAF, MOST_BYTES, FEWEST_ROWS = 2000, 1 << 26, 50
# Rows in proportion to their weights, at most.
REPEATED_ROWS = 1_000_000
# Part of the difference between the levels of leaves that is removed from the scores.
PART_OF_LEVEL = 0.5
# Rows beyond the upper quartile by more than this many interquartile ranges are outliers: "far out" in a box plot.
FENCE = 3.0
# Negative log-densities are at most this, and units of features at least that, so that nothing overflows.
LARGEST, LEAST_UNIT = 1e300, 1e-290
# Bytes of a block of rows that are scored, which fits into the cache.
SCORED_BYTES = 1 << 19
# With more features, these are taken to be independent, and there is one component.
MOST_FEATURES, MOST_FOR_COMPONENTS = 100, 10
# Share of the rows, the most central ones, that define centre and covariance; and how often they are chosen.
CENTRAL, N_STEPS = 0.6, 4
# Numbers of components that are tried, the fewest rows of each, and the share of the rows that they describe.
N_COMPONENTS, ROWS_PER_COMPONENT, DESCRIBED = (2, 4, 8), 20, 0.9
# A component is dropped if its level is below the highest by more than this, plus the second for each feature.
SPARSE, SPARSE_PER_FEATURE = 3.0, 0.4
# Share of the common variance in the variances of the coordinates of a component.
COMMON = 0.05
# Rows of least density do not count for the number of components.
IGNORED = 0.15
# Least variance of a feature, of which the spread over all rows is 1.
LEAST = 1e-12
# Exemplars of each cluster.
MOST_EXEMPLARS = 5
# Bytes of a block of rows that are averaged.
AVERAGED_BYTES = 1 << 23


@dataclass(frozen=True)
class OutlierModel:
    """Robust densities of the leaves of a tree.

    Attributes
    ----------
    tree : Tree
    densities : dict of int to LeafDensity
        Density of each leaf, by its number.
    quartiles : ndarray of shape (3,)
        Quartiles of the negative log-density of the rows of the fit.
    threshold : float
        Score above which rows are marked as outliers; NaN if none are.
    """

    tree: Tree
    densities: dict[int, LeafDensity]
    quartiles: Array
    threshold: float = math.nan

    def validate(self) -> None:
        """Raise an error if the densities are not those of the leaves."""
        require(sorted(self.densities) == sorted(self.tree.leaves()) and self.quartiles.shape == (3,), "leaves")
        require({leaf.center.shape for leaf in self.densities.values()} == {self.tree.normal.shape[1:]}, "shapes")

    @classmethod
    def of(cls, tree: Tree, rows: Rows, leaves: Indices | None = None) -> OutlierModel:
        """Estimate the densities of all leaves.

        Parameters
        ----------
        tree : Tree
        rows : Rows
        leaves : ndarray of shape (n,), int, optional
            Leaf of each row, if it is known.
        """
        leaves = np.asarray(rows.apply(tree.apply)) if leaves is None else leaves
        samples = sample_nodes(tree, leaves)
        most = max(FEWEST_ROWS, MOST_BYTES // (8 * rows.shape[1]))
        members = {k: np.sort(some[: min(ROWS_OF_LEAF, most)]) for k, some in samples.items()}
        some = np.asarray(rows.take(members[0]), dtype=np.float64)
        origin = np.median(some, axis=0)
        unit = _measure_units(some - origin)
        parts = {
            k: (np.asarray(rows.take(members[k]), dtype=np.float64) - origin) / unit
            for k in tree.leaves()
            if len(members[k])
        }
        counts = np.bincount(leaves, minlength=len(tree))
        sizes = {k: int(counts[k]) for k in parts}
        pooled = pool_variances(parts, sizes)
        found = {k: fit_leaf(part, sizes[k] / len(leaves), pooled) for k, part in parts.items()}
        levels = {k: float(np.median(found[k].evaluate(part))) for k, part in parts.items()}
        middle = _find_weighted_median(list(levels.values()), [sizes[k] for k in levels])
        found = {k: leaf.shift(PART_OF_LEVEL * (middle - levels[k])).rescale(origin, unit) for k, leaf in found.items()}
        model = cls(tree, found, np.zeros(3))
        chosen = np.sort(samples[0][:most])
        values = model._evaluate(np.asarray(rows.take(chosen)), leaves[chosen])
        return cls(tree, found, np.quantile(values, (0.25, 0.5, 0.75)))

    def score_rows(self, rows: Rows, leaves: Indices | None = None) -> Array:
        """Return the scores of rows of any kind, as an array."""
        if leaves is not None and rows.in_memory and not rows.is_sparse:
            return self.score(rows.to_array(), leaves)
        return np.asarray(rows.apply(self.score))

    def score(self, X: Any, leaves: Indices | None = None) -> Array:
        """Return the scores of the rows of an array or sparse matrix: 0.5 for the median row, and at most 1.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, d)
        leaves : ndarray of shape (n,), int, optional
            Leaf of each row, if it is known.
        """
        out = np.empty(X.shape[0])
        step = max(1, SCORED_BYTES // (8 * X.shape[1]))
        for start in range(0, X.shape[0], step):
            block = X[start : start + step]
            reached = self.tree.apply(block) if leaves is None else leaves[start : start + step]
            out[start : start + step] = self._evaluate(as_rows(block).to_array(), reached)
        return self._map(out)

    @property
    def fence(self) -> float:
        """Score above which rows are outliers, if their share is not given."""
        low, _, high = self.quartiles.tolist()
        return float(self._map(np.array([high + FENCE * (high - low)]))[0])

    def _evaluate(self, X: NDArray[np.floating[Any]], leaves: Indices) -> Array:
        """Return the negative log-density of rows in their leaves."""
        out = np.empty(len(X))
        with np.errstate(over="ignore", invalid="ignore"):  # rows far beyond those of the fit
            self._fill(out, X, leaves)
        return np.nan_to_num(out, copy=False, nan=LARGEST, posinf=LARGEST, neginf=-LARGEST)

    def _fill(self, out: Array, X: NDArray[np.floating[Any]], leaves: Indices) -> None:
        for k in np.flatnonzero(np.bincount(leaves)).tolist():
            here = np.flatnonzero(leaves == k)
            density = self.densities.get(k)  # None if there were no rows of the leaf
            out[here] = LARGEST if density is None else -density.evaluate(X.take(here, axis=0), overwrite=True)

    def _map(self, values: Array) -> Array:
        """Map negative log-densities to [0, 1]: the median to 0.5, the upper quartile to 0.75."""
        _, middle, high = self.quartiles.tolist()
        spread = high - middle
        with np.errstate(over="ignore"):
            u = np.clip((values - middle) / (spread if spread > 0.0 else 1.0), -LARGEST, LARGEST)
        return np.asarray(0.5 + 0.5 * u / (1.0 + np.abs(u)))


@dataclass(frozen=True)
class Marking:
    """Function from rows to labels with -1 for outliers, which can be sent to other processes.

    Attributes
    ----------
    label_rows : callable
    model : OutlierModel
    """

    label_rows: Callable[[Any], Indices]
    model: OutlierModel

    def __call__(self, X: Any) -> Indices:
        """Return the labels of the rows of an array."""
        return np.where(self.model.score(X) > self.model.threshold, -1, self.label_rows(X))


def mark_outliers(
    tree: Tree, rows: Rows, leaves: Indices, contamination: float | str, weights: Array | None = None
) -> tuple[OutlierModel, Array, NDArray[np.bool_]]:
    """Return the model of outliers, the score of each row and which rows are outliers.

    Parameters
    ----------
    tree : Tree
    rows : Rows
    leaves : ndarray of shape (n,), int
        Leaf of each row.
    contamination : float or "auto"
        Share of the rows that are outliers, or those that are far out.
    weights : ndarray of shape (n,), optional
        A row counts as often as its weight says. Of equal scores at the limit of the share, none is marked.
    """
    repeated = None if weights is None else repeat_rows(weights, REPEATED_ROWS, np.random.default_rng(0))
    known = (rows, leaves) if repeated is None else (rows.subset(repeated), leaves[repeated])
    model = OutlierModel.of(tree, *known)
    scores = model.score_rows(rows, leaves)
    share = None if isinstance(contamination, str) else float(contamination)
    marks, threshold = choose_outliers(scores if repeated is None else scores[repeated], share, model.fence)
    marks = marks if repeated is None else scores > threshold
    return replace(model, threshold=threshold), scores, marks


def choose_outliers(scores: Array, contamination: float | None, fence: float) -> tuple[NDArray[np.bool_], float]:
    """Return which rows are outliers, and the score above which new rows are.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    contamination : float or None
        Share of the rows that are outliers, the first ones of equal scores; None for those above ``fence``. If all
        scores are equal, as those of equal rows, no row is an outlier.
    fence : float
    """
    if contamination is None:
        return scores > fence, fence
    n = len(scores)
    n_marked = math.floor(contamination * n + 0.5) if scores.min() < scores.max() else 0
    order = np.argsort(-scores, kind="stable")
    marked = np.zeros(n, dtype=bool)
    marked[order[:n_marked]] = True
    below = float(scores[order[n_marked]])  # at least half of the rows are not marked
    return marked, below if n_marked == 0 else 0.5 * (below + float(scores[order[n_marked - 1]]))


def _measure_units(differences: Array) -> Array:
    """Return the spread of each feature; features without a spread have that of the widest one."""
    spread = np.median(np.abs(differences), axis=0)
    largest = np.abs(differences).max(axis=0)
    unit = np.where(spread > 1e-9 * largest, spread, largest)
    return np.maximum(np.where(unit > 0.0, unit, float(unit.max()) or 1.0), LEAST_UNIT)


def _find_weighted_median(values: list[float], weights: list[int]) -> float:
    order = np.argsort(values)
    total = np.cumsum(np.asarray(weights)[order])
    return float(np.asarray(values)[order[int(np.searchsorted(total, 0.5 * total[-1]))]])


@dataclass(frozen=True)
class LeafDensity:
    """Largest of a few normal densities, in coordinates in which the covariance of the leaf is the identity.

    Attributes
    ----------
    center : ndarray of shape (d,)
    transform : ndarray of shape (d, d) or (d,)
        Matrix that leads to the coordinates, or factors if features are independent.
    means, precisions : ndarray of shape (c, d)
        Means and inverse variances of the components; a single one has mean 0.
    levels : ndarray of shape (c,)
        Log-densities at the means.
    """

    center: Array
    transform: Array
    means: Array
    precisions: Array
    levels: Array

    def validate(self) -> None:
        """Raise an error if the arrays differ in shape."""
        (d,), (c,) = self.center.shape, self.levels.shape
        require(
            self.means.shape == self.precisions.shape == (c, d) and self.transform.shape in ((d,), (d, d)), "shapes"
        )

    def evaluate(self, X: NDArray[np.floating[Any]], overwrite: bool = False) -> Array:
        """Return the log-density at each row; with ``overwrite``, the memory of an X of float64 is used."""
        z = np.subtract(X, self.center, out=X if overwrite and X.dtype == np.float64 else None)
        if len(self.levels) == 1:  # the mean is the centre
            factors = np.sqrt(self.precisions[0])
            z = z @ (self.transform * factors) if self.transform.ndim == 2 else z * (self.transform * factors)
            return np.asarray(self.levels[0] - 0.5 * np.einsum("ij,ij->i", z, z))
        z = z @ self.transform
        squares = (z * z) @ self.precisions.T - 2.0 * z @ (self.precisions * self.means).T
        heights = self.levels - 0.5 * np.einsum("ij,ij->i", self.means**2, self.precisions)
        return np.asarray((heights - 0.5 * squares).max(axis=1))

    def shift(self, change: float) -> LeafDensity:
        """Return the density with another level."""
        return replace(self, levels=self.levels + change)

    def rescale(self, origin: Array, unit: Array) -> LeafDensity:
        """Return the density as a function of ``origin + unit * x``, with the same values."""
        scale = unit if self.transform.ndim == 1 else unit[:, None]
        return replace(self, center=origin + unit * self.center, transform=self.transform / scale)


def pool_variances(samples: dict[int, Array], sizes: dict[int, int]) -> Array:
    """Return the variances of the features inside leaves, averaged over all rows."""
    total = sum(sizes.values())
    pooled = sum(sizes[k] / total * sample.var(axis=0) for k, sample in samples.items())
    return np.asarray(np.maximum(pooled, LEAST))


def fit_leaf(sample: Array, share: float, pooled: Array) -> LeafDensity:
    """Estimate the density of a leaf.

    Parameters
    ----------
    sample : ndarray of shape (m, d)
        Rows of the leaf.
    share : float
        Share of the leaf of all rows.
    pooled : ndarray of shape (d,)
        Variances of the features inside all leaves, towards which few rows are shrunk.
    """
    n, d = sample.shape
    center, transform, log_volume, distances = _find_center(sample, pooled)
    # Chosen so that the median distance is that of the median row.
    variance = max(float(np.median(distances)) / d, 1e-6)
    level = np.log(share) + log_volume
    normal = LeafDensity(
        center,
        transform,
        np.zeros((1, d)),
        np.full((1, d), 1.0 / variance),
        np.array([level - 0.5 * d * np.log(variance)]),
    )
    if d > MOST_FOR_COMPONENTS or d == 0:
        return normal
    best, highest = normal, _rate(normal, sample)
    z = (sample - center) @ transform
    inner = z[np.argsort(distances, kind="stable")[: int(DESCRIBED * n)]]
    for c in N_COMPONENTS:
        if n < ROWS_PER_COMPONENT * c:
            break
        means, variances, weights = _find_components(inner, c)
        levels = level + np.log(weights) - 0.5 * np.log(variances).sum(axis=1)
        dense = levels >= levels.max() - SPARSE - d * SPARSE_PER_FEATURE
        found = LeafDensity(center, transform, means[dense], 1.0 / variances[dense], levels[dense])
        if dense.sum() == 1:
            continue
        rating = _rate(found, sample)
        if rating > highest:
            best, highest = found, rating
    return best


def _find_center(x: Array, pooled: Array) -> tuple[Array, Array, float, Array]:
    """Return robust centre, transformation, its log-determinant and the squared distances of the rows.

    Concentration steps as for the minimum covariance determinant, from the median and the absolute deviations.
    """
    n, d = x.shape
    center = np.median(x, axis=0)
    distances = ((x - center) ** 2 / pooled).sum(axis=1)
    m = min(n, max(int(CENTRAL * n), 2))
    transform: Array = 1.0 / np.sqrt(pooled)
    for _ in range(N_STEPS):
        central = x[np.argpartition(distances, m - 1)[:m]]
        center = central.mean(axis=0)
        shrinkage = d / (d + m)
        if d > MOST_FEATURES:
            variances = (1.0 - shrinkage) * central.var(axis=0) + shrinkage * pooled + LEAST
            transform = 1.0 / np.sqrt(variances)
            z = (x - center) * transform
        else:
            centred = central - central.mean(axis=0)
            covariance = (1.0 - shrinkage) * (centred.T @ centred) / len(centred)
            covariance[np.diag_indices(d)] += shrinkage * pooled + LEAST
            values, vectors = np.linalg.eigh(covariance)
            transform = vectors / np.sqrt(np.maximum(values, LEAST))
            z = (x - center) @ transform
        distances = np.einsum("ij,ij->i", z, z)
    factors = transform if transform.ndim == 1 else np.linalg.norm(transform, axis=0)
    return center, transform, float(np.log(factors).sum()), distances


def _find_components(z: Array, c: int) -> tuple[Array, Array, Array]:
    """Return means, variances and weights of the clusters of k-means."""
    from sklearn.cluster import KMeans
    from sklearn.exceptions import ConvergenceWarning

    with warnings.catch_warnings(), limit_library_threads():
        warnings.simplefilter("ignore", ConvergenceWarning)  # fewer distinct rows
        of_row = KMeans(c, n_init=1, max_iter=20, random_state=0).fit_predict(z)
    groups = [z[of_row == j] for j in np.unique(of_row)]
    means = np.array([group.mean(axis=0) for group in groups])
    variances = np.array([group.var(axis=0) for group in groups])
    variances += COMMON * variances.mean(axis=1, keepdims=True) + 1e-9
    return means, variances, np.array([len(group) / len(z) for group in groups])


def _rate(density: LeafDensity, sample: Array) -> float:
    """Return the mean log-density without the lowest values, with a penalty for each component."""
    n, d = sample.shape
    values = np.sort(density.evaluate(sample))[int(IGNORED * n) :]
    return float(values.mean() - d * len(density.levels) * np.log(n) / n)


# ----------------------------------------------------------------------------------------------- exemplars and centres


def leave_out_outliers(clusters: NDArray[np.intp], is_outlier: NDArray[np.bool_]) -> NDArray[np.intp]:
    """Return the cluster of each row, with -1 for outliers of clusters that have other rows."""
    others = np.bincount(clusters[~is_outlier], minlength=int(clusters.max(initial=-1)) + 1)
    return np.where(is_outlier & (others[clusters] > 0), -1, clusters)


def find_exemplars(
    scores: Array, clusters: NDArray[np.intp], n_clusters: int, most: int = MOST_EXEMPLARS
) -> list[NDArray[np.intp]]:
    """Return the indices of the rows with the smallest scores of each cluster, the smallest first.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    clusters : ndarray of shape (n,), int
        Cluster of each row; negative for rows of none.
    n_clusters : int
    most : int
        Number of rows for each cluster, if it has as many.
    """
    found = []
    for k in range(n_clusters):
        members = np.flatnonzero(clusters == k)
        few = min(most, len(members))
        if few < len(members):  # the first of equal scores
            members = members[scores[members] <= np.partition(scores[members], few - 1)[few - 1]]
        found.append(members[np.argsort(scores[members], kind="stable")[:few]])
    return found


def average_clusters(rows: Rows, clusters: NDArray[np.intp], n_clusters: int, weights: Array | None = None) -> Array:
    """Return the mean of the rows of each cluster, with NaN for clusters without rows.

    Parameters
    ----------
    rows : Rows
    clusters : ndarray of shape (n,), int
        Cluster of each row; negative for rows of none.
    n_clusters : int
    weights : ndarray of shape (n,), optional
    """
    n, d = rows.shape
    step = max(1, AVERAGED_BYTES // (8 * d))
    sums, totals = np.zeros((n_clusters, d)), np.zeros(n_clusters)
    origin = np.asarray(rows.take(np.arange(1)), dtype=np.float64)[0]  # sums of differences lose no digits
    for start in range(0, n, step):
        indices = np.arange(start, min(start + step, n))
        block = np.asarray(rows.take(indices), dtype=np.float64) - origin
        w = np.ones(len(indices)) if weights is None else weights[indices]
        for k in np.unique(clusters[indices]).tolist():
            if k >= 0:
                here = clusters[indices] == k
                sums[k] += w[here] @ block[here]
                totals[k] += w[here].sum()
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(origin + sums / totals[:, None])
