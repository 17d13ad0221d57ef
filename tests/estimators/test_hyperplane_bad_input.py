"""Unusable input of the hyperplane is refused by name, with what is allowed; rows without a split are one cluster."""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from ravine import MinimumDensityHyperplane, NoSplitWarning
from support.simulate import one_gaussian_line, two_clusters

X, Y = two_clusters(100, 3)
NAMES = ["colour", "height", "mass"]
FRAMES = {
    "pandas": lambda rows: pd.DataFrame(rows, columns=NAMES),
    "polars": lambda rows: pl.DataFrame(rows, schema=NAMES, orient="row"),
}


def with_cell(value, row=7, column=1, dtype=np.float64):
    rows = X.astype(dtype)
    rows[row, column] = value
    return rows


@pytest.fixture(scope="module")
def fitted():
    return MinimumDensityHyperplane().fit(X)


@pytest.fixture(scope="module")
def fitted_with_names():
    return MinimumDensityHyperplane().fit(FRAMES["pandas"](X))


# ----------------------------------------------------------------------------------------------- rows


@pytest.mark.parametrize(("value", "word"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
@pytest.mark.parametrize("dtype", [np.float64, np.float32, object])
@pytest.mark.filterwarnings("error")
def test_cell_that_is_not_finite_is_located(value, word, dtype, fitted):
    rows = with_cell(value, dtype=dtype)
    for method in (MinimumDensityHyperplane().fit, fitted.predict, fitted.decision_function, fitted.transform):
        with pytest.raises(ValueError, match=rf"{word} .*feature 1 .*row 7"):
            method(rows)


def test_cell_that_is_not_finite_is_located_among_many_rows():
    rows = np.zeros((150_000, 2))
    rows[140_001, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*feature 1.*row 140001"):
        MinimumDensityHyperplane().fit(rows)


def test_infinities_that_cancel_are_found():
    rows = with_cell(np.inf)
    rows[8, 1] = -np.inf
    with pytest.raises(ValueError, match=r"infinity.*feature 1"):
        MinimumDensityHyperplane().fit(rows)


@pytest.mark.parametrize("frame", FRAMES.values(), ids=FRAMES)
def test_error_names_the_column_of_a_value_that_is_not_finite(frame, fitted_with_names):
    for method in (MinimumDensityHyperplane().fit, fitted_with_names.predict):
        with pytest.raises(ValueError, match=r"NaN.*feature 'height'.*row 7"):
            method(frame(with_cell(np.nan)))


@pytest.mark.parametrize(
    ("rows", "column"),
    [
        (pd.DataFrame(X, columns=NAMES).assign(word="red"), "'word'"),
        (pd.DataFrame(X, columns=NAMES).assign(word=pd.Categorical(["a", "b"] * 50)), "'word'"),
        (pd.DataFrame(X, columns=NAMES).assign(day=pd.date_range("2020", periods=100)), "'day'"),
        (pl.DataFrame(X, schema=NAMES).with_columns(word=pl.lit("red")), "'word'"),
        (np.hstack([X.astype(object), np.full((100, 1), "red")]), "feature 3"),
        (np.array([["1", "2"], ["3", "red"]]), "feature 1"),
    ],
    ids=["pandas text", "pandas category", "pandas date", "polars text", "objects", "strings"],
)
def test_column_that_is_not_numbers_is_named(rows, column):
    with pytest.raises((ValueError, TypeError), match=f"{column}"):
        MinimumDensityHyperplane().fit(rows)


@pytest.mark.parametrize(
    ("rows", "error", "message"),
    [
        (np.empty((0, 3)), ValueError, r"0 sample\(s\).*minimum of 1"),
        (np.empty((5, 0)), ValueError, r"0 feature\(s\).*minimum of 1"),
        (X[:, 0], ValueError, "2D"),
        (X[None], ValueError, "dim 3.*<= 2"),
        (X.astype(complex), ValueError, "Complex"),
        (scipy.sparse.csr_matrix(X * np.nan), ValueError, "NaN.*feature 0.*row 0"),
        (scipy.sparse.csc_array(X * 1e305), ValueError, "rescale"),
        (None, ValueError, "Expected 2D array"),
    ],
    ids=["no rows", "no columns", "1-D", "3-D", "complex", "sparse matrix", "sparse array", "None"],
)
def test_rows_of_the_wrong_kind_are_refused(rows, error, message):
    with pytest.raises(error, match=f"(?s){message}"):
        MinimumDensityHyperplane().fit(rows)


@pytest.mark.parametrize("method", ["predict", "decision_function", "transform"])
def test_prediction_needs_a_fit_and_its_columns(method, fitted, fitted_with_names):
    with pytest.raises(NotFittedError):
        getattr(MinimumDensityHyperplane(), method)(X)
    with pytest.raises(ValueError, match=r"2 .*3 "):
        getattr(fitted, method)(X[:, :2])
    with pytest.raises(ValueError, match=r"(?s)feature names.*- area"):
        getattr(fitted_with_names, method)(pd.DataFrame(X, columns=[*NAMES[:2], "area"]))


def test_hyperplane_refuses_rows_of_another_width(fitted):
    with pytest.raises(ValueError, match=r"3.*\(100, 2\)"):
        fitted.hyperplane_.distance(X[:, :2])


# ----------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        (np.r_[np.ones(4), -2.0, np.ones(95)], "-2 in row 4"),
        (np.zeros(100), "non-zero"),
        (np.r_[np.ones(9), np.nan, np.ones(90)], "row 9"),
        (np.r_[np.ones(9), np.inf, np.ones(90)], "row 9"),
        (np.ones(99), r"100 .*\(99,\)"),
        (np.ones((100, 1)), r"one-dimensional.*\(100, 1\)"),
        (["heavy"] * 100, "numbers"),
        (np.full(100, 1j), "real|numbers|[Cc]omplex"),
        (np.full(100, 1e308), "sum|too large|finite"),
    ],
    ids=["negative", "zero", "NaN", "infinite", "short", "2-D", "text", "complex", "overflowing sum"],
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_weights_of_the_wrong_kind_are_refused(weights, message):
    with pytest.raises((ValueError, TypeError), match=f"sample_weight.*({message})"):
        MinimumDensityHyperplane().fit(X, sample_weight=weights)


# ----------------------------------------------------------------------------------------------- failures


def stop(step):
    raise RuntimeError("stopped by the callback")


FAILURES = {
    "parameter": ({"n_init": 0}, X[:, :2], None),
    "NaN": ({}, with_cell(np.nan)[:, :2], None),
    "weights": ({}, X[:, :2], np.ones(3)),
    "init": ({"init": np.ones((1, 3))}, X[:, :2], None),
    "bandwidth rule": ({"bandwidth": lambda n, s: -1.0}, X[:, :2], None),
    "callback": ({"callback": stop}, X[:, :2], None),
}


@pytest.mark.parametrize(("parameters", "rows", "weights"), FAILURES.values(), ids=FAILURES)
def test_failed_fit_keeps_the_earlier_fit(parameters, rows, weights):
    mdh = MinimumDensityHyperplane().fit(FRAMES["pandas"](X))
    before = {name: value for name, value in vars(mdh).items() if name.endswith("_")}
    with pytest.raises((ValueError, RuntimeError)):
        mdh.set_params(**parameters).fit(rows, sample_weight=weights)
    after = {name: value for name, value in vars(mdh).items() if name.endswith("_")}
    assert after.keys() == before.keys()
    assert all(after[name] is before[name] for name in before)
    assert_array_equal(mdh.predict(FRAMES["pandas"](X)), mdh.labels_)


# ----------------------------------------------------------------------------------------------- no split

UNSPLITTABLE = {
    "one row": (X[:1], {}, "row"),
    "one row of one column": ([[3.0]], {}, "row"),
    "equal rows": (np.full((10, 3), 7.0), {}, "all rows are equal"),
    "two equal rows": (np.full((2, 5), -0.1), {}, "all rows are equal"),
    "equal rows far out": (np.full((1000, 3), 1e12 + 0.1), {}, "all rows are equal"),
    "equal rows of weight": (np.r_[X[:1], X[:1], X[1:]], {"weights": np.r_[1.0, 1.0, np.zeros(99)]}, "equal"),
    "unimodal line": (one_gaussian_line(), {}, "only start reached a hyperplane that separates two modes"),
    "huge bandwidth": (X, {"bandwidth": 1e3}, r"none of the \d+ starts reached a hyperplane that separates two modes"),
}


@pytest.mark.parametrize(("rows", "options", "reason"), UNSPLITTABLE.values(), ids=UNSPLITTABLE)
def test_rows_without_a_split_are_one_cluster_with_the_reason(rows, options, reason):
    parameters = {name: value for name, value in options.items() if name != "weights"}
    with pytest.warns(NoSplitWarning, match=f"{reason}.* 0") as caught:
        mdh = MinimumDensityHyperplane(**parameters).fit(rows, sample_weight=options.get("weights"))
    assert [w.category for w in caught] == [NoSplitWarning]
    assert caught[0].filename == __file__
    assert_array_equal(mdh.labels_, np.zeros(len(rows)))
    assert_array_equal(mdh.predict(rows), mdh.labels_)
    assert mdh.relative_depth_ == 0.0
    assert np.isfinite(mdh.coef_).all()
    assert not mdh.hyperplane_.splits


@pytest.mark.parametrize("n", [2, 3])
@pytest.mark.parametrize("d", [1, 2, 5])
def test_a_few_distinct_rows_are_split(n, d):
    rows = np.random.default_rng(n + d).standard_normal((n, d))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        mdh = MinimumDensityHyperplane().fit(rows)
    assert_array_equal(np.sort(mdh.labels_), [0] * (n - 1) + [1])
    assert mdh.relative_depth_ > 0
