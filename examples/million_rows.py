"""
A million rows
==============

A fit takes a subsample first, then a few passes over all rows. The time of a fit grows
with the number of rows, and a file that does not fit into memory is read a handful of
times.
"""

# %%
# Two long clusters in ten dimensions, one direction of which separates them.

import tempfile
from pathlib import Path
from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
from sklearn.cluster import KMeans

from ravine import MinimumDensityHyperplane, RowBlocks


def simulate(n):
    """Simulate two long clusters, three times as long as they are wide."""
    rng = np.random.default_rng(0)
    X = rng.standard_normal((n, 10))
    X[:, :9] *= 3.0
    X[:, 9] += np.where(rng.random(n) < 0.4, 2.5, -2.5)
    return X @ np.linalg.qr(rng.standard_normal((10, 10)))[0]


# %%
# The same call for 1000 rows and for a million, beside KMeans with two clusters.

sizes = (1_000, 10_000, 100_000, 1_000_000)
seconds = {"MinimumDensityHyperplane": [], "KMeans": []}
for n in sizes:
    X = simulate(n)
    models = (
        MinimumDensityHyperplane(random_state=0),
        KMeans(2, n_init=1, random_state=0),
    )
    for name, model in zip(seconds, models, strict=True):
        start = perf_counter()
        model.fit(X)
        seconds[name].append(perf_counter() - start)
    print(
        f"{n:9} rows: "
        + ", ".join(f"{name} {times[-1]:.2f} s" for name, times in seconds.items())
    )
in_memory = models[0]

# %%
# From a file, in chunks: the same hyperplane.

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "rows.npy"
    np.save(path, X)
    rows = RowBlocks(path)
    mdh = MinimumDensityHyperplane(random_state=0).fit(rows)
    print(rows)
    same = abs(mdh.hyperplane_.normal @ in_memory.hyperplane_.normal)
    equal = np.array_equal(mdh.labels_, in_memory.labels_)
    print(f"cosine of the two normals: {same:.12f}; equal labels: {equal}")

# %%
# The clusters overlap in every feature, and a million rows separate cleanly along the
# normal.

figure, (left, middle, right) = plt.subplots(
    1, 3, figsize=(11.0, 3.4), layout="constrained"
)
left.hist(X[:, 0], bins=200, color="#8a8a8a")
left.set_title("A feature", loc="left", fontsize=11)
p = X @ in_memory.hyperplane_.normal
bins = np.linspace(p.min(), p.max(), 200)
for side, colour in enumerate(("#0072b2", "#e69f00")):
    middle.hist(p[in_memory.labels_ == side], bins=bins, color=colour)
middle.axvline(in_memory.hyperplane_.offset, color="#333333", ls="--", lw=1.2)
middle.set_title("The normal of the hyperplane", loc="left", fontsize=11)
for (name, times), colour in zip(seconds.items(), ("#0072b2", "#8a8a8a"), strict=True):
    right.loglog(sizes, times, "o-", color=colour, label=name)
right.legend(frameon=False)
right.set(xlabel="rows", ylabel="seconds")
right.set_title("Time of a fit", loc="left", fontsize=11)
for axes in (left, middle, right):
    axes.spines[["top", "right"]].set_visible(False)
for axes in (left, middle):
    axes.set_yticks([])
plt.show()
