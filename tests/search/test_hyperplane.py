"""Paths of a search: starts, subsamples, selection and results."""

import warnings
from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine import MinimumDensityHyperplane, NoSplitWarning, PathSettings, ProjectedDensity
from ravine.density import BalancePenalty
from ravine.search.problem import draw_subsamples
from support.scoring import success_ratio
from support.simulate import mixture, one_gaussian_line, two_clusters

X = mixture(500, 6, seed=2)[0]


def fit(rows, **parameters):
    mdh = MinimumDensityHyperplane(init="pca", n_init=3, path=PathSettings(), random_state=0)
    return mdh.set_params(**parameters).fit(rows)


def steps_by_start(mdh, *, polished=False):
    """The steps of each start in their order; the polished ones only if asked for."""
    starts = sorted({step.start for step in mdh.path_})
    return [[s for s in mdh.path_ if s.start == k and (polished or not s.polished)] for k in starts]


def projected(step, rows):
    """Projected density on the normal of a step, and the ends of F(v)."""
    p = rows @ step.hyperplane.normal
    half = step.hyperplane.alpha * p.std()
    return ProjectedDensity(p, step.hyperplane.bandwidth), p.mean() - half, p.mean() + half


def same_hyperplane(a, b):
    sign = np.sign(a.normal @ b.normal)
    return np.allclose(a.normal, sign * b.normal, atol=1e-12) and np.isclose(a.offset, sign * b.offset, atol=1e-12)


# ----------------------------------------------------------------------------------------------- the path


@pytest.mark.parametrize("n_alpha", [1, 2, 7])
@pytest.mark.parametrize("n_init", [1, 3])
@pytest.mark.parametrize("polish", [False, True])
def test_each_start_has_a_step_per_alpha_and_one_for_the_polish(n_alpha, n_init, polish):
    mdh = fit(X, path__n_alpha=n_alpha, n_init=n_init, path__alpha_min=0.1, alpha_max=0.8, path__polish=polish)
    for steps in steps_by_start(mdh):
        assert_allclose([s.hyperplane.alpha for s in steps], np.linspace(0.1, 0.8, n_alpha) if n_alpha > 1 else [0.8])
    finished = [k for k, steps in enumerate(steps_by_start(mdh)) if any(s.valid for s in steps)]
    assert sorted(s.start for s in mdh.path_ if s.polished) == (finished if polish else [])
    assert len(steps_by_start(mdh)) == n_init


@pytest.mark.parametrize("max_iter", [1, 4])
def test_steps_keep_to_the_number_of_iterations(max_iter):
    mdh = fit(X, path__max_iter=max_iter)
    assert max(s.n_iter for s in mdh.path_ if not s.polished) == max_iter
    assert mdh.n_iter_ == sum(s.n_iter for s in mdh.path_)


@pytest.mark.parametrize(
    ("rows", "bandwidth"),
    [
        (X, "silverman"),
        (two_clusters()[0], 0.05),
        (two_clusters(separation=40.0)[0], 0.5),
        (two_clusters(separation=200.0)[0], 1.0),
    ],
    ids=["mixture", "narrow kernel", "far apart", "very far apart"],
)
def test_offset_of_every_step_is_the_minimiser_in_its_interval(rows, bandwidth):
    penalty = BalancePenalty()
    for step in fit(rows, bandwidth=bandwidth).path_:
        density, lo, hi = projected(step, rows)
        best = density.minimise(lo, hi, penalty)
        b, h = step.hyperplane.offset, step.hyperplane.bandwidth
        outside = max(lo - b, b - hi, 0.0) / h
        assert outside <= penalty.eta * (1 + 1e-9)
        # An excess of 1e-6 is rounding of b: its penalty must not be compared with a density of 1e-300.
        log_penalty = np.log(penalty.factor) + (1 + penalty.epsilon) * np.log(outside) if outside > 1e-6 else -np.inf
        log_index = np.logaddexp(density.log(b) - np.log(density.peak), log_penalty)
        assert_allclose(log_index, best.log_index, rtol=1e-9, atol=1e-6)


