"""Conventions: short test names, a docstring in every file, one folder for each package, whole docstring sections."""

import ast
import re
from pathlib import Path

from support.layers import MODULES, ROOT, layer_of

TESTS = Path(__file__).parent
FILES = sorted(TESTS.rglob("test_*.py"))
TREES = {str(path.relative_to(TESTS)): ast.parse(path.read_text(encoding="utf-8")) for path in FILES}
LONGEST_NAME = 64
# The kernels are one compiled module: their tests have a folder without the underscore.
FOLDERS = {layer_of(path) for path in MODULES} | {"kernels"}


def test_names_of_tests_are_short():
    functions = [(file, node) for file, tree in TREES.items() for node in ast.walk(tree) if is_test(node)]
    assert len(functions) > 1000
    assert [f"{file}: {node.name}" for file, node in functions if len(node.name) > LONGEST_NAME] == []


def test_files_start_with_a_docstring_about_their_subject():
    docstrings = {file: ast.get_docstring(tree) or "" for file, tree in TREES.items()}
    assert [file for file, text in docstrings.items() if not text or text.startswith("What")] == []


def test_folders_mirror_the_packages():
    assert {path.parent.relative_to(TESTS).parts[0] for path in FILES if path.parent != TESTS} <= FOLDERS


def test_helpers_are_in_support():
    assert {
        str(path.relative_to(TESTS))
        for path in TESTS.rglob("*.py")
        if not path.name.startswith("test_") and path.name != "conftest.py" and path.parent.name != "support"
    } == set()


def is_test(node):
    return isinstance(node, ast.FunctionDef) and node.name.startswith("test_")


def test_sections_of_docstrings_stand_on_lines_of_their_own():
    merged = [
        f"{path.relative_to(ROOT)}:{number}"
        for path in MODULES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if re.search(r"\w -{4,} \w", line)
    ]
    assert merged == []
