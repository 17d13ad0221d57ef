"""The direct formulation: normal and offset together, by sequential quadratic programming, eq. (9) and (14).

It is the paper's point of comparison. Nothing here chooses the best offset of a direction, so the search can end in any
local minimum of any projected density. MDP² steps over them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from ravine.search import Path, Problem, SearchSettings, Stage, drive
from ravine_paper._typing import Array
from ravine_paper.direct.joint import JointDensity

__all__ = ["make_joint_density", "solve_directly"]

# A solution may violate its constraints by this much (in units of the rows) and still count as one.
INFEASIBLE = 1e-6


def solve_directly(
    problem: Problem, starts: Sequence[tuple[int, Array]], *, offsets: Array | None = None
) -> list[Path]:
    """Solve the constrained problem from every start, for the largest alpha; return paths of one stage.

    Parameters
    ----------
    problem : Problem
    starts : sequence of (int, ndarray of shape (d,))
        Numbers and unit vectors.
    offsets : ndarray of shape (k,), optional
        First value of b for each start, in standard deviations of the projections; the mean by default.

    Returns
    -------
    list of Path
        One for each start, in the working units of the problem.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.rows import as_rows
    >>> from ravine.search import Problem, SearchSettings
    >>> from ravine_paper import solve_directly
    >>> X, _ = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> problem = Problem.of(as_rows(X), settings=SearchSettings(), rng=np.random.default_rng(0))
    >>> (path,) = solve_directly(problem, [(0, np.array([1.0, 0.0]))])
    >>> plane = problem.space.make_hyperplane(path.stages[-1])
    >>> plane.side([[0, 0], [6, 6]]).tolist() in ([0, 1], [1, 0])
    True
    """
    settings, alpha, paths = problem.settings, problem.settings.alpha_max, []
    for start, v in starts:
        offset = 0.0 if offsets is None else float(offsets[start])
        stage = _solve(make_joint_density(problem, alpha), v, min(max(offset, -alpha), alpha), start, settings)
        paths.append(Path((stage,), stage if settings.select == "final" or stage.valid else None))
    return paths


def make_joint_density(problem: Problem, alpha: float) -> JointDensity:
    """Return the density of a problem as a function of normal and offset together, for eq. (9) or (14)."""
    h = problem.bandwidth() / problem.space.unit
    return JointDensity(problem.sample, problem.moments.covariance, h, alpha, problem.labelled)


def _solve(joint: JointDensity, v: Array, offset: float, start: int, settings: SearchSettings) -> Stage:
    sample = joint.sample
    sigma = math.sqrt(max(float(v @ joint.covariance @ v), 0.0))

    def evaluate(x: Array) -> tuple[float, Array]:
        with np.errstate(over="ignore", invalid="ignore"):  # the solver may try very long normals
            ((value, by_normal, by_offset),) = drive(sample, [joint.evaluate(x[:-1].copy(), float(x[-1]))])
        return value, np.append(by_normal, by_offset)

    result: OptimizeResult = minimize(
        evaluate,
        np.append(v, offset * sigma),
        jac=True,
        method="SLSQP",
        constraints=[
            {"type": "eq", "fun": lambda x: x[:-1] @ x[:-1] - 1.0, "jac": lambda x: np.append(2.0 * x[:-1], 0.0)},
            {
                "type": "ineq",
                "fun": lambda x: joint.constraints(x[:-1], x[-1])[0],
                "jac": lambda x: joint.constraints(x[:-1], x[-1])[1],
            },
        ],
        options={"maxiter": settings.polish_iter, "ftol": max(settings.tolerance, 1e-15)},
    )
    length = float(np.linalg.norm(result.x[:-1]))
    if not (np.isfinite(result.x).all() and length > 0.0):  # the solver diverged: return the start
        result.x, result.success, length = np.append(v, offset * sigma), False, 1.0
    normal, b = np.ascontiguousarray(result.x[:-1] / length), float(result.x[-1]) / length
    values, _ = joint.constraints(normal, b)
    (separation,) = drive(sample, [joint.describe(normal, b)])
    return Stage(
        start=start,
        n_rows=sample.n_rows,
        bandwidth=joint.bandwidth,
        alpha=joint.alpha,
        gamma=settings.gammas[-1],
        normal=normal,
        log_index=separation.log_density,
        separation=separation,
        interior=bool(values[:2].min() > INFEASIBLE * joint.bandwidth),
        n_iter=int(result.nit),
        n_evaluations=joint.n_evaluations,
        n_tied=0,
        converged=bool(result.success and values.min() >= -INFEASIBLE),
        polished=True,
    )
