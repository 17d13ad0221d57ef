"""Paths of all starts: short paths that screen them, growing subsamples, and the choice among them."""

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from ravine.index import Separation
from ravine.rows import as_rows
from ravine.search import Path, Problem, SearchSettings, Stage, Start, choose_best, drive, follow_paths, paths
from ravine.search.stages import follow_path
from support.simulate import mixture, two_clusters


def make_problem(X, **settings):
    return Problem.of(as_rows(X), settings=SearchSettings(**settings), rng=np.random.default_rng(0))


def make_path(normal, log_depth, log_index=0.0):
    """Make the path of one stage, which is kept."""
    separation = Separation(b=0.0, log_density=-1.0, log_depth=log_depth)
    stage = Stage(0, 10, 1.0, 1.0, 1.0, np.asarray(normal), log_index, separation, True, 1, 1, 0, True)
    return Path((stage,), stage)


# ------------------------------------------------------------------------------------------------- screening


def test_deepest_hyperplanes_come_first_and_are_distinct():
    problem = make_problem(mixture(500, 8)[0])
    stages = paths.find_deepest(problem, problem.starts())
    ranks = [paths._rank(stage) for stage in stages]
    assert ranks == sorted(ranks)
    cosines = np.abs(np.array([[a.normal @ b.normal for a in stages] for b in stages])) - np.eye(len(stages))
    assert cosines.max() <= 0.99


def test_short_path_of_one_start_is_that_of_the_search():
    problem = make_problem(two_clusters(300, 3)[0])
    start = problem.starts()[:1]
    (stage,) = paths.find_deepest(problem, start)
    short = replace(paths._shorten_paths(problem.settings), polish=False)
    sample = problem.screening_sample
    (path,) = drive(sample, [follow_path(problem.index(sample), start[0], 0, short, lambda _: None)])
    assert_allclose(stage.normal, path.kept.normal, atol=1e-12)
    assert stage.alpha == path.kept.alpha


def test_limited_start_has_one_alpha():
    settings = Start(np.ones(1), alpha=0.7).limit(SearchSettings())
    assert (settings.alpha_min, settings.alpha_max, settings.n_alpha) == (0.7, 0.7, 1)
    assert Start(np.ones(1)).limit(settings) is settings


# ------------------------------------------------------------------------------------------------- paths


def test_paths_are_those_of_each_start_alone():
    problem = make_problem(mixture(400, 5)[0], init="pca", n_init=3)
    starts, seen = problem.starts(), []
    together = follow_paths(problem, starts, seen.append)
    for k, (path, v) in enumerate(zip(together, starts, strict=True)):
        index = problem.index()
        (alone,) = drive(problem.sample, [follow_path(index, v, k, problem.settings, lambda _: None)])
        assert len(path.stages) == len(alone.stages)
        assert_allclose(path.kept.normal, alone.kept.normal, atol=1e-12)
    assert len(seen) == sum(len(path.stages) for path in together)


def test_finalists_are_optimised_on_all_rows_and_others_dropped():
    problem = make_problem(mixture(2000, 5)[0], init="pca", n_init=4, subsample=100)
    assert [len(level) for level in problem.subsamples] == [100]
    found = follow_paths(problem, problem.starts(), lambda _: None)
    kept = [path.kept for path in found if path.kept is not None]
    assert 1 <= len(kept) <= paths.FINALISTS
    assert all(stage.polished and stage.n_rows == 2000 for stage in kept)
    assert all(stage.n_rows == 100 for path in found for stage in path.stages if not stage.polished)


def test_levels_are_refined_in_turn():
    problem = make_problem(mixture(20_000, 3)[0], init="pca", n_init=2, subsample=100)
    found = follow_paths(problem, problem.starts(), lambda _: None)
    best = max((path for path in found if path.kept), key=lambda path: path.kept.log_depth)
    sizes = [stage.n_rows for stage in best.stages]
    assert sorted(set(sizes)) == [100, 1000, 20_000]
    assert all(a <= b for a, b in pairwise(sizes))


# ------------------------------------------------------------------------------------------------- choice


def test_best_stage_is_deepest_or_of_lowest_index_with_labels():
    found = [make_path([1.0, 0.0], 1.0, 5.0), make_path([0.0, 1.0], 2.0, 6.0), Path((), None)]
    assert choose_best(found, SearchSettings()) is found[1].kept
    assert choose_best(found, SearchSettings(select="final")) is found[0].kept
    assert choose_best(found[2:], SearchSettings()) is None


@pytest.mark.parametrize(
    ("others", "chosen"),
    [
        ([make_path([0.0, 1.0], 2.9)], [0, 1]),
        ([make_path([0.0, 1.0], 3.0 - math.log(2.1))], [0]),
        ([make_path([1.0, 1e-3], 2.9), make_path([0.0, 1.0], 2.8)], [0, 2]),
        ([make_path([0.0, 1.0], 2.9), make_path([0.7, 0.7], 2.8)], [0, 1]),
        ([Path((), None)], [0]),
    ],
    ids=["close", "much worse", "same direction", "too many", "failed"],
)
def test_finalists_are_good_and_different(others, chosen):
    assert paths._choose_finalists([make_path([1.0, 0.0], 3.0), *others], SearchSettings()) == chosen
