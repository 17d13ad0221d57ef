"""S1 from many random starts: SQP in (v, b) against projection pursuit, and what decides where they end."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.datasets import load
from ravine.density import BalancePenalty
from ravine.estimators import MinimumDensityHyperplane, paper_settings
from ravine.index import ClusteringIndex
from ravine.metrics import success_ratio
from ravine.optimise import minimise_on_sphere
from ravine.rows import DenseSample
from ravine.search import PrincipalAxes, PursuitSettings, choose_starts, drive, follow_directly, resolve_bandwidth
from ravine.studies.identity import default_arguments, settings_text
from ravine.studies.runner import Task
from ravine.studies.store import Record, ResultStore

__all__ = [
    "ALPHA",
    "METHODS",
    "SAME",
    "VARIANTS",
    "Ends",
    "Scan",
    "Variant",
    "groups",
    "read_ends",
    "read_scan",
    "tasks",
]

# The paper's: where F(v) ends.
ALPHA = 0.9
# Hyperplanes are one solution if neither their angles (radians) nor their offsets (standard deviations) differ by more.
SAME = 0.02
# Angles of the scan, in equal steps over half a turn.
N_ANGLES = 3600
# Most iterations where a direction is optimised at one alpha only.
MAX_ITER = 200
# How both normal and offset are optimised together.
SQP = PursuitSettings(alpha_max=(ALPHA,), select="final", method="sqp")


@dataclass(frozen=True)
class Variant:
    """A way to get from the starts to hyperplanes.

    Attributes
    ----------
    title : str
    how : {"path", "fixed", "sqp"}
        MDP² with its increasing α; the same index at the largest α only, from the start to convergence; or both normal
        and offset together.
    settings : mapping
        For "path", what differs from the paper's settings; for "fixed", the ``first_angle``; for "sqp",
        ``random_offset``.
    bandwidth_factor : float
    standardised : bool
    """

    title: str
    how: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    bandwidth_factor: float = 1.0
    standardised: bool = True


METHODS = {
    "sqp": Variant("SQP", "sqp"),
    "mdp2": Variant("MDP²", "path"),
}
# One thing changed at a time, then two.
VARIANTS = {
    "sqp-offsets": Variant("SQP, offsets drawn in F(v) too", "sqp", {"random_offset": True}),
    "raw": Variant("columns as they are", "path", standardised=False),
    "h-050": Variant("bandwidth × 0.5", "path", bandwidth_factor=0.5),
    "h-075": Variant("bandwidth × 0.75", "path", bandwidth_factor=0.75),
    "h-125": Variant("bandwidth × 1.25", "path", bandwidth_factor=1.25),
    "h-150": Variant("bandwidth × 1.5", "path", bandwidth_factor=1.5),
    "h-175": Variant("bandwidth × 1.75", "path", bandwidth_factor=1.75),
    "n-alpha-5": Variant("5 values of α, not 20", "path", {"n_alpha": 5}),
    "n-alpha-50": Variant("50 values of α", "path", {"n_alpha": 50}),
    "max-iter-1": Variant("1 iteration for each α, not 5", "path", {"max_iter": 1}),
    "max-iter-200": Variant("200 iterations for each α, tolerance 1e-10", "path", {"max_iter": 200, "tol": 1e-10}),
    "spherical": Variant("BFGS in spherical coordinates", "path", {"optimiser": "spherical"}),
    "fixed-010": Variant("α = 0.9 from the start, first step 0.1 rad", "fixed", {"first_angle": 0.1}),
    "fixed-050": Variant("α = 0.9 from the start, first step 0.5 rad", "fixed", {"first_angle": 0.5}),
    "fixed-100": Variant("α = 0.9 from the start, first step 1 rad", "fixed", {"first_angle": 1.0}),
    "fixed-120": Variant("α = 0.9 from the start, first step 1.2 rad", "fixed", {"first_angle": 1.2}),
    "fixed-150": Variant("α = 0.9 from the start, first step 1.5 rad", "fixed", {"first_angle": 1.5}),
    "fixed-100-h-125": Variant(
        "α = 0.9 from the start, first step 1 rad, bandwidth × 1.25", "fixed", {"first_angle": 1.0}, 1.25
    ),
    "fixed-120-h-150": Variant(
        "α = 0.9 from the start, first step 1.2 rad, bandwidth × 1.5", "fixed", {"first_angle": 1.2}, 1.5
    ),
}


@dataclass(frozen=True, eq=False)
class Scan:
    """The index over the angle of the direction.

    Attributes
    ----------
    angles, index : ndarray of shape (m,)
        Angles in [0, π), and φ there.
    bandwidth : float
    """

    angles: Array
    index: Array
    bandwidth: float

    @property
    def minima(self) -> NDArray[np.intp]:
        """Places of the local minima, lowest first."""
        low = np.flatnonzero((self.index < np.roll(self.index, 1)) & (self.index <= np.roll(self.index, -1)))
        return np.asarray(low[np.argsort(self.index[low])])


@dataclass(frozen=True, eq=False)
class Ends:
    """Where every start ended.

    Attributes
    ----------
    angles, offsets : ndarray of shape (k,)
        Of the normal, in [0, π), and b with that sign, in standard deviations of a column.
    densities, success : ndarray of shape (k,)
        Density on the hyperplane, and success ratio of its partition.
    converged : ndarray of bool
    seconds : float
        For all starts.
    scan : Scan
        With the same bandwidth.
    """

    angles: Array
    offsets: Array
    densities: Array
    success: Array
    converged: NDArray[np.bool_]
    seconds: float
    scan: Scan

    def solutions(self, same: float = SAME) -> list[list[int]]:
        """Starts by their solution, the most frequent first."""
        return groups(self.angles, self.offsets, same)

    def ranks(self) -> NDArray[np.intp]:
        """For every start which local minimum of the scan it found, 0 the global one; -1 for none of them."""
        lowest = self.scan.minima
        apart = _apart(self.angles[:, None], self.scan.angles[lowest][None])
        nearest = np.argmin(apart, axis=1)
        # SQP may have the angle of a minimum with another offset than the best.
        found = (np.min(apart, axis=1) < SAME) & (self.densities < 1.01 * self.scan.index[lowest[nearest]])
        return np.where(found, nearest, -1)


def groups(angles: Array, offsets: Array, same: float = SAME) -> list[list[int]]:
    """Hyperplanes by solution: neither angle nor offset is further than ``same`` from the first one of its group.

    (θ, b) and (θ ± π, -b) are one hyperplane.
    """
    found: list[list[int]] = []
    for k in range(len(angles)):
        for group in found:
            first = group[0]
            turned = abs(angles[k] - angles[first]) > 0.5 * np.pi
            offset = -offsets[first] if turned else offsets[first]
            if _apart(angles[k], angles[first]) < same and abs(offsets[k] - offset) < same:
                group.append(k)
                break
        else:
            found.append([k])
    return sorted(found, key=len, reverse=True)


def _apart(one: Any, other: Any) -> Any:
    """Angle between two lines through the origin."""
    difference = np.abs(one - other)
    return np.minimum(difference, np.pi - difference)


# ----------------------------------------------------------------------------------------------- in other processes


def tasks(names: Sequence[str], n_starts: int, seed: int, folder: str | None) -> list[Task]:
    """One task for each variant, and the scan behind each bandwidth within it."""
    return [
        Task(
            name=_variant(name).title,
            keys=(_key(name, n_starts, seed),),
            function=run_variant,
            arguments={"name": name, "n_starts": n_starts, "seed": seed, "folder": folder},
            time_limit=3600.0,
            weight=10.0 if name in METHODS else 2.0 if _variant(name).how == "path" else 1.0,
            identity=settings_text(_settings(_variant(name))),
        )
        for name in names
    ]


def _variant(name: str) -> Variant:
    return METHODS[name] if name in METHODS else VARIANTS[name]


def _settings(variant: Variant) -> dict[str, Any]:
    """All that the results of a variant depend on but starts and rows."""
    solver: Any = SQP
    if variant.how == "path":
        solver = MinimumDensityHyperplane(**{**paper_settings("clustering"), **variant.settings})
    elif variant.how == "fixed":
        solver = default_arguments(minimise_on_sphere)
    return {
        "how": variant.how,
        "settings": variant.settings,
        "bandwidth": variant.bandwidth_factor,
        "standardised": variant.standardised,
        "solver": solver,
        "alpha": ALPHA,
        "steps": MAX_ITER,
        "angles": N_ANGLES,
        "penalty": BalancePenalty(),
    }


def _key(name: str, n_starts: int, seed: int) -> str:
    return f"{name}.{n_starts}.{seed}"


def run_variant(
    pending: Sequence[str], *, name: str, n_starts: int, seed: int, folder: str | None
) -> Iterator[tuple[str, Record]]:
    """Go from all starts in one way, and scan the index it looked at."""
    variant = _variant(name)
    loaded = load("s1", folder)
    X = loaded.standardised().data if variant.standardised else loaded.data
    problem = _Problem(X, variant.bandwidth_factor, n_starts, seed)
    for key in pending:
        since = time.perf_counter()
        ends = problem.solve(variant.how, variant.settings)
        seconds = time.perf_counter() - since
        normals = np.array([end[0] for end in ends])
        offsets = np.array([end[1] for end in ends])
        success = [success_ratio(loaded.target, X @ v > b) for v, b in zip(normals, offsets, strict=True)]
        angles = np.arctan2(normals[:, 1], normals[:, 0])
        turned = (angles < 0.0) | (angles >= np.pi)
        scale = float(X.std(axis=0).mean())
        centred = offsets - normals @ X.mean(axis=0)
        yield (
            key,
            {
                "status": "ok",
                "angles": (angles % np.pi).tolist(),
                "offsets": (np.where(turned, -centred, centred) / scale).tolist(),
                "densities": [float(end[2]) for end in ends],
                "success": success,
                "converged": [bool(end[3]) for end in ends],
                "seconds": seconds,
                "bandwidth": problem.bandwidth,
                "scan": problem.scan().tolist(),
            },
        )


# A hyperplane with its density, and whether its optimiser converged.
End = tuple[Array, float, float, bool]


class _Problem:
    """S1, a bandwidth and the starts."""

    def __init__(self, X: Array, bandwidth_factor: float, n_starts: int, seed: int) -> None:
        self.X, self.sample = X, DenseSample(X)
        self.moments = self.sample.moments()
        axes = PrincipalAxes.of(self.moments)
        spread = float(np.sqrt(axes.variances[0])) * self.sample.unit
        self.bandwidth = bandwidth_factor * resolve_bandwidth("silverman", len(X), spread)
        self.rng = np.random.default_rng(seed)
        self.starts = choose_starts("random", n_starts, axes, self.sample, self.rng)
        self.peak = 1.0 / (self.bandwidth * np.sqrt(2.0 * np.pi))

    def index(self, sample: Any = None) -> ClusteringIndex:
        h = self.bandwidth / self.sample.unit
        return ClusteringIndex(sample or self.sample, self.moments, h, BalancePenalty(), ALPHA)

    def scan(self) -> Array:
        """φ at equally spaced angles."""
        index, values = self.index(), np.empty(N_ANGLES)
        for k, angle in enumerate(np.pi * np.arange(N_ANGLES) / N_ANGLES):
            ((values[k], _),) = drive(self.sample, [index.begin(np.array([np.cos(angle), np.sin(angle)]))])
        return np.asarray(np.exp(values) * self.peak)

    def solve(self, how: str, settings: Mapping[str, Any]) -> list[End]:
        if how == "path":
            return self.along_path(**settings)
        return self.at_fixed_alpha(**settings) if how == "fixed" else self.jointly(**settings)

    def along_path(self, **settings: Any) -> list[End]:
        given = {**paper_settings("clustering"), "init": self.starts, "bandwidth": self.bandwidth, **settings}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = MinimumDensityHyperplane(**given).fit(self.X)
        kept: dict[int, Any] = {}
        for step in model.path_:  # of each start the last that separates two modes, as in the paper
            if step.valid or step.start not in kept or not kept[step.start].valid:
                kept[step.start] = step
        planes = [(kept[start].hyperplane, kept[start].converged) for start in sorted(kept)]
        return [(p.normal, p.offset, p.density, converged) for p, converged in planes]

    def at_fixed_alpha(self, first_angle: float) -> list[End]:
        found = []
        for start in self.starts:
            index = self.index()
            (result,) = drive(
                self.sample,
                [minimise_on_sphere(index, start, max_iter=MAX_ITER, tolerance=1e-6, first_angle=first_angle)],
            )
            (at,) = drive(self.sample, [index.describe(depth=False)])
            found.append(self._end(result.v, at.b, at.log_density, result.converged or result.stalled))
        return found

    def jointly(self, random_offset: bool = False) -> list[End]:
        offsets = self.rng.uniform(-ALPHA, ALPHA, len(self.starts)) if random_offset else None
        found = follow_directly(self.sample, self.index, list(enumerate(self.starts)), SQP, offsets=offsets)
        stages = [path.stages[-1] for (path,) in found]
        return [self._end(s.normal, s.separation.b, s.separation.log_density, s.converged) for s in stages]

    def _end(self, normal: Array, b: float, log_density: float, converged: bool) -> End:
        offset = float(normal @ self.sample.origin) + b * self.sample.unit
        return normal, offset, float(np.exp(log_density)) * self.peak, converged


# ----------------------------------------------------------------------------------------------- what was found


def read_scan(record: Record) -> Scan:
    """The scan in a record."""
    values = np.array(record["scan"])
    return Scan(np.pi * np.arange(len(values)) / len(values), values, float(record["bandwidth"]))


def read_ends(store: ResultStore, names: Sequence[str], n_starts: int, seed: int) -> dict[str, Ends | str]:
    """What there is by variant, or why there is nothing."""
    found: dict[str, Ends | str] = {}
    for name in names:
        record = store.get(_key(name, n_starts, seed)) or {"status": "failed", "error": "not run"}
        if record["status"] != "ok":
            found[name] = str(record.get("error", "no result"))
            continue
        arrays = {k: np.array(record[k]) for k in ("angles", "offsets", "densities", "success", "converged")}
        found[name] = Ends(**arrays, seconds=float(record["seconds"]), scan=read_scan(record))
    return found
