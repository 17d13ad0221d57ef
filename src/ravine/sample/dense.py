"""Rows of one array in memory."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ravine import _kernels
from ravine._typing import Array
from ravine.sample.protocol import (
    Accept,
    Aim,
    Along,
    Bin,
    Gather,
    LogSum,
    Moments,
    PullBack,
    Request,
    Turn,
)

__all__ = ["DenseSample", "Track", "power_of_two", "project"]

# Sums run over blocks of rows whose size does not depend on the number of threads, so neither does their result.
BLOCK_ROWS = 1 << 17
# Rows centred and converted at a time for the covariance: a copy of this size, not of X.
MOMENT_BYTES = 1 << 22
# Its inverse must be finite.
SMALLEST_UNIT = 2.0**-1000
# Below this many rows a question is cheaper than handing it to a thread.
ROWS_WORTH_A_THREAD = 20_000

T = TypeVar("T")
U = TypeVar("U")


class Track:
    """Projections of one start: ``p`` on the normal, ``q`` on the direction of the great circle."""

    def __init__(self, n_rows: int) -> None:
        self.p: Array = np.empty(n_rows)
        self.q: Array = np.empty(n_rows)


class DenseSample:
    """A two-dimensional float array and optional weights; X is neither copied nor changed.

    Parameters
    ----------
    X : ndarray of shape (n, d), float32 or float64
        Rows or columns contiguous in memory.
    weights : ndarray of shape (n,), float64, optional
        Non-negative, not all zero.
    pool : ThreadPoolExecutor, optional
        Threads that answer a round of questions; the answers do not depend on it.
    rows : ndarray of shape (m,), int, optional
        The sample is these rows of X; they are gathered in small blocks when they are needed, never all at once.
    origin, unit : optional
        Working units to use instead of the sample's own.
    """

    def __init__(
        self,
        X: NDArray[np.floating[Any]],
        weights: Array | None = None,
        *,
        pool: ThreadPoolExecutor | None = None,
        rows: NDArray[np.intp] | None = None,
        origin: Array | None = None,
        unit: float | None = None,
    ) -> None:
        self.X = X if X.itemsize in X.strides else np.ascontiguousarray(X)
        self.rows = rows
        self.weights = weights
        self.n_rows, self.n_features = len(X) if rows is None else len(rows), X.shape[1]
        self.total = float(self.n_rows) if weights is None else float(weights.sum())
        self.lightest = 1.0 if weights is None else float(weights[weights > 0].min())
        self._given_pool = pool
        self._pool = pool if self.n_rows >= ROWS_WORTH_A_THREAD else None
        self._blocks = [slice(i, min(i + BLOCK_ROWS, self.n_rows)) for i in range(0, self.n_rows, BLOCK_ROWS)]
        self._moments: Moments | None = None
        if origin is None or unit is None:
            self._measure()
        else:
            self.origin, self.unit = origin, unit

    # ------------------------------------------------------------------------------------------- moments

    def moments(self) -> Moments:
        """Total weight and covariance, in working units."""
        if self._moments is None:
            covariance, shift = self._second_moments(self.origin, self.unit)
            self._moments = Moments(self.total, covariance - np.outer(shift, shift))
        return self._moments

    def _measure(self) -> None:
        """Mean, unit and covariance in one pass about a provisional centre, or two where that would lose digits."""
        center, unit = self._provisional_units()
        with np.errstate(over="ignore", invalid="ignore"):
            covariance, shift = self._second_moments(center, unit)
        spread = np.diagonal(covariance) - shift**2
        if not np.isfinite(covariance).all() or (shift**2 > 1e3 * spread + 1e-6 * np.max(spread, initial=0.0)).any():
            unit = power_of_two(max(float(np.abs(z).max()) for z, _ in self._centred_blocks(center, 1.0)))
            _, shift = self._second_moments(center, unit)
            center = center + shift * unit
            covariance, shift = self._second_moments(center, unit)
        self.origin = center + shift * unit
        covariance = covariance - np.outer(shift, shift)
        rescale = max(power_of_two(math.sqrt(max(float(np.trace(covariance)), 0.0))), SMALLEST_UNIT / unit)
        self.unit = unit * rescale
        self._moments = Moments(self.total, covariance / rescale**2)

    def _provisional_units(self) -> tuple[Array, float]:
        rows = self._at(slice(None, None, max(1, self.n_rows // 1024))).astype(np.float64)
        center = rows[0] + np.mean(rows - rows[0], axis=0)
        return center, power_of_two(float(np.max(np.abs(rows - center), initial=0.0)))

    def _second_moments(self, center: Array, unit: float) -> tuple[Array, Array]:
        """Weighted means of z zᵀ and of z, for z = (x - center) / unit."""
        second, first = np.zeros((self.n_features, self.n_features)), np.zeros(self.n_features)
        for z, w in self._centred_blocks(center, unit):
            second += z.T @ z if w is None else z.T @ (z * w[:, None])
            first += z.sum(axis=0) if w is None else w @ z
        return second / self.total, first / self.total

    def fourth_moments(self, whitening: Array) -> Array:
        """Mean of |y|² y yᵀ over the rows y = whitening @ z: the scatter of invariant coordinate selection."""
        fourth = np.zeros((len(whitening), len(whitening)))
        for z, w in self._centred_blocks(self.origin, self.unit):
            y = z @ whitening.T
            lengths = np.einsum("ij,ij->i", y, y)
            fourth += y.T @ (y * (lengths if w is None else lengths * w)[:, None])
        return fourth / self.total

    def skewness_signs(self, directions: Array) -> Array:
        """1 or -1 for each direction (row): the sign of the third moment of the projections on it."""
        third = np.zeros(len(directions))
        for z, w in self._centred_blocks(self.origin, self.unit):
            cubes = (z @ directions.T) ** 3
            third += cubes.sum(axis=0) if w is None else w @ cubes
        return np.where(third < 0.0, -1.0, 1.0)

    def _centred_blocks(self, center: Array, unit: float) -> Iterator[tuple[Array, Array | None]]:
        """Blocks of z = (x - center) / unit, in one buffer that is used again, with their weights."""
        step = max(64, MOMENT_BYTES // (8 * self.n_features))
        buffer = np.empty((min(step, self.n_rows), self.n_features))
        for start in range(0, self.n_rows, step):
            rows = self._at(slice(start, start + step))
            z = buffer[: len(rows)]
            np.subtract(rows, center, out=z)
            z *= 1.0 / unit
            yield z, self._weights_of(slice(start, start + step))

    def _at(self, which: slice | NDArray[np.intp]) -> NDArray[np.floating[Any]]:
        """Rows of the sample by their places in it."""
        return self.X[which] if self.rows is None else np.ascontiguousarray(self.X[self.rows[which]])

    def _pieces(self, block: slice) -> Iterator[slice]:
        """A block in pieces small enough to be gathered; all of it where nothing has to be."""
        if self.rows is None:
            yield block
            return
        step = max(64, MOMENT_BYTES // (8 * self.n_features))
        for start in range(block.start, block.stop, step):
            yield slice(start, min(start + step, block.stop))

    # ------------------------------------------------------------------------------------------- protocol

    def track(self) -> Track:
        """Room for the projections of one start."""
        return Track(self.n_rows)

    def take(self, rows: NDArray[np.intp]) -> DenseSample:
        """The sample of some rows, in the same working units."""
        weights = None if self.weights is None else self.weights[rows]
        few = np.ascontiguousarray(self._at(rows))
        return DenseSample(few, weights, pool=self._given_pool, origin=self.origin, unit=self.unit)

    def fetch(self, rows: NDArray[np.intp]) -> Array:
        """Some rows, in working units."""
        return np.asarray((self._at(rows) - self.origin) / self.unit)

    def answer(self, questions: Sequence[Sequence[Request]]) -> list[list[Any]]:
        """Answer the questions of one round; projections of all questions share one pass over X."""
        self._project([r for question in questions for r in question if isinstance(r, Aim | Turn)])
        if len(questions) > 1:
            return self._map(lambda question: [self._reply(r, map) for r in question], questions)
        return [[self._reply(r, self._map) for r in question] for question in questions]

    def _map(self, function: Callable[[T], U], items: Iterable[T]) -> list[U]:
        return list(self._pool.map(function, items) if self._pool else map(function, items))

    def _project(self, requests: Sequence[Aim | Turn]) -> None:
        if not requests:
            return
        directions = np.stack([r.direction for r in requests]) / self.unit
        targets = [r.track.p if isinstance(r, Aim) else r.track.q for r in requests]

        def block(rows: slice) -> None:
            for piece in self._pieces(rows):
                _kernels.project(self._at(piece), self.origin, directions, [t[piece] for t in targets])

        self._map(block, self._blocks)

    def _reply(self, r: Request, mapper: Callable[..., Iterable[Any]]) -> Any:
        return None if isinstance(r, Aim | Turn) else _REPLIES[type(r)](self, r, mapper)

    def _weights_of(self, rows: slice) -> Array | None:
        return None if self.weights is None else self.weights[rows]

    def _bin(self, r: Bin, mapper: Callable[..., Iterable[Array]]) -> Array:
        p, q, c, s = _circle(r.track, r.angle)

        def block(rows: slice) -> Array:
            moments = np.zeros((r.n_bins + 2, _kernels.MOMENTS))
            _kernels.bin(p[rows], None if q is None else q[rows], c, s, self._weights_of(rows), r.lo, r.width, moments)
            return moments

        return _total(mapper(block, self._blocks))

    def _gather(self, r: Gather, _: Any) -> tuple[Array, Array | None]:
        p, q, c, s = _circle(r.track, r.angle)
        x = p if q is None else c * p + s * q
        inside = (x >= r.lo) & (x <= r.hi)
        if self.weights is None:
            return np.sort(x[inside]), None
        inside &= self.weights > 0
        order = np.argsort(x[inside], kind="stable")
        return x[inside][order], self.weights[inside][order]

    def _log_sum(self, r: LogSum, mapper: Callable[..., Iterable[float]]) -> float:
        p, q, c, s = _circle(r.track, r.angle)

        def block(rows: slice) -> float:
            return _kernels.log_sum(
                p[rows], None if q is None else q[rows], c, s, self._weights_of(rows), r.bandwidth, r.b
            )

        return float(np.logaddexp.reduce(np.array(list(mapper(block, self._blocks)))))

    def _along(self, r: Along, mapper: Callable[..., Iterable[float]]) -> float:
        p, q, c, s = r.track.p, r.track.q, math.cos(r.angle), math.sin(r.angle)

        def block(rows: slice) -> float:
            return _kernels.along(p[rows], q[rows], c, s, self._weights_of(rows), r.bandwidth, r.b, r.log_sum, r.reach)

        return float(sum(mapper(block, self._blocks)))

    def _accept(self, r: Accept, mapper: Callable[..., Iterable[None]]) -> None:
        c, s = math.cos(r.angle), math.sin(r.angle)
        list(mapper(lambda rows: _kernels.rotate(r.track.p[rows], r.track.q[rows], c, s), self._blocks))

    def _pull_back(self, r: PullBack, mapper: Callable[..., Iterable[Array]]) -> Array:
        def block(rows: slice) -> Array:
            out = np.zeros(self.n_features)
            for piece in self._pieces(rows):
                _kernels.pull_back(
                    self._at(piece), self.origin, r.track.p[piece], self._weights_of(piece),
                    r.bandwidth, r.b, r.log_sum, r.reach, out,
                )  # fmt: skip
            return out

        return _total(mapper(block, self._blocks)) / self.unit


_REPLIES: dict[type, Callable[..., Any]] = {
    Bin: DenseSample._bin,
    Gather: DenseSample._gather,
    LogSum: DenseSample._log_sum,
    Along: DenseSample._along,
    Accept: DenseSample._accept,
    PullBack: DenseSample._pull_back,
}


def project(
    X: NDArray[np.floating[Any]], center: Array, direction: Array, rows: NDArray[np.intp] | None = None
) -> Array:
    """``(X - center) @ direction`` in double precision, of all or some rows, without a copy of X."""
    directions = np.ascontiguousarray(direction)[None]
    if rows is None:
        out = np.empty(len(X))
        _kernels.project(X if X.itemsize in X.strides else np.ascontiguousarray(X), center, directions, [out])
        return out
    out = np.empty(len(rows))
    step = max(64, MOMENT_BYTES // (8 * X.shape[1]))
    for start in range(0, len(rows), step):
        piece = slice(start, start + step)
        _kernels.project(np.ascontiguousarray(X[rows[piece]]), center, directions, [out[piece]])
    return out


def _circle(track: Track, angle: float) -> tuple[Array, Array | None, float, float]:
    return (track.p, None, 1.0, 0.0) if angle == 0.0 else (track.p, track.q, math.cos(angle), math.sin(angle))


def _total(parts: Iterable[Array]) -> Array:
    parts = iter(parts)
    total = next(parts)
    for part in parts:
        total += part
    return total


def power_of_two(x: float) -> float:
    """The largest power of two that is at most x; 1 for 0 and what is not a usable scale."""
    if not math.isfinite(x) or x <= 0.0:
        return 1.0
    return max(math.ldexp(1.0, math.frexp(x)[1] - 1), SMALLEST_UNIT)
