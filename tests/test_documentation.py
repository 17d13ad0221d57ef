"""The documentation is true: its links lead somewhere, and its code prints the output shown below it."""

import io
import re
from contextlib import redirect_stdout
from pathlib import Path
from urllib.parse import urlparse

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]
SHOWN = [
    pytest.param(page, marks=[] if page.name == "README.md" else [pytest.mark.slow])
    for page in PAGES
    if "```\n\n```text\n" in page.read_text(encoding="utf-8")
]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


def anchors(page):
    """Return the anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    """Return the relative links and images of a page, without those in code."""
    text = re.sub(r"```.*?```", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text)
    return [target for target in targets if not urlparse(target).scheme]


def broken(page):
    for target in links(page):
        name, _, anchor = target.partition("#")
        linked = page.parent / name if name else page
        if not linked.exists() or (anchor and anchor not in anchors(linked)):
            yield target


@pytest.mark.parametrize("page", PAGES, ids=IDS)
def test_links_lead_somewhere(page):
    assert list(broken(page)) == []


def test_every_image_is_shown():
    used = {(page.parent / target).resolve() for page in PAGES for target in links(page) if target.endswith(".png")}
    assert {path.name for path in (ROOT / "docs" / "images").glob("*.png")} == {path.name for path in used}


@pytest.mark.parametrize("page", SHOWN, ids=lambda page: page.name)
def test_code_prints_the_output_that_is_shown(page):
    blocks = re.findall(r"```(python|text)\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
    names, printed = {}, ""
    for kind, block in blocks:
        if kind == "python":
            output = io.StringIO()
            with redirect_stdout(output):
                exec(compile(block, str(page), "exec"), names)
            printed = output.getvalue()
        else:
            assert printed == block
