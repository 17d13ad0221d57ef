"""Objects as a JSON document and arrays, and back. Only classes of a registry are built, and all their values checked.

The document lists the objects, each after those it refers to: arrays, and instances of registered classes with their
state. Arrays of one type are stored one after the other, in the order of the list.
"""

from __future__ import annotations

import dataclasses
import math
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache
from types import NoneType, UnionType
from typing import Any, ClassVar, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from ravine import estimators as fitted
from ravine.checks import require
from ravine.explain.outliers import OutlierModel
from ravine.hyperplane import Hyperplane
from ravine.models.table_model import TableModel
from ravine.tables import MixedScaler, MultipleImputer
from ravine.tree import Tree

# Longest side of an array without numbers: other arrays are allocated after it.
LONGEST_EMPTY = 1 << 20
# Attributes that scikit-learn sets.
COMMON: dict[str, Any] = {
    "n_features_in_": int,
    "feature_names_in_": NDArray[Any],
    "_sklearn_output_config": dict[str, str],
}
Numbers = NDArray[np.float64] | NDArray[np.float32] | None
# Steps of pipelines that can be saved beside MixedScaler, with the types of their fitted attributes.
SCALERS: dict[type, dict[str, Any]] = {
    StandardScaler: dict.fromkeys(("mean_", "var_", "scale_"), Numbers) | {"n_samples_seen_": Any},
    RobustScaler: dict.fromkeys(("center_", "scale_"), Numbers),
    MinMaxScaler: dict.fromkeys(("min_", "scale_", "data_min_", "data_max_", "data_range_"), Numbers)
    | {"n_samples_seen_": int},
    MaxAbsScaler: dict.fromkeys(("max_abs_", "scale_"), Numbers) | {"n_samples_seen_": int},
    Normalizer: {},
}
SMALLEST, LARGEST = 5e-324, sys.float_info.max
# Smallest and largest values of fields and fitted attributes, and whether they may be NaN.
_RANGES: dict[tuple[float, float, bool], str] = {
    (0, np.inf, True): "density relative_depth alpha gamma",
    (0, 1, True): "pvalue pvalue_left pvalue_right threshold outlier_scores_",
    (0, LARGEST, False): "precisions rest_precision",
    (SMALLEST, LARGEST, True): "bandwidth",
    (SMALLEST, LARGEST, False): "scale_ unit deviations",
    (-LARGEST, LARGEST, False): "center transform means levels quartiles origin axes donors_ mean_ "
    "label_evidence_ density_evidence_",
}
RANGES = {name: limits for limits, names in _RANGES.items() for name in names.split()}


class ModelFileError(ValueError):
    """Raised when a file is not a model, is damaged, or was written by another version of ravine.

    Parameters
    ----------
    problem : str
    advice : str, default="Get a new copy of the file, or save the model again."
    """

    advice = "Get a new copy of the file, or save the model again."

    def __init__(self, problem: str, advice: str = advice) -> None:
        super().__init__(problem)
        self.advice = advice


def _check_coefficients(model: Any, planes: Sequence[Hyperplane]) -> None:
    test = getattr(model, "valley_test_", None)
    halves, columns = ((), ()) if test is None else (test.halves, test.grid_columns)
    others = (part.hyperplane for part in (*halves, *model.path_))
    require({plane.normal.shape for plane in (*planes, *others)} == {(model.n_features_in_,)}, "n_features_in_")
    require(max(columns, default=0) < model.n_features_in_, "grid_columns")
    require(np.array_equal(model.coef_, [plane.normal for plane in planes]), "coef_")
    require(np.array_equal(model.intercept_, [-plane.offset for plane in planes]), "intercept_")


def _check_hyperplane_estimator(mdh: Any) -> None:
    _check_coefficients(mdh, [mdh.hyperplane_])
    labels = np.asarray(mdh.labels_)
    require(labels.ndim == 1 and np.isin(labels, (-1, 0, 1)).all(), "labels_")
    slopes = mdh.split_odds_.slopes
    require(len(slopes) == 1 or (len(slopes) == 3 and mdh.hyperplane_.splits and slopes[0] > 0.0), "split_odds_")
    _check_outlier_scores(mdh)


def _check_outlier_scores(model: Any) -> None:
    if hasattr(model, "outlier_model_"):
        require(model.outlier_scores_.shape == model.labels_.shape, "outlier_scores_")
        require(model.outlier_model_.tree.normal.shape[1] == model.n_features_in_, "outlier_model_")


