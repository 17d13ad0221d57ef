"""
From minimum density to maximum margin
======================================

As the bandwidth shrinks, the minimum density hyperplane becomes the hyperplane of the
largest margin, which support vector machines know from labels. This is Theorem 5 of the
paper, here without labels.
"""

# %%
# Two clusters from which a tilted narrow band was removed, and hyperplanes for 25
# bandwidths.

import matplotlib.pyplot as plt
import numpy as np

from ravine import MaximumMarginHyperplane, bandwidth_path

rng = np.random.default_rng(1)
X = rng.standard_normal((120, 2))
X[:, 1] += np.repeat([1.6, -1.6], 60)
tilt = np.array([np.sin(0.3), np.cos(0.3)])
X = X[np.abs(X @ tilt - 0.1) > 0.22]
path = bandwidth_path(X, random_state=0, alpha_max=0.9)
mmh = MaximumMarginHyperplane(alpha=0.9, random_state=0).fit(X)
print(f"margin: {path.margins[0]:.4f} at first, {path.margins[-1]:.6f} at last")
print(f"largest margin of all: {mmh.margin_:.6f}")

# %%
# Left: dark lines have small bandwidths. Right: the margin grows to its maximum.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 4.4), layout="constrained", width_ratios=[1.25, 1]
)
left.scatter(*X.T, s=12, color="#777777", lw=0)
for step, colour in zip(
    path.steps,
    plt.colormaps["YlGnBu"](np.linspace(0.3, 1.0, len(path.steps))),
    strict=True,
):
    v, b = step.hyperplane.normal, step.hyperplane.offset
    left.plot(*(b * v + np.outer([-9, 9], [-v[1], v[0]])).T, color=colour, lw=1.4)
v, b = mmh.hyperplane_.normal, mmh.hyperplane_.offset
for shift in (-mmh.margin_, mmh.margin_):
    left.plot(
        *((b + shift) * v + np.outer([-9, 9], [-v[1], v[0]])).T,
        color="#d55e00",
        lw=0.9,
        ls="--",
    )
left.scatter(*X[mmh.support_].T, s=90, facecolors="none", edgecolors="#d55e00", lw=1.6)
left.set(xlim=(-3, 3), ylim=(-3.2, 3.2), xticks=[], yticks=[])
left.set_title("Hyperplanes, and the margin (dashed)", loc="left", fontsize=11)
right.semilogx(path.bandwidths, path.margins, "o-", color="#0072b2", ms=4)
right.axhline(mmh.margin_, color="#d55e00", ls="--", lw=1.2)
right.invert_xaxis()
right.set(xlabel="bandwidth", ylabel="distance to the nearest row")
right.set_title("Margin", loc="left", fontsize=11)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
