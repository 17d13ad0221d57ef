"""Tests of the features that set clusters apart, by rows that had no part in finding the clusters."""

from __future__ import annotations

import math
import numbers
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine._html import make_section, make_table
from ravine._plurals import format_pvalue
from ravine._typing import Array
from ravine.checks import check_integer, make_generator
from ravine.density import ProjectedDensity, judge, measure_evidence, outline_valley
from ravine.explain.effects import GroupMoments, compare_with_rest
from ravine.explain.inputs import check_estimator, name_features, open_pipeline
from ravine.hyperplane import NoSplitWarning
from ravine.rows import ArrayRows, center_and_scale
from ravine.rows.inputs import validate_array
from ravine.rows.repeated_values import find_repeating
from ravine.rows.scales import ScaleWarning
from ravine.search import resolve_bandwidth

# Largest number of rows of both halves together, and of features that are tested.
MOST_TESTED_ROWS, MOST_FEATURES = 20_000, 200
# With fewer rows there are no halves, and a cluster with fewer judges is not tested.
FEWEST_ROWS, FEWEST_JUDGES = 40, 5
# With more judges the test of Kolmogorov & Smirnov uses the limit of many rows.
MOST_EXACT = 1000
# A cluster counts as found in a half of the rows if this share of the rows in either of the two is in both: the bound
# for stable clusters of Hennig (2007). With half of the rows, P-values of other clusters appear beside a cluster.
SAME_CLUSTER = 0.75

Indices = NDArray[np.intp]
Comparison = tuple[int, int | None]


@dataclass(frozen=True, repr=False)
class FeatureTests:
    """Features compared between clusters; arrays of shape (n_comparisons, n_features).

    Attributes
    ----------
    clusters : list of tuple
        The two clusters of each comparison; the second is None if it is all other rows.
    effect : ndarray
        Difference of the means in pooled standard deviations, over all rows.
    pvalue : ndarray
        P-value of each feature by itself, from the rows held out. NaN if it is not tested.
    adjusted : ndarray
        P-values after Holm's correction for all features and comparisons together.
    n_rows : int
        Number of rows held out, which judge.
    feature_names : list of str

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import MinimumDensityTree, compare_clusters
    >>> rng = np.random.default_rng(0)
    >>> X = np.column_stack([rng.normal(size=200), rng.normal(size=(200, 2)) + np.repeat([[0.0], [6.0]], 100, axis=0)])
    >>> tests = compare_clusters(MinimumDensityTree(2, random_state=0).fit(X), X, (0, 1))
    >>> tests.clusters, tests.n_rows, (tests.adjusted < 0.05).tolist()
    ([(0, 1)], 100, [[False, True, True]])
    """

    clusters: list[Comparison]
    effect: Array
    pvalue: Array
    adjusted: Array
    n_rows: int
    feature_names: list[str]

    def __repr__(self) -> str:
        lines, width = [], max([24, *map(len, self.feature_names)])
        for title, why, features in map(self._describe, range(len(self.clusters))):
            lines += [title, f"  {why}"] if why else [title]
            lines += [f"  {name:{width}s} {effect:>8s} sd   {judged}" for name, effect, judged in features]
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        heads = ("feature", "difference (sd)", "corrected P")
        return "".join(
            make_section(title, make_table([(why,)] if why else features, () if why else heads))
            for title, why, features in map(self._describe, range(len(self.clusters)))
        )

    def _describe(self, k: int) -> tuple[str, str, list[tuple[str, str, str]]]:
        """Return the title of a comparison, why it was not tested, and the features, smallest P first."""
        first, second = self.clusters[k]
        title = f"cluster {first} and {'all other rows' if second is None else f'cluster {second}'}"
        if np.isnan(self.pvalue[k]).all():
            few = 2 * self.n_rows <= FEWEST_ROWS  # an odd row is among them
            reason = "there are too few rows" if few else "half of the rows does not find the same clusters"
            return title, f"not tested: {reason}", []
        order = np.argsort(np.nan_to_num(self.adjusted[k], nan=2.0), kind="stable").tolist()
        tested = [format_pvalue(self.adjusted[k, j]) if self.adjusted[k, j] >= 0.0 else "not tested" for j in order]
        effects = [f"{self.effect[k, j]:+.2f}" for j in order]
        return title, "", list(zip([self.feature_names[j] for j in order], effects, tested, strict=True))


