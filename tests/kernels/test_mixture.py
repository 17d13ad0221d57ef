"""Kernels of k-means and Gaussian mixtures, compared with plain loops and with the densities of SciPy."""

import math

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import logsumexp
from scipy.stats import multivariate_normal

from ravine import _kernels

RNG = np.random.default_rng(0)
BLOBS = RNG.normal(size=(45, 3)) + np.repeat([[0.0, 0.0, 0.0], [4.0, 0.0, 1.0], [0.0, 5.0, 2.0]], 15, axis=0)
OUTLIER = np.concatenate([BLOBS, [[1e6, 0.0, 0.0]]])
INPUTS = {
    "blobs": BLOBS,
    "ties": RNG.integers(0, 3, size=(40, 2)).astype(float),
    "copies": np.repeat(RNG.normal(size=(8, 2)), 5, axis=0),
    "one feature": RNG.normal(size=(30, 1)),
    "constant feature": np.column_stack([BLOBS[:, 0], np.full(45, 7.0), BLOBS[:, 1]]),
    "tiny": 1e-150 * BLOBS,
    "huge": 1e150 * BLOBS,
    "far outlier": OUTLIER,
    "two rows": np.array([[0.0, 1.0], [2.0, 3.0]]),
    "equal rows": np.ones((12, 2)),
}
# Inputs with a covariance matrix that only the ridge makes definite are left out of those without one.
SPREAD_INPUTS = ["blobs", "one feature", "tiny", "huge", "far outlier"]


# ----------------------------------------------------------------------------------------------- k-means


def measure_square(a, b):
    return sum((u - v) * (u - v) for u, v in zip(a.tolist(), b.tolist(), strict=True))


def seed_slowly(x, uniforms):
    """Choose centers: of the candidates of each column, the one that leaves the least squared distances."""
    centers = [x[min(int(uniforms[0, 0] * len(x)), len(x) - 1)]]
    for column in uniforms.T[1:]:
        nearest = [min(measure_square(row, center) for center in centers) for row in x]
        totals = {}
        for u in column:
            left = u * sum(nearest)
            for chosen, square in enumerate(nearest):  # noqa: B007, the last one if none ends the loop
                left -= square
                if left < 0.0:
                    break
            totals.setdefault(
                chosen, sum(min(measure_square(r, x[chosen]), m) for r, m in zip(x, nearest, strict=True))
            )
        centers.append(x[min(totals, key=totals.get)])
    return centers


