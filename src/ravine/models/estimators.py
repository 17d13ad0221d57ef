"""Estimators as a document and arrays, and back. Only the classes of a fixed table can be built."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from ravine.classes.pairs import PairModel
from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.estimators.training_rows import TrainingRows
from ravine.models.archive import Arrays
from ravine.models.components import (
    HyperplanePool,
    HyperplaneStore,
    decode_test,
    decode_tree,
    encode_test,
    encode_tree,
    is_continued,
)
from ravine.models.model_file_error import ModelFileError
from ravine.models.training_values import decode_training_values, encode_training_values
from ravine.models.values import check_count, decode_value, encode_value, get_field
from ravine.tree.grow import make_split_tree

__all__ = ["ESTIMATORS", "decode_estimator", "encode_estimator"]

ESTIMATORS: dict[str, type] = {
    kind.__name__: kind for kind in (MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier)
}
MAX_FEATURES = 1 << 40
# Start of the names of the arrays of the suggested tree.
SUGGESTED = "suggested_"
# Attributes of a classifier that started from its labels, and their numbers for each pair of classes.
EVIDENCE = {"label_evidence": 2, "density_evidence": 3}
# Parameters of classifiers of earlier versions that do not exist any more.
RETIRED = {
    "alpha_index_factor",
    "alpha_standard_errors",
    "calibration_C",
    "label_penalty",
    "margin",
    "select_start",
    "start_ridge",
}
Document = dict[str, Any]
NamedArrays = dict[str, NDArray[Any]]


def encode_estimator(estimator: Any) -> tuple[Document, NamedArrays]:
    """Encode a fitted estimator as a document and arrays."""
    kind = type(estimator).__name__
    known: Any = ESTIMATORS.get(kind)
    if type(estimator) is not known:
        raise TypeError(
            f"a {kind} cannot be saved: only {', '.join(ESTIMATORS)} can, not their subclasses. Of a pipeline save the "
            "last step."
        )
    check_is_fitted(estimator)
    arrays: NamedArrays = {}
    parameters = _encode_parameters(estimator, arrays)
    store = HyperplaneStore()
    names = getattr(estimator, "feature_names_in_", None)
    fitted: Document = {
        "n_features": int(estimator.n_features_in_),
        "feature_names": None if names is None else [str(name) for name in names],
        "n_iter": int(estimator.n_iter_),
    }
    CODECS[kind][0](estimator, fitted, arrays, store)
    arrays |= store.make_arrays(estimator.n_features_in_)
    return {"kind": kind, "parameters": parameters, "fitted": fitted}, arrays


def decode_estimator(document: Document, arrays: Arrays) -> Any:
    """Build the estimator that `encode_estimator` encoded."""
    kind = get_field(document, "kind", str)
    if kind not in ESTIMATORS:
        raise ModelFileError(f"unknown estimator {kind[:60]!r}")
    estimator = ESTIMATORS[kind]()
    known = estimator.get_params(deep=False)
    parameters = get_field(document, "parameters", dict)
    is_early = kind == "MinimumDensityClassifier" and "method" not in parameters
    if is_early:
        parameters = {name: value for name, value in parameters.items() if name not in RETIRED}
    unknown = sorted(parameters.keys() - known.keys())
    if unknown:
        raise ModelFileError(f"{kind} has no parameter {unknown[0][:60]!r}")
    for name, value in parameters.items():
        setattr(estimator, name, decode_value(value, arrays))
    if is_early:
        _update_parameters(estimator)
    fitted = get_field(document, "fitted", dict)
    d = get_field(fitted, "n_features", int)
    if not 0 < d < MAX_FEATURES:
        raise ModelFileError(f"field 'n_features' has unexpected value {d}")
    estimator.n_features_in_ = d
    names = get_field(fitted, "feature_names", list, type(None))
    if names is not None:
        if len(names) != d or not all(isinstance(name, str) for name in names):
            raise ModelFileError(f"field 'feature_names' does not hold {d} names")
        estimator.feature_names_in_ = _as_object_array(names)
    estimator.n_iter_ = check_count(get_field(fitted, "n_iter", int), "n_iter")
    CODECS[kind][1](estimator, fitted, arrays, HyperplanePool(arrays, d))
    return estimator


def _encode_parameters(estimator: Any, arrays: NamedArrays) -> Document:
    encoded, rejected = {}, []
    for name, value in sorted(estimator.get_params(deep=False).items()):
        try:
            encoded[name] = encode_value(f"parameters/{name}", value, arrays)
        except TypeError as error:
            rejected.append(f"{name} ({error})")
    if rejected:
        first = rejected[0].split(" ")[0]
        default = type(estimator)().get_params(deep=False)[first]
        raise TypeError(
            f"these parameters cannot be saved, since a model file contains data, not code: {', '.join(rejected)}. The "
            "fitted model does not need them: replace them before saving, for example with "
            f"set_params({first}={default!r})."
        )
    return encoded


def _update_parameters(classifier: Any) -> None:
    """Let a refit of a classifier of an earlier version use the method that is nearest to its own."""
    classifier.method = "paper"
    if isinstance(classifier.alpha_max, list | tuple) and classifier.alpha_max:
        classifier.alpha_max = classifier.alpha_max[-1]


def _as_object_array(texts: list[str]) -> NDArray[Any]:
    values = np.empty(len(texts), dtype=object)
    values[:] = texts
    return values


# ----------------------------------------------------------------------------------------------- one hyperplane


def _encode_hyperplane(mdh: Any, fitted: Document, arrays: NamedArrays, store: HyperplaneStore) -> None:
    test = getattr(mdh, "valley_test_", None)
    fitted["hyperplane"] = store.add(mdh.hyperplane_)
    fitted["path"] = store.add_path(mdh.path_)
    fitted["valley_test"] = None if test is None else encode_test(test, store)
    arrays["labels"] = np.asarray(mdh._training.values["labels"]).astype("<i8")  # without marks of outliers
    encode_training_values(mdh, fitted, arrays)


def _decode_hyperplane(mdh: Any, fitted: Document, arrays: Arrays, pool: HyperplanePool) -> None:
    plane = pool[get_field(fitted, "hyperplane", int)]
    mdh.hyperplane_ = plane
    labels = arrays.take_integers("labels", (None,), 0, 2)
    mdh._training = TrainingRows(None, values={"labels": labels})
    decode_training_values(mdh, fitted, arrays, make_split_tree(plane, labels)[0], len(labels))
    mdh.labels_ = mdh._mark(labels)
    mdh.coef_ = plane.normal[None].copy()
    mdh.intercept_ = np.array([-plane.offset])
    mdh.density_, mdh.relative_depth_, mdh.bandwidth_ = plane.density, plane.relative_depth, plane.bandwidth
    mdh.path_ = pool.decode_path(get_field(fitted, "path", dict))
    if get_field(fitted, "valley_test", dict, type(None)) is not None:
        mdh.valley_test_ = decode_test(fitted["valley_test"], pool, mdh.n_features_in_)
        mdh.pvalue_ = mdh.valley_test_.pvalue


# ----------------------------------------------------------------------------------------------- trees


def _encode_tree_estimator(mdt: Any, fitted: Document, arrays: NamedArrays, store: HyperplaneStore) -> None:
    arrays |= encode_tree(mdt.tree_, mdt.leaves_)
    fitted["shape"], fitted["shape_reason"] = mdt.shape_, mdt.shape_reason_
    fitted["n_shown"], fitted["n_suggested"] = getattr(mdt, "n_shown_", None), getattr(mdt, "n_suggested_", None)
    if hasattr(mdt, "suggested_tree_") and mdt.suggested_tree_ is not mdt.tree_:
        arrays |= encode_tree(mdt.suggested_tree_, mdt.suggested_leaves_, SUGGESTED)
    if hasattr(mdt, "violated_constraints_"):
        fitted["violated_constraints"] = [list(one) for one in mdt.violated_constraints_]
    encode_training_values(mdt, fitted, arrays)


def _decode_tree_estimator(mdt: Any, fitted: Document, arrays: Arrays, pool: HyperplanePool) -> None:
    tree, leaves = decode_tree(arrays, mdt.n_features_in_)
    mdt._training = TrainingRows(None)
    mdt._store(tree, leaves)
    decode_training_values(mdt, fitted, arrays, tree, len(leaves))
    mdt.labels_ = mdt._mark(mdt.labels_)
    mdt.shape_, mdt.shape_reason_ = "convex", "Cells were not joined."  # in files of earlier versions
    if "shape" in fitted:
        mdt.shape_, mdt.shape_reason_ = get_field(fitted, "shape", str), get_field(fitted, "shape_reason", str)
        if mdt.shape_ not in ("convex", "any") or (mdt.shape_ == "convex" and tree.joins is not None):
            raise ModelFileError("the shape of the clusters is not that of the tree")
    if "violated_constraints" in fitted:
        found = get_field(fitted, "violated_constraints", list)
        if not all(isinstance(one, list) and [*map(type, one)] == [str, int, int] for one in found):
            raise ModelFileError("field 'violated_constraints' is damaged")
        mdt.violated_constraints_ = [tuple(one) for one in found]
    if fitted.get("n_suggested") is None:  # also in files of earlier versions
        return
    suggested = tree, leaves
    if f"{SUGGESTED}tree/parent" in arrays:
        suggested = decode_tree(arrays, mdt.n_features_in_, SUGGESTED)
        if not is_continued(tree, leaves, *suggested):
            raise ModelFileError("the suggested tree does not continue the tree")
    if get_field(fitted, "n_suggested", int) != suggested[0].n_clusters:
        raise ModelFileError("the number of suggested clusters is not that of the suggested tree")
    n_shown = get_field(fitted, "n_shown", int)
    if not 1 <= n_shown <= tree.n_clusters:
        raise ModelFileError("the number of clusters that are shown is larger than that of the tree")
    mdt._suggest(n_shown, suggested)


# ----------------------------------------------------------------------------------------------- classifiers


def _encode_classifier(mdc: Any, fitted: Document, arrays: NamedArrays, store: HyperplaneStore) -> None:
    model: PairModel = mdc._model
    classes = mdc.classes_
    kind = "object" if classes.dtype.kind == "O" else "array"
    if kind == "array":
        arrays["classes"] = classes
        codes = np.searchsorted(classes, mdc.transduction_)
    else:
        number = {label: k for k, label in enumerate(classes.tolist())}
        codes = np.array([number[label] for label in mdc.transduction_.tolist()], dtype=np.int64)
    fitted["classes"] = {"type": kind, "texts": None if kind == "array" else [str(label) for label in classes]}
    fitted["hyperplanes"] = [store.add(plane) for plane in model.hyperplanes]
    fitted["voting"] = model.voting
    fitted["path"] = store.add_path(mdc.path_)
    arrays["slopes"] = model.slopes
    arrays["pairs"] = model.pairs.astype("<i8")
    arrays["codes"] = codes.astype("<i8")
    for name in EVIDENCE:
        if hasattr(mdc, f"{name}_"):
            arrays[name] = getattr(mdc, f"{name}_")


def _decode_classifier(mdc: Any, fitted: Document, arrays: Arrays, pool: HyperplanePool) -> None:
    classes = _decode_classes(get_field(fitted, "classes", dict), arrays)
    n = len(classes)
    pairs = arrays.take_integers("pairs", (n * (n - 1) // 2, 2), 0, n)
    _check_classes(classes)
    if not all(map(np.array_equal, pairs.T, np.triu_indices(n, 1))):
        raise ModelFileError("the pairs of classes do not match the classes")
    planes = tuple(pool[k] for k in get_field(fitted, "hyperplanes", list))
    voting = get_field(fitted, "voting", str)
    if len(planes) != len(pairs) or voting not in ("soft", "hard"):
        raise ModelFileError("there is not one hyperplane for each pair of classes")
    slopes = arrays.take_floats("slopes", (len(pairs),))
    if not np.isfinite(slopes).all() or any(plane.splits and not plane.bandwidth > 0.0 for plane in planes):
        raise ModelFileError("the slope of a logistic curve, or the bandwidth of its hyperplane, is not a number")
    mdc.classes_ = classes
    mdc._model = PairModel(len(classes), pairs, planes, slopes, voting)
    mdc.hyperplanes_ = dict(zip([tuple(classes[pair].tolist()) for pair in pairs], planes, strict=True))
    if len(classes) == 2:
        mdc.hyperplane_ = planes[0]
    mdc.coef_ = np.stack([plane.normal for plane in planes])
    mdc.intercept_ = np.array([-plane.offset for plane in planes])
    mdc.transduction_ = classes[arrays.take_integers("codes", (None,), 0, len(classes))]
    mdc.path_ = pool.decode_path(get_field(fitted, "path", dict))
    for name, width in EVIDENCE.items():
        if name in arrays:  # not in files of earlier versions, nor for the method of the paper
            evidence = arrays.take_floats(name, (len(pairs), width))
            if not np.isfinite(evidence).all():
                raise ModelFileError(f"field {name!r} is not finite")
            setattr(mdc, f"{name}_", evidence)


def _decode_classes(value: Document, arrays: Arrays) -> NDArray[Any]:
    kind = get_field(value, "type", str)
    if kind == "array":
        classes = arrays.take("classes", "biufU", (None,))
    else:
        texts = get_field(value, "texts", list)
        if kind != "object" or not all(isinstance(text, str) for text in texts):
            raise ModelFileError("the classes are damaged")
        classes = _as_object_array(texts)
    return classes


def _check_classes(classes: NDArray[Any]) -> None:
    known = classes.tolist()
    if len(known) < 2 or len(set(known)) != len(known) or known != sorted(known):
        raise ModelFileError("the classes are damaged")


Encode = Callable[[Any, Document, NamedArrays, HyperplaneStore], None]
Decode = Callable[[Any, Document, Arrays, HyperplanePool], None]
CODECS: dict[str, tuple[Encode, Decode]] = {
    "MinimumDensityHyperplane": (_encode_hyperplane, _decode_hyperplane),
    "MinimumDensityTree": (_encode_tree_estimator, _decode_tree_estimator),
    "MinimumDensityClassifier": (_encode_classifier, _decode_classifier),
}
