"""Directional derivatives at ties, and the certificate of stationarity."""

import math

import numpy as np
import pytest

from ravine import Hyperplane, MinimumDensityClassifier, MinimumDensityHyperplane, PathSettings
from ravine.density import BalancePenalty
from ravine.index import LabelledRows, LabelPenalty, SemiSupervisedIndex
from ravine.rows import DenseSample
from ravine_paper import stationarity
from support import reference as ref
from support.index_answers import Asked


def mirrored(rng, d=3, n=40):
    """Three groups along the first axis, symmetric about 0 there: two equal valleys for v = e1, whatever h."""
    half = rng.standard_normal((n, d)) * 0.5
    half[:, 0] += 4.0
    other = rng.standard_normal((n, d)) * 0.5
    other[:, 0] = -half[:, 0]
    middle = rng.standard_normal((n, d)) * 0.5
    twin = middle.copy()
    twin[:, 0] *= -1.0
    twin[:, 1:] = rng.standard_normal((n, d - 1)) * 0.5
    X = np.concatenate([half, other, middle, twin])
    return X - [X[:, 0].mean(), *np.zeros(d - 1)]


def one_sided(asked, v, u, step):
    """(f(t) - f(0)) / t along the great circle, extrapolated once."""

    def value(t):
        return asked("begin", ref.unit(math.cos(t) * v + math.sin(t) * u))[0]

    at = asked("begin", v)[0]
    first, second = ((value(t) - at) / t for t in (step, 0.5 * step))
    return 2.0 * second - first


# Shallow, below 1e-6 of the peak, below 1e-300, and more bins than fit.
@pytest.mark.parametrize("h", [0.6, 0.3, 0.03, 1e-4])
@pytest.mark.parametrize("alpha", [0.7, 0.9])
def test_derivative_at_a_tie_is_the_one_sided_difference(h, alpha, rng):
    asked = Asked(mirrored(rng), h, alpha)
    v = np.array([1.0, 0.0, 0.0])
    asked("begin", v)
    assert len(asked.index.minima.ties) == 2
    gradients = asked("gradients")
    jump = np.linalg.norm((gradients[0] - gradients[1])[1:])
    assert jump > 1e-3  # a kink
    for _ in range(5):
        u = ref.tangent(rng, v)
        asked("begin", v)
        derivative = asked("directional_derivative", u)
        difference = one_sided(asked, v, u, 1e-3 * min(1.0, h) ** 2)
        assert derivative == pytest.approx(difference, abs=2e-3 * jump)
    # Along the difference of the two gradients the derivative is not odd: the function is not differentiable.
    u = np.append(0.0, (gradients[0] - gradients[1])[1:] / jump)
    asked("begin", v)
    ahead, back = asked("directional_derivative", u), asked("directional_derivative", -u)
    assert ahead + back == pytest.approx(-jump, rel=1e-6)


def test_ends_of_the_interval_tie_too(rng):
    """One symmetric group: both ends of F(v) are equally good, and the penalty takes part in both gradients."""
    half = rng.standard_normal((60, 3))
    twin = rng.standard_normal((60, 3))
    twin[:, 0] = -half[:, 0]
    X = np.concatenate([half, twin])
    asked = Asked(X - [X[:, 0].mean(), 0.0, 0.0], 0.5, 0.6)
    v = np.array([1.0, 0.0, 0.0])
    asked("begin", v)
    assert sorted(m.side for m in asked.index.minima.list_ties()) == [-1, 1]
    for _ in range(5):
        u = ref.tangent(rng, v)
        asked("begin", v)
        derivative = asked("directional_derivative", u)
        assert derivative == pytest.approx(one_sided(asked, v, u, 1e-4), abs=1e-4 * (1.0 + abs(derivative)))


