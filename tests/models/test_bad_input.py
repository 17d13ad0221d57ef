"""Model files that are damaged, foreign, newer or hostile: refused in one line, and nothing of them is executed."""

import copy
import io
import json
import pickle
import zipfile

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.models import ModelFileError, load, save


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    X, y = make_blobs([30, 30, 30], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    folder = tmp_path_factory.mktemp("models")
    few = {"n_alpha": 2, "max_iter": 2}
    save(MinimumDensityHyperplane(test=True, **few).fit(X), folder / "plane")
    save(MinimumDensityTree(3, **few).fit(X), folder / "tree")
    save(
        MinimumDensityClassifier(**few, init=np.eye(2)).fit(X, np.array(["a", "b", "c"], dtype=object)[y]), folder / "c"
    )
    return {path.name: path for path in folder.iterdir()}


def unpacked(path):
    with zipfile.ZipFile(path) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def packed(path, members):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


def npy(array, **options):
    stream = io.BytesIO()
    np.lib.format.write_array(stream, np.asarray(array), **options)
    return stream.getvalue()


def refused(path, match):
    with pytest.raises(ModelFileError, match=match) as info:
        load(path)
    message = str(info.value)
    assert "\n" not in message
    assert message.startswith(f"{path.name} cannot be read: ")


@pytest.mark.parametrize("content", [b"", b"PK", b"a,b\n1,2\n", pickle.dumps([1]), b"\x93NUMPY\x01\x00"])
def test_other_files_are_refused(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    refused(tmp_path / "m", "not a zip file")


def test_other_zips_are_refused(tmp_path):
    refused(packed(tmp_path / "m", {"x.txt": b""}), "holds no model.json")
    refused(packed(tmp_path / "m", {"model.json": b"{}"}), "no model written by ravine")
    refused(packed(tmp_path / "m", {"model.json": b"[]"}), "no model")
    refused(packed(tmp_path / "m", {"model.json": b"{"}), "damaged")
    refused(packed(tmp_path / "m", {"model.json": b'{"a": NaN}'}), "NaN is not JSON")
    refused(packed(tmp_path / "m", {"model.json": b"\xff\xfe"}), "damaged")
    refused(packed(tmp_path / "m", {"model.json": b"[" * 100_000}), "damaged")


@pytest.mark.parametrize("schema", [3, 99, 10**30])
def test_newer_schema_is_refused_and_says_what_to_do(models, tmp_path, schema):
    members = unpacked(models["tree"])
    members["model.json"] = json.dumps({**json.loads(members["model.json"]), "schema": schema}).encode()
    refused(packed(tmp_path / "m", members), "newer version of ravine.*upgrade ravine")


@pytest.mark.parametrize("schema", [0, -1, None, "2", True, 1.0])
def test_senseless_schema_is_refused(models, tmp_path, schema):
    members = unpacked(models["tree"])
    members["model.json"] = json.dumps({**json.loads(members["model.json"]), "schema": schema}).encode()
    refused(packed(tmp_path / "m", members), "schema")


def test_truncated_and_flipped_files_are_refused(models, tmp_path, rng):
    whole = models["tree"].read_bytes()
    for n in (5, 100, len(whole) // 2, len(whole) - 1):
        (tmp_path / "m").write_bytes(whole[:n])
        with pytest.raises(ModelFileError):
            load(tmp_path / "m")
    survived = 0
    for k in rng.integers(0, len(whole), 200).tolist():
        flipped = bytearray(whole)
        flipped[k] ^= 1 << int(rng.integers(8))
        (tmp_path / "m").write_bytes(flipped)
        try:
            load(tmp_path / "m")
            survived += 1  # the dates of members, for example, are not looked at
        except ModelFileError:
            pass
    assert survived < 100


def test_bombs_are_refused_before_they_are_unpacked(models, tmp_path, monkeypatch):
    members = unpacked(models["tree"])
    members["leaves.npy"] = bytes(50_000_000)
    path = packed(tmp_path / "m", members)
    assert path.stat().st_size < 200_000
    with pytest.raises(ModelFileError, match=r"50 MB, more than max_bytes=1000000.*larger max_bytes"):
        load(path, max_bytes=1_000_000)
    refused(packed(tmp_path / "m", {"model.json": b"{}" + b" " * (1 << 27)}), "max_bytes")
    refused(packed(tmp_path / "m", {"model.json": b"{}", **{f"{k}.npy": b"" for k in range(300)}}), "too many files")


def test_size_that_lies_is_refused(models, tmp_path):
    whole = bytearray(models["tree"].read_bytes())
    with zipfile.ZipFile(models["tree"]) as archive:
        info = archive.getinfo("leaves.npy")
    at = whole.rindex(b"leaves.npy") - 46  # its entry in the directory
    assert int.from_bytes(whole[at + 24 : at + 28], "little") == info.file_size
    for size in (info.file_size // 2, info.file_size * 2):
        whole[at + 24 : at + 28] = size.to_bytes(4, "little")
        (tmp_path / "m").write_bytes(whole)
        refused(tmp_path / "m", "damaged|shape")


@pytest.mark.parametrize("name", ["cluster", "left", "right", "order"])
def test_number_of_a_node_or_cluster_asks_for_no_memory(models, tmp_path, name, monkeypatch):
    members = unpacked(models["tree"])
    array = np.load(io.BytesIO(members[f"tree/{name}.npy"]))
    array[array.argmax()] = 1 << 45
    members[f"tree/{name}.npy"] = npy(array)
    refused(packed(tmp_path / "m", members), f"'tree/{name}' has values outside -1 to 4")


def test_want_of_memory_is_said(models, monkeypatch):
    def greedy(*args):
        raise MemoryError

    monkeypatch.setattr("ravine.models.files.decode_estimator", greedy)
    refused(models["tree"], "needs more memory than there is")


def header(text):
    padded = text.encode() + b" " * (117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded


@pytest.mark.parametrize(
    "array",
    [
        header("{'descr': '<i8', 'fortran_order': False, 'shape': (1000000000000000000,)}"),
        header("{'descr': '<i8', 'fortran_order': False, 'shape': (-90, -1)}"),
        header("{'descr': '<i8', 'fortran_order': False, 'shape': (90,)}"),
        header("{'descr': '|O', 'fortran_order': False, 'shape': (1,)}") + pickle.dumps(np.array([None])),
        header("__import__('os').system('touch executed')"),
        header("{'descr': '|V8', 'fortran_order': False, 'shape': (0,)}"),
        header("{'descr': '<U0', 'fortran_order': False, 'shape': (90,)}"),
        b"",
        npy(np.zeros(90, dtype="<i8"), version=(2, 0)),
        npy(np.zeros((90, 1), dtype="<i8")),
        npy(np.zeros(90)),
        npy(np.zeros(90, dtype="<i4")),
        npy(np.full(90, 99)),
        npy(np.zeros(90, dtype="<i8")),  # the root is no leaf
        npy(np.full(89, 1)),
    ],
)
def test_arrays_of_another_kind_are_refused(models, tmp_path, array, monkeypatch):
    monkeypatch.chdir(tmp_path)
    refused(packed(tmp_path / "m", {**unpacked(models["tree"]), "leaves.npy": array}), ".")
    assert not (tmp_path / "executed").exists()


def test_missing_and_additional_arrays_are_refused(models, tmp_path):
    members = unpacked(models["tree"])
    refused(packed(tmp_path / "m", {**members, "more.npy": npy([1.0])}), "no such model has: 'more'")
    refused(packed(tmp_path / "m", {**members, "evil.py": b"print()"}), "no model has: 'evil.py'")
    del members["tree/left.npy"]
    refused(packed(tmp_path / "m", members), "'tree/left' is missing")


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("tree/left", [0, 3, -1, -1, -1]),
        ("tree/left", [-1, 3, -1, -1, -1]),
        ("tree/right", [2, 2, -1, -1, -1]),
        ("tree/parent", [-1, 0, 0, 0, 0]),
        ("tree/cluster", [-1, -1, 5, 6, 7]),
        ("tree/order", [1, 1, -1, -1, -1]),
        ("tree/size", [90, 0, 90, 0, 0]),
        ("tree/offset", [np.inf, np.inf, np.nan, np.nan, np.nan]),
        ("tree/normal", np.zeros((5, 2))),
        ("tree/point", np.full((5, 2), np.nan)),
    ],
)
def test_trees_that_are_none_are_refused(models, tmp_path, name, values):
    members = unpacked(models["tree"])
    packed(tmp_path / "m", {**members, f"{name}.npy": npy(values)})
    refused(tmp_path / "m", "tree|hyperplane")


def test_classes_that_are_not_in_the_table_are_refused(models, tmp_path):
    members = unpacked(models["tree"])
    document = json.loads(members["model.json"])
    for kind in ("os.system", "PCA", "Pipeline", ""):
        members["model.json"] = json.dumps({**document, "kind": kind}).encode()
        refused(packed(tmp_path / "m", members), "unknown estimator")
    document["parameters"]["__class__"] = "x"
    members["model.json"] = json.dumps(document).encode()
    refused(packed(tmp_path / "m", members), "no parameter '__class__'")


def places(value, way=()):
    yield way
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inner:
        yield from places(item, (*way, key))


def with_value(document, way, value):
    changed = copy.deepcopy(document)
    holder = changed
    for key in way[:-1]:
        holder = holder[key]
    holder[way[-1]] = value
    return changed


@pytest.mark.parametrize("name", ["plane", "tree", "c"])
def test_any_value_in_the_document_may_be_senseless(models, tmp_path, rng, name):
    members = unpacked(models[name])
    document = json.loads(members["model.json"])
    ways = [way for way in places(document) if way]
    senseless = [None, True, -1, 10**20, 0.5, "x", [], {}, [1, 2, 3], {"array": "labels"}, {"tuple": 3}]
    tried = [ways[k] for k in rng.integers(len(ways), size=8)]
    tried += [way for way in ways if len(way) <= 2 and way[0] != "parameters"]
    refusals = 0
    for way in tried:
        for value in senseless:
            members["model.json"] = json.dumps(with_value(document, way, value)).encode()
            try:
                load(packed(tmp_path / "m", members))
            except ModelFileError as error:
                assert "\n" not in str(error)  # noqa: PT017
                refusals += 1
    assert refusals > len(tried)


def test_checksum_is_verified(models, tmp_path):
    members = unpacked(models["tree"])
    with zipfile.ZipFile(tmp_path / "m", "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    whole = bytearray((tmp_path / "m").read_bytes())
    leaves = members["leaves.npy"]
    whole[whole.index(leaves) + len(leaves) - 8] ^= 3
    (tmp_path / "m").write_bytes(whole)
    refused(tmp_path / "m", "Bad CRC")
