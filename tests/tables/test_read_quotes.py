"""Quotes that are never closed are reported where they open."""

import numpy as np
import pytest

from ravine.tables import ReadOptions, TableError, read_table


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
        ('a,b\n"1"x,2\n', 2),
        ('a,b\n"1,2\n3,4\n"5,6\n', 2),
    ],
)
def test_open_quote_is_found_where_it_opens(tmp_path, text, line):
    (tmp_path / "d.csv").write_text(text)
    options = ReadOptions(delimiter=",", header=True)
    if line is None:
        assert len(read_table(str(tmp_path / "d.csv"), options, print)[0]) == 1
        return
    with pytest.raises(TableError, match=f"line {line}:"):
        read_table(str(tmp_path / "d.csv"), options, print)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "latin-1"])
@pytest.mark.parametrize("n_rows", [20, 60_000])
def test_unclosed_quote_is_reported_with_its_line(tmp_path, rng, encoding, n_rows):
    lines = [",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(n_rows, 3))]
    lines[10] = '1.0,2.0,"é'
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c", *lines]) + "\n", encoding=encoding)
    with pytest.raises(TableError, match=r"d\.csv, line 12:"):
        read_table(str(tmp_path / "d.csv"), ReadOptions(encoding=encoding), lambda text: None)


def test_quote_that_another_row_closes_is_reported(tmp_path):
    lines = [f'{k},{np.sqrt(k)},"x"' for k in range(20)]
    lines[10] = '10,3.2,"x'
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")
    with pytest.raises(TableError, match="line 12:"):
        read_table(str(tmp_path / "d.csv"), ReadOptions(), lambda text: None)


@pytest.mark.parametrize("n_rows", [90, 60_000])
def test_two_unclosed_quotes_do_not_join_lines(tmp_path, rng, n_rows):
    lines = [",".join(f"{x:.3f}" for x in row) for row in rng.normal(size=(n_rows, 3))]
    lines[9], lines[29] = '"' + lines[9], '"' + lines[29]
    (tmp_path / "d.csv").write_text("\n".join(["a,b,c", *lines]) + "\n")
    with pytest.raises(TableError, match=r"d\.csv, line 11:"):
        read_table(str(tmp_path / "d.csv"), ReadOptions(), lambda text: None)


@pytest.mark.parametrize(
    ("cell", "problem"),
    [('"2', "text follows it"), ('"2"x', "text follows it"), (f'"{"x" * 140_000}"', "more than 131072 characters")],
)
def test_message_says_what_is_wrong_with_a_quote(tmp_path, cell, problem):
    (tmp_path / "d.csv").write_text(f"a,b\n1,{cell}\n")
    with pytest.raises(TableError, match=f"line 2: a quote is not closed, or .*{problem}") as info:
        read_table(str(tmp_path / "d.csv"), ReadOptions(delimiter=",", header=True), lambda text: None)
    assert str(info.value).endswith(". Correct that line.")
    assert "unexpected" not in str(info.value)


def test_quotes_may_join_lines(tmp_path):
    (tmp_path / "d.csv").write_text('a,b\n"x\ny",2\n"z",3\n')
    assert read_table(str(tmp_path / "d.csv"), ReadOptions(), lambda text: None)[0].__len__() == 2
