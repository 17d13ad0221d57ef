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


def log_ratio(Z, v, b, ratio, cells=0.0):
    """Log ratio of the rows at the hyperplane to those of a normal curve, by the definition."""
    t = Z @ v - b
    square = ratio**2 * t.var() + np.sum(v * cells * v)
    near, total = np.exp(-0.5 * t**2 / square).sum(), t.var() + square
    expected = len(Z) * np.sqrt(square / total) * np.exp(-0.5 * t.mean() ** 2 / total)
    return np.log((near + 20.0) / (expected + 20.0))


def evaluate(sample, v, b, ratio, cells=None):
    density = RelativeDensity(sample, sample.moments(), ratio, None if cells is None else np.diag(cells))
    (found,) = drive(sample, [density.evaluate(v, b)])
    return found


def unit(rng, d):
    v = rng.standard_normal(d)
    return v / np.linalg.norm(v)


CELLS = [np.zeros(4), np.array([0.0, 0.2, 0.0, 0.05])]


@pytest.mark.parametrize("cells", CELLS, ids=["values", "cells"])
@pytest.mark.parametrize("h", [0.02, 0.1, 0.5])
@pytest.mark.parametrize("b", [0.0, 0.3, -0.8, 2.5])
def test_value_is_that_of_the_exact_sums(h, b, cells, rng):
    sample, v = as_rows(X).sample(), unit(rng, 4)
    Z = sample.fetch(np.arange(len(X)))
    assert evaluate(sample, v, b, h, cells).value == pytest.approx(log_ratio(Z, v, b, h, cells), abs=1e-7)


@pytest.mark.parametrize("cells", CELLS, ids=["values", "cells"])
@pytest.mark.parametrize("h", [0.1, 0.5])
@pytest.mark.parametrize("b", [0.0, 0.4, -1.0])
def test_gradient_is_that_of_finite_differences(h, b, cells, rng):
    sample, v, step = as_rows(X).sample(), unit(rng, 4), 1e-6
    Z, found = sample.fetch(np.arange(len(X))), evaluate(sample, v, b, h, cells)

    def differentiate(along_v, along_b):
        up, down = (log_ratio(Z, v + sign * along_v, b + sign * along_b, h, cells) for sign in (1.0, -1.0))
        return (up - down) / (2.0 * step)

    assert_allclose(found.on_normal, [differentiate(step * e, 0.0) for e in np.eye(4)], atol=1e-6)
    assert found.on_offset == pytest.approx(differentiate(0.0, step), abs=1e-6)


def test_stretched_features_have_the_same_ratio(rng):
    sample, stretched, v = as_rows(X).sample(), as_rows(X * [1.0, 1e-3, 50.0, 1.0]).sample(), unit(rng, 4)
    w = v / np.array([1.0, 1e-3, 50.0, 1.0])
    length = np.linalg.norm(w)
    b = 0.2 * sample.unit / stretched.unit / length
    found = evaluate(stretched, w / length, b, 0.2).value
    assert found == pytest.approx(evaluate(sample, v, 0.2, 0.2).value, abs=1e-5)


def test_constant_projections_have_a_finite_ratio():
    Z = np.column_stack([np.arange(50.0), np.zeros(50)])
    found = evaluate(as_rows(Z).sample(), np.array([0.0, 1.0]), 0.0, 0.2)
    assert np.isfinite([found.value, found.on_offset, *found.on_normal]).all()


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
    second = evaluate(other, v, 0.3 * sample.unit / other.unit, 0.2)
    assert second.value == pytest.approx(first.value, abs=atol)
    assert_allclose(second.on_normal / sample.unit, first.on_normal / other.unit, atol=10 * atol)


def test_covariance_need_not_be_stored(unstored, rng):
    X = sp.random_array((300, 201), density=0.1, rng=rng, format="csr")
    sample, v = as_rows(X).sample(), unit(rng, 201)
    assert not sample.moments().is_stored
    Z, step = sample.fetch(np.arange(300)), 1e-6
    ratio = evaluate(sample, v, 0.01, 0.3)
    assert ratio.value == pytest.approx(log_ratio(Z, v, 0.01, 0.3), abs=1e-7)
    e = unit(rng, 201)
    numeric = (log_ratio(Z, v + step * e, 0.01, 0.3) - log_ratio(Z, v - step * e, 0.01, 0.3)) / (2.0 * step)
    assert ratio.on_normal @ e == pytest.approx(numeric, abs=1e-5)


def test_normal_data_have_a_ratio_near_one_everywhere(rng):
    sample = as_rows(rng.standard_normal((4000, 3)) * [1.0, 2.0, 0.5]).sample()
    for _ in range(5):
        v = unit(rng, 3)
        spread = np.sqrt(sample.moments().variance_along(v))
        values = [evaluate(sample, v, k * spread, 0.2).value for k in (-2.0, -1.0, 0.0, 1.0, 2.0)]
        assert np.abs(values).max() < 0.25


def test_gap_is_below_and_no_gain_is_beyond_all_rows():
    rows = np.r_[np.random.default_rng(0).normal(-3.0, 0.5, 300), np.random.default_rng(1).normal(3.0, 0.5, 300)]
    sample = as_rows(rows[:, None]).sample()
    assert evaluate(sample, np.ones(1), 0.0, 0.1).value < -1.0
    assert abs(evaluate(sample, np.ones(1), 1e3, 0.1).value) < 1e-6
    assert np.isfinite(evaluate(sample, np.ones(1), -1e12, 0.1).on_normal).all()
