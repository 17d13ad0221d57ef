"""The command from end to end: results, words, exit codes, and nothing half-written."""

import csv
import gzip
import io
import json
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.metrics import adjusted_rand_score

pytest.importorskip("pyarrow")
click = pytest.importorskip("click")

from click.testing import CliRunner  # noqa: E402

from ravine.cli.app import app  # noqa: E402
from ravine.models import load  # noqa: E402

CENTRES = 8.0 * np.eye(3, 4)


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def blobs(n=60, seed=0):
    return make_blobs([n, n, n], centers=CENTRES, random_state=seed)


def table(names=("a", "b", "c", "d"), extra=None, n=60):
    """A CSV of three blobs, and the blob of each row."""
    X, y = blobs(n)
    columns = dict(zip(names, X.T.tolist(), strict=True)) | ({} if extra is None else extra(y))
    stream = io.StringIO()
    csv.writer(stream).writerows([list(columns), *zip(*columns.values(), strict=True)])
    return stream.getvalue(), y


def write(text, name="data.csv"):
    with open(name, "wb") as stream:
        stream.write(text if isinstance(text, bytes) else text.encode())
    return name


def ravine(*arguments, stdin=None, code=0, figures=False):
    if arguments[0] in ("cluster", "classify") and not figures:
        arguments = (*arguments, "--no-figures")
    result = CliRunner().invoke(app, [str(a) for a in arguments], input=stdin)
    assert result.exit_code == code, (result.output, result.exception)
    return result


def column(text, name):
    return [row[name] for row in csv.DictReader(io.StringIO(text))]


def read(path):
    with open(path, encoding="utf-8") as stream:
        return stream.read()


def leftovers():
    return sorted(name for name in os.listdir() if name != "data.csv")


# ----------------------------------------------------------------------------------------------- cluster


def test_cluster_finds_the_blobs_and_leaves_labels_and_a_model(workplace):
    text, y = table()
    said = ravine("cluster", write(text)).stderr
    labels = column(read("data-ravine/labels.csv"), "cluster")
    assert adjusted_rand_score(y, labels) == 1.0
    assert column(read("data-ravine/labels.csv"), "row") == [str(k) for k in range(1, 181)]
    assert "180 rows, 4 columns; names in the first line, comma between cells" in said
    assert "standardised" in said
    assert "3 clusters of 180 rows" in said
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
    assert set(_figures("out")) == {"hyperplane.png", "direction.png", "path.png"}
    assert set(column(read("out/labels.csv"), "cluster")) == {"0", "1"}
    assert 0.0 <= load("out/model.ravine").estimator.pvalue_ <= 1.0
    assert "Valley test" in ravine("describe", "out/model.ravine").stdout
    message = ravine("cluster", "data.csv", "--method", "hyperplane", "--clusters", 3, code=2).stderr
    assert "two clusters" in message


def test_json_is_all_there_is_on_standard_output():
    result = ravine("cluster", write(table()[0]), "--json", "--quiet", "--drop", "d", "--out", "o", "--clusters", 3)
    summary = json.loads(result.stdout)
    assert result.stderr == ""
    assert [c["rows"] for c in summary["clusters"]] == [60, 60, 60]
    assert summary["features"] == ["a", "b", "c"]
    assert set(summary["files"]) <= set(os.listdir("o")) | {f"figures/{n}" for n in _figures("o")}
    assert json.loads(read("o/summary.json"))["clusters"] == summary["clusters"]


def _figures(folder):
    return os.listdir(f"{folder}/figures") if os.path.isdir(f"{folder}/figures") else []


def test_standard_input_and_output():
    text, y = table()
    result = ravine("cluster", "-", "--out", "-", "--clusters", 3, stdin=text)
    assert adjusted_rand_score(y, column(result.stdout, "cluster")) == 1.0
    assert leftovers() == []
    again = ravine("cluster", "-", "--out", "-", "--clusters", 3, stdin=gzip.compress(text.encode()))
    assert again.stdout == result.stdout
    assert "both want standard output" in ravine("cluster", "-", "--out", "-", "--json", stdin=text, code=2).stderr


