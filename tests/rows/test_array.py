"""One pass over an array checks its values and measures them; a slow twin checks first and measures in long double."""

import warnings

import numpy as np
import pandas as pd
import pytest

from ravine import MinimumDensityHyperplane
from ravine.rows import ArrayRows, DenseSample, array, as_rows
from ravine.rows.base import guess_units
from ravine.rows.inputs import validate_array, validate_rows
from support import reference as ref

LAYOUTS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "gaps both ways": lambda X: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
}


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Let 3000 rows be several blocks."""
    monkeypatch.setattr(array, "COPY_BYTES", 1 << 14)
    monkeypatch.setattr(array, "SMALL_BYTES", 1 << 13)
    monkeypatch.setattr(array, "SIGN_ROWS", 700)


def make_rows(rng, n=3000, d=4):
    return rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + rng.standard_normal(d)


def errors_of(X):
    """Return the message of the check that reads every value, and that of the check that measures."""
    messages = []
    for validate in (validate_array, lambda *given, reset: validate_rows(*given, reset=reset, measure=True)):
        with warnings.catch_warnings(action="error"), pytest.raises(ValueError, match="Input X") as error:
            validate(MinimumDensityHyperplane(), X, reset=True)
        messages.append(str(error.value))
    return messages


# ------------------------------------------------------------------------------------------------- bad values


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("row", [0, 1234, -1])
def test_bad_values_are_found_wherever_they_hide(row, bad, dtype, layout, rng):
    X = make_rows(rng).astype(dtype)
    X[row, 2] = bad
    read, measured = errors_of(layout(X))
    assert measured == read
    assert f"feature 2 (row {row % 3000})" in measured


def test_infinities_of_both_signs_do_not_cancel(rng):
    X = make_rows(rng)
    X[5, 0], X[6, 0] = np.inf, -np.inf
    read, measured = errors_of(X)
    assert measured == read


def test_values_near_overflow_are_refused(rng):
    X = make_rows(rng)
    X[-1, 3] = -1e301
    read, measured = errors_of(X)
    assert measured == read
    assert "-1e+301" in measured


@pytest.mark.parametrize("scale", [1e-300, 1e-150, 1e150, 1e290])
def test_finite_values_of_any_scale_are_accepted(scale, rng):
    X = scale * make_rows(rng)
    rows = validate_rows(MinimumDensityHyperplane(), X, reset=True, measure=True)
    assert rows.array is X
    assert np.isfinite(rows.sample().moments().covariance).all()


def test_bad_values_of_weightless_rows_are_refused(rng):
    X, w = make_rows(rng), np.ones(3000)
    X[7, 1], w[7] = np.nan, 0.0
    with pytest.raises(ValueError, match=r"NaN.*feature 1.*row 7"):
        MinimumDensityHyperplane().fit(X, sample_weight=w)


@pytest.mark.parametrize("given", [np.zeros(3), np.zeros((0, 3)), np.zeros((3, 0)), np.zeros((2, 2, 2)), 1.0])
def test_arrays_of_other_shapes_are_refused_as_before(given):
    with pytest.raises(ValueError, match=r"2D array|0 sample\(s\)|0 feature\(s\)|dim 3"):
        validate_rows(MinimumDensityHyperplane(), given, reset=True)


def test_names_and_numbers_of_features_are_compared(rng):
    X = make_rows(rng) + np.repeat([[0.0], [20.0]], 1500, axis=0)
    frame = pd.DataFrame(X, columns=list("abcd"))
    mdh = MinimumDensityHyperplane().fit(frame)
    with pytest.warns(UserWarning, match="feature names"):
        mdh.predict(X)
    with pytest.raises(ValueError, match=r"3 features.* 4"):
        MinimumDensityHyperplane().fit(X).predict(X[:, :3])


# ------------------------------------------------------------------------------------------------- moments


def assert_moments(sample, X, w=None, rel=1e-13):
    mean, covariance = ref.moments(X, w)
    std = np.sqrt(np.diagonal(covariance))
    got = sample.moments().covariance * np.longdouble(sample.unit) ** 2
    assert (np.abs(got - covariance) <= rel * np.outer(std, std)).all()
    assert (np.abs(sample.origin - mean) <= 4e-16 * np.abs(mean) + rel * std).all()


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("offset", [0.0, 3.0, 1e3, 1e12])
def test_moments_have_all_digits_of_every_feature(offset, dtype, layout, rng):
    X = layout((make_rows(rng) * [1.0, 1e-3, 10.0, 1e3] + offset).astype(dtype))
    rows = ArrayRows(X)
    assert rows.measure()
    if dtype == np.float64 or offset < 1e12:  # otherwise the features are constant
        assert_moments(rows.sample(), X)


@pytest.mark.parametrize("offset", [0.0, 1e12])
@pytest.mark.parametrize("scale", [1e-300, 1e-30, 1.0, 1e30])
def test_weighted_moments_have_all_digits(scale, offset, rng):
    X = scale * (make_rows(rng) + offset)
    w = rng.exponential(size=len(X)) * (rng.random(len(X)) < 0.8)
    assert_moments(DenseSample(X, w), X, w, rel=1e-12)


def test_center_is_zero_only_where_that_costs_no_digits(rng):
    X = rng.standard_normal((1000, 3))
    assert not guess_units(X + np.array([5.0, -5.0, 0.0]))[0].any()
    for far in ([5.0, 10.0, 0.0], [0.0, 0.0, -1e12]):
        assert guess_units(X + far)[0] == pytest.approx(np.mean(X + far, axis=0))
    assert guess_units(X * [1.0, 0.0, 1.0] + [0.0, 1.0, 0.0])[0][1] == 1.0  # a constant feature


def test_measured_rows_give_the_sample_of_the_array(rng):
    X = make_rows(rng)
    rows, w, few = ArrayRows(X), rng.random(len(X)), np.arange(100, 900)
    assert rows.measure()
    for arguments in ({}, {"weights": w}, {"indices": few}, {"weights": w[few], "indices": few}):
        got, expected = rows.sample(**arguments), as_rows(X).sample(**arguments)
        np.testing.assert_array_equal(got.moments().covariance, expected.moments().covariance)
        np.testing.assert_array_equal(got.origin, expected.origin)
        assert (got.unit, got.total, got.n_rows) == (expected.unit, expected.total, expected.n_rows)


# ------------------------------------------------------------------------------------------------- signs


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_signs_are_those_of_the_distances(layout, dtype, rng):
    rows = as_rows(layout(rng.integers(-3, 4, (3000, 2)).astype(dtype)))
    center, direction = np.array([1.0, 0.0]), np.array([0.6, 0.8])
    signs = rows.signs(center, direction)
    assert set(signs) == {-1, 0, 1}
    np.testing.assert_array_equal(signs, np.sign(rows.project(center, direction)))
    np.testing.assert_array_equal(rows.signs(center, -direction), -signs)


@pytest.mark.parametrize("sign", [-1.0, 1.0])
def test_longer_tail_decides_between_equal_sides(sign, rng):
    X = rng.standard_normal((400, 1)) * 0.1 + np.repeat([[-3.0], [3.0]], 200, axis=0)
    X[-1] = 8.0
    mdh = MinimumDensityHyperplane().fit(sign * X)
    assert mdh.labels_.sum() == 200
    assert mdh.labels_[-1] == 1
    np.testing.assert_array_equal(mdh.labels_, mdh.predict(sign * X))
