"""`ravine-paper`: small studies as a whole, and their errors."""

import csv
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from ravine_paper.cli.app import app
from ravine_paper.studies import StudyError, run_semisupervised

DATA = os.environ.get("RAVINE_DATA", "")
needs_data = pytest.mark.skipif(not DATA, reason="RAVINE_DATA is not set")


def reproduce(*arguments, env=None):
    return CliRunner().invoke(app, [*map(str, arguments)], env=env)


def read_rows(path):
    with Path(path).open(newline="") as file:
        return {(r["set"], r["method"]): r for r in csv.DictReader(file)}


@needs_data
def test_a_small_table(tmp_path):
    out = tmp_path / "out"
    arguments = ("table2", "--sets", "wine,seeds", "--methods", "mdp2,2-means++,pddp", "--seeds", 2, "--out", out)
    done = reproduce(*arguments)
    assert done.exit_code == 0, done.output
    assert {p.name for p in out.iterdir()} == {
        "results", "study.json", "table.csv", "table.md", "summary.md", "performance.png", "regret.png"
    }  # fmt: skip
    assert done.stdout.strip() == (out / "table.md").read_text().strip()
    table = read_rows(out / "table.csv")
    assert len(table) == 6
    for dataset, pair in (("wine", (0.65, 0.46)), ("seeds", (0.75, 0.59))):  # the paper's
        assert (float(table[dataset, "pddp"]["sr"]), float(table[dataset, "pddp"]["v"])) == pytest.approx(
            pair, abs=0.005
        )
    assert table["wine", "2-means++"]["seeds"] == "2"
    assert float(table["wine", "mdp2"]["seconds"]) > 0
    assert "environment" in json.loads((out / "study.json").read_text())["runs"][0]

    before = {p: p.stat().st_mtime_ns for p in (out / "results").iterdir()}
    assert len(before) == 2 * (1 + 2 + 1)
    (out / "results" / "wine.pddp.json").unlink()
    del before[out / "results" / "wine.pddp.json"]
    again = reproduce(*arguments)
    assert again.exit_code == 0
    assert "7 of 8" in again.stderr
    assert again.stdout.split("## Seconds per fit")[0] == done.stdout.split("## Seconds per fit")[0]
    after = {p: p.stat().st_mtime_ns for p in (out / "results").iterdir()}
    assert before.items() < after.items()


