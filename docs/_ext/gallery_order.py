"""Order of the gallery: first what ravine does, then how, then where it runs."""

from __future__ import annotations

__all__ = ["OrderKey"]

ORDER = (
    "first_split", "tree", "birds_table", "shapes", "toy_comparison", "image_colours", "text_topics",
    "wine_chemistry", "mixed_table", "missing_values", "how_many", "valley_test", "false_splits", "outliers",
    "known_labels", "edit_tree", "few_labels", "ten_labels", "active_learning", "million_rows", "dask_rows",
    "bertopic_slot", "projected_density", "alpha_path", "projection_index",
)  # fmt: skip


class OrderKey:
    """Key that sorts scripts by their place in ORDER; others come last, by name."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, filename: str) -> tuple[int, str]:
        """Return the place of a script."""
        name = filename.removesuffix(".py")
        return (ORDER.index(name) if name in ORDER else len(ORDER)), name

    def __repr__(self) -> str:
        """Return a text that does not change between builds, for Sphinx's cache."""
        return f"<{type(self).__name__}>"
