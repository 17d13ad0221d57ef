"""The runner of studies works in parallel, continues earlier runs, keeps time limits and loses no result."""

import errno
import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from paper_support import study_toys
from ravine import _files
from ravine_paper._files import write_json
from ravine_paper.studies import StudyError
from ravine_paper.studies.engine.runner import Task, run_tasks
from ravine_paper.studies.engine.store import ResultStore
from support.marks import slow


def open_store(folder, settings=None):
    return ResultStore(folder, "toys", settings or {})


def make_squares(n=6, log=None):
    return [Task(f"task {i}", (f"square.{i}",), study_toys.square, {"log": log}) for i in range(n)]


def test_results_are_computed_and_stored(tmp_path):
    store, seen = open_store(tmp_path), []
    run_tasks(make_squares(), store, n_jobs=2, notify=lambda *given: seen.append(given))
    assert [store.get(f"square.{i}")["value"] for i in range(6)] == [0, 1, 4, 9, 16, 25]
    assert seen[0] == ("", 0, 6)
    assert [done for _, done, _ in seen] == sorted(done for _, done, _ in seen)
    assert seen[-1][1:] == (6, 6)


def test_second_run_continues(tmp_path):
    log = tmp_path / "log"
    run_tasks(make_squares(3, str(log)), open_store(tmp_path / "out"))
    run_tasks(make_squares(6, str(log)), open_store(tmp_path / "out"), n_jobs=2)
    assert sorted(log.read_text().split()) == [f"square.{i}" for i in range(6)]


def test_heavy_tasks_start_first(tmp_path):
    log = tmp_path / "log"
    tasks = [Task("", (f"square.{i}",), study_toys.square, {"log": str(log)}, weight=i) for i in (1, 3, 2)]
    run_tasks(tasks, open_store(tmp_path / "out"), n_jobs=1)
    assert log.read_text().split() == ["square.3", "square.2", "square.1"]


def test_a_damaged_result_is_computed_again(tmp_path):
    run_tasks(make_squares(2), open_store(tmp_path))
    path = tmp_path / "results" / "square.1.json"
    path.write_text(path.read_text()[:9])
    store = open_store(tmp_path)
    run_tasks(make_squares(2), store)
    assert store.get("square.1")["value"] == 1


def test_results_of_other_settings_are_computed_again(tmp_path):
    log, store = tmp_path / "log", open_store(tmp_path / "out")
    for identity in ("C=1", "C=1", "C=2"):
        run_tasks([Task("", ("square.3",), study_toys.square, {"log": str(log)}, identity=identity)], store)
    assert log.read_text().split() == ["square.3"] * 2
    assert store.get("square.3")["identity"] == "C=2"


def test_failures_are_results_and_keep_earlier_ones(tmp_path):
    store = open_store(tmp_path)
    task = Task("bad", ("a.0", "a.1", "a.2"), study_toys.fail, {"after": 1})
    run_tasks([task, *make_squares(2)], store)
    assert store.get("a.0")["status"] == "ok"
    for key in ("a.1", "a.2"):
        assert store.get(key)["error"] == "ValueError: the data are bad"
        assert "study_toys.py" in store.get(key)["traceback"]
    assert store.get("square.1")["value"] == 1
    good = Task("bad", task.keys, study_toys.fail, {"after": 9})
    run_tasks([good], store)
    assert store.get("a.1")["status"] == "failed"
    run_tasks([good], store, retry_failed=True)
    assert store.get("a.1")["status"] == store.get("a.2")["status"] == "ok"


def test_time_limit(tmp_path):
    store, woken = open_store(tmp_path), tmp_path / "woken"
    sleep = Task("slow", ("s.0", "s.1"), study_toys.sleep, {"seconds": 60.0, "log": str(woken)}, time_limit=1.5)
    run_tasks([sleep, *make_squares(2)], store, n_jobs=2)
    assert not woken.exists()
    assert (
        store.get("s.0") == store.get("s.1") == {"status": "time limit", "error": "stopped after 1.5 s", "identity": ""}
    )
    assert store.get("square.1")["value"] == 1


def test_a_killed_process_is_recorded(tmp_path):
    store = open_store(tmp_path)
    run_tasks([Task("victim", ("v.0",), study_toys.die)], store)
    assert store.get("v.0")["status"] == "failed"
    assert "out of memory" in store.get("v.0")["error"]