@needs_data
def test_installed_command_runs_a_study(tmp_path):
    command = [
        str(Path(sys.executable).parent / "ravine-paper"),
        "table2",
        "--sets",
        "wine",
        "--methods",
        "pddp",
    ]
    done = subprocess.run(
        [*command, "--out", "o", "--jobs", "1"], cwd=tmp_path, capture_output=True, text=True, timeout=120
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("## Success ratio")
    assert "wrote o/table.csv" in done.stderr


@needs_data
def test_a_small_semisupervised_study(tmp_path):
    done = reproduce(
        "semisupervised", "--quick", "--sets", "breast_cancer", "--methods", "ravine,linear-svc",
        "--out", tmp_path / "out",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert "### breast_cancer" in done.stdout
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "results", "study.json", "errors.csv", "errors.md", "summary.md", "ranks.csv", "two-classes.png", "ranks.png"
    }  # fmt: skip


@needs_data
def test_figures_of_an_earlier_run_are_removed(tmp_path):
    arguments = ("semisupervised", "--quick", "--methods", "linear-svc", "--out", tmp_path, "--sets")
    assert reproduce(*arguments, "voting,image_seg").exit_code == 0
    (tmp_path / "notes.png").write_text("mine")
    assert (tmp_path / "more-classes.png").exists()
    done = reproduce(*arguments, "voting")
    assert done.exit_code == 0, done.output
    assert {p.name for p in tmp_path.glob("*.png")} == {"two-classes.png", "ranks.png", "notes.png"}
    text = (tmp_path / "summary.md").read_text()
    assert "quick, 3 splits" in text
    assert "Sets: voting. Methods: LinearSVC.\n" in text
    assert len(list((tmp_path / "results").iterdir())) == 3  # results are kept


def test_help_gives_the_time_of_each_size():
    text = " ".join(reproduce("semisupervised", "--help").stdout.split())
    for words in ("2 minutes on 2 cores", "half an hour", "about 5 hours"):
        assert words in text


@pytest.mark.parametrize("sizes", [("--quick", "--full"), ("--full", "--default"), ("--quick", "--default", "--full")])
def test_two_sizes_are_refused(tmp_path, monkeypatch, sizes):
    import ravine_paper.studies

    monkeypatch.setattr(ravine_paper.studies, "run_semisupervised", lambda *_, **__: pytest.fail("the study started"))
    done = reproduce("semisupervised", *sizes, "--out", tmp_path)
    assert done.exit_code == 2
    assert "choose one" in done.stderr


@pytest.mark.parametrize(("given", "size"), [((), "default"), (("--quick",), "quick"), (("--full",), "full")])
def test_sizes(tmp_path, monkeypatch, given, size):
    import ravine_paper.studies

    seen = []

    def run(*_, **options):
        seen.append(options["size"])
        raise StudyError("not run here")

    monkeypatch.setattr(ravine_paper.studies, "run_semisupervised", run)
    check_one_line(reproduce("semisupervised", *given, "--out", tmp_path), "not run here")
    assert seen == [size]


@needs_data
@pytest.mark.parametrize("study", ["alpha", "evolution"])
def test_figures_of_the_pursuit(tmp_path, study):
    done = reproduce(study, "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert (tmp_path / "out" / f"{study}.png").read_bytes()[:4] == b"\x89PNG"
    assert [p.name for p in (tmp_path / "out").iterdir()] == [f"{study}.png"]


@needs_data
def test_three_cases_of_alpha_agree_with_their_titles():
    from ravine.density import ProjectedDensity
    from ravine_paper.studies.pursuit.tasks import make_alpha_panels

    few, beyond, edge = make_alpha_panels(None)
    rows = [panel.X @ panel.normal for panel in (few, beyond, edge)]
    assert 0 < min((rows[0] > few.offset).sum(), (rows[0] <= few.offset).sum()) < 0.03 * len(rows[0])
    density = ProjectedDensity(rows[1], beyond.bandwidth)
    outside = [b for b in density.minima() if abs(b - rows[1].mean()) > beyond.alpha * rows[1].std()]
    assert min(density(b) for b in outside if density.relative_depth(b) > 0.5) < density(beyond.offset)
    assert abs(edge.offset - rows[2].mean()) == pytest.approx(edge.alpha * rows[2].std(), rel=0.02)
    assert ProjectedDensity(rows[2], edge.bandwidth).relative_depth(edge.offset) == 0.0


@needs_data
def test_a_folder_without_the_set_is_skipped(tmp_path, monkeypatch):
    monkeypatch.setenv("RAVINE_DATA", str(tmp_path))
    monkeypatch.setenv("RAVINE_CACHE", DATA)
    done = reproduce("table2", "--sets", "wine", "--methods", "pddp", "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output


@needs_data
def test_a_small_s1(tmp_path):
    arguments = ("s1", "--starts", 3, "--seed", 5, "--no-variants", "--out", tmp_path / "out")
    done = reproduce(*arguments)
    assert done.exit_code == 0, done.output
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "results", "study.json", "summary.md", "summary.csv", "solutions.csv", "partitions.png", "index.png"
    }  # fmt: skip
    assert done.stdout.strip() == (tmp_path / "out" / "summary.md").read_text().strip()
    assert "S1 from 3" in done.stdout
    again = reproduce(*arguments)
    assert "2 of 2" in again.stderr
    assert again.stdout == done.stdout


def test_margin_needs_no_data(tmp_path):
    done = reproduce("margin", "--out", tmp_path / "out", env={"RAVINE_DATA": str(tmp_path / "nowhere")})
    assert done.exit_code == 0, done.output
    assert {p.name for p in (tmp_path / "out").iterdir()} == {"path.csv", "margin.png"}
    assert "maximum margin" in done.stdout
    check_one_line(reproduce("margin", "--out", tmp_path / "out" / "path.csv"), "path.csv", "another --out")


@needs_data
def test_a_small_study_of_optimisers(tmp_path):
    arguments = ("optimisers", "--sets", "seeds", "--optimisers", "lbfgs,spherical", "--starts", 2, "--out")
    done = reproduce(*arguments, tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert {p.name for p in (tmp_path / "out").iterdir()} == {
        "results", "study.json", "summary.md", "runs.csv", "optimisers.png"
    }  # fmt: skip
    assert "## Statements" in done.stdout
    (tmp_path / "out" / "results" / "seeds.lbfgs.0.3.1.json").unlink()
    assert "7 of 8" in reproduce(*arguments, tmp_path / "out").stderr


def check_one_line(done, *words):
    """Check that an error is one line without a traceback, with exit code 1."""
    assert done.exit_code == 1, done.output
    lines = [line for line in done.stderr.strip().splitlines() if "results exist" not in line]
    assert len(lines) == 1
    for word in words:
        assert word in lines[0]


def test_unknown_names_are_refused(tmp_path):
    check_one_line(reproduce("table2", "--sets", "nothing", "--out", tmp_path), "'nothing'", "banknote")
    check_one_line(reproduce("table2", "--methods", "magic", "--out", tmp_path), "'magic'", "isvr-l")
    check_one_line(reproduce("semisupervised", "--sets", "wine", "--out", tmp_path), "'wine'", "voting")
    check_one_line(reproduce("optimisers", "--sets", "s1", "--out", tmp_path), "'s1'", "wine")
    check_one_line(reproduce("optimisers", "--optimisers", "magic", "--out", tmp_path), "'magic'", "lbfgs")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(StudyError, match=r"size .*quick, default, full"):
        run_semisupervised(tmp_path, size="huge")


@pytest.mark.parametrize("study", ["table2", "alpha", "evolution", "semisupervised", "s1", "optimisers"])
def test_a_missing_folder_of_data_is_reported(tmp_path, study):
    check_one_line(
        reproduce(study, "--data", tmp_path / "nowhere", "--out", tmp_path / "out"), str(tmp_path / "nowhere")
    )
    assert not (tmp_path / "out").exists()


@needs_data
def test_a_truncated_file_is_reported_before_the_work_begins(tmp_path):
    data = tmp_path / "data"
    data.mkdir()
    whole = (Path(DATA) / "wine.csv.gz").read_bytes()
    (data / "wine.csv.gz").write_bytes(whole[: len(whole) // 2])
    check_one_line(
        reproduce("table2", "--sets", "wine", "--data", data, "--out", tmp_path / "out"), str(data / "wine.csv.gz")
    )
    assert not (tmp_path / "out").exists()


@needs_data
def test_a_changed_file_is_reported(tmp_path):
    import gzip

    shutil.copy(Path(DATA) / "wine.csv.gz", tmp_path)
    text = gzip.decompress((tmp_path / "wine.csv.gz").read_bytes()).decode()
    (tmp_path / "wine.csv.gz").write_bytes(gzip.compress(text.replace("14.23", "14.24", 1).encode()))
    check_one_line(reproduce("table2", "--sets", "wine", "--data", tmp_path, "--out", tmp_path / "out"), "wine.csv.gz")


@needs_data
def test_a_folder_of_another_study_is_refused(tmp_path):
    assert reproduce("table2", "--sets", "wine", "--methods", "pddp", "--out", tmp_path).exit_code == 0
    check_one_line(
        reproduce("semisupervised", "--quick", "--sets", "voting", "--methods", "linear-svc", "--out", tmp_path),
        "study 'table2'",
        "another --out",
    )


@needs_data
def test_a_file_instead_of_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    check_one_line(
        reproduce("table2", "--sets", "wine", "--methods", "pddp", "--out", tmp_path / "file"), "file", "another --out"
    )
    check_one_line(reproduce("alpha", "--out", tmp_path / "file"), "file", "another --out")
    assert (tmp_path / "file").read_text() == ""


@needs_data
def test_a_full_disk_while_the_tables_are_written(tmp_path, monkeypatch):
    import errno

    from ravine_paper.studies.engine import study

    arguments = ("table2", "--sets", "wine", "--methods", "pddp", "--out", tmp_path)
    assert reproduce(*arguments).exit_code == 0
    before = {p.name: p.read_bytes() for p in tmp_path.glob("table.*")}

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device", "table.csv")

    monkeypatch.setattr(study, "write_text", full)
    check_one_line(reproduce(*arguments), "disk", "same command")
    assert {p.name: p.read_bytes() for p in tmp_path.glob("table.*")} == before


def test_an_interruption_keeps_results(tmp_path, monkeypatch):
    import ravine_paper.studies

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr(ravine_paper.studies, "run_table2", interrupted)
    done = reproduce("table2", "--out", tmp_path)
    assert done.exit_code == 130
    assert "same command" in done.stderr


def test_help_is_quick_and_imports_nothing_heavy():
    commands = ["table2", "alpha", "evolution", "semisupervised", "s1", "margin", "optimisers"]
    code = f"""
import sys
from ravine_paper.cli.app import app
app(["--help"], standalone_mode=False)
for command in {commands}:
    app([command, "--help"], standalone_mode=False)
print(*sys.modules, file=sys.stderr)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout.count("Usage") == 1 + len(commands)
    assert not {"scipy", "sklearn", "matplotlib", "pandas"} & set(done.stderr.split())
