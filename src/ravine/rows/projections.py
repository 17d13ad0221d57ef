"""Samples whose projections are at hand: sums block by block, and answers that need only the projections."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from ravine import _kernels
from ravine._typing import Array
from ravine.rows.questions import (
    AngleDerivative,
    CovarianceProduct,
    Gradient,
    Histogram,
    LogSum,
    ProjectionRequest,
    Request,
    Rotate,
    RowSumRequest,
    SetDirection,
    SetTangent,
    ValuesIn,
    Variances,
)
from ravine.rows.sample import Sample, sum_arrays

__all__ = ["BLOCK_ROWS", "PassSample", "Track", "TrackedSample"]

# Sums run over blocks of rows whose size does not depend on the number of threads, so neither does their result.
BLOCK_ROWS = 1 << 17

T = TypeVar("T")
U = TypeVar("U")


class Track:
    """Projections of one start: ``p`` on the normal, ``q`` on the direction of the great circle.

    Parameters
    ----------
    n_rows : int
    new : callable, optional
        Makes the room for one vector; memory in double precision by default.
    """

    def __init__(self, n_rows: int, new: Callable[[int], Any] = np.empty) -> None:
        self.p: Array = new(n_rows)
        self.q: Array = new(n_rows)


class TrackedSample(Sample):
    """A sample whose projections lie in memory, or in files; subclasses know where the rows are."""

    # ------------------------------------------------------------------------------------------- sums over rows

    @abstractmethod
    def _each_centred(self, function: Callable[[Array, Array | None], T], center: Array, unit: float) -> Iterator[T]:
        """What a function says of blocks of z = (x - center) / unit, which it must not keep, and their weights."""

    def _each_projected(self, function: Callable[[Array, Array | None], T], directions: Array) -> Iterator[T]:
        """What a function says of blocks of projections on a few directions (rows), and their weights."""
        return self._each_centred(lambda z, w: function(z @ directions.T, w), self.origin, self.unit)

    def _largest(self, center: Array) -> float:
        return max(self._each_centred(lambda z, _: float(np.abs(z).max(initial=0.0)), center, 1.0))

    def second_sums(self, center: Array, unit: float) -> tuple[Array, Array]:
        """Weighted sums of z zᵀ and of z, for z = (x - center) / unit."""
        d = self.n_features
        sums = sum_arrays(self._each_centred(_second_sums, center, unit), (d + 1, d))
        return sums[:d], sums[d]

    def side_sums(self, center: Array, direction: Array, scale: float) -> Array:
        """Sum over the rows, by weight, the signs (-1 for 0) and the cubes of ``(x - center) @ direction / scale``."""
        return sum_arrays(self._each_centred(lambda z, w: _side_sums(z @ direction, w), center, scale), 2)

    def third_sums(self, directions: Array) -> Array:
        """Weighted sums of the cubes of the projections on the directions."""
        return sum_arrays(self._each_projected(_third_sums, directions), len(directions))

    def fourth_sums(self, whitening: Array) -> Array:
        """Weighted sum of |y|² y yᵀ over the rows y = whitening @ z."""
        return sum_arrays(self._each_projected(_fourth_sums, whitening), (len(whitening), len(whitening)))

    # ------------------------------------------------------------------------------------------- answers

    def track(self) -> Track:
        """Room for the projections of one start."""
        return Track(self.n_rows)

    def _map(self, function: Callable[[T], U], items: Iterable[T]) -> list[U]:
        return list(self._pool.map(function, items) if self._pool else map(function, items))

    def _reply(self, r: Request, mapper: Callable[..., Iterable[Any]]) -> Any:
        """The answer to a request that needs no rows; None for those that set projections."""
        return None if isinstance(r, SetDirection | SetTangent) else _REPLIES[type(r)](self, r, mapper)

    def _weights_of(self, rows: slice) -> Array | None:
        return None if self.weights is None else self.weights[rows]

    def _bin(self, r: Histogram, mapper: Callable[..., Iterable[Array]]) -> Array:
        p, q, c, s = _circle(r.track, r.angle)

        def block(rows: slice) -> Array:
            moments = np.zeros((r.n_bins + 2, _kernels.MOMENTS))
            _kernels.bin(_double(p, rows), _double(q, rows), c, s, self._weights_of(rows), r.lo, r.width, moments)  # type: ignore[arg-type]
            return moments

        return sum_arrays(mapper(block, self._blocks), (r.n_bins + 2, _kernels.MOMENTS))

    def _gather(self, r: ValuesIn, _: Any) -> tuple[Array, Array | None]:
        p, q, c, s = _circle(r.track, r.angle)
        values, their_weights = [], []
        for rows in self._blocks:
            x, w = _double(p, rows), self._weights_of(rows)
            assert x is not None
            x = x if q is None else c * x + s * _double(q, rows)  # type: ignore[operator]
            inside = (x >= r.lo) & (x <= r.hi)
            if w is not None:
                inside &= w > 0
                their_weights.append(w[inside])
            values.append(x[inside])
        near = np.concatenate(values) if values else np.empty(0)
        if self.weights is None:
            near.sort()
            return near, None
        order = np.argsort(near, kind="stable")
        return near[order], (np.concatenate(their_weights) if values else np.empty(0))[order]

    def _log_sum(self, r: LogSum, mapper: Callable[..., Iterable[float]]) -> float:
        p, q, c, s = _circle(r.track, r.angle)

        def block(rows: slice) -> float:
            w = self._weights_of(rows)
            return _kernels.log_sum(_double(p, rows), _double(q, rows), c, s, w, r.bandwidth, r.b)  # type: ignore[arg-type]

        return float(np.logaddexp.reduce(np.array(list(mapper(block, self._blocks)))))

    def _along(self, r: AngleDerivative, mapper: Callable[..., Iterable[float]]) -> float:
        p, q, c, s = r.track.p, r.track.q, math.cos(r.angle), math.sin(r.angle)

        def block(rows: slice) -> float:
            w = self._weights_of(rows)
            return _kernels.along(_double(p, rows), _double(q, rows), c, s, w, r.bandwidth, r.b, r.log_sum, r.reach)  # type: ignore[arg-type]

        return float(sum(mapper(block, self._blocks)))

    def _spread(self, r: Variances, mapper: Callable[..., Iterable[Array]]) -> Array:
        def block(rows: slice) -> Array:
            p, w = _double(r.track.p, rows), self._weights_of(rows)
            q = _double(r.track.q, rows) if r.turned else np.zeros(0)
            assert p is not None
            assert q is not None
            wp, wq = (p, q) if w is None else (w * p, w * q if r.turned else q)
            return np.array([wp @ p, wp @ q if r.turned else 0.0, wq @ q])

        return sum_arrays(mapper(block, self._blocks), 3) / self.total

    def _accept(self, r: Rotate, mapper: Callable[..., Iterable[None]]) -> None:
        c, s = math.cos(r.angle), math.sin(r.angle)

        def block(rows: slice) -> None:
            p = _double(r.track.p, rows)
            _kernels.rotate(p, _double(r.track.q, rows), c, s)  # type: ignore[arg-type]
            if r.track.p.dtype != np.float64:
                r.track.p[rows] = p

        list(mapper(block, self._blocks))


_REPLIES: dict[type, Callable[..., Any]] = {
    Histogram: lambda sample, r, mapper: sample._bin(r, mapper),
    ValuesIn: lambda sample, r, mapper: sample._gather(r, mapper),
    LogSum: lambda sample, r, mapper: sample._log_sum(r, mapper),
    AngleDerivative: lambda sample, r, mapper: sample._along(r, mapper),
    Rotate: lambda sample, r, mapper: sample._accept(r, mapper),
    Variances: lambda sample, r, mapper: sample._spread(r, mapper),
}


class PassSample(TrackedSample):
    """A sample where a pass over the rows is dear: all requests of a round that need one share it."""

    def answer(self, questions: Sequence[Sequence[Request]]) -> list[list[Any]]:
        """Answer the questions of one round; a second pass only for sums that need its projections."""
        answers: list[list[Any]] = [[None] * len(question) for question in questions]
        turning = [any(isinstance(r, SetDirection | SetTangent) for r in question) for question in questions]
        aims = [r for question in questions for r in question if isinstance(r, SetDirection | SetTangent)]
        for late in (False, True):
            sums = []
            for k, question in enumerate(questions):
                for j, r in enumerate(question if turning[k] == late else ()):
                    if isinstance(r, Gradient | CovarianceProduct):
                        sums.append((k, j, r))
                    else:
                        answers[k][j] = self._reply(r, self._map)
            if sums or (aims and not late):
                results = self._pass([] if late else aims, [r for _, _, r in sums])
                for (k, j, _), result in zip(sums, results, strict=True):
                    answers[k][j] = result
        return answers

    @abstractmethod
    def _pass(self, aims: Sequence[ProjectionRequest], sums: Sequence[RowSumRequest]) -> list[Array]:
        """Set projections and answer sums over rows, in one pass."""


def _second_sums(z: Array, w: Array | None) -> Array:
    """The sum of z zᵀ and, as one more row, that of z."""
    weighted = z if w is None else z * w[:, None]
    return np.concatenate([z.T @ weighted, weighted.sum(axis=0)[None]])


def _side_sums(distance: Array, w: Array | None) -> Array:
    terms = np.stack([np.where(distance > 0.0, 1.0, -1.0), distance**3])
    return np.asarray(terms.sum(axis=1) if w is None else terms @ w)


def _third_sums(y: Array, w: Array | None) -> Array:
    cubes = y**3
    return np.asarray(cubes.sum(axis=0) if w is None else w @ cubes)


def _fourth_sums(y: Array, w: Array | None) -> Array:
    lengths = np.einsum("ij,ij->i", y, y)
    return np.asarray(y.T @ (y * (lengths if w is None else lengths * w)[:, None]))


def _circle(track: Track, angle: float) -> tuple[Array, Array | None, float, float]:
    return (track.p, None, 1.0, 0.0) if angle == 0.0 else (track.p, track.q, math.cos(angle), math.sin(angle))


def _double(values: Array | None, rows: slice) -> Array | None:
    """Some projections in double precision; a view where they are kept so."""
    return None if values is None else np.asarray(values[rows], dtype=np.float64)
