"""Hinges, and the global minimum over b of density plus hinges, compared with naive sums and scans."""

import numpy as np
import pytest

from ravine import _kernels
from ravine.density import BalancePenalty, BinnedDensity, SortedDensity, Window
from support import reference as ref
from support.marks import slow
from support.offset_problems import DEEP, FAMILIES, RELATIVE, TOLERANCE, draw_problems

POWERS = (2.0, 2.0 - 1e-6, 1.5)
each_power = pytest.mark.parametrize("power", POWERS)


def random_hinges(rng, span, h, n=20):
    """Draw positions and weights of hinges on the right and on the left, some of them duplicated."""
    sides = []
    for _ in range(2):
        at = rng.uniform(-span, span, n) * h
        at[: n // 4] = rng.choice(at[n // 4 :], n // 4)
        sides += [at, 10.0 ** rng.uniform(-3.0, 3.0, n)]
    return sides


def naive(right, right_weights, left, left_weights, b, power, h):
    return ref.hinges(right, right_weights, b, power, h, 1) + ref.hinges(left, left_weights, b, power, h, -1)


# ------------------------------------------------------------------------------------------------- values


@each_power
@pytest.mark.parametrize("h", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("span", [0.0, 1.0, 1e3])
def test_value_slope_and_curvature_equal_naive_sums(span, h, power, rng):
    sides = random_hinges(rng, span, h)
    hinges = _kernels.Hinges(*sides, power, h)
    places = np.concatenate([sides[0][:5], sides[2][:5]])
    for b in np.concatenate([places, rng.uniform(-2.0, 2.0, 20) * (span + 1.0) * h]):
        value, slope, curvature = hinges.evaluate(b)
        expected = naive(*sides, b, power, h)
        one_sided = ref.hinges(*sides[:2], b, power, h, 1)[1]
        assert value == pytest.approx(expected[0], rel=1e-12)
        assert slope == pytest.approx(expected[1], rel=1e-12, abs=1e-12 * one_sided)
        assert curvature == pytest.approx(expected[2], rel=1e-12) or b in places  # where it jumps


@each_power
@pytest.mark.parametrize("excess", [1e-9, 1e-6, 1e-3])
def test_hinges_a_million_bandwidths_apart_do_not_cancel(excess, power, rng):
    far = np.concatenate([[0.0], rng.uniform(1.0, 1e6, 50), [1e6]])
    outside = np.array([-1e9])
    for sign in (1.0, -1.0):
        at, weights = sign * far, np.where(far == 0.0, 1e-6, 1e6)
        sides = (at, weights, sign * outside, np.ones(1)) if sign > 0 else (-outside, np.ones(1), at, weights)
        hinges = _kernels.Hinges(*sides, power, 1.0)
        for b in sign * np.array([excess, 1.0 - excess, 1e6 - excess, 1e6 + excess]):
            np.testing.assert_allclose(hinges.evaluate(b), naive(*sides, b, power, 1.0), rtol=1e-12)


@each_power
def test_hinge_is_zero_at_and_before_its_position(power):
    hinges = _kernels.Hinges(np.array([1.0, 2.0]), np.ones(2), np.array([1.0, -3.0]), np.ones(2), power, 0.1)
    assert hinges.evaluate(1.0) == (0.0, 0.0, 0.0) or power == 2.0
    assert hinges.evaluate(1.0)[:2] == (0.0, 0.0)


@pytest.mark.parametrize("sizes", [(0, 1), (1, 0), (0, 0)])
def test_empty_side_raises(sizes):
    right, left = np.zeros(sizes[0]), np.zeros(sizes[1])
    with pytest.raises(ValueError, match="each side"):
        _kernels.Hinges(right, right, left, left, 2.0, 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("argument", [0, 2])
def test_hinges_that_are_not_finite_raise(argument, bad):
    sides = [np.ones(2) for _ in range(4)]
    sides[argument][1] = bad
    with pytest.raises(ValueError, match="finite"):
        _kernels.Hinges(*sides, 2.0, 1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -1.0])
@pytest.mark.parametrize("argument", [1, 3])
def test_invalid_hinge_weights_raise(argument, bad):
    sides = [np.ones(2) for _ in range(4)]
    sides[argument][1] = bad
    with pytest.raises(ValueError, match="weight"):
        _kernels.Hinges(*sides, 2.0, 1.0)


@pytest.mark.parametrize(
    ("power", "h"), [(1.0, 1.0), (2.5, 1.0), (np.nan, 1.0), (2.0, 0.0), (2.0, -1.0), (2.0, np.nan)]
)
def test_invalid_powers_and_bandwidths_raise(power, h):
    with pytest.raises(ValueError, match=r"power must|h must"):
        _kernels.Hinges(np.zeros(1), np.ones(1), np.zeros(1), np.ones(1), power, h)


@each_power
@pytest.mark.parametrize("h", [1e-3, 1.0, 1e3])
@pytest.mark.parametrize("span", [0.0, 1.0, 30.0, 1e4])
def test_sublevel_contains_the_level_set_and_little_else(span, h, power, rng):
    for _ in range(20):
        sides = random_hinges(rng, span, h, n=int(rng.integers(1, 10)))
        level = 10.0 ** rng.uniform(-2.0, 2.0)
        hinges = _kernels.Hinges(*sides, power, h)
        lo, hi = hinges.sublevel(level)
        reach = (span + 100.0 * (level / min(sides[1].min(), sides[3].min())) ** (1.0 / power)) * h
        b = np.concatenate([np.linspace(-reach, reach, 4001), np.linspace(lo - 2 * h, hi + 2 * h, 4001)])
        values = np.array([hinges.evaluate(x)[0] for x in b])
        within = b[values <= values.min() + level * (1.0 - 1e-9)]
        assert lo <= within.min()
        assert within.max() <= hi
        # The result may be too wide by the resolution of the search and by the error of the minimum.
        for x in (lo + 0.05 * h, hi - 0.05 * h):
            slack = 0.002 * max(abs(hinges.evaluate(lo)[1]), abs(hinges.evaluate(hi)[1]))
            assert hinges.evaluate(x)[0] <= values.min() + level + slack or hi - lo < 0.2 * h


# ------------------------------------------------------------------------------------------------- global minimum


def separable(rng, p, h):
    b = rng.uniform(p.min(), p.max() + h)
    at = rng.choice(p, 8)
    return at, np.where(at > b, 1.0, -1.0)


def overlapping(rng, p, h):
    at = rng.choice(p, 12)
    return at, np.where(at + 2.0 * h * rng.standard_normal(12) > np.median(p), 1.0, -1.0)


def contradictory(rng, p, h):
    at = rng.uniform(p.min() - h, p.max() + h, 6)
    return np.tile(at, 2), np.repeat([1.0, -1.0], 6)


def far_outside(rng, p, h):
    b = p[0] + h * rng.choice([-1e3, -50.0, 50.0, 1e3])
    return b + 4.0 * h * rng.standard_normal(6), np.array([1.0, 1.0, 1.0, -1.0, -1.0, -1.0])


def on_one_side(rng, p, h):
    y = rng.choice([-1.0, 1.0])
    return p.mean() - y * h * rng.uniform(0.0, 60.0) + h * rng.standard_normal(5), np.full(5, y)


def one_label(rng, p, h):
    return rng.uniform(p.min() - h, p.max() + h, 1), rng.choice([-1.0, 1.0], 1)


def duplicated_labels(rng, p, h):
    return np.repeat(rng.choice(p, 2), 5), np.repeat(rng.choice([-1.0, 1.0], 2), 5)


def on_a_row_each(rng, p, h):
    y = rng.choice([-1.0, 1.0], min(len(p), 40))
    return p[: len(y)], y


LABELS = [
    separable, overlapping, contradictory, far_outside, on_one_side, one_label, duplicated_labels, on_a_row_each
]  # fmt: skip


def labelled_problems(family, rng, count):
    """Draw problems of the clustering index with all kinds of labels."""
    for i, (p, h, lo, hi, w) in enumerate(draw_problems(family, rng, count)):
        at, y = LABELS[i % len(LABELS)](rng, p, h)
        labels = ref.Labels(
            np.empty(0), y, gamma=10.0 ** rng.uniform(-6.0, 6.0),
            w=None if rng.random() < 0.6 else rng.exponential(size=len(y)) + 1e-6,
            form=rng.choice(["mean", "sum"]), margin=rng.choice([0.0, 1.0]), h0=h * rng.choice([0.5, 1.0, 2.0]),
        )  # fmt: skip
        yield p, h, lo, hi, w, at, labels, BalancePenalty(0.01, rng.choice([1.0, 1.0 - 1e-6, 0.5]))


def hinges_of(at, labels, h, lo, hi, penalty):
    costs = np.exp(labels.log_costs(h, penalty.epsilon) - ref.log_peak(h) + (1.0 + penalty.epsilon) * np.log(h))
    places, positive = labels.hinges(at), labels.y > 0.0
    return _kernels.Hinges(
        np.append(places[positive], hi), np.append(costs[positive], penalty.factor),
        np.append(places[~positive], lo), np.append(costs[~positive], penalty.factor),
        1.0 + penalty.epsilon, h,
    )  # fmt: skip


def exact(p, h, w):
    order = np.argsort(p)
    return SortedDensity(p[order], None if w is None else w[order], h, len(p) if w is None else w.sum())


def binned(p, h, w, a, c):
    window = Window.around(a, c, h)
    if window is None:
        return None
    moments = np.zeros((window.n_bins + 2, _kernels.MOMENTS))
    _kernels.bin(p, None, 1.0, 0.0, w, window.lo, window.width, moments)
    return BinnedDensity(moments, window, h, len(p) if w is None else w.sum())


def assert_nothing_lower(minima, function, lowest, absolute):
    slack = 1e-12 * (1.0 + abs(lowest)) + (absolute * np.exp(-lowest) if absolute else RELATIVE)
    assert minima.certified
    assert minima.log_index <= lowest + slack
    claimed = function(minima.ties)
    assert (claimed <= lowest + 2.0 * slack).all()
    assert abs(claimed[0] - minima.log_index) <= slack


@pytest.mark.parametrize("seed", [0, *slow(1)])
@pytest.mark.parametrize("family", FAMILIES)
def test_no_minimum_of_density_and_hinges_is_missed(family, seed):
    for p, h, lo, hi, w, at, labels, penalty in labelled_problems(family, np.random.default_rng(seed), 80):

        def function(b, p=p, h=h, lo=lo, hi=hi, w=w, at=at, labels=labels, epsilon=penalty.epsilon):
            return ref.log_penalised_ssc(p, at, labels, h, b, lo, hi, w, epsilon=epsilon) - ref.log_peak(h)

        _, values = ref.minimisers_ssc(
            p, at, labels, h, lo, hi, w, epsilon=penalty.epsilon, per_bandwidth=8, rounds=5, most=4000
        )
        lowest = values[0] - ref.log_peak(h)
        hinges = hinges_of(at, labels, h, lo, hi, penalty)
        a, c = hinges.sublevel(1.0)
        minima = exact(p, h, w).minimise_with(a, c, hinges)
        assert minima.n_evaluations < 10_000
        assert_nothing_lower(minima, function, lowest, 0.0)
        bins = binned(p, h, w, a, c)
        if bins is not None:
            minima = bins.minimise_with(a, c, hinges)
            if lowest > np.log(DEEP):
                assert_nothing_lower(minima, function, lowest, 2.0 * TOLERANCE)
            else:
                assert minima.certified
                assert minima.log_index < np.log(DEEP) + 1e-3


@pytest.mark.parametrize("gamma", [1e-6, 1e-4, 1e-2])
@pytest.mark.parametrize("epsilon", [1.0, 0.5])
def test_all_tied_minimisers_with_symmetric_labels_are_reported(epsilon, gamma):
    p, h, penalty = np.array([-6.0, -5.0, 0.0, 5.0, 6.0]), 0.5, BalancePenalty(0.01, epsilon)
    labels = ref.Labels(np.empty(0), np.array([1.0, -1.0]), gamma)
    hinges = hinges_of(np.array([1.0, -1.0]), labels, h, -4.0, 4.0, penalty)
    a, c = hinges.sublevel(1.0)
    for density in (exact(p, h, None), binned(p, h, None, a, c)):
        ties = np.sort(density.minimise_with(a, c, hinges).ties)
        assert len(ties) == 2
        assert ties[0] == pytest.approx(-ties[1], rel=1e-6)


@pytest.mark.parametrize("epsilon", [1.0, 1.0 - 1e-6, 0.5])
def test_a_thousand_labels_take_few_evaluations(epsilon, rng):
    p = np.concatenate([rng.normal(-600.0, 100.0, 500), rng.normal(600.0, 100.0, 500)])
    labels = ref.Labels(np.empty(0), np.where(rng.random(1000) < 0.3, np.sign(p), -np.sign(p)), 1e-6)
    hinges = hinges_of(p, labels, 1.0, -500.0, 500.0, BalancePenalty(0.01, epsilon))
    a, c = hinges.sublevel(1.0)
    for density in (exact(p, 1.0, None), binned(p, 1.0, None, a, c)):
        minima = density.minimise_with(a, c, hinges)
        assert minima.certified
        assert minima.n_evaluations < 2000
