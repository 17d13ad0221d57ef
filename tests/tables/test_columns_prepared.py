"""Preparation of tables: the same for the training table and for new ones."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from ravine.tables import ColumnChoices, TableError, fit_table, transform_table  # noqa: E402
from ravine.tables.read import make_frame  # noqa: E402

N = 60


def ignore(text):
    """Ignore a remark."""


def make_table():
    rng = np.random.default_rng(0)
    size = rng.normal(size=N)
    kinds = rng.choice(["u", "v", "w"], N).tolist()
    return make_frame(pa.table({"size": pa.array(np.where(np.arange(N) % 9 == 0, np.nan, size), from_pandas=True),
                     "kind": [None if k % 11 == 5 else kind for k, kind in enumerate(kinds)],
                     "width": rng.integers(9, size=N)}))[0]  # fmt: skip


@pytest.mark.parametrize("encode", ["famd", "one-hot"])
@pytest.mark.parametrize("missing", ["drop", "impute-median", "multiple"])
@pytest.mark.parametrize("scale", ["standard", "robust", "none"])
def test_new_tables_are_prepared_as_the_training_table(encode, missing, scale):
    table = make_table()
    fitted = fit_table(table, ColumnChoices(encode=encode, missing=missing, scale=scale), ignore)
    again = transform_table(table[["width", "kind", "size"]], fitted.scaler, missing, ignore, fitted.imputer)
    np.testing.assert_allclose(again.X, fitted.X, rtol=1e-12, atol=1e-14)
    assert np.isnan(fitted.X).any() == (missing == "multiple")
    assert (fitted.kept is None) == (missing != "drop")
    if fitted.kept is not None:
        np.testing.assert_array_equal(again.kept, fitted.kept)
        assert fitted.kept.tolist() == [k % 9 != 0 and k % 11 != 5 for k in range(N)]


def test_missing_cells_are_counted_with_the_treatments():
    with pytest.raises(TableError, match="'size' 7, 'kind' 5") as info:
        fit_table(make_table(), ColumnChoices(encode="famd"), ignore)
    assert info.value.choices == {"missing": ("drop", "impute-median", "multiple")}
    fitted = fit_table(make_table(), ColumnChoices(encode="famd", missing="drop"), ignore)
    with pytest.raises(TableError, match="'size' 7, 'kind' 5"):
        transform_table(make_table(), fitted.scaler, "error", ignore)
    for missing in ("impute-median", "multiple"):
        with pytest.raises(TableError) as info:
            transform_table(make_table(), fitted.scaler, missing, ignore)
        assert info.value.choices == {"missing": missing}


def test_problems_of_values_are_named():
    table = make_table()
    infinite = table.assign(width=np.where(np.arange(N) == 3, np.inf, 1.0))
    with pytest.raises(TableError, match=r"'width' \(row 4\)"):
        fit_table(infinite, ColumnChoices(encode="famd", missing="drop"), ignore)
    with pytest.raises(TableError) as info:
        fit_table(table, ColumnChoices(encode="famd", missing="drop", normalize="l2"), ignore)
    assert info.value.choices == {"normalize": "l2"}
    fitted = fit_table(table, ColumnChoices(encode="famd", missing="drop"), ignore)
    with pytest.raises(ValueError, match="'size'"):
        transform_table(table[["width", "kind"]], fitted.scaler, "drop", ignore)
    with pytest.raises(ValueError, match="'width'"):
        transform_table(table.assign(width="x"), fitted.scaler, "drop", ignore)
    with pytest.raises(TableError, match="equal"):
        fit_table(make_frame(pa.table({"a": [1.0] * N}))[0], ColumnChoices(), ignore)


def test_rows_without_missing_cells_are_divided_by_their_lengths():
    table = make_table()[["size", "width"]]
    choices = ColumnChoices(missing="drop", normalize="l2", scale="none")
    fitted = fit_table(table, choices, ignore)
    np.testing.assert_allclose(np.linalg.norm(fitted.X, axis=1), 1.0)
    again = transform_table(table, fitted.scaler, "drop", ignore)
    np.testing.assert_array_equal(again.X, fitted.X)
    with pytest.raises(TableError, match="'size'") as info:
        fit_table(table, ColumnChoices(missing="multiple", normalize="l2"), ignore)
    assert info.value.choices == {"normalize": "l2"}


def test_constant_columns_and_rare_categories_are_reported():
    reported = []
    table = make_frame(
        pa.table({"a": np.arange(200.0) ** 2, "b": [5] * 200, "kind": ["r1", "r2", *(["u", "v"] * 99)]})
    )[0]
    fit_table(table, ColumnChoices(encode="famd"), reported.append)
    text = " ".join(reported)
    assert "'b' is constant" in text
    assert "'other': 'r1', 'r2'" in text


def test_many_columns_of_categories_are_reported_in_few_lines():
    rng, reported = np.random.default_rng(0), []
    table = make_frame(pa.table({f"c{j}": rng.choice(["u", "v", "w"], N).tolist() for j in range(300)}))[0]
    fit_table(table, ColumnChoices(encode="famd"), reported.append)
    assert len(reported) < 30
    assert any("280 more columns" in line for line in reported)