def fit_means_slowly(x, random, n_trials, max_steps):
    """Return the clusters of Lloyd's iterations from the best seeds, and their sum of squares."""
    least, best = math.inf, None
    for uniforms in np.split(random, len(random) // n_trials):
        centers, labels = seed_slowly(x, uniforms), None
        for _ in range(max_steps):
            squares = np.array([[measure_square(row, center) for center in centers] for row in x])
            now, total = squares.argmin(axis=1), sum(squares.min(axis=1).tolist())
            if labels is not None and (now == labels).all():
                break
            labels = now
            centers = [sum(x[now == j]) / np.sum(now == j) if (now == j).any() else c for j, c in enumerate(centers)]
        if total < least:
            least, best = total, labels
    return best, least


def fit_means(x, random, n_trials=1, max_steps=20):
    labels = np.full(len(x), -1, dtype=np.int64)
    return labels, _kernels.fit_means(x, random, n_trials, max_steps, labels)


@pytest.mark.parametrize("max_steps", [1, 2, 20])
@pytest.mark.parametrize("name", INPUTS)
def test_means_are_those_of_plain_loops(name, max_steps):
    x = INPUTS[name]
    for k, n_trials in ((1, 1), (2, 3), (3, 1), (5, 2)):
        random = np.random.default_rng(k).random((3 * n_trials, k))
        labels, total = fit_means(x, random, n_trials, max_steps)
        expected, least = fit_means_slowly(x, random, n_trials, max_steps)
        assert_array_equal(labels, expected)
        assert_allclose(total, least, rtol=1e-12)


def test_best_seeds_win():
    random = np.random.default_rng(1).random((6, 4))
    totals = [fit_means(BLOBS, random[s : s + 1])[1] for s in range(6)]
    assert len(set(totals)) > 1
    labels, total = fit_means(BLOBS, random)
    assert total == min(totals)
    assert_array_equal(labels, fit_means(BLOBS, random[[int(np.argmin(totals))]])[0])


def test_more_candidates_make_better_seeds():
    x = np.repeat(np.arange(12.0), 5)[:, None] + 0.1 * np.random.default_rng(0).normal(size=(60, 1))
    totals = {m: [fit_means(x, np.random.default_rng(s).random((m, 12)), m, 1)[1] for s in range(20)] for m in (1, 4)}
    assert np.mean(totals[4]) < 0.7 * np.mean(totals[1])


@pytest.mark.parametrize("u", [0.0, 1.0, np.nextafter(1.0, 0.0)])
def test_extreme_uniform_numbers_choose_rows(u):
    random = np.full((1, 3), u)
    assert_array_equal(fit_means(BLOBS, random)[0], fit_means_slowly(BLOBS, random, 1, 20)[0])


def test_clusters_are_fewer_than_centers_if_rows_are_equal():
    labels, total = fit_means(np.repeat([[1.0], [2.0]], 10, axis=0), np.random.default_rng(0).random((2, 5)))
    assert len(set(labels[:10])) == len(set(labels[10:])) == 1
    assert labels[0] != labels[10]
    assert total == 0.0


@pytest.mark.parametrize(
    ("shape", "n_trials", "max_steps", "size"),
    [
        ((0, 2), 1, 5, 45),
        ((1, 2), 2, 5, 45),
        ((1, 2), 0, 5, 45),
        ((1, 2), 1, 0, 45),
        ((1, 2), 1, 5, 44),
        ((1, 0), 1, 5, 45),
    ],
)
def test_means_refuse_impossible_sizes(shape, n_trials, max_steps, size):
    with pytest.raises(ValueError, match="must"):
        _kernels.fit_means(BLOBS, np.zeros(shape), n_trials, max_steps, np.zeros(size, dtype=np.int64))


# ----------------------------------------------------------------------------------------------- mixtures


def fit_mixture_directly(x, start, k, tied, ridge, max_steps, tolerance):
    """Return the most probable components after EM with whole covariance matrices; None if one collapses."""
    n, d = x.shape
    shares, last = np.eye(k)[start], -math.inf
    for _ in range(max_steps):
        weights = shares.sum(axis=0)
        if weights.min() < 2.0:
            return None
        means = [shares[:, j] @ x / weights[j] for j in range(k)]
        scatters = [(x - means[j]).T @ (shares[:, j, None] * (x - means[j])) for j in range(k)]
        if tied:
            covariances = [sum(scatters) / n + ridge * np.eye(d)] * k
        else:
            covariances = [scatters[j] / weights[j] + ridge * np.eye(d) for j in range(k)]
        logs = np.column_stack(
            [math.log(weights[j] / n) + multivariate_normal(means[j], covariances[j]).logpdf(x) for j in range(k)]
        )
        likelihood = logsumexp(logs, axis=1)
        shares = np.exp(logs - likelihood[:, None])
        if abs(likelihood.mean() - last) < tolerance:
            break
        last = likelihood.mean()
    return logs.argmax(axis=1)


def fit_mixture(x, start, k, tied, ridge, max_steps, tolerance=0.0):
    labels = start.astype(np.int64)
    return labels if _kernels.fit_mixture(x, k, tied, ridge, max_steps, tolerance, labels) else None


@pytest.mark.parametrize("tied", [True, False])
@pytest.mark.parametrize("name", SPREAD_INPUTS)
def test_mixture_is_that_of_multivariate_normal_densities(name, tied):
    x = INPUTS[name]
    start = fit_means(x, np.random.default_rng(3).random((1, 2)), max_steps=1)[0]
    ridge = 1e-3 * x.var(axis=0).mean()
    n_changed = 0
    for max_steps in (1, 2, 5, 12):
        labels = fit_mixture(x, start, 2, tied, ridge, max_steps)
        expected = fit_mixture_directly(x, start, 2, tied, ridge, max_steps, 0.0)
        assert (labels is None) == (expected is None)
        if expected is not None:
            assert_array_equal(labels, expected)
            n_changed += (labels != start).sum()
    assert n_changed > 0 or name == "far outlier"


@pytest.mark.parametrize("tied", [True, False])
def test_mixture_ends_at_the_tolerance(tied):
    start = np.arange(45) % 2
    ridge, found = 1e-3 * BLOBS.var(), []
    for tolerance in (10.0, 1e-2, 1e-3, 0.0):
        found.append(fit_mixture(BLOBS, start, 2, tied, ridge, 60, tolerance))
        assert_array_equal(found[-1], fit_mixture_directly(BLOBS, start, 2, tied, ridge, 60, tolerance))
    assert (found[0] != found[-1]).any()


def test_mixture_of_a_constant_feature_needs_a_ridge():
    x, start = INPUTS["constant feature"], np.repeat([0, 1, 1], 15)
    assert fit_mixture(x, start, 2, True, 0.0, 5) is None
    assert_array_equal(fit_mixture(x, start, 2, True, 0.01, 5), fit_mixture_directly(x, start, 2, True, 0.01, 5, 0.0))


@pytest.mark.parametrize("start", [np.eye(45, dtype=int)[3], np.zeros(45, dtype=int)])
def test_component_of_less_than_two_rows_collapses(start):
    assert fit_mixture(BLOBS, start, 2, True, 0.1, 5) is None


@pytest.mark.parametrize("labels", [[0, 2], [-1, 0], [0, 1, 1]])
def test_mixture_refuses_impossible_labels(labels):
    with pytest.raises(ValueError, match="labels must"):
        _kernels.fit_mixture(np.zeros((2, 1)), 2, True, 1.0, 5, 0.0, np.array(labels, dtype=np.int64))
