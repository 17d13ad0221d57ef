"""Figures of the tree that pages quote, compared with those that benchmarks/agreement.py stored."""

import json
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
FIGURES = json.loads((ROOT / "docs" / "figures.json").read_text(encoding="utf-8"))
GIVEN, UNKNOWN = "## A given number of clusters", "## An unknown number of clusters"
# Page, heading, first cell of a row, column, group of data, number of clusters given or unknown.
QUOTES = [
    ("README.md", "## Compared", "k given, 13 sets: adjusted Rand index", 1, "sets", "given"),
    ("README.md", "## Compared", "k unknown, 13 sets: adjusted Rand index", 1, "sets", "unknown"),
    ("docs/comparison.md", GIVEN, "13 sets of the paper", 1, "sets", "given"),
    ("docs/comparison.md", GIVEN, "19 development tables", 1, "development", "given"),
    ("docs/comparison.md", GIVEN, "20 confirmation tables", 1, "confirmation", "given"),
    ("docs/comparison.md", GIVEN, "20 families of rings, moons, bars", 1, "shapes", "given"),
    ("docs/comparison.md", UNKNOWN, "13 sets of the paper", 1, "sets", "unknown"),
    ("docs/comparison.md", UNKNOWN, "19 development tables", 1, "development", "unknown"),
    ("docs/comparison.md", UNKNOWN, "20 confirmation tables", 1, "confirmation", "unknown"),
    ("docs/comparison.md", UNKNOWN, "20 families of rings, moons, bars", 1, "shapes", "unknown"),
] + [
    ("docs/evidence.md", "### Agreement with known classes", row, column, group, kind)
    for row, group in (
        ("40 hard mixtures", "hard mixtures"),
        ("40 mixtures", "mixtures"),
        ("40 sets of shapes", "shapes"),
        ("12 sets of strokes: many clusters in many dimensions", "strokes"),
        ("40 tables of answers and categories", "answers"),
        ("19 development tables", "development"),
        ("20 confirmation tables", "confirmation"),
        ("13 sets of the paper", "sets"),
    )
    for column, kind in ((1, "given"), (3, "unknown"))
]


def read_row(page, heading, row):
    """Return the cells of the first line of a table with a row, below a heading."""
    below = (ROOT / page).read_text(encoding="utf-8").split(heading, 1)[1]
    line = next(line for line in below.splitlines() if line.startswith(f"| {row}"))
    return [cell.strip(" *") for cell in line.strip("|").split("|")]


@pytest.mark.parametrize(("page", "heading", "row", "column", "group", "kind"), QUOTES)
def test_pages_quote_the_stored_figures(page, heading, row, column, group, kind):
    cell = read_row(page, heading, row)[column]
    digits = len(cell) - 1
    assert digits >= 2
    assert cell == f"{FIGURES[group][kind]:.{digits}f}".lstrip("0")


@pytest.mark.parametrize(
    ("row", "table"), [("40 hard mixtures", "mixtures"), ("40 simulated tables of answers and categories", "answers")]
)
def test_comparison_quotes_the_tables_of_evidence(row, table):
    quoted = read_row("docs/comparison.md", GIVEN, row)[1:]
    tree, means, _, _, tied, _, ward, spectral = read_row("docs/evidence.md", f"<!-- {table} -->", "**mean**")[1:]
    assert quoted == [tree, means, tied, ward, spectral]


def agrees(quoted, exact):
    """Return whether a quoted figure is an exact one, rounded to its digits."""
    quoted, exact = (text.strip(" *").split(" ±")[0] for text in (quoted, exact))
    digits = len(quoted.partition(".")[2])
    return abs(float(quoted) - float(exact)) <= 0.5 * 10.0**-digits * (1.0 + 1e-9)


def read_means(marker):
    """Return the mean of each column of a table of docs/evidence.md."""
    below = f"<!-- {marker} -->"
    heads = read_row("docs/evidence.md", below, "set |" if "sets" in marker else "table |")
    means = next(row for row in ("**mean of", "**mean**") if row in read_block("docs/evidence.md", below))
    return dict(zip(heads, read_row("docs/evidence.md", below, means), strict=True))


def read_block(page, marker):
    """Return the text between a marker and its end."""
    return (ROOT / page).read_text(encoding="utf-8").split(marker, 1)[1].split("<!-- end", 1)[0]


def read_times():
    """Return the row of each size of the measured times, by the heads of the columns."""
    lines = [line for line in read_block("docs/performance.md", "<!-- comparison -->").splitlines() if "|" in line]
    rows = [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]
    return {row[0]: dict(zip(rows[0], row, strict=True)) for row in rows[2:]}


# Page, heading, first cell of a row, column, table of evidence, its column.
RIVALS = [
    ("README.md", "## Compared", "k given, 13 sets: adjusted Rand index", 2, "sets, k given", "KMeans"),
    ("README.md", "## Compared", "k unknown, 13 sets: adjusted Rand index", 4, "sets, k unknown", "HDBSCAN"),
    ("docs/comparison.md", "## HDBSCAN or ravine?", "13 sets of the paper", 1, "sets, k unknown", "HDBSCAN"),
    ("docs/comparison.md", "## HDBSCAN or ravine?", "19 development", 1, "development, k unknown", "HDBSCAN"),
    ("docs/comparison.md", UNKNOWN, "13 sets of the paper", 2, "sets, k unknown", "HDBSCAN"),
    ("docs/comparison.md", UNKNOWN, "19 development tables", 2, "development, k unknown", "HDBSCAN"),
    ("docs/comparison.md", UNKNOWN, "20 confirmation tables", 2, "confirmation, k unknown", "HDBSCAN"),
] + [
    ("docs/comparison.md", GIVEN, row, column, table, name)
    for row, table in (
        ("13 sets of the paper", "sets, k given"),
        ("19 development tables", "development, k given"),
        ("20 confirmation tables", "confirmation, k given"),
    )
    for column, name in ((2, "KMeans"), (3, "GMM tied"), (4, "Ward"), (5, "spectral"))
]


