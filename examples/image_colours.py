"""
The colours of a photograph
===========================

Every pixel is a row of three numbers. A tree divides 273,280 pixels into seven clusters
of colours, and each cluster is painted with its mean. A sample of the pixels proposes
the clusters; all pixels place the hyperplanes between them.
"""

# %%
# Work in the colour space CIELAB, where distances resemble those that we see. A little
# noise spreads the 8-bit values.

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_sample_image

from ravine import MinimumDensityTree

photo = load_sample_image("flower.jpg") / 255.0


def to_lab(rgb):
    """Convert sRGB to CIELAB."""
    linear = np.where(rgb > 0.04045, ((rgb + 0.055) / 1.055) ** 2.4, rgb / 12.92)
    matrix = np.array(
        [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]]
    )
    xyz = linear @ matrix.T / [0.9505, 1.0, 1.089]
    f = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.stack(
        [
            116 * f[..., 1] - 16,
            500 * (f[..., 0] - f[..., 1]),
            200 * (f[..., 1] - f[..., 2]),
        ],
        axis=-1,
    )


rng = np.random.default_rng(0)
lab = to_lab(
    np.clip(photo + rng.uniform(-0.5, 0.5, photo.shape) / 255.0, 0.0, 1.0)
).reshape(-1, 3)
start = perf_counter()
mdt = MinimumDensityTree(7, random_state=0).fit(lab)
print(f"{len(lab)} pixels in {perf_counter() - start:.1f} s")

# %%
# The photograph, its clusters, and the clusters in the plane of lightness and yellow
# against blue.

means = np.array(
    [
        photo.reshape(-1, 3)[mdt.labels_ == k].mean(axis=0)
        for k in range(mdt.n_clusters_)
    ]
)
painted = means[mdt.labels_].reshape(photo.shape)
figure = plt.figure(figsize=(10.0, 6.4), layout="constrained")
grid = figure.add_gridspec(2, 2, height_ratios=[1.25, 1])
for place, picture, title in (
    (0, photo, "All colours"),
    (1, painted, f"{mdt.n_clusters_} colours"),
):
    axes = figure.add_subplot(grid[0, place])
    axes.imshow(picture)
    axes.set_title(title, loc="left", fontsize=11)
    axes.set_axis_off()
axes = figure.add_subplot(grid[1, 0])
some = rng.choice(len(lab), 12_000, replace=False)
axes.scatter(lab[some, 2], lab[some, 0], s=2, c=means[mdt.labels_[some]], lw=0)
axes.set(xlabel="b* (blue to yellow)", ylabel="L* (dark to light)", facecolor="#f2f2f2")
axes.spines[:].set_visible(False)
axes = figure.add_subplot(grid[1, 1])
share = np.bincount(mdt.labels_) / len(lab)
order = np.argsort(-share)
axes.barh(
    range(len(order)),
    100 * share[order],
    color=means[order],
    edgecolor="#888888",
    lw=0.5,
)
axes.set(xlabel="% of the pixels", yticks=[])
axes.invert_yaxis()
axes.spines[["top", "right", "left"]].set_visible(False)
plt.show()
