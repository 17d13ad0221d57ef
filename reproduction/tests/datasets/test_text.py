"""Plain text tables: exact numbers, and errors that name line and column."""

import gzip

import numpy as np
import pytest

from ravine_paper.datasets.text import TextError, decode, gunzip, parse_numbers, read_matrix, read_rows


def test_messages_name_line_and_column():
    with pytest.raises(TextError, match=r"f\.txt, line 4: .*3 .*2"):
        read_rows(b"1,2,3\n\n4,5,6\n7,8\n", "f.txt", separator=",")
    with pytest.raises(TextError, match=r"f\.txt, line 3, column 'b': '1e999'"):
        parse_numbers(read_rows(b"\n1 2\n3 1e999\n", "f.txt"), "f.txt", names=("a", "b"))
    with pytest.raises(TextError, match=r"f\.txt, line 2, column 1: 'inf'"):
        read_matrix(b"1 2\ninf 3\n", "f.txt")
    with pytest.raises(TextError, match="line 1, column 2: ''"):
        read_matrix(b"1,,2\n", "f.txt", separator=",")
    with pytest.raises(TextError, match="line 2, column 1: 'nan'"):
        read_matrix(b"1 2\nnan 3\n", "f.txt")


def test_numbers_are_read_exactly(rng):
    values = np.concatenate([rng.standard_normal(200) * 10.0 ** rng.integers(-300, 300, 200), [5e-324, 1e308, -0.0]])
    text = "\n".join(repr(float(v)) for v in values).encode()
    assert np.array_equal(read_matrix(text, "f.txt")[:, 0], values)
    assert np.array_equal(parse_numbers(read_rows(text, "f.txt"), "f.txt")[:, 0], values)


def test_quoted_cells_may_contain_the_separator():
    assert read_rows(b'"a, b", 2 ,"c"\n', "f.csv", separator=",")[0][1] == ["a, b", "2", "c"]


def test_damaged_gzip_is_rejected():
    whole = gzip.compress(b"1 2 3\n" * 1000)
    assert decode(gunzip(whole, "f.gz"), "f.gz").startswith("1 2 3")
    for broken in (whole[:30], whole[:-4], b"plain text", b"", whole[:20] + b"\0\0\0\0" + whole[24:]):
        with pytest.raises(TextError, match=r"f\.gz .*gzip"):
            gunzip(broken, "f.gz")
