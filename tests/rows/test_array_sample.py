"""Sample of an array in memory: moments, answers, blocks and threads, the row space."""

import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from ravine.rows import (
    AngleDerivative,
    DenseSample,
    Gradient,
    Histogram,
    LogSum,
    Rotate,
    RowSpace,
    SetDirection,
    SetTangent,
    ValuesIn,
    array,
    as_rows,
)
from ravine.rows.base import GUESS_ROWS, ROWS_WORTH_A_THREAD
from support import reference as ref

EPS = np.finfo(float).eps


def rows(rng, n=3000, d=4):
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)


# ------------------------------------------------------------------------------------------------- moments


def assert_moments(sample, X, w=None, rel=1e-10):
    mean, covariance = ref.moments(X, w)
    spread = np.sqrt(np.diagonal(covariance).max())
    assert np.log2(sample.unit) == round(np.log2(sample.unit))
    assert (np.abs(sample.origin - mean) <= 2 * EPS * np.abs(mean) + rel * spread).all()
    error = np.abs(sample.moments().covariance * np.longdouble(sample.unit) ** 2 - covariance)
    assert (error <= rel * spread**2).all()
    assert 0.1 <= spread / np.longdouble(sample.unit) <= 2.0


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-3, 5.0), (1e6, -3e8), (1e-20, 0.0)])
def test_moments_match_extended_precision(scale, offset, dtype, order, weighted, rng):
    X = np.asarray(scale * rows(rng) + offset, dtype=dtype, order=order)
    w = rng.exponential(size=len(X)) * (rng.random(len(X)) < 0.8) if weighted else None
    assert_moments(DenseSample(X, w), X, w)


@pytest.mark.parametrize("offset", [0.0, 1e8, 1e12, -1e15])
@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
def test_huge_offsets_and_extreme_scales_cost_no_accuracy(scale, offset, rng):
    X = scale * (rows(rng) * [1.0, 10.0, 0.1, 1.0] + offset)
    assert_moments(DenseSample(X), X)


def sorted_rows(X):
    return X[np.argsort(X[:, 0])]


def atypical_first_rows(X):
    X[:50] += 1e7
    return X


def one_far_row(X):
    X[1234] = -1e9
    return X


