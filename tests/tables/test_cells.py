"""Texts that are numbers or dates keep their information, whatever their separators, signs and codes are."""

import io
import json

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")

from ravine.tables import CellFormat, ReadOptions, TableError, read_table  # noqa: E402
from ravine.tables.cells import convert_texts, read_dates  # noqa: E402


@pytest.fixture
def read(tmp_path):
    def read(content, name="data.csv", **options):
        (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
        return read_table(str(tmp_path / name), ReadOptions(cells=CellFormat(**options)), lambda text: None)

    return read


@pytest.mark.parametrize(
    ("texts", "numbers"),
    [
        (["$2,905.97", "$17.50", "-$3.25"], [2905.97, 17.5, -3.25]),
        (["36.5%", "8%", "100 %"], [36.5, 8.0, 100.0]),
        (["1.234,5", "2,25", "-12"], [1234.5, 2.25, -12.0]),
        (["1 234,5 €", "17 €", "1 000 000 €"], [1234.5, 17.0, 1e6]),
        (["1'234.5", "1’000'000", "2"], [1234.5, 1e6, 2.0]),
        (["(1,234.50)", "12.5", "USD 7.1"], [-1234.5, 12.5, 7.1]),
        (["1,234,567", "12"], [1234567.0, 12.0]),
        (["0,123", "1,5"], [0.123, 1.5]),
        (["12", "unknown", "-", "3", "N.A."], [12.0, np.nan, np.nan, 3.0, np.nan]),
        (["1.5e3", "−2.25"], [1500.0, -2.25]),
    ],
)
def test_texts_of_one_meaning_are_numbers(texts, numbers):
    found, _, _ = convert_texts({"p": texts}, CellFormat())
    np.testing.assert_allclose(found["p"], numbers)


@pytest.mark.parametrize(
    "texts",
    [
        ["1,234", "5,678"], ["€1.234"], ["5%", "7"], ["$5", "5 €"], ["1.2.3", "4.5.6"], ["12:30", "7:15"], ["red", "5"],
        ["-", "unknown"], ["1,2,3"], ["(5"], ["3/4/2024", "5/6/2024"], ["31.02.2024"], ["A1", "A2"],
    ],
    ids=str,
)  # fmt: skip
def test_texts_of_other_or_two_meanings_stay_texts(texts):
    assert convert_texts({"p": texts}, CellFormat())[0] == {}


def test_one_column_decides_for_the_table():
    unclear = ["1,234", "5,678"]
    for other, value in ((["0,5"], 1.234), (["1,234.5"], 1234.0)):
        found, given, _ = convert_texts({"p": unclear, "q": other}, CellFormat())
        assert found["p"][0] == value
        assert given.decimal == ("," if value < 2.0 else ".")
    assert convert_texts({"p": unclear}, CellFormat(), has_points=True)[0]["p"][0] == 1234.0


@pytest.mark.parametrize(
    ("given", "value"), [({"decimal": ","}, 1.234), ({"thousands": ","}, 1234.0), ({"decimal": "."}, 1234.0)]
)
def test_a_decision_is_followed(given, value, read):
    assert convert_texts({"p": ["1,234"]}, CellFormat(**given))[0]["p"][0] == value
    assert read('a;b\n"1,234";1\n"5,678";2\n', **given)[0]["a"].tolist()[0] == value


@pytest.mark.parametrize(
    ("texts", "days"),
    [
        (["31.12.2024", "01.01.1970", "-"], [20088.0, 0.0, np.nan]),
        (["1970/01/02", "1970/02/01"], [1.0, 31.0]),
        (["25/12/2024", "3/4/2024"], [20082.0, 19816.0]),
        (["12/25/2024", "3/4/2024"], [20082.0, 19786.0]),
        (["02.01.70"], [1.0]),
    ],
)
def test_dates_are_days(texts, days):
    np.testing.assert_allclose(read_dates(texts, None)[0], days)
    assert read_dates(["3/4/2024"], True)[0] == 19816.0


def test_points_are_no_decimals_where_commas_are(read):
    table, given = read("a;b;c\n1.500;2,5;x\n2.250;3,25;y\n12;1,125;y\n")
    assert table["a"].tolist() == [1500.0, 2250.0, 12.0]
    assert table["b"].tolist() == [2.5, 3.25, 1.125]
    assert given.decimal == ","
    assert given.thousands == "."


def test_codes_of_missing_values_can_be_named(read):
    content = "a,kind\n1,u\n-999,v\n3,nix\n"
    table, _ = read(content, na=("-999", "nix"))
    assert table["a"].isna().tolist() == [False, True, False]
    assert table["kind"].isna().tolist() == [False, False, True]
    assert read(content)[0]["a"].tolist() == [1, -999, 3]


def test_dates_of_all_kinds_of_files_are_days(read):
    stream = io.BytesIO()
    pd.DataFrame({"day": pd.to_datetime(["1970-01-02", None, "1970-01-03"]), "a": [1.0, 2.0, 3.0]}).to_parquet(stream)
    for content in ("day,a\n1970-01-02,1\n,2\n1970-01-01,3\n", stream.getvalue()):
        days = read(content)[0]["day"]
        assert days[0] == 1.0
        assert np.isnan(days[1])


def test_excel_and_json_are_read(read):
    pytest.importorskip("openpyxl")
    rows = [{"price": "$1,234.50", "kind": "u", "n": 3, "day": "31.12.2024"}, {"price": "$7.25", "kind": None, "n": 4}]
    frame, stream = pd.DataFrame(rows), io.BytesIO()
    frame.to_excel(stream, index=False)
    lines = "\n".join(map(json.dumps, rows))
    for content in (stream.getvalue(), lines, json.dumps(rows), frame.to_csv(index=False)):
        table, _ = read(content)
        assert table["price"].tolist() == [1234.5, 7.25]
        assert table["n"].tolist() == [3, 4]
        assert table["kind"].isna().tolist() == [False, True]
        assert table["day"][0] == 20088.0


def test_dates_of_excel_and_sheets(read):
    pytest.importorskip("openpyxl")
    stream = io.BytesIO()
    with pd.ExcelWriter(stream) as writer:
        pd.DataFrame({"day": pd.to_datetime(["1970-01-02", "1970-01-03"]), "mixed": [1, "x"]}).to_excel(
            writer, index=False
        )
        pd.DataFrame({"other": [1]}).to_excel(writer, sheet_name="second", index=False)
    assert read(pd.DataFrame({"n": [1, -999]}).to_parquet(), na=("-999",))[0]["n"].isna().tolist() == [False, True]
    table, _ = read(stream.getvalue())
    assert table["day"].tolist() == [1.0, 2.0]
    assert table["mixed"].tolist() == ["1", "x"]


def test_large_and_damaged_workbooks_are_refused(tmp_path, read):
    import zipfile

    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("xl/workbook.xml", b"0" * 3_000_000)
    with pytest.raises(TableError):
        read(stream.getvalue())
    (tmp_path / "bomb.xlsx").write_bytes(stream.getvalue())
    with pytest.raises(TableError) as info:
        read_table(str(tmp_path / "bomb.xlsx"), ReadOptions(max_size=0.001), lambda text: None)
    assert "max_size" in info.value.choices
