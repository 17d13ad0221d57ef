"""`ravine classify`, `predict`, `describe` and `demo`: labels as written, columns by name."""

import csv
import io
import json
import os
import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

pytest.importorskip("pyarrow")
pytest.importorskip("click")


from ravine import MinimumDensityHyperplane, MinimumDensityTree, describe_rules
from ravine.cli.summary import describe_violations
from ravine.explain import find_suggestion
from ravine.models import load, save
from support.command_line import blobs, column, figures_in, ravine, read, table, write
from support.thin_evidence import simulate_pairs


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_classify_labels_the_empty_cells():
    text, y = table(extra=lambda y: {"kind": [("red", "green", "blue")[v] if k < 20 else "" for k, v in enumerate(y)]})
    printed = ravine("classify", write(text), "--label-column", "kind", figures=True).stderr
    assert set(figures_in("data-ravine")) == {"pair-0.png", "pair-1.png"}
    written = read("data-ravine/labels.csv")
    assert column(written, "class") == [("red", "green", "blue")[v] for v in y]
    assert column(written, "given")[:20] == column(written, "class")[:20]
    assert set(column(written, "given")[20:]) == {""}
    assert all(0.3 < float(p) <= 1.0 for p in column(written, "probability"))
    assert "20 of 180 rows" in printed
    assert load("data-ravine/model.ravine").estimator.classes_.tolist() == ["blue", "green", "red"]
    out = ravine("predict", "data-ravine/model.ravine", "data.csv").stdout
    assert column(out, "class") == column(written, "class")
    assert "blue, green, red" in ravine("describe", "data-ravine/model.ravine").stdout


@pytest.mark.parametrize("kinds", [("01", "02", "03"), ("0.5", "1.5", "2.50"), ("2020-01-02", "2020-01-03", "x")])
def test_labels_are_kept_as_written(kinds):
    text, y = table(extra=lambda y: {"kind": [kinds[v] if k < 20 else "" for k, v in enumerate(y.tolist())]})
    ravine("classify", write(text), "--label-column", "kind")
    written = read("data-ravine/labels.csv")
    assert column(written, "class") == [kinds[v] for v in y]
    assert column(written, "given") == [kinds[v] if k < 20 else "" for k, v in enumerate(y)]
    ravine("cluster", "data.csv", "--label-column", "kind", "--clusters", 3, "--out", "o")
    assert column(read("o/labels.csv"), "given") == column(written, "given")


def arrow_table(labels):
    import pyarrow as pa

    return pa.table({**dict(zip("abcd", blobs()[0].T, strict=True)), "kind": labels})


def test_labels_of_typed_columns():
    import datetime

    import pyarrow as pa
    import pyarrow.parquet

    y = blobs()[1].tolist()
    for of, classes in (
        (lambda v: v, [0, 1, 2]),
        (float, [0, 1, 2]),
        (lambda v: v + 0.5, ["0.5", "1.5", "2.5"]),
        (lambda v: datetime.date(2020, 1, 1 + v), ["2020-01-01", "2020-01-02", "2020-01-03"]),
    ):
        pyarrow.parquet.write_table(arrow_table(pa.array([of(v) if k < 30 else None for k, v in enumerate(y)])), "p")
        ravine("classify", "p", "--label-column", "kind", "--force")
        assert load("p-ravine/model.ravine").estimator.classes_.tolist() == classes
        assert column(read("p-ravine/labels.csv"), "class") == [str(classes[v]) for v in y]


def test_minus_one_is_an_ordinary_label_for_clustering():
    text, _ = table(extra=lambda y: {"kind": [v - 1 for v in y.tolist()]})
    printed = ravine("cluster", write(text), "--label-column", "kind", "--clusters", 3).stderr
    assert "adjusted Rand index 1.00" in printed
    assert json.loads(read("data-ravine/summary.json"))["agreement"]["rows"] == 180


