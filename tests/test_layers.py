"""The tower of layers: each module imports only from the layers below it, and says what it is for."""

import ast
import dataclasses
import inspect
import re

import pytest

import ravine
from support.layers import LEVEL, MODULES, ROOT, layer_of, list_imports, parse

FORBIDDEN = {
    "optimise": {"rows", "density", "hyperplane"},
    "density": {"rows", "hyperplane"},
}
# The methods ``plot`` import their displays from above, inside the method: a fit never loads them, nor matplotlib.
UPWARD = {
    f"{name}.py": {"ravine.plotting"}
    for name in ("estimators/classifier", "estimators/hyperplane", "estimators/tree", "tree/nodes")
}


def name_of(path):
    return str(path.relative_to(ROOT))


def explain_bad_import(own, name):
    """Return why a module of the layer ``own`` may not import ``name``, or None."""
    other = name.split(".")[1] if "." in name.strip(".") else name
    if other == own:
        return None
    if other not in LEVEL:
        return "not a layer: import it from its home"
    if LEVEL[other] >= LEVEL[own]:
        return f"{own} is not above {other}"
    return f"{own} must not depend on {other}" if other in FORBIDDEN.get(own, set()) else None


def test_the_library_was_found():
    assert {"rows", "density", "optimise", "index", "search", "estimators"} <= {layer_of(path) for path in MODULES}


def test_modules_belong_to_a_layer():
    assert {layer_of(path) for path in MODULES} <= {*LEVEL, "__init__", "__main__"}


def test_imports_come_from_below():
    found = [
        f"{name_of(path)} imports {name}: {reason}"
        for path in MODULES
        if layer_of(path) in LEVEL
        for name in sorted(set(list_imports(path)) - UPWARD.get(name_of(path), set()))
        if (reason := explain_bad_import(layer_of(path), name))
    ]
    assert found == []


@pytest.mark.parametrize("name", UPWARD)
def test_upward_imports_wait_for_a_picture(name):
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    typing_only = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    upward = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module in UPWARD[name]]
    plots = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "plot"]
    allowed = {id(inner) for outer in (*typing_only, *plots) for inner in ast.walk(outer)}
    assert upward
    assert all(id(node) in allowed for node in upward)


def test_imports_are_absolute():
    assert [name_of(path) for path in MODULES if "." in list_imports(path)] == []


def test_modules_start_with_a_docstring():
    first_lines = {path: (ast.get_docstring(parse(path)) or "").partition("\n")[0] for path in MODULES}
    assert [name_of(path) for path, line in first_lines.items() if not line.endswith((".", ":"))] == []


# ----------------------------------------------------------------------------------------------- public names


def described(thing):
    return inspect.getdoc(thing) or ""


@pytest.mark.parametrize("name", ravine.__all__)
def test_public_name_is_documented_with_an_example(name):
    thing = getattr(ravine, name)
    text = described(thing)
    assert text.splitlines()[0].endswith(".")
    if isinstance(thing, type) and issubclass(thing, Exception):
        return
    if dataclasses.is_dataclass(thing):
        assert re.search(r"^(Attributes|Parameters)\n-+$", text, re.MULTILINE)
    else:
        assert re.search(r"^Parameters\n-+$", text, re.MULTILINE)
        assert re.search(r"^Examples\n-+\n(.|\n)*>>> ", text, re.MULTILINE)


@pytest.mark.parametrize("name", ravine.__all__)
def test_every_parameter_and_field_is_documented(name):
    thing = getattr(ravine, name)
    if isinstance(thing, type) and issubclass(thing, Exception):
        names = []
    elif dataclasses.is_dataclass(thing):
        names = [field.name for field in dataclasses.fields(thing)]
    else:
        names = [p.name for p in inspect.signature(thing).parameters.values()]
    documented = re.findall(r"^\**([\w, ]+?)(?: : .*)?$", described(thing), re.MULTILINE)
    documented = {word for line in documented for word in re.split(r", ", line)}
    assert set(names) <= documented


@pytest.mark.parametrize("name", [n for n in ravine.__all__ if inspect.isclass(getattr(ravine, n))])
def test_public_methods_are_documented(name):
    thing = getattr(ravine, name)
    for method, value in vars(thing).items():
        if not method.startswith("_") and (callable(value) or isinstance(value, property | classmethod)):
            assert described(getattr(thing, method)), f"{name}.{method}"


@pytest.mark.parametrize("estimator", [ravine.MinimumDensityHyperplane, ravine.MinimumDensityClassifier])
def test_default_values_are_those_of_the_documentation(estimator):
    text = described(estimator)
    for parameter in inspect.signature(estimator).parameters.values():
        entry = re.search(rf"^(?:\w+, )*{parameter.name}(?:, \w+)* : (.*)$", text, re.MULTILINE)
        assert entry, parameter.name
        documented = re.search(r"default=(.*)$", entry[1])
        names = re.match(r"^([\w, ]+) :", entry[0])[1].split(", ")
        if documented is None:
            assert parameter.default is None
            continue
        value = documented[1] if len(names) == 1 else re.split(r", ", documented[1])[names.index(parameter.name)]
        assert eval(value) == parameter.default, f"{parameter.name}: documented {value}, is {parameter.default!r}"