def test_keys_and_known_labels_are_kept_beside_the_clusters():
    text, y = table(extra=lambda y: {"id": [f"0{k}" for k in range(180)], "kind": [f"k{v}" for v in y]})
    said = ravine("cluster", write(text), "--key", "id", "--label-column", "kind", "--clusters", 3).stderr
    written = read("data-ravine/labels.csv")
    assert column(written, "id") == [f"0{k}" for k in range(180)]
    assert column(written, "given") == [f"k{v}" for v in y]
    assert "adjusted Rand index 1.00" in said


def test_key_named_like_a_result_does_not_hide_it():
    text, y = table(extra=lambda y: {"cluster": range(180)})
    ravine("cluster", write(text), "--key", "cluster", "--clusters", 3)
    assert adjusted_rand_score(y, column(read("data-ravine/labels.csv"), "ravine_cluster")) == 1.0


def test_text_is_refused_dropped_or_encoded_but_never_ignored():
    text, _ = table(extra=lambda y: {"kind": [("red", "green", "blue")[v] for v in y], "it's": ["x"] * 180})
    write(text)
    message = ravine("cluster", "data.csv", code=1).stderr
    assert "'kind' (text such as 'red')" in message or "'kind' (text such as" in message
    assert "--drop kind --drop 'it'\"'\"'s'" in message
    assert "--encode one-hot" in message
    assert len(message.strip().splitlines()[-1]) == len(message.strip().split("Error:")[-1]) + len("Error:")
    ravine("cluster", "data.csv", "--drop", "kind,it's", "--out", "dropped", "--clusters", 2)
    assert load("dropped/model.ravine").preparation.columns == ("a", "b", "c", "d")
    said = ravine(
        "cluster", "data.csv", "--drop", "it's", "--encode", "one-hot", "--out", "encoded", "--clusters", 2
    ).stderr
    assert "'kind' has 3 categories" in said
    assert load("encoded/model.ravine").preparation.feature_names[4:] == ("kind=blue", "kind=green", "kind=red")


def test_dates_and_empty_columns_are_refused():
    text, _ = table(extra=lambda y: {"when": ["2020-01-02"] * 180})
    assert "'when' (dates or times)" in ravine("cluster", write(text), code=1).stderr
    text, _ = table(extra=lambda y: {"nothing": [""] * 180})
    assert "'nothing': no cell has a value. Leave out with --drop nothing" in ravine(
        "cluster", write(text), code=1
    ).stderr  # fmt: skip


def test_truth_values_counters_and_constants_are_said():
    text, _ = table(extra=lambda y: {"yes": ["true", "false"] * 90, "n": range(5, 185), "one": [1] * 180})
    said = ravine("cluster", write(text), "--clusters", 2).stderr
    assert "'yes': true and false are 1 and 0" in said
    assert "warning: 'n' counts the rows" in said
    assert "'one' has one value only" in said


def with_gaps():
    text, y = table()
    rows = list(csv.reader(io.StringIO(text)))
    for k, mark in ((3, ""), (50, "NA"), (120, "nan")):
        rows[k][1] = mark
    rows[120][2] = ""
    stream = io.StringIO()
    csv.writer(stream).writerows(rows)
    return stream.getvalue(), y


def test_missing_cells_are_refused_with_their_counts():
    message = ravine("cluster", write(with_gaps()[0]), code=1).stderr
    assert "missing cells: 'b' 3, 'c' 1" in message
    assert "--missing drop" in message
    assert leftovers() == []