def _check_tree_estimator(mdt: Any) -> None:
    _check_partition(mdt, mdt.tree_, mdt.leaves_, mdt.n_clusters_)
    labels = mdt.tree_.cluster[mdt.leaves_]
    require(np.array_equal(mdt.labels_, np.where(mdt.labels_ < 0, -1, labels)), "labels_")
    if hasattr(mdt, "n_shown_"):
        require(1 <= mdt.n_shown_ <= mdt.n_clusters_, "n_shown_")
    require(np.array_equal(np.isnan(mdt.split_odds_.slopes), mdt.tree_.left < 0), "split_odds_")
    rows = {i for _, *pair, _ in getattr(mdt, "constraints_", []) for i in pair}
    require(not rows or 0 <= min(rows) <= max(rows) < len(mdt.leaves_), "constraints_")
    _check_outlier_scores(mdt)


def _check_partition(mdt: Any, tree: Tree, leaves: NDArray[np.intp], n_clusters: int) -> None:
    require(tree.normal.shape[1] == mdt.n_features_in_ and tree.n_clusters == n_clusters, "tree")
    require(leaves.ndim == 1 and 0 <= leaves.min() <= leaves.max() < len(tree), "leaves")
    sizes = np.where(tree.left < 0, tree.size, 0)
    require(np.array_equal(np.bincount(leaves, minlength=len(tree)), sizes), "the rows of the leaves")


def _check_classifier(mdc: Any) -> None:
    known, model = mdc.classes_.tolist(), mdc.pair_model_
    require(mdc.classes_.ndim == 1 and known == sorted(set(known)) and len(known) == model.n_classes, "classes_")
    require(set(mdc.transduction_.tolist()) <= set(known), "transduction_")
    _check_coefficients(mdc, model.hyperplanes)
    for name, width in {"label_evidence_": 2, "density_evidence_": 3}.items():
        evidence = getattr(mdc, name, np.zeros((len(model.pairs), width)))
        require(evidence.shape == (len(model.pairs), width), name)


def _check_estimator(model: Any) -> None:
    """Check the attributes of all estimators, then those of one kind, then its predictions."""
    if not hasattr(model, "n_features_in_"):  # a parameter, not fitted
        return
    names = getattr(model, "feature_names_in_", None)
    require(names is None or names.shape == (model.n_features_in_,), "feature_names_in_")
    ESTIMATORS[type(model)](model)
    if hasattr(model, "predict_proba"):
        with warnings.catch_warnings():  # the array has no feature names
            warnings.simplefilter("ignore")
            memberships = model.predict_proba(np.zeros((1, model.n_features_in_)))
        require(np.isclose(memberships.sum(), 1.0), "memberships")


def _check_table_model(model: TableModel) -> None:
    require(type(model.estimator) in ESTIMATORS, "estimator")
    widths = {model.estimator.n_features_in_, len(model.preparation.mean_)}
    require(len(widths | ({model.imputer.n_features_in_} if model.imputer else set())) == 1, "features")


def _check_scaler(scaler: Any) -> None:
    if hasattr(scaler, "n_features_in_"):  # else it is not fitted
        shape = (1, scaler.n_features_in_)
        scaled = np.asarray(scaler.transform(np.zeros(shape)))
        require(scaled.shape == shape and np.isfinite(scaled).all(), "the scaler")


def _check_pipeline(pipeline: Pipeline) -> None:
    names, steps = zip(*pipeline.steps, strict=True)
    require(len(set(names)) == len(names) and pipeline.memory is None, "steps")
    require(type(steps[-1]) in ESTIMATORS and all(type(step) in PREPARATIONS for step in steps[:-1]), "steps")
    widths = {step.n_features_in_ for step in steps if type(step) is not MixedScaler}
    widths |= {len(step.mean_) for step in steps[:-1] if type(step) is MixedScaler}
    require(len(widths) == 1, "features")


def _find_types(kind: type) -> dict[str, Any]:
    """Return the types of the fields of a dataclass, or of the fitted attributes of an estimator."""
    hints = get_type_hints(kind, localns={"OutlierModel": OutlierModel, "Tree": Tree})
    return {name: hint for name, hint in hints.items() if get_origin(hint) is not ClassVar}


def _find_classes(hints: Iterable[Any]) -> Iterator[type]:
    """Yield all dataclasses in annotations, and in those of their fields."""
    for hint in hints:
        is_class = dataclasses.is_dataclass(hint)
        if is_class:
            yield hint
        yield from _find_classes(_find_types(hint).values() if is_class else get_args(hint))


