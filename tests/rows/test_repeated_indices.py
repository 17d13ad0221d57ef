"""Rows of every container are taken by any indices: repeated, unsorted, all of them or none."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from ravine import MinimumDensityTree, RowBlocks
from ravine.rows import as_rows
from ravine.rows.inputs import validate_rows

CONTAINERS = ("array", "sparse", "blocks", "file", "dask")
INDICES = {
    "repeated": [0, 0, 1, 1, 1, 5, 5],
    "as many as a block, repeated": [0, 0, 1, 1, 2, 2, 3, 3, 4, 4],
    "more than all": [*range(30), 7, 7, 7],
    "unsorted": [29, 3, 17, 3, 0],
    "reversed": list(range(29, -1, -1)),
    "all": list(range(30)),
    "none": [],
}


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        yield client


def make_rows(X, container, tmp_path):
    if container == "array":
        return as_rows(X)
    if container == "sparse":
        return as_rows(sp.csr_array(X))
    if container == "blocks":
        return RowBlocks([X[:10], X[10:13], X[13:]])
    if container == "file":
        np.save(tmp_path / "rows.npy", X)
        return RowBlocks(tmp_path / "rows.npy")
    da = pytest.importorskip("dask.array")
    return validate_rows(MinimumDensityTree(), da.from_array(X, chunks=(10, -1)), reset=True)


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", INDICES)
def test_take_returns_the_rows_of_the_indices(container, name, rng, tmp_path, request):
    if container == "dask":
        request.getfixturevalue("client")
    X = rng.normal(size=(30, 4))
    rows, indices = make_rows(X, container, tmp_path), np.array(INDICES[name], dtype=np.intp)
    with rows.session():
        taken = rows.take(indices)
    np.testing.assert_array_equal(as_array(taken), X[indices])


@pytest.mark.parametrize("container", CONTAINERS)
@pytest.mark.parametrize("name", [name for name, indices in INDICES.items() if indices == sorted(indices)])
@pytest.mark.parametrize("nested", [False, True], ids=["rows", "subset"])
def test_every_question_is_about_the_rows_of_the_indices(container, name, nested, rng, tmp_path, request):
    if container == "dask":
        request.getfixturevalue("client")
    X = rng.normal(size=(30, 4))
    rows, indices = make_rows(X, container, tmp_path), np.array(INDICES[name], dtype=np.intp)
    expected, center, direction = X[indices], X[0], np.array([0.6, 0.0, 0.8, 0.0])
    with rows.session():
        if nested:
            rows, indices = rows.subset(indices, copy=False), None
        along = (expected - center) @ direction
        np.testing.assert_allclose(rows.project(center, direction, indices), along, atol=1e-12)
        np.testing.assert_array_equal(rows.sides(center, direction, indices), along > 0.0)
        np.testing.assert_array_equal(rows.column(2, indices), expected[:, 2])
        np.testing.assert_allclose(np.asarray(rows.apply(add_features, indices)), expected.sum(axis=1), atol=1e-12)
        if nested and len(expected):
            copy = rows.subset(np.arange(len(expected)), copy=True)
            np.testing.assert_array_equal(as_array(copy.take(np.arange(len(expected)))), expected)
            np.testing.assert_array_equal(as_array(rows.take(np.arange(len(expected))[::-1])), expected[::-1])


def add_features(X):
    return np.asarray(X.sum(axis=1)).ravel()


def as_array(X):
    return X.toarray() if sp.issparse(X) else np.asarray(X)
