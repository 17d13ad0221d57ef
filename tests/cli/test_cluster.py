"""`ravine cluster`: labels, columns, missing cells, scales."""

import csv
import gzip
import io
import json
import os
import re

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import adjusted_rand_score

pytest.importorskip("pyarrow")
pytest.importorskip("click")


from ravine.cli.cluster import make_clusterer
from ravine.explain import describe_groups, describe_outliers
from ravine.models import load
from support.command_line import blobs, column, figures_in, leftovers, ravine, read, table, write
from support.thin_evidence import N_SHOWN, N_SUGGESTED, simulate_pairs


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_cluster_finds_the_blobs_and_writes_labels_and_model(workplace):
    text, y = table()
    printed = ravine("cluster", write(text)).stderr
    labels = column(read("data-ravine/labels.csv"), "cluster")
    assert adjusted_rand_score(y, labels) == 1.0
    assert column(read("data-ravine/labels.csv"), "row") == [str(k) for k in range(1, 181)]
    assert "180 rows, 4 columns" in printed
    assert describe_groups(3, 180) in printed
    model = load("data-ravine/model.ravine")
    assert model.estimator.labels_.tolist() == [int(label) for label in labels]
    assert {"labels.csv", "model.ravine", "summary.json"} <= set(os.listdir("data-ravine"))
    assert leftovers() == ["data-ravine"]


def test_cluster_equals_the_estimator_on_standardised_columns():
    from sklearn.preprocessing import StandardScaler

    from ravine import MinimumDensityTree

    X, _ = blobs()
    ravine("cluster", write(table()[0]), "--clusters", 5, "--seed", 3)
    expected = MinimumDensityTree(5, random_state=3).fit(StandardScaler().fit_transform(X))
    found = load("data-ravine/model.ravine").estimator
    np.testing.assert_array_equal(found.labels_, expected.labels_)
    np.testing.assert_allclose(found.tree_.offset, expected.tree_.offset, rtol=1e-9)


def test_hyperplane_gives_two_clusters_and_a_p_value():
    ravine("cluster", write(table()[0]), "--method", "hyperplane", "--scale", "none", "--out", "out", figures=True)
    assert set(figures_in("out")) == {"hyperplane.png", "direction.png", "path.png"}
    assert set(column(read("out/labels.csv"), "cluster")) == {"0", "1"}
    assert 0.0 <= load("out/model.ravine").estimator.pvalue_ <= 1.0
    assert "Valley test" in ravine("describe", "out/model.ravine").stdout
    summary = json.loads(read("out/summary.json"))
    assert summary["pvalue"] == load("out/model.ravine").estimator.pvalue_
    assert summary["test"] == str(load("out/model.ravine").estimator.valley_test_).split("\n")
    message = ravine("cluster", "data.csv", "--method", "hyperplane", "--clusters", 3, code=2).stderr
    assert "--clusters 3" in message


def test_p_level_and_depth_are_printed_and_in_the_summary():
    printed = ravine("cluster", write(table()[0]), "--json")
    for summary in (json.loads(printed.stdout), json.loads(read("data-ravine/summary.json"))):
        assert summary["level"] == 0.05
        assert [split["shown"] for split in summary["splits"]] == [True, True]
        for split in summary["splits"]:
            assert f"P = {split['pvalue']:.2g}, shown" in printed.stderr
            assert f"relative depth {split['relative_depth']:.3g}" in printed.stderr
            assert sum(split["sides"]) == split["rows"]
    described = json.loads(ravine("describe", "data-ravine/model.ravine", "--json").stdout)
    assert described["level"] == 0.05
    assert [node["shown"] for node in described["nodes"]] == [
        True,
        *[True if n["children"] else None for n in described["nodes"]][1:],
    ]
    assert "tested at the level 0.05" in ravine("describe", "data-ravine/model.ravine").stdout


