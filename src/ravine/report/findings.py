"""Everything that the report tells, computed from a fitted estimator and its rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.explain import EffectSizes, GroupMoments, compare_with_rest, encode_any_labels
from ravine.metrics import adjusted_rand_index
from ravine.report.splits import Cut, PairSplit, TreeSplit, cuts_of, single_split, walk_pairs, walk_tree
from ravine.tree import Tree

__all__ = ["Comparison", "Findings", "find"]

# Clusters, and pairs of classes, that are shown; the report says so if there are more.
MOST_CLUSTERS, MOST_PAIRS = 120, 190
# A column with more different values than this names rows rather than kinds of rows.
MOST_LABELS = 1000


@dataclass(frozen=True)
class Comparison:
    """Labels that were known.

    Attributes
    ----------
    codes : ndarray of shape (n,)
        -1 where there is none.
    names : list
    table : ndarray of shape (g, l), int, or None
        Rows of each group with each label; None if there are too many different labels.
    """

    codes: NDArray[np.intp]
    names: list[Any]
    table: NDArray[np.intp] | None


@dataclass(frozen=True)
class Findings:
    """What was found.

    Attributes
    ----------
    kind : {"tree", "hyperplane", "classifier"}
    estimator : object
    X : ndarray of shape (n, d)
    part_of_row : ndarray of shape (n,)
        Place in ``part_numbers`` of the smallest group of each row.
    part_numbers : list of int
        Leaves (numbers of nodes), or codes of classes.
    parts : GroupMoments
    effects : EffectSizes
        Of the groups.
    group_sizes : ndarray of shape (g,)
    cuts : list of (Cut, list of int, float or None)
        With the group of each cluster and the agreement with the labels that were known.
    comparison : Comparison or None
    tree : Tree or None
    nodes : list of TreeSplit
    pairs : list of PairSplit
    class_names : list
    n_left_out : int
        Clusters, or pairs of classes, that are not shown.
    same_rows : bool
        Whether X looks like the rows of the fit.
    """

    kind: str
    estimator: Any
    X: NDArray[np.floating[Any]]
    part_of_row: NDArray[np.intp]
    part_numbers: list[int]
    parts: GroupMoments
    effects: EffectSizes
    group_sizes: NDArray[np.intp]
    cuts: list[tuple[Cut, list[int], float | None]]
    comparison: Comparison | None
    tree: Tree | None
    nodes: list[TreeSplit]
    pairs: list[PairSplit]
    class_names: list[Any]
    n_left_out: int
    same_rows: bool

    @property
    def n_groups(self) -> int:
        """Clusters or classes that the estimator found, among those shown."""
        return self.cuts[-1][0].n_clusters if self.cuts else len(self.part_numbers)


def find(estimator: Any, X: NDArray[np.floating[Any]], labels_true: ArrayLike | None) -> Findings:
    """Look at the rows with a fitted estimator.

    Parameters
    ----------
    estimator : MinimumDensityTree, MinimumDensityHyperplane or MinimumDensityClassifier
    X : ndarray of shape (n, d)
    labels_true : array-like of shape (n,), optional
    """
    known = None if labels_true is None else encode_any_labels(labels_true, len(X), "labels_true")
    if isinstance(estimator, MinimumDensityClassifier):
        return _classes(estimator, X, known)
    if isinstance(estimator, MinimumDensityHyperplane):
        labels = estimator.predict(X) if estimator.labels_ is None else estimator.labels_
        tree = single_split(estimator.hyperplane_, labels, getattr(estimator, "pvalue_", np.nan))
        return _clusters("hyperplane", estimator, tree, X, known)
    assert isinstance(estimator, MinimumDensityTree)
    return _clusters("tree", estimator, estimator.tree_, X, known)


Known = tuple[NDArray[np.intp], list[Any]] | None


def _clusters(kind: str, estimator: Any, whole: Tree, X: NDArray[Any], known: Known) -> Findings:
    tree = whole.cut(n_clusters=MOST_CLUSTERS) if whole.n_clusters > MOST_CLUSTERS else whole
    nodes, leaf_of_row = walk_tree(tree, X)
    leaves = tree.leaves()
    place = np.zeros(len(tree), dtype=np.intp)
    place[leaves] = np.arange(len(leaves))
    part_of_row = place[leaf_of_row]
    cuts = cuts_of(tree)
    groups: dict[frozenset[int], int] = {}
    of_cuts = []
    for cut in cuts:
        clusters: list[set[int]] = [set() for _ in range(cut.n_clusters)]
        for node, cluster in cut.frontier:
            clusters[cluster].update(place[tree.leaves(node)].tolist())
        of_cuts.append([groups.setdefault(frozenset(parts), len(groups)) for parts in clusters])
    members = np.zeros((len(groups), len(leaves)), dtype=bool)
    for which, number in groups.items():
        members[number, list(which)] = True
    parts = GroupMoments.of(X, part_of_row, len(leaves))
    comparison = _compare(known, part_of_row, members)
    table = None if comparison is None else comparison.table
    agreements = [None if table is None else adjusted_rand_index(table[numbers]) for numbers in of_cuts]
    return Findings(
        kind=kind, estimator=estimator, X=X, part_of_row=part_of_row, part_numbers=leaves, parts=parts,
        effects=compare_with_rest(parts, members), group_sizes=members @ parts.size,
        cuts=list(zip(cuts, of_cuts, agreements, strict=True)), comparison=comparison, tree=tree, nodes=nodes, pairs=[],
        class_names=[], n_left_out=whole.n_clusters - tree.n_clusters,
        same_rows=[node.size for node in nodes] == tree.size.tolist(),
    )  # fmt: skip


def _compare(known: Known, part_of_row: NDArray[np.intp], members: NDArray[np.bool_]) -> Comparison | None:
    if known is None or not len(known[1]):
        return None
    codes, names = known
    if len(names) > MOST_LABELS:
        return Comparison(codes, names, None)
    there = codes >= 0
    places = part_of_row[there] * len(names) + codes[there]
    counts = np.bincount(places, minlength=members.shape[1] * len(names)).reshape(-1, len(names))
    return Comparison(codes, names, members.astype(np.intp) @ counts)


def _classes(estimator: MinimumDensityClassifier, X: NDArray[Any], known: Known) -> Findings:
    names = estimator.classes_.tolist()
    same_rows = len(estimator.transduction_) == len(X)
    codes = _class_codes(estimator, estimator.transduction_ if same_rows else estimator.predict(X))
    planes = list(estimator.hyperplanes_.values())
    every = [(a, b) for a in range(len(names)) for b in range(a + 1, len(names))]
    size = np.bincount(codes, minlength=len(names))
    shown = list(zip(every, planes, strict=True))
    if len(shown) > MOST_PAIRS:  # those of the largest classes
        largest = sorted(range(len(shown)), key=lambda i: -min(size[list(every[i])]))[:MOST_PAIRS]
        shown = [shown[i] for i in sorted(largest)]
    pairs = walk_pairs([(a, b, plane) for (a, b), plane in shown], X, codes, len(names))
    parts = GroupMoments.of(X, codes, len(names))
    members = np.eye(len(names), dtype=bool)
    return Findings(
        kind="classifier", estimator=estimator, X=X, part_of_row=codes, part_numbers=list(range(len(names))),
        parts=parts, effects=compare_with_rest(parts, members), group_sizes=size, cuts=[],
        comparison=_compare(known, codes, members), tree=None, nodes=[], pairs=pairs, class_names=names,
        n_left_out=len(every) - len(shown), same_rows=same_rows,
    )  # fmt: skip


def _class_codes(estimator: MinimumDensityClassifier, labels: NDArray[Any]) -> NDArray[np.intp]:
    try:
        return np.searchsorted(estimator.classes_, labels).astype(np.intp)
    except TypeError:  # labels of several types
        number = {label: k for k, label in enumerate(estimator.classes_.tolist())}
        return np.array([number[label] for label in labels.tolist()], dtype=np.intp)
