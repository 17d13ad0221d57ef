"""Displays are the same for every form of rows that a fit accepts."""

import numpy as np
import pytest
import scipy.sparse as sp

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, PathSettings
from ravine.plotting import DirectionDisplay, HyperplaneDisplay, PathDisplay
from ravine.rows import RowBlocks, sparse
from support.simulate import mixture

X, TRUTH = mixture(700, 5, seed=3)
X = np.where(np.abs(X) < 0.3, 0.0, X)
QUICK = {"n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3)}
QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
FORMS = {
    "list of blocks": lambda rows, _: [rows[:100], rows[100:100], rows[100:]],
    "blocks": lambda rows, _: RowBlocks([rows[:300], rows[300:]]),
    "files": lambda rows, folder: np.save(folder / "rows.npy", rows) or RowBlocks(folder),
    "csr array": lambda rows, _: sp.csr_array(rows),
    "csc matrix": lambda rows, _: sp.csc_matrix(rows),
}


@pytest.fixture(params=FORMS)
def form(request, tmp_path):
    return lambda rows: FORMS[request.param](rows, tmp_path)


@pytest.fixture(scope="module")
def mdh():
    return MinimumDensityHyperplane(**QUICK).fit(X)


@pytest.fixture(scope="module")
def tree():
    return MinimumDensityTree(4, **QUICK_TREE).fit(X)


@pytest.fixture(scope="module")
def classifier():
    return MinimumDensityClassifier(
        method="paper",
        random_state=0,
        hyperplane=MinimumDensityHyperplane(alpha_max=0.9, path=PathSettings(n_alpha=3, max_iter=5, polish=False)),
    ).fit(X, np.where(np.arange(len(X)) < 60, TRUTH, -1))


def assert_same(found, expected, names):
    for name in names:
        one, other = getattr(found, name), getattr(expected, name)
        if other is None:
            assert one is None, name
            continue
        if isinstance(other, dict):
            assert one.keys() == other.keys()
            one, other = list(one.values()), list(other.values())
        if isinstance(other, list) and other and isinstance(other[0], np.ndarray):
            for a, b in zip(one, other, strict=True):
                np.testing.assert_allclose(a, b, rtol=1e-8, atol=1e-9, err_msg=name)
        elif isinstance(other, list):
            assert one == other, name
        else:
            np.testing.assert_allclose(one, other, rtol=1e-8, atol=1e-9, err_msg=name)


SEEN = ["points", "density", "index", "along", "across", "rows", "codes", "names", "sizes", "across_direction"]
SEEN += ["offset", "interval", "relative_depth", "bandwidth", "n_rows"]


@pytest.mark.parametrize("weighted", [False, True])
def test_hyperplane_display_is_that_of_the_array(form, weighted, mdh):
    w = (np.arange(len(X)) % 3).astype(float) if weighted else None
    options = {"sample_weight": w, "max_rows": 200}
    assert_same(mdh.plot(form(X), **options), mdh.plot(X, **options), SEEN)
    assert_same(mdh.plot(form(X), TRUTH), mdh.plot(X, TRUTH), SEEN)


def test_display_of_few_rows_is_that_of_the_array(form, rng):
    wide = rng.standard_normal((20, 30))
    v = np.linalg.qr(rng.standard_normal((30, 1)))[0][:, 0]
    found, expected = (HyperplaneDisplay.from_direction(rows, v) for rows in (form(wide), wide))
    assert_same(found, expected, SEEN)


def test_display_of_a_direction_is_that_of_the_array(form):
    found, expected = (HyperplaneDisplay.from_direction(rows, [1, 2, 0, 0, 1], y=TRUTH) for rows in (form(X), X))
    assert_same(found, expected, SEEN)


def test_tree_display_is_that_of_the_array(form, tree):
    assert_same(tree.plot(form(X)), tree.plot(X), ["points", "densities", "sizes", "place"])
    assert_same(tree.tree_.plot(form(X)), tree.tree_.plot(X), ["points", "densities", "sizes"])
    inner = np.flatnonzero(tree.tree_.left >= 0)
    for node in (0, int(inner[-1])):
        assert_same(tree.plot(form(X), node=node), tree.plot(X, node=node), SEEN)


def test_display_of_a_pair_is_that_of_the_array(form, classifier):
    pair = list(classifier.hyperplanes_)[-1]
    assert len(classifier.classes_) > 2
    assert_same(classifier.plot(form(X), pair=pair), classifier.plot(X, pair=pair), SEEN)


def test_path_and_direction_displays_are_those_of_the_array(form, mdh):
    found, expected = (PathDisplay.from_estimator(mdh, rows) for rows in (form(X), X))
    assert_same(found, expected, ["points", "densities", "offsets", "half_widths"])
    found, expected = (DirectionDisplay.from_estimator(mdh, rows, kind="spread") for rows in (form(X), X))
    assert_same(found, expected, ["contributions", "names", "other"])


def test_spread_of_few_rows_is_that_of_the_array(form, rng, mdh):
    few = rng.standard_normal((4, 5)) + 1e6
    found, expected = (
        DirectionDisplay.from_hyperplane(mdh.hyperplane_, rows, kind="spread") for rows in (form(few), few)
    )
    assert_same(found, expected, ["contributions", "names"])


def test_display_does_not_depend_on_a_stored_covariance(mdh, monkeypatch):
    expected = mdh.plot(X)
    monkeypatch.setattr(sparse, "STORED_FEATURES", 0)
    assert_same(mdh.plot(sp.csr_array(X)), expected, SEEN)


def test_twenty_thousand_sparse_features_are_drawn():
    rng = np.random.default_rng(0)
    words = rng.integers(0, 20_000, (800, 40))
    topic = rng.integers(0, 2, 800)
    words[:, :12] = rng.integers(0, 60, (800, 12)) + 60 * topic[:, None]
    rows = sp.csr_array((np.ones(32_000), words.ravel(), np.arange(0, 32_001, 40)), shape=(800, 20_000))
    display = MinimumDensityHyperplane(random_state=0).fit(rows).plot(rows)
    assert abs(display.normal @ display.across_direction) < 1e-9
    centred = rows @ display.across_direction
    np.testing.assert_allclose(display.across, centred, atol=1e-9)
    assert display.sizes[:2].min() > 300


def test_errors_name_the_bad_row(form, mdh, tree):
    bad = X.copy()
    bad[3, 2] = np.nan
    for draw in (mdh.plot, tree.plot):
        with pytest.raises(ValueError, match="row 3"):
            draw(form(bad))
        with pytest.raises(ValueError, match=r"4 features|features=4|4 columns"):
            draw(form(X[:, :4]))


@pytest.fixture
def client():
    distributed = pytest.importorskip("distributed")
    options = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        yield client


def dask_forms():
    da = pytest.importorskip("dask.array")
    dd = pytest.importorskip("dask.dataframe")
    pd = pytest.importorskip("pandas")
    table = pd.DataFrame(X, columns=list("abcde"))
    return {"array": da.from_array(X, chunks=(300, 5)), "frame": dd.from_pandas(table, npartitions=2)}


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("kind", ["array", "frame"])
@pytest.mark.parametrize("fetched", [True, False])
def test_displays_of_dask_rows_are_those_of_the_array(kind, fetched, client, mdh, tree, classifier, monkeypatch):
    from ravine.rows import cluster

    monkeypatch.setattr(cluster, "TAKE_BYTES", 1 << 23 if fetched else 0)
    rows = dask_forms()[kind]
    assert_same(mdh.plot(rows), mdh.plot(X), SEEN)
    assert_same(tree.plot(rows), tree.plot(X), ["points", "densities", "sizes"])
    node = int(np.flatnonzero(tree.tree_.left >= 0)[-1])
    assert_same(tree.plot(rows, node=node), tree.plot(X, node=node), SEEN)
    pair = list(classifier.hyperplanes_)[-1]
    assert_same(classifier.plot(rows, pair=pair), classifier.plot(X, pair=pair), SEEN)
    found, expected = (DirectionDisplay.from_estimator(mdh, some, kind="spread") for some in (rows, X))
    assert_same(found, expected, ["contributions"])


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("kind", ["array", "frame"])
def test_dask_rows_are_drawn_without_a_client(kind, mdh):
    assert_same(mdh.plot(dask_forms()[kind]), mdh.plot(X), SEEN)
