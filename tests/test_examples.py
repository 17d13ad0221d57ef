"""The scripts of the gallery run, draw a picture, and warn about nothing."""

import ast
import runpy
import sys
import warnings
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
QUICK = {"alpha_path", "projection_index", "text_topics"}
PARAMETERS = [pytest.param(path, marks=[] if path.stem in QUICK else [pytest.mark.slow]) for path in SCRIPTS]


def read_figures():
    """Return the table of docs/draw_images.py."""
    tree = ast.parse((ROOT / "docs" / "draw_images.py").read_text(encoding="utf-8"))
    table = next(node for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == "FIGURES")
    return ast.literal_eval(table.value)


def test_the_gallery_has_at_least_fifteen_scripts():
    assert len(SCRIPTS) >= 15
    assert {path.stem for path in SCRIPTS} >= QUICK | set(read_figures())


def test_pictures_of_scripts_are_in_the_documentation():
    images = {path.stem for path in (ROOT / "docs" / "images").glob("*.png")}
    assert {name for names in read_figures().values() for name in names} <= images


@pytest.mark.parametrize("script", PARAMETERS, ids=lambda path: path.stem)
def test_script_draws_a_picture_without_warnings(script, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(len(plt.get_fignums())))
    monkeypatch.setattr(sys, "argv", [str(script)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # of libraries
        runpy.run_path(str(script), run_name="__main__")
    assert shown
    assert min(shown) >= 1
    plt.close("all")
