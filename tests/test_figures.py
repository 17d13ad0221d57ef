"""Figures of the tree that pages quote, compared with those that benchmarks/agreement.py stored."""

import json
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
