"""Outlier scores of rows, from robust densities of the leaves of a tree.

Rows are measured along the axes in which they vary. There, each leaf has a robust centre and covariance. In coordinates
in which the covariance is the identity, a few normal components with independent coordinates follow leaves that are not
elliptical, if there are not too many dimensions. A row is scored by the log-density of its own leaf. Half of the
difference between the levels of the leaves is removed: sparse clusters are not outliers as a whole, and far rows that
make up a leaf of their own still are.
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
from ravine.explain.coordinates import Coordinates, clip_lengths
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
# Negative log-densities are at most this.
LARGEST = 1e300
# Bytes of a block of rows that are scored, which fits into the cache.
SCORED_BYTES = 1 << 19
# With more dimensions there is one component.
MOST_FOR_COMPONENTS = 10
# Share of the rows, the most central ones, that define centre and covariance; and how often they are chosen.
CENTRAL, N_STEPS = 0.6, 4
# Share of the covariance of all rows of a leaf, which tells axes apart along which the central rows do not vary.
OF_ALL = 1e-6
# Numbers of components that are tried, the fewest rows of each, and the share of the rows that they describe.
N_COMPONENTS, ROWS_PER_COMPONENT, DESCRIBED = (2, 4, 8), 20, 0.9
# Distances that differ by no more than this are equal: rounding does not choose among rows of repeated values.
SAME = 1e-9
# A component is dropped if its level is below the highest by more than this, plus the second for each dimension.
SPARSE, SPARSE_PER_DIMENSION = 3.0, 0.4
# Share of the common variance in the variances of the coordinates of a component.
COMMON = 0.05
# Rows of least density do not count for the number of components.
IGNORED = 0.15
# Least variance along an axis, along which the variance of all rows is 1.
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
    coordinates : Coordinates
    densities : dict of int to LeafDensity
        Density of each leaf, by its number.
    quartiles : ndarray of shape (3,)
        Quartiles of the negative log-density of the rows of the fit.
    threshold : float
        Score above which rows are marked as outliers; NaN if none are.
    """

    tree: Tree
    coordinates: Coordinates
    densities: dict[int, LeafDensity]
    quartiles: Array
    threshold: float = math.nan

    def validate(self) -> None:
        """Raise an error if the densities are not those of the leaves."""
        require(sorted(self.densities) == sorted(self.tree.leaves()) and self.quartiles.shape == (3,), "leaves")
        require({leaf.center.shape for leaf in self.densities.values()} == {self.coordinates.deviations.shape}, "axes")
        require(self.coordinates.origin.shape == self.tree.normal.shape[1:], "features")

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
        coordinates = Coordinates.of(np.asarray(rows.take(members[0]), dtype=np.float64))
        parts = {
            k: coordinates.locate(np.asarray(rows.take(members[k]), dtype=np.float64))[0]
            for k in tree.leaves()
            if len(members[k])
        }
        counts = np.bincount(leaves, minlength=len(tree))
        sizes = {k: int(counts[k]) for k in parts}
        whitening, inverse = find_whitening(parts, sizes)
        parts = {k: part @ whitening for k, part in parts.items()}
        found = {k: fit_leaf(part, sizes[k] / len(leaves)) for k, part in parts.items()}
        levels = {k: float(np.median(found[k].evaluate(part))) for k, part in parts.items()}
        middle = _find_weighted_median(list(levels.values()), [sizes[k] for k in levels])
        changes = {k: PART_OF_LEVEL * (middle - level) for k, level in levels.items()}
        found = {k: leaf.shift(changes[k]).transform_back(whitening, inverse) for k, leaf in found.items()}
        model = cls(tree, coordinates, found, np.zeros(3))
        chosen = np.sort(samples[0][:most])
        values = model._evaluate(np.asarray(rows.take(chosen)), leaves[chosen])
        return replace(model, quartiles=np.quantile(values, (0.25, 0.5, 0.75)))

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
            located, rest = self.coordinates.locate(X)
            self._fill(out, located, leaves)
            out += 0.5 * rest
        return np.nan_to_num(out, copy=False, nan=LARGEST, posinf=LARGEST, neginf=-LARGEST)

    def _fill(self, out: Array, located: Array, leaves: Indices) -> None:
        for k in np.flatnonzero(np.bincount(leaves)).tolist():
            here = np.flatnonzero(leaves == k)
            density = self.densities.get(k)  # None if there were no rows of the leaf
            out[here] = LARGEST if density is None else -density.evaluate(located.take(here, axis=0))

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


def _find_weighted_median(values: list[float], weights: list[int]) -> float:
    order = np.argsort(values)
    total = np.cumsum(np.asarray(weights)[order])
    return float(np.asarray(values)[order[int(np.searchsorted(total, 0.5 * total[-1]))]])


