"""Draw the pictures of docs/images that scripts of the gallery draw.

python docs/draw_images.py [folder]

The pages show them in the repository, where the gallery is not built.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt

HERE = Path(__file__).parent
# Script -> names of its figures, in the order in which they are drawn.
FIGURES = {
    "first_split": ["first_split"],
    "tree": ["digits_tree"],
    "shapes": ["shape_cells", "cell_display", "boundary_display"],
    "toy_comparison": ["toy_comparison"],
    "few_labels": ["labels_2d", "gap_and_none"],
    "ten_labels": ["ten_labels"],
    "bertopic_slot": ["bertopic_slot"],
    "missing_values": ["missing_values"],
    "mixed_table": ["mixed_table"],
    "projected_density": ["projected_density"],
    "alpha_path": ["alpha_path"],
    "projection_index": ["projection_index"],
    "valley_test": ["valley_test"],
    "false_splits": ["false_splits"],
    "how_many": ["how_many"],
}


def main() -> None:
    """Run the scripts and save their figures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "images"
    folder.mkdir(parents=True, exist_ok=True)
    for script, names in FIGURES.items():
        runpy.run_path(str(HERE.parent / "examples" / f"{script}.py"), run_name="__main__")
        for number, name in zip(plt.get_fignums(), names, strict=True):
            plt.figure(number).savefig(folder / f"{name}.png", dpi=110, pil_kwargs={"optimize": True})
        plt.close("all")
    print(f"pictures in {folder}")


if __name__ == "__main__":
    main()
