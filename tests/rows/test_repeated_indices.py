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
    taken = taken.toarray() if sp.issparse(taken) else np.asarray(taken)
    np.testing.assert_array_equal(taken, X[indices])


@pytest.mark.parametrize("container", ["blocks", "dask"])
def test_weighted_trees_are_equal_in_all_containers(container, rng, request):
    if container == "dask":
        request.getfixturevalue("client")
    X = np.concatenate([rng.normal(size=(60, 3)), rng.normal(size=(50, 3)) + 8, rng.normal(size=(40, 3)) - 8])
    X = X[rng.permutation(len(X))]
    weights = rng.integers(1, 6, size=len(X)).astype(float)
    source = {"blocks": [X[:40], X[40:90], X[90:]]}.get(container)
    if source is None:
        source = pytest.importorskip("dask.array").from_array(X, chunks=(50, -1))
    expected = MinimumDensityTree(3, random_state=0).fit(X, sample_weight=weights)
    found = MinimumDensityTree(3, random_state=0).fit(source, sample_weight=weights)
    np.testing.assert_array_equal(np.asarray(found.labels_), expected.labels_)
