"""The paper's two figures on the pursuit itself: the choice of alpha, and how the projection evolves."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ravine._typing import Array
from ravine.datasets import DatasetError, load
from ravine.estimators import MinimumDensityHyperplane, NoSplitWarning, PathStep, paper_settings
from ravine.plotting import HyperplaneDisplay
from ravine.studies.errors import StudyError
from ravine.studies.figures import INK, new_figure, save

__all__ = ["Panel", "alpha_panels", "draw_alpha", "draw_evolution"]


@dataclass(frozen=True)
class Panel:
    """One picture of a direction: its rows, their classes, and what MDP² made of it."""

    title: str
    X: Array
    y: Any
    normal: Array
    alpha: float
    bandwidth: float
    offset: float | None = None


def draw_alpha(out: str | os.PathLike[str], *, folder: str | None = None) -> Path:
    """Draw what goes wrong with a single value of alpha, in the paper's three ways.

    The paper does not name its data; ours are sets on which the three cases were found, among fixed values of alpha
    and starts at the first two principal components.

    Parameters
    ----------
    out : path-like
        Folder for ``alpha.png``, made if it is not there.
    folder : str, optional
        With the data sets.

    Returns
    -------
    Path
    """
    return _draw(alpha_panels(folder), Path(out), "alpha.png", n_columns=3)


def alpha_panels(folder: str | None) -> list[Panel]:
    """The three cases of `draw_alpha`."""
    cases = (
        ("(a) α too large: few rows are cut off", "optidigits", 2.0, 1),
        ("(b) α too small: a lower valley lies beyond F(v)", "image_seg", 0.3, 0),
        ("(c) α too small: no minimiser of the density", "seeds", 0.1, 0),
    )
    panels = []
    for title, name, alpha, component in cases:
        X, y = _data(name, folder)
        (step,) = _steps(X, _component(X, component), alpha, max_iter=100)
        plane = step.hyperplane
        caption = f"{title}\n{name}, {int(np.sum(X @ plane.normal > plane.offset))} and "
        caption += f"{int(np.sum(X @ plane.normal <= plane.offset))} rows, α = {alpha:g}"
        panels.append(Panel(caption, X, y, plane.normal, alpha, plane.bandwidth, plane.offset))
    return panels


def draw_evolution(out: str | os.PathLike[str], *, folder: str | None = None) -> Path:
    """Draw how the projection of optidigits evolves from the second principal component.

    Parameters
    ----------
    out : path-like
        Folder for ``evolution.png``, made if it is not there.
    folder : str, optional
        With the data sets.

    Returns
    -------
    Path
    """
    X, y = _data("optidigits", folder)
    start, first_alpha = _component(X, 1), 0.01
    settings = {**paper_settings("clustering"), "init": start[None]}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSplitWarning)
        last = MinimumDensityHyperplane(**settings).fit(X).hyperplane_
    panels = [Panel("(a) second principal component", X, y, start, first_alpha, last.bandwidth)]
    for letter, iterations in zip("bc", (5, 25), strict=True):
        (step,) = _steps(X, start, first_alpha, max_iter=iterations)
        title = f"({letter}) after {iterations} iterations with α = {first_alpha}"
        plane = step.hyperplane
        panels.append(Panel(title, X, y, plane.normal, first_alpha, plane.bandwidth, plane.offset))
    sign = 1.0 if last.normal @ panels[-1].normal >= 0 else -1.0  # so that the panels can be compared
    title = f"(d) at the end, α = {last.alpha:.2g}"
    panels.append(Panel(title, X, y, sign * last.normal, last.alpha, last.bandwidth, sign * last.offset))
    return _draw(panels, Path(out), "evolution.png", n_columns=2)


def _data(name: str, folder: str | None) -> tuple[Array, Any]:
    try:
        loaded = load(name, folder).standardised()
    except DatasetError as error:
        raise StudyError(str(error)) from error
    return loaded.data, loaded.target


def _component(X: Array, k: int) -> Array:
    """A principal component, counted from 0."""
    component: Array = np.linalg.eigh(np.cov(X, rowvar=False))[1][:, -1 - k]
    return np.asarray(component * np.sign(component[np.argmax(np.abs(component))]))


def _steps(X: Array, start: Array, alpha: float, max_iter: int) -> tuple[PathStep, ...]:
    """Where the pursuit gets from a start with a single value of alpha."""
    settings = {**paper_settings("clustering"), "alpha_min": alpha, "alpha_max": alpha, "n_alpha": 1}
    model = MinimumDensityHyperplane(**{**settings, "init": start[None], "max_iter": max_iter})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSplitWarning)
        return tuple(model.fit(X).path_)


def _draw(panels: Sequence[Panel], out: Path, name: str, n_columns: int) -> Path:
    n_rows = -(-len(panels) // n_columns)
    figure = new_figure(figsize=(6.4 * n_columns, 5.2 * n_rows))
    for axes, panel in zip(np.ravel(figure.subplots(n_rows, n_columns)), panels, strict=True):
        display = HyperplaneDisplay.from_direction(
            panel.X, panel.normal, panel.offset, panel.y, alpha=panel.alpha, bandwidth=panel.bandwidth, ax=axes,
            layout="overlaid", title="", max_rows=len(panel.X),
        )  # fmt: skip
        depth = display.relative_depth
        words = f"relative depth {depth:.2f}" if depth > 0 else "not between two modes"
        axes.set_title(f"{panel.title}; {words}", loc="left", fontsize=10, color=INK)
    try:
        out.mkdir(parents=True, exist_ok=True)
        save(figure, out / name)
    except OSError as error:
        raise StudyError(f"Cannot write {out / name}: {error.strerror}. Choose another --out.") from error
    return out / name
