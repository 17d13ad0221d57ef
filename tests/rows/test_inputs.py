"""The same numbers give the same hyperplane, however they are stored, and are neither copied nor changed."""

import tracemalloc
from functools import cache

import numpy as np
import pandas as pd
import polars as pl
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, PathSettings
from support.simulate import two_clusters

# ----------------------------------------------------------------------------------------------- containers


def strided(X):
    store = np.full((2 * len(X), 3 * X.shape[1]), 1e30, dtype=X.dtype)
    store[::2, ::3] = X
    return store[::2, ::3]


def read_only(X):
    X = X.copy()
    X.flags.writeable = False
    return X


def field_of_records(X):
    """A view whose elements are neither aligned nor a whole number of elements apart."""
    records = np.zeros(len(X), dtype=[("flag", "i1"), ("x", X.dtype, (X.shape[1],))])
    records["x"] = X
    return records["x"]


CONTAINERS = {
    "C order": np.ascontiguousarray,
    "Fortran order": np.asfortranarray,
    "every second row": lambda X: np.repeat(X, 2, axis=0)[::2],
    "every second row, Fortran order": lambda X: np.asfortranarray(np.repeat(X, 2, axis=0))[::2],
    "every third column": strided,
    "some columns": lambda X: np.hstack([X, X, X])[:, X.shape[1] : 2 * X.shape[1]],
    "rows backwards": lambda X: X[::-1].copy()[::-1],
    "columns backwards": lambda X: X[:, ::-1].copy()[:, ::-1],
    "read-only": read_only,
    "unaligned": field_of_records,
    "big-endian": lambda X: X.astype(X.dtype.newbyteorder(">")),
    "long double": lambda X: X.astype(np.longdouble),
    "object": lambda X: X.astype(object),
    "list": lambda X: X.tolist(),
    "tuples": lambda X: tuple(map(tuple, X.tolist())),
    "pandas": pd.DataFrame,
    "pandas nullable": lambda X: pd.DataFrame(X).astype("Float64"),
    "polars": pl.DataFrame,
}
TYPES = {
    "float64": lambda X: X,
    "float32": lambda X: X.astype(np.float32),
    "float16": lambda X: X.astype(np.float16),
    "int64": lambda X: (50 * X).round().astype(np.int64),
    "int8": lambda X: (10 * X).round().clip(-128, 127).astype(np.int8),
    "uint8": lambda X: (10 * X + 120).round().clip(0, 255).astype(np.uint8),
    "bool": lambda X: np.median(X, axis=0) < X,
}


def fit(X, **parameters):
    return MinimumDensityHyperplane(random_state=0, **parameters).fit(X)


def assert_same_hyperplane(mdh, reference, *, normal=1e-9, values=1e-9):
    assert_array_equal(mdh.labels_, reference.labels_)
    assert_allclose(mdh.coef_, reference.coef_, atol=normal)
    for name in ("intercept_", "density_", "relative_depth_", "bandwidth_"):
        assert_allclose(getattr(mdh, name), getattr(reference, name), rtol=values, err_msg=name)


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_container_does_not_matter(container, dtype):
    X = TYPES[dtype](two_clusters()[0])
    stored = container(X)
    mdh = fit(stored)
    assert_same_hyperplane(mdh, fit(X.astype(np.float64)))
    assert_array_equal(mdh.predict(stored), mdh.labels_)


@pytest.mark.parametrize("cast", TYPES.values(), ids=TYPES)
@pytest.mark.parametrize("order", ["C", "F"])
def test_type_of_the_numbers_does_not_matter(cast, order):
    X = np.asarray(cast(two_clusters(400, 6)[0]), order=order)
    mdh = fit(X)
    assert_same_hyperplane(mdh, fit(X.astype(np.float64)))
    assert_array_equal(mdh.predict(X), mdh.labels_)


