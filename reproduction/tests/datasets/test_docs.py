"""docs/datasets.md agrees with the cards."""

from pathlib import Path

import pytest

from ravine_paper.datasets import describe, list_datasets

DOCS = Path(__file__).parents[3] / "docs" / "datasets.md"


def make_table():
    """Return the table of the documentation; paste it there when a card changes."""
    rows = [
        "| name | title | rows | columns | classes | checksum of the file | differs from the paper |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in list_datasets():
        card = describe(name)
        pins = [bool(source.sha256 or any(member.sha256 for member in source.members)) for source in card.sources]
        pinned = "pinned" if all(pins) else "not published, content only"
        paper = "" if card.paper == "same size as in the paper" else card.paper
        size = f"{card.n} | {card.d} | {len(card.classes)}"
        rows.append(f"| `{name}` | {card.title} | {size} | {pinned} | {paper} |")
    return "\n".join(rows)


def make_sections():
    """Return source, licence, citation and preprocessing of every data set."""
    parts = []
    for name in list_datasets():
        card = describe(name)
        parts.append(
            f"**{name}**: {card.source}. Licence: {card.licence}. Preprocessing: {card.preprocessing}. "
            f"Cite: {card.citation}"
        )
    return "\n\n".join(parts)


@pytest.fixture
def text():
    if not DOCS.is_file():
        pytest.skip("no documentation here")
    return DOCS.read_text(encoding="utf-8")


def test_table_matches_the_cards(text):
    assert make_table() in text


def test_sections_match_the_cards(text):
    assert make_sections() in text
