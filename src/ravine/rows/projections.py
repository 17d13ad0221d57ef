"""Samples whose projections this process holds: sums over blocks of rows, and the rows near a hyperplane."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._typing import Array
from ravine.rows.base import Sample, sum_arrays
from ravine.rows.questions import (
    AngleDerivative,
    CovarianceProduct,
    Gradient,
    Histogram,
    LogSum,
    ProjectionRequest,
    Request,
    Rotate,
    RowsIn,
    RowSumRequest,
    SetDirection,
    SetTangent,
    ValuesIn,
    Variances,
)

# Sums run over blocks of rows whose size does not depend on the number of threads, so neither does their result.
BLOCK_ROWS = 1 << 17
T = TypeVar("T")
U = TypeVar("U")
Map = Callable[..., Iterable[Any]]  # the builtin map, or that of a pool of threads
# Its multiples, modulo 1, are spread evenly over any regular choice of rows: they replace random numbers.
GOLDEN_RATIO = 0.6180339887498949
# Rows move when the normal turns, so they are chosen by a kernel that is wider than the bandwidth by this factor.
WIDER = 2.0


class Projections:
    """Projections of one start: ``p`` on the normal, ``q`` on the tangent of the great circle.

    Parameters
    ----------
    allocate : callable, optional
        Allocates one vector; by default in memory and in double precision.
    """

    def __init__(self, n_rows: int, allocate: Callable[[int], Any] = np.empty) -> None:
        self.p: Array = allocate(n_rows)
        self.q: Array = allocate(n_rows)


class LocalSample(Sample):
    """Sample whose projections are vectors in memory or in files of this process."""

    # ------------------------------------------------------------------------------------------- sums over rows

    @abstractmethod
    def _map_centred(self, function: Callable[[Array, Array | None], T], center: Array, unit: float) -> Iterator[T]:
        """Apply a function to blocks of z = (x - center) / unit, which it must neither keep nor change, and weights."""

    def _map_projected(self, function: Callable[[Array, Array | None], T], directions: Array) -> Iterator[T]:
        """Apply a function to blocks of projections on a few directions (rows, as the directions are) and weights."""
        divisor = _find_divisor(self.unit)
        scaled = directions / divisor
        return self._map_centred(lambda z, w: function(scaled @ z.T, w), self.origin, self.unit / divisor)

    def _find_largest(self, center: Array) -> float:
        return max(self._map_centred(lambda z, _: float(np.abs(z).max(initial=0.0)), center, 1.0), default=0.0)

    def second_sums(self, center: Array, unit: float) -> tuple[Array, Array]:
        """Return the weighted sums of z zᵀ and of z, for z = (x - center) / unit."""
        d = self.n_features
        divisor = _find_divisor(unit)
        sums = sum_arrays(self._map_centred(_sum_seconds, center, unit / divisor), (d + 1, d))
        sums /= divisor
        sums[:d] /= divisor
        return sums[:d], sums[d]

    def side_sums(self, center: Array, direction: Array, scale: float) -> Array:
        """Return the weighted sums of the signs (-1 for 0) and of the cubes of ``(x - center) @ direction / scale``."""
        return sum_arrays(self._map_centred(lambda z, w: _sum_sides(z @ direction, w), center, scale), 2)

    def third_sums(self, directions: Array) -> Array:
        """Return the weighted sums of the cubes of the projections on the directions."""
        return sum_arrays(self._map_projected(_sum_thirds, directions), len(directions))

    def fourth_sums(self, whitening: Array) -> Array:
        """Return the weighted sum of |y|² y yᵀ over the rows y = whitening @ z."""
        return sum_arrays(self._map_projected(_sum_fourths, whitening), (len(whitening), len(whitening)))

    # ------------------------------------------------------------------------------------------- answers

    def new_projections(self) -> Projections:
        """Allocate the projections of one start."""
        return Projections(self.n_rows)

    def _map(self, function: Callable[[T], U], items: Iterable[T]) -> list[U]:
        return list(self._pool.map(function, items) if self._pool else map(function, items))

    def _reply(self, r: Request, mapper: Map) -> Any:
        """Answer a request that needs no rows; None for those that set projections."""
        return None if isinstance(r, SetDirection | SetTangent) else _REPLIES[type(r)](self, r, mapper)

    def _weights_in(self, block: slice) -> Array | None:
        return None if self.weights is None else self.weights[block]

    def _compute_histogram(self, r: Histogram, mapper: Map) -> Array:
        p, q, c, s = _get_circle(r.projections, r.angle)

        def compute(block: slice) -> Array:
            moments = np.zeros((r.n_bins + 2, _kernels.MOMENTS))
            _kernels.bin(_read(p, block), _read(q, block), c, s, self._weights_in(block), r.lo, r.width, moments)  # type: ignore[arg-type]
            return moments

        return sum_arrays(mapper(compute, self._blocks), (r.n_bins + 2, _kernels.MOMENTS))

    def _collect_values(self, r: ValuesIn, _: Any) -> tuple[Array, Array | None]:
        p, q, c, s = _get_circle(r.projections, r.angle)
        values, weights = [], []
        for block in self._blocks:
            x, w = _read(p, block), self._weights_in(block)
            assert x is not None
            x = x if q is None else c * x + s * _read(q, block)  # type: ignore[operator]
            inside = (x >= r.lo) & (x <= r.hi)
            if w is not None:
                inside &= w > 0
                weights.append(w[inside])
            values.append(x[inside])
        near = np.concatenate(values) if values else np.empty(0)
        if self.weights is None:
            near.sort()
            return near, None
        order = np.argsort(near, kind="stable")
        return near[order], (np.concatenate(weights) if values else np.empty(0))[order]

    def _compute_log_sum(self, r: LogSum, mapper: Map) -> float:
        p, q, c, s = _get_circle(r.projections, r.angle)

        def compute(block: slice) -> float:
            w = self._weights_in(block)
            return _kernels.log_sum(_read(p, block), _read(q, block), c, s, w, r.bandwidth, r.b)  # type: ignore[arg-type]

        return float(np.logaddexp.reduce(np.array(list(mapper(compute, self._blocks)))))

    def _differentiate(self, r: AngleDerivative, mapper: Map) -> float:
        p, q, c, s = r.projections.p, r.projections.q, math.cos(r.angle), math.sin(r.angle)

        def compute(block: slice) -> float:
            w = self._weights_in(block)
            return _kernels.along(_read(p, block), _read(q, block), c, s, w, r.bandwidth, r.b, r.log_sum, r.reach)  # type: ignore[arg-type]

        return float(sum(mapper(compute, self._blocks)))

    def _compute_variances(self, r: Variances, mapper: Map) -> Array:
        def compute(block: slice) -> Array:
            p, w = _read(r.projections.p, block), self._weights_in(block)
            q = _read(r.projections.q, block) if r.turned else np.zeros(0)
            assert p is not None
            assert q is not None
            wp, wq = (p, q) if w is None else (w * p, w * q if r.turned else q)
            return np.array([wp @ p, wp @ q if r.turned else 0.0, wq @ q])

        return sum_arrays(mapper(compute, self._blocks), 3) / self.total

    def _rotate(self, r: Rotate, mapper: Map) -> None:
        c, s = math.cos(r.angle), math.sin(r.angle)

        def rotate(block: slice) -> None:
            p = _read(r.projections.p, block)
            _kernels.rotate(p, _read(r.projections.q, block), c, s)  # type: ignore[arg-type]
            if r.projections.p.dtype != np.float64:
                r.projections.p[block] = p

        list(mapper(rotate, self._blocks))


_REPLIES: dict[type, Callable[..., Any]] = {
    Histogram: lambda sample, r, mapper: sample._compute_histogram(r, mapper),
    ValuesIn: lambda sample, r, mapper: sample._collect_values(r, mapper),
    LogSum: lambda sample, r, mapper: sample._compute_log_sum(r, mapper),
    AngleDerivative: lambda sample, r, mapper: sample._differentiate(r, mapper),
    Rotate: lambda sample, r, mapper: sample._rotate(r, mapper),
    Variances: lambda sample, r, mapper: sample._compute_variances(r, mapper),
}


class SharedPassSample(LocalSample):
    """Sample whose passes over the rows are expensive: all requests of a round that need one share it."""

    def answer(self, questions: Sequence[Sequence[Request]]) -> list[list[Any]]:
        """Answer the questions of one round; a second pass is only for sums that need projections of the first."""
        answers: list[list[Any]] = [[None] * len(question) for question in questions]
        sets_projections = [any(isinstance(r, SetDirection | SetTangent) for r in question) for question in questions]
        to_set = [r for question in questions for r in question if isinstance(r, SetDirection | SetTangent)]
        for second_pass in (False, True):
            sums: list[tuple[int, int, RowSumRequest]] = []
            for k, question in enumerate(questions):
                for j, r in enumerate(question):
                    if isinstance(r, RowsIn):  # rows are chosen as soon as they are projected
                        sums += [] if second_pass else [(k, j, r)]
                    elif sets_projections[k] != second_pass:
                        continue
                    elif isinstance(r, Gradient | CovarianceProduct):
                        sums.append((k, j, r))
                    else:
                        answers[k][j] = self._reply(r, self._map)
            if sums or (to_set and not second_pass):
                results = self._pass_over_rows([] if second_pass else to_set, [r for _, _, r in sums])
                for (k, j, _), result in zip(sums, results, strict=True):
                    answers[k][j] = result
        return answers

    @abstractmethod
    def _pass_over_rows(self, to_set: Sequence[ProjectionRequest], sums: Sequence[RowSumRequest]) -> list[Any]:
        """Set projections, then compute sums over rows and gather rows, in one pass."""


def _sum_seconds(z: Array, w: Array | None) -> Array:
    """Sum z zᵀ and, as one more row, z."""
    roots = np.ones(len(z)) if w is None else np.sqrt(w)
    y = z if w is None else z * roots[:, None]
    # NumPy recognises a matrix times its own transpose, and computes one half of the product only.
    return np.concatenate([y.T @ y, (roots @ y)[None]])


def _sum_sides(distance: Array, w: Array | None) -> Array:
    terms = np.stack([np.where(distance > 0.0, 1.0, -1.0), distance * distance * distance])
    return np.asarray(terms.sum(axis=1) if w is None else terms @ w)


def _sum_thirds(y: Array, w: Array | None) -> Array:
    cubes = y * y * y  # a tenth of the time of y**3
    return np.asarray(cubes.sum(axis=1) if w is None else cubes @ w)


def _sum_fourths(y: Array, w: Array | None) -> Array:
    squares = np.einsum("ij,ij->j", y, y)
    weighted = y * np.sqrt(squares if w is None else squares * w)
    return np.asarray(weighted @ weighted.T)


def _find_divisor(unit: float) -> float:
    """Return the unit if sums can be divided by it, and 1 if they would overflow or underflow before.

    Units are powers of two, so that otherwise it is the same to scale the rows or their sums.
    """
    return unit if 1e-100 < unit < 1e100 else 1.0


def _get_circle(projections: Projections, angle: float) -> tuple[Array, Array | None, float, float]:
    """Return p, q and their factors at an angle of the great circle; q only if it is needed."""
    p, q = projections.p, projections.q
    return (p, None, 1.0, 0.0) if angle == 0.0 else (p, q, math.cos(angle), math.sin(angle))


def _read(values: Array | None, block: slice) -> Array | None:
    """Return a block of projections in double precision, as a view if they are kept so."""
    return None if values is None else np.asarray(values[block], dtype=np.float64)


def find_near(p: Array, r: RowsIn) -> NDArray[np.intp]:
    """Return the places of the projections within reach of b."""
    return np.flatnonzero(np.abs(p - r.b) <= r.reach)


def thin(
    places: NDArray[np.intp], p: Array, weights: Array | None, r: RowsIn
) -> tuple[NDArray[np.intp] | slice, Array | None]:
    """Choose at most ``r.most`` rows; return which of them, and weights that make up for the others.

    A row stays with a probability in proportion to its share in a density at b (priority sampling, Duffield, Lund &
    Thorup 2007), so that the rows that matter most are the likeliest to stay.

    Parameters
    ----------
    places : ndarray of shape (m,), int
        Numbers of the rows, in place of random numbers: the choice depends on nothing else.
    p : ndarray of shape (m,)
        Their projections.
    weights : ndarray of shape (m,) or None
    """
    if len(places) <= r.most:
        return slice(None), weights
    share, priority = _rank(places, p, weights, r)
    threshold = np.partition(priority, int(r.most))[int(r.most)]
    kept = np.flatnonzero(priority < threshold)
    factors = np.exp(np.maximum(-threshold - share[kept], 0.0))
    return kept, factors if weights is None else factors * weights[kept]


def _rank(places: NDArray[np.intp], p: Array, weights: Array | None, r: RowsIn) -> tuple[Array, Array]:
    """Return the logarithms of the share of each row in a wider density at b, and of its priority (lowest first)."""
    share = -0.5 * ((p - r.b) / (WIDER * r.bandwidth)) ** 2
    if weights is not None:
        share += np.log(weights)
    return share, np.log((places + 1.0) * GOLDEN_RATIO % 1.0) - share


class RowCollector:
    """Rows near a hyperplane that come block by block; of too many, only those that `thin` may choose are kept."""

    def __init__(self, r: RowsIn) -> None:
        self.request = r
        self._parts: list[tuple[Any, ...]] = []
        self._count = 0

    def add(self, rows: NDArray[Any], places: NDArray[np.intp], p: Array, weights: Array | None) -> None:
        """Add rows near the hyperplane."""
        self._parts.append((rows, places, p, weights))
        self._count += len(rows)
        if self._count > 2 * self.request.most:
            rows, places, p, weights = self._join()
            _, priority = _rank(places, p, weights, self.request)
            most = int(self.request.most) + 1  # the first that does not stay determines the weights
            kept = np.sort(np.argpartition(priority, most)[:most])
            self._parts = [(rows[kept], places[kept], p[kept], None if weights is None else weights[kept])]
            self._count = most

    def finish(self) -> tuple[NDArray[Any], Array | None]:
        """Return the chosen rows and their weights."""
        rows, places, p, weights = self._join()
        kept, weights = thin(places, p, weights, self.request)
        return rows[kept], weights

    def _join(self) -> tuple[NDArray[Any], NDArray[np.intp], Array, Array | None]:
        """Join the parts, and forget each as soon as it is copied."""
        first = self._parts[0]
        rows = np.empty((self._count, first[0].shape[1]), np.result_type(*{part[0].dtype for part in self._parts}))
        places, p, weights = (
            None if first[k] is None else np.concatenate([part[k] for part in self._parts]) for k in (1, 2, 3)
        )
        start = 0
        for k, (block, *_) in enumerate(self._parts):
            rows[start : start + len(block)] = block
            start += len(block)
            self._parts[k] = ()
        return rows, places, p, weights  # type: ignore[return-value]
