"""Quotes that are never closed are reported where they open."""

import csv
import io

import numpy as np
import pytest

from ravine.tables import ReadOptions, TableError, read_table
from ravine.tables.read import find_open_quote


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a,b\n1,2\n", None),
        ('a,b\n"1",2\n', None),
        ('a,b\n1,"2\n3,4\n', 2),
        ('"a,b\n1,2\n', 1),
        ('a,b\n"x\ny",2\n3,"4\n5,6\n', 4),
        ('a,b\n"he said ""no""",2\n', None),
        ('a,b\n"he said ""no,2\n', 2),
        ('a,b\n"""",2\n', None),
        ('a,b\n""",2\n3,4\n', 2),
        ('a,b\n5" pipe,2\n', None),
        ('a,b\n"",2\n', None),
        ('a,b\n1,"', 2),
        ('a,b\n"1,2\n"3",4\n', 2),
        ('a,b\n"1,2\nx"3\n', 2),
        ('a,b\n"1"x,2\n', None),
        ('a,b\n"1,2\n3,4\n"5,6\n', 2),
    ],
)
def test_open_quote_is_found_where_it_opens(text, line):
    assert find_open_quote(text.splitlines(), ",") == line


def has_text_after_quotes(text):
    try:
        list(csv.reader(io.StringIO(text), strict=True))
    except csv.Error as error:
        return "expected after" in str(error)
    return False


def test_open_quotes_agree_with_the_csv_module(rng):
    for _ in range(2000):
        text = "".join(rng.choice(list('",\nx'), size=rng.integers(1, 25)))
        rows = list(csv.reader(io.StringIO(f"{text}\nend\n")))
        if has_text_after_quotes(text):
            continue
        assert (find_open_quote(text.split("\n"), ",") is None) == (rows[-1] == ["end"]), text


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("n_rows", [20, 60_000])
def test_unclosed_quote_is_reported_with_its_line(tmp_path, rng, encoding, n_rows):
    lines = [",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(n_rows, 3))]
    lines[10] = '1.0,2.0,"é'
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c", *lines]) + "\n", encoding=encoding)
    with pytest.raises(TableError, match=r"d\.csv, line 12: .*quote"):
        read_table(str(tmp_path / "d.csv"), ReadOptions(encoding=encoding), lambda text: None)


def test_quote_that_another_row_closes_is_reported(tmp_path):
    lines = [f'{k},{np.sqrt(k)},"x"' for k in range(20)]
    lines[10] = '10,3.2,"x'
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")
    with pytest.raises(TableError, match=r"line 12: .*quote"):
        read_table(str(tmp_path / "d.csv"), ReadOptions(), lambda text: None)


@pytest.mark.parametrize("n_rows", [90, 60_000])
def test_two_unclosed_quotes_do_not_join_lines(tmp_path, rng, n_rows):
    lines = [",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(n_rows, 3))]
    lines[9], lines[29] = '"' + lines[9], '"' + lines[29]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")
    with pytest.raises(TableError, match=r"d\.csv, line 11: .*quote"):
        read_table(str(tmp_path / "d.csv"), ReadOptions(), lambda text: None)


def test_quotes_may_join_lines(tmp_path):
    (tmp_path / "d.csv").write_text('a,b\n"x\ny",2\n"z",3\n')
    assert read_table(str(tmp_path / "d.csv"), ReadOptions(), lambda text: None).num_rows == 2
