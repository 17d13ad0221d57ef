"""The pieces of fitted estimators as JSON and arrays, and back: each piece is checked as it is built."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.density import Judgement, Valley
from ravine.estimators import HalfTest, PathStep, ValleyTest
from ravine.hyperplane import Hyperplane
from ravine.models.archive import Arrays
from ravine.models.errors import ModelFileError
from ravine.models.values import decode_number, encode_number
from ravine.tree import Tree

__all__ = ["HyperplanePool", "HyperplaneStore", "decode_test", "decode_tree", "encode_test", "encode_tree"]

NUMBERS = ("offset", "density", "relative_depth", "bandwidth", "alpha")
FLAGS = ("valid", "interior", "polished", "converged", "certified")
COUNTS = ("start", "n_iter", "n_evaluations", "n_tied", "n_rows")
TREE_LINKS = ("parent", "left", "right", "size", "order", "cluster")
TREE_NUMBERS = ("offset", "bandwidth", "alpha", "density", "relative_depth", "pvalue")
LARGEST = 1 << 62


def need(holder: Any, key: str, *types: type) -> Any:
    """A value of the document that must be there and of a type."""
    if not isinstance(holder, dict) or key not in holder:
        raise ModelFileError(f"{key!r} is missing")
    value = holder[key]
    if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
        raise ModelFileError(f"{key!r} is {str(value)[:40]!r}")
    return value


class HyperplaneStore:
    """Collects the hyperplanes of a model: each is stored once and referred to by its number."""

    def __init__(self) -> None:
        self._planes: list[Hyperplane] = []
        self._number: dict[int, int] = {}

    def add(self, plane: Hyperplane) -> int:
        """Number of a hyperplane."""
        if id(plane) not in self._number:
            self._number[id(plane)] = len(self._planes)
            self._planes.append(plane)
        return self._number[id(plane)]

    def add_path(self, path: tuple[PathStep, ...]) -> dict[str, Any]:
        """The steps of a path, column by column."""
        columns: dict[str, Any] = {"hyperplane": [self.add(step.hyperplane) for step in path]}
        columns |= {name: [bool(getattr(step, name)) for step in path] for name in FLAGS}
        columns |= {name: [int(getattr(step, name)) for step in path] for name in COUNTS}
        columns["gamma"] = [encode_number(step.gamma) for step in path]
        columns["pair"] = [None if step.pair is None else [int(k) for k in step.pair] for step in path]
        return columns

    def arrays(self, n_features: int) -> dict[str, NDArray[Any]]:
        """All hyperplanes, one in each row."""
        planes = self._planes
        nowhere = np.full(n_features, np.nan)
        points = [nowhere if plane.point is None else plane.point for plane in planes]
        shape = (len(planes), n_features)
        return {
            "hyperplanes/normal": np.array([plane.normal for plane in planes], dtype=np.float64).reshape(shape),
            "hyperplanes/point": np.array(points, dtype=np.float64).reshape(shape),
            "hyperplanes/numbers": np.array(
                [[getattr(plane, name) for name in NUMBERS] for plane in planes], dtype=np.float64
            ).reshape(-1, len(NUMBERS)),
        }


class HyperplanePool:
    """The hyperplanes of a file, by their numbers."""

    def __init__(self, arrays: Arrays, n_features: int) -> None:
        normals = arrays.numbers("hyperplanes/normal", (None, n_features))
        points = arrays.numbers("hyperplanes/point", (len(normals), n_features))
        numbers = arrays.numbers("hyperplanes/numbers", (len(normals), len(NUMBERS)))
        check_planes(normals, points, numbers[:, 0])
        self._planes = [
            _plane(normal, point, dict(zip(NUMBERS, known, strict=True)))
            for normal, point, known in zip(normals, points, numbers.tolist(), strict=True)
        ]

    def __getitem__(self, number: Any) -> Hyperplane:
        if isinstance(number, bool) or not isinstance(number, int) or not 0 <= number < len(self._planes):
            raise ModelFileError(f"there is no hyperplane {str(number)[:40]!r}")
        return self._planes[number]

    def path(self, columns: Any) -> tuple[PathStep, ...]:
        """The steps of a path."""
        n = len(need(columns, "hyperplane", list))
        planes = [self[k] for k in columns["hyperplane"]]
        fields: dict[str, list[Any]] = {name: _column(columns, name, n, bool) for name in FLAGS}
        fields |= {name: _column(columns, name, n, int) for name in COUNTS}
        fields["gamma"] = [decode_number(value, "gamma") for value in _column(columns, "gamma", n, int, float, dict)]
        fields["pair"] = [_pair(value) for value in _column(columns, "pair", n, list, type(None))]
        return tuple(PathStep(planes[k], **{name: values[k] for name, values in fields.items()}) for k in range(n))


def check_planes(normals: NDArray[Any], points: NDArray[Any], offsets: NDArray[Any]) -> None:
    """Normals must be unit vectors, and finite hyperplanes need a point on them."""
    lengths = np.sqrt((normals**2).sum(axis=1))
    if not (np.abs(lengths - 1.0) < 1e-6).all():
        raise ModelFileError("a hyperplane has a normal that is no unit vector")
    finite = np.isfinite(offsets)
    if np.isnan(offsets).any() or not np.isfinite(points[finite]).all():
        raise ModelFileError("a hyperplane has no place")


def _plane(normal: NDArray[Any], point: NDArray[Any], numbers: dict[str, float]) -> Hyperplane:
    # Not by the constructor, which may move the point by a rounding.
    plane = Hyperplane.__new__(Hyperplane)
    there = None if np.isnan(point).all() else point.copy()
    plane.__setstate__({"normal": normal.copy(), **numbers, "point": there})
    return plane


def _column(columns: Any, name: str, n: int, *types: type) -> list[Any]:
    values = need(columns, name, list)
    for value in values:
        if not isinstance(value, types) or (isinstance(value, bool) and bool not in types):
            raise ModelFileError(f"{name!r} of the path holds {str(value)[:40]!r}")
    if len(values) != n:
        raise ModelFileError(f"{name!r} of the path has {len(values)} values instead of {n}")
    return list(values)


def _pair(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    if len(value) != 2 or not all(type(k) is int for k in value):
        raise ModelFileError("a pair of classes is damaged")
    return value[0], value[1]


# ----------------------------------------------------------------------------------------------- the valley test


def encode_test(test: ValleyTest, store: HyperplaneStore) -> dict[str, Any]:
    """The result of a valley test."""

    def half(h: HalfTest) -> dict[str, Any]:
        valley = None if h.valley is None else [[*map(encode_number, e)] for e in _intervals(h.valley)]
        verdict = h.judgement
        counts = None if verdict is None else [int(k) for k in verdict.counts]
        pvalues = None if verdict is None else [*map(encode_number, (verdict.pvalue_left, verdict.pvalue_right))]
        return {"hyperplane": store.add(h.hyperplane), "valley": valley, "counts": counts, "pvalues": pvalues}

    return {
        "pvalue": encode_number(test.pvalue),
        "halves": [half(h) for h in test.halves],
        "grid_columns": [int(j) for j in test.grid_columns],
    }


def _intervals(valley: Valley) -> tuple[tuple[float, float], ...]:
    return valley.middle, valley.left, valley.right


def decode_test(value: Any, pool: HyperplanePool) -> ValleyTest:
    """What `encode_test` encoded."""
    halves = []
    for half in need(value, "halves", list):
        valley, judgement = None, None
        if need(half, "valley", list, type(None)) is not None:
            ends = [_floats(interval, 2) for interval in half["valley"]]
            if len(ends) != 3:
                raise ModelFileError("a valley has no three intervals")
            valley = Valley(*((start, end) for start, end in ends))
        if need(half, "counts", list, type(None)) is not None:
            counts, (left, right) = half["counts"], _floats(need(half, "pvalues", list), 2)
            if len(counts) != 3 or not all(type(k) is int for k in counts):
                raise ModelFileError("the counts of a test are damaged")
            judgement = Judgement((counts[0], counts[1], counts[2]), left, right)
        halves.append(HalfTest(pool[need(half, "hyperplane", int)], valley, judgement))
    columns = need(value, "grid_columns", list)
    if not all(type(j) is int for j in columns):
        raise ModelFileError("the columns of a test are damaged")
    return ValleyTest(decode_number(need(value, "pvalue", int, float, dict)), tuple(halves), tuple(columns))


def _floats(values: Any, n: int) -> list[float]:
    if not isinstance(values, list) or len(values) != n:
        raise ModelFileError("the numbers of a test are damaged")
    return [decode_number(value) for value in values]


# ----------------------------------------------------------------------------------------------- the tree


def encode_tree(tree: Tree) -> dict[str, NDArray[Any]]:
    """The arrays of a tree."""
    arrays = {f"tree/{name}": getattr(tree, name).astype("<i8") for name in TREE_LINKS}
    return arrays | {f"tree/{name}": getattr(tree, name) for name in (*TREE_NUMBERS, "normal", "point")}


def decode_tree(arrays: Arrays, n_features: int) -> Tree:
    """A tree whose links are those of a tree: walking down it always ends in a leaf."""
    parent = arrays.integers("tree/parent", (None,), -1, LARGEST)
    m = len(parent)
    # All but the sizes number nodes or clusters, of which there are at most as many as nodes.
    most = {name: LARGEST if name == "size" else m for name in TREE_LINKS[1:]}
    links = {name: arrays.integers(f"tree/{name}", (m,), -1, high) for name, high in most.items()}
    numbers = {name: arrays.numbers(f"tree/{name}", (m,)) for name in TREE_NUMBERS}
    planes = {name: arrays.numbers(f"tree/{name}", (m, n_features)) for name in ("normal", "point")}
    _check_links(parent, links)
    inner = links["left"] >= 0
    check_planes(planes["normal"][inner], planes["point"][inner], numbers["offset"][inner])
    if not np.isfinite(numbers["offset"][inner]).all():
        raise ModelFileError("a node of the tree is split by no hyperplane")
    fields: dict[str, Any] = {"parent": parent, **links, **numbers, **planes}
    return Tree(**fields)


def _check_links(parent: NDArray[np.intp], links: dict[str, NDArray[np.intp]]) -> None:
    m, left, right, order = len(parent), links["left"], links["right"], links["order"]
    numbers, inner = np.arange(m), left >= 0
    good = m > 0 and m % 2 == 1 and parent[0] == -1 and bool((inner == (right >= 0)).all())
    if good:
        children = np.concatenate([left[inner], right[inner]])
        above = np.concatenate([numbers[inner], numbers[inner]])
        # Every node but the root is the child of one node, which comes before it.
        good = np.array_equal(np.sort(children), numbers[1:]) and bool((above < children).all())
        good = good and np.array_equal(parent[children], above)
        clusters = links["cluster"][~inner]
        good = good and bool((links["cluster"][inner] == -1).all())
        good = good and np.array_equal(np.unique(clusters), np.arange(clusters.max() + 1))
        good = (
            good and np.array_equal(np.sort(order[inner]), np.arange(inner.sum())) and bool((order[~inner] < 0).all())
        )
        size = links["size"]
        good = good and bool((size > 0).all()) and np.array_equal(size[inner], size[left[inner]] + size[right[inner]])
    if not good:
        raise ModelFileError("its tree is no tree")