def equal_where_looked_at_first(X):
    """Make rows that are equal wherever provisional units are guessed."""
    X[:: max(1, len(X) // GUESS_ROWS)] = 3.0
    return X


def columns_of_very_different_scale(X):
    return X * [1e-8, 1.0, 1e3, 1e8]


@pytest.mark.parametrize(
    "arrange",
    [sorted_rows, atypical_first_rows, one_far_row, equal_where_looked_at_first, columns_of_very_different_scale],
)
def test_moments_do_not_depend_on_which_rows_come_first(arrange, rng):
    X = arrange(rows(rng, 5000))
    assert_moments(DenseSample(X), X, rel=1e-12)


def test_moments_are_right_if_the_first_rows_have_zero_weight(rng):
    X, w = rows(rng, 5000) + 1e9, np.ones(5000)
    X[::4], w[::4] = 0.0, 0.0
    assert_moments(DenseSample(X, w), X, w)


def test_integer_weights_count_as_repetitions(rng):
    X, w = rows(rng, 400), rng.integers(0, 4, 400)
    weighted, repeated = DenseSample(X, w.astype(float)), DenseSample(np.repeat(X, w, axis=0))
    assert weighted.moments().total == repeated.moments().total == w.sum()
    np.testing.assert_allclose(weighted.origin, repeated.origin, rtol=1e-12)
    np.testing.assert_allclose(
        weighted.moments().covariance * weighted.unit**2,
        repeated.moments().covariance * repeated.unit**2,
        rtol=1e-10,
        atol=1e-12,
    )


@pytest.mark.parametrize("value", [0.0, 7.0, 1e300])
@pytest.mark.parametrize("n", [1, 5])
def test_equal_rows_have_no_covariance(n, value):
    sample = DenseSample(np.full((n, 3), value))
    np.testing.assert_array_equal(sample.origin, value)
    np.testing.assert_array_equal(sample.moments().covariance, 0.0)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize(("scale", "offset"), [(1.0, 0.0), (1e-300, 1e9), (1e290, 0.0), (1.0, 1e12)])
def test_higher_moments_match_their_definitions(scale, offset, order, weighted, rng, monkeypatch):
    monkeypatch.setattr(array, "SMALL_BYTES", 1 << 13)
    X = np.asarray(scale * (rng.exponential(size=(3000, 4)) + offset), order=order)
    w = rng.exponential(size=len(X)) if weighted else None
    sample, share = DenseSample(X, w), ref.weights_of(X, w)
    Z, directions = (X - sample.origin) / sample.unit, rng.standard_normal((3, 4))
    y = Z @ directions.T
    third, fourth = share @ y**3, (y * (share * (y**2).sum(axis=1))[:, None]).T @ y
    np.testing.assert_allclose(sample.third_sums(directions), third, rtol=1e-11, atol=1e-11 * np.abs(third).max())
    np.testing.assert_allclose(sample.fourth_sums(directions), fourth, rtol=1e-11, atol=1e-11 * np.abs(fourth).max())
    np.testing.assert_array_equal(sample.skewness_signs(directions), np.where(third < 0.0, -1.0, 1.0))


# ------------------------------------------------------------------------------------------------- no copies


def test_rows_are_neither_copied_nor_changed(rng):
    base = rows(rng, 100, 6)
    for dtype in (np.float32, np.float64):
        for order in "CF":
            X = np.asarray(base, dtype=dtype, order=order)
            views = [X, X[10:50], X[:, 1:4], *([X[::3], X[::-1]] if order == "C" else [X[:, ::2]])]
            for view in views:
                before = view.copy()
                sample = DenseSample(view)
                answers(sample, rng)
                assert np.shares_memory(sample.X, X)
                np.testing.assert_array_equal(view, before)


def test_rows_with_gaps_both_ways_are_copied_once(rng):
    X = rows(rng, 100, 6)[::2, ::2]
    sample = DenseSample(X)
    assert sample.X.flags.c_contiguous
    np.testing.assert_array_equal(sample.X, X)
    np.testing.assert_allclose(
        as_rows(X).project(np.zeros(3), np.arange(3.0)), X @ np.arange(3.0), rtol=1e-13, atol=1e-13
    )


# ------------------------------------------------------------------------------------------------- answers


def questions(sample, rng, pq):
    """Return one of each request, in the order of an optimisation."""
    d = sample.n_features
    v = ref.unit(rng.standard_normal(d))
    u, h = ref.tangent(rng, v), 0.3
    return [
        [SetDirection(pq, v), Histogram(pq, 0.0, -4.0, h / 4, 128)],
        [SetTangent(pq, u), Histogram(pq, 0.4, -4.0, h / 4, 128), LogSum(pq, 0.4, h, 0.1)],
        [
            ValuesIn(pq, 0.4, -0.2, 0.3),
            ValuesIn(pq, 0.0, -math.inf, math.inf),
            LogSum(pq, 0.0, h, 50.0),
        ],
        [
            AngleDerivative(pq, 0.4, h, 0.1, 3.0, 2.0),
            Rotate(pq, 0.4),
            Gradient(pq, h, 0.1, 3.0, 2.0),
        ],
    ], (v, u)


def answers(sample, rng):
    """Return all answers as one list of arrays, with the projections at the end."""
    pq = sample.new_projections()
    asked, _ = questions(sample, rng, pq)
    replies = [reply for question in asked for reply in sample.answer([question])[0]]
    flat = [part for reply in replies for part in (reply if isinstance(reply, tuple) else (reply,))]
    return [np.asarray(part) for part in flat if part is not None] + [pq.p, pq.q]


@pytest.mark.parametrize("weighted", [False, True])
def test_answers_follow_the_protocol(weighted, rng):
    X = rows(rng, 500, 5)
    w = rng.integers(0, 3, 500).astype(float) if weighted else None
    sample = DenseSample(X, w)
    Z, weight = (X - sample.origin) / sample.unit, ref.weights_of(X, w)
    pq = sample.new_projections()
    asked, (v, u) = questions(sample, rng, pq)
    x, dx = Z @ ref.circle(v, u, 0.4), Z @ ref.circle(u, -v, 0.4)
    aimed, turned, gathered, moved = [sample.answer([question])[0] for question in asked]
    inside = (Z @ v >= -4.0) & (Z @ v < -4.0 + 128 * 0.3 / 4)
    assert aimed[0] is turned[0] is moved[1] is None
    assert aimed[1][1:-1, 0].sum() == pytest.approx(weight[inside].sum())
    assert turned[2] == pytest.approx(np.log(weight @ np.exp(-0.5 * ((x - 0.1) / 0.3) ** 2)), abs=1e-12)
    order = np.argsort(x)
    order = order[(x[order] >= -0.2) & (x[order] <= 0.3) & (weight[order] > 0.0)]
    np.testing.assert_allclose(gathered[0][0], x[order], atol=1e-14)
    assert gathered[0][1] is None if w is None else (gathered[0][1] == weight[order]).all()
    assert len(gathered[1][0]) == (weight > 0.0).sum()
    share = weight * np.exp(-0.5 * ((x - 0.1) / 0.3) ** 2 - 3.0) * (0.1 - x) / 0.3**2 * (np.abs(x - 0.1) <= 2.0)
    assert moved[0] == pytest.approx(share @ dx, rel=1e-11)
    np.testing.assert_allclose(moved[2], share @ Z, rtol=1e-11, atol=1e-12)
    np.testing.assert_allclose(pq.p, x, atol=1e-13)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
def test_threads_do_not_change_a_bit(weighted, order, rng, monkeypatch):
    monkeypatch.setattr(array, "BLOCK_ROWS", 4096)
    n = ROWS_WORTH_A_THREAD + 1234
    X = np.asarray(rows(rng, n), order=order)
    w = rng.random(n) if weighted else None
    alone = DenseSample(X, w)
    with ThreadPoolExecutor(2) as pool:
        together = DenseSample(X, w, pool=pool)
        np.testing.assert_array_equal(alone.moments().covariance, together.moments().covariance)
        for one, two in zip(
            answers(alone, np.random.default_rng(1)), answers(together, np.random.default_rng(1)), strict=True
        ):
            np.testing.assert_array_equal(one, two)


def test_many_questions_in_one_round_have_the_same_answers(rng, monkeypatch):
    monkeypatch.setattr(array, "BLOCK_ROWS", 4096)
    X = rows(rng, ROWS_WORTH_A_THREAD + 1234)
    with ThreadPoolExecutor(2) as pool:
        sample = DenseSample(X, pool=pool)
        several, expected = [sample.new_projections() for _ in range(3)], []
        rounds = zip(*(questions(sample, np.random.default_rng(k), t)[0] for k, t in enumerate(several)), strict=True)
        got = [sample.answer(asked) for asked in rounds]
        for k in range(3):
            pq = sample.new_projections()
            asked, _ = questions(sample, np.random.default_rng(k), pq)
            expected.append([sample.answer([question])[0] for question in asked])
            np.testing.assert_array_equal(pq.p, several[k].p)
        for k, per_start in enumerate(expected):
            np.testing.assert_array_equal(got[0][k][1], per_start[0][1])
            np.testing.assert_array_equal(got[1][k][1], per_start[1][1])
            assert got[1][k][2] == per_start[1][2]
            np.testing.assert_array_equal(got[3][k][2], per_start[3][2])


@pytest.mark.parametrize("n_blocks", [2, 7])
def test_blocks_change_answers_by_rounding_only(n_blocks, rng, monkeypatch):
    X = rows(rng, 5000)
    whole = answers(DenseSample(X), np.random.default_rng(1))
    monkeypatch.setattr(array, "BLOCK_ROWS", math.ceil(5000 / n_blocks))
    for one, several in zip(whole, answers(DenseSample(X), np.random.default_rng(1)), strict=True):
        np.testing.assert_allclose(several, one, rtol=1e-11, atol=1e-11 * np.abs(one).max())


@pytest.mark.parametrize("weighted", [False, True])
def test_taken_rows_keep_the_working_units(weighted, rng):
    X = rows(rng, 1000) + 1e6
    w = rng.random(1000) if weighted else None
    sample, chosen = DenseSample(X, w), np.sort(rng.choice(1000, 200, replace=False))
    taken = sample.take(chosen)
    np.testing.assert_array_equal(taken.X, X[chosen])
    np.testing.assert_array_equal(taken.origin, sample.origin)
    assert (taken.unit, taken.n_rows) == (sample.unit, 200)
    assert taken.total == pytest.approx(200 if w is None else w[chosen].sum())
    _, covariance = ref.moments(X[chosen], None if w is None else w[chosen])
    np.testing.assert_allclose(taken.moments().covariance * taken.unit**2, covariance.astype(float), rtol=1e-9)
    few, all_of = taken.new_projections(), sample.new_projections()
    v = ref.unit(rng.standard_normal(4))
    taken.answer([[SetDirection(few, v)]])
    sample.answer([[SetDirection(all_of, v)]])
    np.testing.assert_array_equal(few.p, all_of.p[chosen])


# ------------------------------------------------------------------------------------------------- row space


def distances(X):
    return np.linalg.norm(X[:, None] - X[None], axis=2)


def assert_same_geometry(space, X, atol):
    """Check that the basis is orthonormal, and that the coordinates give the rows, in the units of the row space."""
    r = space.basis.shape[1]
    assert 1 <= r <= min(X.shape)
    np.testing.assert_allclose(space.basis.T @ space.basis, np.eye(r), atol=1e-13)
    inner = (space.sample.X - space.sample.origin) / space.sample.unit * space.unit
    np.testing.assert_allclose(distances(inner), distances(X), atol=atol)
    np.testing.assert_allclose(space.origin + inner @ space.basis.T, X, atol=atol + 4 * EPS * np.abs(X).max())


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("n", "d", "rank"), [(1, 4, 0), (2, 7, 1), (12, 60, 11), (40, 500, 39), (15, 30, 3)])
def test_row_space_preserves_places_and_distances(n, d, rank, weighted, dtype, rng):
    X = (rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + 1e3).astype(dtype)
    w = rng.random(n) + 0.1 if weighted else None
    space = RowSpace(X, w)
    assert_same_geometry(space, X.astype(float), atol=1e-12 * (1.0 + distances(X.astype(float)).max()))
    assert space.basis.shape[1] <= max(rank, 1) or dtype == np.float32  # rounded rows have a rank of their own


@pytest.mark.parametrize("scale", [1e-150, 1e-6, 1e150])
def test_row_space_has_no_scale(scale, rng):
    X = scale * rng.standard_normal((10, 40))
    assert_same_geometry(RowSpace(X), X, atol=1e-12 * distances(X).max())


def test_row_space_keeps_directions_of_small_variance(rng):
    """The Gram matrix squares the condition number, so the limit is about 1e-7 of the largest."""
    X = np.linalg.qr(rng.standard_normal((30, 12)))[0].T * np.logspace(0, -6, 12)[:, None]
    space = RowSpace(X)
    assert space.basis.shape[1] == 11
    assert_same_geometry(space, X, atol=1e-9)


def test_normals_of_the_row_space_give_the_same_projections(rng):
    X, w = rng.standard_normal((20, 80)), rng.random(20)
    space = RowSpace(X, w)
    normal = ref.unit(rng.standard_normal(space.basis.shape[1]))
    pq = space.sample.new_projections()
    space.sample.answer([[SetDirection(pq, normal)]])
    np.testing.assert_allclose(pq.p * space.unit, (X - space.origin) @ (space.basis @ normal), atol=1e-12)
    np.testing.assert_array_equal(space.sample.weights, w)
    np.testing.assert_allclose(space.origin, w @ X / w.sum(), atol=1e-13)


@pytest.mark.parametrize("n", [1, 4])
def test_equal_rows_still_have_coordinates(n):
    space = RowSpace(np.full((n, 9), 5.0))
    assert space.basis.shape == (9, 1)
    np.testing.assert_array_equal(space.sample.X, 0.0)