def compare_clusters(
    estimator: Any,
    X: ArrayLike,
    clusters: tuple[int, int] | None = None,
    *,
    feature_names: Sequence[str] | None = None,
    random_state: Any = 0,
) -> FeatureTests:
    """Test which features separate clusters, with P-values.

    A test of the rows that formed the clusters finds a difference in every feature that the hyperplanes use. So a
    random half of the rows forms the same number of clusters again, and the other half judges. To test feature j, the
    judges are assigned to these clusters with the mean of j in place of their own values. Two P-values come from j:

    - of the test of Kolmogorov & Smirnov between the clusters, if the first half shows the same clusters without j;
    - of the exact test for a valley that the first half sees in j between the clusters (not for features of repeated
      values).

    P is twice the smaller one, and NaN if there is neither: a category that alone separates two clusters is not tested.
    If j is independent of the other features and has a single mode, P ≤ 0.05 occurs at most 5 % of the time, whatever
    the clusters are (above 1000 judges on a side, in the limit of many). Holm's correction then covers all features and
    comparisons.

    Parameters
    ----------
    estimator : MinimumDensityTree, MinimumDensityHyperplane or Pipeline
        Fitted estimator with at least two clusters, or a pipeline that ends with one.
    X : array-like of shape (n_samples, n_features)
        The rows of the fit.
    clusters : tuple of two int, optional
        The clusters to compare. By default each cluster is compared with all other rows.
    feature_names : sequence of str, optional
    random_state : int, RandomState, Generator or None, default=0
        Seed of the halves, and of the subsample of more than 20,000 rows.

    Returns
    -------
    FeatureTests

    Notes
    -----
    A small P says that a feature differs between the clusters, not that the clusters are real: a cut through one cloud
    of correlated features makes all of them differ. `valley_test` answers that question. A feature that is merely
    correlated with one that separates the clusters differs, too. Clusters that half of the rows do not find again are
    not tested, nor are features beyond the 200 with the largest differences in the first half. Weights, labels and
    links are ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import MinimumDensityTree, compare_clusters
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(300, 4))
    >>> X[:150, :2] += 5.0
    >>> tests = compare_clusters(MinimumDensityTree(2, random_state=0).fit(X), X, (0, 1))
    >>> (tests.adjusted[0] < 0.05).tolist()
    [True, True, False, False]
    """
    opened = open_pipeline(estimator, X, feature_names)
    estimator, X, feature_names = opened.estimator, opened.X, opened.feature_names
    check_estimator(estimator)
    if not hasattr(estimator, "labels_"):
        raise TypeError(f"compare_clusters needs a clusterer, got {type(estimator).__name__}.")
    rows = validate_array(estimator, X, reset=False)
    return compare_rows(estimator, rows, clusters, name_features(feature_names, rows.shape[1], estimator), random_state)


