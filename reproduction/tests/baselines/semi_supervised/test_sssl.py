"""SSSL against least squares on eigenfunctions, and its warning of rows far from zero."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.metrics.pairwise import rbf_kernel

from paper_support.baseline_problems import X3, Y3, X, Y, labelled_problem
from ravine_paper.baselines import SSSL
from ravine_paper.baselines.semi_supervised.sssl import _fit_nested


@pytest.mark.parametrize("s", [1, 2, 4])
@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_sssl_is_least_squares_on_eigenfunctions(kernel, s, rng):
    X, y, signs = labelled_problem()
    new = rng.standard_normal((7, 4))

    def k(a, b):
        return a @ b.T if kernel == "linear" else rbf_kernel(a, b, gamma=0.2)

    values, vectors = np.linalg.eigh(k(X, X))
    values, vectors = values[::-1][:s], vectors[:, ::-1][:, :s]
    labelled = signs != 0.0
    at_data = np.sqrt(values) * vectors
    c = np.linalg.lstsq(at_data[labelled], signs[labelled], rcond=None)[0]
    found = SSSL(n_components=s, kernel=kernel, kernel_gamma=0.2).fit(X, y)
    assert_allclose(found.decision_function(new), (k(new, X) @ vectors / np.sqrt(values)) @ c, atol=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_linear_sssl_is_principal_component_regression(intercept):
    X, y, signs = labelled_problem(seed=3)
    X = X + np.array([0.5, -1.0, 0.0, 2.0])
    rows = X - X.mean(axis=0) if intercept else X
    scores = rows @ np.linalg.svd(rows, full_matrices=False)[2][:3].T
    design = np.column_stack([np.ones(len(X)), scores]) if intercept else scores
    labelled = signs != 0.0
    c = np.linalg.lstsq(design[labelled], signs[labelled], rcond=None)[0]
    found = SSSL(n_components=3, fit_intercept=intercept).fit(X, y)
    assert_allclose(found.decision_function(X), design @ c, atol=1e-10)


@pytest.mark.parametrize("dependent", [False, True])
def test_nested_fits_are_least_squares_for_each_size(rng, dependent):
    design, y = rng.standard_normal((12, 6)), rng.standard_normal(12)
    if dependent:
        design[:, 3] = design[:, 0]
    fits = _fit_nested(design, y)
    for s in range(1, 7):
        assert_allclose(fits[:s, s - 1], np.linalg.lstsq(design[:, :s], y, rcond=None)[0], atol=1e-10)
        assert_allclose(fits[s:, s - 1], 0.0, atol=0.0)


@pytest.mark.parametrize("multi_class", ["ovo", "gated"])
@pytest.mark.parametrize("scale", [1.0, 1e-150, 1e150])
def test_sssl_warns_of_rows_far_from_zero_once(multi_class, scale):
    settings = {"n_components": 2, "multi_class": multi_class, "random_state": 0}
    far = scale * (X3 + np.array([0.0, 5.0]))
    with pytest.warns(UserWarning, match="centre") as caught:
        SSSL(fit_intercept=False, **settings).fit(far, Y3)
    assert len(caught) == 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SSSL(fit_intercept=True, **settings).fit(far, Y3)
        SSSL(**settings).fit(far, Y3)
        SSSL(fit_intercept=False, kernel="rbf", random_state=0).fit(far if scale == 1.0 else X3, Y3)
        SSSL(random_state=0).fit(X, Y)
        SSSL(random_state=0, n_components=1).fit(np.ones((4, 2)), [0, 1, 1, -1])  # no warning for equal rows


@pytest.mark.parametrize("spread", [0.0, 1.0, 1e-200])
@pytest.mark.parametrize("offset", [1e156, 1e290])
def test_sssl_far_from_zero_does_not_overflow(offset, spread):
    """A constant feature of any size, uncentred, next to one that spreads little."""
    rows = np.c_[np.full(8, offset), spread * np.where(np.arange(8) < 4, -1.0, 1.0)]
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        warnings.filterwarnings("ignore", "The mean of the rows", UserWarning)
        model = SSSL(random_state=0).fit(rows, [0, 0, -1, 0, 1, 1, 1, -1])
        assert np.isfinite(model.decision_function(rows)).all()
        assert set(model.predict(rows).tolist()) <= {0, 1}


def test_sssl_warns_by_mean_and_spread():
    """The threshold is |mean|² = trace of the covariance."""
    rows = np.array([[-1.0, 0.0], [1.0, 0.0], [0.0, -1.0], [0.0, 1.0]])  # trace 1
    y = [0, 1, 0, 1]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        SSSL(n_components=1).fit(rows + np.array([0.99, 0.0]), y)
    with pytest.warns(UserWarning, match="fit_intercept=True"):
        SSSL(n_components=1).fit(rows + np.array([1.01, 0.0]), y)


def test_baseline_of_equal_rows_near_zero_has_no_nan():
    sssl = SSSL(n_components=2, random_state=0).fit(np.full((30, 5), 1e-317), np.arange(30) < 10)
    assert np.isfinite(sssl.decision_function(np.full((2, 5), 1e-317))).all()
