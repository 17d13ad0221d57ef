"""Maximum margin over partitions: hard-margin problems, improved by exchanging single points."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

from ravine_paper._typing import Array
from ravine_paper.theory.margins import HardMargin, maximise_bounded_margin, maximise_free_margin

__all__ = ["MarginSearch"]

# Number of partitions that are solved exactly: those whose hyperplanes had the largest margins on the way.
MOST_PARTITIONS = 60
# Number of gaps between projections, on every normal, that give further partitions.
GAPS = 3
# Number of solutions that are improved by moving single points.
SOLUTIONS = 5
# Number of points nearest to the hyperplane that are tried on the other side, and of rounds.
NEIGHBOURS = 30
MOST_ROUNDS = 50


class MarginSearch:
    """Search for the partition of points whose hyperplane has the largest margin.

    Parameters
    ----------
    points : ndarray of shape (n, d)
        Distinct rows, in working units.
    covariance : ndarray of shape (d, d)
    alpha : float
        Half-width of the interval of offsets, in standard deviations.

    Attributes
    ----------
    free : dict
        Solution of the hard-margin problem without the interval, for every partition examined so far.
    """

    def __init__(self, points: Array, covariance: Array, alpha: float) -> None:
        self.points, self.covariance, self.alpha = points, covariance, alpha
        self.free: dict[bytes, HardMargin | None] = {}

    def run(self, hyperplanes: list[tuple[Array, float]]) -> HardMargin | None:
        """Return the best margin of the partitions that these hyperplanes induce, improved by exchanging points."""
        hyperplanes = [*hyperplanes, *(gap for v, _ in hyperplanes for gap in self._find_gaps(v))]
        margins = np.array([np.abs(self.points @ v - b).min() for v, b in hyperplanes])
        chosen: dict[bytes, tuple[NDArray[np.bool_], Array, float, HardMargin]] = {}
        for k in np.argsort(-margins, kind="stable").tolist():
            v, b = hyperplanes[k]
            side = self.points @ v > b
            key, free = self._make_key(side), self._solve_free(side)
            if key not in chosen and free is not None:
                chosen[key] = side, v, b, free
            if len(chosen) == MOST_PARTITIONS:
                break
        best: list[HardMargin] = []  # each may improve to another optimum
        for side, v, b, free in sorted(chosen.values(), key=lambda c: -c[3].margin):
            if len(best) < SOLUTIONS or free.margin > best[-1].margin:
                found = maximise_bounded_margin(self.points, side, self.covariance, self.alpha, [(v, b)], free)
                best = sorted([*best, *([found] if found else [])], key=lambda m: -m.margin)[:SOLUTIONS]
        return max((self._exchange_points(m) for m in best), key=lambda m: m.margin, default=None)

    def _find_gaps(self, v: Array) -> list[tuple[Array, float]]:
        """Return the widest gaps between the projections on v, with the best allowed offset in each.

        A hyperplane of low density may lie beyond all rows if the interval is wide. These never do.
        """
        p = np.sort(self.points @ v)
        half = self.alpha * math.sqrt(max(float(v @ self.covariance @ v), 0.0))
        b = np.clip(0.5 * (p[:-1] + p[1:]), -half, half)
        margins = np.minimum(b - p[:-1], p[1:] - b)
        return [(v, float(b[k])) for k in np.argsort(-margins, kind="stable")[:GAPS] if margins[k] > 0.0]

    def _exchange_points(self, best: HardMargin) -> HardMargin:
        """Move single points near the hyperplane to the other side while that widens the margin."""
        for _ in range(MOST_ROUNDS):
            signed = self.points @ best.normal - best.offset
            wider = best
            for k in np.argsort(np.abs(signed), kind="stable")[:NEIGHBOURS].tolist():
                side = signed > 0.0
                side[k] = not side[k]
                free = self._solve_free(side)
                if free is None or free.margin <= wider.margin * (1.0 + 1e-12):
                    continue
                start = [(best.normal, best.offset)]
                moved = maximise_bounded_margin(self.points, side, self.covariance, self.alpha, start, free)
                if moved is not None and moved.margin > wider.margin * (1.0 + 1e-12):
                    wider = moved
            if wider is best:
                return best
            best = wider
        return best

    def _make_key(self, side: NDArray[np.bool_]) -> bytes:
        return np.packbits(side if side[0] else ~side).tobytes()

    def _solve_free(self, side: NDArray[np.bool_]) -> HardMargin | None:
        """Solve the hard-margin problem of a partition without the interval, once: a bound for the one with it."""
        if side.all() or not side.any():
            return None
        key = self._make_key(side)
        if key not in self.free:
            self.free[key] = maximise_free_margin(self.points, side)
        found = self.free[key]
        if found is not None and float(self.points[int(np.argmax(side))] @ found.normal) <= found.offset:
            return HardMargin(-found.normal, -found.offset, found.margin)  # it was solved with the sides exchanged
        return found
