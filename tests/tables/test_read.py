"""Reading tables: what is detected is reported, and what cannot be read is named."""

import csv
import gzip
import io

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from ravine.cli.options import MAX_SIZE  # noqa: E402
from ravine.tables import ReadOptions, TableError, read_table  # noqa: E402
from ravine.tables.cells import CellFormat  # noqa: E402
from ravine.tables.read import make_frame  # noqa: E402


def read(path, content=None, **options):
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    reported = []
    table, _ = read_table(str(path), ReadOptions(**options), reported.append)
    return table, " ".join(reported)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.csv"


@pytest.mark.parametrize(
    ("sign", "word"), [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar"), (" ", "space")]
)
def test_delimiter_is_detected_and_reported(path, sign, word):
    table, reported = read(path, sign.join("ab") + "\n" + "".join(f"{k}{sign}{k / 2}\n" for k in range(30)))
    assert list(table.columns) == ["a", "b"]
    assert table["b"].tolist() == [k / 2 for k in range(30)]
    assert f"{word}-separated" in reported
    assert "30 rows, 2 columns" in reported


@pytest.mark.parametrize("seed", range(6))
def test_tables_of_pythons_csv_module_round_trip(path, seed):
    rng = np.random.default_rng(seed)
    sign, quoting = rng.choice(list(",;\t|")), int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    names = ["a b", "x,y", 'say "hi"', "ünï"]
    rows = [[f"{v:.6g}" for v in rng.normal(size=3)] + [f"text {sign} {k}"] for k in range(40)]
    stream = io.StringIO()
    csv.writer(stream, delimiter=sign, quoting=quoting).writerows([names, *rows])
    table, _ = read(path, stream.getvalue())
    assert list(table.columns) == names
    assert [[f"{v:.6g}" for v in row] for row in table[names[:3]].to_numpy()] == [row[:3] for row in rows]
    assert table["ünï"].tolist() == [row[3] for row in rows]


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a,b\n1,2\n", ["a", "b"]),
        ("1,2\n3,4\n", ["x0", "x1"]),
        ("5.1,setosa\n4.9,setosa\n", ["x0", "x1"]),
        ("id,2019,2020\n1,5,6\n2,7,8\n", ["id", "2019", "2020"]),
        ("name,kind\nx,y\n", ["name", "kind"]),
        ("\n\na,b\n1,2\n", ["a", "b"]),
        ('"a\nb",c\n1,2\n', ["a\nb", "c"]),
    ],
)
def test_header_is_detected(path, text, names):
    table, reported = read(path, text)
    assert list(table.columns) == names
    assert ("no header" in reported) == (names[0] == "x0")
    assert len(table) == len(list(csv.reader(io.StringIO(text.strip())))) - (names[0] != "x0")


def test_header_can_be_overridden(path):
    assert read(path, "1,2\n3,4\n", header=True)[0].columns.tolist() == ["1", "2"]
    assert len(read(path, "a,b\nc,d\n", header=False)[0]) == 2


def test_unnamed_column_is_reported(path):
    table, reported = read(path, ",b\n0,1.5\n1,2.5\n")
    assert list(table.columns) == ["column1", "b"]
    assert "1 column without a name: called 'column1'" in reported


def test_decimal_comma(path):
    table, _ = read(path, "a;b\n1,5;2\n2,5;3\n", cells=CellFormat(decimal=","))
    assert table["a"].tolist() == [1.5, 2.5]


def test_keys_stay_as_written(path):
    table, _ = read(path, "k,a\n007,1\nNA,2\n", as_text=("k",))
    assert table["k"].tolist() == ["007", "NA"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le+mark"])
def test_byte_order_marks_are_understood(path, encoding):
    text = "ä,b\n1,ö\n"
    content = b"\xff\xfe" + text.encode("utf-16-le") if encoding.endswith("mark") else text.encode(encoding)
    table, reported = read(path, content)
    assert list(table.columns) == ["ä", "b"]
    assert table["b"].tolist() == ["ö"]
    assert ("utf-16" in reported) == ("16" in encoding)


@pytest.mark.parametrize("text", ["a,b\n1,é\n", "a,é\n1,2\n", "a,b\n" + "1,x\n" * 200_000 + "1,é\n"])
def test_wrong_encoding_is_rejected_and_the_right_one_read(path, text):
    with pytest.raises(TableError, match=r"data\.csv.*utf-8") as info:
        read(path, text.encode("latin-1"))
    assert info.value.choices == {"encoding": "latin-1"}
    table, _ = read(path, encoding="latin-1")
    assert "é" in table.columns or table["b"].tolist()[-1] == "é"
    with pytest.raises(TableError, match="nonsense"):
        read(path, encoding="nonsense")
    with pytest.raises(TableError, match="ascii"):
        read(path, encoding="ascii")


def test_utf_16_without_a_mark_is_rejected(path):
    with pytest.raises(TableError, match=r"data\.csv") as info:
        read(path, "a,b\n1,2\n".encode("utf-16-le"))
    assert info.value.choices == {"encoding": "utf-16-le"}
    assert read(path, encoding="utf-16-le")[0]["a"].tolist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3: 1 .*2"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4: 3 .*2"),
        ("a,b\n" + "1,2\n" * 300_000 + "1\n", "line 300002: 1 .*2"),
        ("a,a,b\n1,2,3\n", "columns .*'a'"),
        ("a,b\n", "no rows"),
        ("", "is empty"),
        (" \n \n", "is empty"),
    ],
)
def test_unreadable_files_are_named(path, text, message):
    with pytest.raises(TableError, match=message) as info:
        read(path, text)
    assert "\n" not in str(info.value)


