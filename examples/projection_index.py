"""
The index that is minimised
===========================

In the plane a direction is an angle, so that the projection index φ can be drawn: the
density at the best offset, for every direction. The minimum density hyperplane is its
lowest point.
"""

# %%
# Three clusters, and the index for 720 directions.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_blobs

from ravine import MinimumDensityHyperplane, ProjectedDensity

X, _ = make_blobs(
    [160, 140, 100], centers=[[-3, -1], [3, -1.5], [0.5, 3]], random_state=1
)
mdh = MinimumDensityHyperplane(random_state=0, alpha_max=0.9).fit(X)
h = mdh.hyperplane_.bandwidth
angles = np.linspace(0.0, np.pi, 721)
directions = np.c_[np.cos(angles), np.sin(angles)]
index, offsets = np.empty(len(angles)), np.empty(len(angles))
for k, v in enumerate(directions):
    p = X @ v
    b = np.linspace(p.mean() - 0.9 * p.std(), p.mean() + 0.9 * p.std(), 400)
    values = ProjectedDensity(p, h)(b)
    index[k], offsets[k] = values.min(), b[values.argmin()]

# %%
# Right: the index, and the density along the direction as colour. Kinks are where the
# best offset jumps from one valley to another.

found = np.arctan2(mdh.hyperplane_.normal[1], mdh.hyperplane_.normal[0]) % np.pi
figure, (left, right) = plt.subplots(
    1, 2, figsize=(11.0, 4.6), layout="constrained", width_ratios=[1, 1.3]
)
left.scatter(*X.T, s=8, c=np.array(["#0072b2", "#e69f00"])[mdh.labels_], lw=0)
normal, offset = mdh.hyperplane_.normal, mdh.hyperplane_.offset
ends = offset * normal + np.outer([-9, 9], [-normal[1], normal[0]])
left.plot(*ends.T, color="#333333", lw=1.8)
left.annotate(
    "",
    offset * normal + 2.2 * normal,
    offset * normal,
    arrowprops={"arrowstyle": "->", "lw": 1.6},
)
left.text(*(offset * normal + 2.4 * normal), "v")
left.set(aspect="equal", xlim=(-6, 6), ylim=(-5, 6), xticks=[], yticks=[])
left.set_title("Rows and the hyperplane", loc="left", fontsize=11)
grid = np.linspace(-4, 4, 200)
image = np.array(
    [ProjectedDensity(X @ v - (X @ v).mean(), h)(grid) for v in directions]
)
right.pcolormesh(
    np.degrees(angles), grid, image.T, cmap="Blues", shading="nearest", rasterized=True
)
centred = offsets - directions @ X.mean(axis=0)
right.plot(
    np.degrees(angles), centred, ".", color="#d55e00", ms=2.5, label="best offset"
)
right.axvline(np.degrees(found), color="#333333", ls="--", lw=1.2)
right.set(xlabel="angle of the direction v (degrees)", ylabel="offset from the mean")
right.legend(loc="upper left", frameon=True)
over = right.twinx()
over.plot(np.degrees(angles), index, color="#333333", lw=1.6)
over.set(ylabel="index φ(v) (black)", ylim=(0, 2.2 * index.max()))
right.set_title("Density along every direction, and the index", loc="left", fontsize=11)
plt.show()
