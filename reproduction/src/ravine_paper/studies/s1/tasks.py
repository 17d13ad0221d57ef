"""Computations on S1: all starts by each variant, and the scan of the index."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ravine import MinimumDensityHyperplane, paper_settings
from ravine.density import BalancePenalty
from ravine.optimise import minimise_on_sphere
from ravine.rows import as_rows
from ravine.search import Problem, SearchSettings, drive
from ravine_paper._typing import Array
from ravine_paper.datasets import load
from ravine_paper.direct import solve_directly
from ravine_paper.metrics import success_ratio
from ravine_paper.studies.engine.identity import describe_settings, get_default_arguments
from ravine_paper.studies.engine.runner import Task
from ravine_paper.studies.engine.store import Record
from ravine_paper.studies.s1.variants import METHODS, Variant, get_variant

__all__ = ["ALPHA", "make_key", "make_tasks", "run_variant"]

# Largest α, as in the paper: the end of F(v).
ALPHA = 0.9
# Angles of the scan, in equal steps over half a turn.
N_ANGLES = 3600
# Maximum number of iterations where a direction is optimised at one α only.
MAX_ITER = 200
# Settings of the joint optimisation of normal and offset, and of the index at one α.
SETTINGS = SearchSettings(init="random", alpha_min=ALPHA, alpha_max=ALPHA, select="final")


def make_tasks(names: Sequence[str], n_starts: int, seed: int, folder: str | None) -> list[Task]:
    """Return one task for each variant, with the scan of its index."""
    return [
        Task(
            name=get_variant(name).title,
            keys=(make_key(name, n_starts, seed),),
            function=run_variant,
            arguments={"name": name, "n_starts": n_starts, "seed": seed, "folder": folder},
            time_limit=3600.0,
            weight=10.0 if name in METHODS else 2.0 if get_variant(name).how == "path" else 1.0,
            identity=describe_settings(_collect_settings(get_variant(name))),
        )
        for name in names
    ]


def make_key(name: str, n_starts: int, seed: int) -> str:
    """Return the key of the result of a variant."""
    return f"{name}.{n_starts}.{seed}"


def _make_estimator(settings: Mapping[str, Any]) -> MinimumDensityHyperplane:
    """Return an estimator with the paper's settings, except for some of its path."""
    estimator = MinimumDensityHyperplane(**paper_settings("clustering"))
    estimator.set_params(**{f"path__{name}": value for name, value in settings.items()})
    return estimator


def _collect_settings(variant: Variant) -> dict[str, Any]:
    """Return everything but starts and rows on which the results of a variant depend."""
    solver: Any
    if variant.how == "sqp":
        solver = SETTINGS
    elif variant.how == "path":
        solver = _make_estimator(variant.settings)
    else:
        solver = get_default_arguments(minimise_on_sphere)
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


def run_variant(
    pending: Sequence[str], *, name: str, n_starts: int, seed: int, folder: str | None
) -> Iterator[tuple[str, Record]]:
    """Run one variant from all starts, and scan its index."""
    variant = get_variant(name)
    loaded = load("s1", folder)
    X = loaded.standardised().data if variant.standardised else loaded.data
    solver = _Solver(X, variant.bandwidth_factor, n_starts, seed)
    for key in pending:
        since = time.perf_counter()
        ends = solver.solve(variant.how, variant.settings)
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
                "bandwidth": solver.bandwidth,
                "scan": solver.scan().tolist(),
            },
        )


# Normal, offset and density of a hyperplane, and whether the optimiser converged.
End = tuple[Array, float, float, bool]


class _Solver:
    """Rows of S1 with a bandwidth and starts."""

    def __init__(self, X: Array, bandwidth_factor: float, n_starts: int, seed: int) -> None:
        self.X, self.rng = X, np.random.default_rng(seed)
        problem = Problem.of(as_rows(X), settings=replace(SETTINGS, n_init=n_starts), rng=self.rng)
        self.bandwidth = bandwidth_factor * problem.bandwidth()
        self.problem = replace(problem, settings=replace(problem.settings, bandwidth=self.bandwidth))
        self.sample = problem.sample
        self.starts = self.problem.starts()
        self.peak = 1.0 / (self.bandwidth * np.sqrt(2.0 * np.pi))

    def scan(self) -> Array:
        """Return φ at equally spaced angles."""
        index, values = self.problem.index(), np.empty(N_ANGLES)
        for k, angle in enumerate(np.pi * np.arange(N_ANGLES) / N_ANGLES):
            ((values[k], _),) = drive(self.sample, [index.begin(np.array([np.cos(angle), np.sin(angle)]))])
        return np.asarray(np.exp(values) * self.peak)

    def solve(self, how: str, settings: Mapping[str, Any]) -> list[End]:
        if how == "path":
            return self.follow_path(**settings)
        return self.minimise_at_fixed_alpha(**settings) if how == "fixed" else self.minimise_jointly(**settings)

    def follow_path(self, **settings: Any) -> list[End]:
        estimator = _make_estimator(settings).set_params(init=self.starts, bandwidth=self.bandwidth)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = estimator.fit(self.X)
        kept: dict[int, Any] = {}
        for step in model.path_:  # the last step of each start that separates two modes, as in the paper
            if step.valid or step.start not in kept or not kept[step.start].valid:
                kept[step.start] = step
        planes = [(kept[start].hyperplane, kept[start].converged) for start in sorted(kept)]
        return [(p.normal, p.offset, p.density, converged) for p, converged in planes]

    def minimise_at_fixed_alpha(self, first_angle: float) -> list[End]:
        found = []
        for start in self.starts:
            index = self.problem.index()
            (result,) = drive(
                self.sample,
                [minimise_on_sphere(index, start, max_iter=MAX_ITER, tolerance=1e-6, first_angle=first_angle)],
            )
            (at,) = drive(self.sample, [index.describe(depth=False)])
            found.append(self._make_end(result.v, at.b, at.log_density, result.converged or result.stalled))
        return found

    def minimise_jointly(self, random_offset: bool = False) -> list[End]:
        offsets = self.rng.uniform(-ALPHA, ALPHA, len(self.starts)) if random_offset else None
        found = solve_directly(self.problem, list(enumerate(self.starts)), offsets=offsets)
        stages = [path.stages[-1] for path in found]
        return [self._make_end(s.normal, s.separation.b, s.separation.log_density, s.converged) for s in stages]

    def _make_end(self, normal: Array, b: float, log_density: float, converged: bool) -> End:
        offset = float(normal @ self.sample.origin) + b * self.sample.unit
        return normal, offset, float(np.exp(log_density)) * self.peak, converged
