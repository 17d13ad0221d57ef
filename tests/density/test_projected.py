"""Projected density: values, derivatives, minima, modes, relative depth."""

import math

import numpy as np
import pytest

from ravine import ProjectedDensity
from ravine.density import BalancePenalty
from support import reference as ref

BOUND = 3.5e-10  # of the kernel's peak, as documented


def mixture(rng, n, h=1.0, spread=12.0):
    """Draw projections from a few clusters of different widths in a range of `spread` bandwidths."""
    k = int(rng.integers(1, 5))
    centers, widths = rng.uniform(0.0, spread * h, k), h * rng.uniform(0.05, 1.5, k)
    which = rng.integers(0, k, n)
    return rng.normal(centers[which], widths[which])


def some_weights(rng, n):
    w = rng.exponential(size=n) * (rng.random(n) < 0.8)
    w[rng.integers(n)] = 1.0
    return w


# ------------------------------------------------------------------------------------------------- values


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("h", [1e-100, 0.03, 1.0, 1e100])
def test_density_and_derivatives_match_the_equation(h, weighted, rng):
    for n in (1, 2, 17, 400):
        p = mixture(rng, n)
        w = some_weights(rng, n) if weighted else None
        density, points = ProjectedDensity(p * h, h, w), rng.uniform(p.min() - 3.0, p.max() + 3.0, 200)
        peak = np.exp(ref.log_peak(1.0))  # in units of h from here on
        slope, curvature = density.derivatives(points * h)
        expected_slope, expected_curvature = ref.derivatives(p, 1.0, points, w)
        expected = ref.density(p, 1.0, points, w)
        np.testing.assert_allclose(density(points * h) * h, expected, rtol=0.0, atol=BOUND * peak)
        np.testing.assert_allclose(slope * h * h, expected_slope, rtol=0.0, atol=3 * BOUND * peak)
        np.testing.assert_allclose(curvature * h * h * h, expected_curvature, rtol=0.0, atol=10 * BOUND * peak)
        np.testing.assert_allclose(
            density.log(points * h) + math.log(h), ref.log_density(p, 1.0, points, w), rtol=1e-12
        )


@pytest.mark.parametrize(("eta", "epsilon"), [(ref.ETA, ref.EPSILON), (0.3, 0.5), (0.001, 1.0)])
def test_penalised_density_matches_the_equation(eta, epsilon, rng):
    p, h = mixture(rng, 100, 0.5), 0.5
    lo, hi = 1.0, 3.0
    points = np.concatenate([rng.uniform(lo - 2.0, hi + 2.0, 100), [lo, hi]])
    values = ProjectedDensity(p, h).evaluate_penalised(points, lo, hi, BalancePenalty(eta, epsilon))
    expected = np.exp(ref.log_penalised(p, h, points, lo, hi, eta=eta, epsilon=epsilon))
    np.testing.assert_allclose(values, expected, rtol=1e-12, atol=BOUND * np.exp(ref.log_peak(h)))


@pytest.mark.parametrize("half_gap", [6.0, 12.0, 25.0, 37.0, 40.0, 500.0, 20_000.0])
def test_relative_accuracy_in_deep_valleys(half_gap, rng):
    """Densities range from 1e-8 of the peak to far below the smallest double."""
    p = np.concatenate([rng.normal(-half_gap, 0.5, 60), rng.normal(half_gap, 0.5, 40)])
    density, points = ProjectedDensity(p, 1.0), np.linspace(-0.8 * half_gap, 0.8 * half_gap, 41)
    expected = ref.log_density(p, 1.0, points)
    np.testing.assert_allclose(density.log(points), expected, rtol=1e-15, atol=1e-10)
    value = density(points)
    deep = (expected > -700.0) & (expected < np.log(1e-6) + ref.log_peak(1.0))
    np.testing.assert_allclose(value[deep], np.exp(expected[deep]), rtol=1e-12)
    assert (value[expected < -760.0] == 0.0).all()


@pytest.mark.parametrize("ratio", [1.0, 1e6, 1e12])
def test_log_density_is_exact_for_very_unequal_weights(ratio):
    p, w = np.array([0.0, 8.0, 9.5]), np.array([1.0, 1.0, ratio])
    points = np.linspace(-5.0, 12.0, 35)
    np.testing.assert_allclose(ProjectedDensity(p, 1.0, w).log(points), ref.log_density(p, 1.0, points, w), atol=1e-10)


