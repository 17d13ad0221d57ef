"""The documentation is true: its links lead somewhere, and its code prints the output shown below it."""

import inspect
import io
import os
import re
from contextlib import redirect_stdout
from importlib import import_module
from pathlib import Path
from urllib.parse import urlparse

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [*sorted(ROOT.glob("*.md")), *sorted(ROOT.glob("docs/*.md"))]
WITH_CODE = [
    pytest.param(page, marks=[] if page.name == "README.md" else [pytest.mark.slow])
    for page in PAGES
    if "```python\n" in page.read_text(encoding="utf-8")
]
SITE = sorted(ROOT.glob("docs/*.md"))
MODULES = ["ravine", "ravine_paper", "ravine_paper.baselines", "ravine_paper.datasets"]
IDS = [str(page.relative_to(ROOT)) for page in PAGES]


def anchors(page):
    """Return the anchors that GitHub makes of the headings of a page."""
    headings = re.findall(r"^#+ (.*)$", page.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def links(page):
    """Return the relative links and images of a page, without those in code."""
    page_text = page.read_text(encoding="utf-8")
    text = re.sub(r"```.*?```", "", page_text, flags=re.DOTALL)
    targets = re.findall(r"\]\(([^)\s]+)\)", text) + re.findall(r'\b(?:src|srcset)="([^"]+)"', text)
    targets += re.findall(r"```\{image\} (\S+)", page_text)
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


@pytest.mark.parametrize("page", WITH_CODE, ids=lambda page: page.name)
def test_code_runs_and_prints_the_output_that_is_shown(page, tmp_path, monkeypatch):
    if page.name == "datasets.md" and "RAVINE_DATA" not in os.environ:
        pytest.skip("the data sets would be downloaded: set RAVINE_DATA to their folder")
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("matplotlib.pyplot").switch_backend("Agg")
    blocks = re.findall(r"```python\n(.*?)```(?:\n\n```text\n(.*?)```)?", page.read_text(encoding="utf-8"), re.DOTALL)
    names = {}
    for code, shown in blocks:
        with redirect_stdout(io.StringIO()) as output:
            exec(compile(code, str(page), "exec"), names)
        assert output.getvalue() == shown


def read_tables(page):
    """Return the tables of a page, as lists of rows of cells."""
    blocks = re.findall(r"(?:^\|.*\n)+", page.read_text(encoding="utf-8"), re.MULTILINE)
    rows = [[line.strip("|").split("|") for line in block.splitlines()] for block in blocks]
    return [[[cell.strip() for cell in row] for row in table if set(row[0]) != {"-"}] for table in rows]


def test_summary_of_times_repeats_the_measurements():
    tables = [table for table in read_tables(ROOT / "docs/performance.md") if "ravine, tree of 10" in table[0]]
    assert len(tables) == 2
    (head, *summary), (names, *measured) = tables
    times = {row[0]: dict(zip(names, row, strict=True)) for row in measured}
    assert [row for row in summary if row != [times[row[0]][name] for name in head]] == []


def test_front_page_leads_to_the_answers_for_new_users():
    answers = {
        "get_started.md#install",
        "get_started.md#a-csv-file",
        "trees.md#how-to-read-p",
        "choosing.md#which-parameters-to-touch",
        "comparison.md#hdbscan-or-ravine",
        "performance.md",
    }
    assert answers <= set(links(ROOT / "docs/index.md"))


def test_every_page_has_a_place_in_the_site():
    toctrees = [
        entry
        for page in SITE
        for block in re.findall(r"```{toctree}\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)
        for entry in re.findall(r"^(?:[^:\n].*<)?([\w/-]+)>?$", block, re.MULTILINE)
    ]
    assert sorted(toctrees) == sorted({page.stem for page in SITE} - {"index"} | {"gallery/index"})


@pytest.mark.parametrize("module", MODULES)
def test_api_reference_lists_every_public_name(module):
    blocks = re.findall(r"currentmodule:: ([\w.]+)\n(.*?)```", (ROOT / "docs/api.md").read_text("utf-8"), re.DOTALL)
    listed = [
        name for home, block in blocks if home == module for name in re.findall(r"^   (\w+)$", block, re.MULTILINE)
    ]
    assert sorted(listed) == sorted(import_module(module).__all__)


def test_api_reference_lists_the_names_of_model_files():
    text = (ROOT / "docs/api.md").read_text("utf-8")
    (block,) = re.findall(r"currentmodule:: ravine\.models\n(.*?)```", text, re.DOTALL)
    listed = re.findall(r"^   (\w+)$", block, re.MULTILINE)
    public = {"describe_rules", "load", "save"}  # names of ravine
    assert {*listed, *public} == set(import_module("ravine.models").__all__)


@pytest.mark.parametrize("module", MODULES)
def test_every_public_name_has_an_example(module):
    home = import_module(module)
    objects = {name: getattr(home, name) for name in home.__all__}
    # The example of an error is that of its base class.
    without = [
        name
        for name, value in objects.items()
        if ">>>" not in (inspect.getdoc(value) or "")
        and not any(">>>" in (inspect.getdoc(base) or "") for base in getattr(value, "__bases__", ()))
    ]
    assert without == []
