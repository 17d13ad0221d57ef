"""Figures on the pursuit, from data to files."""

from __future__ import annotations

import os
from pathlib import Path

from ravine_paper.studies.pursuit.figures import draw_panels
from ravine_paper.studies.pursuit.tasks import make_alpha_panels, make_evolution_panels

__all__ = ["draw_alpha", "draw_evolution"]


def draw_alpha(out: str | os.PathLike[str], *, folder: str | None = None) -> Path:
    """Draw the three ways in which a single value of alpha fails.

    The paper does not name the data of its figure. We searched fixed values of alpha, from the first two principal
    components, for sets that show the three cases.

    Parameters
    ----------
    out : path-like
        Folder for ``alpha.png``, created if it does not exist.
    folder : str, optional
        Folder of the data sets, as for `ravine_paper.datasets.load`.

    Returns
    -------
    Path

    Raises
    ------
    StudyError
        If data are missing or damaged, or the folder cannot be used.
    """
    return draw_panels(make_alpha_panels(folder), Path(out) / "alpha.png", n_columns=3)


def draw_evolution(out: str | os.PathLike[str], *, folder: str | None = None) -> Path:
    """Draw the evolution of the projection of optidigits from the second principal component.

    Parameters
    ----------
    out : path-like
        Folder for ``evolution.png``, created if it does not exist.
    folder : str, optional
        Folder of the data sets, as for `ravine_paper.datasets.load`.

    Returns
    -------
    Path

    Raises
    ------
    StudyError
        If data are missing or damaged, or the folder cannot be used.
    """
    return draw_panels(make_evolution_panels(folder), Path(out) / "evolution.png", n_columns=2)
