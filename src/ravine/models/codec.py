"""Objects as a JSON document and arrays, and back. Only classes of a registry are built, and all their values checked.

The document lists the objects, each after those it refers to: arrays, and instances of registered classes with their
state. Arrays of one type are stored one after the other, in the order of the list.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable, Iterable, Mapping
from types import NoneType, UnionType
from typing import Any, Union, get_args, get_origin, get_type_hints

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator

# Numbers that JSON cannot represent.
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
# Longest side of an array without numbers: other arrays are allocated after it.
LONGEST_EMPTY = 1 << 20


class ModelFileError(ValueError):
    """Raised when a file is not a model, is damaged, or was written by another version of ravine.

    Parameters
    ----------
    problem : str
    advice : str, default="Get a new copy of the file, or save the model again."
    """

    def __init__(self, problem: str, advice: str = "Get a new copy of the file, or save the model again.") -> None:
        super().__init__(problem)
        self.advice = advice


class Registry:
    """Classes that a file may contain, with the types of their fields and a function that checks an instance.

    Parameters
    ----------
    classes : iterable of type
        An instance checks itself by its method ``validate``, if it has one.
    fitted : mapping of str to type
        Types of the fitted attributes of estimators; dataclasses declare their fields themselves.
    ranges : mapping of str to tuple
        Smallest and largest value of fields and attributes, by their names, and whether they may be NaN.
    checks : mapping of type to callable
        Checks of instances that do not check themselves.
    """

    def __init__(
        self,
        classes: Iterable[type],
        fitted: Mapping[str, Any],
        ranges: Mapping[str, tuple[float, float, bool]],
        checks: Mapping[type, Callable[[Any], None]],
    ) -> None:
        self.classes = {kind.__name__: kind for kind in classes}
        self._checks = checks
        self._fitted, self._ranges = fitted, ranges
        self._fields: dict[type, tuple[dict[str, Any], set[str]]] = {}

    def __contains__(self, kind: type) -> bool:
        return self.classes.get(kind.__name__) is kind

    def build(self, name: str, state: dict[str, Any]) -> Any:
        """Build an instance from its fields, or from the parameters and fitted attributes of an estimator."""
        kind = self.classes[name]
        types, required = self._list_fields(kind)
        if not required <= state.keys() <= types.keys():
            odd = sorted(required - state.keys()) + sorted(state.keys() - types.keys())
            raise ModelFileError(f"{name} lacks the field, or has the unknown field {odd[0][:60]!r}")
        for key, value in state.items():
            if not conforms(value, types[key]) or not self._is_inside(key, value, types[key]):
                raise ModelFileError(f"field {key!r} of {name} has an unexpected value {str(value)[:60]!r}")
        made: Any = object.__new__(kind)
        try:
            if hasattr(made, "__setstate__"):
                made.__setstate__(state)
            else:
                made.__dict__.update(state)
            self._checks.get(kind, getattr(kind, "validate", _accept))(made)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise ModelFileError(f"{name} is damaged ({error})") from error
        return made

    def _list_fields(self, kind: type) -> tuple[dict[str, Any], set[str]]:
        """Return the types of all fields of a class, and the names of those that every instance has."""
        if kind not in self._fields:
            if dataclasses.is_dataclass(kind):
                types = get_type_hints(kind)
                names = {field.name for field in dataclasses.fields(kind)}
            else:
                names = set(kind().get_params(deep=False)) if issubclass(kind, BaseEstimator) else set()
                types = {**self._fitted, **dict.fromkeys(names, Any)}
            self._fields[kind] = types, names
        return self._fields[kind]

    def _is_inside(self, name: str, value: Any, hint: Any) -> bool:
        """Return whether the values of a field lie in their range; parameters, of any type, have none."""
        if name not in self._ranges or value is None or hint is Any:
            return True
        (low, high, unknown), values = self._ranges[name], np.asarray(value)
        inside = (values >= low) & (values <= high)
        return bool(np.all((inside | np.isnan(values)) if unknown else inside))


def _accept(made: object) -> None:
    """Check nothing beyond the types and ranges of the fields."""


class Encoder:
    """Encoding of objects; every array and instance is stored once.

    Parameters
    ----------
    registry : Registry
    """

    def __init__(self, registry: Registry) -> None:
        self.objects: list[dict[str, Any]] = []
        self._registry = registry
        self._numbers: dict[int, int] = {}
        self._kept: list[Any] = []  # so that no other object gets the same id
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
        if type(value) is list:
            return [self.encode(item, name) for item in value]
        if type(value) is tuple:
            return {"tuple": [self.encode(item, name) for item in value]}
        if type(value) is dict:
            return {"dict": [[self.encode(key, name), self.encode(item, name)] for key, item in value.items()]}
        if id(value) not in self._numbers:
            encoded = self._encode_object(value, name)
            self._numbers[id(value)] = len(self.objects)
            self._kept.append(value)
            self.objects.append(encoded)
        return {"object": self._numbers[id(value)]}

    def _encode_object(self, value: Any, name: str) -> dict[str, Any]:
        if isinstance(value, np.ndarray):
            return self._encode_array(value, name)
        if type(value) not in self._registry:
            raise TypeError(f"{name} (a {type(value).__name__})")
        if dataclasses.is_dataclass(value):
            state = {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
        else:
            state = value.__getstate__()
        encoded, rejected = {}, []
        for key in sorted(state):
            try:
                encoded[key] = self.encode(state[key], key)
            except TypeError as error:
                rejected.append(str(error))
        if rejected:
            raise TypeError(", ".join(rejected))
        return {"class": type(value).__name__, "state": encoded}

    def _encode_array(self, array: NDArray[Any], name: str) -> dict[str, Any]:
        if array.dtype.kind == "O" and all(type(text) is str for text in array.flat):
            texts, codes = np.unique(array, return_inverse=True)  # labels repeat: each text is stored once
            return {"texts": texts.tolist(), "codes": self.encode(codes.astype(np.int64).reshape(array.shape))}
        if array.dtype.kind not in "biufU":
            raise TypeError(f"{name} (an array of type {array.dtype})")
        kind = array.dtype.str[1:]
        self._pools.setdefault(kind, []).append(array.ravel())
        return {"array": kind, "shape": list(array.shape)}


class Decoder:
    """Decoding of objects from a document and its arrays.

    Parameters
    ----------
    registry : Registry
    arrays : mapping of str to ndarray of shape (n,)
        Numbers of all arrays, by type.
    """

    def __init__(self, registry: Registry, arrays: Mapping[str, NDArray[Any]]) -> None:
        self._registry = registry
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
            case {"float": str(text), **rest} if text in SPECIAL and not rest:
                return SPECIAL[text]
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
                known = np.array([_require(text, str) for text in texts], dtype=object)
                codes = _require(self.decode(codes), NDArray[np.int64])
                if codes.size and not 0 <= codes.min() <= codes.max() < len(known):
                    raise ModelFileError("the texts of an array are damaged")
                return known[codes]
            case {"class": str(name), "state": dict(state), **rest} if name in self._registry.classes and not rest:
                return self._registry.build(name, {key: self.decode(item) for key, item in state.items()})
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


def _require(value: Any, hint: Any) -> Any:
    if not conforms(value, hint):
        raise ModelFileError(f"it contains an unexpected value {str(value)[:60]!r}")
    return value


def conforms(value: Any, hint: Any) -> bool:
    """Return whether a value has an annotated type; a bool does not count as an int, an int counts as a float."""
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
    if origin is tuple and args[-1] is ...:
        return type(value) is tuple and all(conforms(item, args[0]) for item in value)
    if origin is tuple:
        return type(value) is tuple and len(value) == len(args) and all(map(conforms, value, args))
    if origin is list:
        return type(value) is list and all(conforms(item, args[0]) for item in value)
    if origin in (dict, Mapping):
        return type(value) is dict and all(
            conforms(key, args[0]) and conforms(item, args[1]) for key, item in value.items()
        )
    if hint in (int, float):
        kinds = (int, np.integer) if hint is int else (int, float, np.integer, np.floating)
        return isinstance(value, kinds) and not isinstance(value, bool)
    if hint is bool:
        return isinstance(value, bool | np.bool_)
    return isinstance(value, NoneType if hint is None else hint)
