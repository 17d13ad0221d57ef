"""
Labels from ten examples
========================

Ten of the 569 rows of scikit-learn's breast cancer data have labels: five benign and
five malignant tumours. The classifier uses the density of the other 559 rows as well.
"""

# %%
# Draw the labels 21 times, and compare with a linear SVM that sees the ten labelled
# rows only.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from ravine import MinimumDensityClassifier, ProjectedDensity

COLOURS, MARKERS, INK = ("#0072b2", "#e69f00"), ("o", "^"), "#333333"
data = load_breast_cancer()
X, truth = StandardScaler().fit_transform(data.data), data.target


def choose_labels(seed):
    """Return labels of five random rows of each class, and -1 for all other rows."""
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for label in (0, 1):
        y[rng.choice(np.flatnonzero(truth == label), 5, replace=False)] = label
    return y


draws, errors = [choose_labels(seed) for seed in range(21)], []
for y in draws:
    rest = y < 0
    models = (
        LinearSVC(dual=False).fit(X[~rest], y[~rest]),
        MinimumDensityClassifier().fit(X, y),
    )
    errors.append(
        [100.0 * np.mean(model.predict(X[rest]) != truth[rest]) for model in models]
    )
typical = np.median(errors, axis=0)
print(f"median error: SVM {typical[0]:.1f} %, ravine {typical[1]:.1f} %")

# %%
# The density and the probability along the normal, for the draw with the median error.

y = draws[int(np.argsort(np.array(errors)[:, 1], kind="stable")[10])]
mdc = MinimumDensityClassifier().fit(X, y)
plane, rest = mdc.hyperplane_, y < 0
p = X @ plane.normal
density = ProjectedDensity(p, plane.bandwidth)
b = np.linspace(p.min() - 2 * plane.bandwidth, p.max() + 2 * plane.bandwidth, 600)

figure, (top, bottom) = plt.subplots(
    2, 1, figsize=(8.0, 5.0), sharex=True, height_ratios=[3, 2], layout="constrained"
)
top.plot(b, density(b), color=INK, lw=1.8)
for side, colour in ((b <= plane.offset, COLOURS[0]), (b > plane.offset, COLOURS[1])):
    top.fill_between(b[side], density(b[side]), color=colour, alpha=0.25, lw=0)
probability = mdc.predict_proba(plane.point + np.outer(b - plane.offset, plane.normal))[
    :, 1
]
bottom.plot(b, probability, color=INK, lw=1.8)
jitter = np.random.default_rng(0).uniform(-0.04, 0.04, len(p))
for label, name in enumerate(data.target_names):
    at, rows = p[y == label], rest & (truth == label)
    top.plot(
        at,
        density(at),
        MARKERS[label],
        color=COLOURS[label],
        mec="white",
        ms=9,
        label=f"labelled {name}",
    )
    bottom.scatter(
        p[rows],
        label + jitter[rows],
        s=7,
        c=COLOURS[label],
        lw=0,
        alpha=0.6,
        label=f"truly {name}",
    )
for axes in (top, bottom):
    axes.axvline(plane.offset, color=INK, lw=1.2, ls="--")
    axes.spines[["top", "right"]].set_visible(False)
top.set(ylabel="projected density", ylim=(0, None))
top.set_title(
    f"Breast cancer with ten labels: {typical[1]:.1f} % of the other 559 rows wrong",
    loc="left",
)
top.legend(frameon=False, loc="upper left")
bottom.set(
    xlabel="projection on the hyperplane's normal",
    ylabel=f"probability of {data.target_names[1]}",
)
bottom.legend(frameon=False, loc="center left")
plt.show()
