"""The command as a process: streams, exit codes, signals, help, a progress bar on a terminal."""

import contextlib
import ctypes
import errno
import os
import re
import shutil
import signal
import subprocess
import sys
import time
import weakref

import numpy as np
import pytest
from sklearn.metrics import adjusted_rand_score

pytest.importorskip("pyarrow")
pytest.importorskip("click")


from ravine import load, models
from ravine.cli.console import Console, estimate_time_left, format_seconds
from support.command_line import column, leftovers, ravine, read, table, write


@pytest.fixture(autouse=True)
def workplace(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return tmp_path


def read_bytes(path):
    with open(path, "rb") as stream:
        return stream.read()


def command(*arguments, **options):
    script = "from ravine.cli import main; main()"
    return subprocess.run([sys.executable, "-c", script, *arguments], capture_output=True, timeout=120, **options)


def test_data_go_to_standard_output_and_messages_to_error():
    text, y = table()
    run = command("cluster", "-", "--out", "-", "--clusters", "3", input=text.encode())
    assert run.returncode == 0
    assert adjusted_rand_score(y, column(run.stdout.decode(), "cluster")) == 1.0
    assert b"3 clusters" in run.stderr
    assert b"\x1b" not in run.stderr  # no progress bar without a terminal


def test_process_prints_a_traceback_only_with_debug():
    run = ravine("cluster", "none.csv", code=1)
    assert "'none.csv'" in run.stderr
    assert len(run.stderr.splitlines()) == 1
    assert "Traceback" in ravine("cluster", "none.csv", "--debug", code=1).stderr
    ravine("cluster", "--clusters", "many", "x.csv", code=2)


@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP"])
def test_signals_to_end_leave_nothing(monkeypatch, name):
    number = getattr(signal, name)
    monkeypatch.setattr("ravine.models.save", lambda *args: signal.raise_signal(number))
    write(table()[0])
    before = signal.signal(number, signal.SIG_DFL)  # ignored where the tests run in the background
    try:
        run = ravine("cluster", "data.csv", "--clusters", 2, code=128 + number)
        assert "Stopped: nothing was written." in run.stderr
        assert leftovers() == []
        assert signal.getsignal(number) is signal.SIG_DFL
    finally:
        signal.signal(number, before)


@pytest.fixture
def terminable():
    """Set the handlers that Python starts with; signals are ignored where the tests run in the background."""
    before = {
        number: signal.signal(number, handler)
        for number, handler in ((signal.SIGTERM, signal.SIG_DFL), (signal.SIGINT, signal.default_int_handler))
    }
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


class Lose:
    """Places where Python or other code drops the exception of a signal handler."""

    def weakref_callback(number):
        thing = type("Thing", (), {})()
        reference = weakref.ref(thing, lambda _: signal.raise_signal(number))
        del thing
        assert reference() is None

    def finaliser(number):
        type("Thing", (), {"__del__": lambda _: signal.raise_signal(number)})()

    def callback_of_c(number):
        ctypes.CFUNCTYPE(None)(lambda: signal.raise_signal(number))()

    def catch_all(number):
        with contextlib.suppress(BaseException):
            signal.raise_signal(number)

    def set_name(number):
        class Descriptor:
            def __set_name__(self, owner, name):
                signal.raise_signal(number)

        type("Thing", (), {"descriptor": Descriptor()})


@pytest.mark.usefixtures("terminable")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
@pytest.mark.parametrize("place", ["weakref_callback", "finaliser", "callback_of_c", "set_name"])
def test_signals_inside_callbacks_end_the_command_soon(monkeypatch, capfd, name, place):
    number, goes_on = getattr(signal, name), []

    def fit(*args, **kwargs):
        getattr(Lose, place)(number)
        time.sleep(20.0)  # a signal that is sent again interrupts a system call
        goes_on.append(True)

    monkeypatch.setattr("ravine.MinimumDensityTree.fit", fit)
    hook = sys.unraisablehook
    write(table()[0])
    run = ravine("cluster", "data.csv", "--clusters", 2, code=128 + number)
    assert run.stderr.splitlines()[-1] == "Stopped: nothing was written."
    assert not goes_on
    assert leftovers() == []
    assert "Exception ignored" not in capfd.readouterr().err
    assert sys.unraisablehook is hook


@pytest.mark.usefixtures("terminable")
@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_signals_that_other_code_catches_end_the_command_late(monkeypatch, name):
    number, save = getattr(signal, name), models.save
    monkeypatch.setattr("ravine.models.save", lambda *args: (Lose.catch_all(number), save(*args)))
    write(table()[0])
    run = ravine("cluster", "data.csv", "--clusters", 2, code=128 + number)
    assert run.stderr.splitlines()[-1] == "Stopped: the results in 'data-ravine' are complete."
    assert leftovers() == ["data-ravine"]


@pytest.mark.usefixtures("terminable")
def test_other_ignored_exceptions_are_still_reported(monkeypatch):
    reports = []
    monkeypatch.setattr(sys, "unraisablehook", lambda dropped: reports.append(dropped.exc_type))
    monkeypatch.setattr("ravine.models.save", lambda *args: type("Thing", (), {"__del__": lambda _: 1 / 0})())
    write(table()[0])
    ravine("cluster", "data.csv", "--clusters", 2)
    assert reports == [ZeroDivisionError]


@pytest.mark.usefixtures("terminable")
@pytest.mark.parametrize("existing", [False, True])
@pytest.mark.parametrize("place", ["rename", "rmtree"])
def test_signals_while_results_are_moved_wait(monkeypatch, existing, place):
    """At every move of a file: all new results are there, and nothing else."""
    write(table()[0])
    if existing:
        ravine("cluster", "data.csv", "--clusters", 2)
    module, function = {"rename": (os, os.rename), "rmtree": (shutil, shutil.rmtree)}[place]

    def signal_and_do(*args, **kwargs):
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        function(*args, **kwargs)
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(module, place, signal_and_do)
    run = ravine("cluster", "data.csv", "--clusters", 3, "--force", code=143)
    assert run.stderr.splitlines()[-1] == "Stopped: the results in 'data-ravine' are complete."
    assert leftovers() == ["data-ravine"]
    assert not [name for name in os.listdir("data-ravine") if name.startswith(".")]
    assert len(set(column(read("data-ravine/labels.csv"), "cluster"))) == 3
    assert load("data-ravine/model.ravine").estimator.n_clusters_ == 3


@pytest.mark.usefixtures("terminable")
def test_old_results_are_restored_whatever_signals_arrive(monkeypatch):
    """A full disk at the third move, and a signal at every move back."""
    write(table()[0])
    ravine("cluster", "data.csv", "--clusters", 2)
    before = {name: read_bytes(f"data-ravine/{name}") for name in os.listdir("data-ravine")}
    rename, moves = os.rename, iter(range(100))

    def fail_at_third(source, target):
        number = next(moves)
        if number == 2:
            raise OSError(errno.ENOSPC, "No space left on device")
        if number > 2:
            signal.raise_signal(signal.SIGTERM)
        rename(source, target)

    monkeypatch.setattr(os, "rename", fail_at_third)
    run = ravine("cluster", "data.csv", "--clusters", 3, "--force", code=143)
    assert run.stderr.splitlines()[-1] == "Stopped: nothing was written."
    assert {name: read_bytes(f"data-ravine/{name}") for name in os.listdir("data-ravine")} == before


@pytest.mark.parametrize("command", ["cluster", "predict"])
def test_signals_after_the_last_file_tell_that_results_are_complete(monkeypatch, command):
    write(table()[0])
    if command == "predict":
        ravine("cluster", "data.csv", "--clusters", 2)
    arguments = {
        "cluster": ["cluster", "data.csv", "--clusters", 2, "--out", "new"],
        "predict": ["predict", "data-ravine/model.ravine", "data.csv", "--out", "new"],
    }[command]
    printed = Console.print

    def interrupt(self, text):
        if os.path.exists("new"):
            raise KeyboardInterrupt
        printed(self, text)

    monkeypatch.setattr(Console, "print", interrupt)
    run = ravine(*arguments, code=130)
    complete = {"cluster": "the results in 'new' are complete", "predict": "'new' is complete"}[command]
    assert run.stderr.splitlines()[-1] == f"Stopped: {complete}."


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
@pytest.mark.parametrize(
    ("options", "state"),
    [
        (["--json", "--out", "new"], "'new' are complete"),
        (["--out", "-"], "may be incomplete"),
    ],
)
def test_a_full_disk_of_standard_output_loses_no_results(options, state):
    write(table()[0])
    script = "from ravine.cli import main; main()"
    arguments = [sys.executable, "-c", script, "cluster", "data.csv", "--clusters", "3", "--no-figures", *options]
    with open("/dev/full", "wb") as full:
        run = subprocess.run(arguments, stdout=full, stderr=subprocess.PIPE, timeout=120)
    assert run.returncode == 1
    assert re.search(f"disk is full.*{state}", run.stderr.decode())
    assert os.path.exists("new/labels.csv") == ("new" in options)


def test_little_is_imported_before_interrupts_are_received():
    script = "import sys; before = set(sys.modules); import ravine.cli; print(*set(sys.modules) - before)"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60)
    assert {name for name in run.stdout.split() if "ravine" in name} == {"ravine", "ravine._imports", "ravine.cli"}
    assert not {"typing", "click", "numpy"} & set(run.stdout.split())