@pytest.mark.parametrize(("page", "heading", "row", "column", "table", "name"), RIVALS)
def test_figures_of_other_methods_are_those_of_the_evidence(page, heading, row, column, table, name):
    assert agrees(read_row(page, heading, row)[column], read_means(table)[name])


@pytest.mark.parametrize(
    ("row", "group"),
    [("13 sets of the paper", "sets"), ("19 development", "development"), ("20 families of rings", "shapes")],
)
def test_the_table_beside_hdbscan_quotes_the_stored_figures(row, group):
    cell = read_row("docs/comparison.md", "## HDBSCAN or ravine?", row)[2]
    assert agrees(cell, str(FIGURES[group]["unknown"]))


@pytest.mark.parametrize("page", ["README.md", "docs/comparison.md"])
def test_figures_of_shapes_are_those_of_the_evidence(page):
    heads, means = (read_row("docs/evidence.md", "**Shapes**", name) for name in ("set |", "**mean**"))
    exact = dict(zip(heads, means, strict=True))
    if page == "README.md":
        means, mixture, both = read_row(page, "## Compared", "20 kinds of shapes")[2:5]
        assert both.startswith("–")
        assert agrees(both.split("/")[1], exact["HDBSCAN"])
    else:
        means, mixture = read_row(page, GIVEN, "20 families of rings")[2:4]
        assert agrees(read_row(page, UNKNOWN, "20 families of rings")[2], exact["HDBSCAN"])
    assert agrees(means, exact["KMeans"])
    assert agrees(mixture.split(" (")[0], exact["GMM"])


def test_claims_over_kmeans_hold_on_the_data_that_they_name():
    rows = {name: read_row("docs/comparison.md", GIVEN, name)[1:3] for name in read_names("docs/comparison.md", GIVEN)}
    margins = {name: float(tree) - float(means) for name, (tree, means) in rows.items()}
    ahead, level, behind = ({name for name, margin in margins.items() if sign(margin) == k} for k in (1, 0, -1))
    assert ahead == {"13 sets of the paper", "40 hard mixtures", "20 families of rings, moons, bars"}
    assert level == {"20 confirmation tables"}
    assert behind == {"19 development tables", "40 simulated tables of answers and categories"}
    text = (ROOT / "README.md").read_text(encoding="utf-8").split("**Where ravine loses.**")[1].split("\n\n")[0]
    quoted = re.findall(r"\(?(\.\d+),(?: KMeans)? (\.\d+)", text)
    order = ["13 sets", "40 hard", "20 families", "20 confirmation", "19 development", "40 simulated"]
    assert quoted == [tuple(rows[next(name for name in rows if name.startswith(start))]) for start in order]


def sign(x):
    return (x > 0.0) - (x < 0.0)


def read_names(page, heading):
    """Return the first cells of the first table below a heading."""
    below = (ROOT / page).read_text(encoding="utf-8").split(heading, 1)[1]
    lines = re.search(r"\n\|.*?\n\n", below, re.DOTALL)[0].strip().splitlines()
    return [line.strip("|").split("|")[0].strip() for line in lines[2:]]


# Row of the table of the README, size, columns and methods.
TIMES = [
    (
        "CPU seconds of one split](docs/performance.md#other-clusterers), 10⁴ x 50",
        "10⁴ x 50",
        {1: "ravine", 2: "KMeans(2)", 3: "GaussianMixture(2)", 5: "HiPart MDH", 6: "PPCI"},
    ),
    (
        "CPU seconds of one split, 10⁶ x 10",
        "10⁶ x 10",
        {1: "ravine", 2: "KMeans(2)", 3: "GaussianMixture(2)", 6: "PPCI"},
    ),
    ("CPU seconds without k, 10⁴ x 50", "10⁴ x 50", {1: "ravine, tree", 4: "HDBSCAN"}),
]


@pytest.mark.parametrize(("row", "size", "columns"), TIMES)
def test_times_compare_like_with_like_and_are_those_measured(row, size, columns):
    cells, times = read_row("README.md", "## Compared", row if "]" not in row else f"[{row}"), read_times()[size]
    assert {column: agrees(cells[column], times[name]) for column, name in columns.items()} == dict.fromkeys(
        columns, True
    )
    others = [cell for column, cell in enumerate(cells[1:], 1) if column not in columns]
    assert set(others) <= {""}


def test_the_first_table_of_performance_is_part_of_the_measured_one():
    lines = (ROOT / "docs" / "performance.md").read_text(encoding="utf-8").split("## Other")[0].splitlines()
    start = next(k for k, line in enumerate(lines) if line.startswith("| rows x features | ravine |"))
    heads, _, *rows = ([cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines[start : start + 9])
    for row in rows:
        times = read_times()[row[0]]
        assert row == [times[name] for name in heads]


def test_comparison_and_readme_quote_the_same_splits_in_two():
    cells = read_row("README.md", "## Compared", "one split, 7 sets")
    means = read_row("docs/comparison.md", "## Two groups", "**mean**")
    for column, place in ((1, 1), (2, 5), (5, 4), (6, 2)):
        for quoted, exact in zip(cells[column].split(" / "), means[place].split(" / "), strict=True):
            assert agrees(quoted, exact)
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    every = read_row("docs/comparison.md", "## Two groups", "mean |")[1]
    assert f"score {every}." in " ".join(text.split())
