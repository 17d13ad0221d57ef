"""`ravine cluster --auto`: a messy table at the first try, and the options that it stands for."""

import csv
import io
import json
import re

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")


from ravine.models import load
from support.command_line import column, ravine, read, write


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def simulate_penguins(n=90, seed=0):
    """Return a CSV with numbers, categories, an identifier, free text, missing cells and useless columns."""
    rng = np.random.default_rng(seed)
    y = np.arange(2 * n) % 2
    columns = {
        "rowid": np.arange(1, 2 * n + 1),
        "island": np.where(rng.random(2 * n) < 0.9, np.array(["Biscoe", "Dream"])[y], "Torgersen"),
        "bill_mm": (40.0 + 12.0 * y + rng.normal(size=2 * n)).round(1),
        "mass_g": (4000.0 + 1500.0 * y + 150.0 * rng.normal(size=2 * n)).round(),
        "sex": np.array(["female", "male"])[rng.integers(0, 2, 2 * n)],
        "study": np.full(2 * n, "PAL"),
        "comment": np.array([f"nest {k} seen" for k in range(2 * n)]),
        "date": np.array([f"2007-11-{1 + k % 28:02d}" for k in range(2 * n)]),
        "empty": np.full(2 * n, ""),
    }
    cells = {name: values.astype(str).tolist() for name, values in columns.items()}
    for name, places in {"sex": range(0, 20, 2), "bill_mm": (3, 30)}.items():
        for k in places:
            cells[name][k] = "NA"
    stream = io.StringIO()
    csv.writer(stream).writerows([list(cells), *zip(*cells.values(), strict=True)])
    return stream.getvalue(), y


LEFT_OUT = ("rowid", "study", "comment", "empty")


@pytest.mark.slow
def test_messy_table_is_clustered_at_the_first_try():
    text, y = simulate_penguins()
    ravine("cluster", write(text), "--auto", figures=True)
    labels = np.array(column(read("data-ravine/labels.csv"), "cluster")).astype(int)
    assert max((labels == y).mean(), (labels != y).mean()) == 1.0
    assert "island=Biscoe" in read("data-ravine/report.html")


def test_auto_clusters_a_messy_table_and_names_every_choice():
    text, y = simulate_penguins()
    printed = ravine("cluster", write(text), "--auto", "--clusters", 2).stderr
    labels = np.array(column(read("data-ravine/labels.csv"), "cluster")).astype(int)
    assert max((labels == y).mean(), (labels != y).mean()) == 1.0
    for name in LEFT_OUT:
        assert re.search(f"auto: .*{name!r}", printed)
    assert "auto: 'island', 'sex'" in printed
    assert "auto: 'bill_mm', 'sex'" in printed
    scaler = load("data-ravine/model.ravine").preparation
    assert [name for name, _, _ in scaler.list_features()] == ["island", "bill_mm", "mass_g", "sex", "date"]
    assert scaler.encode == "famd"
    notes = json.loads(read("data-ravine/summary.json"))["notes"]
    assert any(note.startswith("auto: the same as --drop rowid --drop study") for note in notes)


def test_auto_equals_the_options_that_it_names():
    text, _ = simulate_penguins()
    printed = ravine("cluster", write(text), "--auto", "--clusters", 2, "--out", "one").stderr
    line = next(line for line in printed.splitlines() if line.startswith("auto: the same as "))
    ravine("cluster", "data.csv", *line.removeprefix("auto: the same as ").split(), "--clusters", 2, "--out", "two")
    assert read("one/labels.csv") == read("two/labels.csv")


def test_error_about_text_suggests_the_same_options():
    text, _ = simulate_penguins()
    message = " ".join(ravine("cluster", write(text), "--drop", "empty", code=1).stderr.split())
    assert "--drop rowid --drop study --drop comment --encode famd --missing " in message
    assert "--auto" in message


def test_choices_of_the_user_come_first():
    text, _ = simulate_penguins()
    printed = ravine(
        "cluster",
        write(text),
        "--auto",
        "--encode",
        "one-hot",
        "--missing",
        "drop",
        "--key",
        "rowid",
        "--drop",
        "sex",
        "--clusters",
        2,
    ).stderr
    model = load("data-ravine/model.ravine")
    assert (model.preparation.encode, model.missing) == ("one-hot", "drop")
    assert [name for name, _, _ in model.preparation.list_features()] == ["island", "bill_mm", "mass_g", "date"]
    assert "'rowid'" not in printed
    assert column(read("data-ravine/labels.csv"), "rowid")[0] == "1"


