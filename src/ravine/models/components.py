"""Components of fitted estimators (hyperplanes, valley tests, trees) as JSON and arrays, and back."""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.density import Judgement, Valley
from ravine.estimators import HalfTest, PathStep, ValleyTest
from ravine.hyperplane import Hyperplane
from ravine.models.archive import Arrays
from ravine.models.model_file_error import ModelFileError
from ravine.models.values import check_count, check_range, decode_number, encode_number, get_field, is_instance
from ravine.tree import LeafJoins, Tree
from ravine.validity import TEST_METHODS, Evidence, Tally

__all__ = [
    "HyperplanePool",
    "HyperplaneStore",
    "decode_test",
    "decode_tree",
    "encode_test",
    "encode_tree",
    "is_continued",
]

NUMBERS = ("offset", "density", "relative_depth", "bandwidth", "alpha")
FLAGS = ("valid", "interior", "polished", "converged", "certified")
COUNTS = ("start", "n_iter", "n_evaluations", "n_tied", "n_rows")
TREE_LINKS = ("parent", "left", "right", "size", "order", "cluster")
JOIN_PAIRS, JOIN_NUMBERS = ("leaves", "boundaries"), ("evidence", "boundary_evidence")
TREE_NUMBERS = ("offset", "bandwidth", "alpha", "density", "relative_depth", "pvalue")
LARGEST = 1 << 62
# Smallest positive number.
POSITIVE = 5e-324
# Ranges of the numbers of a hyperplane that was found by a fit; NaN stands for "unknown".
RANGES = {
    "bandwidth": (POSITIVE, sys.float_info.max),
    "density": (0.0, math.inf),
    "relative_depth": (0.0, math.inf),
    "alpha": (0.0, math.inf),
    "pvalue": (0.0, 1.0),
}
# Memory of a hyperplane as an object, without its normal and its point.
PLANE_BYTES = 1000


class HyperplaneStore:
    """Hyperplanes of a model that is being saved; each is stored once and referred to by its number."""

    def __init__(self) -> None:
        self._planes: list[Hyperplane] = []
        self._number: dict[int, int] = {}

    def add(self, plane: Hyperplane) -> int:
        """Store a hyperplane and return its number."""
        if id(plane) not in self._number:
            self._number[id(plane)] = len(self._planes)
            self._planes.append(plane)
        return self._number[id(plane)]

    def add_path(self, path: tuple[PathStep, ...]) -> dict[str, Any]:
        """Store the hyperplanes of a path; return its steps, field by field."""
        columns: dict[str, Any] = {"hyperplane": [self.add(step.hyperplane) for step in path]}
        columns |= {name: [bool(getattr(step, name)) for step in path] for name in FLAGS}
        columns |= {name: [int(getattr(step, name)) for step in path] for name in COUNTS}
        columns["gamma"] = [encode_number(step.gamma) for step in path]
        columns["pair"] = [None if step.pair is None else [int(k) for k in step.pair] for step in path]
        return columns

    def make_arrays(self, n_features: int) -> dict[str, NDArray[Any]]:
        """Return all hyperplanes, one per row."""
        planes = self._planes
        no_point = np.full(n_features, np.nan)
        points = [no_point if plane.point is None else plane.point for plane in planes]
        shape = (len(planes), n_features)
        return {
            "hyperplanes/normal": np.array([plane.normal for plane in planes], dtype=np.float64).reshape(shape),
            "hyperplanes/point": np.array(points, dtype=np.float64).reshape(shape),
            "hyperplanes/numbers": np.array(
                [[getattr(plane, name) for name in NUMBERS] for plane in planes], dtype=np.float64
            ).reshape(-1, len(NUMBERS)),
        }


