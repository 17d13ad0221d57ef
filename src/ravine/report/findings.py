"""Everything that a report shows, computed from a fitted estimator and its rows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.explain import (
    EffectSizes,
    FeatureTests,
    GroupMoments,
    Suggestion,
    compare_with_rest,
    encode_any_labels,
    encode_classes,
    find_suggestion,
    name_features,
)
from ravine.explain.feature_tests import compare_rows
from ravine.report.maps import Map, find_map
from ravine.report.splits import (
    BoundarySummary,
    NodeSummary,
    PairSummary,
    TreeCut,
    list_cuts,
    make_stump,
    summarise_boundaries,
    summarise_nodes,
    summarise_pairs,
)
from ravine.rows import ArrayRows
from ravine.tree import Tree

# Clusters and pairs of classes that are shown; the report says so if there are more.
MAX_CLUSTERS, MAX_PAIRS = 120, 190
# A column with more different values than this identifies rows rather than kinds of rows.
MAX_LABELS = 1000

Encoded = tuple[NDArray[np.intp], list[Any]]


@dataclass(frozen=True)
class KnownLabels:
    """Labels that were known, to be compared with the groups.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        -1 for unlabelled rows.
    names : list
    table : ndarray of shape (g, l), int, or None
        Rows of each group with each label; None if there are too many different labels.
    """

    codes: NDArray[np.intp]
    names: list[Any]
    table: NDArray[np.intp] | None


@dataclass(frozen=True)
class CutSummary:
    """A cut of the tree.

    Attributes
    ----------
    cut : TreeCut
    groups : list of int
        Group of each cluster.
    numbers : list of int
        Number that the page shows for each cluster: that of its largest part among the clusters of the estimator, so
        that a cluster keeps number and colour when others are joined.
    cluster_of_part : ndarray of shape (p,)
    agreement : float or None
        Adjusted Rand index with the known labels.
    """

    cut: TreeCut
    groups: list[int]
    numbers: list[int]
    cluster_of_part: NDArray[np.intp]
    agreement: float | None


@dataclass(frozen=True)
class Findings:
    """Contents of a report.

    Rows belong to *parts* (leaves of the tree, or classes); *groups* are the clusters of all cuts of the tree, each a
    union of parts, or the classes.

    Attributes
    ----------
    kind : {"tree", "hyperplane", "classifier"}
    estimator : object
    X : ndarray of shape (n, d)
    part_of_row : ndarray of shape (n,)
        Position in ``part_numbers`` of the part of each row.
    part_numbers : list of int
        Numbers of the leaves, or codes of the classes.
    parts : GroupMoments
    effects : EffectSizes
        Of the groups.
    group_sizes : ndarray of shape (g,)
    cuts : list of CutSummary
    first_cut : int
        Position in ``cuts`` of the clusters of the estimator, with which the page starts.
    suggestion : Suggestion or None
        None if no more clusters are suggested than the test shows.
    known : KnownLabels or None
    tree : Tree or None
        Tree of the page.
    nodes : list of NodeSummary
    boundaries : list of BoundarySummary
        Between groups, if the leaves of the tree are joined.
    pairs : list of PairSummary
    class_names : list
    map : Map
        Two directions in which the clusters of the estimator, or the classes, are farthest apart.
    n_left_out : int
        Number of clusters, or of pairs of classes, that are not shown.
    same_rows : bool
        Whether X appears to be the rows of the fit.
    tests : FeatureTests or None
        P-values of the features of the clusters of the estimator.
    """

    kind: str
    estimator: Any
    X: NDArray[np.floating[Any]]
    part_of_row: NDArray[np.intp]
    part_numbers: list[int]
    parts: GroupMoments
    effects: EffectSizes
    group_sizes: NDArray[np.intp]
    cuts: list[CutSummary]
    first_cut: int
    suggestion: Suggestion | None
    known: KnownLabels | None
    tree: Tree | None
    nodes: list[NodeSummary]
    boundaries: list[BoundarySummary]
    pairs: list[PairSummary]
    class_names: list[Any]
    map: Map
    n_left_out: int
    same_rows: bool
    tests: FeatureTests | None = None

    @property
    def is_joined(self) -> bool:
        """Whether clusters are unions of leaves that no valley separates."""
        return self.tree is not None and self.tree.joins is not None

    @property
    def n_groups(self) -> int:
        """Number of clusters or classes of the estimator, among those shown."""
        return self.cuts[self.first_cut].cut.n_clusters if self.cuts else len(self.part_numbers)

    def get_pvalue(self, group: int, feature: int) -> float:
        """Return the corrected P-value of a feature of a group; NaN if it is not tested."""
        groups = self.cuts[self.first_cut].groups if self.cuts else []
        if self.tests is None or group not in groups:
            return math.nan
        return float(self.tests.adjusted[groups.index(group), feature])


def collect_findings(
    estimator: Any, X: NDArray[np.floating[Any]], labels_true: ArrayLike | None, *, feature_tests: bool = True
) -> Findings:
    """Compute the contents of a report.

    Parameters
    ----------
    estimator : MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier
    X : ndarray of shape (n, d)
    labels_true : array-like of shape (n,), optional
    feature_tests : bool
        Whether to test the features that set clusters apart.
    """
    found = _collect(estimator, X, labels_true)
    is_testable = found.cuts and found.same_rows and found.n_groups > 1 and not found.n_left_out
    if not (feature_tests and is_testable):
        return found
    return replace(found, tests=compare_rows(estimator, X, None, name_features(None, X.shape[1], estimator)))


def _collect(estimator: Any, X: NDArray[np.floating[Any]], labels_true: ArrayLike | None) -> Findings:
    known = None if labels_true is None else encode_any_labels(labels_true, len(X), "labels_true")
    if isinstance(estimator, MinimumDensityClassifier):
        return _collect_classes(estimator, X, known)
    if isinstance(estimator, MinimumDensityHyperplane):
        is_marked = estimator.contamination is not None
        labels = (
            estimator.predict(cast(Any, ArrayRows(X))) if is_marked or estimator.labels_ is None else estimator.labels_
        )
        tree = make_stump(estimator.hyperplane_, labels, getattr(estimator, "pvalue_", np.nan))
        return _collect_clusters("hyperplane", estimator, tree, None, X, known)
    assert isinstance(estimator, MinimumDensityTree)
    suggestion = find_suggestion(estimator)
    if suggestion is not None and not suggestion.n_shown < suggestion.n_suggested <= MAX_CLUSTERS:
        suggestion = None
    return _collect_clusters("tree", estimator, estimator.tree_, suggestion, X, known)


def _collect_clusters(
    kind: str, estimator: Any, whole: Tree, suggestion: Suggestion | None, X: NDArray[Any], known: Encoded | None
) -> Findings:
    n_clusters = min(whole.n_clusters, MAX_CLUSTERS)
    tree = whole.cut(n_clusters=MAX_CLUSTERS) if whole.n_clusters > MAX_CLUSTERS else whole
    nodes, leaf_of_row = summarise_nodes(tree, X)
    leaves = tree.leaves()
    place = np.zeros(len(tree), dtype=np.intp)
    place[leaves] = np.arange(len(leaves))
    part_of_row = place[leaf_of_row]
    cuts = list_cuts(tree)
    members, groups_of_cuts = _unite_leaves(tree, cuts, place)
    parts = GroupMoments.of(X, part_of_row, len(leaves))
    compared = _compare(known, part_of_row, members)
    first_cut = [cut.n_clusters for cut in cuts].index(n_clusters)
    own = members[groups_of_cuts[first_cut]]
    summaries = []
    for cut, groups in zip(cuts, groups_of_cuts, strict=True):
        cluster_of_part = members[groups].argmax(axis=0)
        agreement = _measure_agreement(compared, cluster_of_part, part_of_row)
        numbers = _number_clusters(members[groups], own, parts.size)
        summaries.append(CutSummary(cut, groups, numbers, cluster_of_part, agreement))
    return Findings(
        kind=kind, estimator=estimator, X=X, part_of_row=part_of_row, part_numbers=leaves, parts=parts,
        effects=compare_with_rest(parts, members), group_sizes=members @ parts.size,
        cuts=summaries,
        first_cut=first_cut, suggestion=suggestion, known=compared, tree=tree,
        nodes=nodes, boundaries=summarise_boundaries(tree, X, leaf_of_row, cuts, groups_of_cuts),
        pairs=[], class_names=[], map=find_map(X, part_of_row, summaries[first_cut].cluster_of_part),
        n_left_out=whole.n_clusters - n_clusters,
        same_rows=[node.size for node in nodes] == tree.size.tolist(),
    )  # fmt: skip


def _unite_leaves(
    tree: Tree, cuts: list[TreeCut], place: NDArray[np.intp]
) -> tuple[NDArray[np.bool_], list[list[int]]]:
    """Return the leaves of each different cluster of all cuts, and for each cut the numbers of its clusters."""
    groups: dict[frozenset[int], int] = {}
    groups_of_cuts = []
    for cut in cuts:
        clusters: list[set[int]] = [set() for _ in range(cut.n_clusters)]
        for node, cluster in cut.frontier:
            clusters[cluster].update(place[tree.leaves(node)].tolist())
        groups_of_cuts.append([groups.setdefault(frozenset(parts), len(groups)) for parts in clusters])
    members = np.zeros((len(groups), tree.n_leaves), dtype=bool)
    for parts, number in groups.items():
        members[number, list(parts)] = True
    return members, groups_of_cuts


def _number_clusters(members: NDArray[np.bool_], own: NDArray[np.bool_], size: NDArray[np.intp]) -> list[int]:
    """Match each cluster of a cut with one of the clusters of the estimator, so that most rows keep their number."""
    from scipy.optimize import linear_sum_assignment

    shared = (members * size) @ own.T.astype(np.float64)
    ties = np.arange(len(own)) / (2.0 * len(own) * len(own))  # of equally large parts, the first one
    return [int(number) for number in linear_sum_assignment(ties - shared)[1]]


def _compare(known: Encoded | None, part_of_row: NDArray[np.intp], members: NDArray[np.bool_]) -> KnownLabels | None:
    """Count the known labels in each group; None if there are none."""
    if known is None or not len(known[1]):
        return None
    codes, names = known
    if len(names) > MAX_LABELS:
        return KnownLabels(codes, names, None)
    labelled = codes >= 0
    cells = part_of_row[labelled] * len(names) + codes[labelled]
    counts = np.bincount(cells, minlength=members.shape[1] * len(names)).reshape(-1, len(names))
    return KnownLabels(codes, names, members.astype(np.intp) @ counts)


def _measure_agreement(
    known: KnownLabels | None, cluster_of_part: NDArray[np.intp], part_of_row: NDArray[np.intp]
) -> float | None:
    """Return the adjusted Rand index of the clusters of a cut and the known labels; None without a table of these."""
    from sklearn.metrics import adjusted_rand_score

    if known is None or known.table is None:
        return None
    labelled = known.codes >= 0
    return float(adjusted_rand_score(known.codes[labelled], cluster_of_part[part_of_row[labelled]]))


def _collect_classes(estimator: MinimumDensityClassifier, X: NDArray[Any], known: Encoded | None) -> Findings:
    names = estimator.classes_.tolist()
    same_rows = len(estimator.transduction_) == len(X)
    found = estimator.transduction_ if same_rows else estimator.predict(cast(Any, ArrayRows(X)))
    codes = encode_classes(found, estimator.classes_)
    planes = list(estimator.hyperplanes_.values())
    every = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
    size = np.bincount(codes, minlength=len(names))
    shown = list(zip(every, planes, strict=True))
    if len(shown) > MAX_PAIRS:  # those of the largest classes
        largest = sorted(range(len(shown)), key=lambda i: -min(size[list(every[i])]))[:MAX_PAIRS]
        shown = [shown[i] for i in sorted(largest)]
    pairs = summarise_pairs([(a, b, plane) for (a, b), plane in shown], X, codes, len(names))
    parts = GroupMoments.of(X, codes, len(names))
    members = np.eye(len(names), dtype=bool)
    return Findings(
        kind="classifier", estimator=estimator, X=X, part_of_row=codes, part_numbers=list(range(len(names))),
        parts=parts, effects=compare_with_rest(parts), group_sizes=size, cuts=[], first_cut=0, suggestion=None,
        known=_compare(known, codes, members), tree=None, nodes=[], boundaries=[], pairs=pairs, class_names=names,
        map=find_map(X, codes, np.arange(len(names))), n_left_out=len(every) - len(shown), same_rows=same_rows,
    )  # fmt: skip
