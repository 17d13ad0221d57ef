"""Labels and parameters that the semi-supervised baselines take, and those they refuse by name."""

import time
import warnings

import numpy as np
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn.datasets import make_blobs
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC
from sklearn.utils.validation import has_fit_parameter

from ravine.baselines import SSSL, XNV, GradientTSVM, LaplacianSVM
from ravine.baselines.semi_supervised import laplacian_svm
from support.baseline_problems import FIXED, METHODS, TRUTH, TRUTH3, X3, Y3, X, Y


@pytest.fixture(params=METHODS, ids=lambda method: method.__name__)
def method(request):
    return request.param


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
        (np.full(120, -1), "all 120 rows as unlabelled"),
        (np.full(120, np.nan), "all 120 rows as unlabelled"),
        (np.where(Y == 1, -1, Y), "only one class, 0"),
        (np.zeros(120), "only one class"),
        (np.where(Y < 0, "", np.where(Y == 1, "yes", "no")), "the text ''"),
        (np.where(Y < 0, "-1", np.where(Y == 1, "yes", "no")), "the text '-1'"),
        (np.where(Y < 0, "nan", np.where(Y == 1, "yes", "no")), "the text 'nan'"),
        (Y[:-1], "119 labels, but X has 120 rows"),
        (np.linspace(0.0, 1.0, 120), "Unknown label type"),
        (None, "requires y to be passed"),
    ],
)
def test_labels_that_cannot_be_learned_are_refused(method, y, message):
    found = method(random_state=0, **FIXED[method]).fit(X, Y)
    with pytest.raises(ValueError, match=message):
        found.fit(X + 1.0, y)
    assert_array_equal(found.transduction_, TRUTH)  # what was learned before is kept


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


def test_halves_of_one_column_are_refused():
    with pytest.raises(ValueError, match="at least 2 features"):
        XNV(views="features").fit(X[:, :1], Y)


def test_cell_that_is_not_finite_is_located(method):
    rows = X.copy()
    rows[7, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN in column 1 \(row 7\)"):
        method().fit(rows, Y)


def test_unfinished_descent_is_said():
    with pytest.warns(ConvergenceWarning, match="increase max_iter"):
        GradientTSVM(max_iter=1, C=100.0).fit(X, Y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        GradientTSVM(random_state=0).fit(X, Y)


def overlapping():
    """Three classes in one heap, two of them rare."""
    return make_blobs([190, 5, 5], centers=[[0, 0], [0.1, 0], [0.2, 0]], random_state=0)


def test_overlapping_labels_do_not_take_long():
    rows, y = overlapping()
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # solved as exactly as it gets
        found = LaplacianSVM(random_state=0).fit(rows, y)
    assert time.perf_counter() - start < 3.0  # 7 s with the bound of libsvm
    assert np.mean(found.predict(rows) == y) >= 0.95


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_unfinished_laplacian_svm_says_what_to_change(kernel, monkeypatch):
    monkeypatch.setattr(laplacian_svm, "FIRST_STEPS", 5)
    monkeypatch.setattr(laplacian_svm, "MOST_STEPS", 9)
    monkeypatch.setattr(laplacian_svm, "STEPS_PER_LABEL", 0)
    rows, y = overlapping()
    machine = LaplacianSVM(penalty=1e-4, manifold_ratio=1.0, kernel=kernel, random_state=0)
    with pytest.warns(ConvergenceWarning) as caught:
        machine.fit(rows, y)
    (message,) = {str(w.message) for w in caught}
    assert "penalty=0.0001 is not fully converged" in message
    assert "Larger values of penalty" in message
    assert "StandardScaler" not in message
    assert [w.filename for w in caught] == [__file__]  # once, and where it was called


def test_steps_beyond_the_first_bound_are_those_of_one_long_fit(monkeypatch):
    rng = np.random.default_rng(0)
    rows, y = rng.standard_normal((80, 5)), rng.integers(0, 2, 80)
    settings = {"penalty": 1e-3, "manifold_ratio": 1.0, "random_state": 0}
    whole = LaplacianSVM(**settings).fit(rows, y)
    monkeypatch.setattr(laplacian_svm, "FIRST_STEPS", 50)
    assert_array_equal(LaplacianSVM(**settings).fit(rows, y).coef_, whole.coef_)


def test_duality_gap_is_that_of_the_definition():
    rng = np.random.default_rng(1)
    rows, y = rng.standard_normal((40, 3)), np.where(rng.random(40) < 0.5, -1.0, 1.0)
    gaps = []
    for steps in (3, 30, 10_000_000):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            svm = SVC(kernel="linear", C=2.0, tol=1e-10, max_iter=steps).fit(rows, y)
        alpha = np.zeros(40)
        alpha[svm.support_] = svm.dual_coef_[0] * y[svm.support_]
        w = (alpha * y) @ rows
        primal = 0.5 * w @ w + 2.0 * sum(
            max(0.0, 1.0 - t * (w @ x + svm.intercept_[0])) for x, t in zip(rows, y, strict=True)
        )
        dual = alpha.sum() - 0.5 * w @ w
        gap = laplacian_svm._compute_duality_gap(rows, y, 2.0, svm.coef_[0], svm.intercept_[0], svm.dual_coef_)
        assert gap == pytest.approx((primal - dual) / primal, rel=1e-6, abs=1e-12)
        gaps.append(gap)
    assert gaps[0] > gaps[1] > 1e-3
    assert abs(gaps[2]) < 1e-6


def test_weights_are_refused_by_the_name_of_the_class(method):
    for call in (method(random_state=0).fit, method(random_state=0, **FIXED[method]).fit(X, Y).score):
        with pytest.raises(
            TypeError, match=rf"^{method.__name__}\.{call.__name__}\(\) takes no argument 'sample_weight'"
        ):
            call(X, Y, sample_weight=np.ones(120))
    assert not has_fit_parameter(method(), "sample_weight")
    with pytest.raises(TypeError, match="'weights'"):
        method().fit(X, Y, weights=1)


@pytest.mark.parametrize("multi_class", ["ovo", "gated"])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_sssl_warns_of_rows_far_from_zero_once(multi_class, scale):
    settings = {"n_components": 2, "multi_class": multi_class, "random_state": 0}
    far = scale * (X3 + np.array([0.0, 5.0]))
    with pytest.warns(UserWarning, match="centre the features of X") as caught:
        SSSL(fit_intercept=False, **settings).fit(far, Y3)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SSSL(fit_intercept=True, **settings).fit(far, Y3)
        SSSL(**settings).fit(far, Y3)
        SSSL(fit_intercept=False, kernel="rbf", random_state=0).fit(far if scale == 1.0 else X3, Y3)
        SSSL(random_state=0).fit(X, Y)
        SSSL(random_state=0, n_components=1).fit(np.ones((4, 2)), [0, 1, 1, -1])  # equal rows: nothing to gain


def test_sssl_warns_by_mean_and_spread():
    """At |mean|² = trace of the covariance."""
    rows = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])  # trace 1
    y = [0, 1, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SSSL(n_components=1).fit(rows + np.array([0.99, 0.0]), y)
    with pytest.warns(UserWarning, match="fit_intercept=True"):
        SSSL(n_components=1).fit(rows + np.array([1.01, 0.0]), y)
