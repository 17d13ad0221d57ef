"""Damaged, foreign, newer or hostile model files: rejected in one line, without executing anything."""

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
from support.model_files import make_npy, pack, unpack
from support.thin_evidence import simulate_pairs


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    X, y = make_blobs([30, 30, 30], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
    folder = tmp_path_factory.mktemp("models")
    few = {"n_alpha": 2, "max_iter": 2}
    save(MinimumDensityHyperplane(test=True, **few).fit(X), folder / "plane")
    save(MinimumDensityTree(3, **few).fit(X), folder / "tree")
    save(MinimumDensityTree(random_state=0).fit(simulate_pairs()[0]), folder / "suggested")
    save(
        MinimumDensityClassifier(**few, init=np.eye(2)).fit(X, np.array(["a", "b", "c"], dtype=object)[y]), folder / "c"
    )
    return {path.name: path for path in folder.iterdir()}


def assert_rejected(path, match):
    with pytest.raises(ModelFileError, match=match) as info:
        load(path)
    message = str(info.value)
    assert "\n" not in message
    assert message.startswith(f"{path.name} cannot be read: ")


@pytest.mark.parametrize("content", [b"", b"PK", b"a,b\n1,2\n", pickle.dumps([1]), b"\x93NUMPY\x01\x00"])
def test_other_files_are_rejected(tmp_path, content):
    (tmp_path / "m").write_bytes(content)
    assert_rejected(tmp_path / "m", "not a zip file")


def test_other_zips_are_rejected(tmp_path):
    assert_rejected(pack(tmp_path / "m", {"x.txt": b""}), "contains no model.json")
    assert_rejected(pack(tmp_path / "m", {"model.json": b"{}"}), "not a ravine model")
    assert_rejected(pack(tmp_path / "m", {"model.json": b"[]"}), "does not describe a model")
    assert_rejected(pack(tmp_path / "m", {"model.json": b"{"}), "damaged")
    assert_rejected(pack(tmp_path / "m", {"model.json": b'{"a": NaN}'}), "NaN is not JSON")
    assert_rejected(pack(tmp_path / "m", {"model.json": b"\xff\xfe"}), "damaged")
    assert_rejected(pack(tmp_path / "m", {"model.json": b"[" * 100_000}), "damaged")


@pytest.mark.parametrize("schema", [4, 99, 10**30])
def test_newer_schema_is_rejected_with_advice(models, tmp_path, schema):
    members = unpack(models["tree"])
    members["model.json"] = json.dumps({**json.loads(members["model.json"]), "schema": schema}).encode()
    assert_rejected(pack(tmp_path / "m", members), "newer version of ravine.*Upgrade ravine")


@pytest.mark.parametrize("schema", [0, -1, None, "2", True, 1.0])
def test_invalid_schema_is_rejected(models, tmp_path, schema):
    members = unpack(models["tree"])
    members["model.json"] = json.dumps({**json.loads(members["model.json"]), "schema": schema}).encode()
    assert_rejected(pack(tmp_path / "m", members), "schema")


def test_truncated_and_corrupted_files_are_rejected(models, tmp_path, rng):
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
            survived += 1  # the dates of members, for example, are not checked
        except ModelFileError:
            pass
    assert survived < 100


def test_zip_bombs_are_rejected_before_unpacking(models, tmp_path, monkeypatch):
    members = unpack(models["tree"])
    members["leaves.npy"] = bytes(50_000_000)
    path = pack(tmp_path / "m", members)
    assert path.stat().st_size < 200_000
    with pytest.raises(ModelFileError, match=r"at least 100 MB, more than max_bytes=1000000.*larger max_bytes"):
        load(path, max_bytes=1_000_000)
    assert_rejected(pack(tmp_path / "m", {"model.json": b"{}" + b" " * (1 << 27)}), "more than 67108864")
    assert_rejected(
        pack(tmp_path / "m", {"model.json": b"{}", **{f"{k}.npy": b"" for k in range(300)}}), "too many files"
    )


def test_wrong_stated_size_is_rejected(models, tmp_path):
    whole = bytearray(models["tree"].read_bytes())
    with zipfile.ZipFile(models["tree"]) as archive:
        info = archive.getinfo("leaves.npy")
    at = whole.rindex(b"leaves.npy") - 46  # its entry in the directory
    assert int.from_bytes(whole[at + 24 : at + 28], "little") == info.file_size
    for size in (info.file_size // 2, info.file_size * 2):
        whole[at + 24 : at + 28] = size.to_bytes(4, "little")
        (tmp_path / "m").write_bytes(whole)
        assert_rejected(tmp_path / "m", "damaged|shape")


@pytest.mark.parametrize("name", ["cluster", "left", "right", "order"])
def test_large_numbers_of_nodes_allocate_no_memory(models, tmp_path, name, monkeypatch):
    members = unpack(models["tree"])
    array = np.load(io.BytesIO(members[f"tree/{name}.npy"]))
    array[array.argmax()] = 1 << 45
    members[f"tree/{name}.npy"] = make_npy(array)
    assert_rejected(pack(tmp_path / "m", members), f"'tree/{name}' has values outside -1 to 4")


def test_lack_of_memory_is_reported(models, monkeypatch):
    def exhaust(*args):
        raise MemoryError

    monkeypatch.setattr("ravine.models.files.decode_estimator", exhaust)
    assert_rejected(models["tree"], "needs more memory than is available")


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
        make_npy(np.zeros(90, dtype="<i8"), version=(2, 0)),
        make_npy(np.zeros((90, 1), dtype="<i8")),
        make_npy(np.zeros(90)),
        make_npy(np.zeros(90, dtype="<i4")),
        make_npy(np.full(90, 99)),
        make_npy(np.zeros(90, dtype="<i8")),  # the root is not a leaf
        make_npy(np.full(89, 1)),
    ],
)
def test_arrays_of_another_kind_are_rejected(models, tmp_path, array, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert_rejected(pack(tmp_path / "m", {**unpack(models["tree"]), "leaves.npy": array}), ".")
    assert not (tmp_path / "executed").exists()


def test_missing_and_additional_arrays_are_rejected(models, tmp_path):
    members = unpack(models["tree"])
    assert_rejected(pack(tmp_path / "m", {**members, "more.npy": make_npy([1.0])}), "unexpected arrays: 'more'")
    assert_rejected(pack(tmp_path / "m", {**members, "evil.py": b"print()"}), "unexpected file: 'evil.py'")
    del members["tree/left.npy"]
    assert_rejected(pack(tmp_path / "m", members), "'tree/left' is missing")


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
def test_invalid_trees_are_rejected(models, tmp_path, name, values):
    members = unpack(models["tree"])
    pack(tmp_path / "m", {**members, f"{name}.npy": make_npy(values)})
    assert_rejected(tmp_path / "m", "invalid tree structure|hyperplane|tree/")


def read_npy(members, name):
    return np.load(io.BytesIO(members[f"{name}.npy"]))


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("suggested_tree/parent", lambda a: a[::-1]),
        ("suggested_tree/left", lambda a: np.full_like(a, -1)),
        ("suggested_tree/normal", np.zeros_like),
        ("suggested_tree/size", lambda a: a + 1),
        ("suggested_tree/offset", lambda a: a * 0.99),
        ("suggested_tree/order", lambda a: np.where(a >= 0, a.max() - a, -1)),
        ("suggested_tree/pvalue", lambda a: np.where(np.arange(len(a)) == 0, 0.5, a)),
        ("suggested_leaves", lambda a: a[::-1]),
        ("suggested_leaves", lambda a: a[1:]),
        ("suggested_leaves", np.zeros_like),
        ("suggested_leaves", lambda a: a + 100),
    ],
)
def test_invalid_suggested_trees_are_rejected(models, tmp_path, name, change):
    members = unpack(models["suggested"])
    members[f"{name}.npy"] = make_npy(np.ascontiguousarray(change(read_npy(members, name))))
    assert_rejected(
        pack(tmp_path / "m", members),
        "does not continue the tree|tree structure|hyperplane|suggested_|leaves of the tree",
    )


