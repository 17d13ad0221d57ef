"""Damaged, foreign and hostile files: refused in one line, within bounded memory, without executing anything."""

import copy
import json
import pickle
import subprocess
import sys
import warnings
import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_blobs
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import (
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    MixedScaler,
    MultipleImputer,
    PathSettings,
)
from ravine.models import ModelFileError, TableModel, load, save
from support.model_files import edit_document, edit_field, make_npy, pack, read_document, unpack
from support.shape_data import draw_rings
from support.thin_evidence import simulate_pairs

# Prints by how many MB the peak memory of the process rises while a file is read, and the error.
MEASURE = """
import resource, sys
from ravine.models import ModelFileError, load
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    load(sys.argv[1])
except ModelFileError as error:
    print((resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024, error)
"""


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    X, y = make_blobs([30, 30, 30], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    folder = tmp_path_factory.mktemp("models")
    few = {"random_state": 0, "path": PathSettings(n_alpha=2, max_iter=2)}
    tested = MinimumDensityHyperplane(**few, test="pooled")
    names = np.array(["a", "b", "c"], dtype=object)
    save(MinimumDensityHyperplane(**few, test="pooled").fit(X), folder / "plane")
    save(MinimumDensityHyperplane(**few, test="exact").fit(X), folder / "exact")
    save(MinimumDensityTree(3, hyperplane=tested, contamination=0.05, random_state=0).fit(X), folder / "tree")
    save(MinimumDensityTree(2, random_state=0).fit(draw_rings(200)[0]), folder / "rings")
    save(MinimumDensityTree(random_state=0).fit(simulate_pairs()[0]), folder / "suggested")
    save(MinimumDensityClassifier(random_state=0).fit(X, names[y]), folder / "classifier")
    table = {"length": np.where(np.arange(90) % 7 == 0, np.nan, X[:, 0]), "kind": names[y], "width": X[:, 1]}
    for name, missing in {"table": "median", "multiple": "keep"}.items():
        scaler = MixedScaler(missing=missing)
        Z = scaler.fit_transform(table)
        imputer = MultipleImputer(3, random_state=0).fit(Z) if missing == "keep" else None
        complete = Z if imputer is None else imputer.transform(Z)
        save(
            TableModel(MinimumDensityTree(3, hyperplane=tested, random_state=0).fit(complete), scaler, None, imputer),
            folder / name,
        )
    return {path.name: unpack(path) for path in folder.iterdir()}


def assert_rejected(path, match="."):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ModelFileError, match=match) as info:
            load(path)
    assert len(str(info.value)) < 600
    assert "\n" not in str(info.value)
    assert str(info.value).startswith(f"{path.name} cannot be read: ")


# ----------------------------------------------------------------------------------------------- other files