@pytest.mark.parametrize("rows", [X, two_clusters(separation=40.0)[0]], ids=["mixture", "far apart"])
def test_steps_describe_their_hyperplanes(rows):
    for step in fit(rows).path_:
        plane = step.hyperplane
        density, lo, hi = projected(step, rows)
        assert_allclose(np.log(plane.density), density.log(plane.offset), rtol=1e-9)
        assert_allclose(plane.relative_depth, density.relative_depth(plane.offset), rtol=1e-6, atol=1e-6)
        assert step.valid == (plane.relative_depth > 0)
        assert step.interior == (lo <= plane.offset <= hi)
        assert step.n_rows == len(rows)


def test_minimiser_over_b_is_almost_always_unique_on_the_path():
    """The paper's remark on B(θ), counted."""
    paths = [fit(mixture(400, 5, seed)[0]).path_ for seed in range(10)]
    evaluations = sum(step.n_evaluations for path in paths for step in path)
    tied = sum(step.n_tied for path in paths for step in path)
    assert evaluations > 500
    assert tied < 0.01 * evaluations


# ----------------------------------------------------------------------------------------------- the choice


def kept(steps, select):
    """The step that the rule keeps: the last valid, or the deepest, at the bottom of a valley if there is one."""
    valid = [s for s in steps if s.valid]
    if select == "last":
        return valid[-1:]
    deepest = max([s for s in valid if s.interior] or valid, key=lambda s: s.hyperplane.relative_depth, default=None)
    return [deepest] if deepest else []


@pytest.mark.parametrize("select", ["last", "deepest"])
@pytest.mark.parametrize("seed", range(4))
def test_kept_step_of_the_deepest_start_is_the_answer(select, seed):
    rows = mixture(300, 5, seed)[0]
    mdh = fit(rows, path__select=select, path__polish=False, n_init=5)
    candidates = [s for steps in steps_by_start(mdh) for s in kept(steps, select)]
    answer = max(candidates, key=lambda s: s.hyperplane.relative_depth)
    assert len(candidates) > 1
    assert same_hyperplane(mdh.hyperplane_, answer.hyperplane)
    assert mdh.relative_depth_ == answer.hyperplane.relative_depth


