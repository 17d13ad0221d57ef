"""
The search, step by step
========================

The paper's Figure 2, for other data. The hyperplane must pass near the mean at first.
The interval of allowed offsets widens with α, and both direction and offset follow the
lowest density.
"""

# %%
# A large long cluster and a small one. One start, along the long axis, and eight values
# of α.

import matplotlib.pyplot as plt
import numpy as np

from ravine import MinimumDensityHyperplane, PathSettings, ProjectedDensity

rng = np.random.default_rng(3)
large = rng.standard_normal((420, 2)) * [2.2, 1.0]
small = rng.standard_normal((110, 2)) * [0.9, 0.45] + [2.0, 4.0]
X = np.concatenate([large, small])
mdh = MinimumDensityHyperplane(
    init=np.array([[1.0, 0.2]]),
    alpha_max=1.5,
    random_state=0,
    path=PathSettings(n_alpha=8),
).fit(X)
for step in mdh.path_:
    plane = step.hyperplane
    angle = np.degrees(np.arctan2(*plane.normal[::-1]))
    print(f"α = {plane.alpha:.2f}: density {plane.density:.4f}, normal at {angle:.0f}°")

# %%
# Rows with the hyperplane and the strip of allowed offsets; below, the density along
# the direction.

shown = [mdh.path_[k].hyperplane for k in (0, 1, 2, 7)]
figure, panels = plt.subplots(
    2, 4, figsize=(11.5, 5.4), layout="constrained", height_ratios=[1.6, 1]
)
for (top, bottom), plane in zip(panels.T, shown, strict=True):
    v, p = plane.normal, X @ plane.normal
    ends = np.outer([-20, 20], [-v[1], v[0]])
    low, high = p.mean() - plane.alpha * p.std(), p.mean() + plane.alpha * p.std()
    top.fill(
        *np.concatenate([low * v + ends, high * v + ends[::-1]]).T,
        color="#e69f00",
        alpha=0.18,
        lw=0,
    )
    top.scatter(*X.T, s=5, c=np.where(p > plane.offset, "#0072b2", "#777777"), lw=0)
    top.plot(*(plane.offset * v + ends).T, color="#333333", lw=1.8)
    top.set(xlim=(-7.5, 7.5), ylim=(-4.5, 6.5), aspect="equal", xticks=[], yticks=[])
    top.set_title(f"α = {plane.alpha:.2f}", loc="left", fontsize=11)
    b = np.linspace(p.min() - 1, p.max() + 1, 300)
    bottom.plot(b, ProjectedDensity(p, plane.bandwidth)(b), color="#333333", lw=1.6)
    bottom.axvspan(low, high, color="#e69f00", alpha=0.18, lw=0)
    bottom.axvline(plane.offset, color="#333333", lw=1.2, ls="--")
    bottom.set(yticks=[], ylim=(0, None), xlabel=f"density on it: {plane.density:.3f}")
    bottom.spines[["top", "right", "left"]].set_visible(False)
plt.show()