def test_one_cluster_says_that_the_test_shows_no_split():
    rows = np.random.default_rng(0).normal(size=(100, 2)).tolist()
    text = "a,b\n" + "\n".join(",".join(map(repr, row)) for row in rows) + "\n"
    message = ravine("cluster", write(text)).stderr
    p = load("data-ravine/model.ravine").estimator.pvalue_
    assert f"no split, P = {p:.2g} at the level 0.05" in message


def write_pairs():
    X, y = simulate_pairs()
    lines = ["a,b,c,d", *(",".join(map(repr, row)) for row in X.tolist())]
    return write("\n".join(lines) + "\n"), y


SHOWN_AND_SUGGESTED = f"{N_SHOWN} clusters shown by the test, {N_SUGGESTED} suggested"


def test_only_clusters_that_are_shown_can_be_asked_for():
    name, y = write_pairs()
    printed = ravine("cluster", name, "--clusters", "shown").stderr
    labels = column(read("data-ravine/labels.csv"), "cluster")
    assert len(set(labels)) == N_SHOWN
    assert adjusted_rand_score(np.array(y) % 2, labels) > 0.9  # the two pairs
    assert describe_groups(N_SHOWN, 160) in printed
    summary = json.loads(read("data-ravine/summary.json"))
    assert summary["settings"]["clusters"] == "shown"
    assert load("data-ravine/model.ravine").estimator.n_shown_ == N_SHOWN
    predicted = ravine("predict", "data-ravine/model.ravine", name).stdout
    assert column(predicted, "cluster") == labels


def test_auto_names_the_suggestion_and_shows_it_in_the_report():
    name, _ = write_pairs()
    result = ravine("cluster", name, "--json", figures=True)
    summary = json.loads(result.stdout)
    assert len(summary["clusters"]) == N_SUGGESTED
    assert summary["suggestion"] == {"shown": N_SHOWN, "suggested": N_SUGGESTED, "text": SHOWN_AND_SUGGESTED}
    assert re.search(f"{SHOWN_AND_SUGGESTED}.*--clusters shown", result.stderr)
    assert SHOWN_AND_SUGGESTED in read("data-ravine/report.html")
    assert set(figures_in("data-ravine")) >= {"tree.png", "direction-0.png", "split-0.png"}


def test_equal_numbers_of_clusters_are_not_compared():
    for clusters in ("auto", 3):
        lines = table()[0].splitlines(keepends=True)[:19]
        result = ravine("cluster", write("".join(lines)), "--clusters", clusters, "--json", "--force")
        assert "suggestion" not in json.loads(result.stdout)
        assert "suggested" not in result.stderr


def test_unknown_words_for_the_number_of_clusters_are_refused():
    write(table()[0])
    message = ravine("cluster", "data.csv", "--clusters", "suggest", code=2).stderr
    assert "'suggest'" in message
    message = ravine("cluster", "data.csv", "--method", "hyperplane", "--clusters", "shown", code=2).stderr
    assert "--clusters shown" in message
    assert leftovers() == []
    assert "K|auto|shown" in ravine("cluster", "--help").stdout


@pytest.mark.parametrize("n", [60, 400])
def test_progress_of_a_hyperplane_ends_with_its_last_step(n):
    seen = []
    mdh = make_clusterer("hyperplane", 2, 0, 1, lambda done, total, remark: seen.append((done, total)))
    mdh.fit(blobs(n)[0])
    assert [done for done, _ in seen] == list(range(1, len(seen) + 1))
    assert seen[-1] == (len(mdh.path_), len(mdh.path_))


def test_json_is_the_only_standard_output():
    result = ravine("cluster", write(table()[0]), "--json", "--quiet", "--drop", "d", "--out", "o", "--clusters", 3)
    summary = json.loads(result.stdout)
    assert result.stderr == ""
    assert [c["rows"] for c in summary["clusters"]] == [60, 60, 60]
    assert summary["features"] == ["a", "b", "c"]
    assert set(summary["files"]) <= set(os.listdir("o")) | {f"figures/{n}" for n in figures_in("o")}
    assert json.loads(read("o/summary.json"))["clusters"] == summary["clusters"]


