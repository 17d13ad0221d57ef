"""Stages in the units of X: hyperplanes and steps that are made together are those that are made one by one."""

import math
import pickle
from dataclasses import fields, replace

import numpy as np
import pytest

from ravine import Hyperplane, MinimumDensityHyperplane, PathStep
from ravine.index import Separation
from ravine.rows import as_rows
from ravine.search.space import PathLog, WorkingSpace
from ravine.search.stages import Stage
from support import reference as ref


def make_stages(rng, d, n=7):
    """Return stages of any kind: with two modes or one, and with a depth that is unknown or overflows."""
    depths = [0.3, -1.0, -math.inf, math.nan, 800.0, 1e-9, 2.0]
    return [
        Stage(
            start=k,
            n_rows=100,
            bandwidth=0.1 + 0.1 * k,
            alpha=0.2 * k,
            gamma=0.0,
            normal=ref.unit(rng.standard_normal(d)),
            log_index=-1.0,
            separation=Separation(b=rng.standard_normal(), log_density=-10.0 * k, log_depth=depths[k]),
            interior=k % 2 == 0,
            n_iter=k,
            n_evaluations=2 * k,
            n_tied=0,
            converged=k > 3,
        )
        for k in range(n)
    ]


@pytest.fixture(params=[(50, 4, 0.0), (50, 4, 1e12), (6, 20, 5.0)], ids=["plain", "far", "row space"])
def space(request, rng):
    n, d, offset = request.param
    return WorkingSpace.of(as_rows(rng.standard_normal((n, d)) + offset))


def make_slowly(space, stage):
    """Make a hyperplane from the definitions, by the constructor that checks everything."""
    normal = stage.normal if space.basis is None else space.basis @ stage.normal
    normal = normal / np.linalg.norm(normal)
    h, at = stage.bandwidth * space.unit, stage.separation
    point = space.origin + at.b * space.unit * normal
    depth = math.expm1(min(at.log_depth, 709.0)) if not math.isnan(at.log_depth) and at.valid else 0.0
    return Hyperplane(
        normal,
        offset=float(normal @ point),
        density=math.exp(at.log_density) / (h * math.sqrt(2.0 * math.pi)),
        relative_depth=math.nan if math.isnan(at.log_depth) else depth,
        bandwidth=h,
        alpha=stage.alpha,
        point=point,
    )


def assert_equal(one, other, rtol):
    assert vars(one).keys() == vars(other).keys() == {f.name for f in fields(Hyperplane)}
    assert one.feature_names is other.feature_names is None
    for name in vars(one).keys() - {"feature_names"}:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=rtol)


def test_hyperplanes_are_those_of_the_constructor(space, rng):
    stages = make_stages(rng, space.sample.n_features)
    for step, stage in zip(space.make_steps(stages), stages, strict=True):
        assert_equal(step.hyperplane, make_slowly(space, stage), rtol=1e-14)
        assert_equal(step.hyperplane, replace(step.hyperplane), rtol=0.0)  # the constructor has nothing to correct


def test_steps_made_together_are_those_made_alone_to_the_bit(space, rng):
    stages = make_stages(rng, space.sample.n_features)
    for step, stage in zip(space.make_steps(stages, (0, 2)), stages, strict=True):
        (alone,) = space.make_steps([stage], (0, 2))
        assert_equal(step.hyperplane, alone.hyperplane, rtol=0.0)
        assert_equal(step.hyperplane, space.make_hyperplane(stage), rtol=0.0)
        assert replace(step, hyperplane=alone.hyperplane) == alone
        assert vars(step).keys() == {f.name for f in fields(PathStep)}
        assert (step.pair, step.valid, step.n_iter) == ((0, 2), stage.valid, stage.n_iter)


def test_hyperplanes_of_a_path_are_frozen(space, rng):
    step = space.make_steps(make_stages(rng, space.sample.n_features))[1]
    for plane in (step.hyperplane, pickle.loads(pickle.dumps(step)).hyperplane):
        for vector in (plane.normal, plane.point):
            with pytest.raises(ValueError, match="read-only"):
                vector[0] = 1.0
        with pytest.raises(AttributeError):
            plane.offset = 1.0


def test_log_keeps_the_order_of_stages_in_different_spaces(rng):
    spaces = [WorkingSpace.of(as_rows(rng.standard_normal((30, 3)) + offset)) for offset in (0.0, 9.0)]
    stages, log = make_stages(rng, 3), PathLog()
    for k, stage in enumerate(stages):
        log.record_in(spaces[k // 2 % 2])(stage)
        assert k != 3 or len(log.steps) == 4
    assert [step.start for step in log.steps] == list(range(7))
    for k, step in enumerate(log.steps):
        assert_equal(step.hyperplane, spaces[k // 2 % 2].make_hyperplane(stages[k]), rtol=0.0)


def test_path_does_not_depend_on_a_callback(rng):
    X = rng.standard_normal((200, 3)) + np.repeat([[0.0], [4.0]], 100, axis=0)
    seen = []
    quiet, loud = (MinimumDensityHyperplane(random_state=0, callback=c).fit(X) for c in (None, seen.append))
    assert tuple(seen) == loud.path_
    for one, other in zip(quiet.path_, loud.path_, strict=True):
        assert_equal(one.hyperplane, other.hyperplane, rtol=0.0)
        assert replace(one, hyperplane=other.hyperplane) == other
