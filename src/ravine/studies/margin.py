"""The two-dimensional figure of convergence: from minimum density to maximum margin."""

from __future__ import annotations

import csv
import io
import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ravine._files import write_text
from ravine._typing import Array
from ravine.estimators import BandwidthPath, MaximumMarginHyperplane, bandwidth_path
from ravine.hyperplane import Hyperplane
from ravine.optimise import measure_angle
from ravine.studies.errors import StudyError
from ravine.studies.figures import HIGHLIGHT, INK, MEAN, new_figure, save
from ravine.studies.study import Study

__all__ = ["Road", "gap_rows", "run_margin", "take_road", "widest_gap"]

# As in the paper: two Gaussians of equal covariance on both sides of the hyperplane with the normal (1, -1) through 0,
# and no row within a narrow band about another hyperplane.
N_EACH = 250
BAND, TILT, SHIFT = 0.1, math.radians(15.0), 0.15
# Half-width of the interval of offsets, for both.
ALPHA = 0.9
N_BANDWIDTHS = 25
# Bandwidths whose hyperplanes are drawn.
DRAWN = (0, 1, 2, 4, 6)
N_ANGLES = 3600


def gap_rows(seed: int = 0) -> Array:
    """Rows of the mixture without those in the band."""
    rng = np.random.default_rng(seed)
    across, along = np.array([1.0, -1.0]) / math.sqrt(2.0), np.array([1.0, 1.0]) / math.sqrt(2.0)
    centres = np.repeat([-1.4, 1.4], N_EACH)
    rows = np.multiply.outer(centres + 0.7 * rng.standard_normal(2 * N_EACH), across)
    rows += np.multiply.outer(1.2 * rng.standard_normal(2 * N_EACH), along)
    normal = math.cos(TILT) * across + math.sin(TILT) * along
    return np.asarray(rows[np.abs(rows @ normal - SHIFT) > BAND])


def widest_gap(X: Array, alpha: float = ALPHA, n_angles: int = N_ANGLES) -> tuple[float, Array, float]:
    """The largest margin of a scan over all directions of the plane, with its normal and offset."""
    best = (0.0, np.array([1.0, 0.0]), 0.0)
    for angle in math.pi * np.arange(n_angles) / n_angles:
        v = np.array([math.cos(angle), math.sin(angle)])
        p = np.sort(X @ v)
        mean, half = p.mean(), alpha * p.std()
        b = np.clip(0.5 * (p[:-1] + p[1:]), mean - half, mean + half)
        margins = np.minimum(b - p[:-1], p[1:] - b)
        k = int(np.argmax(margins))
        if margins[k] > best[0]:
            best = float(margins[k]), v, float(b[k])
    return best


@dataclass(frozen=True, eq=False)
class Road:
    """What the figure shows.

    Attributes
    ----------
    X : ndarray of shape (n, 2)
    path : BandwidthPath
    limit : MaximumMarginHyperplane
    widest : float
        The largest margin of the scan.
    """

    X: Array
    path: BandwidthPath
    limit: MaximumMarginHyperplane
    widest: float

    @property
    def degrees(self) -> Array:
        """Angles to the maximum margin hyperplane."""
        return np.array([_degrees(step.hyperplane.normal, self.limit.hyperplane_.normal) for step in self.path.steps])


def take_road(seed: int = 0, n_bandwidths: int = N_BANDWIDTHS) -> Road:
    """Follow the minimum density hyperplane of the made-up rows to the end, and find the maximum margin by itself."""
    X = gap_rows(seed)
    path = bandwidth_path(X, n_bandwidths=n_bandwidths, alpha_max=ALPHA)
    return Road(X, path, MaximumMarginHyperplane(alpha=ALPHA, n_bandwidths=n_bandwidths).fit(X), widest_gap(X)[0])


def run_margin(out: str | os.PathLike[str], *, seed: int = 0) -> Study:
    """Draw how the minimum density hyperplane becomes the one of maximum margin as the bandwidth shrinks.

    Parameters
    ----------
    out : path-like
        Folder for ``margin.png`` and ``path.csv``, made if it is not there.
    seed : int, default=0
        Of the rows, which are made up.

    Returns
    -------
    Study
        Its table says where the road ends.

    Raises
    ------
    StudyError
        If the folder cannot be used.
    """
    folder = Path(out)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        road = take_road(seed)
        write_text(folder / "path.csv", path_csv(road))
        _draw(road, folder / "margin.png")
    except OSError as error:
        raise StudyError(f"Cannot write {error.filename or folder}: {error.strerror}. Choose another --out.") from error
    return Study(_words(road), (folder / "path.csv", folder / "margin.png"))


