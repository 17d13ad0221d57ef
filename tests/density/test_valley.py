"""Valleys and their tests, compared with slow reference implementations."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import binom

from ravine import ProjectedDensity
from ravine.density import Valley, find_valley, judge, measure_evidence, outline_valley
from ravine.density.projected import find_extrema
from support import reference
from support.marks import slow

# ----------------------------------------------------------------------------------------------- twins


def slow_valleys(p, h, b):
    """Return M, L and R on a fine grid for each of the 24 levels; empty if b does not separate two modes."""
    modes = reference.modes(p, h)
    if not (modes < b).any() or not (modes > b).any():
        return []
    bottom = reference.density(p, h, b)[0]
    top = reference.density(p, h, [modes[modes < b][-1], modes[modes > b][0]]).min()
    step = h / 50
    grid = b + step * np.arange(np.floor((p.min() - b) / step) - 400, np.ceil((p.max() - b) / step) + 400)
    values = np.concatenate([reference.density(p, h, part) for part in np.array_split(grid, len(grid) // 500 + 1)])
    at = int(np.argmin(np.abs(grid - b)))
    found = []
    for share in np.linspace(0.08, 0.95, 24):
        low = values < bottom + share * (top - bottom)
        m0 = m1 = at
        while low[m0]:
            m0 -= 1
        while low[m1]:
            m1 += 1
        l0, r1 = m0, m1
        while not low[l0]:
            l0 -= 1
        while not low[r1]:
            r1 += 1
        found.append((grid[[m0, m1]], grid[[l0, m0]], grid[[m1, r1]]))
    return found if top > bottom else []


def slow_counts(valley, p):
    """Count the rows in M, L and R; a shared end belongs to M."""
    (m0, m1), (l0, _), (_, r1) = valley
    return sum(m0 <= x <= m1 for x in p), sum(l0 <= x < m0 for x in p), sum(m1 < x <= r1 for x in p)


def slow_score(valley, p):
    """Return the smaller of the two binomial z-scores."""
    (in_middle, *beside), (middle, *widths) = slow_counts(valley, p), [b - a for a, b in valley]
    scores = []
    for count, width in zip(beside, widths, strict=True):
        expected = binom(in_middle + count, middle / (middle + width))
        scores.append((expected.mean() - in_middle) / max(expected.std(), 1e-150))
    return min(scores)


def slow_intervals(p, h, b):
    """Return M, L and R, with every crossing found by bisection between the points that `find_valley` uses."""
    density = ProjectedDensity(p, h)
    minima, modes = find_extrema(density._exact.evaluate_log, density._exact.place_nodes(p.min() - h, p.max() + h), h)
    below, above = modes[modes < b], modes[modes > b]
    if not len(below) or not len(above):
        return None
    bottom, top = density(b), density([below[-1], above[0]]).min()
    points = np.unique(np.concatenate([density.points(12.0), modes, minima, [b]]))
    best, values = (-np.inf, None), density(points)
    for level in bottom + np.linspace(0.08, 0.95, 24) * (top - bottom) if top > bottom else ():
        high = values >= level
        m0 = max(i for i in np.flatnonzero(high) if points[i] < b)
        m1 = min(i for i in np.flatnonzero(high) if points[i] > b)
        l0, r1 = max(np.flatnonzero(~high[:m0])), m1 + min(np.flatnonzero(~high[m1:]))
        ends = []
        for i in (l0, m0, m1 - 1, r1 - 1):
            a, c = points[i], points[i + 1]
            for _ in range(60):
                middle = 0.5 * (a + c)
                a, c = (middle, c) if (density(middle) >= level) == high[i] else (a, middle)
            ends.append(0.5 * (a + c))
        valley = np.array([ends[1:3], ends[:2], ends[2:]])
        best = max(best, (slow_score(valley, p), valley), key=lambda pair: pair[0])
    return best[1]


def intervals(valley):
    return np.array([valley.middle, valley.left, valley.right])


# ----------------------------------------------------------------------------------------------- the valley


def two_normals(rng, n=160, apart=4.0):
    return np.concatenate([rng.normal(0.0, 1.0, n // 2), rng.normal(apart, 1.0, n - n // 2)])


SHAPES = {
    "two normals": (two_normals, 0.5),
    "uneven": (lambda rng: np.concatenate([rng.normal(0.0, 1.0, 140), rng.normal(6.0, 0.5, 15)]), 0.6),
    "duplicates": (lambda rng: np.round(two_normals(rng)), 0.5),
    "two values": (lambda rng: rng.choice([0.0, 1.0], 50), 0.2),
    "outliers": (lambda rng: np.concatenate([two_normals(rng), [-9.0, 14.0, 30.0]]), 0.5),
    "deep": (lambda rng: two_normals(rng, 100, 30.0), 0.7),
    "sparse": (lambda rng: rng.uniform(0.0, 30.0, 12), 0.5),
    "shallow": (lambda rng: rng.uniform(0.0, 20.0, 120), 0.5),
    "heavy tails": (lambda rng: rng.standard_t(2, 100), 0.3),
}


def places(p, h, rng):
    """Return the deepest inner minima of the density, and points beside them."""
    grid = np.linspace(p.min(), p.max(), 400)
    at = reference.local_minima(lambda b: reference.log_density(p, h, b), grid)[1:-1]
    at = at[np.argsort(reference.log_density(p, h, at))][:2]
    return np.concatenate([at, at + rng.uniform(-0.4, 0.4, len(at)) * h])


@pytest.mark.parametrize("seed", [0, *slow(1)])
@pytest.mark.parametrize(("draw", "h"), SHAPES.values(), ids=SHAPES)
def test_valley_has_the_level_with_the_largest_score(draw, h, seed):
    rng = np.random.default_rng(seed)
    p = draw(rng)
    for b in places(p, h, rng):
        valley, slow = find_valley(p, h, b), slow_valleys(p, h, b)
        assert (valley is None) == (not slow)
        if valley is None:
            continue
        gaps = [np.abs(intervals(valley) - np.array(one)).max() / h for one in slow]
        scores = [slow_score(one, p) for one in slow]
        assert min(gaps) < 0.1, (b, gaps)
        assert slow_score(intervals(valley), p) > 0.95 * max(scores) - 0.1, (b, scores)


@pytest.mark.parametrize("scale", [1e150, *slow(1.0, 1e-150)])
@pytest.mark.parametrize(("draw", "h"), SHAPES.values(), ids=SHAPES)
def test_intervals_are_those_of_bisections(draw, h, scale):
    rng = np.random.default_rng(7)
    p = draw(rng)
    for b in places(p, h, rng)[::2]:
        valley, slow = find_valley(scale * p, scale * h, scale * b), slow_intervals(scale * p, scale * h, scale * b)
        assert (valley is None) == (slow is None)
        if valley is not None:
            assert np.abs(intervals(valley) / scale - slow / scale).max() < 1e-9 * h


@pytest.mark.parametrize("scale", [1.0, 1e150, 1e-150])
@pytest.mark.parametrize(("draw", "h"), SHAPES.values(), ids=SHAPES)
def test_extrema_are_those_of_exact_sums(draw, h, scale):
    for seed in range(3):
        p, width = scale * draw(np.random.default_rng(seed)), scale * h
        density = ProjectedDensity(p, width)
        nodes = density._exact.place_nodes(p.min() - width, p.max() + width)
        for fast, exact in zip(density.extrema(), find_extrema(density._exact.evaluate_log, nodes, width), strict=True):
            assert_allclose(fast / width, exact / width, rtol=0.0, atol=1e-7)


@pytest.mark.parametrize(("draw", "h"), SHAPES.values(), ids=SHAPES)
def test_ends_of_the_intervals_are_all_at_one_level(draw, h):
    """The density is below the level in M, and crosses it also in tails and in wide gaps between rows."""
    rng = np.random.default_rng(5)
    p = draw(rng)
    for b in places(p, h, rng):
        valley = find_valley(p, h, b)
        if valley is not None:
            ends = reference.density(p, h, intervals(valley).ravel())
            assert np.ptp(ends) < 0.05 * ends.max(), (b, ends)


def test_no_valley_without_two_modes():
    one = np.random.default_rng(0).normal(0.0, 1.0, 80)
    p = np.concatenate([one, 8.0 - one])  # two modes of one height
    low, high = reference.modes(p, 1.0)
    for b in (p.min() - 9.0, p.min(), low - 1e-3, high + 1e-3, p.max(), p.max() + 9.0):
        assert find_valley(p, 1.0, b) is None
    for b in (low + 0.01, high - 0.01):
        assert find_valley(p, 1.0, b) is not None
    assert find_valley(np.zeros(5), 0.5, 0.0) is None


def test_single_row_far_from_many_equal_rows_has_a_valley():
    """The tail of the many rows is still higher than the other mode where the evaluation ends."""
    valley = find_valley(np.append(np.zeros(99_999), 20.0), 1.0, 10.0)
    assert valley is not None
    assert valley.counts(np.append(np.zeros(99_999), 20.0)) == (0, 99_999, 1)


@pytest.mark.parametrize(
    ("shift", "scale"), [(7.25, 1.0), (0.0, 2.0**20), (1024.0, 2.0**-6), (0.0, -1.0), (-64.0, -8.0)]
)
def test_valley_moves_with_the_rows(shift, scale):
    rng = np.random.default_rng(3)
    p, h = np.round(two_normals(rng), 3), 0.5
    (b, *_) = places(p, h, rng)
    one = find_valley(p, h, b)
    other = find_valley(shift + scale * p, abs(scale) * h, shift + scale * b)
    moved = shift + scale * intervals(one)
    if scale < 0:
        moved = moved[[0, 2, 1], ::-1]
    assert_allclose(intervals(other), moved, atol=0.02 * abs(scale) * h)


# ----------------------------------------------------------------------------------------------- the outline


def slow_outline(p, h, b):
    """Return M, L and R at the levels 0.4 and 0.7, from exact sums at points h/4 apart; None without two modes."""
    x = np.arange(p.min() - 6.0 * h, p.max() + 6.25 * h, 0.25 * h)
    f = np.maximum(reference.density(p, h, x) * h * np.sqrt(2.0 * np.pi), 1e-9)
    k = min(max(int(np.sum(x < b)), 1), len(x) - 2)
    side = 1 if f[k + 1] < f[k - 1] else -1
    while 0 < k < len(x) - 1 and f[k + side] <= f[k]:
        k += side
    tops, ends = [], []
    for step in (-1, 1):
        order = np.arange(k, len(x) if step > 0 else -1, step)
        falls = np.flatnonzero(np.diff(f[order]) < 0)
        tops.append(f[order[falls[0]]] if len(falls) else f[order[-1]])
    if not min(tops) > f[k]:
        return None
    low, high = f[k] + np.array([0.4, 0.7]) * (min(tops) - f[k])
    for step in (-1, 1):
        order = np.arange(k, len(x) if step > 0 else -1, step)
        crossings = []
        for level, start in ((low, 0), (high, 0), (high, int(np.argmax(f[order] >= high)))):
            above = f[order[start:]] >= level
            at = start + int(np.argmax(above if len(crossings) < 2 else ~above))
            one, other = order[at - 1], order[at]
            crossings.append(np.interp(level, *zip(*sorted([(f[one], x[one]), (f[other], x[other])]), strict=True)))
        ends.append(crossings)
    (m0, l1, l0), (m1, r0, r1) = ends
    return np.array([(m0, m1), (l0, l1), (r0, r1)])


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(("draw", "h"), SHAPES.values(), ids=SHAPES)
def test_outline_and_evidence_are_those_of_the_slow_twin(draw, h, seed):
    rng = np.random.default_rng(seed)
    p = draw(rng)
    for b in [*places(p, h, rng), p.min() - 9.0 * h, p.max() + 9.0 * h, np.median(p)]:
        valley, slow = outline_valley(p, h, b), slow_outline(p, h, b)
        assert (valley is None) == (slow is None)
        if valley is None:
            assert measure_evidence(p, h, b) == (-np.inf, -np.inf)
            continue
        assert_allclose(intervals(valley), slow, atol=1e-5 * h)
        z = []
        for side in slow[1:]:
            (m, n), (a, c) = slow[0], side
            in_middle, beside = np.sum((m <= p) & (p <= n)), np.sum((a <= p) & (p <= c))
            expected = binom(in_middle + beside, (n - m) / (n - m + c - a))
            z.append((expected.mean() - in_middle) / max(expected.std(), 1e-150))
        assert_allclose(measure_evidence(p, h, b), z, rtol=1e-6)


def test_outline_of_a_very_narrow_bandwidth_uses_exact_sums():
    p = np.concatenate([np.linspace(0.0, 1.0, 50), np.linspace(1e5, 1e5 + 1.0, 50)])
    valley = outline_valley(p, 0.3, 3e4)
    assert valley.counts(p) == (0, 38, 38)
    assert min(measure_evidence(p, 0.3, 3e4)) > 100.0


# ----------------------------------------------------------------------------------------------- the judgement


@pytest.mark.parametrize("seed", range(5))
def test_judgement_is_two_binomial_tests(seed):
    rng = np.random.default_rng(seed)
    l0, m0, m1, r1 = np.sort(rng.uniform(-3.0, 3.0, 4)).round(1) + np.array([-0.2, -0.1, 0.1, 0.2])
    valley = Valley((m0, m1), (l0, m0), (m1, r1))
    p = np.concatenate([rng.normal(0.0, 2.0, rng.integers(0, 60)), [l0, m0, m1, r1]])
    middle, left, right = slow_counts(((m0, m1), (l0, m0), (m1, r1)), p)
    found = judge(valley, p)
    assert found.counts == (middle, left, right)
    assert_allclose(found.pvalue_left, binom.cdf(middle, middle + left, (m1 - m0) / (m1 - l0)), rtol=1e-10)
    assert_allclose(found.pvalue_right, binom.cdf(middle, middle + right, (m1 - m0) / (r1 - m0)), rtol=1e-10)
    assert found.pvalue == max(found.pvalue_left, found.pvalue_right)


def test_valley_is_significant_only_if_below_both_sides():
    valley = Valley((-1.0, 1.0), (-2.0, -1.0), (1.0, 2.0))
    left, right = np.full(50, -1.5), np.full(50, 1.5)
    both, one = judge(valley, np.concatenate([left, right])), judge(valley, left)
    assert both.pvalue < 1e-20
    assert one.pvalue_left < 1e-20
    assert one.pvalue == one.pvalue_right == 1.0
    assert judge(valley, np.array([])).pvalue == 1.0
    assert judge(valley, np.array([99.0])).counts == (0, 0, 0)