@pytest.mark.parametrize("shape", [(), (0,), (3,), (2, 3)])
def test_values_have_the_shape_of_the_points(shape):
    density, points = ProjectedDensity([0.0, 1.0], 0.5), np.zeros(shape)
    assert density(points).shape == density.log(points).shape == density.derivatives(points)[1].shape == shape


def test_weights_count_as_repetitions(rng):
    p, w = mixture(rng, 60), rng.integers(0, 4, 60)
    repeated, weighted = ProjectedDensity(np.repeat(p, w), 0.4), ProjectedDensity(p, 0.4, w)
    points = np.linspace(p.min(), p.max(), 100)
    np.testing.assert_allclose(weighted.log(points), repeated.log(points), rtol=1e-13, atol=1e-13)
    assert weighted.total == repeated.total
    lo, hi = np.quantile(p, [0.3, 0.7])
    assert weighted.minimise(lo, hi).log_index == pytest.approx(repeated.minimise(lo, hi).log_index, abs=1e-12)


@pytest.mark.parametrize("d", [2, 3, 4, 5])
def test_density_on_hyperplane_bounds_density_at_its_points(d, rng):
    """Lemma 1, with equality if all rows lie on one normal through the point."""
    for _ in range(20):
        h, v = rng.uniform(0.2, 2.0), ref.unit(rng.standard_normal(d))
        X = rng.standard_normal((30, d))
        at = rng.standard_normal(d)
        bound = (2.0 * np.pi * h**2) ** ((1 - d) / 2)
        assert ref.kernel_density(X, h, at) <= bound * ProjectedDensity(X @ v, h)(v @ at) * (1.0 + 1e-8)
        X = at + np.outer(rng.standard_normal(30), v)
        assert ref.kernel_density(X, h, at) == pytest.approx(bound * ProjectedDensity(X @ v, h)(v @ at), rel=1e-8)


# ------------------------------------------------------------------------------------------------- extrema


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("spread", [5.0, 12.0, 60.0, 2000.0])
def test_all_minima_and_modes_are_found(spread, weighted, rng):
    for _ in range(12):
        n = int(rng.integers(1, 60))
        p = mixture(rng, n, spread=spread)
        w = some_weights(rng, n) if weighted else None
        density = ProjectedDensity(p, 1.0, w)
        kept = p[ref.weights_of(p, w) > 0.0]
        expected = ref.modes(kept, 1.0, None if w is None else w[w > 0.0])
        modes, minima = density.modes(), density.minima()
        np.testing.assert_allclose(modes, expected, atol=1e-5)
        assert len(minima) == len(modes) - 1
        assert ((minima > modes[:-1]) & (minima < modes[1:])).all()
        slope, curvature = ref.log_derivatives(p, 1.0, np.concatenate([modes, minima]), w)
        np.testing.assert_allclose(slope / curvature, 0.0, atol=1e-8)  # length of the next Newton step


@pytest.mark.parametrize("elsewhere", [[], [-4000.0, 4000.0]])
@pytest.mark.parametrize("half_distance", [1.0005, 1.002, 1.01, 1.1])
def test_two_modes_that_nearly_merge_are_distinguished(half_distance, elsewhere):
    """Two equal kernels have two modes, the solutions of x = a tanh(a x), as soon as they are 2h apart."""
    mode = 0.5
    for _ in range(20_000):
        mode = half_distance * math.tanh(half_distance * mode)
    density = ProjectedDensity([-half_distance, half_distance, *elsewhere], 1.0)
    np.testing.assert_allclose(density.modes(-2.0, 2.0), [-mode, mode], atol=1e-4)
    np.testing.assert_allclose(density.minima(-2.0, 2.0), [0.0], atol=1e-4)


def test_extrema_of_an_interval_are_those_inside(rng):
    p = np.concatenate([rng.normal(c, 0.3, 20) for c in (0.0, 5.0, 9.0, 15.0)])
    density = ProjectedDensity(p, 0.6)
    minima, modes = density.minima(), density.modes()
    assert len(modes) >= 4
    for lo, hi in ((-3.0, 7.0), (1.0, 12.0), (minima[0] - 1e-6, modes[1] + 1e-6)):
        np.testing.assert_allclose(density.minima(lo, hi), minima[(minima >= lo) & (minima <= hi)], atol=1e-9)
        np.testing.assert_allclose(density.modes(lo, hi), modes[(modes >= lo) & (modes <= hi)], atol=1e-9)


