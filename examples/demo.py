"""Cluster scikit-learn's wine data, print what was found and draw it: `make demo`."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.datasets import load_wine
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityHyperplane, ProjectedDensity

PICTURE = Path("out") / "demo.png"
LARGER, SMALLER, INK = "#0072b2", "#e69f00", "#333333"


def draw(X: np.ndarray, mdh: MinimumDensityHyperplane, path: Path) -> None:
    """Projected density above, the data below: projection against the direction of largest variance across it."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plane = mdh.hyperplane_
    p = mdh.transform(X)[:, 0]
    across = X - X.mean(axis=0)
    across -= np.outer(across @ plane.normal, plane.normal)
    q = across @ np.linalg.svd(across, full_matrices=False)[2][0]
    density = ProjectedDensity(p, plane.bandwidth)
    b = np.linspace(p.min() - 3 * plane.bandwidth, p.max() + 3 * plane.bandwidth, 600)

    figure, (top, bottom) = plt.subplots(
        2, 1, figsize=(7.2, 6.0), sharex=True, height_ratios=[2, 3], layout="constrained"
    )
    top.plot(b, density(b), color=INK, lw=1.8)
    for side, colour in ((b <= plane.offset, LARGER), (b > plane.offset, SMALLER)):
        top.fill_between(b[side], density(b[side]), color=colour, alpha=0.25, lw=0)
    top.plot(plane.offset, plane.density, "o", color="white", mec=INK, mew=1.6, ms=7, zorder=3)
    top.annotate(
        f"density {plane.density:.3f}\nrelative depth {plane.relative_depth:.2f}",
        (plane.offset, plane.density),
        xytext=(12, -34),
        textcoords="offset points",
        fontsize=9,
        color=INK,
    )
    top.set(ylabel="projected density", ylim=(0, None))
    for label, colour, marker in ((0, LARGER, "o"), (1, SMALLER, "^")):
        rows = mdh.labels_ == label
        bottom.scatter(p[rows], q[rows], s=22, c=colour, marker=marker, alpha=0.8, lw=0, label=f"{rows.sum()} rows")
    for axes in (top, bottom):
        axes.axvline(plane.offset, color=INK, lw=1.2, ls="--")
        axes.spines[["top", "right"]].set_visible(False)
    bottom.set(xlabel="projection on the hyperplane's normal", ylabel="widest direction across it")
    bottom.legend(frameon=False, loc="upper right")
    top.set_title("The hyperplane of minimum density in the wine data", loc="left")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=130)
    plt.close(figure)


def main() -> None:
    """Fit, report, draw."""
    wine = load_wine()
    X = StandardScaler().fit_transform(wine.data)
    start = time.perf_counter()
    mdh = MinimumDensityHyperplane(random_state=0).fit(X)
    seconds = time.perf_counter() - start
    print(f"wine: {X.shape[0]} rows, {X.shape[1]} columns, standardised; fitted in {1e3 * seconds:.0f} ms\n")
    print(mdh.hyperplane_.report(wine.feature_names))
    print("\nrows on each side, by cultivar (which the fit has not seen):")
    for side in (0, 1):
        counts = np.bincount(wine.target[mdh.labels_ == side], minlength=3)
        print(f"  label {side}: {counts.sum():>3} rows, cultivars {counts.tolist()}")
    picture = Path(sys.argv[1]) if len(sys.argv) > 1 else PICTURE
    draw(X, mdh, picture)
    print(f"\npicture: {picture}")


if __name__ == "__main__":
    main()
