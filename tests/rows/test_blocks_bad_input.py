"""Unreadable blocks: every message names the file or the block and states what to give instead."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet
import pytest
import scipy.sparse as sp

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.rows import RowBlocks

X = np.arange(12.0).reshape(6, 2)


class Duck:
    """Array of another library, which NumPy cannot convert."""

    shape, dtype = X.shape, X.dtype

    def __getitem__(self, rows):
        return X[rows]


# ------------------------------------------------------------------------------------------------- not wrapped


@pytest.mark.parametrize("model", [MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier])
@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda folder: "rows.npy", "'rows.npy'.*RowBlocks"),
        (lambda folder: folder, "'.*'.*RowBlocks"),
        (lambda folder: ["a.npy", "b.npy"], "paths.*RowBlocks"),
        (lambda folder: [folder], "paths.*RowBlocks"),
        (lambda folder: (b for b in [X, X]), "generator.*RowBlocks"),
        (lambda folder: lambda: iter([X, X]), "function.*RowBlocks"),
        (lambda folder: Duck(), "Duck.*RowBlocks"),
        (lambda folder: [sp.csr_array(X), sp.csr_array(X)], "sparse.vstack"),
    ],
)
def test_error_names_the_class_that_wraps_the_rows(model, make, message, tmp_path):
    y = [np.array([0, 1, -1, -1, -1, -1])] if model is MinimumDensityClassifier else []
    with pytest.raises(TypeError, match=message):
        model().fit(make(tmp_path), *y)


def test_a_duck_is_read_when_it_is_wrapped():
    np.testing.assert_array_equal(RowBlocks(Duck()).take(np.array([4, 1])), X[[4, 1]])
    np.testing.assert_array_equal(RowBlocks([Duck(), X]).take(np.array([7, 1])), X[[1, 1]])


# ------------------------------------------------------------------------------------------------- types


ARRAYS = [
    (X + 1j, ValueError, "holds complex numbers"),
    (X.astype("datetime64[s]"), TypeError, "dates or durations"),
    (X.astype("timedelta64[s]"), TypeError, "dates or durations"),
    (np.zeros((3, 2), [("a", float), ("b", int)]), ValueError, "holds records"),
    (np.ones(3), ValueError, "must be two-dimensional"),
    (np.ones((3, 2, 1)), ValueError, "must be two-dimensional"),
]
BLOCKS = [
    *ARRAYS,
    (np.ma.masked_less(X, 3.0), ValueError, "masked array with masked values"),
    (sp.csr_array(X), TypeError, r"is a sparse matrix.*scipy.sparse.vstack"),
    (sp.coo_matrix(X), TypeError, r"is a sparse matrix.*scipy.sparse.vstack"),
]


@pytest.mark.parametrize(("block", "error", "message"), BLOCKS)
def test_types_that_lose_their_meaning_are_refused(block, error, message):
    for source in ([X, block], lambda: iter([X, block])):
        with pytest.raises(error, match=f"block 1 .*{message}"):
            RowBlocks(source)
    with pytest.raises(error, match=f"block 0 .*{message}"):
        RowBlocks(block)


@pytest.mark.parametrize(("block", "error", "message"), ARRAYS)
def test_types_that_lose_their_meaning_are_refused_in_files(block, error, message, tmp_path):
    np.save(tmp_path / "0.npy", X)
    np.save(tmp_path / "1.npy", block)
    with pytest.raises(error, match=f"1.npy .*{message}"):
        RowBlocks(tmp_path)


def test_masks_that_come_later_are_refused():
    masked = np.ma.masked_array(X.copy())
    source = RowBlocks(lambda: iter([X, masked]))
    np.testing.assert_array_equal(source.take(np.array([7])), X[[1]])
    masked[0, 0] = np.ma.masked
    with pytest.raises(ValueError, match=r"block 1 .*masked"):
        source.take(np.array([7]))


def test_a_chunked_array_may_be_masked():
    class Masked(Duck):
        def __getitem__(self, rows):
            return np.ma.masked_less(X, 3.0)[rows]

    with pytest.raises(ValueError, match=r"block 0 .*masked"):
        RowBlocks(Masked()).take(np.array([0]))


def test_a_function_must_make_blocks():
    with pytest.raises(TypeError, match=r"iterator.* 5"):
        RowBlocks(lambda: 5)
    once = iter([X, X])
    with pytest.raises(ValueError, match="same blocks"):
        RowBlocks(lambda: once)


# ------------------------------------------------------------------------------------------------- files


def npy(path, change):
    np.save(path, X)
    path.write_bytes(change(path.read_bytes()))


def parquet(path, change):
    pd.DataFrame(X, columns=["a", "b"]).to_parquet(path)
    path.write_bytes(change(path.read_bytes()))


def archive(path, _):
    with path.open("wb") as file:
        np.savez(file, x=X)


def objects(path, _):
    np.save(path, np.array([[1, "a"]], dtype=object))


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize(
    ("name", "write", "change"),
    [
        ("cut.npy", npy, lambda text: text[:-20]),
        ("cut-head.npy", npy, lambda text: text[:40]),
        ("empty.npy", npy, lambda text: b""),
        ("garbage.npy", npy, lambda text: b"no array at all" * 20),
        ("archive.npy", archive, None),
        ("objects.npy", objects, None),
        ("cut.parquet", parquet, lambda text: text[:-20]),
        ("empty.parquet", parquet, lambda text: b""),
        ("garbage.parquet", parquet, lambda text: b"no table at all" * 20),
    ],
)
def test_files_that_cannot_be_read_are_named(name, write, change, folder, tmp_path):
    write(tmp_path / name, change)
    kind = "a .npy file" if name.endswith("npy") else "a Parquet file"
    with pytest.raises(ValueError, match=rf"{tmp_path / name} .*{kind}"):
        RowBlocks(tmp_path if folder else tmp_path / name)


def test_a_row_group_that_cannot_be_read_is_named(tmp_path):
    table = pa.table({"a": np.random.default_rng(0).random(5000)})
    pa.parquet.write_table(table, tmp_path / "x.parquet", row_group_size=1000, compression="zstd")
    text = bytearray((tmp_path / "x.parquet").read_bytes())
    text[1000:3000] = bytes(2000)
    (tmp_path / "x.parquet").write_bytes(text)
    with pytest.raises(ValueError, match=r"row group 0 .*x.parquet"):
        RowBlocks(tmp_path).take(np.arange(5000))


def test_other_files_of_a_folder_are_ignored(tmp_path):
    np.save(tmp_path / "x.npy", X)
    for name in ("notes.txt", "._x.npy", "_SUCCESS"):
        (tmp_path / name).write_text("not rows")
    (tmp_path / "more.npy").mkdir()
    assert RowBlocks(tmp_path).shape == X.shape


def test_paths_in_a_list_are_read_in_its_order(tmp_path):
    for k in range(3):
        np.save(tmp_path / f"{k}.npy", X + k)
    source = RowBlocks([tmp_path / f"{k}.npy" for k in (2, 0, 1)])
    np.testing.assert_array_equal(source.take(np.arange(18)), np.concatenate([X + 2, X, X + 1]))


def test_files_of_other_kinds_and_ragged_blocks_are_refused(tmp_path):
    (tmp_path / "rows.txt").write_text("1 2")
    with pytest.raises(ValueError, match=r"rows.txt.* .npy .*.parquet"):
        MinimumDensityHyperplane().fit(RowBlocks([tmp_path / "rows.txt"]))
    with pytest.raises(ValueError, match="cannot be read"):
        MinimumDensityHyperplane().fit(RowBlocks([[[1.0, 2.0], [3.0]]]))
