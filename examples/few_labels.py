"""
Four labels and a density
=========================

`MinimumDensityClassifier` starts from a linear SVM on the labels and moves its
hyperplane to a place nearby where there are few rows. Unlabelled rows help where there
is a gap between the classes, and do little harm where there is none.
"""

# %%
# Two long clusters side by side, four labels. Of 51 random choices of labels, the one
# with the median error of the SVM is drawn.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.svm import LinearSVC

from ravine import MinimumDensityClassifier

COLOURS, MARKERS, INK = ("#0072b2", "#e69f00"), ("o", "^"), "#333333"


def choose_labels(truth, seed):
    """Return the labels of two random rows of each class, and -1 for all other rows."""
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for label in (0, 1):
        y[rng.choice(np.flatnonzero(truth == label), 2, replace=False)] = label
    return y


def compute_errors(X, truth, y):
    """Return the errors (%) on unlabelled rows, of a linear SVM and of ravine."""
    rest = y < 0
    models = (
        LinearSVC(dual=False).fit(X[~rest], y[~rest]),
        MinimumDensityClassifier().fit(X, y),
    )
    return [100.0 * np.mean(model.predict(X[rest]) != truth[rest]) for model in models]


rng = np.random.default_rng(3)
truth = rng.integers(0, 2, 300)
X = rng.standard_normal((300, 2)) * [2.2, 0.45] + np.where(truth, 1.0, -1.0)[
    :, None
] * [0.3, 1.15]
draws = [choose_labels(truth, seed) for seed in range(51)]
errors = np.array([compute_errors(X, truth, y) for y in draws])
print(
    "median error of 51 draws: SVM {:.1f} %, ravine {:.1f} %".format(
        *np.median(errors, axis=0)
    )
)


def draw_line(axes, normal, offset, **style):
    """Draw the line normal·x = offset."""
    ends = offset * normal + np.outer([-20.0, 20.0], [-normal[1], normal[0]])
    axes.plot(*ends.T, color=INK, lw=1.6, **style)


chosen = np.argsort(errors[:, 0], kind="stable")[25]
y = draws[chosen]
svm = LinearSVC(dual=False).fit(X[y >= 0], y[y >= 0])
plane = MinimumDensityClassifier().fit(X, y).hyperplane_
figure, panels = plt.subplots(
    1, 2, figsize=(10.0, 3.0), sharex=True, sharey=True, layout="constrained"
)
grid = np.stack(
    np.meshgrid(np.linspace(-7, 7, 161), np.linspace(-3.4, 3.4, 121)), axis=-1
)
density = np.exp(
    -0.5 * ((grid[:, :, None, :] - X) ** 2).sum(axis=-1) / plane.bandwidth**2
).mean(axis=-1)
panels[1].contourf(
    grid[..., 0], grid[..., 1], density, levels=9, cmap="Greys", alpha=0.55, zorder=0
)
panels[1].scatter(*X[y < 0].T, s=6, c="#777777", lw=0, zorder=1)
length = np.linalg.norm(svm.coef_)
draw_line(panels[0], svm.coef_[0] / length, -svm.intercept_[0] / length)
draw_line(panels[1], plane.normal, plane.offset)
for axes in panels:
    for label in (0, 1):
        axes.scatter(
            *X[y == label].T,
            s=90,
            c=COLOURS[label],
            marker=MARKERS[label],
            ec="white",
            lw=1.2,
            zorder=4,
        )
    axes.set(xlim=(-7, 7), ylim=(-3.4, 3.4), aspect="equal")
    axes.spines[["top", "right"]].set_visible(False)
svm_error, error = errors[chosen]
panels[0].set_title(
    f"Four labels alone, linear SVM: {svm_error:.0f} % wrong", loc="left", fontsize=11
)
panels[1].set_title(
    f"The same and 296 unlabelled rows, ravine: {error:.1f} % wrong",
    loc="left",
    fontsize=11,
)
plt.show()

# %%
# With a gap and without. Both panels show a choice of labels that is worse than four
# fifths of all choices. E, the evidence of the density, is below zero where there are
# fewer rows than a normal curve would have.

rng = np.random.default_rng(5)
truth = np.repeat([0, 1], 150)
figure, panels = plt.subplots(
    1, 2, figsize=(10.0, 3.6), sharex=True, sharey=True, layout="constrained"
)
for axes, title, spread, distance in zip(
    panels, ("a gap", "no gap"), (0.35, 1.0), (1.2, 0.5), strict=True
):
    X = rng.standard_normal((300, 2)) * [1.3, spread]
    X += np.where(truth, distance, -distance)[:, None] * [0.2, 1.0]
    fits = [
        MinimumDensityClassifier().fit(X, choose_labels(truth, seed))
        for seed in range(51)
    ]
    wrong = [
        np.mean((mdc.path_[0].hyperplane.distance(X) > 0.0) != truth) for mdc in fits
    ]
    chosen = int(np.argsort(wrong, kind="stable")[40])
    mdc, y = fits[chosen], choose_labels(truth, chosen)
    for step, style, label in zip(
        mdc.path_, ("--", "-"), ("labels alone", "labels and density"), strict=True
    ):
        draw_line(
            axes, step.hyperplane.normal, step.hyperplane.offset, ls=style, label=label
        )
    for label in (0, 1):
        look = {"marker": MARKERS[label], "color": COLOURS[label]}
        axes.scatter(*X[truth == label].T, s=10, alpha=0.35, lw=0, **look)
        axes.scatter(*X[y == label].T, s=70, edgecolor="black", zorder=3, **look)
    first, last, angle = mdc.density_evidence_[0]
    before, after = (
        100.0 * np.mean((step.hyperplane.distance(X) > 0.0) != truth)
        for step in mdc.path_
    )
    text = f"{title}: E {first:+.2f} → {last:+.2f}, turned by {angle:.0f}°, "
    axes.set_title(f"{text}error {before:.1f} → {after:.1f} %", fontsize=10)
    axes.set(xlim=(-5.0, 5.0), ylim=(-3.6, 3.6), xlabel="first feature")
panels[0].set_ylabel("second feature")
panels[0].legend(loc="lower right", fontsize=9)
plt.show()
