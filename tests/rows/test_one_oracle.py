"""One oracle, the array in memory: rows of every other kind must give its answer."""

from itertools import pairwise

import numpy as np
import pytest
import scipy.sparse as sp

from ravine import MinimumDensityHyperplane, PathSettings
from ravine.rows import RowBlocks, cluster, sparse
from support.simulate import mixture

pytestmark = pytest.mark.usefixtures("sparse_samples")

N, D = 4000, 6
CUTS = {
    "1 block": (0, N),
    "2 blocks": (0, 1234, N),
    "7 unequal blocks, one empty": (0, 1, 900, 900, 2500, 2600, 3999, N),
}


def blocks(rows, name):
    cuts = CUTS[name]
    return [rows[i:j] for i, j in pairwise(cuts)]


@pytest.fixture(scope="module")
def rows():
    X = mixture(N, D, seed=5)[0]
    return np.where(np.abs(X) < 0.2, 0.0, X)


def model(**options):
    mdh = MinimumDensityHyperplane(n_init=3, subsample=500, path=PathSettings(n_alpha=5), random_state=7)
    return mdh.set_params(**options)


@pytest.fixture(scope="module")
def oracle(rows):
    fitted = model().fit(rows)
    assert min(np.bincount(fitted.labels_)) > 100
    assert {step.n_rows for step in fitted.path_} == {500, N}
    return fitted


def assert_answer(found, oracle):
    np.testing.assert_array_equal(np.asarray(found.labels_), oracle.labels_)
    assert found.density_ == pytest.approx(oracle.density_, rel=1e-9)
    assert found.relative_depth_ == pytest.approx(oracle.relative_depth_, rel=1e-9)
    assert found.bandwidth_ == pytest.approx(oracle.bandwidth_, rel=1e-12)
    np.testing.assert_allclose(found.hyperplane_.normal, oracle.hyperplane_.normal, atol=1e-6)
    assert found.hyperplane_.offset == pytest.approx(oracle.hyperplane_.offset, abs=1e-6)


@pytest.mark.parametrize("name", CUTS)
def test_blocks(name, rows, oracle, tmp_path):
    assert_answer(model().fit(blocks(rows, name)), oracle)
    for k, block in enumerate(blocks(rows, name)):
        np.save(tmp_path / f"{k}.npy", block)
    assert_answer(model().fit(RowBlocks(tmp_path)), oracle)


@pytest.mark.parametrize("form", [sp.csr_array, sp.csr_matrix, sp.csc_array])
def test_sparse(form, rows, oracle):
    assert_answer(model().fit(form(rows)), oracle)


def test_sparse_with_principal_directions_by_lanczos(rows, monkeypatch):
    """Fit without a subsample, which would have its own variances if the covariance is not stored."""
    expected = model(init="pca", subsample=None).fit(rows)
    monkeypatch.setattr(sparse, "STORED_FEATURES", 0)
    assert_answer(model(init="pca", subsample=None).fit(sp.csr_array(rows)), expected)


@pytest.mark.parametrize("n_workers", [1, 2])
def test_cluster(n_workers, rows, oracle, monkeypatch):
    """Whether the subsample is fetched or everything stays on the workers."""
    da, distributed = pytest.importorskip("dask.array"), pytest.importorskip("distributed")
    options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        for name in ("2 blocks", "7 unequal blocks, one empty"):
            sizes = tuple(len(block) for block in blocks(rows, name))
            X = client.persist(da.from_array(rows, chunks=(sizes, (D,))))
            distributed.wait(X)
            before, fits = client.who_has(distributed.futures_of(X)), []
            for take_bytes in (8 * 500 * D, 0):
                monkeypatch.setattr(cluster, "TAKE_BYTES", take_bytes)
                fits.append(model().fit(X))
            assert client.who_has(distributed.futures_of(X)) == before
            for fitted in fits:
                assert_answer(fitted, oracle)  # Dask itself may copy blocks for the labels, which are lazy