def test_index_of_a_data_frame_is_not_a_feature():
    import pyarrow.feather
    import pyarrow.parquet

    frame = arrow_table(list(range(180))).rename_columns(["a", "b", "c", "d", "__index_level_0__"])
    pyarrow.parquet.write_table(frame, "p")
    pyarrow.feather.write_feather(frame, "f")
    np.save("n.npy", blobs()[0])
    for name in "pf":
        printed = ravine("cluster", name, "--clusters", 3).stderr
        assert f"{name}: 180 rows, 5 columns" in printed
        assert "'__index_level_0__'" in printed
        assert load(f"{name}-ravine/model.ravine").preparation.get_feature_names_out().tolist() == [*"abcd"]
    assert "n.npy: 180 rows, 4 columns" in ravine("cluster", "n.npy", "--clusters", 3).stderr
    ravine("cluster", "p", "--key", "__index_level_0__", "--clusters", 3, "--out", "o")
    assert column(read("o/labels.csv"), "__index_level_0__") == [str(k) for k in range(180)]


def test_keys_of_any_type_are_written_as_json():
    import datetime

    import pyarrow.parquet

    day = datetime.datetime(2020, 1, 2)
    pyarrow.parquet.write_table(arrow_table([day] * 180), "p")
    ravine("cluster", "p", "--key", "kind", "--clusters", 3)
    answer = json.loads(ravine("predict", "p-ravine/model.ravine", "p", "--key", "kind", "--json").stdout)
    assert answer["labels"]["kind"] == [str(day)] * 180


def test_control_characters_are_escaped():
    kinds = ("one\nline", "\x1b[31mred", "plain")
    text, _ = table(("a\x07", "b", "c", "d"), extra=lambda y: {"kind": [kinds[v] for v in y]})
    run = ravine("classify", write(text), "--label-column", "kind")
    described = ravine("describe", "data-ravine/model.ravine").stdout
    predicted = ravine("predict", "data-ravine/model.ravine", "data.csv").stderr
    for shown in (run.stderr, described, predicted):
        assert "one\\nline" in shown
        assert "\\x1b[31mred" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown
    assert "a\\x07" in described


def test_standard_input_is_named():
    ravine("cluster", "-", "--out", "o", "--clusters", 2, stdin=table()[0], figures=True)
    assert json.loads(read("o/summary.json"))["input"] == "standard input"
    assert "in standard input</title>" in read("o/report.html")


def test_warnings_of_the_figures_are_in_the_summary(monkeypatch):
    import warnings

    monkeypatch.setattr("ravine.cli.outputs.write_figures", lambda *args: warnings.warn("no such glyph", stacklevel=2))
    ravine("cluster", write(table()[0]), "--clusters", 2, figures=True)
    assert "note: no such glyph" in json.loads(read("data-ravine/summary.json"))["notes"]


def test_classify_suggests_rows_to_label():
    X = np.random.default_rng(0).standard_normal((60, 2)) + 6.0 * (np.arange(60) % 2)[:, None]
    lines = [f"r{i},{a:.4f},{b:.4f},{'ab'[i % 2] if i < 10 else ''}" for i, (a, b) in enumerate(X.tolist())]
    write("\n".join(["id,x,y,kind", *lines]) + "\n")
    arguments = "classify", "data.csv", "--label-column", "kind", "--key", "id"
    printed = ravine(*arguments, "--suggest", "5").stderr
    evidence = json.loads(read("data-ravine/summary.json"))["unlabelled_rows"]
    assert evidence in printed
    assert "suggestions.csv" in printed
    rows = Path("data-ravine/suggestions.csv").read_text().splitlines()
    assert rows[0] == '"id","class","probability","given"'
    assert len(rows) == 6
    assert all(int(row.split(",")[0].strip('"r')) >= 10 and row.endswith(",") for row in rows[1:])
    assert evidence in ravine("describe", "data-ravine/model.ravine").stdout
    ravine(*arguments, "--force")
    assert not Path("data-ravine/suggestions.csv").exists()
    assert "50 rows" in ravine(*arguments, "--suggest", "51", "--out", "o", code=2).stderr
    assert "--suggest" in ravine(*arguments, "--suggest", "5", "--out", "-", code=2).stderr


def test_classify_rejects_ambiguous_labels():
    text, _ = table(extra=lambda y: {"kind": [v - 1 for v in y.tolist()]})
    assert "contains -1" in ravine("classify", write(text), "--label-column", "kind", "--out", "o", code=1).stderr
    text, _ = table(extra=lambda y: {"kind": [""] * 180})
    assert "unlabelled" in ravine("classify", write(text), "--label-column", "kind", "--out", "o", code=1).stderr
    text, _ = table(extra=lambda y: {"kind": ["x"] * 180})
    assert "'x'" in ravine("classify", write(text), "--label-column", "kind", "--out", "o", code=1).stderr
    assert "--label-column" in ravine("classify", "data.csv", code=2).stderr