# Estimators that can be saved, with the checks of their fitted attributes.
ESTIMATORS: dict[type, Callable[[Any], None]] = {
    fitted.MinimumDensityHyperplane: _check_hyperplane_estimator,
    fitted.MinimumDensityTree: _check_tree_estimator,
    fitted.MinimumDensityClassifier: _check_classifier,
}
PREPARATIONS = (*SCALERS, MixedScaler)
# Checks of instances that do not check themselves by a method ``validate``.
CHECKS: dict[type, Callable[[Any], None]] = {
    **dict.fromkeys(ESTIMATORS, _check_estimator),
    **dict.fromkeys(SCALERS, _check_scaler),
    TableModel: _check_table_model,
    Pipeline: _check_pipeline,
}
_LISTED = (*CHECKS, MixedScaler, MultipleImputer, fitted.PathSettings)
_PARTS = (part for kind in _LISTED for part in _find_classes(_find_types(kind).values()))
CLASSES = {kind.__name__: kind for kind in (*_LISTED, *_PARTS)}


def build(name: str, state: dict[str, Any]) -> Any:
    """Build an instance from its fields, or from the parameters and fitted attributes of an estimator."""
    kind = CLASSES[name]
    types, required = _list_fields(kind)
    for key in sorted(required | state.keys()):
        if key not in types or key not in state:
            raise ModelFileError(f"{name} has the unknown field, or lacks the field {key[:60]!r}")
        if not conforms(state[key], types[key]) or not _is_inside(key, state[key], types[key]):
            raise ModelFileError(f"field {key!r} of {name} has an unexpected value {str(state[key])[:60]!r}")
    made: Any = object.__new__(kind)
    getattr(made, "__setstate__", made.__dict__.update)(state)
    try:
        CHECKS.get(kind, getattr(kind, "validate", bool))(made)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        raise ModelFileError(f"{name} is damaged ({error})") from error
    return made


@cache
def _list_fields(kind: type) -> tuple[dict[str, Any], set[str]]:
    """Return the types of all fields of a class, and the names of those that every instance has."""
    if dataclasses.is_dataclass(kind):
        return _find_types(kind), {field.name for field in dataclasses.fields(kind)}
    if kind is Pipeline:
        return {"steps": list[tuple[str, Any]], "transform_input": NoneType, "memory": NoneType, "verbose": bool}, {
            "steps"
        }
    names, fitted_types = set(kind().get_params(deep=False)), SCALERS.get(kind) or _find_types(kind)
    return {**COMMON, **fitted_types, **dict.fromkeys(names, Any)}, names


def _is_inside(name: str, value: Any, hint: Any) -> bool:
    """Return whether the values of a field lie in their range; parameters, of any type, have none."""
    if name not in RANGES or value is None or hint is Any:
        return True
    (low, high, may_be_nan), values = RANGES[name], np.asarray(value)
    return bool(np.all(((values >= low) & (values <= high)) | (may_be_nan & np.isnan(values))))


