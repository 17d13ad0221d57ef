"""The architecture that docs/architecture.md describes: the picture of the layers, one door for X, short functions."""

import ast
import re
from pathlib import Path

import pytest

from support.layers import LAYERS, MODULES, ROOT, layer_of, list_imports, parse

PAGE = (Path(__file__).parents[1] / "docs" / "architecture.md").read_text(encoding="utf-8")
# Packages that build on the estimators and the search: they use the names of the packages, not of their modules.
USERS = {"plotting", "report", "cli"}
# Displays and drawing functions set many artists in a row; constructors store many parameters.
DRAWING = {"plotting"}
MOST_LINES = 50
# The functions that a reader meets first.
ENTRANCES = {
    "find_hyperplane": "search/hyperplane.py",
    "find_separator": "search/separator.py",
}


def functions(path):
    return [node for node in ast.walk(parse(path)) if isinstance(node, ast.FunctionDef)]


def count_code_lines(function, path):
    """Lines without docstring, comments and blank lines."""
    lines = path.read_text(encoding="utf-8").splitlines()
    first = function.body[0]
    docstring = range(first.lineno, first.end_lineno + 1) if ast.get_docstring(function) is not None else ()
    return sum(
        bool(lines[i - 1].strip()) and not lines[i - 1].lstrip().startswith("#")
        for i in range(function.lineno, function.end_lineno + 1)
        if i not in docstring
    )


def test_picture_shows_the_layers_in_their_order():
    picture = re.search(r"## Layers\n.*?```text\n(.*?)```", PAGE, re.DOTALL)[1]
    names = {name for layer in LAYERS for name in layer}
    heads = [line[:14] if line[13:14] == " " else line for line in picture.splitlines() if not line.startswith("  ")]
    shown = [name for head in heads for name in re.findall(r"\w+", head) if name in names]
    level = {name: k for k, layer in enumerate(LAYERS) for name in layer}
    assert set(shown) == names
    assert [level[name] for name in shown] == sorted((level[name] for name in shown), reverse=True)


def test_every_function_and_file_named_on_the_page_exists():
    steps = re.findall(r"^\| [^|]+ \| ([^|]+) \| `([\w/.]+\.py)`", PAGE, re.MULTILINE)
    assert len(steps) > 10
    for names, file in steps:
        text = (ROOT / file).read_text(encoding="utf-8")
        for name in re.findall(r"`(?:\w*\.)?(\w+)`", names):
            assert re.search(rf"(def|class) {name}\b", text), f"{name} is not in {file}"


def test_only_rows_ask_for_the_type_of_X():
    question = re.compile(r"\b(?:hasattr|isinstance)\((?:X|rows)\b|\bis_?sparse\(X|issparse\(X")
    asked = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in MODULES
        if layer_of(path) != "rows"
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if question.search(line)
    ]
    assert asked == []


def test_packages_above_use_public_names_of_the_search():
    inner = re.compile(r"ravine\.(?:estimators|search)\.\w+")
    found = [
        f"{path.relative_to(ROOT)}: {name}"
        for path in MODULES
        if layer_of(path) in USERS
        for name in list_imports(path)
        if inner.fullmatch(name)
    ]
    assert found == []


def test_functions_fit_on_one_screen():
    long = [
        f"{path.relative_to(ROOT)}: {function.name}"
        for path in MODULES
        for function in functions(path)
        if function.name != "__init__"
        and not (layer_of(path) in DRAWING and re.match(r"_?(draw|plot)", function.name))
        and count_code_lines(function, path) > MOST_LINES
    ]
    assert long == []


@pytest.mark.parametrize(("name", "file"), ENTRANCES.items())
def test_entrance_is_a_short_function(name, file):
    path = ROOT / file
    (function,) = [f for f in functions(path) if f.name == name]
    assert count_code_lines(function, path) <= 30
