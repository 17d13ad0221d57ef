"""The benchmarks' tables and their places in the documentation."""

from pathlib import Path

import numpy as np
import pytest

from bars import BARS, LIMITS, Measurement
from measure import format_number, measure_times
from pages import format_measurement, format_table, update_page
from strokes import KINDS, simulate_strokes
from trees import ALL_NULLS, BENDS, draw_bend

PERFORMANCE = Path(__file__).parents[1] / "docs" / "performance.md"
PAGE = "text\n<!-- bars -->\nold\n\n| measure | now |\n|---|---|\n| a | 1 |\n| b | 2 |\n\n<!-- end of bars -->\nend\n"


def make_row(*limits, at_least=False):
    return Measurement("x", "time", "9", limits, lambda _: ([], ""), at_least)


@pytest.mark.parametrize(
    ("value", "text"), [(0.1234, "0.12"), (1.0, "1"), (8.04, "8"), (99.4, "99"), (266.3, "266"), (2e-7, "0.0000002")]
)
def test_numbers_have_two_digits(value, text):
    assert format_number(value) == text


def test_row_tells_whether_all_bars_are_met():
    assert format_measurement(make_row(8, 4), [8.0, 3.0], "20 ms") == ["time", "9", "8 / 3 (20 ms)", "≤ 8 / ≤ 4", "yes"]
    assert format_measurement(make_row(8, 4), [7.0, 5.0], "")[-1] == "**no**"
    assert format_measurement(make_row(8, at_least=True), [9.0], "")[3:] == ["≥ 8", "yes"]


def test_update_replaces_rows_and_keeps_the_others():
    page = update_page(PAGE, "bars", format_table(["measure", "now"], [["b", "7"], ["c", "3"]]), "machine")
    assert page == (
        "text\n<!-- bars -->\n\nmachine\n\n| measure | now |\n|---|---|\n| a | 1 |\n| b | 7 |\n| c | 3 |\n\n"
        "<!-- end of bars -->\nend\n"
    )


def test_update_replaces_a_table_with_another_header():
    page = update_page(PAGE, "bars", format_table(["size", "now"], [["b", "7"]]), "machine")
    assert "| a | 1 |" not in page
    assert "| b | 7 |" in page


def test_update_replaces_all_rows_on_demand():
    page = update_page(PAGE, "bars", format_table(["measure", "now"], [["b", "7"]]), "machine", keep=False)
    assert "| a | 1 |" not in page


def test_page_without_markers_is_refused():
    with pytest.raises(ValueError, match="<!-- costs -->"):
        update_page(PAGE, "costs", "", "")


def test_names_of_measurements_are_unique():
    names = [row.name for row in BARS + LIMITS]
    assert len(names) == len(set(names))


@pytest.mark.parametrize("name", ["bars", "limits", "costs", "comparison"])
def test_tables_of_the_documentation_can_be_replaced(name):
    page = update_page(PERFORMANCE.read_text(encoding="utf-8"), name, format_table(["a"], [["1"]]), "machine")
    assert f"<!-- {name} -->\n\nmachine\n\n| a |\n|---|\n| 1 |\n\n<!-- end of {name} -->" in page


def test_functions_are_timed_alternately():
    calls = []
    clock = iter(range(100))
    times = measure_times(lambda: calls.append("a"), lambda: calls.append("b"), repeats=2, clock=lambda: next(clock))
    assert calls == ["a", "b", "a", "b"]
    assert times == [1, 1]


@pytest.mark.parametrize("seed", [0, 1])
def test_strokes_are_standardised_and_depend_on_the_seed(seed):
    X, y = simulate_strokes(seed)
    assert X.shape[1] <= {"pixels": 64, "points": 16}[KINDS[seed]]
    assert 1000 <= len(X) == len(y) <= 3000
    assert 6 <= len(np.unique(y)) <= 15
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    np.testing.assert_array_equal(X, simulate_strokes(seed)[0])
    assert not np.array_equal(X[:1000, :8], simulate_strokes(seed + 2)[0][:1000, :8])


@pytest.mark.parametrize("family", ALL_NULLS)
@pytest.mark.parametrize("d", [1, 2, 10])
def test_null_families_have_finite_rows(family, d):
    X = ALL_NULLS[family](np.random.default_rng(0), 60, d)
    assert X.shape[0] == 60
    assert X.shape[1] == d or family == "categories"
    assert np.isfinite(X).all()


@pytest.mark.parametrize("family", BENDS)
def test_bends_have_at_least_the_dimension_of_their_curve(family):
    shapes = [draw_bend(family, 50, d, 0).shape for d in (2, 6)]
    assert shapes == [(50, 3 if family == "shell" else 2), (50, 6)]
