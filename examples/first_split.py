"""
One split of handwritten digits
===============================

A minimum density hyperplane splits 1797 handwritten digits in two, without labels.
Everything that describes the split can be drawn: the direction as an image, the density
along it with its valley, the rows, and the mean image of each side.
"""

# %%
# Fit the hyperplane and test the valley on held-out rows.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityHyperplane, ProjectedDensity

digits = load_digits()
X = StandardScaler().fit_transform(digits.data)
mdh = MinimumDensityHyperplane(random_state=0, test="pooled").fit(X)
print(mdh.hyperplane_.report(digits.feature_names))
print(f"P = {mdh.pvalue_:.0e}")

# %%
# Project the rows on the normal, and on the direction of largest variance orthogonal to
# it.

plane = mdh.hyperplane_
p = X @ plane.normal
across = X - X.mean(axis=0)
across -= np.outer(across @ plane.normal, plane.normal)
q = X @ np.linalg.svd(across, full_matrices=False)[2][0]

SIDES, INK = ("#0072b2", "#e69f00"), "#333333"


def draw_density(axes):
    """Draw the projected density with the valley, its depth and its P-value."""
    density = ProjectedDensity(p, plane.bandwidth)
    b = np.linspace(
        p.min() - 2.0 * plane.bandwidth, p.max() + 2.0 * plane.bandwidth, 600
    )
    axes.plot(b, density(b), color=INK, lw=1.8)
    for side, colour in zip((b <= plane.offset, b > plane.offset), SIDES, strict=True):
        axes.fill_between(b[side], density(b[side]), color=colour, alpha=0.25, lw=0)
    modes = np.asarray(density.modes())
    mode = min(
        density(modes[modes < plane.offset].max()),
        density(modes[modes > plane.offset].min()),
    )
    axes.plot(plane.offset, plane.density, "o", mfc="white", mec=INK, ms=9)
    arrow = {"arrowstyle": "<->", "color": INK}
    axes.annotate(
        "", (plane.offset, mode), (plane.offset, plane.density), arrowprops=arrow
    )
    axes.axhline(mode, color=INK, lw=0.8, ls=":")
    text = (
        f"relative depth {plane.relative_depth:.1f}: the lower mode is\n"
        f"{1.0 + plane.relative_depth:.1f} times as dense as the cut\n"
        f"P = {mdh.pvalue_:.0e}: valley test on held-out rows"
    )
    axes.text(
        0.99, 0.96, text, transform=axes.transAxes, ha="right", va="top", color=INK
    )
    axes.set(
        ylabel="projected density",
        ylim=(0.0, None),
        title="Density along the direction, cut at its lowest point",
    )


def draw_rows(axes):
    """Draw every row as the digit that it shows."""
    for digit in range(10):
        for side in (0, 1):
            rows = (digits.target == digit) & (mdh.labels_ == side)
            axes.scatter(
                p[rows], q[rows], marker=f"${digit}$", s=26, c=SIDES[side], lw=0
            )
    axes.set(xlabel="projection on the direction", ylabel="widest direction across it")
    axes.set_title("Rows: the digits they show")


# %%
# The smaller side holds nearly all zeros, fours and sixes, and few others.

figure = plt.figure(figsize=(10.0, 6.2), layout="constrained")
grid = figure.add_gridspec(2, 2, width_ratios=[1, 2.6], height_ratios=[1, 1.25])
image, top = figure.add_subplot(grid[0, 0]), figure.add_subplot(grid[0, 1])
bottom = figure.add_subplot(grid[1, 1], sharex=top)
scale = np.abs(plane.normal).max()
image.imshow(plane.normal.reshape(8, 8), cmap="PuOr_r", vmin=-scale, vmax=scale)
image.set(xticks=[], yticks=[])
image.set_title("Direction: weight of each pixel", fontsize=11)
draw_density(top)
draw_rows(bottom)
for side, cell in enumerate(grid[1, 0].subgridspec(1, 2)):
    axes = figure.add_subplot(cell)
    axes.imshow(digits.images[mdh.labels_ == side].mean(axis=0), cmap="gray_r")
    axes.set(xticks=[], yticks=[], xlabel=f"{np.sum(mdh.labels_ == side)} rows")
    axes.set_title(f"Mean of side {side}", color=SIDES[side], fontsize=11)
    axes.spines[:].set_color(SIDES[side])
for axes in (top, bottom):
    axes.axvline(plane.offset, color=INK, lw=1.2, ls="--", zorder=0)
    axes.spines[["top", "right"]].set_visible(False)
    axes.title.set(ha="left", x=0.0, fontsize=11)
plt.show()
