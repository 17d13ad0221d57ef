"""What every user may rely on from the semi-supervised baselines."""

import inspect
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import cross_val_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine.baselines import SSSL, XNV, GradientTSVM, LaplacianSVM, neighbour_graph
from ravine.baselines.semi_supervised.cross_validation import split_labels
from ravine.checks import make_generator
from support.baseline_problems import FIXED, GRIDS, METHODS, TRUTH, TRUTH3, X3, Y3, X, Y, few_labels


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def method(request):
    return request.param


# ----------------------------------------------------------------------------------------------- scikit-learn


@pytest.mark.filterwarnings("ignore:y holds only -1")
@parametrize_with_checks([method() for method in METHODS], expected_failed_checks=lambda estimator: {})
def test_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y holds only -1")
@parametrize_with_checks(
    [
        LaplacianSVM(kernel="rbf", **FIXED[LaplacianSVM]),
        SSSL(kernel="rbf"),
        SSSL(fit_intercept=True),
        XNV(kernel="rbf"),
        GradientTSVM(kernel="rbf", **FIXED[GradientTSVM]),
    ],
    expected_failed_checks=lambda estimator: {},
)
def test_variants_pass_every_check_of_scikit_learn(estimator, check):
    check(estimator)


def test_parameters_are_kept_as_given_and_cloned(method):
    estimator = method(random_state=3)
    assert clone(estimator).get_params() == estimator.get_params()


def test_every_parameter_is_documented_with_its_default(method):
    text = inspect.getdoc(method)
    for parameter in inspect.signature(method).parameters.values():
        entry = re.search(rf"^{parameter.name} : .*default=(.*)$", text, re.MULTILINE)
        assert entry, parameter.name
        assert eval(entry[1]) == parameter.default


def test_separated_classes_are_found_from_few_labels(method):
    found = method(random_state=0).fit(X, Y)
    assert_array_equal(found.transduction_, TRUTH)
    assert_array_equal(found.predict(X), TRUTH)
    assert_array_equal(found.decision_function(X) > 0.0, TRUTH == 1)


def test_three_classes_vote(method):
    for multi_class in ("ovo", "gated"):
        found = method(multi_class=multi_class, random_state=0).fit(X3, Y3)
        assert np.mean(found.transduction_ == TRUTH3) > 0.95
        assert found.decision_function(X3).shape == (150, 3)
        assert_array_equal(found.decision_function(X3).argmax(axis=1), found.predict(X3))
        assert len(found.chosen_) == len(found.cv_errors_) == 3


def test_given_labels_stay_in_the_transduction(method):
    y = Y.copy()
    wrong = np.flatnonzero(y == 0)[0]
    y[wrong] = 1
    assert_array_equal(method(random_state=0).fit(X, y).transduction_[y >= 0], y[y >= 0])


def test_hyperplane_is_the_decision_function(method):
    rows = 3.0 * X + 100.0
    found = method(random_state=0).fit(rows, Y)
    assert_allclose(rows @ found.coef_[0] + found.intercept_[0], found.decision_function(rows), atol=1e-9)
    found.set_params(kernel="rbf").fit(rows, Y)
    assert not hasattr(found, "coef_")


def test_fit_with_a_seed_is_repeated_exactly_and_survives_pickling(method):
    found = method(random_state=1).fit(X, Y)
    again = pickle.loads(pickle.dumps(method(random_state=1).fit(X, Y)))
    assert_array_equal(found.decision_function(X), again.decision_function(X))


def test_cross_validation_takes_unlabelled_rows(method):
    y = np.where(np.arange(120) % 3 == 0, TRUTH, -1)
    assert cross_val_score(method(random_state=0), X, y, cv=3, error_score="raise").min() > 0.9


@pytest.mark.parametrize("rows", [X.astype(np.float32), np.asfortranarray(X), pd.DataFrame(X, columns=list("abc"))])
def test_other_containers_give_the_same_classes(method, rows):
    assert_array_equal(method(random_state=0).fit(rows, Y).predict(rows), TRUTH)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_difficult_rows_are_learned(method, kernel):
    rng = np.random.default_rng(0)
    wide = rng.standard_normal((30, 60))
    wide[::2, 0] += 8.0
    y = np.full(30, -1)
    y[:10] = np.arange(10) % 2
    for rows in (
        wide,
        np.column_stack([wide[:, 0], np.full(30, 7.0)]),  # a constant column
        np.repeat(wide[:2, :3], 15, axis=0)[np.arange(30) % 2 * 15],  # duplicates
        wide[:, :3] * 1e150,
        wide[:, :3] * 1e-150,
    ):
        found = method(kernel=kernel, random_state=0).fit(rows, y)
        assert np.isfinite(found.decision_function(rows)).all()
        if rows.shape[1] < 60:
            assert np.mean(found.predict(rows) == np.arange(30) % 2) > 0.8