class HyperplanePool:
    """Hyperplanes of a file, by their numbers; each is built when it is first used."""

    def __init__(self, arrays: Arrays, n_features: int) -> None:
        normals = arrays.take_floats("hyperplanes/normal", (None, n_features))
        points = arrays.take_floats("hyperplanes/point", (len(normals), n_features))
        numbers = arrays.take_floats("hyperplanes/numbers", (len(normals), len(NUMBERS)))
        _check_hyperplanes(normals, points, numbers[:, 0])
        _check_numbers(dict(zip(NUMBERS, numbers.T, strict=True)))
        self._normals, self._points, self._numbers = normals, points, numbers
        self._budget = arrays.budget
        self._planes: dict[int, Hyperplane] = {}

    def __getitem__(self, number: Any) -> Hyperplane:
        if not is_instance(number, int) or not 0 <= number < len(self._normals):
            raise ModelFileError(f"hyperplane {str(number)[:40]!r} does not exist")
        if number not in self._planes:
            self._budget.spend(PLANE_BYTES + 2 * self._normals[number].nbytes)
            known = dict(zip(NUMBERS, self._numbers[number].tolist(), strict=True))
            self._planes[number] = _build_hyperplane(self._normals[number], self._points[number], known)
        return self._planes[number]

    def decode_path(self, columns: Any) -> tuple[PathStep, ...]:
        """Return the steps of a path."""
        n = len(get_field(columns, "hyperplane", list))
        planes = [self[k] for k in columns["hyperplane"]]
        fields: dict[str, list[Any]] = {name: _get_column(columns, name, n, bool) for name in FLAGS}
        fields |= {name: _get_column(columns, name, n, int) for name in COUNTS}
        for name in COUNTS:
            check_count(min(fields[name], default=0), f"field {name!r} of the path")
        gammas = _get_column(columns, "gamma", n, int, float, dict)
        fields["gamma"] = [
            check_range(decode_number(value, "gamma"), "gamma", low=0.0, unknown=True) for value in gammas
        ]
        fields["pair"] = [_decode_pair(value) for value in _get_column(columns, "pair", n, list, type(None))]
        return tuple(PathStep(planes[k], **{name: values[k] for name, values in fields.items()}) for k in range(n))


def _check_hyperplanes(normals: NDArray[Any], points: NDArray[Any], offsets: NDArray[Any]) -> None:
    """Check that normals are unit vectors and that hyperplanes with a finite offset have a point."""
    lengths = np.sqrt(np.einsum("ij,ij->i", normals, normals))
    if not (np.abs(lengths - 1.0) < 1e-6).all():
        raise ModelFileError("the normal of a hyperplane is not a unit vector")
    finite = np.isfinite(offsets)
    if np.isnan(offsets).any() or not np.isfinite(points[finite]).all():
        raise ModelFileError("a hyperplane has no valid offset or point")


def _check_numbers(numbers: Mapping[str, NDArray[Any]]) -> None:
    """Check that the numbers of hyperplanes are in the range of those that a fit finds."""
    for name, (low, high) in RANGES.items():
        if name in numbers:
            check_range(numbers[name], f"the {name} of a hyperplane", low, high, unknown=True)


def _build_hyperplane(normal: NDArray[Any], point: NDArray[Any], numbers: dict[str, float]) -> Hyperplane:
    # The constructor may move the point by a rounding error.
    plane = Hyperplane.__new__(Hyperplane)
    plane.__setstate__({"normal": normal.copy(), **numbers, "point": None if np.isnan(point).all() else point.copy()})
    return plane


def _get_column(columns: Any, name: str, n: int, *types: type) -> list[Any]:
    values = get_field(columns, name, list)
    for value in values:
        if not is_instance(value, *types):
            raise ModelFileError(f"field {name!r} of the path has unexpected value {str(value)[:40]!r}")
    if len(values) != n:
        raise ModelFileError(f"field {name!r} of the path has {len(values)} values instead of {n}")
    return list(values)


def _decode_pair(value: Any) -> tuple[int, int] | None:
    if value is None:
        return None
    if len(value) != 2 or not all(type(k) is int and k >= 0 for k in value):
        raise ModelFileError("a pair of classes is damaged")
    return value[0], value[1]


# ----------------------------------------------------------------------------------------------- the valley test


def encode_test(test: ValleyTest, store: HyperplaneStore) -> dict[str, Any]:
    """Encode the result of a valley test."""
    return {
        "pvalue": encode_number(test.pvalue),
        "halves": [_encode_half(half, store) for half in test.halves],
        "grid_columns": [int(j) for j in test.grid_columns],
        "method": test.method,
        "n_folds": test.n_folds,
        "partitions": [[_encode_evidence(one) for one in partition] for partition in test.partitions],
    }


def _encode_evidence(one: Evidence) -> dict[str, Any]:
    return {
        "direction": one.direction,
        "counts": [[t.middle, t.total, encode_number(t.expected)] for t in (one.weak, one.strong)],
    }


def _encode_half(half: HalfTest, store: HyperplaneStore) -> dict[str, Any]:
    intervals = None if half.valley is None else (half.valley.middle, half.valley.left, half.valley.right)
    judgement = half.judgement
    return {
        "hyperplane": store.add(half.hyperplane),
        "valley": None if intervals is None else [[*map(encode_number, interval)] for interval in intervals],
        "counts": None if judgement is None else [int(k) for k in judgement.counts],
        "pvalues": None
        if judgement is None
        else [*map(encode_number, (judgement.pvalue_left, judgement.pvalue_right))],
    }


