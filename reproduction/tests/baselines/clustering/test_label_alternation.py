"""The best cut against a slow twin, and the alternation with scripted regressions."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine_paper.baselines.clustering.label_alternation import compute_smallest_side, find_best_cut, maximise_margin

# ----------------------------------------------------------------------------------------------- cut


def slow_cut(values, fewest):
    """Try every midpoint between two neighbouring values, one by one: O(n²)."""
    best = None
    ordered = np.sort(values)
    for lower, upper in pairwise(ordered):
        c = (lower + upper) / 2
        below = int((values <= lower).sum())
        if lower == upper or min(below, len(values) - below) < fewest:
            continue
        loss = sum(abs(1 - abs(v - c)) for v in values)
        if best is None or loss < best[1] - 1e-12:
            best = c, loss
    return best


@pytest.mark.parametrize("seed", range(30))
def test_cut_is_that_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 60))
    values = [
        rng.standard_normal(n) * 10.0 ** rng.integers(-3, 3),
        rng.integers(-2, 3, n).astype(float),
        rng.integers(-8, 8, n) / 4.0 + 1e6,
    ][seed % 3]
    fewest = int(rng.integers(1, max(2, n // 4)))
    expected = slow_cut(values, fewest)
    if expected is None:
        return
    cut, loss = find_best_cut(values, fewest)
    assert_allclose(loss, expected[1], rtol=1e-9, atol=1e-9)
    assert_allclose(sum(abs(1 - abs(v - cut)) for v in values), loss, rtol=1e-9, atol=1e-7)
    assert min((values > cut).sum(), (values <= cut).sum()) >= fewest


def test_cut_of_tied_values_is_the_most_balanced_or_none():
    assert find_best_cut(np.full(5, 2.0), 1) is None
    cut, _ = find_best_cut(np.array([0.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 2.0, 2.0]), 4)
    assert 1.0 <= cut < 2.0


def test_cut_between_neighbouring_floats_separates_them():
    values = np.array([1.0, 1.0, np.nextafter(1.0, 2.0), np.nextafter(1.0, 2.0)])
    cut, _ = find_best_cut(values, 2)
    assert_array_equal(values > cut, [False, False, True, True])
    cut, _ = find_best_cut(-values, 2)
    assert_array_equal(-values > cut, [True, True, False, False])


@pytest.mark.parametrize("n", [2, 3, 10, 11, 699])
@pytest.mark.parametrize("balance", [0.0, 0.03, 0.05, 0.3, 1.0])
def test_fewest_is_the_smallest_side_that_the_balance_allows(n, balance):
    allowed = [k for k in range(1, n // 2 + 1) if n - 2 * k <= balance * n + 1e-9] or [n // 2]
    assert compute_smallest_side(n, balance) == allowed[0]


# ----------------------------------------------------------------------------------------------- alternation


class Scripted:
    """Regressor with given values."""

    def __init__(self, *values):
        self.values, self.asked = [np.asarray(v, dtype=float) for v in values], []

    def regress(self, targets):
        self.asked.append(targets.copy())
        k = (len(self.asked) - 1) % len(self.values)
        return self.values[k], 0.0, k

    def contrast(self, targets):
        return np.arange(len(targets), dtype=float)


START = np.array([1.0, -1.0, -1.0, 1.0])


def alternate(regressor, start=START, **options):
    return maximise_margin(regressor, start, **{"C": 1.0, "fewest": 1, "max_iter": 50, "tol": 0.0, **options})


def test_repeated_labels_end_the_alternation():
    regressor = Scripted([-1, -1, 1, 1])
    found = alternate(regressor)
    assert found.converged
    assert found.n_iter == 2
    assert_array_equal(regressor.asked[1], [-1, -1, 1, 1])


def test_cycle_ends_and_the_best_is_kept():
    regressor = Scripted([-1.5, -1, 1, 1], [-1, 1, -1, 1], [-1.2, 1, 1, 1])
    found = alternate(regressor)
    assert found.converged
    assert found.objective == 0.0
    assert found.solution == 1
    opposite = Scripted([-1, -1, 1, 1], [1.5, 1, -1, -1])  # the negative labels are the same problem
    assert alternate(opposite).n_iter == 2


def test_alternation_stops_at_max_iter():
    values = np.random.default_rng(0).standard_normal((20, 30))
    found = alternate(Scripted(*values), np.where(np.arange(30) % 2, 1.0, -1.0), max_iter=5)
    assert not found.converged
    assert found.n_iter == 5


def test_constant_regression_starts_again_from_a_balanced_cut():
    start = np.array([-1.0] * 9 + [1.0])
    regressor = Scripted(np.zeros(10), np.arange(10.0))
    alternate(regressor, start, fewest=4, max_iter=1)
    assert_array_equal(regressor.asked[1], [-1] * 6 + [1] * 4)
    assert alternate(Scripted(np.zeros(10)), start) is None