@pytest.mark.parametrize("raised", ["KeyboardInterrupt", "RuntimeError() from KeyboardInterrupt()"])
def test_interrupted_imports_print_no_traceback(raised):
    script = f"""
import sys
class Interrupting:
    def find_spec(self, name, path=None, target=None):
        if name == "click":
            raise {raised}
sys.meta_path.insert(0, Interrupting())
from ravine.cli import main
main()
"""
    run = subprocess.run([sys.executable, "-c", script, "--help"], capture_output=True, timeout=60)
    assert run.returncode == 130
    assert run.stderr == b"Stopped: nothing was written.\n"


def test_interrupted_import_of_a_command_is_no_failure(monkeypatch):
    def interrupt(name):
        raise KeyboardInterrupt

    monkeypatch.setattr("ravine.cli.app.import_module", interrupt)
    run = ravine("describe", "model.ravine", code=130)
    assert run.stderr == "Stopped: nothing was written.\n"


@pytest.mark.slow
@pytest.mark.usefixtures("terminable")
def test_interrupted_process_leaves_nothing():
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
    assert not loaded & {"numpy", "scipy", "sklearn", "pandas", "pyarrow", "matplotlib", "rich"}
    for name in ("cluster", "classify", "predict", "describe", "demo"):
        assert name in run.stdout


