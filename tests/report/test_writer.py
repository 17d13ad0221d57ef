"""The page of the report: valid, self-contained, small, and safe whatever the user's text holds."""

import base64
import hashlib
import importlib.metadata
import re
import warnings
from html import escape
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import ravine
from ravine import (
    Hyperplane,
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    NoSplitWarning,
    PathSettings,
    Split,
)
from ravine.report import write_report, writer
from ravine.report.writer import AUTHORS, PAPER, embed_json
from support.report_files import Page, report

QUICK = {"init": "pca", "n_init": 2, "random_state": 0, "path": PathSettings(n_alpha=6)}

QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}
NASTY = [
    "</script><img src=x onerror=alert(1)>",
    "<!--<script>",
    "]]>&amp;\"'`",
    "line\u2028end\u2029\x00\x1b[31m",
    "\ud800 half",
    "@@DATA@@",
    "\u202eright to left",
]


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(1)
    centres = np.zeros((3, len(NASTY)))
    centres[1, 0], centres[2, 1] = 9.0, 9.0
    return np.concatenate([rng.standard_normal((40, len(NASTY))) + c for c in centres])


@pytest.fixture(scope="module")
def mdt(blobs):
    return MinimumDensityTree(3, random_state=0, hyperplane=MinimumDensityHyperplane(**QUICK, test="pooled")).fit(blobs)


@pytest.fixture(scope="module")
def nasty(blobs, mdt, tmp_path_factory):
    each = np.array(NASTY * 20)[: len(blobs)]
    return report(
        tmp_path_factory.mktemp("report"), mdt, blobs, feature_names=NASTY, source=NASTY[0], notes=NASTY,
        labels_true=each, label_name=NASTY[0], row_keys=each, key_name=NASTY[1], settings={t: t for t in NASTY},
    )  # fmt: skip


# ------------------------------------------------------------------------------------------------- safe


def test_text_of_the_user_adds_no_element(nasty, blobs, mdt, tmp_path):
    _, plain = report(
        tmp_path, mdt, blobs, feature_names=list("abcdefg"), source="a", notes=list("abcdefg"), label_name="l",
        labels_true=np.array(list("abcdefg") * 20)[: len(blobs)], settings={c: c for c in "abcdefg"}, key_name="k",
    )  # fmt: skip
    text, page = nasty
    assert [tag for tag, _ in page.elements] == [tag for tag, _ in plain.elements]
    assert [sorted(attributes) for _, attributes in page.elements] == [sorted(a) for _, a in plain.elements]
    assert "<img" not in text
    assert "\u2028" not in text
    assert "\x00" not in text


def test_text_of_the_user_is_shown_unchanged(nasty):
    _, page = nasty
    assert NASTY[0] in page.text
    assert page.data["features"][0] in NASTY
    assert NASTY[0] in page.data["features"]
    assert NASTY[0] in page.data["labels"].values()
    assert NASTY[0] in page.data["sample"]["keys"]
    assert page.data["keyName"] == NASTY[1]
    assert "@@DATA@@" in page.text


def test_policy_allows_only_the_script_and_style_of_the_page(nasty):
    text, page = nasty
    (policy,) = (a["content"] for tag, a in page.elements if a.get("http-equiv") == "Content-Security-Policy")
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    assert rules["default-src"] == "'none'"
    for kind, directive in (("style", "style-src"), ("script", "script-src")):
        (code,) = (body for tag, a, body in page.scripts if tag == kind and "type" not in a)
        digest = base64.b64encode(hashlib.sha256(code.encode()).digest()).decode()
        assert rules[directive] == f"'sha256-{digest}'"
    assert "unsafe" not in policy
    assert not [a for _, a in page.elements if any(name == "style" or name.startswith("on") for name in a)]
    assert text.index("Content-Security-Policy") < text.index("<style")


def test_nothing_is_loaded_from_anywhere(nasty):
    text, page = nasty
    assert set(re.findall(r"[a-z]+://[^\s\"'<)]*", text)) == {"http://www.w3.org/2000/svg"}
    for tag, attributes in page.elements:
        assert tag not in ("link", "img", "iframe", "object", "embed", "base")
        assert "src" not in attributes
        assert attributes.get("href", "#").startswith("#")
    assert "url(" not in text.replace("url(#", "")
    assert "@import" not in text


def test_scripts_never_read_markup_from_data():
    folder = Path(writer.__file__).parent
    for path in folder.glob("*.js"):
        code = path.read_text(encoding="utf-8")
        for forbidden in ("innerHTML", "outerHTML", "insertAdjacent", "document.write", "eval(", "fetch(", "XMLHttp"):
            assert forbidden not in code, (path.name, forbidden)
        assert len(code.splitlines()) < 400
    assert {path.name for path in folder.glob("*.js")} == set(writer.SCRIPTS)


