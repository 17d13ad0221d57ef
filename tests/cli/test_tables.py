"""Reading tables: whatever is found out is said, and whatever cannot be read is named."""

import csv
import gzip
import io

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pytest.importorskip("click")

from ravine.cli.errors import DataError  # noqa: E402
from ravine.cli.sniff import find_layout  # noqa: E402
from ravine.cli.tables import Reading, read_table  # noqa: E402


def read(path, content=None, **options):
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    said = []
    table = read_table(str(path), Reading(**options), said.append)
    return table, " ".join(said)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "data.csv"


@pytest.mark.parametrize(
    ("sign", "word"), [(",", "comma"), (";", "semicolon"), ("\t", "tab"), ("|", "bar"), (" ", "space")]
)
def test_delimiter_is_found_and_said(path, sign, word):
    table, said = read(path, sign.join("ab") + "\n" + "".join(f"{k}{sign}{k / 2}\n" for k in range(30)))
    assert table.column_names == ["a", "b"]
    assert table["b"].to_pylist() == [k / 2 for k in range(30)]
    assert f"{word} between cells" in said
    assert "30 rows, 2 columns" in said


@pytest.mark.parametrize("seed", range(6))
def test_any_table_written_by_pythons_csv_is_read_as_it_was(path, seed):
    rng = np.random.default_rng(seed)
    sign, quoting = rng.choice(list(",;\t|")), int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    names = ["a b", "x,y", 'say "hi"', "ünï"]
    rows = [[f"{v:.6g}" for v in rng.normal(size=3)] + [f"text {sign} {k}"] for k in range(40)]
    stream = io.StringIO()
    csv.writer(stream, delimiter=sign, quoting=quoting).writerows([names, *rows])
    table, _ = read(path, stream.getvalue())
    assert table.column_names == names
    assert [[f"{v:.6g}" for v in row.values() if isinstance(v, float)] for row in table.to_pylist()] == [
        row[:3] for row in rows
    ]
    assert table["ünï"].to_pylist() == [row[3] for row in rows]


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
def test_header_is_found(path, text, names):
    table, said = read(path, text)
    assert table.column_names == names
    assert ("no names in the first line" in said) == (names[0] == "x0")
    assert table.num_rows == len(list(csv.reader(io.StringIO(text.strip())))) - (names[0] != "x0")


def test_header_can_be_told(path):
    assert read(path, "1,2\n3,4\n", header=True)[0].column_names == ["1", "2"]
    assert read(path, "a,b\nc,d\n", header=False)[0].num_rows == 2


def test_column_without_a_name_is_said(path):
    table, said = read(path, ",b\n0,1.5\n1,2.5\n")
    assert table.column_names == ["column1", "b"]
    assert "column 1 has no name" in said


def test_decimal_comma(path):
    table, _ = read(path, "a;b\n1,5;2\n2,5;3\n", decimal=",")
    assert table["a"].to_pylist() == [1.5, 2.5]


def test_keys_stay_as_they_are_written(path):
    table, _ = read(path, "k,a\n007,1\nNA,2\n", as_text=("k",))
    assert table["k"].to_pylist() == ["007", "NA"]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le+mark"])
def test_byte_order_marks_are_understood(path, encoding):
    text = "ä,b\n1,ö\n"
    content = b"\xff\xfe" + text.encode("utf-16-le") if encoding.endswith("mark") else text.encode(encoding)
    table, said = read(path, content)
    assert table.column_names == ["ä", "b"]
    assert table["b"].to_pylist() == ["ö"]
    assert ("utf-16" in said) == ("16" in encoding)


@pytest.mark.parametrize("text", ["a,b\n1,é\n", "a,é\n1,2\n", "a,b\n" + "1,x\n" * 200_000 + "1,é\n"])
def test_wrong_encoding_is_refused_and_the_right_one_is_read(path, text):
    with pytest.raises(DataError, match=r"data\.csv is not encoded as utf-8.*--encoding latin-1"):
        read(path, text.encode("latin-1"))
    table, _ = read(path, encoding="latin-1")
    assert "é" in table.column_names or table["b"].to_pylist()[-1] == "é"
    with pytest.raises(DataError, match="no such encoding"):
        read(path, encoding="nonsense")
    with pytest.raises(DataError, match="not encoded as ascii"):
        read(path, encoding="ascii")


