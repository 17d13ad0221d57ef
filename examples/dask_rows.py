"""
Rows on a Dask cluster
======================

Pass a Dask array to ``fit``: blocks stay on the workers, small messages travel, and the
hyperplane is that of the array in memory. Here the cluster is a local one with two
workers.
"""

# %%
# Simulate 200,000 rows in blocks, and fit them on the cluster and in memory.

import dask
import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client

from ravine import MinimumDensityHyperplane

dask.config.set({"distributed.worker.daemon": False})
client = Client(
    processes=False, n_workers=2, threads_per_worker=1, dashboard_address=None
)
rng = np.random.default_rng(0)
side = rng.random(200_000) < 0.35
local = rng.standard_normal((200_000, 6)) * [4, 3, 2, 1, 1, 1]
local[:, 3] += np.where(side, 2.6, -2.6)
local = local @ np.linalg.qr(rng.standard_normal((6, 6)))[0]
X = da.from_array(local, chunks=(25_000, 6)).persist()

on_cluster = MinimumDensityHyperplane(random_state=0).fit(X)
in_memory = MinimumDensityHyperplane(random_state=0).fit(local)
labels = on_cluster.labels_
print(labels)
print("equal labels:", np.array_equal(labels.compute(), in_memory.labels_))
difference = np.abs(on_cluster.hyperplane_.normal - in_memory.hyperplane_.normal).max()
print(f"largest difference of the normals: {difference:.1e}")

# %%
# The projections, block by block: every block holds both clusters, and no block was
# moved.

p = (X @ on_cluster.hyperplane_.normal).compute()
bins = np.linspace(p.min(), p.max(), 120)
figure, axes = plt.subplots(figsize=(9.0, 4.6), layout="constrained")
for block in range(X.numblocks[0]):
    mine = p[block * 25_000 : (block + 1) * 25_000]
    counts, _ = np.histogram(mine, bins)
    axes.fill_between(
        bins[:-1],
        -block,
        -block + 0.9 * counts / counts.max(),
        step="post",
        color="#56b4e9",
        lw=0,
    )
axes.axvline(on_cluster.hyperplane_.offset, color="#333333", ls="--", lw=1.2)
axes.set_yticks(
    -np.arange(X.numblocks[0]), [f"block {k}" for k in range(X.numblocks[0])]
)
axes.set(xlabel="projection on the normal")
axes.set_title(
    "200,000 rows in eight blocks on two workers, one hyperplane",
    loc="left",
    fontsize=11,
)
axes.spines[:].set_visible(False)
client.close()
plt.show()
