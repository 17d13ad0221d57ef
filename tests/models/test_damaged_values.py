"""Values of model files that no version of the package writes: each is rejected with its name."""

import io
import json

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.models import ModelFileError, Preparation, TableModel, load, save
from ravine.models.archive import Arrays, Budget
from ravine.models.values import decode_value
from support.model_files import make_npy, pack, unpack

X, Y = make_blobs([40, 40, 40], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
FEW = {"n_alpha": 2, "max_iter": 2}


def make_table():
    kinds = np.array([*"abc"], dtype=object)[Y]
    table = {"length": X[:, 0], "width": X[:, 1], "kind": kinds}
    plan = Preparation(("length", "width", "kind"), {"kind": ("a", "b", "c")}, encoding="one-hot")
    plan = plan.fitted(plan.matrix(table))
    return TableModel(MinimumDensityTree(3, **FEW).fit(plan.finish(plan.matrix(table))), plan)


def make_tree():
    mdt = MinimumDensityTree(3, contamination=0.05, **FEW).fit(X)
    mdt.exemplars_  # noqa: B018, so that it is saved
    return mdt


MODELS = {
    "table": make_table,
    "tree": make_tree,
    "tested": lambda: MinimumDensityHyperplane(test=True, **FEW).fit(X),
    "classes": lambda: MinimumDensityClassifier(**FEW).fit(X, np.array([*"abc"], dtype=object)[Y]),
}


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    for name, make in MODELS.items():
        save(make(), folder / name)
    return {name: unpack(folder / name) for name in MODELS}


def reject(path, members, match):
    with pytest.raises(ModelFileError, match=match):
        load(pack(path, members))


def change_document(members, place, value):
    document = json.loads(members["model.json"])
    holder = document
    for key in place[:-1]:
        holder = holder[key]
    assert place[-1] in holder or isinstance(holder, list)
    holder[place[-1]] = value
    return {**members, "model.json": json.dumps(document).encode()}


def change_array(members, name, change):
    array = np.load(io.BytesIO(members[f"{name}.npy"]))
    return {**members, f"{name}.npy": make_npy(np.ascontiguousarray(change(array)))}


TABLE = {
    ("missing", "guess"): "preparation of the table",
    ("categories", "other"): "preparation of the table",
    ("columns", "fewer"): "has 4 features, but the estimator has 5",
    ("columns", "numbers"): "names of the columns are damaged",
    ("columns", "twice"): "not unique",
    ("normalize", "l7"): "unknown treatment of rows 'l7'",
    ("missing", "multiple"): "rows that fill missing cells",
    ("rare", "other"): "rare categories",
    ("encoding", "binary"): "unknown encoding 'binary'",
}
VALUES = {
    ("categories", "other"): {"colour": ["a", "b"]},
    ("columns", "fewer"): ["length", "kind"],
    ("columns", "numbers"): ["length", 3, "kind"],
    ("columns", "twice"): ["length", "length", "kind"],
    ("rare", "other"): {"kind": ["d"]},
}


@pytest.mark.parametrize("change", TABLE, ids=" ".join)
def test_damaged_preparations_of_tables_are_rejected(models, tmp_path, change):
    value = VALUES.get(change, change[1])
    reject(tmp_path / "m", change_document(models["table"], ("table", change[0]), value), TABLE[change])


@pytest.mark.parametrize(("name", "value"), [("centre", np.nan), ("scale", 0.0), ("scale", np.inf)])
def test_damaged_scales_of_tables_are_rejected(models, tmp_path, name, value):
    members = change_array(models["table"], f"table/{name}", lambda array: np.append(value, array[1:]))
    reject(tmp_path / "m", members, "scales of the table")


def test_damaged_outliers_and_exemplars_are_rejected(models, tmp_path):
    members = models["tree"]
    (prefix,) = {name.removesuffix("levels.npy") for name in members if name.endswith("levels.npy")}
    reject(tmp_path / "m", change_array(members, f"{prefix}levels", lambda a: a * np.nan), "are not finite")
    reject(tmp_path / "m", change_array(members, f"{prefix}leaves", np.zeros_like), "not those of the leaves")
    without = {name: content for name, content in members.items() if name != f"{prefix}leaves.npy"}
    reject(tmp_path / "m", without, "densities of the leaves are missing")
    damaged = change_document(members, ("fitted", "n_exemplars"), [1])
    reject(tmp_path / "m", damaged, "exemplars of the clusters")


@pytest.mark.parametrize(
    ("place", "value", "match"),
    [
        (("method",), "guess", "unknown valley test 'guess'"),
        (("partitions",), [[]], "a partition of a valley test"),
        (("partitions",), [[{"direction": "x", "counts": []}]], "counts of a valley test"),
        (("partitions",), [[{"direction": "x", "counts": [[1], [1]]}]], "counts of a valley test"),
        (("halves", 0, "valley"), [[0.0]] * 3, "numbers of a valley test"),
        (("halves", 0, "counts"), [1, 2], "counts of a valley test"),
    ],
)
def test_damaged_valley_tests_are_rejected(models, tmp_path, place, value, match):
    members = models["tested"]
    test = json.loads(members["model.json"])["fitted"]["valley_test"]
    if place[0] == "halves":
        test["halves"] = [{"hyperplane": 0, "valley": None, "counts": None, "pvalues": [0.5, 0.5]}]
    holder = test
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    reject(tmp_path / "m", change_document(members, ("fitted", "valley_test"), test), match)


def test_damaged_classes_are_rejected(models, tmp_path):
    members = models["classes"]
    for texts in (["b", "a", "c"], ["a", "a", "c"]):
        reject(tmp_path / "m", change_document(members, ("fitted", "classes", "texts"), texts), "classes are damaged")
    reject(tmp_path / "m", change_document(members, ("fitted", "classes", "texts"), [1, 2, 3]), "classes are damaged")
    reject(tmp_path / "m", change_array(members, "pairs", lambda a: a[::-1]), "pairs of classes do not match")


def test_damaged_parameters_are_rejected():
    nested = []
    for _ in range(100):
        nested = [nested]
    large, text = {"scalar": "int64", "value": 10**60}, {"scalar": "int64", "value": "1"}
    for value, match in ((nested, "nested"), ({1, 2}, "damaged"), (text, "damaged"), (large, "too large")):
        with pytest.raises(ModelFileError, match=match):
            decode_value(value, Arrays({}, Budget(1000)))