def test_each_process_has_one_thread(tmp_path):
    store = open_store(tmp_path)
    run_tasks([Task("threads", ("t.0",), study_toys.threads)], store)
    assert store.get("t.0")["value"] == 1


def test_results_that_cannot_be_written_stop_the_run(tmp_path):
    store = open_store(tmp_path / "out")
    results = tmp_path / "out" / "results"
    task = Task("lost", ("x.0",), study_toys.nowhere_to_write, {"folder": str(results)})
    with pytest.raises(StudyError, match=re.escape(str(results))):
        run_tasks([task], store)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"study": "other"}, "study 'other'"),
        ({"format": 99}, "format 99"),
        ({"ravine": "0.0.1"}, "ravine '0.0.1'"),
        ({"settings": {"a": 2}}, r"settings \{'a': 2\}"),
    ],
)
def test_a_folder_of_another_study_is_refused_and_unchanged(tmp_path, change, message):
    run_tasks(make_squares(1), open_store(tmp_path, {"a": 1}))
    manifest = tmp_path / "study.json"
    write_json(manifest, {**json.loads(manifest.read_text()), **change})
    before = {path: path.read_bytes() for path in tmp_path.rglob("*.json")}
    with pytest.raises(StudyError, match=message + ".*another --out"):
        open_store(tmp_path, {"a": 1})
    assert before == {path: path.read_bytes() for path in tmp_path.rglob("*.json")}


@pytest.mark.parametrize("text", ["", "{", "[]", '{"study": "toys"}', '{"runs": 3}'])
def test_a_damaged_manifest_is_refused(tmp_path, text):
    open_store(tmp_path)
    (tmp_path / "study.json").write_text(text)
    with pytest.raises(StudyError, match=r"study\.json"):
        open_store(tmp_path)


def test_results_without_a_manifest_are_refused(tmp_path):
    (tmp_path / "results").mkdir()
    (tmp_path / "results" / "x.json").write_text("{}")
    with pytest.raises(StudyError, match="missing"):
        open_store(tmp_path)


def test_every_run_is_recorded_with_its_versions(tmp_path):
    open_store(tmp_path)
    runs = open_store(tmp_path).runs
    assert len(runs) == 2
    assert {"python", "numpy", "scipy", "scikit-learn", "ravine"} <= runs[0]["environment"].keys()


def test_a_file_instead_of_a_folder_is_refused(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(StudyError, match="Choose another --out"):
        open_store(tmp_path / "file")


def test_keys_cannot_leave_the_folder(tmp_path):
    with pytest.raises(ValueError, match="key"):
        open_store(tmp_path).put("../x", {})


def full_disk(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device", "x")


def test_a_full_disk_is_explained(tmp_path, monkeypatch):
    store = open_store(tmp_path)
    monkeypatch.setattr(_files.os, "fsync", full_disk)
    with pytest.raises(StudyError, match="disk"):
        store.put("a", {"status": "ok"})
    assert os.listdir(tmp_path / "results") == []


@pytest.mark.skipif(sys.platform == "win32", reason="signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, *slow(signal.SIGTERM), signal.SIGKILL])
def test_stopping_a_run_stops_its_processes_and_keeps_results(tmp_path, sent):
    code = f"""
import signal
from paper_support import study_toys
from ravine_paper.studies.engine.runner import Task, run_tasks
from ravine_paper.studies.engine.store import ResultStore
if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.default_int_handler)  # ignored where the tests run in the background
    quick = [Task("", ("square.1",), study_toys.square)]
    slow = [Task("", (f"s.{{i}}",), study_toys.sleep, {{"seconds": 600.0}}, weight=0.5) for i in range(4)]
    store = ResultStore({str(tmp_path)!r}, "toys", {{}})
    run_tasks([*quick, *slow], store, n_jobs=2, notify=lambda *w: print(*w, flush=True))
"""
    script = tmp_path / "script.py"
    script.write_text(code)
    places = [str(Path(study_toys.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, places))}
    process = subprocess.Popen(
        [sys.executable, str(script)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment
    )
    assert process.stdout.readline().split() == ["0", "5"]
    assert process.stdout.readline().split() == ["1", "5"]
    time.sleep(0.5)
    process.send_signal(sent)
    _, errors = process.communicate(timeout=60)  # returns only when no child holds the pipe
    assert ("KeyboardInterrupt" in errors) == (sent == signal.SIGINT)
    assert os.listdir(tmp_path / "results") == ["square.1.json"]
