"""Clusters of any shape
=====================

Draw how clusters of any shape are found: the rows, the cells that hyperplanes cut, and the cells that are joined.

python examples/shapes.py [folder]
"""

from __future__ import annotations

import sys
from pathlib import Path

import matplotlib
import numpy as np

from ravine import MinimumDensityTree
from ravine.plotting import BoundaryDisplay, CellDisplay
from ravine.rows import as_rows
from ravine.tree import Tree
from ravine.tree.joins import label_cells
from ravine.tree.shapes import Shapes, find_shapes

matplotlib.use("Agg")
import matplotlib.pyplot as plt

INK, GREY = "#333333", "#8a8a8a"


def draw_rows(seed: int = 0) -> np.ndarray:
    """Draw a ring around a small cluster, and an arc beside them that bends around the ring."""
    rng = np.random.default_rng(seed)
    angle = 2.0 * np.pi * rng.random(350)
    ring = np.c_[np.cos(angle), np.sin(angle)]
    bend = rng.uniform(-1.2, 1.2, 250)
    arc = 1.85 * np.c_[np.cos(bend), np.sin(bend)]
    rows = np.concatenate([ring, arc, np.zeros((100, 2))])
    return np.asarray(rows + rng.normal(size=rows.shape) * np.repeat([0.11, 0.11, 0.16], [350, 250, 100])[:, None])


def color_cells(shapes: Shapes, *, joined: bool) -> Tree:
    """Return the tree of all cells, either as one cluster or as the clusters that the joins make."""
    tree = shapes.cells
    leaves = np.sort(tree.leaves())
    cluster = np.full(len(tree), -1, dtype=np.intp)
    cluster[leaves] = label_cells(len(leaves), shapes.joins) if joined else 0
    return tree.with_arrays(cluster=cluster)


def draw_steps(X: np.ndarray, path: Path) -> None:
    """Draw rows, cells, and joined cells side by side."""
    shapes = find_shapes(as_rows(X), 3, 5, np.random.default_rng(0))
    assert isinstance(shapes, Shapes)
    figure, axes = plt.subplots(1, 3, figsize=(12.0, 4.6), layout="constrained")
    cells, joined = (color_cells(shapes, joined=joined) for joined in (False, True))
    grey = {"color": GREY, "s": 9, "edgecolors": "none"}
    shown = CellDisplay.from_tree(cells, X, ax=axes[1], title="", legend=False, scatter_kw=grey)
    CellDisplay.from_tree(joined, X, ax=axes[2], title="", legend=False, scatter_kw={"s": 9})
    for patch in shown.cells_.values():
        patch.set(facecolor="white", alpha=1.0)
    axes[0].scatter(*X.T, **grey)
    axes[0].set(xlim=axes[1].get_xlim(), ylim=axes[1].get_ylim(), aspect="equal")
    axes[0].spines[:].set_visible(False)
    titles = (
        f"(a) {len(X)} rows",
        f"(b) {cells.n_leaves} cells, cut by hyperplanes",
        f"(c) {len(shapes.joins)} joins leave {shapes.n_clusters} clusters",
    )
    for panel, title in zip(axes, titles, strict=True):
        panel.set_title(title, loc="left", fontsize=11, color=INK)
        panel.set(xticks=[], yticks=[], xlabel="", ylabel="")
    figure.get_layout_engine().set(h_pad=0.12)
    figure.savefig(path, dpi=100, pil_kwargs={"optimize": True})
    plt.close(figure)


def main() -> None:
    """Draw the steps, a boundary and the display of the fitted tree."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    folder.mkdir(parents=True, exist_ok=True)
    X = draw_rows()
    draw_steps(X, folder / "shape_cells.png")
    mdt = MinimumDensityTree(3, random_state=0).fit(X)
    print(mdt.tree_)
    print(f"\nshape: {mdt.shape_}. {mdt.shape_reason_}")
    for name, display in (
        ("cell_display", CellDisplay.from_estimator(mdt, X)),
        ("boundary_display", BoundaryDisplay.from_estimator(mdt, X)),
    ):
        display.figure_.savefig(folder / f"{name}.png", dpi=100, pil_kwargs={"optimize": True})
    print(f"pictures: {folder}/shape_cells.png, cell_display.png, boundary_display.png")


if __name__ == "__main__":
    main()
