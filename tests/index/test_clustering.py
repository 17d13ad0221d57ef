"""The clustering index and its derivatives."""

import math

import numpy as np
import pytest

from support import reference as ref
from support.index_answers import Asked, clusters, slope_tolerance, step_size

# Smooth points and points where the penalty is active; shallow, deep and very deep valleys.
CASES = {
    "shallow, interior": {"h": 0.8, "alpha": 0.9, "data": {"distance": 2.0}},
    "shallow, at the end": {"h": 0.6, "alpha": 0.1, "data": {"distance": 1.5, "share": 0.25}},
    "one cluster, at the end": {"h": 0.5, "alpha": 0.5, "data": {"distance": 0.0}},
    "below 1e-6, interior": {"h": 0.5, "alpha": 0.5, "data": {"distance": 6.0}},
    "below 1e-6, at the end": {"h": 0.3, "alpha": 0.05, "data": {"distance": 6.0, "share": 0.2}},
    "below 1e-300, interior": {"h": 0.15, "alpha": 0.6, "data": {"distance": 10.0}},
    "below 1e-300, at the end": {"h": 0.15, "alpha": 0.05, "data": {"distance": 10.0, "share": 0.3}},
    "below 1e-300, small alpha": {"h": 0.15, "alpha": 0.01, "data": {"distance": 10.0}},
    "both ends inside the gap": {"h": 0.1, "alpha": 0.3, "data": {"distance": 10.0, "share": 0.4}},
    "upper end inside the gap": {"h": 0.3, "alpha": 0.7, "data": {"distance": 12.0, "share": 0.85}},
    "lower end inside the gap": {"h": 0.3, "alpha": 0.7, "data": {"distance": 12.0, "share": 0.15}},
    "gap beyond the end": {"h": 0.025, "alpha": 0.65, "data": {"distance": 7.1, "width": 0.04, "share": 0.297}},
    "too many bins": {"h": 2e-4, "alpha": 0.9, "data": {"distance": 5.0, "n": 40}},
    "too many bins, small alpha": {"h": 2e-6, "alpha": 0.02, "data": {"distance": 5.0, "n": 40}},
}
AT_THE_END = [name for name in CASES if "at the end" in name]
each_case = pytest.mark.parametrize("name", CASES)
weighted_or_not = pytest.mark.parametrize("weighted", [False, True])


def case(name, weighted, rng):
    """X, v (near the first axis), h, alpha, weights."""
    X = clusters(rng, **CASES[name]["data"])
    w = rng.integers(0, 3, len(X)) + 0.5 * (rng.random(len(X)) < 0.5) if weighted else None
    v = ref.unit(np.array([1.0, 0.0, 0.0]) + 0.02 * rng.standard_normal(3))
    return X, v, CASES[name]["h"], CASES[name]["alpha"], w


def twin(X, v, h, alpha, w):
    """The index and its minimiser; where F(v) is very many bandwidths long the scan is coarser and then goes deeper."""
    return ref.log_index(X, v, h, alpha, w, per_bandwidth=min(16.0, 500.0 * h), rounds=8 if h > 0.01 else 14)


def value_tolerance(value):
    """Bins are exact to 3.5e-10 of the peak, and below 1e-6 of it the sums are exact; the logarithm is rounded."""
    return 1e-11 * abs(value) + (3.5e-10 * math.exp(-value) if value > math.log(1e-6) else 1e-10)


# ------------------------------------------------------------------------------------------------- value


@weighted_or_not
@each_case
def test_value_is_the_log_of_the_penalised_minimum(name, weighted, rng):
    X, v, h, alpha, w = case(name, weighted, rng)
    index = Asked(X, h, alpha, w)
    value, _ = index("begin", v)
    expected, b = twin(X, v, h, alpha, w)
    assert value == pytest.approx(expected, rel=0.0, abs=value_tolerance(expected))
    assert index.b(v) == pytest.approx(b, abs=1e-3 * h)
    assert index.index.minima.certified