def path_csv(road: Road) -> str:
    """One line for each bandwidth."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["bandwidth", "margin", "degrees_to_maximum_margin", "log_density", "support", "same_partition"])
    for step, degrees in zip(road.path.steps, road.degrees, strict=True):
        numbers = (step.bandwidth, step.margin, degrees, step.log_density)
        writer.writerow([*(f"{x:.6g}" for x in numbers), len(step.support), step.same_partition])
    return out.getvalue()


def _words(road: Road) -> str:
    steps, limit = road.path.steps, road.limit
    return "\n".join(
        [
            f"rows                      {len(road.X)}",
            f"bandwidths                {steps[0].bandwidth:.3g} to {steps[-1].bandwidth:.3g}",
            f"margin                    {steps[0].margin:.4f} to {steps[-1].margin:.6f}",
            f"maximum margin            {limit.margin_:.6f} (scan over {N_ANGLES} directions: {road.widest:.6f})",
            f"angle between the two     {road.degrees[0]:.2f}° to {road.degrees[-1]:.2g}°",
            f"same partition from h =   {road.path.settled:.3g} on",
            f"support points            {len(limit.support_)}",
        ]
    )


def _degrees(a: Array, c: Array) -> float:
    """Between two lines, exact also where it is tiny."""
    return math.degrees(measure_angle(a, c if float(a @ c) >= 0.0 else -c))


# ----------------------------------------------------------------------------------------------- picture


def _draw(road: Road, path: Path) -> None:
    from matplotlib import colormaps

    figure = new_figure(figsize=(13.0, 4.9))
    panels = figure.subplot_mosaic(
        [["whole", "near", "margin"], ["whole", "near", "degrees"]], width_ratios=[1.0, 1.0, 1.05]
    )
    drawn = [k for k in DRAWN if k < len(road.path.steps)]
    colours = {k: colormaps["plasma_r"](0.12 + 0.8 * i / max(len(drawn) - 1, 1)) for i, k in enumerate(drawn)}
    _draw_plane(panels["whole"], road, colours, np.zeros(2), 4.0, detail=False)
    support = road.X[road.limit.support_]
    _draw_plane(panels["near"], road, colours, support.mean(axis=0), 1.15, detail=True)
    panels["whole"].set_title("Minimum density hyperplanes, wide to narrow", loc="left", fontsize=10, color=INK)
    panels["near"].set_title("The same near the gap", loc="left", fontsize=10, color=INK)
    handles, labels = panels["whole"].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(handles), frameon=False, fontsize=8.5)
    h = road.path.bandwidths
    _draw_course(panels["margin"], h, road.path.margins, colours)
    panels["margin"].axhline(road.limit.margin_, color=INK, lw=1.0, ls="--")
    panels["margin"].set_ylabel("margin")
    panels["margin"].set_ylim(0.0, 1.15 * road.limit.margin_)
    panels["margin"].tick_params(labelbottom=False)
    _draw_course(panels["degrees"], h, np.maximum(road.degrees, 1e-12), colours)
    panels["degrees"].set(yscale="log", ylabel="angle to it (°)", xlabel="bandwidth h")
    panels["margin"].set_title("Margin, and angle to maximum margin", loc="left", fontsize=10, color=INK)
    save(figure, path)


def _draw_plane(axes: Any, road: Road, colours: dict[int, Any], centre: Array, reach: float, detail: bool) -> None:
    plane = road.limit.hyperplane_
    side = plane.side(road.X) == 1
    for rows, colour, marker in ((road.X[side], HIGHLIGHT, "o"), (road.X[~side], MEAN, "^")):
        axes.scatter(*rows.T, s=26 if detail else 9, color=colour, alpha=0.55, lw=0, marker=marker, zorder=2)
    long = 4.0 * reach
    ends = _line(plane, centre, long)
    band = plane.normal[:, None] * road.limit.margin_
    corners = np.concatenate([(ends + band).T, (ends - band).T[::-1]])
    axes.fill(*corners.T, color="#dddddd", alpha=0.7, lw=0, zorder=1)
    for k, colour in colours.items():
        step = road.path.steps[k]
        axes.plot(
            *_line(step.hyperplane, centre, long), color=colour, lw=1.8, zorder=3, label=f"h = {step.bandwidth:.2g}"
        )
    axes.plot(*ends, color=INK, lw=1.6, ls=(0, (5, 3)), zorder=4, label="maximum margin")
    support = road.X[road.limit.support_]
    axes.scatter(*support.T, s=150 if detail else 60, facecolor="none", edgecolor=INK, lw=1.3, zorder=5,
                 label=f"{len(support)} support points")  # fmt: skip
    axes.set(xlim=centre[0] + np.array([-reach, reach]), ylim=centre[1] + np.array([-reach, reach]), aspect="equal")
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_color("#bbbbbb")


def _line(plane: Hyperplane, centre: Array, long: float) -> Array:
    """Two points of a line, as columns, on both sides of a centre."""
    foot = centre - (float(plane.normal @ centre) - plane.offset) * plane.normal
    along = np.array([-plane.normal[1], plane.normal[0]])
    return np.asarray(foot[:, None] + along[:, None] * np.array([-long, long]))


def _draw_course(axes: Any, h: Array, values: Array, colours: dict[int, Any]) -> None:
    axes.plot(h, values, color="#9a9a9a", lw=1.2, marker=".", ms=5, zorder=2)
    for k, colour in colours.items():
        axes.plot(h[k], values[k], "o", color=colour, ms=7.5, mec="white", mew=0.7, zorder=3)
    axes.set_xscale("log")
    axes.invert_xaxis()
    axes.grid(color="#e5e5e5", lw=0.6)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