def test_standard_input_and_output():
    text, y = table()
    result = ravine("cluster", "-", "--out", "-", "--clusters", 3, stdin=text)
    assert adjusted_rand_score(y, column(result.stdout, "cluster")) == 1.0
    assert leftovers() == []
    again = ravine("cluster", "-", "--out", "-", "--clusters", 3, stdin=gzip.compress(text.encode()))
    assert again.stdout == result.stdout
    assert "--json" in ravine("cluster", "-", "--out", "-", "--json", stdin=text, code=2).stderr


def test_keys_and_known_labels_are_copied_to_the_results():
    text, y = table(extra=lambda y: {"id": [f"0{k}" for k in range(180)], "kind": [f"k{v}" for v in y]})
    printed = ravine("cluster", write(text), "--key", "id", "--label-column", "kind", "--clusters", 3).stderr
    written = read("data-ravine/labels.csv")
    assert column(written, "id") == [f"0{k}" for k in range(180)]
    assert column(written, "given") == [f"k{v}" for v in y]
    assert "adjusted Rand index 1.00" in printed


def test_key_named_like_a_result_does_not_hide_it():
    text, y = table(extra=lambda y: {"cluster": range(180)})
    ravine("cluster", write(text), "--key", "cluster", "--clusters", 3)
    assert adjusted_rand_score(y, column(read("data-ravine/labels.csv"), "ravine_cluster")) == 1.0


def test_text_is_rejected_dropped_or_encoded_never_ignored():
    text, _ = table(extra=lambda y: {"kind": [("red", "green", "blue")[v] for v in y], "it's": ["x"] * 180})
    write(text)
    message = ravine("cluster", "data.csv", code=1).stderr
    assert "'kind'" in message
    assert "--drop 'it'\"'\"'s' --encode famd" in " ".join(message.split())
    assert len(message.strip().splitlines()[-1]) == len(message.strip().split("Error:")[-1]) + len("Error:")
    ravine("cluster", "data.csv", "--drop", "kind,it's", "--out", "dropped", "--clusters", 2)
    assert load("dropped/model.ravine").preparation.get_feature_names_out().tolist() == ["a", "b", "c", "d"]
    printed = ravine(
        "cluster", "data.csv", "--drop", "it's", "--encode", "one-hot", "--out", "encoded", "--clusters", 2
    ).stderr
    assert "'kind'" in printed
    names = load("encoded/model.ravine").preparation.get_feature_names_out().tolist()
    assert names[4:] == ["kind=blue", "kind=green", "kind=red"]


def test_times_and_empty_columns_are_rejected():
    text, _ = table(extra=lambda y: {"when": ["12:30:00"] * 180})
    assert "'when'" in ravine("cluster", write(text), code=1).stderr
    text, _ = table(extra=lambda y: {"nothing": [""] * 180})
    assert "--drop nothing" in ravine("cluster", write(text), code=1).stderr


def test_booleans_counters_and_constants_are_reported():
    text, _ = table(extra=lambda y: {"yes": ["true", "false"] * 90, "n": range(5, 185), "one": [1] * 180})
    printed = ravine("cluster", write(text), "--clusters", 2).stderr
    for name in ("yes", "n", "one"):
        assert f"'{name}'" in printed


def with_gaps():
    text, y = table()
    rows = list(csv.reader(io.StringIO(text)))
    for k, mark in ((3, ""), (50, "NA"), (120, "nan")):
        rows[k][1] = mark
    rows[120][2] = ""
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    return stream.getvalue(), y


def test_missing_cells_are_rejected_with_their_counts():
    message = ravine("cluster", write(with_gaps()[0]), code=1).stderr
    assert "'b' 3, 'c' 1" in message
    assert "--missing drop" in message
    assert leftovers() == []


