"""Global minimum of the penalised density over b, compared with a scan."""

import numpy as np
import pytest

from ravine import ProjectedDensity
from ravine.density import BalancePenalty
from support import reference as ref
from support.marks import slow
from support.offset_problems import DEEP, FAMILIES, RELATIVE, TOLERANCE, draw_problems


def assert_nothing_lower(minima, p, h, lo, hi, w=None, **options):
    """Assert that the result is a minimiser, and that a scan finds none that is lower by more than the tolerance."""
    peak = ref.log_peak(h)
    _, values = ref.minimisers(p, h, lo, hi, w, rounds=5, **options)
    lowest = values[0] - peak
    slack = 1e-3 * RELATIVE * abs(lowest) + (RELATIVE if lowest < np.log(DEEP) else 2.0 * TOLERANCE / np.exp(lowest))
    assert minima.certified
    assert minima.log_index <= lowest + slack
    # Rounding of an end of the interval does not count as a violation.
    b = np.clip(minima.b, lo, hi) if ref.excess(minima.b, lo, hi) < 1e-12 * (h + abs(minima.b)) else minima.b
    claimed = ref.log_penalised(p, h, np.array([b]), lo, hi, w)[0] - peak
    assert claimed <= lowest + slack
    assert abs(claimed - minima.log_index) <= slack


@pytest.mark.parametrize("seed", [0, *slow(1, 2)])
@pytest.mark.parametrize("family", FAMILIES)
def test_no_minimum_is_missed(family, seed):
    for p, h, lo, hi, w in draw_problems(family, np.random.default_rng(seed), 48):
        minima = ProjectedDensity(p, h, w).minimise(lo, hi)
        assert_nothing_lower(minima, p, h, lo, hi, w)


@pytest.mark.parametrize("family", FAMILIES)
def test_the_penalty_moves_minimisers_by_no_more_than_eta(family):
    """Proposition 2: a constrained minimiser has a penalised one within eta, and none is further outside F(v).

    Where a second constrained minimum is almost as low, the strip outside F(v) may turn the scales: left out.
    """
    checked = 0
    for p, h, lo, hi, w in draw_problems(family, np.random.default_rng(7), 40):
        minima = ProjectedDensity(p, h, w).minimise(lo, hi)
        eta = BalancePenalty().eta * h
        assert ((minima.ties >= lo - eta) & (minima.ties <= hi + eta)).all()
        b, values = ref.minimisers(p, h, lo, hi, w, eta=1e-9)  # the strip is negligible: the constrained problem
        if (values[1:][np.abs(b[1:] - b[0]) > 2.0 * eta] > values[0] + 1.0).all():
            assert np.abs(minima.ties - b[0]).min() <= eta + 1e-4 * h
            checked += 1
    assert checked >= 10


@pytest.mark.parametrize(("lo", "hi", "side"), [(0.5, 1.0, -1), (-1.0, -0.5, 1), (-1.0, 1.0, 0)])
def test_side_is_the_end_of_the_interval_beyond_which_b_lies(lo, hi, side):
    minima = ProjectedDensity([-3.0, 3.0], 1.0).minimise(lo, hi)
    assert minima.side == side
    assert minima.b == pytest.approx(np.clip(0.0, lo, hi), abs=0.01)
    assert (minima.b < lo, minima.b > hi) == (side < 0, side > 0)


@pytest.mark.parametrize("h", [1.0, 0.8, 0.25, 0.02])
@pytest.mark.parametrize("epsilon", [0.5, 0.9, 1.0])
@pytest.mark.parametrize("eta", [1e-4, 0.1])
def test_other_penalties_are_minimised_too(eta, epsilon, h, rng):
    p = np.concatenate([rng.normal(-3.0, 0.5, 30), rng.normal(3.0, 0.5, 20)])
    for lo, hi in ((-2.5, -1.0), (1.0, 2.0), (-4.5, -3.0), (-1.0, 1.0)):
        minima = ProjectedDensity(p, h).minimise(lo, hi, BalancePenalty(eta, epsilon))
        b, values = ref.minimisers(p, h, lo, hi, eta=eta, epsilon=epsilon)
        assert minima.log_index == pytest.approx(values[0] - ref.log_peak(h), rel=1e-12, abs=1e-8)
        assert minima.b == pytest.approx(b[0], abs=1e-4 * h)


