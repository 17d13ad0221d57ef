"""The layers of the library, and what its modules import."""

import ast
from functools import cache
from pathlib import Path

import ravine

ROOT = Path(ravine.__file__).parent
MODULES = sorted(ROOT.rglob("*.py"))

# Bottom up; a layer may import from every layer below it unless FORBIDDEN says otherwise.
LAYERS = [
    {"_imports", "_typing", "_properties", "_kernels"},
    {"_files", "_html", "_plurals"},
    {"checks"},
    {"rows"},
    {"density", "hyperplane"},
    {"optimise"},
    {"index"},
    {"search"},
    {"classes", "validity"},
    {"tree"},
    {"explain"},
    {"estimators"},
    {"tables"},
    {"models", "plotting", "report"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}


@cache
def parse(path):
    """Return the syntax tree of a module, parsed once."""
    return ast.parse(path.read_text(encoding="utf-8"))


def layer_of(path):
    return path.relative_to(ROOT).with_suffix("").parts[0]


@cache
def list_imports(path):
    """List every ``ravine`` module that a file imports, wherever it does, as dotted names; relative ones as '.'."""
    return tuple(_imports(parse(path)))


def _imports(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.split(".")[0] == "ravine")
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                yield "."
            elif node.module == "ravine":
                yield from (f"ravine.{alias.name}" for alias in node.names)
            elif node.module and node.module.startswith("ravine."):
                yield node.module
