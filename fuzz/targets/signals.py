"""Signals at random moments: results and model files are whole or absent."""

from __future__ import annotations

import numpy as np

from fuzz.targets.rows import choose

__all__ = ["write_signal"]

START = """
import os, signal, subprocess, sys, time
import numpy as np

rng = np.random.default_rng({seed})
def start(*arguments):
    return subprocess.Popen([sys.executable, *arguments], stderr=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
"""
# A folder of results is complete in its old or its new state; one of SIGKILL may leave a hidden folder beside it.
COMMAND = """
COMMAND = ["-c", "from ravine.cli import main; main()", "cluster", "data.csv", "--out", "out"]
rows = rng.normal(size=({n}, 3))
rows += 9.0 * np.eye(3)[np.arange({n}) % 3]
np.savetxt("data.csv", rows, delimiter=",", header="a,b,c", comments="")
if {exists}:
    done = start(*COMMAND, "--clusters", "2", "--no-figures")
    assert done.wait() == 0, done.stderr.read()
    done.communicate()
process = start(*COMMAND, "--clusters", "3", "--force", {figures})
time.sleep({delay})
process.send_signal(signal.{name})
_, errors = process.communicate()
code, number = process.returncode, int(signal.{name})
assert code in (0, 128 + number, -number), (code, errors)
assert "Traceback" not in errors or "ravine/cli" not in errors, errors
if signal.{name} is not signal.SIGKILL:
    folders = [".", "out"] if os.path.exists("out") else ["."]
    hidden = [name for folder in folders for name in os.listdir(folder) if name.startswith(".")]
    assert not hidden, (hidden, errors)
    assert {exists} or "nothing was written" not in errors or not os.path.exists("out"), errors
if {exists} or os.path.exists("out"):
    from ravine import load
    model = load("out/model.ravine")
    if code == 0 or "are complete" in errors:
        assert model.estimator.n_clusters_ == 3, ("the results are those of an earlier run", errors)
    if "nothing was written" in errors:
        assert model.estimator.n_clusters_ == 2, ("the results were replaced", errors)
    with open("out/labels.csv") as stream:
        labels = [line.rsplit(",", 1)[1].strip() for line in stream][1:]
    assert len(labels) == {n}, "labels.csv is not complete"
    assert len(set(labels)) == model.estimator.n_clusters_, "labels and model are of two runs"
    assert os.path.exists("out/summary.json")
"""
SAVE = """
process = start("-c", '''
import numpy as np
from ravine import MinimumDensityTree, save
X = np.random.default_rng(0).normal(size=({n}, 3)) + 9.0 * np.eye(3)[np.arange({n}) % 3]
models = [MinimumDensityTree(k, random_state=0).fit(X) for k in (2, 3)]
save(models[0], "model.ravine")
assert [model.n_clusters_ for model in models] == [2, 3]
print("ready", flush=True)
while True:
    for model in models:
        save(model, "model.ravine")
''')
assert process.stdout.readline() == "ready\\n", process.stderr.read()
time.sleep({delay} / 5)
process.send_signal(signal.{name})
process.communicate()
from ravine import load
assert load("model.ravine").n_clusters_ in (2, 3)
if signal.{name} is signal.SIGINT:
    assert os.listdir() == ["model.ravine"], os.listdir()
"""


def write_signal(rng: np.random.Generator) -> str:
    """Write a script that sends a signal to a process that writes results."""
    values = {
        "seed": int(rng.integers(10**6)),
        "n": int(rng.choice([60, 400, 2000])),
        "delay": f"{float(rng.choice([0.3, 1.0, 2.0, 3.0])) * rng.random() + 0.05:.3f}",
        "name": choose(rng, ["SIGINT", "SIGTERM", "SIGKILL"]),
        "exists": bool(rng.random() < 0.4),
        "figures": "" if rng.random() < 0.3 else '"--no-figures"',
    }
    body = COMMAND if rng.random() < 0.7 else SAVE
    return (START + body).format(**values).lstrip()