@pytest.mark.parametrize("h", [0.8, 0.4, 0.15, 0.05])
def test_tied_minimisers_of_symmetric_data_are_all_reported(h):
    p = np.array([-6.0, -5.0, 0.0, 5.0, 6.0])
    minima = ProjectedDensity(p, h).minimise(-4.0, 4.0)
    assert len(minima.ties) == 2
    np.testing.assert_allclose(np.sort(minima.ties), [-1.0, 1.0] * np.abs(minima.ties), atol=1e-7 * h)
    assert minima.ties[0] == minima.b


@pytest.mark.parametrize("h", [1.0, 0.5, 0.1])
def test_minimisers_that_are_not_tied_are_not_reported(h):
    minima = ProjectedDensity([-6.0, -5.0, 0.0, 5.1, 6.0], h).minimise(-4.0, 4.0)
    assert len(minima.ties) == 1
    assert minima.b > 0.0


@pytest.mark.parametrize("h", [0.5, 0.25, 0.1])
@pytest.mark.parametrize("mirrored", [False, True])
def test_minimum_exactly_at_an_end_of_the_interval(mirrored, h):
    lo, hi = (0.0, 3.0) if mirrored else (-3.0, 0.0)
    minima = ProjectedDensity([-2.0, 2.0], h).minimise(lo, hi)
    assert minima.b == pytest.approx(0.0, abs=1e-6)
    assert minima.log_index == pytest.approx(-2.0 / h**2, rel=1e-7)


@pytest.mark.parametrize("b", [-30.0, -1.0, 0.0, 0.7, 4.0])
def test_an_interval_of_one_point_gives_the_density_there(b, rng):
    p = rng.normal(size=40)
    minima = ProjectedDensity(p, 0.5).minimise(b, b)
    assert minima.b == pytest.approx(b, abs=0.005)
    assert_nothing_lower(minima, p, 0.5, b, b)


@pytest.mark.parametrize("h", [1e-2, 1e-3, 1e-5, 1e-6])
def test_tiny_bandwidth_minimiser_is_middle_of_widest_gap(h, rng):
    """Section 3: the density is dominated by the nearest row, so the largest margin in F(v) wins."""
    for _ in range(10):
        p = np.sort(rng.uniform(-10.0, 10.0, 30))
        lo, hi = -6.0, 6.5
        candidates = np.concatenate([[lo, hi], 0.5 * (p[1:] + p[:-1])])
        candidates = candidates[(candidates >= lo) & (candidates <= hi)]
        largest = max(ref.margin(p, b) for b in candidates)
        minima = ProjectedDensity(p, h).minimise(lo, hi)
        assert ref.margin(p, minima.b) >= largest - 30.0 * h**2 / largest - 1e-12
        assert minima.log_index == pytest.approx(-0.5 * (largest / h) ** 2, rel=1e-6, abs=10.0)
        assert minima.certified


@pytest.mark.parametrize("gap", [100.0, 1e3, 1e4, 1e6])
def test_valley_between_two_clusters_is_found_at_any_width(gap, rng):
    p = np.concatenate([rng.normal(-gap, 1.0, 30), rng.normal(gap, 1.0, 20)])
    middle = 0.5 * (p[:30].max() + p[30:].min())
    minima = ProjectedDensity(p, 1.0).minimise(-0.9 * gap, 0.9 * gap)
    assert minima.b == pytest.approx(middle, abs=1e-9 * gap + 10.0 / gap)
    assert minima.side == 0


@pytest.mark.parametrize("h", [1e-7, 1e-9, 1e-11, 1e-12])
def test_minimum_in_a_gap_so_wide_that_the_reach_rounds(h):
    density = ProjectedDensity([0.0, 1.0], h)
    assert np.isfinite(density.log(np.linspace(0.0, 1.0, 2001))).all()
    assert density.minimise(0.1, 0.9).b == pytest.approx(0.5, abs=1e-9)
    assert density.minima() == pytest.approx([0.5], abs=1e-9)
