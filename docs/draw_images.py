"""Draw the pictures of docs/images: those of the gallery, of the displays, of measured times, and of two reports.

python docs/draw_images.py [--into FOLDER] [SCRIPT, displays, speed or reports ...]

The pictures that lead README.md and the site are also drawn for dark pages.

The pages show them in the repository, where the gallery is not built. Pictures of reports need chromium. The other
pictures take longer: OTHERS has the commands that draw them.
"""

from __future__ import annotations

import argparse
import re
import runpy
import shutil
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from PIL import Image
from sklearn.datasets import load_digits, load_wine
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityHyperplane, MinimumDensityTree
from ravine.plotting import DirectionDisplay
from ravine.report import write_report

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
    "outliers": ["memberships"],
    "known_labels": ["known_labels"],
}
DISPLAYS = ["hyperplane_display", "direction_display", "tree_display"]
REPORTS = ["report", "feature_pvalues"]
# Figures that are also drawn for dark pages.
DARK = ["first_split", "toy_comparison"]
# Colour that white becomes there.
DARK_GROUND = (13, 17, 23)
# Command -> names of the figures that it draws, for copying to docs/images.
OTHERS = {
    "ravine-paper table2": ["table2_performance", "table2_regret"],
    "ravine-paper alpha": ["alpha"],
    "ravine-paper evolution": ["evolution"],
    "ravine-paper semisupervised": ["ssl_two_classes", "ssl_more_classes", "ssl_ranks"],
    "ravine-paper s1": ["theory_partitions", "theory_index"],
    "ravine-paper margin": ["theory_margin"],
    "ravine-paper optimisers": ["theory_optimisers"],
    "python benchmarks/evidence.py figures": ["evidence_power", "evidence_nulls"],
    "python benchmarks/memberships.py reliability": ["membership_reliability"],
}


def save_figures(folder: Path, names: list[str]) -> None:
    """Save the open figures under names, and close them."""
    for number, name in zip(plt.get_fignums(), names, strict=True):
        plt.figure(number).savefig(folder / f"{name}.png", dpi=110, pil_kwargs={"optimize": True})
        if name in DARK:
            darken(folder / f"{name}.png").save(folder / f"{name}_dark.png", optimize=True)
    plt.close("all")


def darken(path: Path) -> Image.Image:
    """Return a picture for dark pages: light and dark exchanged, hues kept, and white as the ground of the page."""
    light = np.asarray(Image.open(path).convert("RGB"), dtype=float) / 255.0
    # A grey turns into its complement, and a colour keeps its differences from the grey of the same brightness.
    grey = (light.max(axis=2, keepdims=True) + light.min(axis=2, keepdims=True)) / 2.0
    exchanged = np.clip(light + 1.0 - 2.0 * grey, 0.0, 1.0)
    ground = np.array(DARK_GROUND)
    return Image.fromarray((ground + (255 - ground) * exchanged).round().astype(np.uint8)).quantize(256)


def draw_script(folder: Path, script: str) -> None:
    """Run a script of the gallery and save its figures."""
    runpy.run_path(str(HERE.parent / "examples" / f"{script}.py"), run_name="__main__")
    save_figures(folder, FIGURES[script])


def draw_displays(folder: Path) -> None:
    """Draw the fits that the pages print: the hyperplane of the wines, and the tree of the digits in user_guide.md."""
    wine, digits = load_wine(), load_digits().data
    wines = StandardScaler().fit_transform(wine.data)
    mdh = MinimumDensityHyperplane(random_state=0).fit(wines)
    mdh.plot(wines)
    DirectionDisplay.from_estimator(mdh, feature_names=wine.feature_names, max_features=9)
    pixels = StandardScaler().fit_transform(digits[:, digits.std(axis=0) > 0])
    MinimumDensityTree(random_state=0).fit(pixels).plot(pixels)
    save_figures(folder, DISPLAYS)


def read_times() -> dict[str, dict[str, str]]:
    """Return the measured times of performance.md, by clusterer and by size."""
    page = (HERE / "performance.md").read_text(encoding="utf-8")
    (table,) = re.findall(r"<!-- comparison -->(.*?)<!-- end of comparison -->", page, re.DOTALL)
    lines = [line.strip("|").split("|") for line in table.splitlines() if line.startswith("| ")]
    (_, *names), *rows = [[cell.strip() for cell in line] for line in lines]
    return {name: {row[0]: row[1 + j] for row in rows if row[1 + j]} for j, name in enumerate(names)}


