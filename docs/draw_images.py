"""Draw the pictures of docs/images that scripts of the gallery draw, those of the displays, and that of a report.

python docs/draw_images.py [folder]

The pages show them in the repository, where the gallery is not built. The picture of the report needs chromium.
"""

from __future__ import annotations

import runpy
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityHyperplane, MinimumDensityTree
from ravine.plotting import DirectionDisplay

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


def save_figures(folder: Path, names: list[str]) -> None:
    """Save the open figures under names, and close them."""
    for number, name in zip(plt.get_fignums(), names, strict=True):
        plt.figure(number).savefig(folder / f"{name}.png", dpi=110, pil_kwargs={"optimize": True})
    plt.close("all")


def draw_scripts(folder: Path) -> None:
    """Run the scripts of the gallery and save their figures."""
    for script, names in FIGURES.items():
        runpy.run_path(str(HERE.parent / "examples" / f"{script}.py"), run_name="__main__")
        save_figures(folder, names)


def draw_displays(folder: Path) -> None:
    """Draw the fits that the pages print: the hyperplane of the wines, and the tree of the digits in user_guide.md."""
    wine, digits = load_wine(), load_digits().data
    wines = StandardScaler().fit_transform(wine.data)
    mdh = MinimumDensityHyperplane(random_state=0).fit(wines)
    mdh.plot(wines)
    DirectionDisplay.from_estimator(mdh, feature_names=wine.feature_names, max_features=9)
    pixels = StandardScaler().fit_transform(digits[:, digits.std(axis=0) > 0])
    MinimumDensityTree(random_state=1).fit(pixels).plot(pixels)
    save_figures(folder, ["hyperplane_display", "direction_display", "tree_display"])


def draw_report(folder: Path) -> None:
    """Take a screenshot of the top of the report of `ravine demo`."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if chromium is None:
        print("report.png is not drawn: there is neither chromium nor google-chrome on the PATH", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as name:
        demo = Path(name) / "demo"
        command = [sys.executable, "-c", "from ravine.cli import main; main()", "demo", "--quiet", "--out", demo]
        subprocess.run(command, check=True)
        (report,) = demo.rglob("report.html")
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--disable-sync"]
        flags += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={name}/profile"]
        picture = [f"--screenshot={(folder / 'report.png').resolve()}", "--window-size=1100,1210"]
        subprocess.run([chromium, *flags, *picture, report.as_uri()], check=True, stderr=subprocess.DEVNULL)


def main() -> None:
    """Draw all pictures."""
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else HERE / "images"
    folder.mkdir(parents=True, exist_ok=True)
    draw_scripts(folder)
    draw_displays(folder)
    draw_report(folder)
    print(f"pictures in {folder}")


if __name__ == "__main__":
    main()
