"""The maximum margin clusterer against brute force over all linear separations."""

import itertools
import warnings

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine import MinimumDensityHyperplane, NoSplitWarning
from ravine_paper import MaximumMarginHyperplane
from ravine_paper.theory.margins import maximise_bounded_margin, maximise_free_margin
from support import reference as ref


@parametrize_with_checks([MaximumMarginHyperplane(n_init=1, n_random=1, n_bandwidths=2)])
def test_scikit_learn_contract(estimator, check):
    check(estimator)


@pytest.mark.parametrize("seed", [0, 1, 42])
@pytest.mark.parametrize("n_init", [1, 3])
def test_repetition_weights_and_order_give_the_same_bits(seed, n_init):
    """More features than rows: every partition can be separated, and rounding errors would choose between optima."""
    rng = np.random.default_rng(seed)
    X, weights = rng.random((15, 30)), rng.integers(0, 5, 15)
    mmh = MaximumMarginHyperplane(n_init=n_init, n_random=1, n_bandwidths=2)
    weighted = clone(mmh).fit(X, sample_weight=weights)
    order = rng.permutation(weights.sum())
    repeated = clone(mmh).fit(X.repeat(weights, axis=0)[order])
    assert weighted.coef_.tobytes() == repeated.coef_.tobytes()
    assert weighted.intercept_.tobytes() == repeated.intercept_.tobytes()
    assert_array_equal(weighted.labels_.repeat(weights)[order], repeated.labels_)


# ------------------------------------------------------------------------------------------------- brute force


def separations(X):
    """Every partition of the rows by a hyperplane: those through d rows, each of these on either side."""
    n, d = X.shape
    found = set()
    for rows in itertools.combinations(range(n), d):
        P = X[list(rows)]
        normal = np.linalg.svd(P[1:] - P[0], full_matrices=True)[2][-1] if d > 1 else np.ones(1)
        distance = X @ normal - P[0] @ normal
        for sides in itertools.product([False, True], repeat=d):
            side = distance > 0.0
            side[list(rows)] = sides
            if side.any() and not side.all():
                found.add(tuple((side if side[0] else ~side).tolist()))
    return [np.array(side) for side in found]


def in_interval(X, v, alpha):
    p = X @ v
    return p.mean() - alpha * p.std(), p.mean() + alpha * p.std()


def hard_margin(X, side):
    """The primal of the SVM by SLSQP, (margin, v, b); None if no hyperplane separates the sides."""
    s, (n, d) = np.where(side, 1.0, -1.0), X.shape
    rows = s[:, None] * np.column_stack([X, -np.ones(n)])
    start = np.append(X[side].mean(0) - X[~side].mean(0), 0.0)
    for scale in (1.0, 10.0):
        solved = minimize(
            lambda z: 0.5 * z[:d] @ z[:d], scale * start, jac=lambda z: np.append(z[:d], 0.0), method="SLSQP",
            constraints=[{"type": "ineq", "fun": lambda z: rows @ z - 1.0, "jac": lambda z: rows}],
            options={"ftol": 1e-15, "maxiter": 300},
        )  # fmt: skip
        if (rows @ solved.x).min() > 1.0 - 1e-7:
            length = np.linalg.norm(solved.x[:d])
            return (rows @ solved.x).min() / length, solved.x[:d] / length, solved.x[d] / length
    return None


def best_at(X, V, alpha):
    """For each direction (row) the best offset within the interval: its margin and itself."""
    P = np.sort((X @ V.T).T, axis=1)
    mean, half = P.mean(axis=1, keepdims=True), alpha * P.std(axis=1, keepdims=True)
    lo, hi = mean - half, mean + half
    left, right = P[:, :-1], P[:, 1:]  # both sides must have rows, also where F(v) is wider than the data
    b = np.clip(0.5 * (left + right), lo, hi)
    margins = np.minimum(b - left, right - b)
    k = margins.argmax(axis=1)
    return margins[np.arange(len(V)), k], b[np.arange(len(V)), k]


def bound_margin(X, side, alpha, starts):
    """Largest margin of a partition with b at an end of its interval, by SLSQP from several directions."""
    s, d, best = np.where(side, 1.0, -1.0), X.shape[1], 0.0
    for v in starts:
        for end in (0, 1):
            solved = minimize(
                lambda x: -x[-1],
                [*v, in_interval(X, v, alpha)[end], 0.0],
                method="SLSQP",
                constraints=[
                    {"type": "eq", "fun": lambda x: x[:d] @ x[:d] - 1.0},
                    {"type": "ineq", "fun": lambda x: s * (X @ x[:d] - x[d]) - x[-1]},
                    {"type": "ineq", "fun": lambda x: x[d] - in_interval(X, x[:d], alpha)[0]},
                    {"type": "ineq", "fun": lambda x: in_interval(X, x[:d], alpha)[1] - x[d]},
                ],
                options={"ftol": 1e-14, "maxiter": 300},
            )
            found = ref.unit(solved.x[:d])
            best = max(best, best_at(X, found[None], alpha)[0][0])  # what is feasible for sure
    return best


