"""The scripts of the gallery run, draw a picture, and warn about nothing."""

import ast
import runpy
import sys
import warnings
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
SCRIPTS = sorted((ROOT / "examples").glob("*.py"))
QUICK = {"alpha_path", "known_labels", "projection_index", "text_topics"}
PARAMETERS = [pytest.param(path, marks=[] if path.stem in QUICK else [pytest.mark.slow]) for path in SCRIPTS]


IMAGES = ROOT / "docs" / "images"


def read_table(name):
    """Return a table of docs/draw_images.py."""
    tree = ast.parse((ROOT / "docs" / "draw_images.py").read_text(encoding="utf-8"))
    table = next(node for node in tree.body if isinstance(node, ast.Assign) and node.targets[0].id == name)
    return ast.literal_eval(table.value)


def blur(picture):
    """Return the mean brightness in the cells of a grid, which hardly depends on fonts."""
    grey = picture[..., :3].mean(axis=2)
    parts = [np.array_split(rows, 30, axis=1) for rows in np.array_split(grey, 20)]
    return np.array([[part.mean() for part in row] for row in parts])


def test_the_gallery_has_at_least_fifteen_scripts():
    assert len(SCRIPTS) >= 15
    assert {path.stem for path in SCRIPTS} >= QUICK | set(read_table("FIGURES"))


def test_every_picture_of_the_documentation_has_an_origin():
    tables = [*read_table("FIGURES").values(), *read_table("OTHERS").values()]
    drawn = [name for names in tables for name in names] + read_table("DISPLAYS") + read_table("REPORTS") + ["speed"]
    drawn += [f"{name}_dark" for name in read_table("DARK")]
    assert sorted(drawn) == sorted(path.stem for path in IMAGES.glob("*.png"))


@pytest.mark.parametrize("script", PARAMETERS, ids=lambda path: path.stem)
def test_script_draws_a_picture_without_warnings(script, monkeypatch, tmp_path):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    plt.close("all")
    shown = []
    monkeypatch.setattr(plt, "show", lambda: shown.append(len(plt.get_fignums())))
    monkeypatch.setattr(sys, "argv", [str(script)])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", DeprecationWarning)  # of libraries
        runpy.run_path(str(script), run_name="__main__")
    assert shown
    assert min(shown) >= 1
    names = read_table("FIGURES").get(script.stem, [])
    for number, name in zip(plt.get_fignums() if names else [], names, strict=True):
        figure = plt.figure(number)
        figure.savefig(drawn := tmp_path / "figure.png", dpi=110)
        pictures = [plt.imread(path) for path in (drawn, IMAGES / f"{name}.png")]
        assert np.abs(np.subtract(*map(blur, pictures))).max() < 0.1, f"{name}.png is old: run docs/draw_images.py"
    plt.close("all")