def test_value_never_rises_with_alpha(rng):
    X, v = clusters(rng, distance=8.0, share=0.8), np.array([1.0, 0.0, 0.0])
    for h in (1.0, 0.3, 0.1):
        values = [Asked(X, h, alpha)("begin", v)[0] for alpha in np.linspace(0.01, 1.2, 40)]
        assert (np.diff(values) <= 1e-9).all()


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e9, 1e150])
def test_value_and_gradient_do_not_depend_on_scale_and_place(scale, rng):
    X, v, h, alpha, _ = case("shallow, interior", False, rng)
    value, gradient = Asked(X, h, alpha)("begin", v)
    scaled, scaled_gradient = Asked(scale * (X - 1e3), scale * h, alpha)("begin", v)
    assert scaled == pytest.approx(value, abs=1e-9)
    np.testing.assert_allclose(scaled_gradient, gradient, atol=1e-9)


def test_integer_weights_count_as_repetitions(rng):
    X, v, h, alpha, _ = case("shallow, interior", False, rng)
    w = rng.integers(0, 4, len(X))
    value, gradient = Asked(X, h, alpha, w.astype(float))("begin", v)
    repeated, repeated_gradient = Asked(np.repeat(X, w, axis=0), h, alpha)("begin", v)
    assert value == pytest.approx(repeated, abs=1e-9)
    np.testing.assert_allclose(gradient, repeated_gradient, atol=1e-9)


# ------------------------------------------------------------------------------------------------- derivatives


@weighted_or_not
@each_case
def test_gradient_matches_central_differences(name, weighted, rng):
    X, v, h, alpha, w = case(name, weighted, rng)
    value, gradient = Asked(X, h, alpha, w)("begin", v)
    gradient = gradient - (gradient @ v) * v
    step = step_size(value, np.linalg.norm(gradient))
    u = ref.tangent(rng, v)
    expected = ref.central_difference(lambda s: twin(X, ref.circle(v, u, s), h, alpha, w)[0], step)
    assert gradient @ u == pytest.approx(expected, rel=0.0, abs=slope_tolerance(value, gradient))


@weighted_or_not
@pytest.mark.parametrize("name", [name for name in CASES if "shallow" in name or "one cluster" in name])
def test_gradient_matches_the_chain_rule(name, weighted, rng):
    X, v, h, alpha, w = case(name, weighted, rng)
    index = Asked(X, h, alpha, w)
    _, gradient = index("begin", v)
    expected = ref.gradient(X, v, h, alpha, index.b(v), w)
    np.testing.assert_allclose(gradient, expected, rtol=0.0, atol=1e-6 * np.linalg.norm(expected))


@weighted_or_not
@pytest.mark.parametrize("name", AT_THE_END)
def test_cases_at_the_end_have_an_active_penalty(name, weighted, rng):
    X, v, h, alpha, w = case(name, weighted, rng)
    index = Asked(X, h, alpha, w)
    index("begin", v)
    assert index.index.minima.side != 0


@weighted_or_not
@each_case
def test_slope_along_a_circle_matches_central_differences(name, weighted, rng):
    X, v, h, alpha, w = case(name, weighted, rng)
    u = ref.tangent(rng, v)
    index = Asked(X, h, alpha, w)
    index("begin", v)
    index("set_tangent", u)
    for t in (0.0, 0.01, 0.3):
        value = index("evaluate", t)
        slope = index("differentiate", t)
        expected = ref.central_difference(
            lambda s, t=t: twin(X, ref.circle(v, u, t + s), h, alpha, w)[0], step_size(value, slope)
        )
        _, gradient = Asked(X, h, alpha, w)("begin", ref.circle(v, u, t))
        assert slope == pytest.approx(expected, rel=0.0, abs=slope_tolerance(value, gradient))