def test_labels_take_part_in_directional_derivatives(rng):
    X = mirrored(rng)
    sample = DenseSample(X)
    ends = np.array([[5.5, 0.3, 0.1], [-5.5, -0.2, 0.4]]) / sample.unit
    index = SemiSupervisedIndex(
        sample, sample.moments(), 0.4 / sample.unit, BalancePenalty(0.01, 1.0), 0.9,
        labelled=LabelledRows(np.concatenate([ends, ends * [1, -1, -1]]), np.array([1.0, -1.0, 1.0, -1.0]), np.ones(4)),
        label_penalty=LabelPenalty("mean", 20.0), reference=0.4 / sample.unit, gamma=0.001,
    )  # fmt: skip
    asked = Asked(X, 0.4, 0.9)
    asked.sample, asked.index = sample, index
    v = np.array([1.0, 0.0, 0.0])
    asked("begin", v)
    assert len(index.minima.ties) == 2
    assert index.minima.log_index > index.minima.log_density  # the labels cost something
    for _ in range(5):
        u = ref.tangent(rng, v)
        asked("begin", v)
        derivative = asked("directional_derivative", u)
        assert derivative == pytest.approx(one_sided(asked, v, u, 1e-4), abs=1e-3 * (1.0 + abs(derivative)))


def test_derivative_without_a_tie_is_that_of_the_gradient(rng):
    X = rng.standard_normal((80, 4)) + np.where(np.arange(80) < 30, 5.0, 0.0)[:, None] * [1, 0, 0, 0]
    asked = Asked(X, 0.4, 0.9)
    v, u = ref.unit(rng.standard_normal(4)), None
    _, gradient = asked("begin", v)
    u = ref.tangent(rng, v)
    assert asked("directional_derivative", u) == pytest.approx(gradient @ u, rel=1e-12)
    np.testing.assert_array_equal(asked("gradients"), gradient[None])


# ------------------------------------------------------------------------------------------------- certificate


def two_groups(rng, d=4):
    X = rng.standard_normal((200, d))
    X[:80, 0] += 6.0
    return X


@pytest.mark.parametrize("d", [2, 5, 20])
def test_fitted_hyperplanes_are_certified_and_turned_ones_are_not(d, rng):
    X = two_groups(rng, d)
    mdh = MinimumDensityHyperplane(path=PathSettings(tol=1e-10)).fit(X)
    certificate = stationarity(mdh, X)
    assert certificate.norm < 1e-2
    assert certificate.lowest_offset
    assert certificate.n_minimisers == 1
    assert stationarity(mdh.hyperplane_, X) == certificate
    v = mdh.hyperplane_.normal
    turned = ref.unit(v + 0.1 * ref.tangent(rng, v))
    plane = Hyperplane(turned, mdh.hyperplane_.offset, bandwidth=mdh.bandwidth_, alpha=mdh.hyperplane_.alpha)
    assert stationarity(plane, X).norm > 100 * certificate.norm


def test_phi_descends_between_equal_valleys_with_zero_in_the_hull(rng):
    """A tie is the lower of two functions, never a minimum unless both are at theirs: eq. (25) tells, Clarke not."""
    half = rng.standard_normal((60, 2)) * [0.4, 2.0] + np.where(np.arange(60) < 20, 0.0, 4.0)[:, None] * [1.0, 0.0]
    half[:, 1] += 0.5 * half[:, 0]
    X = np.concatenate([half, half * [-1.0, 1.0]])
    plane = Hyperplane(np.array([1.0, 0.0]), 2.0, bandwidth=0.5, alpha=0.9)
    certificate = stationarity(plane, X, radius=1e-6)
    assert certificate.n_minimisers == 2
    assert certificate.norm < 1e-6
    assert certificate.steepest_descent > 0.1
    asked = Asked(X, 0.5, 0.9)
    v, u = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    for along in (u, -u):
        assert one_sided(asked, v, along, 1e-4) == pytest.approx(-certificate.steepest_descent, rel=1e-2)


def test_mirrored_rows_have_a_descent_direction_or_a_certificate(rng):
    """The norm is that of the convex hull of the two gradients: computed here by hand."""
    X = mirrored(rng, d=2)
    asked = Asked(X, 0.5, 0.9)
    v = np.array([1.0, 0.0])
    asked("begin", v)
    a, c = asked("gradients")[:, 1]
    expected = 0.0 if a * c < 0 else min(abs(a), abs(c))
    plane = Hyperplane(v, 2.0, bandwidth=0.5, alpha=0.9)
    found = stationarity(plane, X, radius=1e-7)
    assert found.n_minimisers == 2
    assert found.norm == pytest.approx(expected, abs=1e-3)