def test_polish_starts_from_the_kept_step_and_lowers_the_density():
    mdh = fit(X)
    for steps in steps_by_start(mdh, polished=True):
        *path, last = steps
        if last.polished:
            (start,) = kept(path, mdh.path.select)
            assert last.hyperplane.alpha == start.hyperplane.alpha
            assert last.hyperplane.density <= start.hyperplane.density * (1 + 1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_polished_hyperplane_is_a_local_minimum(seed):
    rows = mixture(400, 5, seed)[0]
    mdh = fit(rows, path__n_alpha=3, path__max_iter=1)  # a rough path, so that the polish has something to do
    answer = next(s for s in mdh.path_ if s.polished and same_hyperplane(s.hyperplane, mdh.hyperplane_))
    rng = np.random.default_rng(seed)

    def log_index(normal):
        p = rows @ normal
        half = answer.hyperplane.alpha * p.std()
        return ProjectedDensity(p, mdh.bandwidth_).minimise(p.mean() - half, p.mean() + half).log_index

    here = log_index(mdh.coef_[0])
    for size in (1e-4, 1e-3, 1e-2, 3e-2):
        for _ in range(25):
            other = mdh.coef_[0] + size * rng.standard_normal(5)
            assert log_index(other / np.linalg.norm(other)) > here - 2 * mdh.path.tol


# ----------------------------------------------------------------------------------------------- starts and bandwidth


def test_rows_of_init_are_the_starts_whatever_their_length():
    directions = np.eye(6)[[4, 0]]
    mdh, longer = fit(X, init=directions), fit(X, init=1e3 * directions)
    assert len(steps_by_start(mdh)) == 2
    assert_allclose(longer.coef_, mdh.coef_, atol=1e-12)
    assert_array_equal(fit(X, init=directions[0]).coef_, fit(X, init=directions[:1]).coef_)


def test_path_stays_near_a_start_that_is_a_solution():
    solution = fit(X, path__polish=True)
    again = fit(X, init=solution.coef_)
    assert abs(float(again.coef_[0] @ solution.coef_[0])) > 1 - 1e-5
    assert again.relative_depth_ == pytest.approx(solution.relative_depth_, rel=1e-3)


def test_more_starts_are_never_worse():
    depths = [fit(mixture(300, 8, seed=1)[0], n_init=n).relative_depth_ for n in (1, 2, 4, 8)]
    assert depths == sorted(depths)


def test_no_more_starts_than_principal_components():
    assert len(steps_by_start(fit(X, n_init=50))) == X.shape[1]


@pytest.mark.parametrize(("d", "seed"), [(10, 0), (20, 3), (50, 1)])
def test_six_starts_find_clusters_outside_leading_components(d, seed):
    rows, truth = mixture(4000, d, seed, nuisance=3)
    assert success_ratio(truth, fit(rows, n_init=6).labels_) > 0.98


@pytest.mark.parametrize("weighted", [False, True])
def test_bandwidth_rules(weighted):
    weights = np.random.default_rng(0).uniform(0.5, 2.0, len(X)) if weighted else np.ones(len(X))
    deviation = np.sqrt(np.linalg.eigvalsh(np.cov(X.T, aweights=weights, ddof=0))[-1])
    n, asked = weights.sum(), []

    def rule(*arguments):
        asked.append(arguments)
        return 0.3

    def bandwidth(value):
        return MinimumDensityHyperplane(bandwidth=value).fit(X, sample_weight=weights if weighted else None).bandwidth_

    assert bandwidth("silverman") == pytest.approx(0.9 * deviation * n**-0.2, rel=1e-9)
    assert bandwidth(0.7) == pytest.approx(0.7, rel=1e-15)
    assert bandwidth(rule) == pytest.approx(0.3, rel=1e-15)
    assert_allclose(asked, np.broadcast_to([n, deviation], np.shape(asked)), rtol=1e-9)


# ----------------------------------------------------------------------------------------------- many rows


@pytest.mark.parametrize("seed", range(2))
def test_subsample_changes_the_answer_by_little(seed):
    rows = mixture(60_000, 8, seed)[0]
    all_rows, multilevel = fit(rows, subsample=None), fit(rows, subsample=10_000)
    assert np.mean(all_rows.labels_ != multilevel.labels_) <= 0.002
    assert multilevel.density_ == pytest.approx(all_rows.density_, rel=1e-3)
    assert multilevel.bandwidth_ == all_rows.bandwidth_


def test_subsample_leads_to_all_rows_by_levels():
    mdh = fit(mixture(20_000, 4)[0], subsample=100)
    assert [len(level) for level in draw_subsamples(20_000, 100, np.random.default_rng(0))] == [100, 1000]
    assert [n for n, _ in sorted({(s.n_rows, s.polished) for s in mdh.path_ if s.polished})][-2:] == [1000, 20_000]
    assert {s.n_rows for s in mdh.path_ if not s.polished} == {100}
    assert mdh.path_[-1].n_rows == 20_000


@pytest.mark.parametrize(
    ("n", "size", "sizes"),
    [(100, None, []), (39, 10, []), (40, 10, [10]), (999, 10, [10]), (1000, 10, [10, 100]), (9999, 10, [10, 100])],
)
def test_levels_are_nested_sorted_subsets_that_grow_tenfold(n, size, sizes):
    levels = draw_subsamples(n, size, np.random.default_rng(1))
    assert [len(level) for level in levels] == sizes
    for level in levels:
        assert_array_equal(level, np.unique(level))
        assert level[0] >= 0
        assert level[-1] < n
    for small, large in pairwise(levels):
        assert set(small) <= set(large)


def test_unimodal_sample_is_not_split_at_any_alpha():
    with pytest.warns(NoSplitWarning, match="two modes"):
        mdh = fit(one_gaussian_line(300))
    assert not any(step.valid for step in mdh.path_)
    assert all(step.hyperplane.relative_depth == 0 for step in mdh.path_)


def test_split_sample_gives_no_warning():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        fit(X)


@pytest.mark.slow
def test_defaults_solve_the_nuisance_problem_in_nine_of_ten():
    """Clusters hide in directions of small variance: n = 10,000, d = 50."""
    ratios = []
    for seed in range(10):
        X, y = mixture(10_000, 50, seed=seed, nuisance=3)
        ratios.append(success_ratio(y, MinimumDensityHyperplane(random_state=0).fit_predict(X)))
    print("success ratios:", np.round(ratios, 3))
    assert np.sum(np.array(ratios) >= 0.95) >= 9