def test_tree_of_other_rows_is_not_a_suggestion(models, tmp_path):
    X, _ = simulate_pairs()
    save(MinimumDensityTree(random_state=0).fit(X[:, ::-1]), tmp_path / "other")
    other = unpack(tmp_path / "other")
    mixed = {
        name: content if "suggested" not in name else other[name]
        for name, content in unpack(models["suggested"]).items()
    }
    assert_rejected(pack(tmp_path / "m", mixed), "the suggested tree does not continue the tree")


@pytest.mark.parametrize("number", [1, 2, 5, -1, True, "4", 4.0, [4], {}])
def test_wrong_number_of_suggested_clusters_is_rejected(models, tmp_path, number):
    members = unpack(models["suggested"])
    document = json.loads(members["model.json"])
    document["fitted"]["n_suggested"] = number
    members["model.json"] = json.dumps(document).encode()
    assert_rejected(pack(tmp_path / "m", members), "number of suggested clusters|'n_suggested' has unexpected value")


def test_suggested_tree_is_complete_or_missing(models, tmp_path):
    members = unpack(models["suggested"])
    for name in ("suggested_tree/left", "suggested_leaves"):
        rest = {key: content for key, content in members.items() if key != f"{name}.npy"}
        assert_rejected(pack(tmp_path / "m", rest), f"'{name}' is missing")
    rest = {key: content for key, content in members.items() if key != "suggested_tree/parent.npy"}
    assert_rejected(pack(tmp_path / "m", rest), "number of suggested clusters")
    document = json.loads(members["model.json"])
    document["fitted"]["n_suggested"] = None
    members["model.json"] = json.dumps(document).encode()
    assert_rejected(pack(tmp_path / "m", members), "unexpected arrays: 'suggested")


