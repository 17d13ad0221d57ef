"""Labels from ten examples
========================

Learn from a few labels: four in two dimensions, and ten of scikit-learn's breast cancer data.

python examples/classification.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from ravine import MinimumDensityClassifier, ProjectedDensity

matplotlib.use("Agg")
import matplotlib.pyplot as plt

COLOURS, MARKERS, INK = ("#0072b2", "#e69f00"), ("o", "^"), "#333333"


def simulate_clusters(n: int = 300) -> tuple[np.ndarray, np.ndarray]:
    """Simulate two long clusters side by side."""
    rng = np.random.default_rng(3)
    truth = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 2)) * [2.2, 0.45] + np.where(truth, 1.0, -1.0)[:, None] * [0.3, 1.15]
    return X, truth


def choose_labels(truth: np.ndarray, n: int, seed: int) -> np.ndarray:
    """Return the labels of n random rows, half of each class, and -1 for all other rows."""
    rng = np.random.default_rng(seed)
    y = np.full(len(truth), -1)
    for label in (0, 1):
        rows = rng.choice(np.flatnonzero(truth == label), n // 2, replace=False)
        y[rows] = label
    return y


def draw_plane(axes: plt.Axes, normal: np.ndarray, offset: float) -> None:
    """Draw the line normal·x = offset."""
    along = np.array([-normal[1], normal[0]])
    ends = offset * normal + np.outer([-20.0, 20.0], along)
    axes.plot(ends[:, 0], ends[:, 1], color=INK, lw=1.6)


def compute_errors(X: np.ndarray, truth: np.ndarray, y: np.ndarray) -> tuple[float, float]:
    """Return the errors (%) on the unlabelled rows of a linear SVM on the labels and of ravine."""
    rest = y < 0
    svm = LinearSVC(dual=False).fit(X[~rest], y[~rest])
    mdc = MinimumDensityClassifier().fit(X, y)
    return tuple(100.0 * float(np.mean(model.predict(X[rest]) != truth[rest])) for model in (svm, mdc))


def find_median(values: np.ndarray) -> int:
    """Return the position of the median of an odd number of values."""
    return int(np.argsort(values, kind="stable")[len(values) // 2])


def draw_with_and_without_gap(path: Path) -> None:
    """Draw the hyperplane of the labels and the final one, for two classes with a gap between them and without."""
    rng = np.random.default_rng(5)
    truth = np.repeat([0, 1], 150)
    shapes = {"a gap": (0.35, 1.2), "no gap": (1.0, 0.5)}
    figure, panels = plt.subplots(1, 2, figsize=(10.0, 3.6), sharex=True, sharey=True, layout="constrained")
    for axes, (title, (spread, distance)) in zip(panels, shapes.items(), strict=True):
        X = rng.standard_normal((300, 2)) * [1.3, spread]
        X += np.where(truth, distance, -distance)[:, None] * [0.2, 1.0]
        fits = [MinimumDensityClassifier().fit(X, choose_labels(truth, 4, seed)) for seed in range(51)]
        wrong = [np.mean((mdc.path_[0].hyperplane.distance(X) > 0.0) != truth) for mdc in fits]
        chosen = int(np.argsort(wrong, kind="stable")[40])  # four fifths of the choices of labels are better
        mdc, y = fits[chosen], choose_labels(truth, 4, chosen)
        first, last, angle = mdc.density_evidence_[0]
        for step, style in zip(mdc.path_, ("--", "-"), strict=True):
            normal, offset = step.hyperplane.normal, step.hyperplane.offset
            ends = offset * normal + np.outer([-20.0, 20.0], [-normal[1], normal[0]])
            label = "labels alone" if style == "--" else "labels and density"
            axes.plot(ends[:, 0], ends[:, 1], style, color=INK, lw=1.6, label=label)
        for label in (0, 1):
            rows = X[truth == label]
            axes.scatter(*rows.T, s=10, marker=MARKERS[label], color=COLOURS[label], alpha=0.35, lw=0)
            axes.scatter(
                *X[y == label].T, s=70, marker=MARKERS[label], color=COLOURS[label], edgecolor="black", zorder=3
            )
        errors = [100.0 * np.mean((step.hyperplane.distance(X) > 0.0) != truth) for step in mdc.path_]
        axes.set_title(
            f"{title}: E {first:+.2f} → {last:+.2f}, turned by {angle:.0f}°, error {errors[0]:.1f} → {errors[1]:.1f} %",
            fontsize=10,
        )
        axes.set(xlim=(-5.0, 5.0), ylim=(-3.6, 3.6), xlabel="first feature")
    panels[0].set_ylabel("second feature")
    panels[0].legend(loc="lower right", fontsize=9)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_two_dimensions(path: Path) -> None:
    """Draw the hyperplanes found without and with the unlabelled rows."""
    X, truth = simulate_clusters()
    draws = [choose_labels(truth, 4, seed) for seed in range(51)]
    errors = np.array([compute_errors(X, truth, y) for y in draws])
    typical = np.median(errors, axis=0)
    print(f"two clusters, 4 labels, 51 draws, median error: SVM {typical[0]:.1f} %, ravine {typical[1]:.1f} %")
    y = draws[find_median(errors[:, 0])]  # show the draw with the median error of the SVM
    labelled = y >= 0
    svm = LinearSVC(dual=False).fit(X[labelled], y[labelled])
    length = float(np.linalg.norm(svm.coef_))
    mdc = MinimumDensityClassifier().fit(X, y)
    plane = mdc.hyperplane_
    figure, panels = plt.subplots(1, 2, figsize=(10.0, 3.0), sharex=True, sharey=True, layout="constrained")
    for axes, unlabelled in zip(panels, (False, True), strict=True):
        if unlabelled:
            grid = np.stack(np.meshgrid(np.linspace(-7, 7, 161), np.linspace(-3.4, 3.4, 121)), axis=-1)
            distance2 = ((grid[:, :, None, :] - X) ** 2).sum(axis=-1)
            density = np.exp(-0.5 * distance2 / plane.bandwidth**2).mean(axis=-1)
            axes.contourf(grid[..., 0], grid[..., 1], density, levels=9, cmap="Greys", alpha=0.55, zorder=0)
            axes.scatter(*X[~labelled].T, s=6, c="#777777", lw=0, zorder=1)
        for label in (0, 1):
            axes.scatter(*X[y == label].T, s=90, c=COLOURS[label], marker=MARKERS[label], ec="white", lw=1.2, zorder=4)
        axes.set(xlim=(-7, 7), ylim=(-3.4, 3.4), aspect="equal")
        axes.spines[["top", "right"]].set_visible(False)
    svm_error, mdc_error = compute_errors(X, truth, y)
    draw_plane(panels[0], svm.coef_[0] / length, -float(svm.intercept_[0]) / length)
    draw_plane(panels[1], plane.normal, plane.offset)
    panels[0].set_title(f"Four labels alone, linear SVM: {svm_error:.0f} % wrong", loc="left", fontsize=11)
    panels[1].set_title(f"The same and 296 unlabelled rows, ravine: {mdc_error:.1f} % wrong", loc="left", fontsize=11)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def draw_ten_labels(path: Path) -> None:
    """Draw the density and the probability along the normal for the breast cancer data."""
    data = load_breast_cancer()
    X, truth = StandardScaler().fit_transform(data.data), data.target
    draws = [choose_labels(truth, 10, seed) for seed in range(21)]
    errors = np.array([compute_errors(X, truth, y) for y in draws])
    typical = np.median(errors, axis=0)
    print(f"breast cancer, 10 labels, 21 draws, median error: SVM {typical[0]:.1f} %, ravine {typical[1]:.1f} %")
    y, error = draws[find_median(errors[:, 1])], typical[1]
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
    for label, name in enumerate(data.target_names):
        at = p[y == label]
        top.plot(at, density(at), MARKERS[label], color=COLOURS[label], mec="white", ms=9, label=f"labelled {name}")
    probability = mdc.predict_proba(plane.point + np.outer(b - plane.offset, plane.normal))[:, 1]
    bottom.plot(b, probability, color=INK, lw=1.8)
    jitter = np.random.default_rng(0).uniform(-0.04, 0.04, len(p))
    for label, name in enumerate(data.target_names):
        rows = rest & (truth == label)
        bottom.scatter(p[rows], label + jitter[rows], s=7, c=COLOURS[label], lw=0, alpha=0.6, label=f"truly {name}")
    for axes in (top, bottom):
        axes.axvline(plane.offset, color=INK, lw=1.2, ls="--")
        axes.spines[["top", "right"]].set_visible(False)
    top.set(ylabel="projected density", ylim=(0, None))
    top.set_title(f"Breast cancer with ten labels: {error:.1f} % of the other 559 rows wrong", loc="left")
    top.legend(frameon=False, loc="upper left")
    bottom.set(xlabel="projection on the hyperplane's normal", ylabel=f"probability of {data.target_names[1]}")
    bottom.legend(frameon=False, loc="center left")
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    """Draw the pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else Path("out")
    folder.mkdir(parents=True, exist_ok=True)
    draw_two_dimensions(folder / "labels_2d.png")
    draw_ten_labels(folder / "ten_labels.png")
    draw_with_and_without_gap(folder / "gap_and_none.png")
    print(f"pictures in {folder}: labels_2d.png, ten_labels.png, gap_and_none.png")


if __name__ == "__main__":
    main()
