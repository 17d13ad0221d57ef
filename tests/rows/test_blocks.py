"""Rows in blocks: any source and any split give the fit of the array; unreadable blocks are named."""

import itertools

import numpy as np
import pytest
from sklearn.base import clone

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.rows import (
    AngleDerivative,
    BlockSample,
    DenseSample,
    Gradient,
    Histogram,
    LogSum,
    Rotate,
    RowBlocks,
    SetDirection,
    SetTangent,
    ValuesIn,
    blocks,
)
from support.marks import slow
from support.simulate import mixture, two_clusters

CUTS = (0, 100, 100, 900, 1500, 1501, 2000, 3000)


def cut(X, cuts=CUTS):
    return [X[i:j] for i, j in itertools.pairwise(cuts)]


@pytest.fixture
def rows():
    return mixture(3000, 5, seed=1)[0]


def assert_same_fit(one, other, density=1e-9, normal=1e-6):
    np.testing.assert_array_equal(one.labels_, other.labels_)
    assert other.density_ == pytest.approx(one.density_, rel=density)
    np.testing.assert_allclose(other.coef_, one.coef_, atol=normal)


# ------------------------------------------------------------------------------------------------- sample


@pytest.mark.parametrize("some", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
def test_answers_are_those_of_the_dense_sample(weighted, some, rows, rng):
    w = rng.random(3000) if weighted else None
    chosen = np.sort(rng.choice(3000, 1200, replace=False)) if some else None
    chosen_w = w if w is None or chosen is None else w[chosen]
    one = DenseSample(rows, chosen_w, indices=chosen)
    other = BlockSample(RowBlocks(cut(rows)), chosen_w, indices=chosen)
    np.testing.assert_allclose(other.moments().covariance, one.moments().covariance, atol=1e-13)
    np.testing.assert_allclose(other.origin, one.origin, atol=1e-13)
    other.origin = one.origin
    v, u = np.linalg.qr(rng.standard_normal((5, 2)))[0].T
    results = []
    for sample in (one, other):
        pq, second = sample.new_projections(), sample.new_projections()
        results.append([
            sample.answer(
                [[SetDirection(pq, v), Histogram(pq, 0.0, -3.0, 0.1, 64)], [SetDirection(second, u)]]
            )[0][1],
            *sample.answer(
                [[SetTangent(pq, u), LogSum(pq, 0.3, 0.4, 0.1), AngleDerivative(pq, 0.3, 0.4, 0.1, 2, 2)]]
            )[0][1:],
            *(a[-1] for a in sample.answer([
                [Rotate(pq, 0.3), Gradient(pq, 0.4, 0.1, 2.0, 3.0)],
                [Gradient(second, 0.4, 0.0, 2.0, 9.0)],
                [SetTangent(second, v), Gradient(second, 0.4, 0.0, 2.0, 9.0)],
            ])),
            *sample.answer([[ValuesIn(pq, 0.0, -0.5, 0.5)]])[0][0],
            sample.fourth_moments(np.eye(5)), sample.skewness_signs(np.eye(5)), sample.fetch(np.array([3, 5])),
        ])  # fmt: skip
    for a, b in zip(*results, strict=True):
        if a is not None:
            np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-11)


def test_projections_and_sums_of_a_round_share_one_pass(tmp_path, rows):
    np.save(tmp_path / "x.npy", rows)
    source = RowBlocks(tmp_path / "x.npy")
    sample = BlockSample(source)
    one, other = sample.new_projections(), sample.new_projections()
    v, u = np.eye(5)[:2]
    sample.answer([[SetDirection(one, v)], [SetDirection(other, u)]])
    before = source.passes
    sample.answer([[SetTangent(one, u)], [Gradient(other, 0.5, 0.0, 3.0, 2.0)], [Gradient(one, 0.5, 0.0, 3.0, 2.0)]])
    assert source.passes - before == pytest.approx(1.0)


def test_rows_are_taken_in_any_order(tmp_path, rows, small_chunks, rng):
    np.save(tmp_path / "x.npy", rows)
    for source in (RowBlocks(tmp_path / "x.npy"), RowBlocks(cut(rows)), RowBlocks(lambda: iter(cut(rows)))):
        for size in (1, 40, 2900):
            chosen = rng.choice(3000, size, replace=False)
            np.testing.assert_array_equal(source.take(chosen), rows[chosen])
        some = np.sort(chosen)
        np.testing.assert_array_equal(source.column(2, some), rows[some, 2])
        np.testing.assert_array_equal(source.subset(some).take(np.arange(5)), rows[some[:5]])


