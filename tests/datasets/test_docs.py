"""docs/datasets.md says what the cards say."""

from pathlib import Path

import pytest

from ravine.datasets import describe, list_datasets

DOCS = Path(__file__).parents[2] / "docs" / "datasets.md"


def table():
    """The table in the documentation: paste it there when a card changes."""
    rows = [
        "| name | title | rows | columns | classes | checksum of the archive's file | differs from the paper |",
        "|---|---|---|---|---|---|---|",
    ]
    for name in list_datasets():
        card = describe(name)
        pins = [bool(source.sha256 or any(member.sha256 for member in source.members)) for source in card.sources]
        pinned = "pinned" if all(pins) else "none published: content only"
        paper = "" if card.paper == "same size as in the paper" else card.paper
        size = f"{card.n} | {card.d} | {len(card.classes)}"
        rows.append(f"| `{name}` | {card.title} | {size} | {pinned} | {paper} |")
    return "\n".join(rows)


def sections():
    """Source, licence, citation and preprocessing of every set."""
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


def test_the_table_is_that_of_the_cards(text):
    assert table() in text


def test_the_sections_are_those_of_the_cards(text):
    assert sections() in text