def decode_test(value: Any, pool: HyperplanePool, n_features: int) -> ValleyTest:
    """Decode the result of a valley test."""
    halves = [_decode_half(half, pool) for half in get_field(value, "halves", list)]
    columns = get_field(value, "grid_columns", list)
    if not all(type(j) is int and 0 <= j < n_features for j in columns):
        raise ModelFileError("the grid columns of a valley test are damaged")
    pvalue = _check_pvalue(decode_number(get_field(value, "pvalue", int, float, dict)))
    if "method" not in value:  # files of earlier versions, which had no other test
        return ValleyTest(pvalue, tuple(halves), tuple(columns))
    method, n_folds = get_field(value, "method", str), check_count(get_field(value, "n_folds", int), "n_folds")
    if method not in TEST_METHODS:
        raise ModelFileError(f"unknown valley test {method[:40]!r}")
    partitions = [_decode_partition(one) for one in get_field(value, "partitions", list)]
    return ValleyTest(pvalue, tuple(halves), tuple(columns), method, n_folds, tuple(partitions))


def _decode_partition(partition: Any) -> tuple[Evidence, ...]:
    if not isinstance(partition, list) or not partition:
        raise ModelFileError("a partition of a valley test is damaged")
    return tuple(_decode_evidence(one) for one in partition)


def _decode_evidence(one: Any) -> Evidence:
    counts = get_field(one, "counts", list)
    if len(counts) != 2:
        raise ModelFileError("the counts of a valley test are damaged")
    return Evidence(get_field(one, "direction", str), *(_decode_tally(tally) for tally in counts))


def _decode_tally(tally: Any) -> Tally:
    if not isinstance(tally, list) or len(tally) != 3:
        raise ModelFileError("the counts of a valley test are damaged")
    total = check_count(tally[1], "a count of a valley test")
    middle = check_range(check_count(tally[0], "a count of a valley test"), "a count of a valley test", high=total)
    expected = check_range(decode_number(tally[2]), "an expected count of a valley test", 0.0, total)
    return Tally(middle, total, expected)


def _decode_half(half: Any, pool: HyperplanePool) -> HalfTest:
    valley, judgement = None, None
    if get_field(half, "valley", list, type(None)) is not None:
        intervals = [_decode_two_numbers(interval) for interval in half["valley"]]
        if len(intervals) != 3 or not all(low <= high for low, high in intervals):
            raise ModelFileError("a valley does not have three intervals")
        valley = Valley(*intervals)
    if get_field(half, "counts", list, type(None)) is not None:
        counts, (left, right) = half["counts"], _decode_two_numbers(get_field(half, "pvalues", list))
        if len(counts) != 3:
            raise ModelFileError("the counts of a valley test are damaged")
        middle, *beside = (check_count(k, "a count of a valley test") for k in counts)
        judgement = Judgement((middle, beside[0], beside[1]), _check_pvalue(left), _check_pvalue(right))
    return HalfTest(pool[get_field(half, "hyperplane", int)], valley, judgement)


def _check_pvalue(value: float) -> float:
    return float(check_range(value, "the P-value of a valley test", 0.0, 1.0))


def _decode_two_numbers(values: Any) -> tuple[float, float]:
    if not isinstance(values, list) or len(values) != 2:
        raise ModelFileError("the numbers of a valley test are damaged")
    return decode_number(values[0]), decode_number(values[1])


# ----------------------------------------------------------------------------------------------- the tree


def encode_tree(tree: Tree, leaves: NDArray[np.intp], prefix: str = "") -> dict[str, NDArray[Any]]:
    """Return the arrays of a tree and the leaf of each row; ``prefix`` starts their names."""
    name_of = f"{prefix}tree/{{}}".format
    arrays = {name_of(name): getattr(tree, name).astype("<i8") for name in TREE_LINKS}
    arrays |= {name_of(name): getattr(tree, name) for name in (*TREE_NUMBERS, "normal", "point")}
    if tree.joins is not None:
        arrays |= {name_of(f"joins/{name}"): getattr(tree.joins, name).astype("<i8") for name in JOIN_PAIRS}
        arrays |= {name_of(f"joins/{name}"): getattr(tree.joins, name) for name in JOIN_NUMBERS}
    return arrays | {f"{prefix}leaves": leaves.astype("<i8")}