# ------------------------------------------------------------------------------------------------- sources


def test_every_source_gives_the_fit_of_the_array(tmp_path, rows, small_chunks):
    h5py, zarr, pandas = (
        pytest.importorskip(name) if name == "pandas" else _maybe(name) for name in ("h5py", "zarr", "pandas")
    )
    model = MinimumDensityHyperplane(n_init=1)
    one = clone(model).fit(rows)
    np.save(tmp_path / "x.npy", rows)
    for name in ("many", "tables"):
        (tmp_path / name).mkdir()
    for k, block in enumerate(cut(rows)):
        np.save(tmp_path / "many" / f"{k}.npy", block)
        if len(block):
            pandas.DataFrame(block, columns=list("abcde")).to_parquet(tmp_path / "tables" / f"{k}.parquet")
    mapped = np.load(tmp_path / "x.npy", mmap_mode="r")
    found = [RowBlocks(tmp_path / "x.npy"), RowBlocks(mapped), RowBlocks(mapped[:]), RowBlocks(tmp_path / "many")]
    found += [RowBlocks(str(tmp_path / "tables")), RowBlocks(lambda: iter(cut(rows))), RowBlocks(rows), cut(rows)]
    found += [
        RowBlocks([np.asfortranarray(block) for block in cut(rows)]),
        tuple(cut(rows)),
        RowBlocks([mapped, mapped[:0]]),
    ]
    if h5py is not None:
        file = h5py.File(tmp_path / "x.h5", "w")
        found.append(file.create_dataset("x", data=rows, chunks=(100, 5)))
    if zarr is not None:
        array = zarr.create_array(str(tmp_path / "x.zarr"), shape=rows.shape, dtype=rows.dtype, chunks=(100, 5))
        array[:] = rows
        found.append(array)
    for source in found:
        assert_same_fit(one, clone(model).fit(source))


def _maybe(name):
    try:
        return __import__(name)
    except ImportError:
        return None


@pytest.mark.parametrize("dtype", [np.float32, np.int16, ">f8"])
def test_types_of_numbers(dtype, tmp_path):
    X = (20 * two_clusters(300, 4)[0]).astype(dtype)
    np.save(tmp_path / "x.npy", X)
    one = MinimumDensityHyperplane().fit(X)
    for source in ([X[:100], X[100:]], RowBlocks(tmp_path / "x.npy")):
        assert_same_fit(one, MinimumDensityHyperplane().fit(source))


@pytest.mark.parametrize(
    ("options", "density", "normal"), [({"state": "float32"}, 1e-5, 1e-4), ({"spill": True}, 1e-9, 1e-6)]
)
def test_projections_in_single_precision_or_in_files(options, density, normal, rows, tmp_path):
    options = {**options, "spill": tmp_path} if "spill" in options else options
    model = MinimumDensityHyperplane(subsample=500, random_state=0)
    one = model.fit(rows).__dict__.copy()
    other = model.fit(RowBlocks(cut(rows), **options))
    np.testing.assert_array_equal(one["labels_"], other.labels_)
    assert other.density_ == pytest.approx(one["density_"], rel=density)
    np.testing.assert_allclose(other.coef_, one["coef_"], atol=normal)
    assert not list(tmp_path.iterdir())


def test_few_passes_are_needed(tmp_path):
    X = mixture(40_000, 4, seed=1)[0]
    np.save(tmp_path / "x.npy", X)
    source = RowBlocks(tmp_path / "x.npy")
    MinimumDensityHyperplane(random_state=0).fit(source)
    assert source.passes < 40
    assert f"read {source.passes:.1f} times" in repr(source)


def test_large_subsamples_are_not_copied(monkeypatch, rows):
    monkeypatch.setattr(blocks, "TAKE_BYTES", 1000)
    model = MinimumDensityHyperplane(subsample=500, random_state=0)
    one = model.fit(rows).__dict__.copy()
    other = model.fit(cut(rows))
    np.testing.assert_array_equal(one["labels_"], other.labels_)
    assert other.density_ == pytest.approx(one["density_"], rel=1e-9)


# ------------------------------------------------------------------------------------------------- estimators


def test_weights_and_weights_of_zero(rows, rng):
    w = rng.integers(0, 3, 3000).astype(float)
    one, other = (MinimumDensityHyperplane().fit(data, sample_weight=w) for data in (rows, cut(rows)))
    assert_same_fit(one, other)


def test_fewer_rows_than_columns():
    X = two_clusters(40, 90, separation=40.0)[0]
    assert_same_fit(MinimumDensityHyperplane().fit(X), MinimumDensityHyperplane().fit([X[:7], X[7:]]))


