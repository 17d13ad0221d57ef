"""Classes that model files may contain, and the properties of their instances that every fit ensures."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import require
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
from ravine.validity import Evidence, Tally

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
    (0, INFINITY, False): "start n_iter n_evaluations n_tied n_rows pair counts total n_folds grid_columns "
    + ATTRIBUTES[int],
    (0, INFINITY, True): "density relative_depth alpha gamma",
    (0, 1, True): "pvalue pvalue_left pvalue_right threshold outlier_scores_",
    (0, LARGEST, True): "widths",
    (0, LARGEST, False): "precisions",
    (SMALLEST, LARGEST, True): "bandwidth",
    (SMALLEST, LARGEST, False): "scale_",
    (-LARGEST, LARGEST, False): "center transform means levels quartiles donors_ mean_ label_evidence_ "
    "density_evidence_",
}


def _check_coefficients(model: Any, planes: Sequence[Hyperplane]) -> None:
    test = getattr(model, "valley_test_", None)
    halves, columns = ((), ()) if test is None else (test.halves, test.grid_columns)
    others = (part.hyperplane for part in (*halves, *model.path_))
    require({plane.normal.shape for plane in (*planes, *others)} == {(model.n_features_in_,)}, "n_features_in_")
    require(max(columns, default=0) < model.n_features_in_, "grid_columns")
    require(np.array_equal(model.coef_, [plane.normal for plane in planes]), "coef_")
    require(np.array_equal(model.intercept_, [-plane.offset for plane in planes]), "intercept_")


def _check_hyperplane_estimator(mdh: MinimumDensityHyperplane) -> None:
    _check_coefficients(mdh, [mdh.hyperplane_])
    labels = np.asarray(mdh.labels_)
    require(labels.ndim == 1 and np.isin(labels, (-1, 0, 1)).all(), "labels_")
    slopes = mdh.split_odds_.slopes
    require(len(slopes) == 1 or (len(slopes) == 3 and mdh.hyperplane_.splits and slopes[0] >= 0.0), "split_odds_")
    _check_outlier_scores(mdh)


def _check_outlier_scores(model: Any) -> None:
    if hasattr(model, "outlier_model_"):
        require(model.outlier_scores_.shape == model.labels_.shape, "outlier_scores_")
        require(model.outlier_model_.tree.normal.shape[1] == model.n_features_in_, "outlier_model_")


def _check_tree_estimator(mdt: MinimumDensityTree) -> None:
    _check_partition(mdt, mdt.tree_, mdt.leaves_, mdt.n_clusters_)
    labels = mdt.tree_.cluster[mdt.leaves_]
    require(np.array_equal(mdt.labels_, np.where(mdt.labels_ < 0, -1, labels)), "labels_")
    require(mdt.shape_ in ("convex", "any") and (mdt.shape_ == "any" or mdt.tree_.joins is None), "shape_")
    if hasattr(mdt, "n_suggested_"):
        _check_partition(mdt, mdt.suggested_tree_, mdt.suggested_leaves_, mdt.n_suggested_)
        require(len(mdt.suggested_leaves_) == len(mdt.leaves_), "suggested_leaves_")
        require(1 <= mdt.n_shown_ <= mdt.n_clusters_, "n_shown_")
    require(np.array_equal(np.isnan(mdt.split_odds_.slopes), mdt.tree_.left < 0), "split_odds_")
    rows = {i for _, *pair, _ in getattr(mdt, "constraints_", []) for i in pair}
    require(not rows or 0 <= min(rows) <= max(rows) < len(mdt.leaves_), "constraints_")
    _check_outlier_scores(mdt)


def _check_partition(mdt: Any, tree: Tree, leaves: Indices, n_clusters: int) -> None:
    require(tree.normal.shape[1] == mdt.n_features_in_ and tree.n_clusters == n_clusters, "tree")
    require(leaves.ndim == 1 and 0 <= leaves.min() <= leaves.max() < len(tree), "leaves")
    sizes = np.where(tree.left < 0, tree.size, 0)
    require(np.array_equal(np.bincount(leaves, minlength=len(tree)), sizes), "the rows of the leaves")


def _check_classifier(mdc: MinimumDensityClassifier) -> None:
    known, model = mdc.classes_.tolist(), mdc.pair_model_
    require(mdc.classes_.ndim == 1 and known == sorted(set(known)) and len(known) == model.n_classes, "classes_")
    require(set(mdc.transduction_.tolist()) <= set(known), "transduction_")
    _check_coefficients(mdc, model.hyperplanes)
    for name, width in {"label_evidence_": 2, "density_evidence_": 3}.items():
        evidence = getattr(mdc, name, np.zeros((len(model.pairs), width)))
        require(evidence.shape == (len(model.pairs), width), name)


def _check_estimator(check: Callable[[Any], None], model: Any) -> None:
    """Check what all estimators share, then one kind of them, then its predictions."""
    if not hasattr(model, "n_features_in_"):  # a parameter, not fitted
        return
    names = getattr(model, "feature_names_in_", None)
    require(names is None or names.shape == (model.n_features_in_,), "feature_names_in_")
    check(model)
    if hasattr(model, "predict_proba"):
        with warnings.catch_warnings():  # the array has no feature names
            warnings.simplefilter("ignore")
            memberships = model.predict_proba(np.zeros((1, model.n_features_in_)))
        require(np.isclose(memberships.sum(), 1.0), "memberships")


def _check_table_model(model: TableModel) -> None:
    require(type(model.estimator) in ESTIMATORS, "estimator")
    widths = {model.estimator.n_features_in_, len(model.preparation.mean_)}
    require(len(widths | ({model.imputer.n_features_in_} if model.imputer else set())) == 1, "features")


REGISTRY = Registry(
    (
        Evidence, HalfTest, Hyperplane, Judgement, LeafDensity, LeafJoins, MinimumDensityClassifier,
        MinimumDensityHyperplane, MinimumDensityTree, MixedScaler, MultipleImputer, OutlierModel, PairModel,
        PathSettings, PathStep, SplitOdds, TableModel, Tally, Tree, Valley, ValleyTest,
    ),
    {name: kind for kind, names in ATTRIBUTES.items() for name in names.split()},
    {name: limits for limits, names in RANGES.items() for name in names.split()},
    {
        MinimumDensityHyperplane: partial(_check_estimator, _check_hyperplane_estimator),
        MinimumDensityTree: partial(_check_estimator, _check_tree_estimator),
        MinimumDensityClassifier: partial(_check_estimator, _check_classifier),
        TableModel: _check_table_model,
    },
)  # fmt: skip
