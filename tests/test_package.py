"""The package itself: light to import, and everything public can be found."""

import re
import subprocess
import sys
from importlib import import_module

import pytest

import ravine
from ravine import estimators


def words_printed_by(script):
    """What a script prints in a new process."""
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return run.stdout.split()


def modules_after(statement):
    """Names of the modules that are loaded after a statement in a new process."""
    return set(words_printed_by(f"import sys\n{statement}\nprint(*sys.modules)"))


@pytest.fixture(scope="module")
def at_start():
    return modules_after("pass")


@pytest.fixture(scope="module")
def of_scikit_learn():
    return modules_after("import sklearn.base")


@pytest.fixture(scope="module")
def of_estimator():
    return modules_after("from ravine import MinimumDensityHyperplane")


def heavy(modules):
    return {name.split(".")[0] for name in modules} & {"numpy", "scipy", "sklearn", "pandas", "polars", "matplotlib"}


def test_import_loads_no_library(at_start):
    loaded = modules_after("import ravine; dir(ravine); ravine.__version__") - at_start
    assert not heavy(loaded)
    assert {name for name in loaded if name.startswith("ravine.")} == {"ravine._imports"}


def test_domain_object_needs_neither_scipy_nor_sklearn(at_start):
    loaded = modules_after("from ravine import Hyperplane, ProjectedDensity") - at_start
    assert heavy(loaded) == {"numpy"}


def test_estimator_loads_no_library_that_scikit_learn_does_not(of_estimator, of_scikit_learn):
    assert heavy(of_estimator) == heavy(of_scikit_learn)


def test_estimator_loads_no_other_estimator(of_estimator, of_scikit_learn):
    loaded = of_estimator - of_scikit_learn
    assert {name.split(".")[1] for name in loaded if name.startswith("ravine.")}.isdisjoint({"classes", "tree"})
    assert not [name for name in loaded if name.startswith(("sklearn.svm", "sklearn.linear_model", "scipy.optimize"))]


def test_public_names_are_sorted_listed_and_can_be_imported():
    assert sorted(ravine.__all__) == ravine.__all__
    assert set(ravine.__all__) <= set(dir(ravine))
    for name in ravine.__all__:
        assert getattr(ravine, name).__name__ == name


def test_dir_lists_nothing_but_public_names():
    names = words_printed_by("import ravine; print(*dir(ravine))")
    assert [name for name in names if not name.startswith("_")] == ravine.__all__


def test_unknown_name_is_an_attribute_error():
    with pytest.raises(AttributeError, match=r"'ravine'.*'MaximumDensityHyperplane'"):
        ravine.MaximumDensityHyperplane  # noqa: B018
    with pytest.raises(ImportError, match="MaximumDensityHyperplane"):
        from ravine import MaximumDensityHyperplane  # noqa: F401


def test_version_is_that_of_the_distribution():
    from importlib.metadata import version

    assert ravine.__version__ == version("ravine")


def test_types_are_shipped():
    from importlib.resources import files

    assert files("ravine").joinpath("py.typed").is_file()


@pytest.mark.parametrize("package", [ravine, estimators], ids=["ravine", "estimators"])
def test_stub_lists_the_public_names(package):
    from importlib.resources import files

    stub = files(package).joinpath("__init__.pyi").read_text(encoding="utf-8")
    listed = re.findall(r"^from ([\w.]+) import (\w+) as \2$", stub, re.MULTILINE)
    assert sorted(name for _, name in listed) == package.__all__ == [n for n in dir(package) if not n.startswith("_")]
    assert all(getattr(import_module(home), name) is getattr(package, name) for home, name in listed)
    with pytest.raises(AttributeError, match=f"'{package.__name__}' .*'Unknown'"):
        package.Unknown  # noqa: B018