def test_float32_costs_no_more_than_its_own_rounding():
    X = two_clusters()[0]
    assert_same_hyperplane(fit(X.astype(np.float32)), fit(X), normal=1e-5, values=1e-5)


def test_frame_of_mixed_columns_is_read_as_numbers():
    X = two_clusters()[0]
    X[:, 1] = X[:, 1].round()
    X[:, 2] = X[:, 2] > 0
    frame = pd.DataFrame(X).astype({0: np.float32, 1: np.int16, 2: bool})
    assert_same_hyperplane(fit(frame), fit(frame.to_numpy(dtype=np.float64)))


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_memory_map_is_read_in_place(tmp_path, order, dtype):
    X = two_clusters()[0].astype(dtype)
    on_disk = np.memmap(tmp_path / "rows", dtype=dtype, mode="w+", shape=X.shape, order=order)
    on_disk[:] = X
    on_disk.flush()
    mapped = np.memmap(tmp_path / "rows", dtype=dtype, mode="r", shape=X.shape, order=order)
    assert_same_hyperplane(fit(mapped), fit(X))


@pytest.mark.parametrize("weights", [list, pd.Series, pl.Series, lambda w: w.astype(np.float32), lambda w: w[::-1]])
def test_container_of_the_weights_does_not_matter(weights):
    X = two_clusters()[0]
    w = np.arange(1.0, 1.0 + len(X)) / 128
    stored = weights(w)
    reference = MinimumDensityHyperplane().fit(X, sample_weight=np.array(stored, dtype=np.float64))
    assert_same_hyperplane(MinimumDensityHyperplane().fit(X, sample_weight=stored), reference)


# ----------------------------------------------------------------------------------------------- no copy, no change


@pytest.mark.parametrize("container", ["C order", "Fortran order", "every third column", "big-endian"])
def test_rows_and_weights_are_not_changed(container):
    X = CONTAINERS[container](two_clusters()[0])
    w = np.linspace(0.0, 1.0, len(X))
    before, weights_before = X.copy(), w.copy()
    MinimumDensityHyperplane().fit(X, sample_weight=w).predict(X)
    assert_array_equal(X, before)
    assert_array_equal(w, weights_before)


def peak_bytes(function, *arguments, **keywords):
    tracemalloc.start()
    try:
        function(*arguments, **keywords)
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@cache
def many_rows():
    return two_clusters(20_000, 50)[0]


@pytest.mark.parametrize("container", ["C order", "Fortran order", "every second row", "some columns"])
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("weighted", [False, True])
def test_rows_are_not_copied(container, dtype, weighted):
    X = CONTAINERS[container](np.hstack([many_rows()] * 3).astype(dtype))
    weights = np.ones(len(X)) if weighted else None
    mdh = MinimumDensityHyperplane(init="pca", n_init=2, subsample=None, path=PathSettings(n_alpha=2, polish=False))
    fixed = 2 * 2**22  # working space that does not grow with the rows
    assert peak_bytes(mdh.fit, X, sample_weight=weights) - fixed < 0.3 * X.nbytes
    assert peak_bytes(mdh.predict, X) < 0.1 * X.nbytes


@pytest.mark.parametrize("estimator", [MinimumDensityHyperplane(), MinimumDensityTree(2), MinimumDensityClassifier()])
def test_repeated_column_names_are_named(estimator):
    X = pd.DataFrame(two_clusters(40, 3)[0], columns=["a", "b", "a"])
    with pytest.raises(ValueError, match="'a'"):
        estimator.fit(X, np.arange(40) % 2)


def test_dates_and_masked_values_are_refused():
    dates = np.array([["2020-01-01"], ["2021-01-01"]], dtype="M8[D]")
    with pytest.raises(TypeError, match="dates"):
        MinimumDensityHyperplane().fit(dates)
    with pytest.raises(ValueError, match="masked"):
        MinimumDensityHyperplane().fit(np.ma.array(two_clusters(50, 2)[0], mask=np.eye(50, 2, dtype=bool)))