def test_rows_with_missing_cells_are_dropped_or_filled():
    text, y = with_gaps()
    printed = ravine("cluster", write(text), "--missing", "drop", "--out", "dropped", "--clusters", 3).stderr
    assert "3 of 180 rows" in printed
    labels = column(read("dropped/labels.csv"), "cluster")
    assert [k for k, label in enumerate(labels) if label == ""] == [2, 49, 119]
    known = [k for k, label in enumerate(labels) if label]
    assert adjusted_rand_score(y[known], [labels[k] for k in known]) == 1.0
    printed = ravine("cluster", "data.csv", "--missing", "impute-median", "--out", "filled", "--clusters", 3).stderr
    assert "'b' 3, 'c' 1" in printed
    X = blobs()[0]
    assert load("filled/model.ravine").preparation.fill_["b"] == np.median(np.delete(X[:, 1], [2, 49, 119]))
    assert "" not in column(read("filled/labels.csv"), "cluster")


def test_missing_categories_become_the_most_frequent():
    kinds = ["red"] * 60 + ["green"] * 59 + ["blue"] * 60 + [""]
    kinds[1] = "blue"
    text, _ = table(extra=lambda y: {"kind": kinds})
    ravine(
        "cluster", write(text), "--encode", "one-hot", "--missing", "impute-median", "--clusters", 2, "--scale", "none"
    )
    assert load("data-ravine/model.ravine").preparation.fill_["kind"] == "blue"


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_values_that_cannot_be_scaled_are_rejected(scale):
    text, _ = table(extra=lambda y: {"huge": np.where(y == 1, 1e308, -1e308)})
    printed = ravine("cluster", write(text), "--scale", scale, code=1).stderr
    assert "'huge'" in printed
    assert leftovers() == []


@pytest.mark.parametrize("scale", ["standard", "robust", "none"])
def test_scale_standardises_as_named(scale):
    X, _ = blobs()
    ravine("cluster", write(table()[0]), "--scale", scale, "--clusters", 2)
    model = load("data-ravine/model.ravine")
    Z = model.transform(dict(zip("abcd", X.T, strict=True)))
    quartiles = np.percentile(X, [25, 50, 75], axis=0)
    expected = {
        "standard": (X - X.mean(axis=0)) / X.std(axis=0),
        "robust": (X - quartiles[1]) / ((quartiles[2] - quartiles[0]) / np.subtract(*norm.ppf([0.75, 0.25]))),
        "none": X,
    }
    np.testing.assert_allclose(Z, expected[scale], rtol=1e-12, atol=1e-12)


def test_joined_leaves_and_boundaries_are_described():
    from support.shape_data import draw_rings

    rows, labels = draw_rings()
    lines = [f"{a:.5f},{b:.5f}" for a, b in rows]
    name = write("\n".join(["a,b", *lines]) + "\n")
    printed = ravine("cluster", name, "--clusters", 2, "--out", "auto", figures=True).stderr
    assert {"cells.png", "boundary-0-1.png", "tree.png"} <= set(figures_in("auto"))
    summary = json.loads(read("auto/summary.json"))
    assert summary["boundaries"][0]["clusters"] == [0, 1]
    assert summary["boundaries"][0]["z"] > 4.0
    assert adjusted_rand_score(labels, column(read("auto/labels.csv"), "cluster")) > 0.95
    leaves = [group["leaves"] for group in summary["clusters"]]
    assert max(leaves) > 1
    assert f"{max(leaves)} joined leaves" in printed
    described = ravine("describe", "auto/model.ravine").stdout
    assert f"{max(leaves)} joined leaves" in described


def test_memberships_and_outliers_are_columns_of_the_labels():
    X, _ = blobs()
    X[7] = 500.0
    lines = [",".join(f"{x:.5f}" for x in row) for row in X]
    name = write("\n".join(["a,b,c,d", *lines]) + "\n")
    printed = ravine("cluster", name, "--clusters", 3, "--scale", "none", "--memberships", "--outliers", 0.02).stderr
    assert describe_outliers(4) in printed
    text = read("data-ravine/labels.csv")
    labels, scores = column(text, "cluster"), np.array(column(text, "outlier_score"), dtype=float)
    assert labels[7] == "-1"
    assert labels.count("-1") == 4
    assert scores.argmax() == 7
    assert min(map(float, column(text, "membership"))) > 1 / 3 - 1e-3
    assert json.loads(read("data-ravine/summary.json"))["outliers"] == 4
    again = ravine("predict", "data-ravine/model.ravine", name, "--outliers", "--memberships").stdout
    assert column(again, "cluster") == labels
    assert column(again, "outlier_score") == column(text, "outlier_score")
    assert "-1" not in column(ravine("predict", "data-ravine/model.ravine", name).stdout, "cluster")


