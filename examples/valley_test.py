"""
Is the valley real?
===================

The direction was chosen to look split, so that the depth of its valley is not evidence.
Rows that had no part in the choice are: one half of the rows chooses a hyperplane and a
valley M with intervals L and R beside it, the other half is counted.
"""

# %%
# Two clusters, and one cluster without structure, in ten features. ``valley_test`` does
# all that follows, several times.

import matplotlib.pyplot as plt
import numpy as np

from ravine import MinimumDensityHyperplane, ProjectedDensity, valley_test
from ravine.density.valley import find_valley, judge

rng = np.random.default_rng(2)
one = rng.standard_normal((300, 10))
two = rng.standard_normal((300, 10))
two[:, 0] += np.where(rng.random(300) < 0.5, 2.4, -2.4)
for name, X in (("two clusters", two), ("one cluster", one)):
    print(f"{name}: {valley_test(X, random_state=0)}")

# %%
# Above: the half that chooses a hyperplane. It finds a valley even where there is none.
# Below: the other half, counted in the same intervals. Only for two clusters is the
# middle emptier.

COLOURS = {"L": "#0072b2", "M": "#d55e00", "R": "#0072b2"}
figure, panels = plt.subplots(
    2, 2, figsize=(10.5, 5.2), layout="constrained", sharex="col"
)
for (top, bottom), name, X in zip(
    panels.T, ("Two clusters", "One cluster"), (two, one), strict=True
):
    plane = MinimumDensityHyperplane(random_state=0).fit(X[:150]).hyperplane_
    chosen, held_out = plane.distance(X[:150]), plane.distance(X[150:])
    valley = find_valley(np.sort(chosen), plane.bandwidth, 0.0)
    judgement = judge(valley, held_out)
    density = ProjectedDensity(chosen, plane.bandwidth)
    b = np.linspace(chosen.min() - 1, chosen.max() + 1, 400)
    top.plot(b, density(b), color="#333333", lw=1.6)
    top.set_title(
        f"{name}: the half that chooses, depth {plane.relative_depth:.1f}",
        loc="left",
        fontsize=11,
    )
    intervals = {"M": valley.middle, "L": valley.left, "R": valley.right}
    heights = [
        count / (end - start)
        for count, (start, end) in zip(
            judgement.counts, intervals.values(), strict=True
        )
    ]
    for (key, (start, end)), count, height in zip(
        intervals.items(), judgement.counts, heights, strict=True
    ):
        top.axvspan(start, end, color=COLOURS[key], alpha=0.2, lw=0)
        bottom.bar(
            start,
            height,
            width=end - start,
            align="edge",
            color=COLOURS[key],
            alpha=0.6,
        )
        text = {"ha": "center", "va": "bottom", "fontsize": 10}
        bottom.text(
            0.5 * (start + end),
            height + 0.02 * max(heights),
            f"{key}: {count} rows",
            **text,
        )
    bottom.set(xlabel="distance from the hyperplane", ylim=(0, 1.2 * max(heights)))
    bottom.set_title(
        f"The other half, rows per unit length: P = {judgement.pvalue:.2g}",
        loc="left",
        fontsize=11,
    )
    top.set_ylim(0, None)
    for axes in (top, bottom):
        axes.set_yticks([])
        axes.spines[["top", "right", "left"]].set_visible(False)
plt.show()