def compare_rows(
    estimator: Any, rows: NDArray[Any], clusters: tuple[int, int] | None, names: list[str], random_state: Any = 0
) -> FeatureTests:
    """Compare clusters as `compare_clusters` does, from rows that are validated already."""
    labels = np.asarray(estimator.predict(ArrayRows(rows)))
    n_clusters = estimator.tree_.n_clusters if hasattr(estimator, "tree_") else 2
    if len(np.unique(labels)) < 2:
        raise ValueError("all rows are in one cluster: there is nothing to compare.")
    comparisons = _list_comparisons(clusters, n_clusters)
    pvalue = np.full((len(comparisons), rows.shape[1]), np.nan)
    rng = make_generator(random_state)
    chosen = rng.permutation(len(rows))[:MOST_TESTED_ROWS]
    first, judges = np.sort(chosen[: len(chosen) // 2]), np.sort(chosen[len(chosen) // 2 :])
    if len(chosen) >= FEWEST_ROWS:
        half = _fit_half(estimator, rows[first], n_clusters, int(rng.integers(2**31)))
        if half is not None:
            found = _match_clusters(labels[first], half.predict(rows[first]), n_clusters)
            pvalue = _test_features(half, rows[first], rows[judges], [_translate(one, found) for one in comparisons])
    return FeatureTests(
        comparisons, _measure_effects(rows, labels, comparisons), pvalue, _correct(pvalue), len(judges), names
    )


def _list_comparisons(clusters: Any, n_clusters: int) -> list[Comparison]:
    if clusters is None:
        return [(k, None) for k in range(n_clusters)]
    if not isinstance(clusters, tuple | list) or len(clusters) != 2:
        raise ValueError(f"clusters must be two numbers of clusters, got {clusters!r}.")
    first, second = (check_integer("clusters", k, low=0, high=n_clusters - 1) for k in clusters)
    if first == second:
        raise ValueError(f"clusters must be two different clusters, got {first} twice.")
    return [(first, second)]


def _fit_half(estimator: Any, rows: NDArray[Any], n_clusters: int, seed: int) -> Any:
    """Fit the same clusterer to half of the rows, with the number of clusters given; return None if that fails."""
    from sklearn.base import clone

    half = clone(estimator).set_params(random_state=seed, callback=None, contamination=None)
    if hasattr(estimator, "tree_"):  # labels and links that are known are not passed on
        share = len(rows) / max(int(estimator.tree_.size[0]), 1)
        half.set_params(
            n_clusters=n_clusters,
            min_cluster_size=_shrink_size(estimator.min_cluster_size, share),
            max_cluster_size=_shrink_size(estimator.max_cluster_size, share),
        )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSplitWarning)  # its clusters are then not matched
        warnings.simplefilter("ignore", ScaleWarning)  # the fit of all rows has warned
        try:
            return half.fit(rows)
        except ValueError:  # such clusters cannot be formed from so few rows
            return None


def _shrink_size(size: Any, share: float) -> Any:
    """Return a limit on the sizes of clusters for a share of the rows; shares of all rows stay."""
    return max(2, math.ceil(share * int(size))) if isinstance(size, numbers.Integral) else size


def _match_clusters(labels: Indices, others: Indices, n_clusters: int) -> dict[int, int]:
    """Return the cluster of a second partition that equals each cluster of the first one, where there is one."""
    from scipy.optimize import linear_sum_assignment

    size = max(n_clusters, int(others.max()) + 1)
    both = np.bincount(labels * size + others, minlength=size * size).reshape(size, size)
    either = both.sum(axis=1)[:, None] + both.sum(axis=0) - both
    share = both / np.maximum(either, 1)
    return {a: b for a, b in zip(*map(np.ndarray.tolist, linear_sum_assignment(-share)), strict=True)
            if share[a, b] >= SAME_CLUSTER}  # fmt: skip


def _translate(comparison: Comparison, found: dict[int, int]) -> Comparison | None:
    """Return the clusters of the half that a comparison is about; None if one is missing."""
    first, second = comparison
    if first not in found or (second is not None and second not in found):
        return None
    return found[first], None if second is None else found[second]


def _measure_effects(rows: NDArray[Any], labels: Indices, comparisons: list[Comparison]) -> Array:
    effects = []
    for first, second in comparisons:
        used = slice(None) if second is None else np.isin(labels, (first, second))
        groups = GroupMoments.of(rows[used], (labels[used] != first).astype(np.intp), 2)
        effects.append(compare_with_rest(groups).effect[0])
    return np.array(effects)


# --------------------------------------------------------------------------------------------------------- P-values


def _test_features(
    half: Any, chosen: NDArray[Any], judges: NDArray[Any], comparisons: list[Comparison | None]
) -> Array:
    """Return the P-value of each feature in each comparison."""
    pvalue = np.full((len(comparisons), judges.shape[1]), np.nan)
    known = [(k, one) for k, one in enumerate(comparisons) if one is not None]
    labels = np.asarray(half.predict(chosen))
    masked, n = np.concatenate([chosen, judges]), len(chosen)
    for j in _choose_features(chosen, labels).tolist():
        masked[:, j] = chosen[:, j].mean()
        seen, without = np.split(np.asarray(half.predict(masked)), [n])
        masked[:n, j], masked[n:, j] = chosen[:, j], judges[:, j]
        for k, comparison in known:
            sides, parts = _select(labels, comparison), _select(without, comparison)
            n_judges = [int(part.sum()) for part in parts]
            if sum(n_judges) < 2 * FEWEST_JUDGES:
                continue
            p = []
            # Without a feature that alone separates the clusters, the other features show none, or others.
            if min(n_judges) >= FEWEST_JUDGES and all(map(_is_same, sides, _select(seen, comparison))):
                p.append(_test_distributions(*(judges[part, j] for part in parts)))
            # Features of repeated values have gaps between values.
            values = chosen[:, j].astype(np.float64)
            if all(side.any() for side in sides) and not len(find_repeating(values[:, None])):
                p.append(_test_valley(values, sides, judges[parts[0] | parts[1], j].astype(np.float64)))
            if p:
                pvalue[k, j] = min(1.0, 2.0 * min(p))
    return pvalue


def _is_same(members: NDArray[np.bool_], others: NDArray[np.bool_]) -> bool:
    """Return whether enough of the rows of two clusters are in both."""
    return bool((members & others).sum() >= SAME_CLUSTER * max(1, (members | others).sum()))


def _select(labels: Indices, comparison: Comparison) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    first, second = comparison
    return labels == first, (labels != first) if second is None else (labels == second)


def _choose_features(rows: NDArray[Any], labels: Indices) -> Indices:
    """Return the features that vary, and of very many those with the largest differences between clusters."""
    varies = np.flatnonzero(rows.min(axis=0) < rows.max(axis=0))
    if len(varies) <= MOST_FEATURES:
        return varies
    effects = compare_with_rest(GroupMoments.of(rows, labels, int(labels.max()) + 1)).effect
    largest = np.abs(np.nan_to_num(effects[:, varies], posinf=1e300, neginf=1e300)).max(axis=0)
    return np.sort(varies[np.argsort(-largest, kind="stable")[:MOST_FEATURES]])


def _test_distributions(inside: NDArray[Any], outside: NDArray[Any]) -> float:
    """Return the P-value of the test of Kolmogorov & Smirnov, which repeated values make conservative."""
    from scipy.stats import ks_2samp

    is_small = max(len(inside), len(outside)) <= MOST_EXACT
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # SciPy falls back to the limit of many rows
        return float(ks_2samp(inside, outside, method="exact" if is_small else "asymp").pvalue)


def _test_valley(chosen: Array, sides: tuple[NDArray[np.bool_], NDArray[np.bool_]], judges: Array) -> float:
    """Return the P-value of the judges for the valley that other rows see between two groups; 1 if there is none."""
    z, center, scale = center_and_scale(chosen[:, None])
    low, high = sorted(float(z[side, 0].mean()) for side in sides)
    values = z[sides[0] | sides[1], 0]
    bandwidth = resolve_bandwidth("silverman", len(values), float(values.std()))
    minima = ProjectedDensity(values, bandwidth).extrema()[0]
    between = [float(b) for b in minima if low < b < high]
    if not between:
        return 1.0
    best = max(between, key=lambda b: min(measure_evidence(values - b, bandwidth, 0.0)))
    valley = outline_valley(values, bandwidth, best)
    return 1.0 if valley is None else judge(valley, (judges - center[0]) / scale).pvalue


def _correct(pvalue: Array) -> Array:
    """Return the P-values after Holm's correction; NaN stays and does not count."""
    adjusted, tested = np.full(pvalue.shape, np.nan), ~np.isnan(pvalue)
    values = pvalue[tested]
    order, n = np.argsort(values, kind="stable"), len(values)
    corrected = np.empty(n)
    corrected[order] = np.minimum(1.0, np.maximum.accumulate(values[order] * np.arange(n, 0, -1)))
    adjusted[tested] = corrected
    return adjusted
