"""The contract of scikit-learn for the semi-supervised baselines, and results on simple data."""

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

from paper_support.baseline_problems import FIXED, METHODS, TRUTH, TRUTH3, X3, Y3, X, Y, few_labels
from ravine_paper.baselines import SSSL, XNV, GradientTSVM, LaplacianSVM


@pytest.mark.filterwarnings("ignore:y contains only -1")
@parametrize_with_checks([method() for method in METHODS], expected_failed_checks=lambda estimator: {})
def test_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y contains only -1")
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


def test_seeded_fit_is_reproducible_and_survives_pickling(method):
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
        np.column_stack([wide[:, 0], np.full(30, 7.0)]),  # a constant feature
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


def test_equal_rows_get_the_class_with_more_labels(method):
    y = np.array([0, 1, 1] + [-1] * 9)
    found = method(random_state=0, **FIXED[method]).fit(np.zeros((12, 2)), y)
    assert_array_equal(found.transduction_[3:], 1)


@pytest.mark.parametrize("method", [SSSL, XNV])
@pytest.mark.parametrize("multi_class", ["ovo", "gated"])
def test_intercept_is_fitted_for_pairs_of_several_classes(method, multi_class):
    def decisions(rows, y, fit_intercept):
        found = method(fit_intercept=fit_intercept, multi_class=multi_class, random_state=0, **FIXED[method])
        return found.fit(rows, y).decision_function(rows)

    assert_array_equal(decisions(X, Y, "auto"), decisions(X, Y, False))
    assert_array_equal(decisions(X3, Y3, "auto"), decisions(X3, Y3, True))
    assert not np.array_equal(decisions(X3, Y3, "auto"), decisions(X3, Y3, False))


@pytest.mark.parametrize("method", [SSSL, XNV])
def test_intercept_matters_for_classes_on_one_side_of_the_mean(method):
    """Three classes in a row: the first two are both on one side of the mean of all."""
    rng = np.random.default_rng(0)
    truth = np.arange(300) % 3
    rows = rng.standard_normal((300, 2)) * 0.5 + np.array([[-4.0, 0.0], [0.0, 0.0], [4.0, 0.0]])[truth]
    y = few_labels(truth)
    wrong = {
        f: np.mean(method(fit_intercept=f, random_state=0).fit(rows, y).predict(rows) != truth) for f in (False, "auto")
    }
    assert wrong["auto"] < 0.02
    assert wrong[False] > 0.1
