"""Fits do not depend on the container of the rows, for every option, with and without weights."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.rows import RowBlocks

N = 150
RNG = np.random.default_rng(4)
TRUTH = RNG.integers(0, 3, N)
# Repeated rows, in no order.
X = np.round(RNG.normal(size=(N, 3)) + 5.0 * RNG.normal(size=(3, 3))[TRUTH], 1)[RNG.integers(0, N, N)]
WEIGHTS = RNG.integers(0, 4, N).astype(float)
LABELS = np.where(RNG.random(N) < 0.3, RNG.integers(0, 3, N), -1)
PAIRS = [[0, 1], [2, 5], [7, 90]]
CONTAINERS = {
    "columns": np.asfortranarray,
    "view": lambda X: np.repeat(X, 2, axis=0)[::2],
    "lists": np.ndarray.tolist,
    "pandas": pd.DataFrame,
    "polars": pl.DataFrame,
    "sparse": sp.csr_array,
    "sparse columns": sp.csc_matrix,
    "blocks": lambda X: [X[:1], X[1:1], X[1:97], X[97:]],
    "row blocks": lambda X: RowBlocks([X[:60], X[60:]]),
}
FITS = {
    "hyperplane": (MinimumDensityHyperplane(), {}),
    "outliers": (MinimumDensityHyperplane(init="pca", contamination=0.1), {}),
    "subsample": (MinimumDensityHyperplane(subsample=30), {}),
    "pooled test": (MinimumDensityHyperplane(test="pooled"), {}),
    "tree": (MinimumDensityTree(3, contamination="auto"), {}),
    "sizes": (MinimumDensityTree(4, min_cluster_size=0.1, max_cluster_size=0.4), {}),
    "labels": (MinimumDensityTree(3), {"labels": LABELS}),
    "links": (MinimumDensityTree(3), {"cannot_link": PAIRS}),
    "automatic tree": (MinimumDensityTree(), {}),
    "exact test": (MinimumDensityTree("shown", hyperplane=MinimumDensityHyperplane(test="exact")), {}),
    "classifier": (MinimumDensityClassifier(), {"y": LABELS}),
}
TESTED = ("pooled test", "automatic tree", "exact test")  # not with weights


@pytest.fixture(scope="module")
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        yield client


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", FITS)
@pytest.mark.parametrize("weighted", [False, True], ids=["", "weights"])
def test_fits_do_not_depend_on_the_container(name, weighted, client, tmp_path):
    if weighted and name in TESTED:
        pytest.skip("weights are refused")
    np.save(tmp_path / "rows.npy", X)
    da = pytest.importorskip("dask.array")
    containers = {key: make(X) for key, make in CONTAINERS.items()}
    containers |= {"file": RowBlocks(tmp_path / "rows.npy"), "dask": da.from_array(X, chunks=(40, -1))}
    model, others = FITS[name]
    model, others = (
        clone(model).set_params(random_state=0),
        {**others, **({"sample_weight": WEIGHTS} if weighted else {})},
    )
    expected = clone(model).fit(X, **others)
    for key, rows in containers.items():
        found = clone(model).fit(rows, **others)
        assert_array_equal(np.asarray(found.predict(rows)), expected.predict(X), err_msg=key)
        assert_allclose(np.asarray(found.predict_proba(rows)), expected.predict_proba(X), atol=1e-6, err_msg=key)
        for attribute in ("labels_", "pvalue_", "outlier_scores_"):
            if hasattr(expected, attribute):
                values = (np.asarray(getattr(fit, attribute)) for fit in (found, expected))
                assert_allclose(*values, atol=1e-6, err_msg=f"{key}, {attribute}")