def test_rows_with_missing_cells_are_dropped_or_filled_as_wished():
    text, y = with_gaps()
    said = ravine("cluster", write(text), "--missing", "drop", "--out", "dropped", "--clusters", 3).stderr
    assert "3 of 180 rows have missing cells" in said
    labels = column(read("dropped/labels.csv"), "cluster")
    assert [k for k, label in enumerate(labels) if label == ""] == [2, 49, 119]
    known = [k for k, label in enumerate(labels) if label]
    assert adjusted_rand_score(y[known], [labels[k] for k in known]) == 1.0
    said = ravine("cluster", "data.csv", "--missing", "impute-median", "--out", "filled", "--clusters", 3).stderr
    assert "filled with the median of their column: 'b' 3, 'c' 1" in said
    plan = load("filled/model.ravine").preparation
    X = blobs()[0]
    assert plan.medians[1] == np.median(np.delete(X[:, 1], [2, 49, 119]))
    assert "" not in column(read("filled/labels.csv"), "cluster")


def test_missing_categories_become_the_commonest():
    kinds = ["red"] * 60 + ["green"] * 59 + ["blue"] * 60 + [""]
    kinds[1] = "blue"
    text, _ = table(extra=lambda y: {"kind": kinds})
    said = ravine(
        "cluster", write(text), "--encode", "one-hot", "--missing", "impute-median", "--clusters", 2, "--scale", "none"
    ).stderr
    assert "of text with the commonest category" in said
    model = load("data-ravine/model.ravine")
    assert model.preparation.feature_names[4:] == ("kind=blue", "kind=green", "kind=red")
    assert model.preparation.medians[4:].tolist() == [1.0, 0.0, 0.0]


@pytest.mark.parametrize("scale", ["standard", "robust"])
def test_values_that_cannot_be_scaled_are_refused(scale):
    text, _ = table(extra=lambda y: {"huge": np.where(y == 1, 1e308, -1e308)})
    said = ravine("cluster", write(text), "--scale", scale, code=1).stderr
    assert "column 'huge' holds values as large as 1e+308, which cannot be scaled" in said
    assert leftovers() == []


@pytest.mark.parametrize("scale", ["standard", "robust", "none"])
def test_scale_is_what_it_says(scale):
    X, _ = blobs()
    ravine("cluster", write(table()[0]), "--scale", scale, "--clusters", 2)
    model = load("data-ravine/model.ravine")
    Z = model.transform(dict(zip("abcd", X.T, strict=True)))
    quartiles = np.percentile(X, [25, 50, 75], axis=0)
    expected = {
        "standard": (X - X.mean(axis=0)) / X.std(axis=0),
        "robust": (X - quartiles[1]) / ((quartiles[2] - quartiles[0]) / 1.349),
        "none": X,
    }
    np.testing.assert_allclose(Z, expected[scale], rtol=1e-12, atol=1e-12)


# ----------------------------------------------------------------------------------------------- the other commands


def test_classify_labels_the_empty_cells():
    text, y = table(extra=lambda y: {"kind": [("red", "green", "blue")[v] if k < 20 else "" for k, v in enumerate(y)]})
    said = ravine("classify", write(text), "--label-column", "kind", figures=True).stderr
    assert set(_figures("data-ravine")) == {"pair-0.png", "pair-1.png"}
    written = read("data-ravine/labels.csv")
    assert column(written, "class") == [("red", "green", "blue")[v] for v in y]
    assert column(written, "given")[:20] == column(written, "class")[:20]
    assert set(column(written, "given")[20:]) == {""}
    assert all(0.3 < float(p) <= 1.0 for p in column(written, "probability"))
    assert "20 of 180 rows have one, 160 cells are empty" in said
    assert load("data-ravine/model.ravine").estimator.classes_.tolist() == ["blue", "green", "red"]
    out = ravine("predict", "data-ravine/model.ravine", "data.csv").stdout
    assert column(out, "class") == column(written, "class")
    assert "3 classes: blue, green, red" in ravine("describe", "data-ravine/model.ravine").stdout


@pytest.mark.parametrize("kinds", [("01", "02", "03"), ("0.5", "1.5", "2.50"), ("2020-01-02", "2020-01-03", "x")])
def test_labels_are_kept_as_they_are_written(kinds):
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


