"""Labels and parameters that the semi-supervised baselines accept, and those they refuse by name."""

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn.utils.validation import has_fit_parameter

from paper_support.baseline_problems import FIXED, METHODS, TRUTH, TRUTH3, X3, X, Y
from ravine_paper.baselines import SSSL, XNV, GradientTSVM, LaplacianSVM

# ----------------------------------------------------------------------------------------------- labels


TEXT = np.array(["no", "yes", None], dtype=object)[Y]


@pytest.mark.parametrize(
    ("y", "classes"),
    [
        (TEXT, ["no", "yes"]),
        (np.where(Y < 0, np.nan, Y), [0.0, 1.0]),
        (np.array([False, True, None], dtype=object)[Y], [False, True]),
        (np.where(Y < 0, -1, Y + 7), [7, 8]),
    ],
)
def test_labels_of_any_type_with_any_mark(method, y, classes):
    found = method(random_state=0).fit(X, y)
    assert found.classes_.tolist() == classes
    assert_array_equal(found.transduction_, np.array(classes)[TRUTH])


def test_only_minus_one_and_one_are_two_classes(method):
    with pytest.warns(UserWarning, match=r"only -1 and \+1"):
        found = method(random_state=0).fit(X, 2 * TRUTH - 1)
    assert_array_equal(found.classes_, [-1, 1])
    assert_array_equal(found.predict(X), 2 * TRUTH - 1)


def test_all_rows_labelled_is_supervised_learning(method):
    found = method(random_state=0).fit(X, TRUTH)
    assert found.score(X, TRUTH) == 1.0
    assert_array_equal(found.transduction_, TRUTH)
    assert method(random_state=0).fit(X3, TRUTH3).score(X3, TRUTH3) > 0.95


def test_two_rows_with_a_label_each_are_enough(method):
    assert_array_equal(method(random_state=0).fit([[-1.0], [1.0]], [0, 1]).predict([[-2.0], [3.0]]), [0, 1])


@pytest.mark.parametrize(
    ("y", "message"),
    [
        (np.full(120, -1), "120 .*unlabelled"),
        (np.full(120, np.nan), "120 .*unlabelled"),
        (np.where(Y == 1, -1, Y), "one class, 0"),
        (np.zeros(120), "one class"),
        (np.where(Y < 0, "", np.where(Y == 1, "yes", "no")), "the text ''"),
        (np.where(Y < 0, "-1", np.where(Y == 1, "yes", "no")), "the text '-1'"),
        (np.where(Y < 0, "nan", np.where(Y == 1, "yes", "no")), "'nan'"),
        (Y[:-1], "119 .*X .*120"),
        (np.linspace(0.0, 1.0, 120), "label type"),
        (None, "requires y"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(method, y, message):
    found = method(random_state=0, **FIXED[method]).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        found.fit(X + 1.0, y)
    assert_array_equal(found.transduction_, TRUTH)  # the earlier fit is kept


# ----------------------------------------------------------------------------------------------- parameters


BAD = [
    *((method, {"multi_class": "ovr"}, ValueError, "multi_class must be one of") for method in METHODS),
    *((method, {"kernel": "poly"}, ValueError, "kernel must be one of") for method in METHODS),
    *((method, {"kernel_gamma": 0.0}, ValueError, "kernel_gamma must be a number in") for method in METHODS),
    *((method, {"kernel_gamma": "auto"}, ValueError, "kernel_gamma must be one of") for method in METHODS),
    *((method, {"n_landmarks": 0}, ValueError, "n_landmarks must be an integer >= 1") for method in METHODS),
    *((method, {"random_state": "a"}, ValueError, "random_state must be") for method in METHODS),
    (LaplacianSVM, {"penalty": 0.0}, ValueError, "penalty must be a number in"),
    (LaplacianSVM, {"penalty": (0.1, -1.0)}, ValueError, r"penalty\[1\] must be"),
    (LaplacianSVM, {"penalty": ()}, ValueError, "penalty must be a number or a sequence"),
    (LaplacianSVM, {"penalty": "cv"}, TypeError, "penalty must be a number"),
    (LaplacianSVM, {"manifold_ratio": -1.0}, ValueError, "manifold_ratio must be"),
    (LaplacianSVM, {"n_neighbors": 0}, ValueError, "n_neighbors must be"),
    (LaplacianSVM, {"edge_weights": "cosine"}, ValueError, "edge_weights must be one of"),
    (LaplacianSVM, {"laplacian": "both"}, ValueError, "laplacian must be one of"),
    (LaplacianSVM, {"graph": "full"}, ValueError, "graph must be one of"),
    (LaplacianSVM, {"graph": None}, ValueError, "graph must be 'knn' or"),
    (LaplacianSVM, {"graph": np.ones((3, 3))}, ValueError, "one row and column for each of the 120 rows"),
    (LaplacianSVM, {"graph": -scipy.sparse.eye_array(120)}, ValueError, "not negative"),
    (LaplacianSVM, {"graph": np.triu(np.ones((120, 120)))}, ValueError, "graph must be symmetric"),
    (SSSL, {"n_components": 0}, ValueError, "n_components must be an integer"),
    (SSSL, {"n_components": 1.5}, TypeError, "n_components must be an integer"),
    (SSSL, {"n_components": (1, 0)}, ValueError, r"n_components\[1\] must be"),
    (SSSL, {"n_components": []}, ValueError, "n_components must be None"),
    (SSSL, {"fit_intercept": "yes"}, ValueError, "fit_intercept must be one of"),
    (SSSL, {"fit_intercept": None}, TypeError, "fit_intercept must be True or False"),
    (XNV, {"penalty": 0.0}, ValueError, "penalty must be"),
    (XNV, {"fit_intercept": 1}, TypeError, "fit_intercept must be True or False"),
    (XNV, {"views": "both"}, ValueError, "views must be one of"),
    (GradientTSVM, {"C": (1.0, 0.0)}, ValueError, r"C\[1\] must be"),
    (GradientTSVM, {"unlabelled_weight": -1.0}, ValueError, "unlabelled_weight must be"),
    (GradientTSVM, {"n_stages": 0}, ValueError, "n_stages must be"),
    (GradientTSVM, {"tol": 0.0}, ValueError, "tol must be"),
    (GradientTSVM, {"max_iter": 0}, ValueError, "max_iter must be"),
]


@pytest.mark.parametrize(("method", "parameters", "error", "message"), BAD)
def test_parameter_out_of_range_is_named(method, parameters, error, message):
    with pytest.raises(error, match=message):
        method(**parameters).fit(X, Y)


def test_non_finite_value_is_located(method):
    rows = X.copy()
    rows[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*feature 1.*row 7"):
        method().fit(rows, Y)


def test_weights_are_refused_by_the_name_of_the_class(method):
    for call in (method(random_state=0).fit, method(random_state=0, **FIXED[method]).fit(X, Y).score):
        with pytest.raises(TypeError, match=rf"^{method.__name__}\.{call.__name__}\(\) .*'sample_weight'"):
            call(X, Y, sample_weight=np.ones(120))
    assert not has_fit_parameter(method(), "sample_weight")
    with pytest.raises(TypeError, match="'weights'"):
        method().fit(X, Y, weights=1)
