"""Bad input: one line that states what to do, a non-zero exit code, no traceback, no incomplete files."""

import errno
import os
import re
import sys
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")

from click.testing import CliRunner

from ravine import cli
from ravine.cli.app import app
from ravine.cli.errors import describe_error
from ravine.estimators import MinimumDensityTree

CORNERS = 12.0 * np.array([(k % 2, k // 2 % 2) for k in range(40)])
ROWS = CORNERS + np.random.default_rng(0).normal(size=(40, 2))
GOOD = "a,b\n" + "".join(f"{x:.3f},{y:.3f}\n" for x, y in ROWS)


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("data.csv").write_text(GOOD)


def get_error(*arguments, code=1, stdin=None):
    """Return the one line of the error; nothing is left behind."""
    before = sorted(map(str, Path().rglob("*")))
    result = CliRunner().invoke(app, list(arguments), input=stdin)
    assert result.exit_code == code, (result.output, result.exception)
    assert result.stdout == ""
    assert "Traceback" not in result.output
    last = result.stderr.splitlines()[-1]
    assert [line for line in result.stderr.splitlines() if line.startswith("Error: ")] == [last]
    assert len(last) < 2000
    assert sorted(map(str, Path().rglob("*"))) == before
    return last


@pytest.mark.parametrize(
    ("content", "named"),
    [
        (b"", "data.csv"),
        (b"\n \n", "data.csv"),
        (b"a,b\n", "no rows"),
        (b"name,kind\nx,y\nz,w\n", "'name'.*'x'.*'kind'.*'w'"),
        (b"a,b\n1,2\n3\n", "line 3"),
        (b"a,b\n1,2\n3,4,5\n", "line 3"),
        ("a,b\n1,2\n3,é\n".encode("latin-1"), "0xe9"),
        ("a,b\n1,2\n".encode("utf-16-be"), "data.csv"),
        (b"a,a,b\n1,2,3\n", "'a'"),
        (b"a,b\n1,2\n3,inf\n", r"'b' \(row 2\)"),
        (b"a,b\n1,inf\n-inf,2\n", r"'a' \(row 2\), 'b' \(row 1\)"),
        (b"a,b\n1,2\n3,?\n", "'b' 1"),
        (b"a,b\n1,2\n3,\n", "'b' 1"),
        (b"a,b\n1,2\n1,2\n1,2\n", "equal"),
        (b"a,b\n1,2\n", "equal"),
        (b'a,b\n1,"2\n', "line 2"),
        (b"PK\x03\x04", "zip"),
        (b"\x1f\x8b\x08\x00", "gzip"),
        (bytes(range(256)), "data.csv"),
    ],
)
@pytest.mark.parametrize("place", ["file", "stdin"])
def test_unusable_tables(content, named, place):
    if place == "file":
        Path("data.csv").write_bytes(content)
        assert re.search(named, get_error("cluster", "data.csv"))
    else:
        assert re.search(named.replace("data.csv", "standard input"), get_error("cluster", "-", stdin=content))


@pytest.mark.parametrize("command", ["cluster", "classify"])
def test_missing_files(command):
    label = ["--label-column", "b"] if command == "classify" else []
    assert "'none.csv'" in get_error(command, "none.csv", *label)
    os.mkdir("folder")
    assert "'folder'" in get_error(command, "folder", *label)


def test_missing_columns():
    assert re.search("'aa'.*'a'.*--drop aa", get_error("cluster", "data.csv", "--drop", "aa"))
    assert re.search("'zzz'.*'a', 'b'.*--key zzz", get_error("cluster", "data.csv", "--key", "zzz"))
    assert "--label-column x" in get_error("classify", "data.csv", "--label-column", "x")
    assert "no column" in get_error("cluster", "data.csv", "--drop", "a,b")
    assert "--key" in get_error("classify", "data.csv", "--label-column", "a", "--key", "a")


def test_too_many_clusters_and_categories():
    assert "40 rows" in get_error("cluster", "data.csv", "--clusters", "100")
    Path("data.csv").write_text("a,b\n" + "".join(f"{k},t{k}\n" for k in range(60)))
    assert "'b'" in get_error("cluster", "data.csv", "--encode", "one-hot")


@pytest.mark.parametrize(
    "bad",
    [
        "--clusters 0",
        "--clusters x",
        "--scale big",
        "--seed -1",
        "--nonsense",
        "--delimiter xx",
        '--delimiter "',
        "--decimal xx",
    ],
)
def test_wrong_usage_has_exit_code_2(bad):
    result = CliRunner().invoke(app, ["cluster", "data.csv", *bad.split()])
    assert result.exit_code == 2
    assert "Error:" in result.stderr


@pytest.mark.parametrize("sign", ["\\t", "tab", "\t"])
def test_tab_can_be_written_in_several_ways(sign):
    Path("data.csv").write_text(GOOD.replace(",", "\t"))
    result = CliRunner().invoke(app, ["cluster", "data.csv", "--no-figures", "--delimiter", sign])
    assert result.exit_code == 0, result.output
    assert "tab-separated" in result.stderr


def test_decimal_commas_are_detected():
    Path("data.csv").write_text(GOOD.replace(",", ";").replace(".", ","))
    assert CliRunner().invoke(app, ["cluster", "data.csv", "--no-figures"]).exit_code == 0
    found = Path("data-ravine/labels.csv").read_bytes()
    options = ["--no-figures", "--decimal", ",", "--force"]
    assert CliRunner().invoke(app, ["cluster", "data.csv", *options]).exit_code == 0
    assert Path("data-ravine/labels.csv").read_bytes() == found
    Path("data.csv").write_text("a;b\n1,5;1\nx,y;2\n")
    assert "decimal" not in get_error("cluster", "data.csv")


@pytest.mark.parametrize("cells", [("7,309", "788"), ("0", "1,000"), ("-1,234", "7,309")])
@pytest.mark.parametrize("option", [[], ["--auto"]])
def test_commas_of_two_meanings_need_a_decision(cells, option):
    text = "\n".join(["income,age", *(f'"{cells[k % 2]}",{k % 7}' for k in range(40))])
    Path("data.csv").write_text(text)
    message = get_error("cluster", "data.csv", *option)
    example = next(cell for cell in cells if "," in cell)
    assert "'income'" in message
    assert f"'{example}'" in message
    assert "--decimal" in message
    assert "or let --auto" not in message
    for decision in (["--decimal", ","], ["--thousands", ","]):
        arguments = ["cluster", "data.csv", "--no-figures", "--force", *option, *decision]
        assert CliRunner().invoke(app, arguments).exit_code == 0
    Path("data.csv").write_text(text.replace(",1\n", ",1.5\n"))
    assert CliRunner().invoke(app, ["cluster", "data.csv", "--no-figures", "--force", *option]).exit_code == 0


def test_results_are_overwritten_only_with_force():
    arguments = ["cluster", "data.csv", "--clusters", "2", "--no-figures"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    before = Path("data-ravine/labels.csv").read_bytes()
    Path("data-ravine/mine.txt").write_text("mine")
    other = ["cluster", "data.csv", "--clusters", "3", "--no-figures"]
    assert "labels.csv: use --force" in get_error(*other)
    assert Path("data-ravine/labels.csv").read_bytes() == before
    assert CliRunner().invoke(app, [*other, "--force"]).exit_code == 0
    assert Path("data-ravine/mine.txt").read_text() == "mine"
    assert Path("data-ravine/labels.csv").read_bytes() != before
    Path("file").write_text("")
    assert "'file'" in get_error("cluster", "data.csv", "--out", "file")


def test_force_removes_all_results_of_an_earlier_run():
    arguments = ["cluster", "data.csv", "--clusters"]
    assert CliRunner().invoke(app, [*arguments, "4"]).exit_code == 0
    assert Path("data-ravine/figures/split-0.png").exists()
    Path("data-ravine/figures/mine.png").write_text("mine")
    Path("data-ravine/figures/split-12.png").write_text("of an older run")
    assert CliRunner().invoke(app, [*arguments, "2", "--force"]).exit_code == 0
    left = {path.name for path in Path("data-ravine/figures").iterdir()}
    assert left == {"tree.png", "direction-0.png", "split-0.png", "mine.png"}
    assert CliRunner().invoke(app, [*arguments, "2", "--force", "--no-figures"]).exit_code == 0
    left = {str(path.relative_to("data-ravine")) for path in Path("data-ravine").rglob("*") if path.is_file()}
    assert left == {"labels.csv", "model.ravine", "summary.json", "figures/mine.png"}
    Path("data-ravine/figures/mine.png").rename("mine.png")
    Path("data-ravine/figures").rmdir()
    Path("data-ravine/figures").write_text("")
    assert "figures'" in get_error(*arguments, "2", "--force")


def test_existing_folder_is_written_below_a_read_only_one(monkeypatch):
    Path("above/out").mkdir(parents=True)
    mkdir, rename = Path.mkdir, os.rename

    def other_disk(source, target):
        if Path("above/out").absolute() not in Path(source).absolute().parents:
            raise OSError(errno.EXDEV, "Invalid cross-device link")
        rename(source, target)

    def only_below(self, *args, **kwargs):
        if self.absolute().parent == Path("above").absolute():
            raise PermissionError(errno.EACCES, "Permission denied", str(self))
        mkdir(self, *args, **kwargs)

    monkeypatch.setattr(os, "rename", other_disk)
    monkeypatch.setattr(os, "replace", other_disk)
    monkeypatch.setattr(Path, "mkdir", only_below)
    arguments = ["cluster", "data.csv", "--clusters", "2", "--no-figures", "--out", "above/out"]
    # The model file is replaced within the hidden folder.
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert sorted(os.listdir("above/out")) == ["labels.csv", "model.ravine", "summary.json"]


def test_unwritable_folder_is_noticed_before_the_work(monkeypatch):
    def forbidden(self, *args, **kwargs):
        raise PermissionError(errno.EACCES, "Permission denied", str(self))

    monkeypatch.setattr(MinimumDensityTree, "fit", lambda *args: pytest.fail("too late"))
    with monkeypatch.context() as patch:
        patch.setattr(Path, "mkdir", forbidden)
        assert re.search("'data-ravine'.*permission denied.*--out", get_error("cluster", "data.csv"))
        os.mkdir("there")
        assert "'there'" in get_error("cluster", "data.csv", "--out", "there")
    Path("file").write_text("")
    assert re.search("'file/below'.*'file'.*--out", get_error("cluster", "data.csv", "--out", "file/below"))
    if os.path.isdir("/proc/1"):
        assert "'/proc/ravine-out'" in get_error("cluster", "data.csv", "--out", "/proc/ravine-out")


@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("place", ["labels", "model", "summary", 1, 2, 3, 4, 5])  # or that move of a file
def test_full_disk_leaves_everything_as_it_was(monkeypatch, place, existing):
    if existing:
        assert CliRunner().invoke(app, ["cluster", "data.csv", "--clusters", "2", "--no-figures"]).exit_code == 0
    elif place in (2, 3, 4, 5):
        pytest.skip("a new folder is moved at once")
    before = {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()}

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    rename, moves = os.rename, iter(range(1, 100))

    def full_once(source, target):
        return full() if next(moves) == place else rename(source, target)

    targets = {
        "labels": ("ravine.cli.outputs.write_csv", full),
        "model": ("zipfile.ZipFile.writestr", full),
        "summary": ("pathlib.Path.write_text", full),
    }
    with monkeypatch.context() as patch:
        patch.setattr(*targets.get(place, ("os.rename", full_once)))
        arguments = ["cluster", "data.csv", "--clusters", "3", "--no-figures", *(["--force"] if existing else [])]
        assert "disk is full" in get_error(*arguments)
    assert {path: path.read_bytes() for path in Path().rglob("*") if path.is_file()} == before


@pytest.mark.parametrize("place", ["fit", "write"])
def test_interruption_leaves_nothing_and_exits_with_130(monkeypatch, place):
    def interrupted(*args, **kwargs):
        raise KeyboardInterrupt

    if place == "fit":
        monkeypatch.setattr(MinimumDensityTree, "fit", interrupted)
    else:
        monkeypatch.setattr("ravine.models.save", interrupted)
    result = CliRunner().invoke(app, ["cluster", "data.csv", "--clusters", "2", "--out", "deep/er/out"])
    assert result.exit_code == 130
    assert result.stderr.splitlines()[-1] == "Stopped: nothing was written."
    assert sorted(map(str, Path().rglob("*"))) == ["data.csv"]


def test_unexpected_errors_are_one_line_without_debug(monkeypatch):
    def broken(*args, **kwargs):
        raise ZeroDivisionError("division by zero")

    monkeypatch.setattr(MinimumDensityTree, "fit", broken)
    assert re.search("ZeroDivisionError.*division by zero.*--debug", get_error("cluster", "data.csv"))
    shown = CliRunner().invoke(app, ["cluster", "data.csv", "--debug"])
    assert shown.exit_code == 1
    assert "in broken" in shown.stderr


def test_predict_leaves_the_old_file_if_the_disk_is_full(monkeypatch):
    arguments = ["cluster", "data.csv", "--clusters", "2", "--no-figures"]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    Path("new.csv").write_text("old")

    def full(*args, **kwargs):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("ravine.cli.outputs.write_csv", full)
    message = get_error("predict", "data-ravine/model.ravine", "data.csv", "--out", "new.csv", "--force")
    assert "disk is full" in message
    assert Path("new.csv").read_text() == "old"
    assert "'none/new.csv'" in get_error("predict", "data-ravine/model.ravine", "data.csv", "--out", "none/new.csv")


def test_models_saved_from_python_are_not_used_on_tables():
    from ravine.models import save

    save(MinimumDensityTree(2).fit(np.random.default_rng(0).normal(size=(50, 2))), "m.ravine")
    assert "'m.ravine'" in get_error("predict", "m.ravine", "data.csv")
    assert "Tree of" in CliRunner().invoke(app, ["describe", "m.ravine"]).stdout


def test_long_names_are_shortened_in_messages():
    Path("data.csv").write_text(f"{'x' * 5000},b\n1,2\n3,4\n")
    message = get_error("classify", "data.csv", "--label-column", "c")
    assert "--label-column c" in message
    assert " ... " in message
    Path("data.csv").write_text(f"{'x' * 5000},b\n" + GOOD.partition("\n")[2])
    shown = CliRunner().invoke(app, ["cluster", "data.csv", "--clusters", "4", "--no-figures"]).stderr
    assert max(map(len, shown.splitlines())) < 2000


def test_measurements_are_not_classes():
    message = get_error("classify", "data.csv", "--label-column", "a")
    assert "'a'" in message
    assert "--label-column" in message


@pytest.mark.parametrize("command", [["classify"], ["cluster", "--use-labels"]])
def test_labels_that_identify_rows_are_not_classes(command):
    lines = GOOD.splitlines()
    Path("data.csv").write_text("\n".join([f"{lines[0]},id", *(f"{line},no. {k}" for k, line in enumerate(lines[1:]))]))
    message = get_error(*command, "data.csv", "--label-column", "id")
    assert re.search("'id'.*40 .*'no. 0'", message)


@pytest.mark.parametrize("command", [["classify"], ["cluster", "--use-labels"]])
def test_labels_are_necessary_where_they_are_used(command):
    lines = GOOD.splitlines()
    Path("data.csv").write_text("\n".join([f"{lines[0]},kind", *(f"{line}," for line in lines[1:])]))
    assert "'kind'" in get_error(*command, "data.csv", "--label-column", "kind")


@pytest.mark.parametrize(
    ("error", "named"),
    [
        (MemoryError(), "out of memory"),
        (ModuleNotFoundError("x", name="rich"), r"'rich'.*ravine\[app\]"),
        (PermissionError(errno.EACCES, "denied", "a.csv"), "'a.csv'"),
        (IsADirectoryError(errno.EISDIR, "Is a directory", "a"), "'a'.*Is a directory"),
        (OSError(errno.EIO, "Input/output error"), "Input/output error"),
    ],
    ids=lambda given: type(given).__name__ if isinstance(given, Exception) else "",
)
def test_errors_of_the_system_say_what_to_do(error, named):
    assert re.search(named, describe_error(error))


def test_missing_packages_of_the_command_are_named(monkeypatch):
    for name in [name for name in sys.modules if name.split(".")[0] == "click" or name.startswith("ravine.cli.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "click", None)
    with pytest.raises(SystemExit, match=r"'click'.*ravine\[app\]"):
        cli.main()
