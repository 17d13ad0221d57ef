"""One split of handwritten digits
===============================

Split scikit-learn's handwritten digits in two and draw everything that describes the split.

python examples/first_split.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityHyperplane, ProjectedDensity

matplotlib.use("Agg")
import matplotlib.pyplot as plt

SIDES, INK = ("#0072b2", "#e69f00"), "#333333"


def find_widest_direction(X: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Find the direction of largest variance that is orthogonal to the normal."""
    centred = X - X.mean(axis=0)
    centred -= np.outer(centred @ normal, normal)
    return np.linalg.svd(centred, full_matrices=False)[2][0]


def draw_direction(axes: plt.Axes, normal: np.ndarray) -> None:
    """Draw the normal as an image: one weight per pixel."""
    scale = np.abs(normal).max()
    axes.imshow(normal.reshape(8, 8), cmap="PuOr_r", vmin=-scale, vmax=scale)
    axes.set(xticks=[], yticks=[])
    axes.set_title("Direction: weight of each pixel", fontsize=11)


def draw_density(axes: plt.Axes, mdh: MinimumDensityHyperplane, p: np.ndarray) -> None:
    """Draw the projected density with the valley, its depth and its P-value."""
    plane = mdh.hyperplane_
    b = np.linspace(p.min() - 2.0 * plane.bandwidth, p.max() + 2.0 * plane.bandwidth, 600)
    density = ProjectedDensity(p, plane.bandwidth)
    axes.plot(b, density(b), color=INK, lw=1.8)
    for side, colour in zip((b <= plane.offset, b > plane.offset), SIDES, strict=True):
        axes.fill_between(b[side], density(b[side]), color=colour, alpha=0.25, lw=0)
    axes.plot(plane.offset, plane.density, "o", mfc="white", mec=INK, ms=9)
    modes = np.asarray(density.modes())
    mode = min(density(modes[modes < plane.offset].max()), density(modes[modes > plane.offset].min()))
    axes.annotate(
        "", (plane.offset, mode), (plane.offset, plane.density), arrowprops={"arrowstyle": "<->", "color": INK}
    )
    axes.axhline(mode, color=INK, lw=0.8, ls=":")
    axes.text(
        0.99,
        0.96,
        f"relative depth {plane.relative_depth:.1f}: the lower mode is\n"
        f"{1.0 + plane.relative_depth:.1f} times as dense as the cut\n"
        f"P = {mdh.pvalue_:.0e}: valley test on held-out rows",
        transform=axes.transAxes,
        ha="right",
        va="top",
        color=INK,
    )
    axes.set(ylabel="projected density", ylim=(0.0, None), title="Density along the direction, cut at its lowest point")


def draw_rows(axes: plt.Axes, p: np.ndarray, q: np.ndarray, digits: np.ndarray, labels: np.ndarray) -> None:
    """Draw every row as the digit that it shows."""
    for digit in range(10):
        for side in (0, 1):
            rows = (digits == digit) & (labels == side)
            axes.scatter(p[rows], q[rows], marker=f"${digit}$", s=26, c=SIDES[side], lw=0)
    axes.set(
        xlabel="projection on the direction", ylabel="widest direction across it", title="Rows: the digits they show"
    )


def draw_mean(axes: plt.Axes, images: np.ndarray, side: int) -> None:
    """Draw the mean image of one side."""
    axes.imshow(images.mean(axis=0), cmap="gray_r")
    axes.set(xticks=[], yticks=[], xlabel=f"{len(images)} rows")
    axes.set_title(f"Mean of side {side}", color=SIDES[side], fontsize=11)
    axes.spines[:].set_color(SIDES[side])


def main() -> None:
    """Fit and test the hyperplane and draw the picture."""
    digits = load_digits()
    X = StandardScaler().fit_transform(digits.data)
    mdh = MinimumDensityHyperplane(test=True, random_state=0).fit(X)
    p = X @ mdh.hyperplane_.normal
    q = X @ find_widest_direction(X, mdh.hyperplane_.normal)

    figure = plt.figure(figsize=(10.0, 6.2), layout="constrained")
    grid = figure.add_gridspec(2, 2, width_ratios=[1, 2.6], height_ratios=[1, 1.25])
    top = figure.add_subplot(grid[0, 1])
    bottom = figure.add_subplot(grid[1, 1], sharex=top)
    draw_direction(figure.add_subplot(grid[0, 0]), mdh.hyperplane_.normal)
    draw_density(top, mdh, p)
    draw_rows(bottom, p, q, digits.target, mdh.labels_)
    for side, cell in enumerate(grid[1, 0].subgridspec(1, 2)):
        draw_mean(figure.add_subplot(cell), digits.images[mdh.labels_ == side], side)
    for axes in (top, bottom):
        axes.axvline(mdh.hyperplane_.offset, color=INK, lw=1.2, ls="--", zorder=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.title.set(ha="left", x=0.0, fontsize=11)
    path = Path(sys.argv[1] if len(sys.argv) > 1 else "out") / "first_split.png"
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    print(f"picture: {path}")


if __name__ == "__main__":
    main()
