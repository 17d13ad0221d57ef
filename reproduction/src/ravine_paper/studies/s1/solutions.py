"""Solutions on S1: final hyperplanes grouped, and compared with a scan of the index over all angles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine_paper._typing import Array
from ravine_paper.studies.engine.store import Record, ResultStore
from ravine_paper.studies.s1.tasks import make_key

__all__ = ["SAME", "Ends", "Scan", "group_hyperplanes", "read_ends"]

# Hyperplanes are one solution if neither their angles (radians) nor their offsets (standard deviations) differ by more.
SAME = 0.02


@dataclass(frozen=True, eq=False)
class Scan:
    """Index over the angle of the direction.

    Attributes
    ----------
    angles, index : ndarray of shape (m,)
        Angles in [0, π), and φ there.
    bandwidth : float
    """

    angles: Array
    index: Array
    bandwidth: float

    @classmethod
    def from_record(cls, record: Record) -> Scan:
        """Return the scan of a stored result."""
        values = np.array(record["scan"])
        return cls(np.pi * np.arange(len(values)) / len(values), values, float(record["bandwidth"]))

    @property
    def minima(self) -> NDArray[np.intp]:
        """Indices of the local minima, lowest first."""
        low = np.flatnonzero((self.index < np.roll(self.index, 1)) & (self.index <= np.roll(self.index, -1)))
        return np.asarray(low[np.argsort(self.index[low])])


@dataclass(frozen=True, eq=False)
class Ends:
    """Final hyperplanes of all starts.

    Attributes
    ----------
    angles, offsets : ndarray of shape (k,)
        Angle of the normal, in [0, π), and b with the same sign, in standard deviations of a feature.
    densities, success : ndarray of shape (k,)
        Density on the hyperplane, and success ratio of its partition.
    converged : ndarray of bool
    seconds : float
        Time of all starts together.
    scan : Scan
        Scan with the same bandwidth.
    """

    angles: Array
    offsets: Array
    densities: Array
    success: Array
    converged: NDArray[np.bool_]
    seconds: float
    scan: Scan

    def group_starts(self, same: float = SAME) -> list[list[int]]:
        """Return the starts grouped by solution, the most frequent solution first."""
        return group_hyperplanes(self.angles, self.offsets, same)

    def rank_minima(self) -> NDArray[np.intp]:
        """Return for every start the rank of its local minimum of the scan, 0 for the global one, -1 for none."""
        lowest = self.scan.minima
        distances = _measure_angle(self.angles[:, None], self.scan.angles[lowest][None])
        nearest = np.argmin(distances, axis=1)
        # SQP may reach the angle of a minimum with another offset than the best.
        found = (np.min(distances, axis=1) < SAME) & (self.densities < 1.01 * self.scan.index[lowest[nearest]])
        return np.where(found, nearest, -1)

    def count_lowest(self, n: int = 3) -> int:
        """Count the starts that end in one of the lowest minima of the scan."""
        ranks = self.rank_minima()
        return int(np.sum((ranks >= 0) & (ranks < n)))


def group_hyperplanes(angles: Array, offsets: Array, same: float = SAME) -> list[list[int]]:
    """Group hyperplanes whose angle and offset differ by less than ``same`` from the first of the group.

    (θ, b) and (θ ± π, -b) are the same hyperplane.
    """
    found: list[list[int]] = []
    for k in range(len(angles)):
        for group in found:
            first = group[0]
            turned = abs(angles[k] - angles[first]) > 0.5 * np.pi
            offset = -offsets[first] if turned else offsets[first]
            if _measure_angle(angles[k], angles[first]) < same and abs(offsets[k] - offset) < same:
                group.append(k)
                break
        else:
            found.append([k])
    return sorted(found, key=len, reverse=True)


def _measure_angle(one: Any, other: Any) -> Any:
    """Return the angle between two lines through the origin."""
    difference = np.abs(one - other)
    return np.minimum(difference, np.pi - difference)


def read_ends(store: ResultStore, names: Sequence[str], n_starts: int, seed: int) -> dict[str, Ends | str]:
    """Read the results of each variant, or why there is none."""
    found: dict[str, Ends | str] = {}
    for name in names:
        record = store.get(make_key(name, n_starts, seed)) or {"status": "failed", "error": "not run"}
        if record["status"] != "ok":
            found[name] = str(record.get("error", "no result"))
            continue
        arrays = {k: np.array(record[k]) for k in ("angles", "offsets", "densities", "success", "converged")}
        found[name] = Ends(**arrays, seconds=float(record["seconds"]), scan=Scan.from_record(record))
    return found