@pytest.mark.parametrize("name", ["cluster", "classify", "predict", "describe", "demo"])
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


@pytest.mark.parametrize("steps", [[(2, 9)], [(9, 9)], [(11, 9)], [(3, None)], []])
def test_progress_bar_ends_at_100_percent(monkeypatch, steps):
    progress = pytest.importorskip("rich.progress")
    bars = []

    class Recorded(progress.Progress):
        def __init__(self, *columns, **options):
            super().__init__(*columns, **options)
            bars.append(self)

    monkeypatch.setattr(progress, "Progress", Recorded)
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with Console().step("fitting") as show_progress:
        for done, total in steps:
            show_progress(done, total, "")
    assert [task.percentage for task in bars[0].tasks] == [100.0]


def run_on_terminal(script):
    """Return what a script writes to a terminal as standard error, without the sequences that control it."""
    ours, theirs = os.openpty()
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "100"}
    run = subprocess.run(
        [sys.executable, "-c", script], stderr=theirs, stdout=subprocess.PIPE, env=environment, timeout=60
    )
    os.close(theirs)
    shown = os.read(ours, 100_000).decode()
    os.close(ours)
    assert run.stdout == b""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_progress_bar_is_shown_on_a_terminal():
    shown = run_on_terminal("""
import time
from ravine.cli.console import Console, estimate_time_left, format_seconds
with Console().step("fitting") as show_progress:
    for k in range(4):
        show_progress(k, 4, f"step {k}")
        time.sleep(0.3)
""")
    assert "fitting step" in shown
    assert "left" in shown


@pytest.mark.skipif(not hasattr(os, "openpty"), reason="needs a terminal")
def test_messages_of_a_step_have_lines_of_their_own():
    shown = run_on_terminal("""
import time
from ravine.cli.console import Console, estimate_time_left, format_seconds
console = Console()
with console.step("reading"):
    time.sleep(0.3)
    console.report("[red] 4 columns :smile:")
    time.sleep(0.3)
console.print("the end")
""")
    assert re.search(r"[\r\n]\[red\] 4 columns :smile: *\r?\n", shown)
    assert shown.count("4 columns") == 1
    assert re.search(r"[\r\n]the end\r\n", shown)


def test_time_left_counts_down_and_rises_for_a_late_step_only():
    times = np.arange(20.0, 30.0, 0.5)  # two of six steps took 10 seconds each
    left = [estimate_time_left(2, 6, 20.0, now) for now in times]
    assert left[0] == 40.0
    assert (np.diff(left) == -0.5).all()
    assert estimate_time_left(2, 6, 20.0, 60.0) > estimate_time_left(2, 6, 20.0, 45.0)
    assert estimate_time_left(6, 6, 60.0, 60.0) == 0.0
    assert estimate_time_left(0, 6, 0.0, 5.0) is None
    assert estimate_time_left(3, None, 1.0, 5.0) is None


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "0:00"), (59.7, "1:00"), (61, "1:01"), (3725, "1:02:05")])
def test_times_have_minutes_seconds_and_rarely_hours(seconds, text):
    assert format_seconds(seconds) == text