class Encoder:
    """Encoding of objects; every array and instance is stored once."""

    def __init__(self) -> None:
        self.objects: list[dict[str, Any]] = []
        self._numbers: dict[int, tuple[int, Any]] = {}  # with the objects, so that no other one gets the same id
        self._pools: dict[str, list[NDArray[Any]]] = {}

    def make_arrays(self) -> dict[str, NDArray[Any]]:
        """Return the numbers of all arrays, by type."""
        return {name: np.concatenate(pool) for name, pool in self._pools.items()}

    def encode(self, value: Any, name: str = "the model") -> Any:
        """Return a value as JSON; a TypeError names a value that cannot be saved."""
        if value is None or type(value) in (bool, int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": str(value)}
        if isinstance(value, np.generic):
            return self.encode(value.item(), name)
        if type(value) in (list, tuple):
            items = [self.encode(item, name) for item in value]
            return items if type(value) is list else {"tuple": items}
        if type(value) is dict:
            return {"dict": [[self.encode(key, name), self.encode(item, name)] for key, item in value.items()]}
        if id(value) not in self._numbers:
            self.objects.append(self._encode_object(value, name))
            self._numbers[id(value)] = len(self.objects) - 1, value
        return {"object": self._numbers[id(value)][0]}

    def _encode_object(self, value: Any, name: str) -> dict[str, Any]:
        if isinstance(value, np.ndarray):
            return self._encode_array(value, name)
        if CLASSES.get(type(value).__name__) is not type(value):
            raise TypeError(f"{name} (a {type(value).__name__})")
        fields = dataclasses.fields(value) if dataclasses.is_dataclass(value) else ()
        state: Any = {field.name: getattr(value, field.name) for field in fields} or _get_state(value)
        return {"class": type(value).__name__, "state": {key: self.encode(state[key], key) for key in sorted(state)}}

    def _encode_array(self, array: NDArray[Any], name: str) -> dict[str, Any]:
        if array.dtype.kind == "O" and all(type(text) is str for text in array.flat):
            texts, codes = np.unique(array, return_inverse=True)  # labels repeat: each text is stored once
            return {"texts": texts.tolist(), "codes": self.encode(codes.astype(np.int64).reshape(array.shape))}
        if array.dtype.kind not in "biufU":
            raise TypeError(f"{name} (an array of type {array.dtype})")
        kind = array.dtype.str[1:]
        self._pools.setdefault(kind, []).append(array.ravel())
        return {"array": kind, "shape": list(array.shape)}


def _get_state(estimator: Any) -> dict[str, Any]:
    """Return the parameters and fitted attributes of an estimator, without callbacks and scikit-learn's version."""
    state = estimator.__getstate__()
    return {name: state[name] for name in state if name in COMMON or not name.startswith("_skl")}


class Decoder:
    """Decoding of objects from a document and its arrays.

    Parameters
    ----------
    arrays : mapping of str to ndarray of shape (n,)
        Numbers of all arrays, by type.
    """

    def __init__(self, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._pools = dict(arrays)
        self._places = dict.fromkeys(arrays, 0)
        self._objects: list[Any] = []

    def decode_all(self, objects: Any) -> Any:
        """Return the last object, which is the model."""
        for encoded in objects if isinstance(objects, list) else []:
            self._objects.append(self._decode_object(encoded))
        if not self._objects or any(len(self._pools[name]) != end for name, end in self._places.items()):
            raise ModelFileError("its arrays are not those of its objects")
        return self._objects[-1]

    def decode(self, value: Any) -> Any:
        """Return the value that `Encoder.encode` encoded."""
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, list):
            return [self.decode(item) for item in value]
        match value:
            case {"float": "nan" | "inf" | "-inf" as text, **rest} if not rest:  # which JSON cannot represent
                return float(text)
            case {"tuple": list(items), **rest} if not rest:
                return tuple(self.decode(item) for item in items)
            case {"dict": list(items), **rest} if not rest:
                return {self.decode(key): self.decode(item) for key, item in items}
            case {"object": int(k), **rest} if not rest and 0 <= k < len(self._objects):
                return self._objects[k]
        raise ModelFileError(f"it contains an unexpected value {str(value)[:60]!r}")

    def _decode_object(self, encoded: Any) -> Any:
        match encoded:
            case {"array": str(kind), "shape": list(shape), **rest} if kind in self._pools and not rest:
                return self._take(kind, shape)
            case {"texts": list(texts), "codes": codes, **rest} if not rest:
                codes = self.decode(codes)
                if conforms(texts, list[str]) and conforms(codes, NDArray[np.int64]) and (codes >= 0).all():
                    return np.array(texts, dtype=object)[codes]  # NumPy refuses larger codes
            case {"class": str(name), "state": dict(state), **rest} if name in CLASSES and not rest:
                return build(name, {key: self.decode(item) for key, item in state.items()})
        raise ModelFileError(f"it contains an unknown object {str(encoded)[:60]!r}")

    def _take(self, kind: str, shape: list[Any]) -> NDArray[Any]:
        """Take the next numbers of an array."""
        if not all(type(n) is int and n >= 0 for n in shape) or (0 in shape and max(shape) > LONGEST_EMPTY):
            raise ModelFileError("the shape of an array is damaged")
        start, pool = self._places[kind], self._pools[kind]
        end = start + math.prod(shape)
        if end > len(pool) or pool.dtype.str[1:] != kind:
            raise ModelFileError(f"array {kind!r} is too short or of another type")
        self._places[kind] = end
        return pool[start:end].reshape(shape)


def conforms(value: Any, hint: Any) -> bool:
    """Return whether a value has an annotated type; an int is not negative and not a bool, and counts as a float."""
    if hasattr(get_origin(hint), "__value__"):  # NDArray is an alias from Python 3.12 and NumPy 2.5 on
        hint = get_origin(hint).__value__[get_args(hint)]
    origin, args = get_origin(hint), get_args(hint)
    if hint is Any:
        return True
    if origin in (Union, UnionType):
        return any(conforms(value, one) for one in args)
    if origin is np.ndarray:
        wanted = get_args(args[1])[0]
        return isinstance(value, np.ndarray) and (wanted is Any or value.dtype == np.dtype(wanted))
    if origin is tuple and args[-1] is not ...:
        return type(value) is tuple and len(value) == len(args) and all(map(conforms, value, args))
    if origin in (tuple, list):
        return type(value) is origin and all(conforms(item, args[0]) for item in value)
    if origin in (dict, Mapping):
        return type(value) is dict and all(all(map(conforms, item, args)) for item in value.items())
    kinds: Any = {None: NoneType, int: (int, np.integer), float: (int, float, np.integer, np.floating)}.get(hint, hint)
    is_bool = hint in (int, float) and isinstance(value, bool)
    return isinstance(value, kinds) and not is_bool and (hint is not int or bool(value >= 0))