def test_offsets_do_not_matter_where_rows_are_centred():
    for method in (LaplacianSVM, XNV, GradientTSVM):
        moved = method(random_state=0, **FIXED[method]).fit(X + 1e6, Y)
        still = method(random_state=0, **FIXED[method]).fit(X, Y)
        assert_allclose(moved.decision_function(X + 1e6), still.decision_function(X), atol=1e-5)


def test_rows_that_are_all_equal_get_the_class_with_more_labels(method):
    y = np.array([0, 1, 1] + [-1] * 9)
    found = method(random_state=0, **FIXED[method]).fit(np.zeros((12, 2)), y)
    assert_array_equal(found.transduction_[3:], 1)


# ----------------------------------------------------------------------------------------------- choice of parameters


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


def test_class_with_one_label_uses_the_documented_defaults(method):
    y = Y.copy()
    y[np.flatnonzero(y == 1)[1:]] = -1
    found = method(random_state=0).fit(X, y)
    assert found.chosen_ == [FIXED[method]]
    assert np.isnan(found.cv_errors_).all()
    assert_array_equal(
        found.decision_function(X), method(**FIXED[method], random_state=0).fit(X, y).decision_function(X)
    )


def test_fixed_parameters_are_used_as_they_are(method):
    settings = dict.fromkeys(GRIDS[method], 3)
    found = method(**settings, random_state=0).fit(X, Y)
    assert found.chosen_ == [settings]
    assert np.isnan(found.cv_errors_).all()


def test_ties_go_to_the_defaults(method):
    found = method(random_state=0).fit(X, Y)
    if method is not XNV:  # whitening lets noise in
        assert found.cv_errors_[0] == 0.0
    if found.cv_errors_[0] == 0.0 and method in (SSSL, GradientTSVM):
        assert found.chosen_ == [FIXED[method]]


def unequal_classes():
    """Classes apart along the axis of least variance, 40 of 90 rows labelled."""
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
def test_candidate_that_is_clearly_better_is_chosen(method, grid, best):
    assert method(**grid, random_state=0).fit(*unequal_classes()).chosen_ == [best]


@pytest.mark.parametrize(
    ("method", "name", "grid", "slack"),
    [
        (SSSL, "n_components", (1, 2, 3), 0.0),
        (XNV, "penalty", (1e-3, 0.1, 3.0), 0.0),
        (LaplacianSVM, "penalty", (1e-3, 0.1, 1.0), 1.0),  # rounded hinges
        (GradientTSVM, "C", (0.1, 1.0, 10.0), 3.0),  # labels held out are dropped there, but unlabelled here
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


def test_graph_of_all_rows_is_cut_for_gated_pairs():
    given = LaplacianSVM(graph=neighbour_graph(X3), multi_class="gated", random_state=0, **FIXED[LaplacianSVM])
    assert np.mean(given.fit(X3, Y3).transduction_ == TRUTH3) > 0.95


@pytest.mark.parametrize("method", [SSSL, XNV])
@pytest.mark.parametrize("multi_class", ["ovo", "gated"])
def test_an_intercept_is_fitted_for_pairs_out_of_several_classes(method, multi_class):
    def decisions(rows, y, fit_intercept):
        found = method(fit_intercept=fit_intercept, multi_class=multi_class, random_state=0, **FIXED[method])
        return found.fit(rows, y).decision_function(rows)

    assert_array_equal(decisions(X, Y, "auto"), decisions(X, Y, False))
    assert_array_equal(decisions(X3, Y3, "auto"), decisions(X3, Y3, True))
    assert not np.array_equal(decisions(X3, Y3, "auto"), decisions(X3, Y3, False))


@pytest.mark.parametrize("method", [SSSL, XNV])
def test_the_intercept_matters_where_classes_lie_on_one_side_of_the_mean(method):
    """Three in a row: nothing is gained by zero at the middle of all for the first two."""
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    rows = rng.standard_normal((300, 2)) * 0.5 + np.array([[-4.0, 0.0], [0.0, 0.0], [4.0, 0.0]])[truth]
    y = few_labels(truth)
    wrong = {
        f: np.mean(method(fit_intercept=f, random_state=0).fit(rows, y).predict(rows) != truth) for f in (False, "auto")
    }
    assert wrong["auto"] < 0.02
    assert wrong[False] > 0.1