def test_better_offset_elsewhere_is_reported(rng):
    X = two_groups(rng)
    mdh = MinimumDensityHyperplane().fit(X)
    plane = mdh.hyperplane_
    moved = Hyperplane(plane.normal, plane.offset + 1.0, bandwidth=plane.bandwidth, alpha=plane.alpha)
    assert not stationarity(moved, X).lowest_offset


def test_classifiers_are_certified_with_their_labels(rng):
    X = two_groups(rng)
    y = np.full(200, -1)
    y[[0, 1, 2, 150, 160]] = [0, 0, 0, 1, 1]
    fitted = MinimumDensityClassifier(
        method="paper",
        hyperplane=MinimumDensityHyperplane(
            alpha_max=0.9, path=PathSettings(polish=True, tol=1e-10, n_alpha=20, max_iter=5)
        ),
    ).fit(X, y)
    certificate = stationarity(fitted, X, y)
    assert certificate.norm < 2e-2
    assert certificate.lowest_offset
    other = y.copy()
    other[[0, 1, 2, 150, 160]] = [1, 0, 1, 0, 1]
    assert stationarity(fitted, X, other).norm > 10 * certificate.norm


def test_weights_units_and_offsets_do_not_matter(rng):
    X = two_groups(rng, 3)
    w = rng.integers(0, 3, len(X))
    mdh = MinimumDensityHyperplane().fit(X, sample_weight=w)
    repeated = stationarity(mdh, np.repeat(X, w, axis=0), radius=1e-2)
    assert stationarity(mdh, X, radius=1e-2, sample_weight=w).norm == pytest.approx(repeated.norm, abs=1e-9)
    p = mdh.hyperplane_
    large = Hyperplane(p.normal, p.offset * 1e6, bandwidth=p.bandwidth * 1e6, alpha=p.alpha)
    assert stationarity(large, X * 1e6, sample_weight=w, radius=1e-2).norm == pytest.approx(repeated.norm, abs=1e-4)


def test_fewer_rows_than_columns(rng):
    X = rng.standard_normal((20, 40))
    X[:8, 0] += 12.0
    mdh = MinimumDensityHyperplane(path=PathSettings(tol=1e-10)).fit(X)
    assert stationarity(mdh, X).norm < 0.05


def test_one_column_is_always_stationary(rng):
    X = np.concatenate([rng.standard_normal(30), rng.standard_normal(30) + 8.0])[:, None]
    assert stationarity(MinimumDensityHyperplane().fit(X), X).norm == 0.0


def test_bad_questions_are_refused(rng):
    X = two_groups(rng, 2)
    plane = Hyperplane(np.array([1.0, 0.0]), 3.0)
    with pytest.raises(TypeError, match=r"fitted.*Hyperplane"):
        stationarity(MinimumDensityHyperplane(), X)
    with pytest.raises(ValueError, match="bandwidth"):
        stationarity(plane, X)
    with pytest.raises(ValueError, match="alpha"):
        stationarity(plane, X, bandwidth=1.0)
    with pytest.raises(ValueError, match="at infinity"):
        stationarity(Hyperplane.at_infinity([1.0, 0.0]), X)
    with pytest.raises(ValueError, match=r"3 .*2"):
        stationarity(plane, np.zeros((5, 3)), bandwidth=1.0, alpha=1.0)
    with pytest.raises(ValueError, match="radius"):
        stationarity(plane, X, radius=0.0, bandwidth=1.0, alpha=1.0)
    with pytest.raises(ValueError, match=r"^y "):
        stationarity(plane, X, np.zeros(200), bandwidth=1.0, alpha=1.0)
    with pytest.raises(ValueError, match="equal"):
        stationarity(plane, np.ones((5, 2)), bandwidth=1.0, alpha=1.0)
