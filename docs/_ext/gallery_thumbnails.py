"""Thumbnails of the gallery: one legible part of a figure with several panels."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from PIL import Image

__all__ = ["setup"]

SIZE = (400, 280)
# Script -> number of the figure, and the part to show: left, top, right and bottom as shares of its width and height.
PARTS = {
    "active_learning": (1, (0.49, 0.0, 1.0, 1.0)),
    "alpha_path": (1, (0.49, 0.0, 1.0, 1.0)),
    "birds_table": (1, (0.0, 0.03, 0.51, 0.5)),
    "edit_tree": (1, (0.0, 0.0, 0.5, 0.5)),
    "few_labels": (1, (0.5, 0.0, 1.0, 1.0)),
    "first_split": (1, (0.26, 0.0, 1.0, 1.0)),
    "how_many": (1, (0.25, 0.0, 0.75, 1.0)),
    "image_colours": (1, (0.49, 0.0, 1.0, 0.5)),
    "known_labels": (1, (0.33, 0.0, 0.67, 1.0)),
    "million_rows": (1, (0.335, 0.0, 0.635, 1.0)),
    "missing_values": (1, (0.675, 0.0, 1.0, 1.0)),
    "mixed_table": (1, (0.0, 0.0, 0.39, 1.0)),
    "outliers": (1, (0.0, 0.0, 0.3, 1.0)),
    "projected_density": (1, (0.0, 0.1, 0.55, 0.9)),
    "projection_index": (1, (0.385, 0.0, 1.0, 1.0)),
    "shapes": (2, (0.0, 0.0, 1.0, 0.92)),
    "toy_comparison": (1, (0.44, 0.0, 1.0, 0.52)),
    "tree": (1, (0.45, 0.1, 1.0, 1.0)),
    "valley_test": (1, (0.0, 0.0, 0.5, 1.0)),
    "wine_chemistry": (2, (0.0, 0.0, 1.0, 1.0)),
}


def draw_thumbnail(figure: Path, part: tuple[float, float, float, float], path: Path) -> None:
    """Save a part of a figure on white, as large as a thumbnail allows."""
    with Image.open(figure) as picture:
        width, height = picture.size
        left, top, right, bottom = part
        cropped = picture.convert("RGB").crop(
            (int(left * width), int(top * height), int(right * width), int(bottom * height))
        )
    scale = min(SIZE[0] / cropped.width, SIZE[1] / cropped.height)
    small = cropped.resize((int(scale * cropped.width), int(scale * cropped.height)), Image.Resampling.LANCZOS)
    thumbnail = Image.new("RGB", SIZE, "white")
    thumbnail.paste(small, ((SIZE[0] - small.width) // 2, (SIZE[1] - small.height) // 2))
    thumbnail.save(path, optimize=True)


def draw_thumbnails(app: Any) -> None:
    """Replace the thumbnails of the figures that were drawn; without the gallery there are none."""
    images = Path(app.srcdir) / "gallery" / "images"
    for name, (number, part) in PARTS.items():
        figure = images / f"sphx_glr_{name}_{number:03}.png"
        if figure.is_file():
            draw_thumbnail(figure, part, images / "thumb" / f"sphx_glr_{name}_thumb.png")


def setup(app: Any) -> dict[str, bool]:
    """Run after sphinx-gallery, which draws the figures at the same event."""
    app.connect("builder-inited", draw_thumbnails, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
