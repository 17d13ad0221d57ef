"""The pictures and the report of a run: the only place of the command that knows of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from ravine.cli.result import Result

__all__ = ["FIGURE_NAMES", "write_figures", "write_report"]

# Names of all pictures that `_pictures` may give.
FIGURE_NAMES = ("tree", "direction", "direction-[0-9]*", "split-[0-9]*", "pair-[0-9]*", "hyperplane", "path")

# Splits, or pairs of classes, that get a picture of their own.
MOST_SPLITS = 2
DOTS_PER_INCH = 130


def write_figures(folder: Path, result: Result) -> None:
    """Draw what was found into a folder.

    Parameters
    ----------
    folder : Path
        Made if there is anything to draw.
    result : Result
    """
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    for name, draw in _pictures(result):
        folder.mkdir(exist_ok=True)
        figure = draw().figure_
        figure.set_dpi(DOTS_PER_INCH)
        # Not by savefig, which draws everything twice, the first time for the layout only.
        FigureCanvasAgg(figure).print_png(folder / f"{name}.png")  # type: ignore[no-untyped-call]
        pyplot.close(figure)


def _pictures(result: Result) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names of files and how to draw them."""
    from ravine import plotting

    estimator, X, names = result.model.estimator, result.X, result.feature_names
    plane, direction = plotting.HyperplaneDisplay.from_estimator, plotting.DirectionDisplay.from_estimator
    if hasattr(estimator, "tree_"):
        tree = estimator.tree_
        if tree.n_leaves > 1:
            yield "tree", lambda: plotting.TreeDisplay.from_estimator(estimator, X)
        splits = sorted((k for k in range(len(tree)) if tree.left[k] >= 0), key=lambda k: tree.order[k])
        if splits:
            yield "direction-0", lambda: direction(estimator, node=0, feature_names=names)
        for k in splits[:MOST_SPLITS]:
            yield f"split-{k}", lambda k=k: plane(estimator, X, node=k)  # type: ignore[misc]
    elif len(getattr(estimator, "classes_", ())) > 2:
        pairs = [pair for pair, p in estimator.hyperplanes_.items() if p.splits]
        for number, pair in enumerate(pairs[:MOST_SPLITS]):
            yield f"pair-{number}", lambda pair=pair: plane(estimator, X, pair=pair)  # type: ignore[misc]
    elif estimator.hyperplane_.splits:
        yield "hyperplane", lambda: plane(estimator, X)
        yield "direction", lambda: direction(estimator, feature_names=names)
        yield "path", lambda: plotting.PathDisplay.from_estimator(estimator, X)


def write_report(path: Path, result: Result) -> None:
    """Write the report."""
    import numpy as np

    from ravine import report

    prepared = result.model.preparation
    unscaled = prepared.scaling == "none"
    kept = slice(None) if result.kept is None else result.kept
    report.write_report(
        path, result.model.estimator, result.X, feature_names=result.feature_names,
        labels_true=None if result.given is None else result.given[kept],
        label_name=result.model.label_column or "label",
        row_keys=np.asarray(result.keys)[kept], key_name=result.key_name, source=Path(result.source).name,
        settings=result.summary["settings"], notes=result.summary["notes"],
        centre=None if unscaled else prepared.centre, scale=None if unscaled else prepared.scale,
    )  # fmt: skip