def test_minus_one_is_a_label_like_others_where_nothing_is_learned_from_it():
    text, _ = table(extra=lambda y: {"kind": [v - 1 for v in y.tolist()]})
    said = ravine("cluster", write(text), "--label-column", "kind", "--clusters", 3).stderr
    assert "adjusted Rand index 1.00" in said
    assert "(180 rows)" in said


def test_index_of_a_data_frame_is_no_feature_and_rows_are_counted_for_every_format():
    import pyarrow.feather
    import pyarrow.parquet

    frame = arrow_table(list(range(180))).rename_columns(["a", "b", "c", "d", "__index_level_0__"])
    pyarrow.parquet.write_table(frame, "p")
    pyarrow.feather.write_feather(frame, "f")
    np.save("n.npy", blobs()[0])
    for name in "pf":
        said = ravine("cluster", name, "--clusters", 3).stderr
        assert f"{name}: 180 rows, 5 columns; {'Parquet' if name == 'p' else 'Feather'}" in said
        assert "'__index_level_0__': the index of a data frame, left out" in said
        assert load(f"{name}-ravine/model.ravine").preparation.columns == ("a", "b", "c", "d")
    assert "n.npy: 180 rows, 4 columns" in ravine("cluster", "n.npy", "--clusters", 3).stderr
    ravine("cluster", "p", "--key", "__index_level_0__", "--clusters", 3, "--out", "o")
    assert column(read("o/labels.csv"), "__index_level_0__") == [str(k) for k in range(180)]


def test_keys_of_any_type_can_be_json():
    import datetime

    import pyarrow.parquet

    day = datetime.datetime(2020, 1, 2)
    pyarrow.parquet.write_table(arrow_table([day] * 180), "p")
    ravine("cluster", "p", "--key", "kind", "--clusters", 3)
    answer = json.loads(ravine("predict", "p-ravine/model.ravine", "p", "--key", "kind", "--json").stdout)
    assert answer["labels"]["kind"] == [str(day)] * 180


def test_control_characters_are_written_out():
    kinds = ("one\nline", "\x1b[31mred", "plain")
    text, _ = table(("a\x07", "b", "c", "d"), extra=lambda y: {"kind": [kinds[v] for v in y]})
    run = ravine("classify", write(text), "--label-column", "kind")
    described = ravine("describe", "data-ravine/model.ravine").stdout
    told = ravine("predict", "data-ravine/model.ravine", "data.csv").stderr
    for shown in (run.stderr, described, told):
        assert "one\\nline" in shown
        assert "\\x1b[31mred" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown
    assert "a\\x07" in described


def test_standard_input_is_named():
    ravine("cluster", "-", "--out", "o", "--clusters", 2, stdin=table()[0], figures=True)
    assert json.loads(read("o/summary.json"))["input"] == "standard input"
    assert "in standard input</title>" in read("o/report.html")


def test_warnings_of_the_drawing_are_in_the_summary(monkeypatch):
    import warnings

    monkeypatch.setattr("ravine.cli.outputs.write_figures", lambda *args: warnings.warn("no such glyph", stacklevel=2))
    ravine("cluster", write(table()[0]), "--clusters", 2, figures=True)
    assert "note: no such glyph" in json.loads(read("data-ravine/summary.json"))["notes"]


def test_classify_refuses_what_it_would_have_to_guess():
    text, _ = table(extra=lambda y: {"kind": [v - 1 for v in y.tolist()]})
    assert "holds -1" in ravine("classify", write(text), "--label-column", "kind", "--out", "o", code=1).stderr
    text, _ = table(extra=lambda y: {"kind": [""] * 180})
    assert "unlabelled" in ravine("classify", write(text), "--label-column", "kind", "--out", "o", code=1).stderr
    text, _ = table(extra=lambda y: {"kind": ["x"] * 180})
    assert "only one class" in ravine("classify", write(text), "--label-column", "kind", "--out", "o", code=1).stderr
    assert "Missing option '--label-column'" in ravine("classify", "data.csv", code=2).stderr


