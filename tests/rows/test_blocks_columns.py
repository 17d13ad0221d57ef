"""Blocks with column names: files and frames are matched by them; errors name columns that cannot be matched."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet
import pytest

from ravine import MinimumDensityHyperplane
from ravine.rows import RowBlocks
from support.simulate import two_clusters

NAMES = ["a", "b", "c.d", "e"]


@pytest.fixture
def frame():
    X = two_clusters(300, 4)[0] * [1.0, 2.0, 3.0, 4.0]
    return pd.DataFrame(X, columns=NAMES)


def everything(source):
    return source.take(np.arange(source.shape[0]))


def write(folder, *frames):
    for k, frame in enumerate(frames):
        frame.to_parquet(folder / f"{k}.parquet")
    return folder


# ------------------------------------------------------------------------------------------------- matching


def test_parquet_columns_are_matched_by_name(tmp_path, frame):
    write(tmp_path, frame[:100], frame[100:][["e", "c.d", "a", "b"]])
    source = RowBlocks(tmp_path)
    np.testing.assert_array_equal(everything(source), frame.to_numpy())
    assert source.feature_names == NAMES


@pytest.mark.parametrize("kind", ["pandas", "polars", "arrow", "function"])
def test_frames_are_matched_by_name(kind, frame):
    cut = [frame[:100], frame[100:100], frame[100:][["e", "c.d", "a", "b"]]]
    if kind == "polars":
        cut = [pl.from_pandas(block) for block in cut]
    elif kind == "arrow":
        cut = [pa.Table.from_pandas(block, preserve_index=False) for block in cut]
    source = RowBlocks((lambda: iter(cut)) if kind == "function" else cut)
    np.testing.assert_array_equal(everything(source), frame.to_numpy())
    assert source.feature_names == NAMES


def test_a_list_of_frames_is_fitted_as_the_frame(frame):
    one = MinimumDensityHyperplane().fit(frame)
    cut = [frame[:100], frame[100:][["e", "c.d", "a", "b"]]]
    other = MinimumDensityHyperplane().fit(cut)
    np.testing.assert_array_equal(one.labels_, other.labels_)
    np.testing.assert_array_equal(one.feature_names_in_, other.feature_names_in_)
    np.testing.assert_array_equal(other.predict(cut), one.labels_)
    np.testing.assert_array_equal(other.predict(frame), one.labels_)


def test_names_in_files_are_those_of_the_fit(tmp_path, frame):
    model = MinimumDensityHyperplane().fit(RowBlocks(write(tmp_path, frame)))
    assert list(model.feature_names_in_) == NAMES
    np.testing.assert_array_equal(model.predict(frame), model.labels_)
    with pytest.raises(ValueError, match="order"):
        model.predict([frame[NAMES[::-1]]])
    with pytest.raises(ValueError, match="unseen"):
        model.predict([frame.rename(columns={"a": "z"})])
    with pytest.warns(UserWarning, match="feature names"):
        model.predict([frame.to_numpy()])
    model.fit([frame.to_numpy()])
    assert not hasattr(model, "feature_names_in_")


def test_names_that_are_numbers_are_matched_but_not_kept(frame):
    numbered = frame.set_axis(range(4), axis=1)
    source = RowBlocks([numbered[:10], numbered[10:][[3, 1, 0, 2]]])
    np.testing.assert_array_equal(everything(source), frame.to_numpy())
    assert source.feature_names is None
    assert not hasattr(MinimumDensityHyperplane().fit(source), "feature_names_in_")


@pytest.mark.parametrize("index", ["unnamed", "named", "two", "range"])
def test_index_of_a_frame_is_not_a_column(index, tmp_path, frame):
    kept = frame
    if index == "two":
        kept = frame.set_axis(pd.MultiIndex.from_arrays([np.arange(300), np.arange(300) % 7], names=["u", "v"]))
    elif index != "range":
        kept = frame.set_axis(pd.Index(np.arange(300)[::-1] ** 2, name="id" if index == "named" else None))
    source = RowBlocks(write(tmp_path, kept))
    assert source.feature_names == NAMES
    np.testing.assert_array_equal(everything(source), frame.to_numpy())


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda f: f.drop(columns="b"), "{1} .*'b'.* {0} "),
        (lambda f: f.rename(columns={"b": "z"}), "{1} .*'b'.* {0} "),
        (lambda f: f.assign(z=1.0), "{1} .*'z'.* {0} "),
    ],
)
def test_columns_less_or_more_are_named(change, message, tmp_path, frame):
    with pytest.raises(ValueError, match=message.format("0.parquet", "1.parquet")):
        RowBlocks(write(tmp_path, frame, change(frame)))
    with pytest.raises(ValueError, match=message.format("block 0", "block 1")):
        RowBlocks([frame, change(frame)])


def test_names_cannot_be_guessed(tmp_path, frame):
    twice = frame.set_axis(["a", "b", "a", "e"], axis=1)
    with pytest.raises(ValueError, match=r"block 0 .*'a'"):
        RowBlocks([twice])
    with pytest.raises(ValueError, match=r"block 1 .*'a'"):
        RowBlocks([frame[["a", "b"]], twice[["a", "b"]]])
    with pytest.raises(ValueError, match=r"block 0 .*names.* block 1"):
        RowBlocks([frame, frame.to_numpy()])
    with pytest.raises(ValueError, match=r"block 1 .*names.* block 0"):
        RowBlocks([frame.to_numpy(), frame])
    np.save(tmp_path / "1.npy", frame.to_numpy())
    with pytest.raises(ValueError, match=r".npy .*.parquet"):
        RowBlocks(write(tmp_path, frame))


# ------------------------------------------------------------------------------------------------- types


def test_types_of_numbers_in_columns(tmp_path, frame):
    from decimal import Decimal

    table = pa.table(
        {
            "float": pa.array([0.5, 1.5], pa.float32()),
            "int": pa.array([3, -4], pa.int8()),
            "bool": pa.array([True, False]),
            "decimal": pa.array([Decimal("1.25"), Decimal("-2.5")]),
        }
    )
    expected = [[0.5, 3, 1, 1.25], [1.5, -4, 0, -2.5]]
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    mixed = pd.DataFrame({"a": np.float32([0.5, 1.5]), "b": [3, -4], "c": [True, False]})
    nullable = mixed.astype({"a": "Float32", "b": "Int64", "c": "boolean"})
    np.testing.assert_array_equal(everything(RowBlocks(tmp_path)), expected)
    for block in (table, pl.from_arrow(table)):
        np.testing.assert_array_equal(everything(RowBlocks([block])), expected)
    for block in (mixed, nullable, mixed.astype(object), pl.from_pandas(mixed)):
        np.testing.assert_array_equal(everything(RowBlocks([block])), [row[:3] for row in expected])
    assert everything(RowBlocks([frame.astype(np.float32)])).dtype == np.float32


COLUMNS = {
    "dates": (pa.array([1, 2], pa.date32()), TypeError, "dates or durations"),
    "timestamps": (pa.array([1, 2], pa.timestamp("ns")), TypeError, "dates or durations"),
    "durations": (pa.array([1, 2], pa.duration("s")), TypeError, "dates or durations"),
    "texts": (pa.array(["1", "two"]), ValueError, "does not hold numbers"),
    "categories": (pa.array(["7", "8"]).dictionary_encode(), ValueError, "does not hold numbers|categories"),
    "lists": (pa.array([[1.0], [2.0]]), ValueError, "does not hold numbers"),
}


@pytest.mark.parametrize(("column", "error", "message"), COLUMNS.values(), ids=COLUMNS)
def test_columns_without_numbers_are_named(column, error, message, tmp_path):
    table = pa.table({"fine": [1.0, 2.0], "bad": column})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    with pytest.raises(error, match=rf"x.parquet: column 'bad' .*({message})"):
        RowBlocks(tmp_path)
    for block in (table, table.to_pandas(), pl.from_arrow(table)) if "date" not in str(column.type) else (table,):
        with pytest.raises(error, match=rf"'bad' .*block 0 .*({message})"):
            RowBlocks([block])


def test_categories_of_numbers_are_refused(tmp_path, frame):
    frame["b"] = frame["b"].round().astype("category")
    with pytest.raises(ValueError, match=r"0.parquet.* 'b' .*categories"):
        RowBlocks(write(tmp_path, frame))
    with pytest.raises(ValueError, match=r"'b' of block 0 .*categories"):
        RowBlocks([frame])


@pytest.mark.parametrize("missing", [[1.0, None, 3.0], [1, None, 3], [True, None, False], [None, None, None]])
def test_missing_values_are_named_by_column(missing, tmp_path):
    table = pa.table({"a": [1.0, 2.0, 3.0], "worse": missing})
    pa.parquet.write_table(table, tmp_path / "x.parquet")
    row = 0 if missing[0] is None else 1
    with pytest.raises(ValueError, match=rf"row {row} .*x.parquet.* 'worse'"):
        MinimumDensityHyperplane().fit(RowBlocks(tmp_path))
    for block in (table, table.to_pandas(), table.to_pandas().convert_dtypes(), pl.from_arrow(table)):
        with pytest.raises(ValueError, match=rf"row {row} .*block 0.* 'worse'"):
            MinimumDensityHyperplane().fit([block])
