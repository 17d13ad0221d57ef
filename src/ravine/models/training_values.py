"""Memberships, outliers and exemplars of fitted clusterers as arrays, and back.

The rows of a fit are not saved. The log-odds of the splits are, and everything else that was computed from the rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.models.archive import Arrays
from ravine.models.components import decode_tree, encode_tree
from ravine.models.model_file_error import ModelFileError
from ravine.models.values import check_range, decode_number, encode_number, get_field
from ravine.tree import Tree
from ravine.tree.leaf_densities import LeafDensity
from ravine.tree.memberships import SplitOdds
from ravine.tree.outliers import OutlierModel

__all__ = ["decode_training_values", "encode_training_values"]

Document = dict[str, Any]
NamedArrays = dict[str, NDArray[Any]]

# Starts of the names of arrays: those of this module, and those of the tree of the fit if it was edited later.
VALUES, FIT = "values/", "fit_"
# Parts of the densities of leaves.
COMPONENTS = ("means", "precisions")


def encode_training_values(estimator: Any, fitted: Document, arrays: NamedArrays) -> None:
    """Add the values that were computed from the rows of a fit."""
    estimator._prepare_for_copy()
    values = estimator._training.values
    if "odds" in values:
        arrays[VALUES + "odds"] = np.stack([values["odds"].widths, values["odds"].slopes], axis=1)
    for name in ("probabilities", "centers", "scores", "marks"):
        if name in values:
            arrays[VALUES + name] = values[name]
    if "exemplars" in values:
        arrays[VALUES + "exemplars"] = np.concatenate(values["exemplars"]).astype("<i8")
        fitted["n_exemplars"] = [len(some) for some in values["exemplars"]]
    if "threshold" in values:
        fitted["outlier_threshold"] = encode_number(values["threshold"])
    if "outliers" in values:
        _encode_outliers(values["outliers"], arrays)
        if not estimator._is_unedited:
            tree, leaves = estimator._get_fit_partition()
            arrays |= encode_tree(tree, leaves, FIT)


def _encode_outliers(model: OutlierModel, arrays: NamedArrays) -> None:
    densities = [model.densities[k] for k in sorted(model.densities)]
    arrays[VALUES + "leaves"] = np.array(sorted(model.densities), dtype="<i8")
    arrays[VALUES + "quartiles"] = model.quartiles
    arrays[VALUES + "n_components"] = np.array([len(leaf.levels) for leaf in densities], dtype="<i8")
    arrays[VALUES + "centers_of_leaves"] = np.stack([leaf.center for leaf in densities])
    arrays[VALUES + "transforms"] = np.stack([leaf.transform for leaf in densities])
    arrays[VALUES + "levels"] = np.concatenate([leaf.levels for leaf in densities])
    for name in COMPONENTS:
        arrays[VALUES + name] = np.concatenate([getattr(leaf, name) for leaf in densities])


def decode_training_values(estimator: Any, fitted: Document, arrays: Arrays, tree: Tree, n_rows: int) -> None:
    """Restore the values of an estimator whose tree, or tree of one split, and number of rows are known."""
    d, k = estimator.n_features_in_, estimator._count_columns(tree)
    values = estimator._training.values
    if VALUES + "odds" in arrays:
        odds = arrays.take_floats(VALUES + "odds", (len(tree), 2))
        check_range(odds[tree.left >= 0], "the log-odds of a split", 0.0, np.finfo(float).max)
        values["odds"] = SplitOdds(odds[:, 0], odds[:, 1])
    for name, shape in (("probabilities", (n_rows,)), ("scores", (n_rows,)), ("centers", (k, d))):
        if VALUES + name in arrays:
            low, high = (-np.inf, np.inf) if name == "centers" else (0.0, 1.0)
            taken = arrays.take_floats(VALUES + name, shape)
            values[name] = check_range(taken, f"one of the {name}", low, high, unknown=name == "centers")
    if VALUES + "marks" in arrays:
        values["marks"] = arrays.take(VALUES + "marks", "b", (n_rows,))
        threshold = decode_number(get_field(fitted, "outlier_threshold", int, float, dict))
        values["threshold"] = check_range(threshold, "the threshold of outliers", 0.0, 1.0)
    if VALUES + "exemplars" in arrays:
        values["exemplars"] = _decode_exemplars(get_field(fitted, "n_exemplars", list), arrays, k, n_rows)
    if VALUES + "leaves" in arrays:
        if f"{FIT}tree/parent" in arrays:
            values["partition"] = decode_tree(arrays, d, FIT)
            tree = values["partition"][0]
            if int(tree.size[0]) != n_rows:
                raise ModelFileError("the tree of the fit does not have as many rows as the edited tree")
        values["outliers"] = _decode_outliers(arrays, tree, d)
    elif "threshold" in values:
        raise ModelFileError("outliers are marked, but the densities of the leaves are missing")


def _decode_exemplars(counts: list[Any], arrays: Arrays, n_clusters: int, n_rows: int) -> list[NDArray[np.intp]]:
    if len(counts) != n_clusters or not all(type(count) is int and count >= 0 for count in counts):
        raise ModelFileError("the exemplars of the clusters are damaged")
    indices = arrays.take_integers(VALUES + "exemplars", (sum(counts),), 0, n_rows)
    return np.split(indices, np.cumsum(counts)[:-1])


def _decode_outliers(arrays: Arrays, tree: Tree, d: int) -> OutlierModel:
    leaves = arrays.take_integers(VALUES + "leaves", (None,), 0, len(tree))
    m = len(leaves)
    if sorted(leaves.tolist()) != sorted(tree.leaves()):
        raise ModelFileError("the densities of outliers are not those of the leaves")
    counts = arrays.take_integers(VALUES + "n_components", (m,), 1, 1 << 20)
    c = int(counts.sum())
    centers = arrays.take_floats(VALUES + "centers_of_leaves", (m, d))
    ndim = arrays.count_dimensions(VALUES + "transforms")
    transforms = arrays.take_floats(VALUES + "transforms", (m, d) if ndim == 2 else (m, d, d))
    parts = [arrays.take_floats(VALUES + name, (c, d)) for name in COMPONENTS]
    levels = arrays.take_floats(VALUES + "levels", (c,))
    quartiles = arrays.take_floats(VALUES + "quartiles", (3,))
    if not all(np.isfinite(some).all() for some in (centers, transforms, *parts, levels, quartiles)):
        raise ModelFileError("the densities of outliers are not finite")
    check_range(parts[1], "a precision of the outliers", 0.0)
    ends = np.cumsum(counts)[:-1]
    split = [np.split(some, ends) for some in (*parts, levels)]
    densities = {
        int(leaf): LeafDensity(centers[i], transforms[i], split[0][i], split[1][i], split[2][i])
        for i, leaf in enumerate(leaves.tolist())
    }
    return OutlierModel(tree, densities, quartiles)
