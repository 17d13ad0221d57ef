"""Closed streams, folders of killed runs, control characters on a terminal, formulas in the labels."""

import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

pytest.importorskip("pyarrow")
pytest.importorskip("click")

from ravine import models
from ravine.cli import main
from ravine.cli.app import app
from ravine.cli.console import escape, escape_json
from ravine.cli.errors import CommandError
from ravine.cli.output_folder import lock_stage, remove_killed_runs, stage_results
from ravine.cli.outputs import count_formulas, protect_formulas
from support.command_line import column, leftovers, ravine, read, table, write

MAIN = "from ravine.cli import main; main()"
POSIX = pytest.mark.skipif(sys.platform == "win32", reason="needs POSIX")


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def run_shell(redirections, *arguments):
    """Run the command in a shell, for example with ``>&-`` to close standard output."""
    line = ["sh", "-c", f'exec "$0" -c "{MAIN}" "$@" {redirections}', sys.executable, *arguments]
    return subprocess.run(line, capture_output=True, timeout=120, text=True)


def run_without(stream, *arguments, monkeypatch, capsys):
    """Run the command as if Python had started without a standard stream; return its code and output."""
    monkeypatch.setattr(sys, stream, None)
    monkeypatch.setattr(sys, "argv", ["ravine", *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    return end.value.code, capsys.readouterr()


# ----------------------------------------------------------------------------------------------- what is never replaced


@pytest.fixture
def fitted():
    write(table()[0])
    ravine("cluster", "data.csv")
    return "data-ravine/model.ravine"


def get_identity(path):
    status = os.lstat(path)
    return status.st_ino, status.st_mode, status.st_size


@POSIX
@pytest.mark.parametrize("place", ["pipe", "link", "data.csv", "again.csv", "data-ravine/model.ravine", "data-ravine"])
def test_labels_replace_no_pipe_link_input_or_model(fitted, place):
    os.mkfifo("pipe")
    os.symlink("missing/place", "link")
    os.symlink("data.csv", "again.csv")
    before = get_identity(place)
    message = ravine("predict", fitted, "data.csv", "--out", place, "--force", code=1).stderr
    assert repr(place) in message
    assert "--out" in message
    assert get_identity(place) == before


@POSIX
def test_results_replace_no_pipe_link_or_input():
    os.makedirs("pipes")
    os.mkfifo("pipes/labels.csv")
    os.symlink("missing/place", "link")
    os.makedirs("input")
    text = table()[0]
    write(text, "input/labels.csv")
    for source, folder in {"data.csv": "pipes", "input/labels.csv": "input"}.items():
        write(text)
        before = get_identity(f"{folder}/labels.csv")
        assert f"'{folder}/labels.csv'" in ravine("cluster", source, "--out", folder, "--force", code=1).stderr
        assert get_identity(f"{folder}/labels.csv") == before
        assert os.listdir(folder) == ["labels.csv"]
    assert "'link' is a broken link" in ravine("cluster", "data.csv", "--out", "link", "--force", code=1).stderr
    assert Path("input/labels.csv").read_bytes() == text.encode()


@pytest.mark.parametrize("exists", [False, True])
@pytest.mark.parametrize("force", [False, True])
def test_the_second_of_two_runs_replaces_results_only_by_force(tmp_path, exists, force):
    folder = tmp_path / "out"
    if exists:
        folder.mkdir()

    def run_twice():
        with stage_results(folder, ["labels.csv"], force, "-") as stage:
            (stage / "labels.csv").write_text("second")
            with stage_results(folder, ["labels.csv"], False, "-") as first:
                (first / "labels.csv").write_text("first")

    if force:
        run_twice()
    else:
        with pytest.raises(CommandError, match=re.escape(repr(str(folder)))):
            run_twice()
    assert (folder / "labels.csv").read_text() == ("second" if force else "first")
    assert os.listdir(tmp_path) == ["out"]
    assert os.listdir(folder) == ["labels.csv"]


def test_a_module_runs_the_command_and_names_the_nearest():
    run = subprocess.run([sys.executable, "-m", "ravine", "clutser"], capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert "did you mean 'cluster'?" in run.stderr
    assert "did you mean" not in ravine("unheard", code=2).stderr


# ----------------------------------------------------------------------------------------------- closed streams


def test_closed_standard_input_is_an_error(monkeypatch, capsys):
    code, output = run_without("stdin", "cluster", "-", "--out", "-", monkeypatch=monkeypatch, capsys=capsys)
    assert (code, output.out) == (1, "")
    assert "standard input" in output.err
    assert len(output.err.splitlines()) == 1


@POSIX
@pytest.mark.parametrize("options", [("--out", "-"), ("--json",)])
def test_closed_standard_output_is_an_error_if_it_is_needed(options):
    write(table()[0])
    run = run_shell(">&-", "cluster", "data.csv", *options)
    assert run.returncode == 1
    assert "standard output" in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert leftovers() == []


def test_closed_standard_error_loses_only_messages(monkeypatch, capsys):
    write(table()[0])
    arguments = ("cluster", "data.csv", "--out", "-", "--clusters", "3")
    code, output = run_without("stderr", *arguments, monkeypatch=monkeypatch, capsys=capsys)
    assert code == 0
    assert set(column(output.out, "cluster")) == {"0", "1", "2"}


@POSIX
@pytest.mark.parametrize("stream", ["full", "broken"])
def test_a_broken_standard_error_loses_only_messages(stream):
    write(table()[0])
    if stream == "full":
        run = run_shell("2>/dev/full", "cluster", "data.csv", "--no-figures")
        assert run_shell("2>/dev/full", "cluster", "missing.csv").returncode == 1
    else:
        reading, writing = os.pipe()
        os.close(reading)
        arguments = [sys.executable, "-c", MAIN, "cluster", "data.csv", "--no-figures"]
        run = subprocess.run(arguments, stderr=writing, timeout=120)
        os.close(writing)
    assert run.returncode == 0
    assert {"labels.csv", "model.ravine", "summary.json"} <= set(os.listdir("data-ravine"))


@POSIX
def test_files_are_written_with_all_streams_closed():
    write(table()[0])
    run = run_shell("<&- >&- 2>&-", "cluster", "data.csv", "--no-figures", "--clusters", "3")
    assert run.returncode == 0
    assert sorted(os.listdir("data-ravine")) == ["labels.csv", "model.ravine", "summary.json"]
    assert len(column(read("data-ravine/labels.csv"), "cluster")) == 180


# ----------------------------------------------------------------------------------------------- places


@pytest.mark.parametrize(
    "arguments",
    [
        ("cluster", "data.csv"),
        ("classify", "data.csv", "--label-column", "a"),
        ("predict", "m.ravine", "data.csv"),
        ("demo",),
    ],
)
def test_empty_name_of_the_output_is_refused(arguments):
    write(table()[0])
    run = ravine(*arguments, "--out", "", code=2)
    assert "--out" in run.stderr
    assert leftovers() == []


def die(*arguments):
    """Run the command and kill this process when the model is saved."""
    models.save = lambda *args: os.kill(os.getpid(), signal.SIGKILL)
    app(arguments)


@POSIX
@pytest.mark.parametrize("exists", [False, True])
def test_folder_of_a_killed_run_is_removed_by_the_next(exists):
    write(table()[0])
    if exists:
        Path("out").mkdir()
    arguments = ("cluster", "data.csv", "--out", "out", "--clusters", "2", "--no-figures")
    child = multiprocessing.get_context("fork").Process(target=die, args=arguments)
    child.start()
    child.join(120)
    assert child.exitcode == -signal.SIGKILL
    (left,) = Path("out" if exists else ".").glob(".ravine-*")
    again = ravine(*arguments)
    assert repr(str(left.absolute())) in again.stderr
    assert not left.exists()
    assert sorted(os.listdir("out")) == ["labels.csv", "model.ravine", "summary.json"]
    assert leftovers() == ["out"]


def make_stage(name=".ravine-0123456789ab", age=0.0):
    stage = Path(name)
    (stage / "new").mkdir(parents=True)
    os.utime(stage, (time.time() - age,) * 2)
    return stage


@POSIX
def test_folder_of_a_running_run_is_kept():
    stage = make_stage()
    with lock_stage(stage):
        assert remove_killed_runs(Path("out")) == []
        assert stage.exists()
    assert len(remove_killed_runs(Path("out"))) == 1
    assert not stage.exists()


def test_folder_without_a_lock_is_removed_after_a_day():
    young, old = make_stage(age=3600.0), make_stage(".ravine-aaaaaaaaaaaa", age=90_000.0)
    assert len(remove_killed_runs(Path("out"))) == 1
    assert (young.exists(), old.exists()) == (True, False)


def test_other_hidden_folders_are_not_touched():
    for name in (".ravine-mine", ".ravine-0123456789abc", ".other"):
        make_stage(name, age=1e6)
    (make_stage(age=1e6) / "notes.txt").write_text("mine")
    Path(".ravine-bbbbbbbbbbbb").symlink_to(Path(".other"))
    before = leftovers()
    assert remove_killed_runs(Path("out")) == []
    assert leftovers() == before


def test_earlier_results_in_the_folder_of_a_killed_run_are_kept():
    stage = make_stage(age=1e6)
    (stage / "old").mkdir()
    (stage / "old" / "labels.csv").write_text("row,cluster\n")
    os.utime(stage, (0.0, 0.0))
    (message,) = remove_killed_runs(Path("out"))
    assert str(stage) in message
    assert (stage / "old" / "labels.csv").exists()


@POSIX
def test_unknown_kernels_are_refused(monkeypatch):
    monkeypatch.setenv("RAVINE_KERNELS", "fast")
    write(table()[0])
    run = run_shell("", "cluster", "data.csv", "--out", "-")
    assert run.returncode == 1
    assert "RAVINE_KERNELS" in run.stderr


# ----------------------------------------------------------------------------------------------- control characters

TURNED = "a\u202eb\u2066c\u200fd\x1b[31me\x85f\u00adg"


def test_control_characters_are_escaped():
    assert escape(TURNED) == "a\\u202eb\\u2066c\\u200fd\\x1b[31me\\x85f\\xadg"
    assert escape("crème \u05d0 \U0001f468\u200d\U0001f469") == "crème \u05d0 \U0001f468\u200d\U0001f469"
    text = json.dumps({"x": TURNED, "y": "é"}, ensure_ascii=False, indent=1)
    assert json.loads(escape_json(text)) == {"x": TURNED, "y": "é"}
    assert not any(c in escape_json(text) for c in "\u202e\u2066\u200f\x1b\x85\u00ad")


def test_messages_have_no_control_characters():
    text, _ = table(names=("a", "b\u202e", "c\x1b[2J", "d"))
    write(text)
    run = ravine("cluster", "data.csv", "--clusters", 3, "--out", "o\u202ex")
    described = ravine("describe", "o\u202ex/model.ravine")
    printed = ravine("cluster", "data.csv", "--clusters", 3, "--out", "other", "--json")
    for output in (run.stderr, described.stdout, printed.stdout):
        assert "\\u202e" in output
        assert not any(c in output for c in "\u202e\x1b")


@POSIX
def test_labels_on_a_terminal_have_no_control_characters():
    pty = pytest.importorskip("pty")
    text, _ = table(extra=lambda y: {"id": [f"k\x1b[2J{n}" for n in range(len(y))]})
    write(text)
    arguments = ("cluster", "data.csv", "--key", "id", "--clusters", "3", "--out", "-", "--quiet")
    ours, theirs = pty.openpty()
    process = subprocess.Popen([sys.executable, "-c", MAIN, *arguments], stdout=theirs)
    os.close(theirs)
    seen = b""
    while True:
        try:
            piece = os.read(ours, 1 << 16)
        except OSError:  # the other end is closed
            break
        if not piece:
            break
        seen += piece
    os.close(ours)
    assert process.wait(60) == 0
    assert b"k\\x1b[2J179" in seen
    assert b"\x1b" not in seen
    assert column(ravine(*arguments).stdout, "id")[0] == "k\x1b[2J0"


# ----------------------------------------------------------------------------------------------- formulas

KEYS = ["=1+1", "+cmd|x", "-x", "@sum(a)", "-5", "+3.2", "plain", "a=b", "-", "\tx"]
PROTECTED = ["'=1+1", "'+cmd|x", "'-x", "'@sum(a)", "-5", "+3.2", "plain", "a=b", "-", "'\tx"]


def table_with_formulas():
    text, _ = table(extra=lambda y: {"=id": [KEYS[n % len(KEYS)] for n in range(len(y))]})
    return write(text)


def test_keys_are_written_as_they_are_with_a_note():
    table_with_formulas()
    run = ravine("cluster", "data.csv", "--key", "=id", "--clusters", 3)
    assert column(read("data-ravine/labels.csv"), "=id")[:10] == KEYS
    assert "91 cells" in run.stderr
    assert "--spreadsheet" in run.stderr


def test_formulas_are_protected_for_spreadsheets():
    table_with_formulas()
    run = ravine("cluster", "data.csv", "--key", "=id", "--clusters", 3, "--spreadsheet")
    assert column(read("data-ravine/labels.csv"), "'=id")[:10] == PROTECTED
    assert "formulas" not in run.stderr
    predicted = ravine("predict", "data-ravine/model.ravine", "data.csv", "--key", "=id", "--spreadsheet")
    assert column(predicted.stdout, "'=id")[:10] == PROTECTED
    plain = ravine("predict", "data-ravine/model.ravine", "data.csv", "--key", "=id")
    assert column(plain.stdout, "=id")[:10] == KEYS
    assert "--spreadsheet" in plain.stderr


def test_labels_that_are_formulas_are_protected():
    write(table(extra=lambda y: {"kind": [["=a", "b", "c"][k] for k in y]})[0])
    ravine("classify", "data.csv", "--label-column", "kind", "--spreadsheet")
    assert set(column(read("data-ravine/labels.csv"), "class")) == {"'=a", "b", "c"}
    assert set(column(read("data-ravine/labels.csv"), "given")) == {"'=a", "b", "c"}


@pytest.mark.parametrize("kind", ["text", "dictionary"])
def test_formulas_of_several_lines_and_in_dictionaries_are_protected(kind):
    pa = pytest.importorskip("pyarrow")
    cells = pa.array(["=\n1+1", "=A1", "-5", "plain"])
    table = pa.table({"key": cells if kind == "text" else cells.dictionary_encode()})
    assert count_formulas(table) == 2
    assert protect_formulas(table)["key"].to_pylist() == ["'=\n1+1", "'=A1", "-5", "plain"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no named pipes")
def test_a_pipe_in_place_of_a_lock_does_not_block(tmp_path):
    stage = tmp_path / ".ravine-0123456789ab"
    stage.mkdir()
    os.mkfifo(stage / "lock")
    assert remove_killed_runs(tmp_path / "out") == []
    assert stage.exists()
