"""Plain values as JSON and back, exact to the bit."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.models.archive import Arrays
from ravine.models.model_file_error import ModelFileError

__all__ = [
    "check_count",
    "check_range",
    "decode_number",
    "decode_value",
    "encode_number",
    "encode_value",
    "get_field",
    "is_instance",
]

# Numbers that JSON cannot represent.
SPECIAL = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
SCALARS = {name: np.dtype(name) for name in ("bool", "int8", "int16", "int32", "int64")}
SCALARS |= {name: np.dtype(name) for name in ("uint8", "uint16", "uint32", "uint64", "float16", "float32", "float64")}
MAX_DEPTH = 20


def get_field(document: Any, key: str, *types: type) -> Any:
    """Return a field of a document; it must exist and be of one of the types."""
    if not isinstance(document, dict) or key not in document:
        raise ModelFileError(f"field {key!r} is missing")
    value = document[key]
    if not is_instance(value, *types):
        raise ModelFileError(f"field {key!r} has unexpected value {str(value)[:40]!r}")
    return value


def is_instance(value: Any, *types: type) -> bool:
    """Return whether a value is of one of the types; a bool does not count as an int."""
    return isinstance(value, types) and (not isinstance(value, bool) or bool in types)


def check_count(value: Any, what: str) -> int:
    """Return a value, which must be a non-negative integer."""
    if type(value) is not int or value < 0:
        raise ModelFileError(f"{what} is {str(value)[:40]!r} instead of a number of 0 or more")
    return value


def check_range(
    values: Any, what: str, low: float = -math.inf, high: float = math.inf, *, unknown: bool = False
) -> Any:
    """Return a number or an array, whose values must lie in [low, high]; with ``unknown`` they may be NaN, too."""
    inside = (values >= low) & (values <= high)
    if not np.all((inside | np.isnan(values)) if unknown else inside):
        raise ModelFileError(f"{what} is outside {low:g} to {high:g}")
    return values


def encode_number(value: float) -> Any:
    """Encode a float; JSON keeps every bit of a finite one."""
    number = float(value)
    return number if math.isfinite(number) else {"float": str(number)}


def decode_number(value: Any, what: str = "a number") -> float:
    """Decode a float encoded by `encode_number`."""
    if isinstance(value, dict) and value.keys() == {"float"} and value["float"] in SPECIAL:
        return SPECIAL[value["float"]]
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise ModelFileError(f"{what} is not a number but {str(value)[:40]!r}")
    return float(value)


def encode_value(name: str, value: Any, arrays: dict[str, NDArray[Any]]) -> Any:
    """Encode plain data as JSON; an array is added to ``arrays``. A TypeError names the type of anything else."""
    if value is None or isinstance(value, str) or type(value) in (bool, int):
        return value
    if type(value) is float:
        return encode_number(value)
    if isinstance(value, np.generic) and value.dtype.name in SCALARS:
        item = value.item()
        return {"scalar": value.dtype.name, "value": encode_number(item) if isinstance(item, float) else item}
    if type(value) is np.ndarray and value.dtype.kind in "biuf":
        arrays[name] = value
        return {"array": name}
    if type(value) in (list, tuple):
        inner = [encode_value(f"{name}-{k}", item, arrays) for k, item in enumerate(value)]
        return inner if type(value) is list else {"tuple": inner}
    raise TypeError(f"a {type(value).__name__}")


def decode_value(value: Any, arrays: Arrays, depth: int = 0) -> Any:
    """Decode a value encoded by `encode_value`."""
    if depth > MAX_DEPTH:
        raise ModelFileError("a parameter is nested too deeply")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list):
        return [decode_value(item, arrays, depth + 1) for item in value]
    if not isinstance(value, Mapping):
        raise ModelFileError("a parameter is damaged")
    match sorted(value):
        case ["float"]:
            return decode_number(value)
        case ["tuple"] if isinstance(value["tuple"], list):
            return tuple(decode_value(item, arrays, depth + 1) for item in value["tuple"])
        case ["array"] if isinstance(value["array"], str) and value["array"] in arrays:
            ndim = arrays.count_dimensions(value["array"])
            return arrays.take(value["array"], "biuf", (None,) * ndim)
        case ["scalar", "value"] if value["scalar"] in SCALARS:
            return _decode_scalar(SCALARS[value["scalar"]], value["value"])
    raise ModelFileError(f"a parameter has unknown type {', '.join(map(str, value))[:60]!r}")


def _decode_scalar(dtype: np.dtype[Any], value: Any) -> Any:
    item = decode_number(value) if dtype.kind == "f" else value
    if not isinstance(item, bool | int | float):
        raise ModelFileError("a parameter is damaged")
    try:
        return dtype.type(item)
    except OverflowError as error:
        raise ModelFileError(f"a parameter is too large for its type {dtype}") from error