def decode_tree(arrays: Arrays, n_features: int, prefix: str = "") -> tuple[Tree, NDArray[np.intp]]:
    """Build a tree and return it with the leaf of each row.

    Its links are checked, so that descending it always ends in a leaf.
    """
    name_of = f"{prefix}tree/{{}}".format
    parent = arrays.take_integers(name_of("parent"), (None,), -1, LARGEST)
    m = len(parent)
    # All fields but the sizes are numbers of nodes or clusters; there are no more clusters than nodes.
    most = {name: LARGEST if name == "size" else m for name in TREE_LINKS[1:]}
    links = {name: arrays.take_integers(name_of(name), (m,), -1, high) for name, high in most.items()}
    numbers = {name: arrays.take_floats(name_of(name), (m,)) for name in TREE_NUMBERS}
    planes = {name: arrays.take_floats(name_of(name), (m, n_features)) for name in ("normal", "point")}
    _check_links(parent, links)
    inner = links["left"] >= 0
    _check_hyperplanes(planes["normal"][inner], planes["point"][inner], numbers["offset"][inner])
    if not np.isfinite(numbers["offset"][inner]).all():
        raise ModelFileError("an inner node of the tree has no hyperplane")
    _check_numbers(numbers)
    leaves = arrays.take_integers(f"{prefix}leaves", (int(links["size"][0]),), 0, m)
    # The sizes of inner nodes are the sums of these.
    if not np.array_equal(np.bincount(leaves, minlength=m), np.where(inner, 0, links["size"])):
        raise ModelFileError("the numbers of rows in the leaves of the tree do not agree with their sizes")
    fields: dict[str, Any] = {"parent": parent, **links, **numbers, **planes}
    tree = Tree(**fields)
    return tree.with_arrays(joins=_decode_joins(arrays, tree, name_of("joins/"))), leaves


def _decode_joins(arrays: Arrays, tree: Tree, prefix: str) -> LeafJoins | None:
    """Build the joins of leaves; they must lead to the clusters of the tree, and from there to one."""
    if f"{prefix}leaves" not in arrays:  # convex clusters, and files of earlier versions
        return None
    pairs = [arrays.take_integers(prefix + name, (None, 2), 0, len(tree)) for name in JOIN_PAIRS]
    values = [arrays.take_floats(prefix + name, (len(some),)) for name, some in zip(JOIN_NUMBERS, pairs, strict=True)]
    joins = LeafJoins(pairs[0], values[0], pairs[1], values[1])
    leaves = tree.leaves()
    groups = joins.label_leaves(len(tree), tree.n_leaves - tree.n_clusters)[leaves]
    _require(set(pairs[0].ravel().tolist()) <= set(leaves) and len(pairs[0]) == len(leaves) - 1, "joins")
    _require(len(np.unique(joins.label_leaves(len(tree), len(leaves))[leaves])) == 1, "joins")
    _require(len(set(zip(groups.tolist(), tree.cluster[leaves].tolist(), strict=True))) == tree.n_clusters, "joins")
    _require((pairs[1] < tree.n_clusters).all() and (pairs[1][:, 0] < pairs[1][:, 1]).all(), "boundaries")
    return joins


def is_continued(tree: Tree, leaves: NDArray[np.intp], other: Tree, other_leaves: NDArray[np.intp]) -> bool:
    """Return whether another tree has the splits of a tree, then its own, and the same rows in its nodes."""
    m, inner = len(tree), tree.left >= 0
    if len(other) < m or len(other_leaves) != len(leaves):
        return False
    at_nodes = ((getattr(tree, name), getattr(other, name)[:m]) for name in ("parent", "size", "pvalue"))
    at_splits = (
        (getattr(tree, name)[inner], getattr(other, name)[:m][inner])
        for name in ("left", "right", "order", "offset", "normal", "point")
    )
    node_of = np.arange(len(other))
    for k in range(m, len(other)):
        node_of[k] = node_of[other.parent[k]]
    return (
        tree.n_clusters == tree.n_leaves
        and all(np.array_equal(a, b, equal_nan=True) for a, b in (*at_nodes, *at_splits))
        and np.array_equal(node_of[other_leaves], leaves)
    )


def _check_links(parent: NDArray[np.intp], links: dict[str, NDArray[np.intp]]) -> None:
    m, left, right = len(parent), links["left"], links["right"]
    nodes, inner = np.arange(m), left >= 0
    _require(m % 2 == 1 and parent[0] == -1 and (inner == (right >= 0)).all(), "nodes")
    children = np.concatenate([left[inner], right[inner]])
    parents = np.concatenate([nodes[inner], nodes[inner]])
    # Every node but the root is a child of exactly one earlier node.
    _require(np.array_equal(np.sort(children), nodes[1:]) and (parents < children).all(), "children")
    _require(np.array_equal(parent[children], parents), "parents")
    cluster, order, size = links["cluster"], links["order"], links["size"]
    _require((cluster[inner] == -1).all(), "clusters")
    _require(np.array_equal(np.unique(cluster[~inner]), np.arange(cluster.max() + 1)), "clusters")
    _require(np.array_equal(np.sort(order[inner]), np.arange(inner.sum())) and (order[~inner] < 0).all(), "order")
    _require((size > 0).all() and np.array_equal(size[inner], size[left[inner]] + size[right[inner]]), "sizes")


def _require(valid: bool | np.bool_, what: str) -> None:
    if not valid:
        raise ModelFileError(f"invalid tree structure ({what})")