def brute_force(X, alpha, rng):
    """The largest margin of all hyperplanes with b in F(v)."""
    free = [(*found, side) for side in separations(X) if (found := hard_margin(X, side)) is not None]
    free.sort(key=lambda f: -f[0])
    best = 0.0
    for margin, v, b, side in free:
        if margin <= best:
            break  # the interval only takes away
        lo, hi = in_interval(X, v, alpha)
        if lo <= b <= hi:
            best = max(best, margin)
        else:
            starts = [v, *(ref.unit(v + 0.5 * rng.standard_normal(len(v))) for _ in range(3))]
            best = max(best, bound_margin(X, side, alpha, starts))
    return best


def small_problem(rng, d):
    n = int(rng.integers(max(4, d + 1), 13 if d < 3 else 9))
    X = rng.standard_normal((n, d))
    if rng.random() < 0.5:
        X[: n // 2, 0] += 3.0
    return X


def agreement(n_problems, d, alpha, seed):
    """How many problems were solved, and the largest relative error of those."""
    rng, solved, error = np.random.default_rng(seed), 0, 0.0
    for _ in range(n_problems):
        X = small_problem(rng, d)
        found, best = MaximumMarginHyperplane(alpha=alpha).fit(X), brute_force(X, alpha, rng)
        lo, hi = in_interval(X, found.hyperplane_.normal, alpha)
        assert lo - 1e-9 <= found.hyperplane_.offset <= hi + 1e-9
        if found.margin_ >= best * (1.0 - 1e-6):
            solved, error = solved + 1, max(error, abs(found.margin_ / best - 1.0))
    return solved, error


@pytest.mark.parametrize(("d", "alpha"), [(1, 0.5), (1, 1.5), (2, 0.9), (2, 1.5), (3, 0.9)])
def test_brute_force_optimum_is_found(d, alpha):
    solved, error = agreement(2, d, alpha, seed=d)
    assert solved == 2
    assert error < 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("alpha", [0.5, 0.9, 1.5])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_brute_force_optimum_is_found_on_nearly_all_problems(d, alpha):
    solved, error = agreement(20, d, alpha, seed=10 * d)
    assert solved >= 19
    assert error < 1e-6


def test_brute_force_agrees_with_a_fine_scan_of_directions(rng):
    """The twin of the twin, in two dimensions."""
    angles = np.linspace(0.0, np.pi, 20_000)
    V = np.column_stack([np.cos(angles), np.sin(angles)])
    for alpha in (0.5, 1.2):
        X = small_problem(rng, 2)
        scanned, best = best_at(X, V, alpha)[0].max(), brute_force(X, alpha, rng)
        assert scanned <= best * (1 + 1e-9)
        assert scanned == pytest.approx(best, rel=1e-3)


# ------------------------------------------------------------------------------------------------- hard margins


def test_free_margin_is_that_of_a_linear_svm_with_large_C(rng):
    for d in (1, 2, 5, 20):
        X = rng.standard_normal((80, d))
        y = np.arange(80) < 30
        X[y] += 6.0 / np.sqrt(d) if d < 5 else 2.0
        fitted = SVC(kernel="linear", C=1e8, tol=1e-9).fit(X, y)
        found = maximise_free_margin(X, y)
        if (fitted.predict(X) != y).any():
            assert found is None
            continue
        w = fitted.coef_[0]
        assert found.margin == pytest.approx(1.0 / np.linalg.norm(w), rel=1e-5)
        assert found.normal @ w / np.linalg.norm(w) == pytest.approx(1.0, abs=1e-6)
        assert np.abs((X @ found.normal - found.offset) * np.where(y, 1, -1)).min() == pytest.approx(found.margin)


def test_sides_that_overlap_have_no_margin(rng):
    X = rng.standard_normal((40, 2))
    assert maximise_free_margin(X, np.arange(40) % 2 == 0) is None


def test_bounded_margin_looks_at_all_rows(rng):
    """More rows than the first working set has: those that a solution violates are added."""
    X = rng.standard_normal((2000, 3))
    X[:200, 0] += 9.0
    X -= X.mean(axis=0)
    side = np.arange(2000) < 200
    free = maximise_free_margin(X, side)
    sigma = np.sqrt(free.normal @ np.cov(X.T, bias=True) @ free.normal)
    alpha = 0.9 * abs(free.offset) / sigma
    found = maximise_bounded_margin(X, side, np.cov(X.T, bias=True), alpha, [], free)
    assert found.bound
    assert 0.0 < found.margin < free.margin
    signed = np.where(side, 1, -1) * (X @ found.normal - found.offset)
    assert signed.min() == pytest.approx(found.margin, rel=1e-9)
    half = alpha * np.sqrt(found.normal @ np.cov(X.T, bias=True) @ found.normal)
    assert abs(found.offset) == pytest.approx(half, rel=1e-6)


# ------------------------------------------------------------------------------------------------- estimator


def two_groups(rng, n=80, d=3, distance=8.0):
    X = rng.standard_normal((n, d))
    X[: n // 4, 0] += distance
    return X


def test_limit_of_minimum_density_is_the_svm_of_its_partition(rng):
    X = two_groups(rng)
    mmh = MaximumMarginHyperplane(alpha=1.5).fit(X)
    assert_array_equal(mmh.labels_, np.arange(80) < 20)
    fitted = SVC(kernel="linear", C=1e8, tol=1e-9).fit(X, mmh.labels_)
    assert mmh.margin_ == pytest.approx(1.0 / np.linalg.norm(fitted.coef_), rel=1e-6)
    assert set(mmh.support_) == set(fitted.support_)
    assert_array_equal(mmh.labels_, mmh.predict(X))
    assert not mmh.bound_
    mdh = MinimumDensityHyperplane(bandwidth=1e-3, init=mmh.coef_, alpha_max=1.5).fit(X)
    assert mmh.margin_ >= mdh.hyperplane_.margin(X)


def test_interval_is_respected_and_reported(rng):
    X = rng.standard_normal((30, 2))
    X[0] = [40.0, 0.0]  # an outlier with a huge margin far outside the interval
    mmh = MaximumMarginHyperplane(alpha=0.3).fit(X)
    lo, hi = in_interval(X, mmh.hyperplane_.normal, 0.3)
    assert lo - 1e-9 <= mmh.hyperplane_.offset <= hi + 1e-9
    wide = MaximumMarginHyperplane(alpha=10.0).fit(X)
    assert wide.labels_.sum() == 1
    assert wide.margin_ > mmh.margin_


def test_units_and_offsets_do_not_matter(rng):
    X = two_groups(rng, n=40)
    one = MaximumMarginHyperplane().fit(X)
    for scale, shift in [(1e-8, 0.0), (1e8, 0.0), (1.0, 1e7)]:
        other = MaximumMarginHyperplane().fit(X * scale + shift)
        assert_array_equal(one.labels_, other.labels_)
        assert other.margin_ == pytest.approx(one.margin_ * scale, rel=1e-6)


def test_fewer_rows_than_columns_and_float32(rng):
    X = rng.standard_normal((10, 25)).astype(np.float32)
    mmh = MaximumMarginHyperplane().fit(X)
    found = maximise_free_margin(X.astype(float), mmh.labels_ == 1)
    assert mmh.margin_ <= found.margin * (1 + 1e-6)
    assert mmh.bound_ or mmh.margin_ == pytest.approx(found.margin, rel=1e-6)


def test_integer_weights_repeat_rows_and_zero_drops_them(rng):
    X = two_groups(rng, n=40, d=2)
    w = rng.integers(0, 3, 40)
    one, other = (
        MaximumMarginHyperplane().fit(X, sample_weight=w),
        MaximumMarginHyperplane().fit(np.repeat(X, w, axis=0)),
    )
    assert one.margin_ == pytest.approx(other.margin_, rel=1e-9)
    assert not np.isin(np.flatnonzero(w == 0), one.support_).any()


@pytest.mark.parametrize("X", [np.ones((4, 2)), np.array([[1.0, 2.0]])])
def test_equal_rows_are_not_split(X):
    with pytest.warns(NoSplitWarning, match="split"):
        mmh = MaximumMarginHyperplane().fit(X)
    assert not mmh.labels_.any()
    assert np.isnan(mmh.margin_)
    assert np.isneginf(mmh.decision_function(X)).all()


def test_duplicates_and_constant_columns(rng):
    X = np.column_stack([np.repeat([0.0, 1.0, 5.0], 4), np.full(12, 7.0)])
    mmh = MaximumMarginHyperplane(alpha=1.5).fit(X)
    assert mmh.margin_ == pytest.approx(2.0, rel=1e-9)
    assert_array_equal(mmh.labels_, np.repeat([0, 0, 1], 4))


def test_a_failed_fit_leaves_the_estimator_as_it_was(rng):
    X = two_groups(rng, n=40)
    mmh = MaximumMarginHyperplane().fit(X)
    before = mmh.margin_
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match="NaN in feature 1"):
        mmh.fit(bad)
    assert mmh.margin_ == before
    for name, value in {"alpha": -1.0, "n_bandwidths": 1, "n_random": -1, "bandwidth": "wide", "n_init": 0}.items():
        with pytest.raises(ValueError, match=name):
            clone(mmh).set_params(**{name: value}).fit(X)


def test_result_is_invariant_to_row_order_and_rotation(rng):
    X = two_groups(rng, n=50)
    Q = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    order = rng.permutation(50)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        one, other = MaximumMarginHyperplane().fit(X), MaximumMarginHyperplane().fit((X @ Q)[order])
    assert other.margin_ == pytest.approx(one.margin_, rel=1e-6)
    assert_array_equal(other.labels_, one.labels_[order])