@weighted_or_not
@each_case
def test_after_a_step_the_index_is_where_it_would_begin(name, weighted, rng):
    X, v, h, alpha, w = case(name, weighted, rng)
    walker = Asked(X, h, alpha, w)
    walker("begin", v)
    for t in (0.05, -0.2, 0.01):
        u = ref.tangent(rng, v)
        walker("set_tangent", u)
        walker("evaluate", 2.0 * t)
        value = walker("evaluate", t)
        v = ref.unit(ref.circle(v, u, t))
        gradient = walker("accept", t, v)
        assert np.isfinite([value, *gradient]).all()
        for again, gradient_again in (Asked(X, h, alpha, w)("begin", v), walker("begin", v)):
            assert again == pytest.approx(value, rel=0.0, abs=value_tolerance(value))
            np.testing.assert_allclose(gradient_again, gradient, atol=slope_tolerance(value, gradient))


def test_alpha_may_change_between_optimisations(rng):
    X, v, h, _, _ = case("shallow, at the end", False, rng)
    index = Asked(X, h, 0.1)
    for alpha in (0.1, 0.5, 0.9, 0.2):
        index.index.alpha = alpha
        assert index("begin", v)[0] == pytest.approx(Asked(X, h, alpha)("begin", v)[0], abs=1e-12)


# ------------------------------------------------------------------------------------------------- ties, description


def test_ties_of_symmetric_data_are_counted():
    half = np.array([[0.0, 0.3], [5.0, 0.1], [5.2, -0.4], [6.0, 0.2]])
    index = Asked(np.concatenate([half, -half]), 0.5, 0.9)
    index("begin", np.array([1.0, 0.0]))
    assert (index.index.n_evaluations, index.index.n_tied) == (1, 1)
    ties = np.sort(index.index.minima.ties)
    assert len(ties) == 2
    assert ties[0] == pytest.approx(-ties[1], rel=1e-6)
    index("begin", ref.unit([1.0, 0.3]))
    assert (index.index.n_evaluations, index.index.n_tied) == (2, 2)


def test_single_minimiser_is_not_a_tie(rng):
    X, v, h, alpha, _ = case("shallow, interior", False, rng)
    index = Asked(X, h, alpha)
    index("begin", v)
    assert (index.index.n_evaluations, index.index.n_tied) == (1, 0)


@weighted_or_not
@each_case
def test_description_has_the_exact_density_and_depth(name, weighted, rng):
    X, v, h, alpha, w = case(name, weighted, rng)
    index = Asked(X, h, alpha, w)
    index("begin", v)
    separation, b, p = index("describe"), index.b(v), X @ v
    expected = ref.log_density(p, h, b, w)[0] - ref.log_peak(h)
    # The only error left is that of b itself, rounded from working units.
    rounding = 1e-14 * (1.0 + abs(index.index.minima.slope) * np.abs(p).max() / h)
    assert separation.log_density == pytest.approx(expected, rel=1e-12, abs=1e-12 + rounding)
    kept = ref.weights_of(p, w) > 0.0
    if (p.max() - p.min()) / h < 3000.0:
        depth = ref.log_depth(p[kept], h, b, None if w is None else w[kept])
        assert separation.valid == (depth > 1e-6)
        if separation.valid:
            assert separation.log_depth == pytest.approx(depth, rel=1e-9, abs=1e-6)


@pytest.mark.parametrize("place", [8.0, 10.0, 13.0, 16.0, 25.0, 40.0])
@pytest.mark.parametrize("mirrored", [False, True])
def test_depth_is_right_next_to_a_distant_mode(mirrored, place, rng):
    X = np.concatenate([rng.normal(0.0, 1.0, (388, 1)), rng.normal(place, 0.3, (12, 1))])
    X = -X if mirrored else X
    index = Asked(X, 0.8, 4.0 / X.std())  # F(v) ends on the flank of the large cluster
    index("begin", np.ones(1))
    separation, expected = index("describe"), ref.log_depth(X[:, 0], 0.8, index.b(np.ones(1)))
    assert expected > 0.0
    assert separation.log_density > math.log(1e-6)
    assert separation.log_depth == pytest.approx(expected, abs=1e-6)


def test_no_hyperplane_beside_all_modes_is_valid(rng):
    X = clusters(rng, distance=0.0)
    index = Asked(X, 0.5, 2.5)
    index("begin", np.array([1.0, 0.0, 0.0]))
    assert not index("describe").valid