def test_predict_finds_columns_by_name_and_says_what_it_ignores():
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
    assert "ignored, since the model does not use it: 'more'" in result.stderr
    ravine("predict", "data-ravine/model.ravine", "data.csv", "--out", "new.csv")
    assert column(read("new.csv"), "cluster") == expected
    assert "exists already" in ravine(
        "predict", "data-ravine/model.ravine", "data.csv", "--out", "new.csv", code=1
    ).stderr  # fmt: skip
    ravine("predict", "data-ravine/model.ravine", "data.csv", "--out", "new.csv", "--force")
    answer = json.loads(ravine("predict", "data-ravine/model.ravine", "data.csv", "--json").stdout)
    assert [str(k) for k in answer["labels"]["cluster"]] == expected


def test_predict_names_the_columns_that_are_missing():
    ravine("cluster", write(table()[0]), "--clusters", 3)
    write("a,c,z\n1,2,3\n", "new.csv")
    message = ravine("predict", "data-ravine/model.ravine", "new.csv", code=1).stderr
    assert "no column 'b', 'd'" in message
    assert "it has 'a', 'c', 'z'" in message
    write("a,b,c,d\n1,x,3,4\n", "new.csv")
    assert "column 'b' does not hold numbers" in ravine("predict", "data-ravine/model.ravine", "new.csv", code=1).stderr


def test_predict_treats_missing_cells_as_told():
    ravine("cluster", write(table()[0]), "--clusters", 3)
    write("a,b,c,d\n8,0,0,0\n,0,0,0\n", "new.csv")
    model = "data-ravine/model.ravine"
    assert "missing cells: 'a' 1" in ravine("predict", model, "new.csv", code=1).stderr
    assert column(ravine("predict", model, "new.csv", "--missing", "drop").stdout, "cluster")[1] == ""
    assert "no medians" in ravine("predict", model, "new.csv", "--missing", "impute-median", code=1).stderr


def test_models_that_are_none_are_refused():
    write(table()[0])
    for command in (("predict", "data.csv", "data.csv"), ("describe", "data.csv")):
        assert "data.csv cannot be read: it is not a zip file" in ravine(*command, code=1).stderr
        assert "'none.ravine' does not exist" in ravine(command[0], "none.ravine", *command[2:], code=1).stderr


def test_describe_is_words_or_json():
    ravine("cluster", write(table()[0]), "--clusters", 3)
    words = ravine("describe", "data-ravine/model.ravine").stdout
    assert "Tree of 3 clusters (180 rows)" in words
    assert "A row belongs to cluster 0" in words
    assert "4 columns: a, b, c, d" in words
    known = json.loads(ravine("describe", "data-ravine/model.ravine", "--json").stdout)
    assert known["clusters"] == 3
    assert len(known["nodes"]) == 5
    assert known["columns"] == ["a", "b", "c", "d"]


def test_demo_leaves_results_and_agrees_with_the_truth():
    said = ravine("demo").stderr
    assert "4 clusters of 400 rows" in said
    assert "adjusted Rand index 1.00" in said
    assert {"birds.csv", "labels.csv", "model.ravine"} <= set(os.listdir("ravine-demo"))
    assert set(os.listdir("ravine-demo/figures")) == {"tree.png", "direction-0.png"} | {
        f"split-{k}.png" for k in (0, 1)
    }
    assert "--force" in ravine("demo", code=1).stderr
    ravine("cluster", "ravine-demo/birds.csv", "--key", "ring", "--label-column", "kind", "--out", "again")
    assert read("again/labels.csv") == read("ravine-demo/labels.csv")


# ----------------------------------------------------------------------------------------------- real processes


def command(*arguments, **options):
    script = "from ravine.cli import main; main()"
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, timeout=120, **options)