def test_json_cannot_end_its_script():
    text = embed_json({"a</script>": "<!-- & \u2028 \u2029"})
    assert not set("<>&\u2028\u2029") & set(text)
    with pytest.raises(ValueError, match="JSON"):
        embed_json([float("nan")])


# ------------------------------------------------------------------------------------------------- valid


def test_ids_are_unique_and_references_lead_somewhere(nasty):
    _, page = nasty
    assert len(page.ids) == len(set(page.ids))
    for _, attributes in page.elements:
        for name in ("aria-labelledby", "for"):
            assert attributes.get(name, page.ids[0]) in page.ids
        assert attributes.get("href", "#" + page.ids[0])[1:] in page.ids


def test_page_has_landmarks_a_language_and_a_title(nasty):
    _, page = nasty
    tags = [tag for tag, _ in page.elements]
    for tag in ("header", "main", "nav", "footer", "h1", "title"):
        assert tags.count(tag) == 1, tag
    assert dict(page.elements)["html"]["lang"] == "en"
    assert "viewport" in [attributes.get("name") for tag, attributes in page.elements if tag == "meta"]


def test_elements_that_the_script_looks_up_exist(nasty):
    text, page = nasty
    asked = set(re.findall(r'byId\("([\w-]+)"\)', text))
    assert len(asked) > 15
    assert asked <= set(page.ids)


def test_styles_define_every_colour_that_is_used():
    css = (Path(writer.__file__).parent / "page.css").read_text(encoding="utf-8")
    assert set(re.findall(r"var\((--\w+)\)", css)) <= set(re.findall(r"(--\w+):", css))
    assert "color-scheme: light dark" in css
    assert "prefers-reduced-motion" in css
    assert "@media print" in css


def read_themes():
    """Return the colours of the light and of the dark theme by name."""
    css = (Path(writer.__file__).parent / "page.css").read_text(encoding="utf-8")
    found = re.findall(r"(--\w+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", css)
    assert len(found) > 20
    return [{name: pair[k] for name, *pair in found} for k in range(2)]


def contrast_ratio(one, other):
    def luminance(colour):
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        red, green, blue = (c / 12.92 if c <= 0.03928 else ((c + 0.055) / 1.055) ** 2.4 for c in parts)
        return 0.2126 * red + 0.7152 * green + 0.0722 * blue

    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


def test_text_and_colours_have_enough_contrast():
    for theme in read_themes():
        for ground in ("--ground", "--panel", "--soft"):
            for ink in ("--ink", "--quiet", "--accent"):
                assert contrast_ratio(theme[ink], theme[ground]) >= 4.5, (ink, ground)
        for k in range(12):  # shapes, not text
            assert contrast_ratio(theme[f"--c{k}"], theme["--panel"]) >= 3.0, k


# Machado, Oliveira and Fernandes (2009), severity 1, for linear RGB.
COLOUR_BLIND = {
    "none": np.eye(3),
    "protan": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deutan": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.011820, 0.042940, 0.968881]],
    "tritan": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.303900]],
}