@dataclass(frozen=True)
class LeafDensity:
    """Largest of a few normal densities, in coordinates in which the covariance of the leaf is the identity.

    Attributes
    ----------
    center : ndarray of shape (q,)
    transform : ndarray of shape (q, q)
        Matrix that leads to the coordinates.
    means, precisions : ndarray of shape (c, q)
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
        (q,), (c,) = self.center.shape, self.levels.shape
        require(self.means.shape == self.precisions.shape == (c, q) and self.transform.shape == (q, q), "shapes")

    def evaluate(self, x: Array) -> Array:
        """Return the log-density at each row."""
        z = x - self.center
        if len(self.levels) == 1:  # the mean is the centre
            z = z @ (self.transform * np.sqrt(self.precisions[0]))
            return np.asarray(self.levels[0] - 0.5 * np.einsum("ij,ij->i", z, z))
        z = z @ self.transform
        squares = (z * z) @ self.precisions.T - 2.0 * z @ (self.precisions * self.means).T
        heights = self.levels - 0.5 * np.einsum("ij,ij->i", self.means**2, self.precisions)
        return np.asarray((heights - 0.5 * squares).max(axis=1))

    def shift(self, change: float) -> LeafDensity:
        """Return the density with another level."""
        return replace(self, levels=self.levels + change)

    def transform_back(self, matrix: Array, inverse: Array) -> LeafDensity:
        """Return the density of x as a function of x, if this one is a function of ``x @ matrix``."""
        return replace(self, center=self.center @ inverse, transform=matrix @ self.transform)


def find_whitening(samples: dict[int, Array], sizes: dict[int, int]) -> tuple[Array, Array]:
    """Return the matrix that leads to coordinates of unit variance inside leaves, averaged over all rows; its inverse.

    Variances of few rows are shrunk towards a multiple of those of all rows, which are 1.
    """
    within = {k: sample - np.median(sample, axis=0) for k, sample in samples.items()}
    both = np.concatenate(list(within.values()))
    n, q = both.shape
    clip_lengths(both)
    shares = np.repeat([sizes[k] / len(part) for k, part in within.items()], [len(part) for part in within.values()])
    covariance = (both * (shares / sum(sizes.values()))[:, None]).T @ both
    share, mean = q / (q + n), float(np.trace(covariance)) / max(q, 1)
    covariance *= 1.0 - share
    covariance[np.diag_indices(q)] += share * mean + LEAST
    values, vectors = np.linalg.eigh(covariance)
    deviations = np.sqrt(np.maximum(values, LEAST))
    # The symmetric root: eigenvectors of equal variances are arbitrary.
    return (vectors / deviations) @ vectors.T, (vectors * deviations) @ vectors.T


def fit_leaf(sample: Array, share: float) -> LeafDensity:
    """Estimate the density of a leaf.

    Parameters
    ----------
    sample : ndarray of shape (m, q)
        Rows of the leaf, in coordinates in which the variances inside all leaves are 1.
    share : float
        Share of the leaf of all rows.
    """
    n, q = sample.shape
    center, transform, log_volume, distances = _find_center(sample)
    # Chosen so that the median distance is that of the median row.
    variance = max(float(np.median(distances)) / max(q, 1), 1e-6)
    level = np.log(share) + log_volume
    normal = LeafDensity(
        center,
        transform,
        np.zeros((1, q)),
        np.full((1, q), 1.0 / variance),
        np.array([level - 0.5 * q * np.log(variance)]),
    )
    if q > MOST_FOR_COMPONENTS or q == 0:
        return normal
    best, highest = normal, _rate(normal, sample)
    z = (sample - center) @ transform
    # Components depend on the order of the rows: that of their distances.
    order = np.argsort(np.round(distances / (q * variance), 9), kind="stable")
    inner = z[order][_find_smallest(distances[order], int(DESCRIBED * n))]
    for c in N_COMPONENTS:
        if n < ROWS_PER_COMPONENT * c:
            break
        means, variances, weights = _find_components(inner, c)
        levels = level + np.log(weights) - 0.5 * np.log(variances).sum(axis=1)
        dense = levels >= levels.max() - SPARSE - q * SPARSE_PER_DIMENSION
        found = LeafDensity(center, transform, means[dense], 1.0 / variances[dense], levels[dense])
        if dense.sum() == 1:
            continue
        rating = _rate(found, sample)
        if rating > highest:
            best, highest = found, rating
    return best


def _find_center(x: Array) -> tuple[Array, Array, float, Array]:
    """Return robust centre, transformation, its log-determinant and the squared distances of the rows.

    Concentration steps as for the minimum covariance determinant, from the medians. Covariances of few rows are shrunk
    towards the identity.
    """
    n, q = x.shape
    center = np.median(x, axis=0)
    z = x - center
    distances = np.einsum("ij,ij->i", z, z)
    clip_lengths(z)
    of_all = OF_ALL * (z.T @ z) / n
    m = min(n, max(int(CENTRAL * n), 2))
    share = q / (q + m)
    for _ in range(N_STEPS):
        central = x[_find_smallest(distances, m)]
        center = central.mean(axis=0)
        z = central - center
        covariance = (1.0 - share) * (z.T @ z) / len(z) + of_all
        covariance[np.diag_indices(q)] += share + LEAST
        values, vectors = np.linalg.eigh(covariance)
        transform = vectors / np.sqrt(np.maximum(values, LEAST))
        z = (x - center) @ transform
        distances = np.einsum("ij,ij->i", z, z)
    return center, transform, -0.5 * float(np.log(np.maximum(values, LEAST)).sum()), distances


def _find_smallest(distances: Array, m: int) -> NDArray[np.bool_]:
    """Return which distances are the m smallest ones, with those equal to the last."""
    last = np.partition(distances, m - 1)[m - 1]
    return np.asarray(distances <= last + SAME * (1.0 + last))


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
    n, q = sample.shape
    values = np.sort(density.evaluate(sample))[int(IGNORED * n) :]
    return float(values.mean() - q * len(density.levels) * np.log(n) / n)


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
