"""The tower of layers: each module imports only from the layers below it, and says what it is for."""

import ast
import dataclasses
import inspect
import re

import pytest

import ravine
from support.layers import LEVEL, MODULES, ROOT, layer_of, list_imports, parse

IDS = [str(path.relative_to(ROOT)) for path in MODULES]

FORBIDDEN = {
    "optimise": {"rows", "density", "hyperplane"},
    "density": {"rows", "hyperplane"},
}
# The methods ``plot`` import their displays from above, inside the method: a fit never loads them, nor matplotlib.
UPWARD = {"estimators/plot_mixins.py": {"ravine.plotting"}, "tree/nodes.py": {"ravine.plotting"}}


def test_the_library_was_found():
    assert {"rows", "density", "optimise", "index", "search", "estimators"} <= {layer_of(path) for path in MODULES}


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_module_belongs_to_a_layer(path):
    assert layer_of(path) in {*LEVEL, "__init__", "__main__"}


@pytest.mark.parametrize("path", [p for p in MODULES if layer_of(p) in LEVEL], ids=lambda p: str(p.relative_to(ROOT)))
def test_imports_come_from_below(path):
    own = layer_of(path)
    for name in set(list_imports(path)) - UPWARD.get(str(path.relative_to(ROOT)), set()):
        other = name.split(".")[1] if "." in name.strip(".") else name
        if other == own:
            continue
        assert other in LEVEL, f"{name} is not a layer: import it from its home"
        assert LEVEL[other] < LEVEL[own], f"{own} lies below {other}"
        assert other not in FORBIDDEN.get(own, set()), f"{own} must not depend on {other}"


@pytest.mark.parametrize("name", UPWARD)
def test_upward_imports_wait_for_a_picture(name):
    tree = ast.parse((ROOT / name).read_text(encoding="utf-8"))
    typing_only = [node for node in tree.body if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"]
    upward = [n for n in ast.walk(tree) if isinstance(n, ast.ImportFrom) and n.module in UPWARD[name]]
    plots = [n for n in ast.walk(tree) if isinstance(n, ast.FunctionDef) and n.name == "plot"]
    allowed = {id(inner) for outer in (*typing_only, *plots) for inner in ast.walk(outer)}
    assert upward
    assert all(id(node) in allowed for node in upward)


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_imports_are_absolute(path):
    assert "." not in list(list_imports(path))


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_module_says_what_it_is_for(path):
    docstring = ast.get_docstring(parse(path))
    assert docstring
    assert docstring.splitlines()[0].endswith((".", ":"))


@pytest.mark.parametrize("path", MODULES, ids=IDS)
def test_module_fits_on_a_few_screens(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) <= 400


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
