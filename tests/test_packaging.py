"""Packaging, site and workflows: versions agree, floors are exact, actions are pinned, broken sites are noticed."""

import importlib.util
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest

import ravine
from support.floors import pin, read_requirements
from support.wheels import COMPILERS, choose_builders, choose_wheel, make_path_without_compiler

ROOT = Path(__file__).parents[1]
# Files and folders that coverage, builds, tools and editors leave behind.
LEFTOVERS = re.compile(
    r"""(^|/)(
        \.coverage[^/]* | coverage\.(xml|json|lcov) | htmlcov | [^/]*\.(gcda|gcno|gcov|profraw|profdata)
      | __pycache__ | [^/]*\.(py[cod]|so|dylib|dll|o|a|obj|whl|egg) | [^/]*\.egg-info | build | dist | out | _build
      | CMakeCache\.txt | CMakeFiles | \.venv[^/]* | \.(pytest|mypy|ruff)_cache | \.hypothesis
      | \.idea | \.vscode | \.DS_Store | Thumbs\.db | [^/]*~
      | \#[^/]*\# | \.\#[^/]* | [^/]*\.(sw[op]|orig|rej|bak|tmp|log)
    )(/|$)""",
    re.VERBOSE,
)
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))


def load_module(path):
    spec = importlib.util.spec_from_file_location(path.stem, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def read(name):
    return (ROOT / name).read_text(encoding="utf-8")


def test_versions_agree():
    found = [
        tomllib.loads(read("pyproject.toml"))["project"]["version"],
        tomllib.loads(read("reproduction/pyproject.toml"))["project"]["version"],
        re.search(r"ravine\[app\]==([\d.]+)", read("reproduction/pyproject.toml"))[1],
        re.search(r'__version__ = "(.*)"', read("reproduction/src/ravine_paper/__init__.py"))[1],
        re.search(r"^version: (.*)$", read("CITATION.cff"), re.MULTILINE)[1],
        re.search(r"version = {(.*)}", read("docs/citation.md"))[1],
        re.search(r"^## (\S+)", read("CHANGELOG.md"), re.MULTILINE)[1],
    ]
    assert found == [ravine.__version__] * len(found)


def test_every_run_time_requirement_has_a_floor():
    pins = [pin(line) for lines in read_requirements() for line in lines]
    assert {"numpy", "scipy", "scikit-learn", "pandas", "nanobind"} <= {line.split("==")[0] for line in pins}
    assert pin("dask[array,dataframe]>=2024.8") == "dask==2024.8"


def test_wheel_fits_the_version_of_python():
    wheels = [Path(f"ravine-1-{tag}-linux.whl") for tag in ("cp311-cp311", "cp312-abi3")]
    assert choose_wheel(wheels, (3, 11)) == wheels[0]
    assert [choose_wheel(wheels, (3, minor)) for minor in (12, 13, 14)] == [wheels[1]] * 3
    with pytest.raises(SystemExit, match=r"cp311-cp311 .*cp312-abi3"):
        choose_wheel(wheels[1:], (3, 11))


@pytest.mark.parametrize(("minors", "expected"), [((14, 13), [13]), ((12, 11, 13), [11, 12]), ((11,), [11]), ((), [])])
def test_lowest_version_builds_each_wheel(minors, expected):
    pythons = {(3, minor): Path(f"python3.{minor}") for minor in minors}
    assert choose_builders(pythons) == [Path(f"python3.{minor}") for minor in expected]


@pytest.mark.skipif(not Path("/usr/bin/env").exists(), reason="no /usr/bin")
def test_path_without_a_compiler_has_other_tools(tmp_path):
    path = str(make_path_without_compiler(tmp_path / "bin"))
    assert shutil.which("env", path=path)
    assert not any(shutil.which(compiler, path=path) for compiler in COMPILERS)


def test_addresses_come_from_one_variable(monkeypatch):
    urls = load_module(ROOT / "packaging" / "project_urls.py")
    monkeypatch.setattr(
        urls.tomllib, "load", lambda file: {"tool": {"ravine": {"repository": "https://example.org/r/"}}}
    )
    assert urls.dynamic_metadata("urls")["Issues"] == "https://example.org/r/issues"
    monkeypatch.setattr(urls.tomllib, "load", lambda file: {"tool": {"ravine": {"repository": ""}}})
    assert urls.dynamic_metadata("urls") == {}
    with pytest.raises(ValueError, match="field 'urls'"):
        urls.dynamic_metadata("version")


@pytest.mark.skipif(not (ROOT / ".git").exists() or shutil.which("git") is None, reason="not a checkout of git")
def test_no_leftover_of_a_tool_is_tracked():
    command = ["git", "-c", f"safe.directory={ROOT}", "-C", str(ROOT), "ls-files", "-z"]
    tracked = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split("\0")
    assert "pyproject.toml" in tracked
    assert [name for name in tracked if LEFTOVERS.search(name)] == []


@pytest.mark.parametrize(
    "name",
    [
        ".coverage.host.pid1.x",
        "src/a.gcda",
        "a/__pycache__/b.pyc",
        "build/x",
        "docs/_build/i.html",
        "notes.md~",
        "src/.a.swp",
    ],
)
def test_leftovers_are_recognised(name):
    assert LEFTOVERS.search(name)
    assert not LEFTOVERS.search("docs/builders.md")


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.stem)
def test_workflow_pins_actions_and_grants_nothing(workflow):
    text = workflow.read_text(encoding="utf-8")
    assert re.search(r"^permissions: {}$", text, re.MULTILINE)
    assert text.count("persist-credentials: false") == text.count("actions/checkout@")
    uses = re.findall(r"uses: (\S+)", text)
    assert uses
    assert [name for name in uses if not re.fullmatch(r"[\w/-]+@[0-9a-f]{40}", name)] == []


def test_problems_of_a_site_are_noticed(tmp_path):
    check_page = load_module(ROOT / "docs" / "_ext" / "check_site.py").check_page
    (tmp_path / "other.html").write_text('<h1 id="here">x</h1>', encoding="utf-8")
    page = tmp_path / "page.html"
    links = ["other.html#here", "other.html#there", "missing.html", "https://example.org", "#self"]
    body = "".join(f'<a href="{link}">x</a>' for link in links)
    page.write_text(f'<p id="self">{body}<script src="https://example.org/x.js"></script></p>', encoding="utf-8")
    assert check_page(page) == [
        "no anchor other.html#there",
        "broken link missing.html",
        "loads https://example.org/x.js",
    ]


def test_code_of_conduct_names_a_contact_or_its_lack():
    contact = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["ravine"]["contact"]
    assert (contact or "no public address yet") in (ROOT / "CODE_OF_CONDUCT.md").read_text(encoding="utf-8")
