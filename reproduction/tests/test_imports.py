"""The package uses public names of ravine only: names of ravine, of its packages and of its modules at the top."""

import ast
from importlib import import_module
from pathlib import Path

import ravine_paper

ROOT = Path(ravine_paper.__file__).parent


def list_imports(path):
    """Yield the module and the name of everything that a file imports from ravine."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, None) for alias in node.names if alias.name.split(".")[0] == "ravine")
        elif isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ravine":
            yield from ((node.module, alias.name) for alias in node.names)


def is_public(module, name):
    parts = module.split(".")
    if name is None:
        return parts == ["ravine"]
    return len(parts) <= 2 and not parts[-1].startswith("_") and name in import_module(module).__all__


def test_only_public_names_are_imported():
    found = [(path, *pair) for path in sorted(ROOT.rglob("*.py")) for pair in list_imports(path)]
    assert len(found) > 50
    assert [
        f"{path.relative_to(ROOT)}: {module}.{name}" for path, module, name in found if not is_public(module, name)
    ] == []


def test_private_and_deep_names_are_not_public():
    assert is_public("ravine", "MinimumDensityTree")
    assert is_public("ravine.search", "Problem")
    for module, name in [("ravine._files", "write_text"), ("ravine.search.problem", "Problem"), ("ravine.search", "x")]:
        assert not is_public(module, name)
