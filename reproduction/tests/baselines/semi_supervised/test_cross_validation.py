"""Choice of parameters by cross-validation on the labels."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from paper_support.baseline_problems import FIXED, GRIDS, X, Y
from ravine.checks import make_generator
from ravine_paper.baselines import SSSL, XNV, GradientTSVM, LaplacianSVM
from ravine_paper.baselines.semi_supervised.cross_validation import split_labels


@pytest.mark.parametrize(("n_first", "n_second", "n_folds"), [(2, 3, 5), (5, 5, 10), (6, 5, 5), (2, 30, 5), (99, 7, 5)])
def test_folds_leave_one_out_or_are_stratified(n_first, n_second, n_folds):
    signs = np.random.default_rng(0).permutation(np.repeat([-1.0, 1.0], [n_first, n_second]))
    folds = split_labels(signs, np.random.default_rng(0))
    assert len(folds) == n_folds
    assert_array_equal(np.sort(np.concatenate([test for _, test in folds])), np.arange(len(signs)))
    for train, test in folds:
        assert_array_equal(np.sort(np.concatenate([train, test])), np.arange(len(signs)))
        assert set(signs[train]) == {-1.0, 1.0}
    for sign in (-1.0, 1.0):
        counts = [np.sum(signs[test] == sign) for _, test in folds]
        assert max(counts) - min(counts) <= 1


def test_no_folds_where_a_class_has_one_label():
    assert split_labels(np.array([1.0, -1.0, -1.0, -1.0]), np.random.default_rng(0)) == []


def test_very_many_labels_are_not_all_used_to_choose():
    signs = np.repeat([-1.0, 1.0], [9_995, 5])
    folds = split_labels(signs, np.random.default_rng(0))
    used = np.concatenate([test for _, test in folds])
    assert 900 < len(used) < 1100
    assert np.sum(signs[used] == 1.0) >= 2


# ----------------------------------------------------------------------------------------------- methods


def test_class_with_one_label_uses_the_documented_defaults(method):
    y = Y.copy()
    y[np.flatnonzero(y == 1)[1:]] = -1
    found = method(random_state=0).fit(X, y)
    assert found.chosen_ == [FIXED[method]]
    assert np.isnan(found.cv_errors_).all()
    assert_array_equal(
        found.decision_function(X), method(**FIXED[method], random_state=0).fit(X, y).decision_function(X)
    )


def test_single_values_are_used_without_choice(method):
    settings = dict.fromkeys(GRIDS[method], 3)
    found = method(**settings, random_state=0).fit(X, Y)
    assert found.chosen_ == [settings]
    assert np.isnan(found.cv_errors_).all()


def test_ties_go_to_the_defaults(method):
    found = method(random_state=0).fit(X, Y)
    if method is not XNV:  # whitening amplifies noise
        assert found.cv_errors_[0] == 0.0
    if found.cv_errors_[0] == 0.0 and method in (SSSL, GradientTSVM):
        assert found.chosen_ == [FIXED[method]]


def unequal_classes():
    """Return classes that are separated along the axis of least variance, with 40 of 90 rows labelled."""
    rng = np.random.default_rng(2)
    truth = (np.arange(90) % 3 == 0).astype(int)
    rows = rng.standard_normal((90, 3)) * [3.0, 2.0, 0.6]
    rows[:, 2] += np.where(truth, 1.0, -0.5)
    return rows, np.where(np.arange(90) < 40, truth, -1)


@pytest.mark.parametrize(
    ("method", "grid", "best"),
    [
        (LaplacianSVM, {"penalty": (1e-3, 1e6), "manifold_ratio": 0.0}, {"penalty": 1e-3, "manifold_ratio": 0.0}),
        (SSSL, {"n_components": (1, 3)}, {"n_components": 3}),
        (GradientTSVM, {"C": (1e-6, 10.0), "unlabelled_weight": 0.0}, {"C": 10.0}),
    ],
)
def test_clearly_better_candidate_is_chosen(method, grid, best):
    assert method(**grid, random_state=0).fit(*unequal_classes()).chosen_ == [best]


@pytest.mark.parametrize(
    ("method", "name", "grid", "slack"),
    [
        (SSSL, "n_components", (1, 2, 3), 0.0),
        (XNV, "penalty", (1e-3, 0.1, 3.0), 0.0),
        (LaplacianSVM, "penalty", (1e-3, 0.1, 1.0), 1.0),  # rounded hinges
        (GradientTSVM, "C", (0.1, 1.0, 10.0), 3.0),  # held-out labels are dropped there, but unlabelled here
    ],
)
@pytest.mark.parametrize("n_labels", [10, 40])
def test_cross_validated_error_is_that_of_separate_fits(method, name, grid, slack, n_labels):
    rows, y = unequal_classes()
    labelled = np.flatnonzero(y >= 0)[:n_labels]
    y = np.where(np.isin(np.arange(90), labelled), y, -1)
    rng = make_generator(0)
    if method is XNV:
        rng.permutation(90)  # landmarks are drawn before folds
    wrong = dict.fromkeys(grid, 0)
    for _, test in split_labels(2.0 * y[labelled] - 1.0, rng):
        held_out = labelled[test]
        partly = y.copy()
        partly[held_out] = -1
        for value in grid:
            fixed = {"manifold_ratio": 9.0} if method is LaplacianSVM else {}
            found = method(**{name: value}, **fixed, random_state=0).fit(rows, partly)
            wrong[value] += np.sum(found.predict(rows[held_out]) != y[held_out])
    fixed = {"manifold_ratio": 9.0} if method is LaplacianSVM else {}
    found = method(**{name: grid}, **fixed, random_state=0).fit(rows, y)
    assert found.cv_errors_[0] * n_labels == pytest.approx(min(wrong.values()), abs=slack + 1e-9)
    assert wrong[found.chosen_[0][name]] <= min(wrong.values()) + slack
