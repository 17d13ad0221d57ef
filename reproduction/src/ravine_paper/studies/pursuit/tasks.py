"""Directions that the figures on the pursuit show."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine import Hyperplane, MinimumDensityHyperplane, NoSplitWarning, paper_settings
from ravine_paper._typing import Array
from ravine_paper.datasets import load
from ravine_paper.studies.engine.errors import translate_data_errors

__all__ = ["Panel", "make_alpha_panels", "make_evolution_panels"]


@dataclass(frozen=True)
class Panel:
    """Direction in one panel of a figure, with the hyperplane that MDP² found there.

    Attributes
    ----------
    title : str
    X : ndarray of shape (n, d)
        Standardised rows.
    y : ndarray of shape (n,)
        Classes.
    normal : ndarray of shape (d,)
    alpha, bandwidth : float
    offset : float or None
        None before the pursuit has started.
    """

    title: str
    X: Array
    y: Any
    normal: Array
    alpha: float
    bandwidth: float
    offset: float | None = None


def make_alpha_panels(folder: str | None) -> list[Panel]:
    """Return three cases in which a single value of alpha fails."""
    cases = (
        ("(a) α too large: few rows are cut off", "optidigits", 2.0, 1),
        ("(b) α too small: a lower valley lies outside F(v)", "image_seg", 0.3, 0),
        ("(c) α too small: not a minimiser of the density", "seeds", 0.1, 0),
    )
    panels = []
    for title, name, alpha, component in cases:
        X, y = _load(name, folder)
        plane = _pursue(X, _find_component(X, component), alpha, max_iter=100)
        above = X @ plane.normal > plane.offset
        caption = f"{title}\n{name}, {int(np.sum(above))} and {int(np.sum(~above))} rows, α = {alpha:g}"
        panels.append(Panel(caption, X, y, plane.normal, alpha, plane.bandwidth, plane.offset))
    return panels


def make_evolution_panels(folder: str | None) -> list[Panel]:
    """Return four stages of the pursuit on optidigits, from the second principal component."""
    X, y = _load("optidigits", folder)
    start, first_alpha = _find_component(X, 1), 0.01
    last = _fit(X, start).hyperplane_
    panels = [Panel("(a) second principal component", X, y, start, first_alpha, last.bandwidth)]
    for letter, iterations in zip("bc", (5, 25), strict=True):
        plane = _pursue(X, start, first_alpha, max_iter=iterations)
        title = f"({letter}) after {iterations} iterations with α = {first_alpha}"
        panels.append(Panel(title, X, y, plane.normal, first_alpha, plane.bandwidth, plane.offset))
    sign = 1.0 if last.normal @ panels[-1].normal >= 0 else -1.0  # the same orientation in all panels
    title = f"(d) at the end, α = {last.alpha:.2g}"
    return [*panels, Panel(title, X, y, sign * last.normal, last.alpha, last.bandwidth, sign * last.offset)]


def _load(name: str, folder: str | None) -> tuple[Array, Any]:
    with translate_data_errors():
        loaded = load(name, folder).standardised()
    return loaded.data, loaded.target


def _find_component(X: Array, k: int) -> Array:
    """Return a principal component, counted from 0."""
    component: Array = np.linalg.eigh(np.cov(X, rowvar=False))[1][:, -1 - k]
    return np.asarray(component * np.sign(component[np.argmax(np.abs(component))]))


def _fit(X: Array, start: Array, **settings: Any) -> MinimumDensityHyperplane:
    """Fit with the paper's settings from one start."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", NoSplitWarning)
        estimator = MinimumDensityHyperplane(**paper_settings("clustering"))
        estimator.set_params(init=start[None], **settings)
        return estimator.fit(X)


def _pursue(X: Array, start: Array, alpha: float, max_iter: int) -> Hyperplane:
    """Return the hyperplane that the pursuit reaches from a start with a single value of alpha."""
    settings = {"path__alpha_min": alpha, "path__n_alpha": 1, "path__max_iter": max_iter}
    (step,) = _fit(X, start, alpha_max=alpha, **settings).path_
    return step.hyperplane