def test_auto_changes_nothing_in_a_clean_table():
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(40, 2)).tolist()
    text = "\n".join(["a,b", *(f"{a},{b}" for a, b in rows)])
    printed = ravine("cluster", write(text), "--auto", "--clusters", 2, "--out", "one").stderr
    assert "auto: " in printed
    assert "the same as" not in printed
    ravine("cluster", "data.csv", "--clusters", 2, "--out", "two")
    assert read("one/labels.csv") == read("two/labels.csv")


def test_auto_reads_decimal_commas():
    rng = np.random.default_rng(0)
    lines = [f"{a:.3f};{b:.3f}".replace(".", ",") for a, b in rng.normal(size=(40, 2))]
    printed = ravine("cluster", write("\n".join(["a;b", *lines])), "--auto", "--clusters", 2).stderr
    assert "auto: nothing had to be changed" in printed
    assert load("data-ravine/model.ravine").cells.decimal == ","
    labels = column(read("data-ravine/labels.csv"), "cluster")
    write("\n".join(["a;b", *lines[:5]]))
    found = ravine("predict", "data-ravine/model.ravine", "data.csv").stdout
    assert column(found, "cluster") == labels[:5]


def test_one_column_shows_that_all_commas_are_decimal():
    lines = [f"1,{500 + k};{k % 7},5" for k in range(40)]
    printed = ravine("cluster", write("\n".join(["a;b", *lines])), "--auto", "--clusters", 2).stderr
    assert "'a' (such as '1,500')" in printed
    scaler = load("data-ravine/model.ravine").preparation
    assert scaler.mean_[0] == pytest.approx(1.5195)


def test_infinite_cells_are_named_before_anything_is_changed():
    text = "\n".join(["a,b", *(f"{k % 7}.5,{k % 3}.5" for k in range(40)), "1,inf"])
    printed = ravine("cluster", write(text), "--auto", code=1).stderr
    assert "'b' (row 41)" in printed
    assert "auto:" not in printed


@pytest.mark.parametrize(("cells", "kind"), [("12:30:0{}", "time"), ('""', "empty")])
def test_auto_names_the_columns_if_it_can_use_none(cells, kind):
    text = "\n".join(["day", *(cells.format(1 + k % 9) for k in range(40))])
    message = ravine("cluster", write(text), "--auto", code=1).stderr
    assert re.search(f"'day'.*{kind}", message)
    assert "--drop" not in message


def test_integers_that_identify_rows_are_left_out():
    rng = np.random.default_rng(0)
    ids = rng.permutation(1000)[:60] + 5000
    lines = [f"{k},{a:.3f},{b:.3f}" for k, (a, b) in zip(ids, rng.normal(size=(60, 2)), strict=True)]
    printed = ravine("cluster", write("\n".join(["customer_id,a,b", *lines])), "--auto", "--clusters", 2).stderr
    assert "auto: 'customer_id'" in printed


# ----------------------------------------------------------------------------------------------- --encode famd


def mixed(n=120):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    kinds = np.where(rng.random(n) < 0.95, np.array(["red", "blue"])[y], "green")
    sizes = 10.0 * y + rng.normal(size=n)
    return "\n".join(["size,kind", *(f"{size:.4f},{kind}" for size, kind in zip(sizes, kinds, strict=True))])


def test_famd_equals_the_mixed_scaler():
    from ravine import MixedScaler

    text = mixed()
    ravine("cluster", write(text), "--encode", "famd", "--clusters", 2)
    model = load("data-ravine/model.ravine")
    rows = [line.split(",") for line in text.splitlines()[1:]]
    frame = np.array([[float(size), kind] for size, kind in rows], dtype=object)
    table = {"size": frame[:, 0].astype(float), "kind": frame[:, 1]}
    np.testing.assert_allclose(model.transform(table), MixedScaler().fit_transform(frame), atol=1e-12)


def test_groups_and_rules_name_categories():
    printed = ravine("cluster", write(mixed()), "--encode", "famd", "--clusters", 2).stderr
    assert "kind=red 0 %" in printed or "kind=blue 0 %" in printed
    rules = ravine("describe", "data-ravine/model.ravine").stdout
    assert "'blue', 'green', 'red'" in rules
    assert "kind is red" in rules