def test_predict_finds_columns_by_name_and_reports_others():
    text, _ = table()
    ravine("cluster", write(text), "--clusters", 3)
    expected = column(read("data-ravine/labels.csv"), "cluster")
    rows = [dict(row, more="x", key=f"r{k}") for k, row in enumerate(csv.DictReader(io.StringIO(text)))]
    stream = io.StringIO()
    writer = csv.DictWriter(stream, ["more", "d", "c", "key", "b", "a"])
    writer.writeheader()
    writer.writerows(rows)
    result = ravine("predict", "data-ravine/model.ravine", "-", "--key", "key", stdin=stream.getvalue())
    assert column(result.stdout, "cluster") == expected
    assert column(result.stdout, "key") == [f"r{k}" for k in range(180)]
    assert "'more'" in result.stderr
    ravine("predict", "data-ravine/model.ravine", "data.csv", "--out", "new.csv")
    assert column(read("new.csv"), "cluster") == expected
    refused = ravine("predict", "data-ravine/model.ravine", "data.csv", "--out", "new.csv", code=1).stderr
    assert "'new.csv'" in refused
    assert "--force" in refused
    ravine("predict", "data-ravine/model.ravine", "data.csv", "--out", "new.csv", "--force")
    answer = json.loads(ravine("predict", "data-ravine/model.ravine", "data.csv", "--json").stdout)
    assert [str(k) for k in answer["labels"]["cluster"]] == expected


def test_predict_names_missing_columns():
    ravine("cluster", write(table()[0]), "--clusters", 3)
    write("a,c,z\n1,2,3\n", "new.csv")
    message = ravine("predict", "data-ravine/model.ravine", "new.csv", code=1).stderr
    assert "'b', 'd'" in message
    assert "'a', 'c', 'z'" in message
    write("a,b,c,d\n1,x,3,4\n", "new.csv")
    assert "'b'" in ravine("predict", "data-ravine/model.ravine", "new.csv", code=1).stderr


def test_predict_treats_missing_cells_as_chosen():
    ravine("cluster", write(table()[0]), "--clusters", 3)
    write("a,b,c,d\n8,0,0,0\n,0,0,0\n", "new.csv")
    model = "data-ravine/model.ravine"
    assert "'a' 1" in ravine("predict", model, "new.csv", code=1).stderr
    assert column(ravine("predict", model, "new.csv", "--missing", "drop").stdout, "cluster")[1] == ""
    assert "no medians" in ravine("predict", model, "new.csv", "--missing", "impute-median", code=1).stderr


def test_other_files_are_rejected_as_models():
    write(table()[0])
    for command in (("predict", "data.csv", "data.csv"), ("describe", "data.csv")):
        assert "data.csv" in ravine(*command, code=1).stderr
        assert "none.ravine" in ravine(command[0], "none.ravine", *command[2:], code=1).stderr


def test_describe_prints_text_or_json():
    ravine("cluster", write(table()[0]), "--clusters", 3)
    text = ravine("describe", "data-ravine/model.ravine").stdout
    tree = load("data-ravine/model.ravine").estimator.tree_
    assert repr(tree) in text
    assert tree.rules(cluster=0, feature_names=list("abcd")) in text
    assert "a, b, c, d" in text
    known = json.loads(ravine("describe", "data-ravine/model.ravine", "--json").stdout)
    assert known["clusters"] == 3
    assert len(known["nodes"]) == 5
    assert known["columns"] == ["a", "b", "c", "d"]


def test_describe_shows_both_numbers_of_clusters():
    X, _ = simulate_pairs()
    save(
        MinimumDensityTree(random_state=0, alpha=0.2, hyperplane=MinimumDensityHyperplane(test="exact")).fit(X),
        "model.ravine",
    )
    mdt = load("model.ravine")
    text = ravine("describe", "model.ravine").stdout
    assert str(find_suggestion(mdt)) in text
    assert "alpha=0.2" in text
    assert "hyperplane=MinimumDensityHyperplane(test='exact')" in text
    known = json.loads(ravine("describe", "model.ravine", "--json").stdout)
    assert (known["clusters"], known["shown"], known["suggested"]) == (
        mdt.n_clusters_,
        mdt.n_shown_,
        mdt.n_clusters_,
    )
    assert known["parameters"]["hyperplane"] == "MinimumDensityHyperplane(test='exact')"