def test_process_writes_data_to_standard_output_and_words_to_standard_error():
    text, y = table()
    run = command("cluster", "-", "--out", "-", "--clusters", "3", input=text.encode())
    assert run.returncode == 0
    assert adjusted_rand_score(y, column(run.stdout.decode(), "cluster")) == 1.0
    assert b"3 clusters of 180 rows" in run.stderr
    assert b"\x1b" not in run.stderr  # no bar where there is no terminal


def test_process_fails_without_a_traceback_unless_asked():
    run = command("cluster", "none.csv")
    assert run.returncode == 1
    assert run.stderr == b"Error: 'none.csv' does not exist: check its name.\n"
    assert b"Traceback" in command("cluster", "none.csv", "--debug").stderr
    assert command("cluster", "--clusters", "many", "x.csv").returncode == 2


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_process_that_is_told_to_end_leaves_nothing(monkeypatch, name):
    number = getattr(signal, name)
    monkeypatch.setattr("ravine.models.save", lambda *args: signal.raise_signal(number))
    write(table()[0])
    before = signal.getsignal(number)
    assert "Stopped: nothing was written." in ravine("cluster", "data.csv", "--clusters", 2, code=128 + number).stderr
    assert leftovers() == []
    assert signal.getsignal(number) is before


def test_interruption_of_the_imports_leaves_no_traceback():
    script = """
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise KeyboardInterrupt
sys.meta_path.insert(0, Interrupting())
from ravine.cli import main
main()
"""
    run = subprocess.run([sys.executable, "-c", script, "--help"], capture_output=True, timeout=60)
    assert run.returncode == 130
    assert run.stderr == b"Stopped: nothing was written.\n"


@pytest.mark.slow
def test_interrupted_process_says_so_and_leaves_nothing():
    text, _ = table(n=20_000)
    write(text)
    script = "from ravine.cli import main; main()"
    arguments = [sys.executable, "-c", script, "cluster", "data.csv", "--clusters", "40"]
    with subprocess.Popen(arguments, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for line in process.stderr:
            if b"standardised" in line:
                break
        time.sleep(0.3)
        process.send_signal(signal.SIGINT)
        rest = process.stderr.read()
        process.wait(timeout=60)
    assert process.returncode == 130
    assert rest.strip() == b"Stopped: nothing was written."
    assert leftovers() == []


def test_help_imports_nothing_heavy():
    script = (
        "import sys\nfrom ravine.cli.app import app\ntry:\n app(['--help'])\nexcept SystemExit:\n print(*sys.modules)"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in run.stdout.split()}
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "rich", "pooch"}
    for name in ("cluster", "classify", "predict", "describe", "demo"):
        assert name in run.stdout


@pytest.mark.parametrize("name", ["cluster", "classify", "predict", "describe", "demo", "reproduce", "data"])
def test_help_shows_examples_line_by_line(name):
    shown = ravine(name, "--help").stdout
    assert "\\b" not in shown
    assert "\b" not in shown
    if name in ("cluster", "classify", "predict"):
        lines = [line.strip() for line in shown.splitlines() if line.startswith(f"    ravine {name} ")]
        assert lines[0] in {
            "ravine cluster data.csv",
            "ravine classify data.csv --label-column species",
            "ravine predict data-ravine/model.ravine new.csv > labels.csv",
        }
        assert len(lines) == (2 if name == "cluster" else 1)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_bar_with_the_time_left_is_shown_on_a_terminal():
    script = """
import time
from ravine.cli.voice import Voice
with Voice().working("fitting") as move:
    for k in range(4):
        move(k, 4, f"step {k}")
        time.sleep(0.3)
"""
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    run = subprocess.run(
        [sys.executable, "-c", script], stderr=theirs, stdout=subprocess.PIPE, env=environment, timeout=60
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert run.stdout == b""
    assert "fitting step" in shown
    assert "left" in shown
