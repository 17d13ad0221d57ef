"""The report in a real browser: Debian's chromium, driven by Playwright from an environment of its own."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, PathSettings
from ravine.report import write_report
from support.shape_data import draw_ring
from support.thin_evidence import simulate_pairs

pytestmark = pytest.mark.slow

NASTY = "</script><img src=x onerror=alert(1)>"
QUICK = {"init": "pca", "n_init": 2, "random_state": 0, "path": PathSettings(n_alpha=6)}
QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
DRIVER = Path(__file__).parents[1] / "support" / "browse_report.py"


@pytest.fixture(scope="module")
def browse(tmp_path_factory):
    """Return a function that runs a scenario of browse_report.py on a page; skip if the browser is missing."""
    names = ("chromium", "chromium-browser", "google-chrome")
    chromium = next((path for path in map(shutil.which, names) if path), None)
    if chromium is None:
        pytest.skip("no chromium: install it, on Debian with `apt-get install chromium`")
    folder = tmp_path_factory.mktemp("playwright")
    subprocess.run([sys.executable, "-m", "venv", folder], check=True, capture_output=True, timeout=120)
    python = folder / "bin" / "python"
    install = [python, "-m", "pip", "install", "--quiet", "playwright"]
    done = subprocess.run(install, capture_output=True, text=True, timeout=300)
    if done.returncode:
        pytest.skip(f"playwright cannot be installed from the package index: {done.stderr.strip()[-300:]}")

    def run(scenario, page, **options):
        job = json.dumps({"scenario": scenario, "page": page.as_uri(), "chromium": chromium, **options})
        result = subprocess.run([python, DRIVER, job], capture_output=True, text=True, timeout=180)
        assert result.returncode == 0, result.stderr
        return json.loads(result.stdout)

    return run


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(1)
    centres = ([0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 9, 9])
    X = np.concatenate([rng.standard_normal((n, 3)) + c for n, c in zip((60, 50, 40, 30), centres, strict=True)])
    return X, np.repeat([0, 1, 2, 3], [60, 50, 40, 30])


@pytest.fixture(scope="module")
def mdt(blobs):
    return MinimumDensityTree(4, **QUICK_TREE).fit(blobs[0])


@pytest.fixture(scope="module")
def page(blobs, mdt, tmp_path_factory):
    path = tmp_path_factory.mktemp("report") / "report.html"
    keys = [f"<b>key {i}</b>" for i in range(len(blobs[0]))]
    write_report(path, mdt, blobs[0], feature_names=[NASTY, "width", "height"], source=NASTY, row_keys=keys,
                 labels_true=[NASTY if k else "plain" for k in blobs[1]], label_name=NASTY)  # fmt: skip
    return path


def check_quiet(seen):
    assert seen["console"] == []
    assert seen["errors"] == []
    assert seen["dialogs"] == []
    assert [url for url in seen["requests"] if not url.startswith("file:")] == []
    assert len(seen["requests"]) == 1


def test_clicking_a_node_shows_its_density_direction_and_sides(browse, page, mdt):
    seen = browse("click", page)
    check_quiet(seen)
    node = int(mdt.tree_.left[0]) if mdt.tree_.left[mdt.tree_.left[0]] >= 0 else int(mdt.tree_.right[0])
    assert seen["node"] == node
    assert seen["selected"] == [f"split-{node}"]
    assert seen["curve"]
    assert seen["sides"] == [f"{mdt.tree_.size[k]} rows" for k in (mdt.tree_.left[node], mdt.tree_.right[node])]
    assert seen["weights"] == 3
    assert seen["rows"] == 6
    assert seen["hovered"] == "Rows at the pointer"
    assert seen["marked"] == 1
    assert "<b>key" in seen["tip"]


def test_moving_the_slider_shows_every_cut(browse, page, mdt):
    seen = browse("slide", page)
    check_quiet(seen)
    for k, cards in seen["cards"].items():
        sizes = np.bincount(mdt.cut(n_clusters=int(k))).tolist()
        assert sorted(int(words.split("\u202f")[0].split(" ")[0]) for words in cards) == sorted(sizes)
    assert sorted(seen["cards"]) == ["1", "2", "3", "4"]
    assert seen["items"] == {"1": 1, "2": 3, "3": 5, "4": 7}
    sizes = np.bincount(mdt.labels_).tolist()
    for k, marks in seen["marks"].items():
        assert len(marks) == int(k)
        for number, (size, look) in marks.items():
            assert look == seen["marks"]["4"][number][1]
            united = np.unique(mdt.labels_[mdt.cut(int(k)) == mdt.cut(int(k))[mdt.labels_ == int(number)][0]])
            assert size == sum(sizes[one] for one in united)
            assert sizes[int(number)] == max(sizes[one] for one in united)


@pytest.fixture(scope="module")
def mixed_page(tmp_path_factory):
    rng = np.random.default_rng(3)
    kind = np.repeat([0, 1, 2], [90, 60, 50])
    raw = np.column_stack(
        [np.array([[40, 6], [120, 30], [75, 14]])[kind] + rng.normal(size=(200, 2)) * [6, 2], kind == 1, kind == 2]
    )
    centre, scale = raw.mean(axis=0), raw.std(axis=0)
    names = ["monthly_expenditure_euros", "orders_per_year", "region=Westphalia", "region=Schleswig_Holstein"]
    X, path = (raw - centre) / scale, tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, MinimumDensityTree(3, **QUICK_TREE).fit(X), X, feature_names=names, centre=centre, scale=scale,
                 notes=["some note"] * 9)  # fmt: skip
    return path


@pytest.mark.parametrize("width", [400, 1280])
def test_map_and_list_of_clusters_lead_the_page(browse, mixed_page, width):
    seen = browse("overview", mixed_page, width=width)
    check_quiet(seen)
    assert (seen["paragraphs"], seen["folded"], seen["opened"]) == (1, True, True)
    assert seen["top"] < 400
    assert seen["scroll"] <= width
    assert sorted(seen["marks"]) == sorted(seen["names"]) == ["0", "1", "2"]
    assert [seen["marks"][k][0] for k in "012"] == [int(text.split("\n")[1].split(" ")[0]) for text in seen["legend"]]
    assert len({look for _, look in seen["marks"].values()}) == 3
    assert seen["broken"] == []


def test_pointer_and_keys_highlight_one_cluster(browse, mixed_page):
    seen = browse("overview", mixed_page)
    first = next(iter(seen["marks"]))
    assert re.search(r"row \d+: Cluster \d\n.*orders_per_year", seen["tip"])
    assert len(seen["faded by a row"]) == 2
    assert seen["left"] == [False, []]
    assert (seen["pressed"], sorted(seen["faded by the list"])) == (["0"], ["1", "2"])
    assert seen["key"].startswith("row ")
    assert first in "012"


def test_categories_are_shown_in_per_cent(browse, mixed_page):
    seen = browse("overview", mixed_page)
    shares = [mean for feature, mean in seen["means"] if feature.startswith("region")]
    assert len(shares) == 6
    assert all(re.fullmatch(r"\d+(\.\d)? % others \d+(\.\d)? %", mean) for mean in shares)
    assert "100 % others 0 %" in shares
    assert not any("%" in mean for feature, mean in seen["means"] if feature.endswith(("euros", "year")))


def test_arrow_keys_move_through_tree_slider_and_picture(browse, page, mdt):
    seen = browse("keys", page)
    check_quiet(seen)
    tree = mdt.tree_
    assert seen["right"] == f"split-{tree.left[0]}"
    assert seen["left"] == "split-0"
    assert seen["end"] == f"split-{tree.leaves()[-1]}"
    assert seen["outline"] != "none"
    assert seen["slider"] == "3"
    assert seen["picture"] == "Rows at the pointer"


def test_text_of_the_user_stays_text(browse, page):
    seen = browse("text", page)
    check_quiet(seen)
    assert seen["images"] == 0
    assert seen["bold"] == 0
    assert seen["nasty"] > 3
    assert NASTY in seen["title"]
    assert NASTY in seen["heading"]


@pytest.mark.parametrize("width", [360, 1280])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_page_fits_the_screen_in_both_themes(browse, page, width, scheme):
    seen = browse("look", page, width=width, scheme=scheme)
    check_quiet(seen)
    assert seen["scroll"] <= width
    assert (seen["ground"] == "rgb(18, 22, 28)") == (scheme == "dark")
    assert seen["toggled"] != seen["toggled again"]
    assert seen["printed"] == "rgb(255, 255, 255)"


@pytest.fixture(scope="module")
def suggested_page(tmp_path_factory):
    X, _ = simulate_pairs()
    path = tmp_path_factory.mktemp("report") / "report.html"
    write_report(path, MinimumDensityTree(random_state=0).fit(X), X)
    return path


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1280])
def test_suggested_splits_are_marked(browse, suggested_page, width, scheme):
    seen = browse("suggest", suggested_page, width=width, scheme=scheme)
    check_quiet(seen)
    assert seen["start"] == "3"
    assert {n: view["items"] for n, view in seen["views"].items()} == {"1": 0, "2": 0, "3": 1}
    assert {n: view["mark"] for n, view in seen["views"].items()} == {"1": False, "2": False, "3": True}
    for n, view in seen["views"].items():
        assert view["words"].startswith("2 clusters shown by the test, 3 suggested.")
        assert ("suggested, not shown by the test" in view["spoken"]) == (int(n) > 2)
    assert seen["border"] == "dashed"
    assert seen["colour"] == ("rgb(255, 160, 100)" if scheme == "dark" else "rgb(178, 60, 0)")
    assert "suggested, not shown by the test" in seen["item"]
    assert "suggested, not shown by the test" in seen["detail"]
    assert "Next split" in seen["next"]
    assert "suggested, not shown by the test" in seen["next"]
    assert seen["scroll"] <= width


def test_pages_without_a_suggestion_mark_nothing(browse, page):
    seen = browse("unmarked", page)
    check_quiet(seen)
    assert seen == {**seen, "mark": False, "items": 0}
    assert "suggested" not in seen["words"]


@pytest.mark.parametrize("width", [1280, 400])
def test_boundaries_open_like_splits(browse, tmp_path, width):
    rng = np.random.default_rng(3)
    X = np.concatenate([draw_ring(rng, 150, radius) for radius in (0.8, 1.8, 2.8)])
    mdt = MinimumDensityTree(3, random_state=0).fit(X)
    path = tmp_path / "report.html"
    write_report(path, mdt, X)
    seen = browse("boundaries", path, width=width)
    check_quiet(seen)
    evidence = sorted(mdt.tree_.joins.boundary_evidence.tolist())
    assert seen["scores"]["3"] == seen["scores"]["now"] == [f"z = {z:.1f}" for z in evidence]
    assert (seen["open"], seen["curves"], seen["line"]) == (0, len(evidence), len(evidence))
    assert (len(seen["scores"]["2"]), len(seen["scores"]["1"])) == (1, 0)
    assert not seen["shown"]
    assert seen["width"] <= width


def test_pairs_of_classes_can_be_clicked(browse, blobs, tmp_path):
    X, truth = blobs
    y = np.full(len(X), None, dtype=object)
    for k in range(4):
        y[np.flatnonzero(truth == k)[:4]] = f"<i>{k}</i>"
    path = tmp_path / "report.html"
    write_report(path, MinimumDensityClassifier(random_state=0).fit(X, y), X, labels_true=y)
    seen = browse("pairs", path)
    check_quiet(seen)
    assert seen["pairs"] == 6
    assert seen["heading"] == "<i>2</i> or <i>3</i>"
    assert seen["cut"] is False


def test_one_cluster_has_no_slider(browse, tmp_path):
    X = np.random.default_rng(0).standard_normal((60, 2))
    path = tmp_path / "report.html"
    write_report(path, MinimumDensityTree(**QUICK_TREE).fit(X), X)
    seen = browse("single", path)
    check_quiet(seen)
    assert seen["cut"] is False
    assert seen["heading"] == "Cluster 0"