@pytest.mark.parametrize("content", [b"", b"PK", b"a,b\n1,2\n", pickle.dumps([1]), b"\x93NUMPY\x01\x00"])
def test_files_that_are_not_zips_are_rejected(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    assert_rejected(tmp_path / "m", "zip")


@pytest.mark.parametrize("document", [b"{}", b"[]", b"{", b'{"a": NaN}', b"\xff\xfe", b"[" * 100_000])
def test_zips_without_a_model_are_rejected(tmp_path, document):
    assert_rejected(pack(tmp_path / "m", {"model.json": document}))
    assert_rejected(pack(tmp_path / "m", {"x.txt": document}), "model.json")


@pytest.mark.parametrize("schema", [1, 5, 7, 99, 10**30, 0, -1, None, "6", True, 6.0, []])
def test_other_schemas_are_rejected(models, tmp_path, schema):
    members = edit_document(models["tree"], lambda document: document.update(schema=schema))
    assert_rejected(pack(tmp_path / "m", members), "schema")


def test_truncated_and_corrupted_files_are_rejected(models, tmp_path, rng):
    whole = pack(tmp_path / "m", models["tree"]).read_bytes()
    for n in (5, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "m").write_bytes(whole[:n])
        assert_rejected(tmp_path / "m")
    survived = 0
    for k in rng.integers(0, len(whole), 200).tolist():
        flipped = bytearray(whole)
        flipped[k] ^= 1 << int(rng.integers(8))
        (tmp_path / "m").write_bytes(flipped)
        try:
            load(tmp_path / "m")
            survived += 1  # the dates of members, for example, are not checked
        except ModelFileError:
            pass
    assert survived < 100


def test_every_flipped_bit_of_the_list_of_members_is_reported(models, tmp_path):
    whole = pack(tmp_path / "m", models["tree"]).read_bytes()
    start = whole.index(b"PK\x01\x02")
    for k in [*range(start, start + 60), *range(len(whole) - 22, len(whole))]:
        for bit in (0, 3, 7):
            flipped = bytearray(whole)
            flipped[k] ^= 1 << bit
            (tmp_path / "m").write_bytes(flipped)
            try:
                load(tmp_path / "m")
            except ModelFileError as error:
                assert len(str(error)) < 600  # noqa: PT017


def test_checksum_is_verified(models, tmp_path):
    with zipfile.ZipFile(tmp_path / "m", "w", zipfile.ZIP_STORED) as archive:
        for name, content in models["tree"].items():
            archive.writestr(name, content)
    whole, numbers = bytearray((tmp_path / "m").read_bytes()), models["tree"]["i8.npy"]
    whole[whole.index(numbers) + len(numbers) - 8] ^= 3
    (tmp_path / "m").write_bytes(whole)
    assert_rejected(tmp_path / "m", "CRC")


def test_missing_and_additional_members_are_rejected(models, tmp_path):
    members = models["tree"]
    assert_rejected(pack(tmp_path / "m", {**members, "more.npy": make_npy([1.0])}), "arrays")
    assert_rejected(pack(tmp_path / "m", {**members, "evil.py": b"print()"}), "evil.py")
    assert_rejected(pack(tmp_path / "m", {name: members[name] for name in members if name != "i8.npy"}))
    assert_rejected(pack(tmp_path / "m", {**members, "x" * 6_000: b""}), "x{60}'")
    assert_rejected(pack(tmp_path / "m", {**members, "x" * 60_000: b""}), "long names")


# ----------------------------------------------------------------------------------------------- memory


def measure_memory(path):
    """Return the rise of the peak memory in MB, and the error."""
    run = subprocess.run([sys.executable, "-c", MEASURE, str(path)], capture_output=True, text=True, check=True)
    rise, message = run.stdout.split(maxsplit=1)
    return int(rise), message


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource")
@pytest.mark.parametrize("value", [b"[],", pytest.param(b'{"a":1},', marks=pytest.mark.slow)])
def test_large_documents_are_rejected_before_they_are_parsed(models, tmp_path, value):
    values = value * ((1 << 26) // len(value) - 30)
    document = b'{"format": "ravine model", "schema": 6, "a": [' + values[:-1] + b"]}"
    path = pack(tmp_path / "m", {**models["tree"], "model.json": document})
    assert path.stat().st_size < 150_000
    rise, message = measure_memory(path)
    assert "max_bytes=1073741824" in message
    assert rise < 200


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource")
def test_unpacked_arrays_are_held_once(models, tmp_path):
    numbers = make_npy(np.full(25_000_000, 2, dtype="<i8"))
    rise, message = measure_memory(pack(tmp_path / "m", {**models["tree"], "i8.npy": numbers}))
    assert "cannot be read" in message
    assert rise < 300


def test_zip_bombs_are_rejected_before_unpacking(models, tmp_path):
    path = pack(tmp_path / "m", {**models["tree"], "i8.npy": bytes(50_000_000)})
    assert path.stat().st_size < 200_000
    with pytest.raises(ModelFileError, match="max_bytes=1000000"):
        load(path, max_bytes=1_000_000)
    assert_rejected(pack(tmp_path / "m", {"model.json": b"{}" + b" " * (1 << 27)}), "67108864")
    assert_rejected(pack(tmp_path / "m", {"model.json": b"{}", **{f"{k}.npy": b"" for k in range(300)}}), "too many")


def test_empty_arrays_with_long_sides_are_rejected(models, tmp_path):
    empty = {"array": "f8", "shape": [0, 10**15]}
    assert_rejected(pack(tmp_path / "m", edit_document(models["tree"], lambda document: insert(document, empty))))


def insert(document, one):
    document["objects"].insert(0, one)


def test_wrong_stated_size_is_rejected(models, tmp_path):
    whole = bytearray(pack(tmp_path / "m", models["tree"]).read_bytes())
    at = whole.rindex(b"i8.npy") - 46  # its entry in the directory
    size = int.from_bytes(whole[at + 24 : at + 28], "little")
    assert size == len(models["tree"]["i8.npy"])
    whole[at + 24 : at + 28] = (size // 2).to_bytes(4, "little")
    (tmp_path / "m").write_bytes(whole)
    assert_rejected(tmp_path / "m")


def test_lack_of_memory_is_reported(models, tmp_path, monkeypatch):
    def exhaust(*args):
        raise MemoryError

    monkeypatch.setattr("ravine.models.files.Decoder", exhaust)
    assert_rejected(pack(tmp_path / "m", models["tree"]), "memory")


# ----------------------------------------------------------------------------------------------- arrays


def make_header(text, body=b""):
    padded = text.encode() + b" " * max(0, 117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + body


@pytest.mark.parametrize(
    "content",
    [
        make_header("{'descr': '<i8', 'fortran_order': False, 'shape': (90,), ", bytes(720)),
        make_header("{'descr': '<i8', 'fortran_order': False, 'shape': (90L,), }", bytes(720)),
        make_header("{'descr': '''", bytes(720)),
        make_header("\\", bytes(720)),
        make_header("{'descr': '<i8', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }", bytes(720)),
        make_header("{'descr': '<U999999999', 'fortran_order': False, 'shape': (90,), }", bytes(720)),
        make_header("{'descr': '<i3', 'fortran_order': False, 'shape': (90,), }", bytes(720)),
        make_header("{'descr': '>i8', 'fortran_order': False, 'shape': (90,), }", bytes(720)),
        make_header("{'descr': '<i8', 'fortran_order': True, 'shape': (90,), }", bytes(720)),
        make_header("{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000000000,), }"),
        make_header("{'descr': '<i8', 'fortran_order': False, 'shape': (-90, -1), }"),
        make_header("{'descr': '|O', 'fortran_order': False, 'shape': (1,), }", pickle.dumps(np.array([None]))),
        make_header("__import__('os').system('touch executed')"),
        make_header("{'descr': '<U0', 'fortran_order': False, 'shape': (90,), }"),
        make_header("(" * 1000),
        b"",
        make_npy(np.zeros(90, dtype="<i8"), version=(2, 0)),
        make_npy(np.zeros((90, 1), dtype="<i8"), version=(1, 0)),
        make_npy(np.zeros(90), version=(1, 0)),
        make_npy(np.zeros(90, dtype="<i4"), version=(1, 0)),
    ],
)
def test_arrays_that_are_not_plain_are_rejected(models, tmp_path, content, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_rejected(pack(tmp_path / "m", {**models["tree"], "i8.npy": content}))
    assert not (tmp_path / "executed").exists()


# ----------------------------------------------------------------------------------------------- impossible values


def fill(value, place=...):
    """Return a function that changes an array at a place."""

    def change(array):
        array = array.astype(np.result_type(array, type(value)))
        array[place] = value
        return array

    return change


IMPOSSIBLE = [
    *(("tree", "Tree", "pvalue", fill(value, 0)) for value in (-0.1, 1.5, np.inf)),
    *(("tree", "Tree", "bandwidth", fill(value, 0)) for value in (-1.0, 0.0, np.inf)),
    *(("tree", "Tree", name, fill(1 << 45, 0)) for name in ("cluster", "left", "right", "order", "size")),
    ("tree", "Tree", "left", lambda a: np.array([0, 3, -1, -1, -1])),
    ("tree", "Tree", "left", lambda a: np.array([-1, 3, -1, -1, -1])),
    ("tree", "Tree", "right", lambda a: np.array([2, 2, -1, -1, -1])),
    ("tree", "Tree", "left", fill(-2, -1)),
    ("tree", "Tree", "parent", lambda a: np.array([-1, 0, 0, 0, 0])),
    ("tree", "Tree", "parent", lambda a: a[:3]),
    ("tree", "Tree", "cluster", lambda a: np.array([-1, -1, 5, 6, 7])),
    ("tree", "Tree", "order", lambda a: np.array([1, 1, -1, -1, -1])),
    ("tree", "Tree", "size", lambda a: np.array([90, 0, 90, 0, 0])),
    ("tree", "Tree", "offset", lambda a: np.array([np.inf, np.inf, np.nan, np.nan, np.nan])),
    ("tree", "Tree", "normal", np.zeros_like),
    ("tree", "Tree", "normal", fill(1e300)),
    ("tree", "Tree", "point", fill(np.nan)),
    ("tree", "MinimumDensityTree", "leaves_", fill(99)),
    ("tree", "MinimumDensityTree", "leaves_", fill(0)),
    ("tree", "MinimumDensityTree", "leaves_", lambda a: a[1:]),
    ("tree", "MinimumDensityTree", "leaves_", lambda a: a.astype(float)),
    ("tree", "MinimumDensityTree", "labels_", lambda a: 1 - a),
    ("tree", "MinimumDensityTree", "n_features_in_", lambda n: 3),
    ("tree", "MinimumDensityTree", "n_features_in_", lambda n: "x" * 60_000),
    *((name, "SplitOdds", "widths", fill(value, 0)) for name in ("tree", "plane") for value in (-1.0, 0.0, np.inf)),
    *((name, "SplitOdds", "slopes", fill(value, 0)) for name in ("tree", "plane") for value in (-1.0, 0.0)),
    ("tree", "SplitOdds", "slopes", fill(np.nan, 0)),
    ("tree", "LeafDensity", "levels", fill(np.nan)),
    ("tree", "LeafDensity", "precisions", fill(-1.0)),
    ("tree", "LeafDensity", "center", lambda a: a[1:]),
    ("tree", "OutlierModel", "densities", lambda value: {"dict": value["dict"][1:]}),
    ("rings", "LeafJoins", "leaves", fill(0)),
    ("rings", "LeafJoins", "leaves", fill(0, (0, 0))),
    ("rings", "LeafJoins", "leaves", fill(10**6, (0, 0))),
    ("rings", "LeafJoins", "boundaries", fill(1, (0, 0))),
    ("rings", "LeafJoins", "boundaries", fill(2, (0, 1))),
    *(("suggested", "MinimumDensityTree", "n_shown_", lambda n, k=k: k) for k in (0, 5, -1, True, "4", 4.0, [4])),
    ("suggested", "MinimumDensityTree", "n_shown_", lambda n: 9),
    ("plane", "Hyperplane", "normal", fill(0.0)),
    *(("plane", "Hyperplane", "bandwidth", lambda h, value=value: value) for value in (-1.0, 0.0, {"float": "inf"})),
    ("plane", "MinimumDensityHyperplane", "n_iter_", lambda n: -1),
    ("plane", "MinimumDensityHyperplane", "coef_", lambda a: -a),
    ("plane", "MinimumDensityHyperplane", "labels_", fill(7)),
    ("plane", "PathStep", "n_rows", lambda n: -1),
    ("plane", "PathStep", "gamma", lambda gamma: -0.5),
    ("plane", "PathStep", "valid", lambda flag: "yes"),
    ("plane", "ValleyTest", "pvalue", lambda p: 1.5),
    ("plane", "ValleyTest", "pvalue", lambda p: {"float": "nan"}),
    ("plane", "ValleyTest", "grid_columns", lambda columns: {"tuple": [2]}),
    *(("plane", "ValleyTest", "is_bend", lambda flag, value=value: value) for value in (True, 0, "no", None)),
    ("plane", "ValleyTest", "method", lambda text: "guess"),
    ("plane", "ValleyTest", "partitions", lambda parts: {"tuple": [{"tuple": []}]}),
    ("plane", "ValleyTest", "partitions", lambda parts: parts["tuple"]),
    ("plane", "Tally", "middle", lambda n: 10**6),
    ("plane", "Tally", "expected", lambda n: 1e9),
    ("exact", "Judgement", "counts", lambda counts: {"tuple": [1, -1, 1]}),
    ("exact", "Judgement", "counts", lambda counts: {"tuple": [1, 1]}),
    ("exact", "Judgement", "pvalue_left", lambda p: -0.1),
    ("exact", "Valley", "middle", lambda interval: {"tuple": [1, 0]}),
    ("exact", "Valley", "middle", lambda interval: {"tuple": [0, {"float": "nan"}]}),
    *(("classifier", "PairModel", "slopes", fill(value, 0)) for value in (np.nan, np.inf, -np.inf)),
    ("classifier", "PairModel", "pairs", lambda a: a[::-1]),
    ("classifier", "PairModel", "n_classes", lambda n: 10**12),
    ("classifier", "PairModel", "voting", lambda text: "guess"),
    ("classifier", "MinimumDensityClassifier", "density_evidence_", fill(np.nan)),
    ("classifier", "MinimumDensityClassifier", "coef_", lambda a: a[1:]),
    ("table", "MixedScaler", "missing", lambda text: "guess"),
    ("table", "MixedScaler", "encode", lambda text: "binary"),
    ("table", "MixedScaler", "normalize", lambda text: "l7"),
    ("table", "MixedScaler", "scale", lambda text: ["standard"]),
    ("table", "MixedScaler", "categories_", lambda value: {"dict": [["colour", {"tuple": ["a", "b"]}]]}),
    ("table", "MixedScaler", "categories_", lambda value: {"dict": [["kind", {"tuple": ["a", "a", "b"]}]]}),
    ("table", "MixedScaler", "categories_", lambda value: {"dict": [["kind", {"tuple": ["a", "b"]}]]}),
    ("table", "MixedScaler", "rare_", lambda value: {"dict": [["length", {"tuple": ["d"]}]]}),
    ("table", "MixedScaler", "_columns", lambda value: {"tuple": ["length", "kind"]}),
    ("table", "MixedScaler", "_columns", lambda value: {"tuple": ["length", 3, "kind"]}),
    ("table", "MixedScaler", "_columns", lambda value: {"tuple": ["length", "length", "kind"]}),
    ("table", "MixedScaler", "fill_", lambda value: {"dict": []}),
    ("table", "MixedScaler", "mean_", fill(np.nan, 0)),
    ("table", "MixedScaler", "mean_", lambda a: a[1:]),
    *(("table", "MixedScaler", "scale_", fill(value, 0)) for value in (0.0, np.inf, -1.0)),
    ("table", "TableModel", "label_column", lambda text: 3),
    ("table", "TableModel", "estimator", lambda text: {"object": 0}),
    *(("multiple", "MultipleImputer", "n_imputations", lambda n, k=k: k) for k in (0, 101, "8", True)),
    ("multiple", "MultipleImputer", "n_neighbors", lambda n: 0),
    ("multiple", "MultipleImputer", "seed_", lambda n: -1),
    ("multiple", "MultipleImputer", "donors_", fill(np.nan, 0)),
    ("multiple", "MultipleImputer", "donor_gaps_", fill(True)),
]


@pytest.mark.parametrize(("name", "kind", "field", "change"), IMPOSSIBLE)
def test_values_that_no_fit_can_produce_are_rejected(models, tmp_path, name, kind, field, change):
    assert_rejected(pack(tmp_path / "m", edit_field(models[name], kind, field, change)))


def test_classifier_without_bandwidths_is_rejected(models, tmp_path):
    def change(document):
        for one in document["objects"]:
            if one.get("class") == "Hyperplane":
                one["state"]["bandwidth"] = {"float": "nan"}

    assert_rejected(pack(tmp_path / "m", edit_document(models["classifier"], change)), "PairModel")


@pytest.mark.parametrize("texts", [["b", "a", "c"], ["a", "a", "c"], [1, 2, 3], ["a", "b"]])
def test_damaged_classes_are_rejected(models, tmp_path, texts):
    document = read_document(models["classifier"])
    for one in document["objects"]:
        if "texts" in one:
            one["texts"] = texts
            break
    assert_rejected(pack(tmp_path / "m", {**models["classifier"], "model.json": json.dumps(document).encode()}))


@pytest.mark.parametrize("kind", ["os.system", "PCA", "ColumnTransformer", "", "object", "ModelFileError"])
def test_unknown_classes_and_fields_are_rejected(models, tmp_path, kind):
    def change_class(document):
        document["objects"][-1]["class"] = kind

    assert_rejected(pack(tmp_path / "m", edit_document(models["tree"], change_class)), "object")

    def add_field(document):
        document["objects"][-1]["state"]["__class__"] = kind

    assert_rejected(pack(tmp_path / "m", edit_document(models["tree"], add_field)), "__class__")


def test_attributes_of_other_estimators_are_rejected(models, tmp_path):
    def add_attribute(document):
        document["objects"][-1]["state"]["density_"] = 0.5

    assert_rejected(pack(tmp_path / "m", edit_document(models["tree"], add_attribute)), "density_")


def test_objects_refer_only_to_earlier_objects(models, tmp_path):
    document = read_document(models["tree"])
    for number in (len(document["objects"]) - 1, 10**9, -1, True, 0.5, "0"):

        def refer(document, number=number):
            document["objects"][-1]["state"]["tree_"] = {"object": number}

        assert_rejected(pack(tmp_path / "m", edit_document(models["tree"], refer)))
    assert_rejected(pack(tmp_path / "m", edit_document(models["tree"], lambda document: document["objects"].pop())))


def list_places(value, place=()):
    yield place
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from list_places(item, (*place, key))


def replace_value(document, place, value):
    changed = copy.deepcopy(document)
    holder = changed
    for key in place[:-1]:
        holder = holder[key]
    holder[place[-1]] = value
    return changed


@pytest.mark.parametrize("name", ["plane", "tree", "suggested", "classifier"])
def test_changed_documents_are_rejected_or_predict(models, tmp_path, rng, name):
    document = read_document(models[name])
    places = [place for place in list_places(document) if place]
    invalid = [None, True, -1, 10**20, 0.5, "x", [], {}, [1, 2, 3], {"object": 0}, {"tuple": 3}, {"scalar": "int8"}]
    n_rejected = 0
    for place in [places[k] for k in rng.integers(len(places), size=40)]:
        value = invalid[int(rng.integers(len(invalid)))]
        content = json.dumps(replace_value(document, place, value)).encode()
        try:
            model = load(pack(tmp_path / "m", {**models[name], "model.json": content}))
            assert len(model.predict(np.zeros((3, model.n_features_in_)))) == 3
        except ModelFileError as error:
            assert "\n" not in str(error)  # noqa: PT017
            n_rejected += 1
    assert n_rejected > 10


def test_a_long_list_of_members_is_refused_before_it_is_read(tmp_path, monkeypatch):
    path = tmp_path / "many.ravine"
    with zipfile.ZipFile(path, "w") as archive:
        for k in range(1000):
            archive.writestr(f"{k}.npy", b"")
    monkeypatch.setattr(zipfile.ZipFile, "infolist", lambda self: pytest.fail("the list was read"))
    with pytest.raises(ModelFileError, match=r"many\.ravine"):
        load(path)


@pytest.mark.parametrize(
    ("name", "value"),
    [("steps", []), ("steps", [1, 2]), ("memory", "/tmp"), ("verbose", "yes"), ("transform_input", ["a"])],
)
def test_pipelines_with_other_parts_are_rejected(tmp_path, name, value):
    rows = np.repeat(np.eye(2) * 9.0, 20, axis=0) + np.random.default_rng(0).normal(size=(40, 2))
    pipeline = make_pipeline(StandardScaler(), MinimumDensityTree(2, random_state=0)).fit(rows)
    save(pipeline, tmp_path / "whole")

    def change(document):
        document["objects"][-1]["state"][name] = value

    assert_rejected(pack(tmp_path / "m", edit_document(unpack(tmp_path / "whole"), change)))


def test_pipelines_of_damaged_or_swapped_steps_are_rejected(tmp_path):
    rows = np.repeat(np.eye(2) * 9.0, 20, axis=0) + np.random.default_rng(0).normal(size=(40, 2))
    pipeline = make_pipeline(StandardScaler(), MinimumDensityTree(2, random_state=0)).fit(rows)
    save(pipeline, tmp_path / "whole")

    def swap(document):
        document["objects"][-1]["state"]["steps"].reverse()

    def shrink(document):
        (scaler,) = (one for one in document["objects"] if one.get("class") == "StandardScaler")
        scaler["state"]["n_features_in_"] = 1

    for change in (swap, shrink):
        assert_rejected(pack(tmp_path / "m", edit_document(unpack(tmp_path / "whole"), change)))