@pytest.mark.parametrize("packed", [False, True])
def test_line_breaks_in_quotes_may_come_late(path, packed):
    text = "a,b,c\n" + "1,2,x\n" * 50_000 + '1,2,"line one\nline, two\nline three"\n' * 120_000
    assert text.index('"') > 1 << 18
    assert len(text) > 1 << 22
    table, _ = read(path, gzip.compress(text.encode(), 1) if packed else text)
    assert len(table) == 170_000
    assert set(table["c"].tolist()[50_000:]) == {"line one\nline, two\nline three"}


def test_missing_files_folders_and_other_formats_are_named(tmp_path, path):
    with pytest.raises(FileNotFoundError, match=r"none\.csv"):
        read(tmp_path / "none.csv")
    with pytest.raises(IsADirectoryError, match=tmp_path.name):
        read(tmp_path)
    with pytest.raises(TableError, match="zip"):
        read(path, b"PK\x03\x04abc")
    with pytest.raises(TableError, match="gzip"):
        read(path, gzip.compress(b"a,b\n1,2\n" * 99)[:-20])
    with pytest.raises(TableError, match="damaged Parquet"):
        read(path, b"PAR1abc")
    with pytest.raises(TableError, match="damaged Feather"):
        read(path, b"ARROW1abc")


def test_gzip_parquet_and_feather(tmp_path, path):
    import pyarrow.feather
    import pyarrow.parquet

    wanted = pa.table({"a": [1, None, 3], "b": ["x", "y", None]})
    assert read(path, gzip.compress(b"a;b\n1;2\n"))[0].to_dict("records") == [{"a": 1, "b": 2}]
    pyarrow.parquet.write_table(wanted, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(wanted, tmp_path / "t.feather")
    assert read(tmp_path / "t.parquet")[0].equals(make_frame(wanted)[0])
    assert read(tmp_path / "t.feather")[0].equals(make_frame(wanted)[0])
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pyarrow.parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(TableError, match=r"'a'|damaged"):
        read(tmp_path / "twice.parquet")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?", ">f8"])
def test_numpy_arrays(tmp_path, dtype, rng):
    array = rng.normal(size=(7, 3)).round(2).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    table, reported = read(tmp_path / "a.npy")
    np.testing.assert_array_equal(np.column_stack([table[name] for name in ("x0", "x1", "x2")]), array)
    assert "x0 to x2" in reported


def test_numpy_arrays_of_other_types_are_rejected(tmp_path):
    for array in (np.zeros((2, 2, 2)), np.array([["a"]]), np.array(3.0)):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(TableError, match="matrix"):
            read(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.array([None]), allow_pickle=True)
    with pytest.raises(TableError, match="Object"):
        read(tmp_path / "a.npy")


def test_layout_ignores_an_incomplete_last_line(path):
    line = f"1,{'2' * 250}\n"
    text = "a,b\n" + line * ((1 << 18) // len(line) + 1)
    assert read(path, text)[0].columns.tolist() == ["a", "b"]


def test_single_columns_of_numpy_are_read(tmp_path):
    np.save(tmp_path / "one.npy", np.array([3, 4]))
    assert read_table(tmp_path / "one.npy", ReadOptions(), print)[0].to_dict("list") == {"x0": [3, 4]}


@pytest.mark.parametrize("kind", ["gzip", "parquet", "feather"])
def test_tables_that_unpack_beyond_the_limit_are_refused(path, kind):
    table = pa.table({"a": np.zeros(200_000), "b": np.zeros(200_000)})
    if kind == "gzip":
        with gzip.open(path, "wb") as stream:
            stream.write(b"a,b\n" + b"0,0\n" * 400_000)
    elif kind == "parquet":
        pa.parquet.write_table(table, path)
    else:
        pa.feather.write_feather(table, path, compression="zstd")
    assert path.stat().st_size < 100_000
    with pytest.raises(TableError, match=r"0\.001 GB") as caught:
        read(path, max_size=0.001)
    assert caught.value.choices == {"max_size": "1"}
    assert len(read(path, max_size=0.01)[0]) >= 200_000


def test_a_header_may_be_long(path):
    names = [f"{'name' * 20}{j}" for j in range(5000)]
    frame, _ = read(path, "\n".join([",".join(names), *[",".join(["1.5"] * 5000)] * 3]))
    assert frame.columns.tolist() == names
    assert frame.shape == (3, 5000)


def test_millions_of_columns_are_one_short_message(path):
    for text in ("," * 3_000_000, "a,b\n" + "," * 3_000_000):
        with pytest.raises(TableError) as caught:
            read(path, text)
        assert len(str(caught.value)) < 200
    _, reported = read(path, ",,,,,,,,\n" + "1,2,3,4,5,6,7,8,9\n" * 3)
    assert "9 columns without a name: called 'column1', 'column2'" in reported
    assert len(reported) < 300


def test_the_command_has_the_default_limit_of_the_reader():
    assert ReadOptions().max_size == MAX_SIZE