def draw_speed(folder: Path) -> None:
    """Draw the measured times against the number of rows; quoted ones are hollow."""
    times = read_times()
    looks = {
        "ravine": ("#0072b2", "o", "ravine, one split"),
        "ravine, tree of 10": ("#0072b2", "s", "ravine, 10 clusters"),
        "KMeans(2)": ("#8a8a8a", "o", "KMeans(2)"),
        "KMeans(10)": ("#8a8a8a", "s", "KMeans(10)"),
        "GaussianMixture(2)": ("#e69f00", "o", "GaussianMixture(2)"),
        "HDBSCAN": ("#d55e00", "^", "HDBSCAN"),
    }
    figure, panels = plt.subplots(1, 2, figsize=(8.0, 4.6), layout="constrained", sharey=True)
    for axes, d in zip(panels, (10, 50), strict=True):
        for name, (colour, marker, label) in looks.items():
            sizes = {10**k: times[name].get(f"10{power} x {d}", "") for k, power in enumerate("³⁴⁵⁶", 3)}
            known = {n: float(text.strip("*")) for n, text in sizes.items() if re.fullmatch(r"\*?[\d.]+\*?", text)}
            style = "--" if marker == "s" else "-"
            axes.plot(known.keys(), known.values(), style, color=colour, marker=marker, lw=2.0, ms=6, label=label)
            quoted = [n for n in known if sizes[n].startswith("*")]
            axes.plot(quoted, [known[n] for n in quoted], marker, mfc="white", mec=colour, ms=6)
        axes.set(xscale="log", yscale="log", xlabel="rows")
        axes.set_title(f"{d} features", loc="left", fontsize=11)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(color="#e5e5e5", lw=0.8)
    panels[0].set_ylabel("processor seconds, one thread")
    figure.legend(*panels[0].get_legend_handles_labels(), loc="outside lower center", ncols=3, frameon=False)
    save_figures(folder, ["speed"])


def find_browser() -> str | None:
    """Return the path of a browser that takes screenshots."""
    return shutil.which("chromium") or shutil.which("google-chrome")


def take_screenshot(page: Path, picture: Path, size: tuple[int, int]) -> None:
    """Save the top of a page as a picture."""
    with tempfile.TemporaryDirectory() as profile:
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run", "--hide-scrollbars", "--disable-sync"]
        flags += ["--disable-background-networking", "--disable-component-update", f"--user-data-dir={profile}"]
        flags += [f"--screenshot={picture.resolve()}", f"--window-size={size[0]},{size[1]}"]
        subprocess.run([find_browser(), *flags, page.as_uri()], check=True, stderr=subprocess.DEVNULL)


def draw_reports(folder: Path) -> None:
    """Draw the top of the report of `ravine demo`, and the clusters in the report of report.md."""
    if find_browser() is None:
        print("reports are not drawn: there is neither chromium nor google-chrome on the PATH", file=sys.stderr)
        return
    with tempfile.TemporaryDirectory() as name:
        demo, page = Path(name) / "demo", Path(name) / "report.html"
        command = [sys.executable, "-c", "from ravine.cli import main; main()", "demo", "--quiet", "--out", demo]
        subprocess.run(command, check=True)
        (report,) = demo.rglob("report.html")
        take_screenshot(report, folder / "report.png", (1100, 915))
        wine = load_wine()
        scaler = StandardScaler().fit(wine.data)
        X = scaler.transform(wine.data)
        mdt = MinimumDensityTree(3, random_state=0).fit(X)
        names = wine.feature_names
        write_report(page, mdt, X, feature_names=names, centre=scaler.mean_, scale=scaler.scale_, source="wine")
        page.write_text(keep_cards(page.read_text(encoding="utf-8")), encoding="utf-8")
        take_screenshot(page, folder / "feature_pvalues.png", (1180, 300))


def keep_cards(page: str) -> str:
    """Return a report that shows only the cards of its clusters; its policy would refuse the style."""
    page = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", page)
    style = "<style>.skip, header, main > section, .live > :not(#groups), #groups > :not(#cards) { display: none }"
    return page.replace(
        "</head>", f"{style} main {{ padding: 4px !important }} section {{ padding: 0 !important }}</style></head>"
    )


def main() -> None:
    """Draw all pictures, or those that are named."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    draw = {script: partial(draw_script, script=script) for script in FIGURES}
    draw |= {"displays": draw_displays, "speed": draw_speed, "reports": draw_reports}
    parser.add_argument("names", nargs="*", choices=[*draw, []], default=[])
    parser.add_argument("--into", metavar="FOLDER", type=Path, default=HERE / "images")
    arguments = parser.parse_args()
    arguments.into.mkdir(parents=True, exist_ok=True)
    for name in arguments.names or draw:
        draw[name](arguments.into)
    print(f"pictures in {arguments.into}")


if __name__ == "__main__":
    main()
