"""Classes that model files may contain, and the properties of their instances that every fit ensures."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.classes.pairs import PairModel
from ravine.density import Judgement, Valley
from ravine.estimators import (
    HalfTest,
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    PathSettings,
    PathStep,
    ValleyTest,
)
from ravine.explain.memberships import SplitOdds
from ravine.explain.outliers import LeafDensity, OutlierModel
from ravine.hyperplane import Hyperplane
from ravine.models.codec import Registry
from ravine.models.table_model import TableModel
from ravine.tables import MixedScaler, MultipleImputer
from ravine.tree import LeafJoins, Tree
from ravine.validity import TEST_METHODS, Evidence, Tally

__all__ = ["ESTIMATORS", "REGISTRY"]

ESTIMATORS = (MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier)
Indices = NDArray[np.intp]
# Types of the fitted attributes of all estimators.
ATTRIBUTES: dict[Any, str] = {
    int: "n_features_in_ n_iter_ n_clusters_ n_shown_ n_suggested_ n_outliers_ seed_",
    float: "density_ relative_depth_ bandwidth_ pvalue_",
    Array: "coef_ intercept_ label_evidence_ density_evidence_ donors_ mean_ scale_ outlier_scores_",
    Indices: "labels_ leaves_ suggested_leaves_",
    NDArray[np.bool_]: "donor_gaps_ repeated_",
    NDArray[Any]: "feature_names_in_ classes_ transduction_",
    str: "shape_ shape_reason_",
    Tree: "tree_ suggested_tree_",
    Hyperplane: "hyperplane_",
    dict[tuple[Any, Any], Hyperplane]: "hyperplanes_",
    tuple[PathStep, ...]: "path_",
    ValleyTest: "valley_test_",
    list[tuple[str, int, int]]: "violated_constraints_",
    list[tuple[str, int, int, bool]]: "constraints_",
    PairModel: "pair_model_",
    SplitOdds: "split_odds_",
    OutlierModel: "outlier_model_",
    tuple[str, ...]: "_columns",
    dict[str, tuple[str, ...]]: "categories_ rare_",
    dict[str, float | str]: "fill_",
}
SMALLEST, LARGEST, INFINITY = 5e-324, sys.float_info.max, np.inf
# Smallest and largest values of fields and fitted attributes, and whether they may be NaN.
RANGES: dict[tuple[float, float, bool], str] = {
    (
        0,
        INFINITY,
        False,
    ): "n_features_in_ n_iter_ n_clusters_ n_shown_ n_suggested_ n_outliers_ seed_ start n_iter n_evaluations "
    "n_tied n_rows pair counts total n_folds grid_columns",
    (0, INFINITY, True): "density relative_depth alpha gamma",
    (0, 1, True): "pvalue pvalue_left pvalue_right threshold outlier_scores_",
    (0, LARGEST, True): "widths",
    (0, LARGEST, False): "precisions",
    (SMALLEST, LARGEST, True): "bandwidth",
    (SMALLEST, LARGEST, False): "scale_",
    (-LARGEST, LARGEST, False): "center transform means levels quartiles donors_ mean_ label_evidence_ "
    "density_evidence_",
}
MOST_CLASSES = 1 << 15


def _require(valid: Any, what: str) -> None:
    if not valid:
        raise ValueError(what)


# ----------------------------------------------------------------------------------------------- hyperplanes and tests


def _check_planes(normals: Array, points: Array, offsets: Array) -> None:
    lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))
    _require((np.abs(lengths - 1.0) < 1e-6).all(), "normal is not a unit vector")
    finite = np.isfinite(offsets)
    _require(not np.isnan(offsets).any() and np.isfinite(points[finite]).all(), "offset or point is not finite")


def _check_hyperplane(plane: Hyperplane) -> None:
    point = np.full(plane.normal.shape, np.nan) if plane.point is None else plane.point
    _require(point.shape == plane.normal.shape, "point and normal differ in shape")
    _check_planes(plane.normal[None], point[None], np.array([plane.offset]))


def _check_valley(valley: Valley) -> None:
    _require(all(low <= high for low, high in (valley.middle, valley.left, valley.right)), "an interval")


def _check_tally(tally: Tally) -> None:
    _require(0 <= tally.middle <= tally.total and 0.0 <= tally.expected <= tally.total, "counts")


def _check_test(test: ValleyTest) -> None:
    _require(0.0 <= test.pvalue <= 1.0 and test.method in TEST_METHODS and all(test.partitions), "pvalue or method")


# ----------------------------------------------------------------------------------------------- trees


def _check_tree(tree: Tree) -> None:
    """Check that every descent ends in a leaf, and that every inner node has a hyperplane."""
    m, d = tree.normal.shape
    names = ("parent", "left", "right", "size", "order", "cluster", "offset", "bandwidth", "alpha", "density")
    arrays = [getattr(tree, name) for name in (*names, "relative_depth", "pvalue")]
    _require(all(array.shape == (m,) for array in arrays) and tree.point.shape == (m, d), "shapes")
    nodes, inner = np.arange(m), tree.left >= 0
    _require(m % 2 == 1 and tree.parent[0] == -1 and (inner == (tree.right >= 0)).all(), "nodes")
    children = np.concatenate([tree.left[inner], tree.right[inner]])
    parents = np.concatenate([nodes[inner], nodes[inner]])
    # Every node but the root is a child of exactly one earlier node.
    _require(np.array_equal(np.sort(children), nodes[1:]) and (parents < children).all(), "children")
    _require(np.array_equal(tree.parent[children], parents), "parents")
    clusters, order, size = tree.cluster[~inner], tree.order, tree.size
    _require((tree.cluster[inner] == -1).all() and 0 <= clusters.min() <= clusters.max() < m, "clusters")
    _require(np.array_equal(np.unique(clusters), np.arange(clusters.max() + 1)), "clusters")
    _require(np.array_equal(np.sort(order[inner]), np.arange(inner.sum())) and (order[~inner] == -1).all(), "order")
    whole = size[tree.left[inner]] + size[tree.right[inner]]
    _require((size > 0).all() and np.array_equal(size[inner], whole), "sizes")
    _check_planes(tree.normal[inner], tree.point[inner], tree.offset[inner])
    _require(np.isfinite(tree.offset[inner]).all(), "offset")
    if tree.joins is not None:
        _check_joins(tree, tree.joins)


def _check_joins(tree: Tree, joins: LeafJoins) -> None:
    """Check that the joins lead to the clusters of the tree, and from there to one."""
    leaves, n = tree.leaves(), tree.n_leaves
    _require(joins.leaves.shape == (n - 1, 2) and set(joins.leaves.ravel().tolist()) <= set(leaves), "joins")
    _require(joins.evidence.shape == (n - 1,), "evidence")
    _require(len(np.unique(joins.label_leaves(len(tree), n)[leaves])) == 1, "joins")
    groups = joins.label_leaves(len(tree), n - tree.n_clusters)[leaves]
    _require(len({*zip(groups.tolist(), tree.cluster[leaves].tolist(), strict=True)}) == tree.n_clusters, "joins")
    pairs = joins.boundaries
    _require(pairs.shape == (len(joins.boundary_evidence), 2), "boundaries")
    _require((pairs[:, 0] >= 0).all() and (pairs[:, 0] < pairs[:, 1]).all(), "boundaries")
    _require((pairs < tree.n_clusters).all(), "boundaries")


def _check_odds(odds: SplitOdds) -> None:
    _require(odds.widths.ndim == 1 and odds.widths.shape == odds.slopes.shape, "shapes")
    _require((np.isnan(odds.slopes) | ((odds.slopes >= 0.0) & (odds.slopes <= LARGEST))).all(), "slopes")


def _check_leaf_density(leaf: LeafDensity) -> None:
    (d,), (c,) = leaf.center.shape, leaf.levels.shape
    _require(leaf.means.shape == leaf.precisions.shape == (c, d) and leaf.transform.shape in ((d,), (d, d)), "shapes")


def _check_outliers(model: OutlierModel) -> None:
    _require(sorted(model.densities) == sorted(model.tree.leaves()) and model.quartiles.shape == (3,), "leaves")
    _require({leaf.center.shape for leaf in model.densities.values()} == {model.tree.normal.shape[1:]}, "shapes")


# ----------------------------------------------------------------------------------------------- estimators


def _check_pairs(model: PairModel) -> None:
    _require(2 <= model.n_classes <= MOST_CLASSES, "n_classes")
    _require(np.array_equal(model.pairs, np.stack(np.triu_indices(model.n_classes, 1), axis=1)), "pairs")
    _require(model.slopes.shape == (len(model.pairs),) == (len(model.hyperplanes),), "hyperplanes")
    _require(np.isfinite(model.slopes).all() and model.voting in ("soft", "hard"), "slopes or voting")
    _require(all(not plane.splits or plane.bandwidth > 0.0 for plane in model.hyperplanes), "bandwidth")


def _check_coefficients(model: Any, planes: Sequence[Hyperplane]) -> None:
    test = getattr(model, "valley_test_", None)
    halves, columns = ((), ()) if test is None else (test.halves, test.grid_columns)
    others = (part.hyperplane for part in (*halves, *model.path_))
    _require({plane.normal.shape for plane in (*planes, *others)} == {(model.n_features_in_,)}, "n_features_in_")
    _require(max(columns, default=0) < model.n_features_in_, "grid_columns")
    _require(np.array_equal(model.coef_, [plane.normal for plane in planes]), "coef_")
    _require(np.array_equal(model.intercept_, [-plane.offset for plane in planes]), "intercept_")


def _check_hyperplane_estimator(mdh: MinimumDensityHyperplane) -> None:
    _check_coefficients(mdh, [mdh.hyperplane_])
    labels = np.asarray(mdh.labels_)
    _require(labels.ndim == 1 and np.isin(labels, (-1, 0, 1)).all(), "labels_")
    slopes = mdh.split_odds_.slopes
    _require(len(slopes) == 1 or (len(slopes) == 3 and mdh.hyperplane_.splits and slopes[0] >= 0.0), "split_odds_")
    _check_outlier_scores(mdh)


def _check_outlier_scores(model: Any) -> None:
    if hasattr(model, "outlier_model_"):
        _require(model.outlier_scores_.shape == model.labels_.shape, "outlier_scores_")
        _require(model.outlier_model_.tree.normal.shape[1] == model.n_features_in_, "outlier_model_")


def _check_tree_estimator(mdt: MinimumDensityTree) -> None:
    _check_partition(mdt, mdt.tree_, mdt.leaves_, mdt.n_clusters_)
    labels = mdt.tree_.cluster[mdt.leaves_]
    _require(np.array_equal(mdt.labels_, np.where(mdt.labels_ < 0, -1, labels)), "labels_")
    _require(mdt.shape_ in ("convex", "any") and (mdt.shape_ == "any" or mdt.tree_.joins is None), "shape_")
    if hasattr(mdt, "n_suggested_"):
        _check_partition(mdt, mdt.suggested_tree_, mdt.suggested_leaves_, mdt.n_suggested_)
        _require(len(mdt.suggested_leaves_) == len(mdt.leaves_), "suggested_leaves_")
        _require(1 <= mdt.n_shown_ <= mdt.n_clusters_, "n_shown_")
    _require(np.array_equal(np.isnan(mdt.split_odds_.slopes), mdt.tree_.left < 0), "split_odds_")
    rows = {i for _, *pair, _ in getattr(mdt, "constraints_", []) for i in pair}
    _require(not rows or 0 <= min(rows) <= max(rows) < len(mdt.leaves_), "constraints_")
    _check_outlier_scores(mdt)


def _check_partition(mdt: Any, tree: Tree, leaves: Indices, n_clusters: int) -> None:
    _require(tree.normal.shape[1] == mdt.n_features_in_ and tree.n_clusters == n_clusters, "tree")
    _require(leaves.ndim == 1 and 0 <= leaves.min() <= leaves.max() < len(tree), "leaves")
    sizes = np.where(tree.left < 0, tree.size, 0)
    _require(np.array_equal(np.bincount(leaves, minlength=len(tree)), sizes), "the rows of the leaves")


def _check_classifier(mdc: MinimumDensityClassifier) -> None:
    known, model = mdc.classes_.tolist(), mdc.pair_model_
    _require(mdc.classes_.ndim == 1 and known == sorted(set(known)) and len(known) == model.n_classes, "classes_")
    _require(set(mdc.transduction_.tolist()) <= set(known), "transduction_")
    _check_coefficients(mdc, model.hyperplanes)
    for name, width in {"label_evidence_": 2, "density_evidence_": 3}.items():
        evidence = getattr(mdc, name, np.zeros((len(model.pairs), width)))
        _require(evidence.shape == (len(model.pairs), width), name)


def _check_estimator(check: Callable[[Any], None]) -> Callable[[Any], None]:
    """Return a check of what all estimators share, then of one kind of them, then of its predictions."""

    def check_all(model: Any) -> None:
        if not hasattr(model, "n_features_in_"):  # a parameter, not fitted
            return
        names = getattr(model, "feature_names_in_", None)
        _require(names is None or names.shape == (model.n_features_in_,), "feature_names_in_")
        check(model)
        if hasattr(model, "predict_proba"):
            with warnings.catch_warnings():  # the array has no feature names
                warnings.simplefilter("ignore")
                memberships = model.predict_proba(np.zeros((1, model.n_features_in_)))
            _require(np.isclose(memberships.sum(), 1.0), "memberships")

    return check_all


# ----------------------------------------------------------------------------------------------- tables


def _check_imputer(imputer: MultipleImputer) -> None:
    m, d = imputer.donors_.shape
    _require(m > 0 and d == imputer.n_features_in_ and imputer.donor_gaps_.shape == (m, d), "shapes")
    _require(imputer.mean_.shape == imputer.scale_.shape == imputer.repeated_.shape == (d,), "shapes")
    imputer._check_parameters()
    _require(not imputer.donor_gaps_.all(axis=0).any(), "donor_gaps_")


def _check_scaler(scaler: MixedScaler) -> None:
    names = (scaler._columns, *scaler.categories_.values(), *scaler.rare_.values())
    _require(all(len(set(some)) == len(some) for some in names), "columns or categories")
    _require({*scaler.rare_} <= {*scaler.categories_} <= {*scaler._columns}, "columns")
    _require(scaler.missing != "median" or {*scaler.fill_} == {*scaler._columns}, "fill_")
    _require(len(scaler._columns) == scaler.n_features_in_, "n_features_in_")
    _require(scaler.mean_.shape == scaler.scale_.shape == scaler.get_feature_names_out().shape, "shapes")


def _check_table_model(model: TableModel) -> None:
    _require(type(model.estimator) in ESTIMATORS, "estimator")
    widths = {model.estimator.n_features_in_, len(model.preparation.mean_)}
    _require(len(widths | ({model.imputer.n_features_in_} if model.imputer else set())) == 1, "features")


def _accept(made: Any) -> None:
    """Check nothing beyond the types of the fields."""


REGISTRY = Registry(
    {
        **dict.fromkeys((Evidence, HalfTest, Judgement, LeafJoins, PathSettings, PathStep), _accept),
        Hyperplane: _check_hyperplane,
        Valley: _check_valley,
        Tally: _check_tally,
        ValleyTest: _check_test,
        Tree: _check_tree,
        SplitOdds: _check_odds,
        LeafDensity: _check_leaf_density,
        OutlierModel: _check_outliers,
        PairModel: _check_pairs,
        MinimumDensityHyperplane: _check_estimator(_check_hyperplane_estimator),
        MinimumDensityTree: _check_estimator(_check_tree_estimator),
        MinimumDensityClassifier: _check_estimator(_check_classifier),
        MultipleImputer: _check_imputer,
        MixedScaler: _check_scaler,
        TableModel: _check_table_model,
    },
    {name: kind for kind, names in ATTRIBUTES.items() for name in names.split()},
    {name: limits for limits, names in RANGES.items() for name in names.split()},
)
