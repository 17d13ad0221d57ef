"""
Which rows to label next
========================

``query(X, n)`` names the rows of X whose labels would help most. Starting from one
label of each class, labels are added one by one, for the rows that are asked for and
for random rows.
"""

# %%
# Two classes in six features, four of which are noise. There is hardly a gap, so that
# labels matter.

import matplotlib.pyplot as plt
import numpy as np

from ravine import MinimumDensityClassifier

rng = np.random.default_rng(1)
truth = np.repeat([0, 1], 200)
X = rng.standard_normal((400, 6))
X[:, :2] = X[:, :2] * [1.5, 0.8] + np.where(truth, 1.0, -1.0)[:, None] * [0.35, 1.3]
N_LABELS, STARTS = 28, 6


def learn(seed, ask):
    """Return the labels at the end and the error (%) after each label."""
    rng = np.random.default_rng(seed)
    y = np.full(len(X), -1)
    for k in (0, 1):
        y[rng.choice(np.flatnonzero(truth == k))] = k
    errors = []
    for _ in range(N_LABELS):
        mdc = MinimumDensityClassifier().fit(X, y)
        errors.append(100 * np.mean(mdc.predict(X) != truth))
        unlabelled = np.flatnonzero(y < 0)
        asked = unlabelled[mdc.query(X[unlabelled], 1)[0]]
        row = asked if ask else rng.choice(unlabelled)
        y[row] = truth[row]
    return y, errors


# %%
# Asked rows lie at the boundary; random rows lie anywhere. With the first few labels
# random rows are better here, because the boundary is still in the wrong place; later
# the rows of ``query`` are.

figure, (left, right) = plt.subplots(
    1, 2, figsize=(10.5, 4.2), layout="constrained", width_ratios=[1, 1.1]
)
for ask, colour, name in (
    (False, "#8a8a8a", "random rows"),
    (True, "#d55e00", "rows chosen by query"),
):
    runs = [learn(seed, ask) for seed in range(STARTS)]
    mean = np.mean([errors for _, errors in runs], axis=0)
    right.plot(np.arange(2, N_LABELS + 2), mean, "o-", ms=3.5, color=colour, label=name)
    print(
        f"{name}: {mean[-1]:.1f} % wrong with {N_LABELS + 1} labels ({STARTS} starts)"
    )
y = runs[0][0]
for k, (colour, marker) in enumerate((("#0072b2", "o"), ("#e69f00", "^"))):
    left.scatter(
        *X[truth == k, :2].T, s=10, color=colour, marker=marker, lw=0, alpha=0.35
    )
    left.scatter(
        *X[y == k, :2].T, s=60, color=colour, marker=marker, edgecolor="black", zorder=3
    )
left.set(xlabel="first feature", ylabel="second feature", xticks=[], yticks=[])
left.set_title("Labels that query asked for", loc="left", fontsize=11)
right.set(xlabel="labels", ylabel="error on all rows (%)", ylim=(0, None))
right.legend(frameon=False)
right.set_title("Error while labels are added", loc="left", fontsize=11)
for axes in (left, right):
    axes.spines[["top", "right"]].set_visible(False)
plt.show()
