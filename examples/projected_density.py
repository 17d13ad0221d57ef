"""
The density on a hyperplane
===========================

A hyperplane is a direction v and an offset b. The density integrated over the
hyperplane is the one-dimensional density of the projections v·x at b: one number,
however many features there are. Three directions show why some are better.
"""

# %%
# Two long clusters side by side, and three directions.

import matplotlib.pyplot as plt
import numpy as np

from ravine import MinimumDensityHyperplane, ProjectedDensity

rng = np.random.default_rng(0)
side = np.repeat([1.0, -1.0], 250)
X = rng.standard_normal((500, 2)) * [2.4, 0.5] + side[:, None] * [0.5, 1.9]
mdh = MinimumDensityHyperplane(random_state=0).fit(X)
best = np.arctan2(*mdh.hyperplane_.normal[::-1]) % np.pi
angles = {"a": 0.0, "b": np.pi / 4.0, "c": best}
COLOURS = ("#0072b2", "#e69f00", "#d55e00")

# %%
# Left: for each direction the hyperplane of the lowest density among offsets within one
# standard deviation of the mean. Right: the density of the projections, with that
# lowest point.

h = mdh.hyperplane_.bandwidth
figure, panels = plt.subplot_mosaic(
    [["rows", "a"], ["rows", "b"], ["rows", "c"]],
    figsize=(10.5, 5.4),
    width_ratios=[1.25, 1],
    layout="constrained",
)
panels["rows"].scatter(*X.T, s=8, color="#8a8a8a", lw=0)
for (name, angle), colour in zip(angles.items(), COLOURS, strict=True):
    v = np.array([np.cos(angle), np.sin(angle)])
    p = X @ v
    density = ProjectedDensity(p, h)
    allowed = np.linspace(p.mean() - p.std(), p.mean() + p.std(), 400)
    offset = allowed[np.argmin(density(allowed))]
    ends = offset * v + np.outer([-9, 9], [-v[1], v[0]])
    panels["rows"].plot(*ends.T, color=colour, lw=2.0)
    place = offset * v + {"a": 3.4, "b": -5.2, "c": 6.1}[name] * np.array([-v[1], v[0]])
    panels["rows"].annotate(
        f"({name})", place, color=colour, weight="bold", ha="left", fontsize=12
    )
    b = np.linspace(p.min() - 1, p.max() + 1, 400)
    axes = panels[name]
    axes.axvspan(allowed[0], allowed[-1], color="#eeeeee", lw=0)
    axes.fill_between(b, density(b), color=colour, alpha=0.25, lw=0)
    axes.plot(b, density(b), color=colour, lw=1.6)
    axes.plot(offset, density(offset), "o", mfc="white", mec=colour, ms=8)
    axes.set(ylim=(0, None), yticks=[], xlim=(-8, 8))
    axes.spines[["top", "right", "left"]].set_visible(False)
    axes.set_title(
        f"({name}) density on the hyperplane: {density(offset):.3f}",
        loc="left",
        fontsize=11,
    )
    print(
        f"({name}) direction at {np.degrees(angle):.0f} degrees: "
        f"density {density(offset):.3f} at offset {offset:.2f}"
    )
panels["rows"].set(
    xlim=(-7.5, 7.5), ylim=(-4.5, 4.5), aspect="equal", xticks=[], yticks=[]
)
panels["rows"].set_title("Rows and three hyperplanes", loc="left", fontsize=11)
panels["c"].set_xlabel("projection v·x; grey: allowed offsets")
plt.show()