def convert_to_lab(colour, vision):
    """Return CIELAB of a colour as seen with a kind of colour blindness."""
    part = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(part <= 0.04045, part / 12.92, ((part + 0.055) / 1.055) ** 2.4)
    seen = np.clip(np.array(COLOUR_BLIND[vision]) @ linear, 0.0, 1.0)
    xyz = [[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]] @ seen / [0.9505, 1.0, 1.089]
    x, y, z = np.where(xyz > 0.008856, np.cbrt(xyz), 7.787 * xyz + 16 / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("vision", COLOUR_BLIND)
def test_clusters_with_one_mark_have_distinct_colours(vision):
    """Of 12 clusters, those with the same mark differ clearly in colour, also with colour blindness."""
    for theme in read_themes():
        lab = [convert_to_lab(theme[f"--c{k}"], vision) for k in range(12)]
        least = {(a, b): np.linalg.norm(lab[a] - lab[b]) for a in range(12) for b in range(a) if (a - b) % 5 == 0}
        assert min(least.values()) > 15, least


def test_at_most_one_paragraph_precedes_the_map(nasty):
    text, _ = nasty
    before = re.sub(r"(?s)<noscript>.*?</noscript>", "", text[text.index("<main>") : text.index('<svg id="picture"')])
    assert len(re.findall(r"<p[ >](?!id=)", re.sub(r'<p id="cut[^>]*>', "", before))) == 1
    assert '<details id="method-box">' in text


def test_citation_is_that_of_the_citation_file(nasty):
    _, page = nasty
    path = Path(__file__).parents[2] / "CITATION.cff"
    cff = path.read_text(encoding="utf-8")
    for name in AUTHORS:
        family, given = name.split(", ")
        assert f"family-names: {family}\n      given-names: {given}" in cff
    for value in (PAPER["title"], PAPER["journal"], f"volume: {PAPER['volume']}", f"year: {PAPER['year']}"):
        assert value in cff
    assert "N. G. Pavlidis, D. P. Hofmeyr and S. K. Tasoulis. Minimum Density Hyperplanes." in page.text
    assert f"version {ravine.__version__}" in page.text
    assert importlib.metadata.version("numpy") in page.text


# ------------------------------------------------------------------------------------------------- odd models and data


def test_a_tree_without_a_split_is_one_cluster(tmp_path, rng):
    X = rng.standard_normal((15, 3))  # too few rows for a suggestion
    mdt = MinimumDensityTree(**QUICK_TREE).fit(X)
    assert mdt.n_clusters_ == mdt.n_shown_ == 1
    _, page = report(tmp_path, mdt, X, source="noise.csv")
    assert "noise.csv" in page.text
    assert [len(cut["groups"]) for cut in page.data["cuts"]] == [1]
    assert page.data["groups"][0]["apart"] == []
    assert len(page.data["sample"]["values"][0]) == 3


def test_a_hyperplane_at_infinity_is_one_cluster(tmp_path):
    X = np.ones((20, 2))
    with pytest.warns(NoSplitWarning):
        mdh = MinimumDensityHyperplane().fit(X)
    _, page = report(tmp_path, mdh, X)
    assert "no hyperplane" in page.text
    assert len(page.data["splits"]) == 1


def test_equal_rows_of_a_classifier_have_no_curve(tmp_path):
    X = np.ones((20, 2))
    with pytest.warns(NoSplitWarning):
        mdc = MinimumDensityClassifier().fit(X, [0, 1, 1, *[-1] * 17])
    _, page = report(tmp_path, mdc, X, labels_true=[0, 1, 1, *[-1] * 17])
    assert "curve" not in page.data["splits"][0]


@pytest.mark.parametrize("n_features", [1, 200])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_one_and_many_features_are_shown(tmp_path, n_features, dtype):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((80, n_features))
    X[:40, 0] += 12.0
    mdt = MinimumDensityTree(2, **QUICK_TREE).fit(X.astype(dtype))
    _, page = report(tmp_path, mdt, X.astype(dtype))
    assert page.data["nFeatures"] == n_features
    assert len(page.data["features"]) <= min(n_features, 40)
    root = page.data["splits"][0]
    assert len(root["weights"]) + root["others"][0] == n_features


def test_two_rows_have_a_report(tmp_path):
    X = np.array([[0.0, 1.0], [5.0, 1.0]])
    mdt = MinimumDensityTree(2, min_cluster_size=1, **QUICK_TREE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mdt.fit(X)
    _, page = report(tmp_path, mdt, X)
    assert page.data["n"] == 2


def test_huge_offsets_and_scales_leave_no_nan(tmp_path, rng):
    X = rng.standard_normal((80, 3))
    X[40:, 0] += 9.0
    X = X * [1e-150, 1e-150, 0.0] + [1e8 * 1e-150, 0.0, 1e100]
    mdt = MinimumDensityTree(2, **QUICK_TREE)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        mdt.fit(X)
        _, page = report(tmp_path, mdt, X)
    assert page.data["n"] == 80


def test_trees_of_other_splitters_get_a_bandwidth_for_the_curve(tmp_path, blobs):
    class Median:
        def split(self, X, rows, rng):
            return Split(Hyperplane(np.eye(X.shape[1])[0], float(np.median(X[rows, 0]))))

    mdt = MinimumDensityTree(4, random_state=0, hyperplane=Median()).fit(blobs)
    _, page = report(tmp_path, mdt, blobs)
    root = page.data["splits"][0]
    assert root["depth"] is None
    assert not root["curve"]["own"]


def test_other_rows_than_those_of_the_fit_are_noted(tmp_path, mdt, blobs):
    _, page = report(tmp_path, mdt, blobs[::2])
    assert "not the rows" in page.text
    assert page.data["splits"][0]["size"] == 60
    _, page = report(tmp_path, mdt, blobs[:1])  # most clusters are empty
    assert page.data["n"] == 1


def test_names_come_from_a_data_frame(tmp_path, blobs):
    frame = pd.DataFrame(blobs, columns=[f"col {j}" for j in range(blobs.shape[1])])
    mdt = MinimumDensityTree(3, **QUICK_TREE).fit(frame)
    _, page = report(tmp_path, mdt, frame, row_keys=pd.Series([f"r{i}" for i in range(120)], index=range(5, 125)))
    assert all(name.startswith("col ") for name in page.data["features"])
    assert page.data["sample"]["keys"][0] == "r0"


# ------------------------------------------------------------------------------------------------- size


def stacked_tree(n_leaves, n_features, rows_per_leaf=4):
    """Return a chain of splits along the first feature, made by a splitter with fixed positions."""

    class Last:
        def split(self, X, rows, rng):
            values = np.unique(X[rows, 0])
            if len(values) < 2:
                return Split(None)
            return Split(Hyperplane(np.eye(X.shape[1])[0], float(values[-2:].mean())))

    rng = np.random.default_rng(0)
    X = rng.standard_normal((n_leaves * rows_per_leaf, n_features))
    X[:, 0] = np.repeat(np.arange(n_leaves), rows_per_leaf)
    mdt = MinimumDensityTree(n_leaves, min_cluster_size=1, random_state=0, hyperplane=Last())
    return mdt.fit(X), X


def test_large_reports_stay_below_three_megabytes(tmp_path):
    mdt, X = stacked_tree(150, 400)
    names = [f"{j} " + "\U0001f3d4<" * 500 for j in range(400)]
    keys, labels = [f"{i}" + "é&" * 500 for i in range(600)], [f"{i % 7}" + "é" * 500 for i in range(600)]
    text, page = report(
        tmp_path, mdt, X, feature_names=names, row_keys=keys, labels_true=labels, notes=["<" * 10_000] * 1000
    )
    assert len(text.encode()) <= 3_000_000
    assert re.search("150 clusters.* 120 clusters", page.text)
    assert len(page.data["cuts"]) == 120
    assert len(page.data["sample"]["keys"]) > 100


def test_size_does_not_depend_on_the_number_of_rows(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((21_000, 30))
    X[:7_000, 0] += 9.0
    mdh = MinimumDensityHyperplane(subsample=2000, **QUICK).fit(X)
    text, page = report(tmp_path, mdh, X, max_rows=10**9)
    assert len(text.encode()) <= 3_000_000
    assert len(page.data["sample"]["keys"]) == 20_000
    text, page = report(tmp_path, mdh, X)
    assert len(text.encode()) < 600_000
    assert len(page.data["sample"]["keys"]) == 2000
    assert "a sample of 2\u202f000" in page.text


def test_too_many_labels_are_noted_and_not_compared(tmp_path, mdt, blobs, monkeypatch):
    monkeypatch.setattr("ravine.report.findings.MAX_LABELS", 10)
    _, page = report(tmp_path, mdt, blobs, labels_true=np.arange(120))
    assert "120 different values" in page.text
    assert page.data["cuts"][1]["agreement"] is None


# ------------------------------------------------------------------------------------------------- writing


def test_writing_is_all_or_nothing(tmp_path, mdt, blobs, monkeypatch):
    path = tmp_path / "report.html"
    path.write_text("before")
    monkeypatch.setattr("os.fsync", lambda _: (_ for _ in ()).throw(OSError("disk full")))
    with pytest.raises(OSError, match="disk full"):
        write_report(path, mdt, blobs)
    assert [p.name for p in tmp_path.iterdir()] == ["report.html"]
    assert path.read_text() == "before"


def test_reports_are_deterministic(tmp_path, mdt, blobs):
    assert report(tmp_path, mdt, blobs)[0] == report(tmp_path, mdt, blobs)[0]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"feature_names": ["a"]}, ValueError),
        ({"row_keys": [1, 2]}, ValueError),
        ({"labels_true": [1, 2]}, ValueError),
        ({"scale": np.zeros(7)}, ValueError),
        ({"centre": [np.nan] * 7}, ValueError),
        ({"max_rows": 0}, ValueError),
        ({"notes": "one text"}, TypeError),
    ],
)
def test_errors_name_the_argument_and_leave_no_file(tmp_path, mdt, blobs, options, error):
    with pytest.raises(error, match=next(iter(options))):
        write_report(tmp_path / "report.html", mdt, blobs, **options)
    assert not list(tmp_path.iterdir())


def test_only_fitted_estimators_of_ravine_have_a_report(tmp_path, blobs, mdt):
    with pytest.raises(NotFittedError):
        write_report(tmp_path / "report.html", MinimumDensityTree(), blobs)
    with pytest.raises(TypeError, match="Pipeline"):
        write_report(tmp_path / "report.html", make_pipeline(mdt, StandardScaler()), blobs)


def test_without_scripts_the_clusters_are_a_table(nasty, mdt):
    text, _ = nasty
    table = text[text.index("<noscript>") : text.index("</noscript>")]
    assert len(Page(table.replace("<noscript>", "<main>") + "</main>").elements) > 5
    for size in np.bincount(mdt.labels_):
        assert f"{size} rows" in table
    assert escape(NASTY[0]) in table