@pytest.mark.parametrize("n_clusters", ["auto", *slow(4)])
def test_tree(n_clusters, rows, monkeypatch):
    monkeypatch.setattr("ravine.rows.base.SMALL_BYTES", 8 * 5 * 600)
    one, other = (
        MinimumDensityTree(n_clusters, random_state=0, hyperplane=MinimumDensityHyperplane(n_init=2)).fit(data)
        for data in (rows, cut(rows))
    )
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(other.predict(cut(rows)), one.labels_)


def test_valley_test_with_columns_of_repeated_values(rows):
    X = rows.copy()
    X[:, 1] = np.round(X[:, 1])
    one, other = (MinimumDensityHyperplane(random_state=0, test="pooled").fit(data) for data in (X, cut(X)))
    assert one.pvalue_ == pytest.approx(other.pvalue_, rel=1e-9)
    assert one.valley_test_.grid_columns == other.valley_test_.grid_columns == (1,)


def test_classifier_of_three_classes():
    X, y = mixture(900, 5, seed=3)
    given = np.where(np.arange(900) < 40, y, -1)
    w = np.where(np.arange(900) % 50 == 7, 0.0, 1.0)
    one, other = (MinimumDensityClassifier().fit(data, given, w) for data in (X, cut(X, (0, 300, 300, 900))))
    np.testing.assert_array_equal(one.transduction_, other.transduction_)
    np.testing.assert_allclose(other.predict_proba([X[:50], X[50:60]]), one.predict_proba(X[:60]), atol=1e-6)


def test_methods_take_blocks_and_arrays(rows):
    model = MinimumDensityHyperplane().fit(cut(rows))
    np.testing.assert_array_equal(model.predict(rows), model.labels_)
    np.testing.assert_array_equal(model.decision_function(cut(rows)), model.decision_function(rows))
    np.testing.assert_array_equal(model.transform(cut(rows)), model.transform(rows))


# ------------------------------------------------------------------------------------------------- bad input


def test_bad_input_is_named(tmp_path, rows):
    good = cut(rows, range(0, 3001, 150))
    bad = [block.copy() for block in good]
    bad[17][5, 3] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*row 5.*block 17.*feature 3"):
        MinimumDensityHyperplane().fit(bad)
    model = MinimumDensityHyperplane().fit(good)
    with pytest.raises(ValueError, match=r"NaN.*row 5.*block 17.*feature 3"):
        model.predict(bad)
    with pytest.raises(ValueError, match=r"block 2 .* 4 .*block 0 .* 5"):
        MinimumDensityHyperplane().fit([good[0], good[1], good[2][:, :4]])
    with pytest.raises(TypeError, match="RowBlocks"):
        RowBlocks(block for block in good)
    with pytest.raises(ValueError, match="features"):
        model.predict([good[0][:, :4]])
    np.save(tmp_path / "x.npy", bad[17])
    with pytest.raises(ValueError, match=r"row 5.*x.npy.*feature 3"):
        MinimumDensityHyperplane().fit(RowBlocks(tmp_path))
    calls = []

    def make():
        calls.append(1)
        return iter(good if len(calls) < 3 else good[:2])

    with pytest.raises(ValueError, match="2 blocks"):
        MinimumDensityHyperplane().fit(RowBlocks(make))


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda folder: RowBlocks([]), ValueError, "no blocks"),
        (lambda folder: RowBlocks([np.empty((0, 3))]), ValueError, "one row"),
        (lambda folder: RowBlocks([np.ones(3)]), ValueError, "block 0"),
        (lambda folder: RowBlocks(5), TypeError, "blocks"),
        (lambda folder: RowBlocks(folder), FileNotFoundError, "neither .npy nor .parquet"),
        (lambda folder: RowBlocks(folder / "x.npy"), FileNotFoundError, "no file"),
        (lambda folder: RowBlocks([np.ones((3, 2))], state="float16"), ValueError, "state"),
        (lambda folder: RowBlocks([np.array([["a", "b"]])]).take(np.array([0])), ValueError, "numbers"),
    ],
)
def test_sources_that_cannot_be_read(make, error, message, tmp_path):
    with pytest.raises(error, match=message):
        make(tmp_path)


def test_a_failed_fit_leaves_the_estimator_as_it_was(rows):
    model = MinimumDensityHyperplane().fit(rows)
    before = dict(model.__dict__)
    with pytest.raises(ValueError, match="NaN"):
        model.fit([rows[:100], np.full((3, 5), np.nan)])
    assert model.__dict__ == before
