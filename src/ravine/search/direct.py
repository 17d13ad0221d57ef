"""The direct formulation: normal and offset together, by sequential quadratic programming (eq. (9), (14)).

The paper's point of comparison. Nothing here chooses the best offset of a direction, so every local minimum of every
projected density is a trap; MDP² steps over them.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from ravine._typing import Array
from ravine.index import ClusteringIndex
from ravine.rows import Sample
from ravine.search.driver import drive
from ravine.search.settings import PursuitSettings
from ravine.search.stages import Notify, Path, Stage

__all__ = ["follow_directly"]

# How far outside its constraints (in units of the rows) a solution may be and still count as one.
INFEASIBLE = 1e-6


def follow_directly(
    sample: Sample,
    index: Callable[[Sample], ClusteringIndex],
    starts: Sequence[tuple[int, Array]],
    settings: PursuitSettings,
    *,
    offsets: Array | None = None,
    notify: Notify = lambda _: None,
) -> list[tuple[Path, ...]]:
    """Solve the constrained problem from every start, for each of the largest alphas: paths of one stage.

    Parameters
    ----------
    sample, index, settings, notify
        As for `pursue`.
    starts : sequence of (int, ndarray of shape (d,))
        Numbers and unit vectors.
    offsets : ndarray of shape (k,), optional
        Where b starts, in standard deviations of the projections; at the mean by default.
    """
    found = []
    for number, v in starts:
        offset = 0.0 if offsets is None else float(offsets[number])
        paths = []
        for alpha in settings.alpha_max:
            stage = _solve(sample, index(sample), v, min(max(offset, -alpha), alpha), number, alpha, settings)
            notify(stage)
            kept = stage if settings.select == "final" or stage.valid else None
            paths.append(Path((stage,), kept))
        found.append(tuple(paths))
    return found


def _solve(
    sample: Sample,
    index: ClusteringIndex,
    v: Array,
    offset: float,
    number: int,
    alpha: float,
    settings: PursuitSettings,
) -> Stage:
    from scipy.optimize import minimize  # here, so that the domain objects load without it

    index.alpha, index.gamma = alpha, settings.gammas[-1]
    sigma = math.sqrt(index.moments.variance_along(v))

    def density(x: Array) -> tuple[float, Array]:
        ((value, by_normal, by_offset),) = drive(sample, [index.joint(x[:-1].copy(), float(x[-1]))])
        return value, np.append(by_normal, by_offset)

    result = minimize(
        density,
        np.append(v, offset * sigma),
        jac=True,
        method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda x: x[:-1] @ x[:-1] - 1.0, "jac": lambda x: np.append(2.0 * x[:-1], 0.0)},
            {
                "type": "ineq",
                "fun": lambda x: index.constraints(x[:-1], x[-1])[0],
                "jac": lambda x: index.constraints(x[:-1], x[-1])[1],
            },
        ],
        options={"maxiter": settings.polish_iter, "ftol": max(settings.tolerance, 1e-15)},
    )
    length = float(np.linalg.norm(result.x[:-1]))
    if not (np.isfinite(result.x).all() and length > 0.0):  # the solver lost its way: the start is all there is
        result.x, result.success, length = np.append(v, offset * sigma), False, 1.0
    normal, b = np.ascontiguousarray(result.x[:-1] / length), float(result.x[-1]) / length
    values, _ = index.constraints(normal, b)
    drive(sample, [index.joint(normal, b)])
    (separation,) = drive(sample, [index.describe_at(b)])
    return Stage(
        start=number,
        n_rows=sample.n_rows,
        bandwidth=index.bandwidth,
        alpha=alpha,
        gamma=index.gamma,
        normal=normal,
        log_index=separation.log_density,
        separation=separation,
        interior=bool(values[:2].min() > INFEASIBLE * index.bandwidth),
        n_iter=int(result.nit),
        n_evaluations=index.n_evaluations,
        n_tied=0,
        converged=bool(result.success and values.min() >= -INFEASIBLE),
        polished=True,
    )