def test_predict_knows_what_to_do_with_unknown_categories():
    ravine("cluster", write(mixed()), "--encode", "famd", "--clusters", 2)
    write("size,kind\n0.1,violet\n9.8,red\n", "new.csv")
    message = ravine("predict", "data-ravine/model.ravine", "new.csv", code=1).stderr
    assert "'kind'" in message
    assert "'violet'" in message
    printed = ravine("predict", "data-ravine/model.ravine", "new.csv", "--unknown", "other").stdout
    assert len(column(printed, "cluster")) == 2


def test_columns_that_famd_cannot_use_are_named():
    lines = ["size,kind,name", *(f"{k % 7}.5,same,person {k}" for k in range(60))]
    message = ravine("cluster", write("\n".join(lines)), "--encode", "famd", "--drop", "name", code=1).stderr
    assert "'kind'" in message
    message = ravine("cluster", "data.csv", "--encode", "famd", code=1).stderr
    assert "'kind'" in message
    assert "'name'" in message


def test_first_error_names_all_problems_of_a_table():
    lines = ["size,kind,nothing,day,width", *(f"{k % 7}.5,a,,2020-01-0{1 + k % 9},{k or ''}" for k in range(60))]
    message = ravine("cluster", write("\n".join(lines)), code=1).stderr
    for name in ("kind", "day", "nothing", "width"):
        assert f"'{name}'" in message
    assert "'size'" not in message


@pytest.mark.parametrize(
    ("options", "named"), [(("--outliers", "auto"), "--outliers"), (("--normalize", "l2"), "--normalize l2")]
)
def test_auto_says_why_cells_are_filled_with_medians(options, named):
    lines = ["size,width", *(f"{k % 7}.5,{k % 5 or ''}" for k in range(60))]
    printed = ravine("cluster", write("\n".join(lines)), "--auto", "--clusters", 2, *options).stderr
    assert re.search(f"auto: 'width'.*medians.*{named}", printed)
    assert json.loads(read("data-ravine/summary.json"))["settings"]["missing"] == "impute-median"


def test_rare_categories_are_reported():
    lines = ["size,kind", *(f"{k % 7}.5,{'abcd'[k % 2] if k < 198 else 'cd'[k % 2]}" for k in range(200))]
    printed = ravine("cluster", write("\n".join(lines)), "--encode", "famd", "--clusters", 2).stderr
    assert re.search("'kind'.*'other'.*'c', 'd'", printed)
    assert load("data-ravine/model.ravine").preparation.rare_ == {"kind": ("c", "d")}
    described = ravine("describe", "data-ravine/model.ravine").stdout
    assert "'a', 'b', 'other'" in described
    assert "'c', 'd'" in described


# ----------------------------------------------------------------------------------------------- --normalize l2