def test_utf_16_without_a_mark_is_refused(path):
    with pytest.raises(DataError, match=r"zero bytes.*--encoding utf-16-le"):
        read(path, "a,b\n1,2\n".encode("utf-16-le"))
    assert read(path, encoding="utf-16-le")[0]["a"].to_pylist() == [1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", "line 3: 1 cells instead of 2"),
        ("a,b\n1,2\n\n3,4,5\n", "line 4: 3 cells instead of 2"),
        ("a,b\n" + "1,2\n" * 300_000 + "1\n", "line 300002: 1 cells instead of 2"),
        ("a,a,b\n1,2,3\n", "several columns named 'a'"),
        ("a,b\n", "no rows"),
        ("", "is empty"),
        (" \n \n", "is empty"),
    ],
)
def test_what_cannot_be_read_is_named(path, text, message):
    with pytest.raises(DataError, match=message) as info:
        read(path, text)
    assert "\n" not in str(info.value.message)


@pytest.mark.parametrize("packed", [False, True])
def test_line_breaks_in_quotes_may_come_late_in_a_large_file(path, packed):
    text = "a,b,c\n" + "1,2,x\n" * 50_000 + '1,2,"line one\nline, two\nline three"\n' * 120_000
    assert text.index('"') > 1 << 18
    assert len(text) > 1 << 22
    table, _ = read(path, gzip.compress(text.encode(), 1) if packed else text)
    assert table.num_rows == 170_000
    assert set(table["c"].to_pylist()[50_000:]) == {"line one\nline, two\nline three"}


def test_missing_files_folders_and_other_formats_are_named(tmp_path, path):
    with pytest.raises(DataError, match="does not exist"):
        read(tmp_path / "none.csv")
    with pytest.raises(DataError, match="is a folder"):
        read(tmp_path)
    with pytest.raises(DataError, match="zip or Excel"):
        read(path, b"PK\x03\x04abc")
    with pytest.raises(DataError, match="damaged gzip"):
        read(path, gzip.compress(b"a,b\n1,2\n" * 99)[:-20])
    with pytest.raises(DataError, match="damaged Parquet"):
        read(path, b"PAR1abc")
    with pytest.raises(DataError, match="damaged Feather"):
        read(path, b"ARROW1abc")


def test_gzip_parquet_and_feather(tmp_path, path):
    import pyarrow.feather
    import pyarrow.parquet

    wanted = pa.table({"a": [1, None, 3], "b": ["x", "y", None]})
    assert read(path, gzip.compress(b"a;b\n1;2\n"))[0].to_pylist() == [{"a": 1, "b": 2}]
    pyarrow.parquet.write_table(wanted, tmp_path / "t.parquet")
    pyarrow.feather.write_feather(wanted, tmp_path / "t.feather")
    assert read(tmp_path / "t.parquet")[0].equals(wanted)
    assert read(tmp_path / "t.feather")[0].equals(wanted)
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["a", "a"])
    pyarrow.parquet.write_table(twice, tmp_path / "twice.parquet")
    with pytest.raises(DataError, match=r"several columns named 'a'|damaged"):
        read(tmp_path / "twice.parquet")


@pytest.mark.parametrize("dtype", ["f8", "f4", "i4", "?", ">f8"])
def test_numpy_arrays(tmp_path, dtype, rng):
    array = rng.normal(size=(7, 3)).round(2).astype(dtype)
    np.save(tmp_path / "a.npy", array)
    table, said = read(tmp_path / "a.npy")
    np.testing.assert_array_equal(np.column_stack([table[name] for name in ("x0", "x1", "x2")]), array)
    assert "x0 to x2" in said


def test_numpy_arrays_of_other_things_are_refused(tmp_path):
    for array in (np.zeros((2, 2, 2)), np.array([["a"]]), np.array(3.0)):
        np.save(tmp_path / "a.npy", array)
        with pytest.raises(DataError, match="rows of numbers"):
            read(tmp_path / "a.npy")
    np.save(tmp_path / "a.npy", np.array([None]), allow_pickle=True)
    with pytest.raises(DataError, match="Object arrays cannot be loaded"):
        read(tmp_path / "a.npy")


def test_layout_of_the_beginning_ignores_its_last_part_of_a_line():
    assert find_layout("a,b\n1,2\n3", False, "f", None, None).names == ("a", "b")