def test_known_labels_are_used_on_request():
    text, y = table(extra=lambda y: {"kind": np.where(np.arange(len(y)) % 5, "", np.array(["u", "v", "u"])[y])})
    name = write(text)
    ravine("cluster", name, "--label-column", "kind", "--use-labels", "--clusters", 2)
    assert json.loads(read("data-ravine/summary.json"))["violated_constraints"] == []
    labels = np.array(column(read("data-ravine/labels.csv"), "cluster"))
    known = np.arange(len(y)) % 5 == 0
    assert len(set(labels[known & (y != 1)])) == 1
    assert not set(labels[known & (y != 1)]) & set(labels[known & (y == 1)])


def test_minus_one_is_not_a_label_that_is_used():
    name = write(table(extra=lambda y: {"kind": np.where(np.arange(len(y)) % 5, -1, y)})[0])
    message = ravine("cluster", name, "--label-column", "kind", "--use-labels", "--clusters", 3, code=1).stderr
    assert "'kind' contains -1" in message
    ravine("cluster", name, "--label-column", "kind", "--clusters", 3, "--no-figures")  # only compares


def test_sizes_of_clusters_are_options():
    ravine("cluster", write(table()[0]), "--max-cluster-size", 0.2, "--min-cluster-size", 10)
    labels = np.array(column(read("data-ravine/labels.csv"), "cluster"), dtype=int)
    assert 10 <= np.bincount(labels).min() <= np.bincount(labels).max() <= 36


@pytest.mark.parametrize(
    ("options", "named"),
    [
        (["--outliers", "0.7"], "--outliers.*'0.7'"),
        (["--use-labels"], "--use-labels.*--label-column"),
        (["--max-cluster-size", "0"], "--max-cluster-size.*'0'"),
        (["--method", "hyperplane", "--max-cluster-size", "50"], "--max-cluster-size.*--method tree"),
    ],
)
def test_bad_values_of_the_new_options_are_explained(options, named):
    assert re.search(named, ravine("cluster", write(table()[0]), *options, code=2).stderr)


PYTHON = re.compile(r"\b(n|min|max|test)_[a-z_]+|\bX\b|\by\b|\bNaN\b|shape=|MinimumDensity")


@pytest.mark.parametrize(
    ("command", "n", "code", "named"),
    [
        ("cluster --clusters 500", 60, 1, "--clusters 500.*180 rows"),
        ("cluster --label-column kind --use-labels --clusters 2", 60, 1, "--label-column.* 3 "),
        ("cluster", 3, 0, "the table has 9.*--clusters"),
        ("cluster --clusters 9", 10, 0, "9"),
        ("classify --label-column one", 10, 1, r"'x' \(30 of 30 rows\)"),
        ("cluster --max-cluster-size 6", 10, 1, "--max-cluster-size.*--min-cluster-size"),
        ("cluster --max-cluster-size 20 --clusters 2", 60, 1, "90.*--clusters 2.*180 rows.*20"),
    ],
)
def test_messages_name_options_instead_of_parameters(command, n, code, named):
    labels = {"kind": lambda y: y + 1, "one": lambda y: ["x"] * len(y)}
    text = table(n=n, extra=lambda y: {name: make(y) for name, make in labels.items() if name in command.split()})[0]
    printed = " ".join(ravine(*command.split(), write(text), code=code).stderr.split())
    assert re.search(named, printed)
    assert not PYTHON.search(printed)


def test_outliers_of_a_model_without_them_are_refused():
    name = write(table()[0])
    ravine("cluster", name)
    failed = ravine("predict", "data-ravine/model.ravine", name, "--outliers", code=1)
    assert "--outliers auto" in failed.stderr