@pytest.mark.parametrize("h", [1e-2, 1e-4, 1e-7])
def test_tiny_bandwidth_gives_modes_at_rows_and_minima_in_gaps(h, rng):
    p = np.sort(rng.permutation(np.arange(40)) + rng.uniform(-0.2, 0.2, 40))
    density = ProjectedDensity(p, h)
    np.testing.assert_allclose(density.modes(), p, atol=1e-9)
    np.testing.assert_allclose(density.minima(), 0.5 * (p[1:] + p[:-1]), atol=10.0 * h**2 + 1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_relative_depth_matches_the_equation(weighted, rng):
    for _ in range(40):
        n = int(rng.integers(1, 80))
        p = mixture(rng, n)
        w = some_weights(rng, n) if weighted else None
        density = ProjectedDensity(p, 1.0, w)
        beside_a_mode = density.modes() + rng.choice([-0.03, 0.03])
        for b in (rng.uniform(p.min() - 2.0, p.max() + 2.0), *density.minima(), *beside_a_mode):
            assert density.relative_depth(b) == pytest.approx(ref.relative_depth(p, 1.0, b, w), rel=1e-6, abs=1e-9)


def test_relative_depth_is_zero_without_two_modes():
    density = ProjectedDensity([0.0, 0.1, 10.0, 10.1], 1.0)
    assert [density.relative_depth(b) for b in (-50.0, -1.0, 11.0, 80.0)] == [0.0, 0.0, 0.0, 0.0]
    assert density.relative_depth(5.0) > 1e4
    assert ProjectedDensity([3.0, 3.0], 1.0).relative_depth(3.0) == 0.0


def test_relative_depth_is_huge_but_finite_in_the_deepest_valley():
    assert 1e300 < ProjectedDensity([0.0, 1.0], 1e-3).relative_depth(0.5) < math.inf


# ------------------------------------------------------------------------------------------------- bad arguments


@pytest.mark.parametrize("projections", [[], [np.nan], [0.0, np.inf]])
def test_invalid_projections_raise(projections):
    with pytest.raises(ValueError, match="projections"):
        ProjectedDensity(projections, 1.0)


@pytest.mark.parametrize("bandwidth", [0.0, -1.0, np.nan, np.inf])
def test_invalid_bandwidth_raises(bandwidth):
    with pytest.raises(ValueError, match="bandwidth"):
        ProjectedDensity([0.0], bandwidth)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan], [1.0, np.inf]])
def test_invalid_weights_raise(weights):
    with pytest.raises(ValueError, match="weights"):
        ProjectedDensity([0.0, 1.0], 1.0, weights)


@pytest.mark.parametrize("interval", [(1.0, 0.0), (np.nan, 1.0), (0.0, np.nan), (-np.inf, np.inf), (0.0, np.inf)])
def test_minimise_over_an_invalid_interval_raises(interval):
    with pytest.raises(ValueError, match="lo"):
        ProjectedDensity([0.0, 1.0], 1.0).minimise(*interval)


@pytest.mark.parametrize("interval", [(1.0, 0.0), (np.nan, 1.0), (2.0, 2.0)])
def test_extrema_of_an_empty_interval_raise(interval):
    density = ProjectedDensity([0.0, 1.0], 1.0)
    for extrema in (density.minima, density.modes):
        with pytest.raises(ValueError, match="empty"):
            extrema(*interval)


@pytest.mark.parametrize("bad", [{"eta": 0.0}, {"eta": 2.0}, {"eta": np.nan}, {"epsilon": 0.0}, {"epsilon": 1.5}])
def test_penalty_that_is_not_convex_raises(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        BalancePenalty(**bad)


def test_modes_of_many_equal_rows_cost_a_few_nodes():
    """Rows close together share their nodes even if one row is far away."""
    density = ProjectedDensity(np.concatenate([np.zeros(10_000), [1e9]]), 1.0)
    assert len(density._exact.place_nodes(-1.0, 1e9 + 1.0)) < 50
    assert density.modes() == pytest.approx([0.0, 1e9], abs=1e-6)


@pytest.mark.filterwarnings("error")
def test_projections_whose_range_overflows_are_refused():
    with pytest.raises(ValueError, match=r"projections .*-1\.7e\+308"):
        ProjectedDensity([0.0, -1.7e308], 1e307)
    with pytest.raises(ValueError, match="bandwidth"):
        ProjectedDensity([0.0, 1.0], 1e301)


def test_bandwidths_below_the_rounding_of_rows_are_refused():
    with pytest.raises(ValueError, match="too small"):
        ProjectedDensity([0.0, 1e20], 1.0)
    with pytest.raises(ValueError, match=r"^b "):
        ProjectedDensity([0.0, 1.0], 0.5).relative_depth(np.inf)