def rays(n=150, seed=0):
    """Return rows along three directions, at any distance from the origin."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 3
    X = (np.eye(3, 5)[y] + 0.05 * rng.normal(size=(n, 5))) * rng.uniform(0.1, 50.0, size=(n, 1))
    return X, y


def write_rows(X, name="data.csv"):
    lines = [",".join(f"v{j}" for j in range(X.shape[1])), *(",".join(map(repr, row)) for row in X.tolist())]
    return write("\n".join(lines), name)


def test_rows_are_divided_by_their_length():
    X, y = rays()
    printed = ravine("cluster", write_rows(X), "--normalize", "l2", "--scale", "none").stderr
    assert "divided by its length" in printed
    model = load("data-ravine/model.ravine")
    table = {f"v{j}": column for j, column in enumerate(X.T)}
    np.testing.assert_allclose(model.transform(table), X / np.linalg.norm(X, axis=1, keepdims=True))
    labels = np.array(column(read("data-ravine/labels.csv"), "cluster"))
    assert len(set(zip(labels, y, strict=True))) == 3
    write_rows(1000.0 * X, "new.csv")
    assert column(ravine("predict", "data-ravine/model.ravine", "new.csv").stdout, "cluster") == labels.tolist()
    assert "divided by its length" in ravine("describe", "data-ravine/model.ravine").stdout


def test_scales_are_those_of_the_divided_rows():
    X, _ = rays()
    X[0] = 0.0
    ravine("cluster", write_rows(X), "--normalize", "l2", "--clusters", 3)
    table = {f"v{j}": column for j, column in enumerate(X.T)}
    Z = load("data-ravine/model.ravine").transform(table)
    np.testing.assert_allclose(Z.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(Z.std(axis=0), 1.0)


def test_text_has_no_length():
    message = ravine("cluster", write(mixed()), "--encode", "famd", "--normalize", "l2", code=1).stderr
    assert "'kind'" in message


# ----------------------------------------------------------------------------------------------- --missing multiple


def blobs_with_gaps(n=150, share=0.15, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    X = 8.0 * y[:, None] + rng.normal(size=(n, 4))
    gaps = rng.random(X.shape) < share
    lines = ["a,b,c,d", *(",".join("" if g else repr(x) for x, g in zip(*row, strict=True)) for row in
                          zip(X.tolist(), gaps.tolist(), strict=True))]  # fmt: skip
    return "\n".join(lines), y, gaps


def test_missing_cells_are_filled_several_times():
    text, y, gaps = blobs_with_gaps()
    printed = ravine("cluster", write(text), "--missing", "multiple", "--clusters", 2).stderr
    assert re.search("missing cells .*'a' ", printed)
    assert "model.ravine contains 150 rows of the table" in printed  # which is a matter of privacy
    written = read("data-ravine/labels.csv")
    labels = np.array(column(written, "cluster")).astype(int)
    assert max((labels == y).mean(), (labels != y).mean()) > 0.95
    instability = np.array(column(written, "instability")).astype(float)
    assert not instability[~gaps.any(axis=1)].any()
    summary = json.loads(read("data-ravine/summary.json"))
    assert summary["completions"]["clusters"] == [2] * 8
    assert summary["completions"]["text"] in printed
    assert sum(group["rows"] for group in summary["clusters"]) == 150


def test_predict_fills_cells_as_the_fit_did():
    text, _, _ = blobs_with_gaps()
    ravine("cluster", write(text), "--missing", "multiple", "--clusters", 2)
    labels = column(read("data-ravine/labels.csv"), "cluster")
    printed = ravine("predict", "data-ravine/model.ravine", "data.csv").stdout
    assert column(printed, "cluster") == labels
    assert json.loads(ravine("describe", "data-ravine/model.ravine", "--json").stdout)["missing"] == "multiple"
    model = load("data-ravine/model.ravine")
    assert model.predict({name: np.array([7.5, np.nan]) for name in "abcd"}).shape == (2,)
    cells = np.array([column(text, name) for name in "abcd"]).T
    X = (np.where(cells == "", "nan", cells).astype(float) - model.preparation.mean_) / model.preparation.scale_
    votes = np.array([model.estimator.predict(Z) for Z in model.imputer.impute(X)])
    expected = (votes != np.array(labels, dtype=int)).mean(axis=0)  # by one tree, that of the model
    np.testing.assert_allclose(np.array(column(printed, "instability"), dtype=float), expected, atol=1e-4)
    assert expected.max() > 0.0


def test_memberships_are_averaged_over_the_completions():
    text, _, gaps = blobs_with_gaps()
    ravine("cluster", write(text), "--missing", "multiple", "--clusters", 2, "--memberships")
    written = read("data-ravine/labels.csv")
    again = ravine("predict", "data-ravine/model.ravine", "data.csv", "--memberships").stdout
    fitted, predicted = (np.array(column(text, "membership"), dtype=float) for text in (written, again))
    complete = ~gaps.any(axis=1)
    assert np.allclose(fitted[complete], predicted[complete], atol=1e-4)
    assert (predicted > 0.0).all()
    assert (predicted <= 1.0).all()


def test_missing_multiple_is_refused_where_it_makes_no_sense():
    text, _, _ = blobs_with_gaps()
    write("\n".join([f"{line},{'kind' if k == 0 else k % 2}" for k, line in enumerate(text.splitlines())]))
    message = ravine("classify", "data.csv", "--label-column", "kind", "--missing", "multiple", code=2).stderr
    assert "--missing multiple" in message
    message = ravine("cluster", "data.csv", "--missing", "multiple", "--normalize", "l2", code=1).stderr
    assert "--normalize l2" in message
    message = ravine("cluster", "data.csv", "--missing", "multiple", "--outliers", "auto", code=2).stderr
    assert "--missing multiple and --outliers" in message
    ravine("cluster", "data.csv", "--missing", "drop", "--clusters", 2)
    message = ravine("predict", "data-ravine/model.ravine", "data.csv", "--missing", "multiple", code=1).stderr
    assert "--missing multiple" in message
