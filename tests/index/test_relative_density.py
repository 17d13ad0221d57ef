"""The relative density equals its definition as an exact sum, and its gradient finite differences."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose

from ravine import RowBlocks
from ravine.index import RelativeDensity
from ravine.rows import as_rows
from ravine.search import drive
from support.simulate import mixture

X = mixture(400, 4, seed=3)[0]


def log_ratio(Z, v, b, h, weights=None):
    """Log ratio of the rows at the hyperplane to those of a normal curve, by the definition."""
    w = np.ones(len(Z)) if weights is None else weights
    t = Z @ v - b
    near, n = w @ np.exp(-0.5 * (t / h) ** 2), w.sum()
    mean = w @ t / n
    square = w @ (t - mean) ** 2 / n + h * h
    return np.log((near + 2.0) / (n * h / np.sqrt(square) * np.exp(-0.5 * mean**2 / square) + 2.0))


def evaluate(sample, v, b, h):
    density = RelativeDensity(sample, sample.moments(), h)
    (ratio,) = drive(sample, [density.evaluate(v, b)])
    return ratio


def unit(rng, d):
    v = rng.standard_normal(d)
    return v / np.linalg.norm(v)


@pytest.mark.parametrize("h", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("b", [0.0, 0.3, -0.8, 2.5])
def test_value_is_that_of_the_exact_sums(h, b, rng):
    sample, v = as_rows(X).sample(), unit(rng, 4)
    Z = sample.fetch(np.arange(len(X)))
    assert evaluate(sample, v, b, h).value == pytest.approx(log_ratio(Z, v, b, h), abs=1e-7)


@pytest.mark.parametrize("h", [0.05, 0.3])
@pytest.mark.parametrize("b", [0.0, 0.4, -1.0])
def test_gradient_is_that_of_finite_differences(h, b, rng):
    sample, v, step = as_rows(X).sample(), unit(rng, 4), 1e-6
    Z, ratio = sample.fetch(np.arange(len(X))), evaluate(sample, v, b, h)
    numeric = [(log_ratio(Z, v + step * e, b, h) - log_ratio(Z, v - step * e, b, h)) / (2.0 * step) for e in np.eye(4)]
    assert_allclose(ratio.on_normal, numeric, atol=1e-6)
    on_offset = (log_ratio(Z, v, b + step, h) - log_ratio(Z, v, b - step, h)) / (2.0 * step)
    assert ratio.on_offset == pytest.approx(on_offset, abs=1e-6)


def test_integer_weights_equal_repetition(rng):
    weights, v = rng.integers(1, 4, len(X)), unit(rng, 4)
    weighted, repeated = as_rows(X).sample(weights.astype(float)), as_rows(np.repeat(X, weights, axis=0)).sample()
    assert weighted.unit == repeated.unit
    first, second = (evaluate(sample, v, 0.2, 0.2) for sample in (weighted, repeated))
    assert first.value == pytest.approx(second.value, abs=1e-12)
    assert_allclose(first.on_normal, second.on_normal, atol=1e-12)
    assert first.on_offset == pytest.approx(second.on_offset, abs=1e-12)


CONTAINERS = {
    "float32": (lambda rows: as_rows(rows.astype(np.float32)), 1e-5),
    "Fortran order": (lambda rows: as_rows(np.asfortranarray(rows)), 1e-10),
    "sparse": (lambda rows: as_rows(sp.csr_array(rows)), 1e-9),
    "blocks": (lambda rows: RowBlocks([rows[:150], rows[150:]]), 1e-9),
}


@pytest.mark.parametrize(("container", "atol"), CONTAINERS.values(), ids=CONTAINERS)
def test_container_of_the_rows_does_not_matter(container, atol, rng):
    sample, other, v = as_rows(X).sample(), container(X).sample(), unit(rng, 4)
    first = evaluate(sample, v, 0.3, 0.2)
    second = evaluate(other, v, 0.3 * sample.unit / other.unit, 0.2 * sample.unit / other.unit)
    assert second.value == pytest.approx(first.value, abs=atol)
    assert_allclose(second.on_normal / sample.unit, first.on_normal / other.unit, atol=10 * atol)


def test_covariance_need_not_be_stored(unstored, rng):
    X = sp.random_array((300, 201), density=0.1, rng=rng, format="csr")
    sample, v = as_rows(X).sample(), unit(rng, 201)
    assert not sample.moments().is_stored
    Z, step = sample.fetch(np.arange(300)), 1e-6
    ratio = evaluate(sample, v, 0.01, 0.03)
    assert ratio.value == pytest.approx(log_ratio(Z, v, 0.01, 0.03), abs=1e-7)
    e = unit(rng, 201)
    numeric = (log_ratio(Z, v + step * e, 0.01, 0.03) - log_ratio(Z, v - step * e, 0.01, 0.03)) / (2.0 * step)
    assert ratio.on_normal @ e == pytest.approx(numeric, abs=1e-5)


def test_normal_data_have_a_ratio_near_one_everywhere(rng):
    sample = as_rows(rng.standard_normal((4000, 3)) * [1.0, 2.0, 0.5]).sample()
    for _ in range(5):
        v = unit(rng, 3)
        spread = np.sqrt(sample.moments().variance_along(v))
        values = [evaluate(sample, v, k * spread, 0.2 * spread).value for k in (-2.0, -1.0, 0.0, 1.0, 2.0)]
        assert np.abs(values).max() < 0.25


def test_gap_is_below_and_no_gain_is_beyond_all_rows():
    rows = np.r_[np.random.default_rng(0).normal(-3.0, 0.5, 300), np.random.default_rng(1).normal(3.0, 0.5, 300)]
    sample = as_rows(rows[:, None]).sample()
    assert evaluate(sample, np.ones(1), 0.0, 0.1).value < -2.0
    assert abs(evaluate(sample, np.ones(1), 1e3, 0.1).value) < 1e-6
    assert np.isfinite(evaluate(sample, np.ones(1), -1e12, 0.1).on_normal).all()
