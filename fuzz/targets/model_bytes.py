"""Model files with damaged bytes: the whole file, or one member behind a correct checksum."""

from __future__ import annotations

import numpy as np

from fuzz.targets.rows import choose

__all__ = ["CHECK_MODEL", "SAVE_MODEL", "choose_model", "write_model_bytes"]

MODELS = [
    "MinimumDensityHyperplane(n_init=1, path=PathSettings(n_alpha=2), random_state=0)",
    "MinimumDensityHyperplane(test='pooled', n_init=1, random_state=0)",
    "MinimumDensityHyperplane(test='exact', n_init=1, random_state=0)",
    "MinimumDensityTree(3, hyperplane=MinimumDensityHyperplane(n_init=1), random_state=0)",
    "MinimumDensityTree(contamination=0.1, random_state=0)",
    "MinimumDensityTree('shown', random_state=0)",
    "MinimumDensityClassifier(random_state=0)",
    "make_pipeline(StandardScaler(), MinimumDensityTree(3, random_state=0))",
    "make_pipeline(RobustScaler(), MinMaxScaler(), MinimumDensityHyperplane(n_init=1, random_state=0))",
]
SAVE_MODEL = """
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, RobustScaler, StandardScaler
from ravine import (
    MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, PathSettings, describe_rules, load, save,
)

rng = np.random.default_rng(0)
truth = np.arange(60) % 3
X = rng.normal(size=(60, 2)) + 8.0 * np.eye(3, 2)[truth]
model = {model}
save(model.fit(X, np.where(np.arange(60) < 12, truth, -1)), "model.ravine")
"""
CHECK_MODEL = """
model = load("model.ravine")
assert model.predict(X).shape == (60,)
if hasattr(model, "predict_proba"):
    proba = model.predict_proba(X)
    assert (proba >= 0.0).all() and np.allclose(proba.sum(axis=1), 1.0), "NaN or wrong sums in predict_proba"
repr(model)
if hasattr(model, "steps") and hasattr(model[-1], "tree_"):
    describe_rules(model)
save(model, "again.ravine")
"""
DAMAGES = [
    "content[int({place} * len(content))] ^= 1 << {bit}",
    "for place in rng.integers(0, len(content), {many}):\n    content[place] ^= 1 << rng.integers(8)",
    "del content[int({place} * len(content)) :]",
    "del content[int({place} * len(content)) :][:{many}]",
    "content[int({place} * len(content)) :][:{many}] = bytes({many})",
    "content[int({place} * len(content)) :][:0] = rng.bytes({many})",
    "content[int({place} * len(content)) :][:{many}] = content[: {many}]",
]
WHOLE_FILE = """
from pathlib import Path

content = bytearray(Path("model.ravine").read_bytes())
{damage}
Path("model.ravine").write_bytes(content)
"""
ONE_MEMBER = """
import zipfile

with zipfile.ZipFile("model.ravine") as archive:
    members = {{name: archive.read(name) for name in archive.namelist()}}
name = sorted(members)[int({member} * len(members))]
content = bytearray(members[name][:{head}])
{damage}
members[name] = bytes(content) + members[name][{head}:]
with zipfile.ZipFile("model.ravine", "w", zipfile.ZIP_DEFLATED) as archive:
    for name, content in members.items():
        archive.writestr(name, content)
"""


def choose_model(rng: np.random.Generator) -> str:
    """Write the lines that save a model."""
    return SAVE_MODEL.format(model=choose(rng, MODELS)).lstrip()


def write_model_bytes(rng: np.random.Generator) -> str:
    """Write a script that damages a model file and reads it."""
    damage = choose(rng, DAMAGES)
    damage = damage.replace("[int({place} * len(content)) :][:{many}]", "[{start} : {start} + {many}]")
    damage = damage.replace("[int({place} * len(content)) :][:0]", "[{start} : {start}]")
    values = {"place": f"{rng.random():.6f}", "bit": int(rng.integers(8)), "many": int(rng.integers(1, 40))}
    damage = damage.format(**values, start=f"int({values['place']} * len(content))")
    if rng.random() < 0.5:
        change = WHOLE_FILE.format(damage=damage)
    else:
        # The first 128 bytes of an array are its header.
        head = choose(rng, ["128", "None"])
        change = ONE_MEMBER.format(damage=damage, member=f"{rng.random():.6f}", head=head)
        change = change.replace("members[name][:None]", "members[name]").replace(" + members[name][None:]", "")
    return choose_model(rng) + change + CHECK_MODEL