def test_describe_of_a_tree_of_suggested_clusters():
    X, _ = simulate_pairs()
    save(MinimumDensityTree(random_state=0).fit(X), "model.ravine")
    assert str(find_suggestion(load("model.ravine"))) in ravine("describe", "model.ravine").stdout
    known = json.loads(ravine("describe", "model.ravine", "--json").stdout)
    assert (known["clusters"], known["shown"], known["suggested"]) == (3, 2, 3)


def test_describe_without_a_suggestion():
    X, _ = simulate_pairs()
    mdt = MinimumDensityTree(3, random_state=0, hyperplane=MinimumDensityHyperplane(init="axes")).fit(X)
    save(mdt.set_params(alpha=float("inf")), "model.ravine")
    text = ravine("describe", "model.ravine").stdout
    assert "suggested" not in text
    assert "alpha=inf, hyperplane=MinimumDensityHyperplane(init='axes'), n_clusters=3" in text
    known = json.loads(ravine("describe", "model.ravine", "--json").stdout)
    assert "shown" not in known
    assert known["parameters"] == {**known["parameters"], "alpha": "inf"}
    save(MinimumDensityHyperplane(init=np.eye(4)).fit(X), "model.ravine")
    assert "parameters: init=array([[1., 0., 0., 0.]" in ravine("describe", "model.ravine").stdout
    assert "array" in json.loads(ravine("describe", "model.ravine", "--json").stdout)["parameters"]["init"]


def test_demo_writes_results_that_agree_with_the_truth():
    printed = ravine("demo").stderr
    page = (Path(__file__).parents[2] / "docs" / "get_started.md").read_text(encoding="utf-8")
    assert re.findall(r"```text\n(4 clusters of 400 rows\n.*?)```", page, re.DOTALL)[0] in printed
    assert "adjusted Rand index 1.00" in printed
    assert {"birds.csv", "labels.csv", "model.ravine"} <= set(os.listdir("ravine-demo"))
    assert set(os.listdir("ravine-demo/figures")) == {"tree.png", "direction-0.png"} | {
        f"split-{k}.png" for k in (0, 2)
    }
    assert "--force" in ravine("demo", code=1).stderr
    ravine("cluster", "ravine-demo/birds.csv", "--key", "ring", "--label-column", "kind", "--out", "again")
    assert read("again/labels.csv") == read("ravine-demo/labels.csv")


def test_classes_are_described_in_json():
    text, _ = table(extra=lambda y: {"kind": [("red", "green", "blue")[v] if k < 20 else "" for k, v in enumerate(y)]})
    ravine("classify", write(text), "--label-column", "kind")
    found = json.loads(ravine("describe", "data-ravine/model.ravine", "--json").stdout)
    assert found["classes"] == ["blue", "green", "red"]
    assert [pair["classes"] for pair in found["pairs"]] == [["blue", "green"], ["blue", "red"], ["green", "red"]]


def test_many_clusters_are_shortened_on_the_terminal(monkeypatch):
    monkeypatch.setattr("ravine.cli.describe.MAX_GROUPS", 2)
    monkeypatch.setattr("ravine.cli.summary.MAX_GROUPS", 2)
    assert "and 1 more" in ravine("cluster", write(table()[0]), "--clusters", "3").stderr
    assert "and 1 more" in ravine("describe", "data-ravine/model.ravine").stdout


def test_labels_that_contradict_the_clusters_are_counted():
    result = SimpleNamespace(keys=["r0", "r1", "r2"], kept=None)
    one, two = ["cannot", 0, 2], ["must", 1, 2]
    assert not re.search(r"\d", describe_violations(result, []))
    assert re.search("^1 pair .*r0 and r2", describe_violations(result, [one]))
    assert re.search("^2 pairs .*r0 and r2, r1 and r2", describe_violations(result, [one, two]))


def test_describe_has_the_rules_of_a_pipeline_in_its_units():
    X, _ = blobs()
    pipeline = make_pipeline(StandardScaler(), MinimumDensityTree(3, random_state=0)).fit(X)
    save(pipeline, "pipeline.ravine")
    text = ravine("describe", "pipeline.ravine").stdout
    assert "prepared by StandardScaler" in text
    assert all(describe_rules(pipeline, cluster) in text for cluster in range(3))
    assert json.loads(ravine("describe", "pipeline.ravine", "--json").stdout)["clusters"] == 3