def test_unknown_classes_are_rejected(models, tmp_path):
    members = unpack(models["tree"])
    document = json.loads(members["model.json"])
    for kind in ("os.system", "PCA", "Pipeline", ""):
        members["model.json"] = json.dumps({**document, "kind": kind}).encode()
        assert_rejected(pack(tmp_path / "m", members), "unknown estimator")
    document["parameters"]["__class__"] = "x"
    members["model.json"] = json.dumps(document).encode()
    assert_rejected(pack(tmp_path / "m", members), "no parameter '__class__'")


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


@pytest.mark.parametrize("name", ["plane", "tree", "suggested", "c"])
def test_invalid_values_in_the_document_are_rejected(models, tmp_path, rng, name):
    members = unpack(models[name])
    document = json.loads(members["model.json"])
    places = [place for place in list_places(document) if place]
    invalid = [None, True, -1, 10**20, 0.5, "x", [], {}, [1, 2, 3], {"array": "labels"}, {"tuple": 3}]
    tried = [places[k] for k in rng.integers(len(places), size=8)]
    tried += [place for place in places if len(place) <= 2 and place[0] != "parameters"]
    n_rejected = 0
    for place in tried:
        for value in invalid:
            members["model.json"] = json.dumps(replace_value(document, place, value)).encode()
            try:
                load(pack(tmp_path / "m", members))
            except ModelFileError as error:
                assert "\n" not in str(error)  # noqa: PT017
                n_rejected += 1
    assert n_rejected > len(tried)


def test_checksum_is_verified(models, tmp_path):
    members = unpack(models["tree"])
    with zipfile.ZipFile(tmp_path / "m", "w", zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    whole = bytearray((tmp_path / "m").read_bytes())
    leaves = members["leaves.npy"]
    whole[whole.index(leaves) + len(leaves) - 8] ^= 3
    (tmp_path / "m").write_bytes(whole)
    assert_rejected(tmp_path / "m", "Bad CRC")
