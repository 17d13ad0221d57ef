"""Starts of a search: the directions that are proposed, and the short paths that choose among them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from mixtures import simulate_mixture
from ravine import MinimumDensityHyperplane
from ravine.rows import as_rows
from ravine.search import Problem, SearchSettings, screen_starts
from ravine.search.starts import (
    cluster_rows,
    find_directions_between_clusters,
    find_unusual_starts,
    list_distinct,
    propose_starts,
)
from support.simulate import mixture, orthogonal, two_clusters

pytestmark = pytest.mark.usefixtures("sparse_samples")


def make_problem(X, weights=None, **settings):
    return Problem.of(as_rows(X), weights, settings=SearchSettings(**settings), rng=np.random.default_rng(0))


def find_cosines(directions, among):
    """Largest cosine of each direction with any of the others."""
    return np.abs(directions @ among.T).max(axis=1)


# ------------------------------------------------------------------------------------------------- proposals


@pytest.mark.parametrize("n", [2, 3, 6, 12])
def test_proposals_contain_every_kind_of_direction(n):
    problem = make_problem(mixture(500, 8)[0])
    axes, sample = problem.axes, problem.sample
    proposed = propose_starts(n, axes, sample)
    assert_allclose(np.linalg.norm(proposed, axis=1), 1.0)
    for kind in (
        axes.directions[:n],
        find_unusual_starts(axes, sample)[: 2 * n // 3],
        find_directions_between_clusters(axes, sample, min(n, 8)),
    ):
        assert (find_cosines(kind, proposed) > 0.98).all()


def test_proposals_are_not_repeated():
    problem = make_problem(two_clusters(200, 2)[0])
    proposed = problem.starts()
    cosines = np.abs(proposed @ proposed.T) - np.eye(len(proposed))
    assert cosines.max() <= 0.99
    assert list_distinct(np.repeat(proposed, 3, axis=0)) == [3 * k for k in range(len(proposed))]


@pytest.mark.parametrize("init", ["pca", "random"])
def test_other_starts_are_followed_without_screening(init):
    problem = make_problem(mixture(300, 5)[0], init=init, n_init=4)
    starts = problem.starts()
    followed = screen_starts(problem, starts)
    assert len(followed) == 4
    assert all(start.alpha is None for start in followed)
    assert_array_equal([start.direction for start in followed], starts)


def test_one_start_is_the_first_principal_component():
    problem = make_problem(mixture(300, 5)[0], n_init=1)
    assert_allclose(np.abs(problem.starts()), np.abs(problem.axes.directions[:1]))


def test_discriminant_of_two_clusters_is_that_of_the_classes():
    X, y = two_clusters(1000, 6, separation=12.0)
    problem = make_problem(X)
    (found,) = find_directions_between_clusters(problem.axes, problem.sample, 2)
    within = np.cov((X - np.array([X[y == c].mean(axis=0) for c in (0, 1)])[y]).T)
    expected = np.linalg.solve(within, X[y == 1].mean(axis=0) - X[y == 0].mean(axis=0))
    assert abs(found @ expected) / np.linalg.norm(expected) > 0.98


# ------------------------------------------------------------------------------------------------- clusters


def test_separated_clusters_are_found(rng):
    centers = np.array([[0.0, 0.0], [20.0, 0.0], [0.0, 20.0], [20.0, 20.0]])
    y = rng.integers(0, 4, 400)
    means, labels = cluster_rows(centers[y] + rng.standard_normal((400, 2)), np.ones(400), 4)
    assert len(means) == 4
    assert len({(a, b) for a, b in zip(y, labels, strict=True)}) == 4


def test_clusters_do_not_depend_on_the_order_of_rows(rng):
    X, order = rng.standard_normal((300, 4)) * [4.0, 3.0, 2.0, 1.0], rng.permutation(300)
    means, labels = cluster_rows(X, np.ones(300), 6)
    permuted_means, permuted = cluster_rows(X[order], np.ones(300), 6)
    assert_allclose(permuted_means, means, atol=1e-12)
    assert_array_equal(permuted, labels[order])


def test_weights_of_clusters_are_repetitions(rng):
    X, weights = rng.standard_normal((200, 3)) * [3.0, 2.0, 1.0], rng.integers(1, 4, 200)
    means, labels = cluster_rows(X, weights.astype(float), 5)
    repeated_means, repeated = cluster_rows(np.repeat(X, weights, axis=0), np.ones(weights.sum()), 5)
    assert_allclose(repeated_means, means, atol=1e-12)
    assert_array_equal(repeated, np.repeat(labels, weights))


@pytest.mark.parametrize(
    "X", [np.zeros((5, 2)), np.eye(2), np.repeat(np.eye(3), 4, axis=0), np.arange(3.0)[:, None]], ids=len
)
def test_fewer_different_rows_than_clusters(X):
    means, labels = cluster_rows(X, np.ones(len(X)), 6)
    assert len(means) <= max(2, len(np.unique(X, axis=0)))
    assert np.isfinite(means).all()
    assert labels.max() < len(means)


# ------------------------------------------------------------------------------------------------- screening


def test_half_of_the_starts_continue_short_paths():
    problem = make_problem(mixture(500, 8)[0], n_init=6)
    starts = screen_starts(problem, problem.starts())
    continued = [start for start in starts if start.alpha is not None]
    restarted = [start for start in starts if start.alpha is None]
    assert len(continued) <= 3
    assert [s.direction.tobytes() for s in restarted] == [s.direction.tobytes() for s in continued[: len(restarted)]]
    normals = np.array([start.direction for start in continued])
    assert list_distinct(normals) == list(range(len(normals)))


@pytest.mark.parametrize("n_init", [1, 2, 3, 6, 9])
def test_no_more_paths_than_starts_are_followed(n_init):
    mdh = MinimumDensityHyperplane(n_init=n_init).fit(mixture(300, 6)[0])
    assert {step.start for step in mdh.path_} == set(range(max(step.start for step in mdh.path_) + 1))
    assert max(step.start for step in mdh.path_) < n_init
    assert mdh.relative_depth_ > 0


@pytest.mark.parametrize("seed", range(4))
def test_screened_starts_are_at_least_as_deep_as_principal_ones(seed):
    X = mixture(400, 10, seed, nuisance=4)[0]
    auto, pca = (MinimumDensityHyperplane(init=init).fit(X).relative_depth_ for init in ("auto", "pca"))
    assert auto >= 0.99 * pca


def test_only_directions_between_clusters_find_this_valley():
    X = simulate_mixture(300, 10, k=3, separation=6.0, tail="t3", seed=1016)[0]
    problem = make_problem(X)
    unusual = [problem.space.to_original(v) for v in find_unusual_starts(problem.axes, problem.sample)]
    deepest = MinimumDensityHyperplane().fit(X).relative_depth_
    for init in ("pca", unusual):
        assert MinimumDensityHyperplane(init=init, n_init=10).fit(X).relative_depth_ < 0.9 * deepest


def test_large_data_are_screened_on_few_rows_in_any_order():
    X = mixture(5000, 4)[0]
    order = np.random.default_rng(0).permutation(len(X))
    first, second = (make_problem(rows).screening_sample for rows in (X, X[order]))
    assert first.n_rows == second.n_rows == 3000
    rows = [np.sort(s.fetch(np.arange(3000)), axis=0) for s in (first, second)]
    assert_allclose(*rows, atol=1e-9)


@pytest.mark.parametrize(
    "X",
    [
        two_clusters(100, 3)[0].astype(np.float32),
        two_clusters(30, 80)[0],
        sparse.csr_array(two_clusters(100, 3)[0].round()),
        two_clusters(8, 2)[0],
        np.repeat(two_clusters(6, 2)[0], 20, axis=0),
        two_clusters(100, 1)[0],
    ],
    ids=["float32", "row space", "sparse", "tiny", "repeated", "one feature"],
)
def test_every_kind_of_rows_is_screened(X):
    mdh = MinimumDensityHyperplane(alpha_max=1.0).fit(X)
    assert mdh.relative_depth_ > 0
    assert_array_equal(mdh.predict(X), mdh.labels_)


def test_rotation_rotates_the_screened_starts():
    X, rotation = mixture(400, 6, seed=5)[0], orthogonal(6, seed=1)
    starts, rotated = (screen_starts(p, p.starts()) for p in (make_problem(X), make_problem(X @ rotation)))
    for one, other in zip(starts, rotated, strict=True):
        assert one.alpha == other.alpha
        assert_allclose(one.direction @ rotation, other.direction, atol=1e-6)
