"""Files made to exhaust memory, to leak errors of other libraries, or to hold values that no fit can produce."""

import io
import json
import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.models import ModelFileError, load, save
from support.model_files import make_npy, pack, unpack
from support.shape_data import draw_rings

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
    few = {"n_alpha": 2, "max_iter": 2, "random_state": 0}
    save(MinimumDensityHyperplane(test=True, **few).fit(X), folder / "plane")
    save(MinimumDensityHyperplane(test=True, test_method="exact", **few).fit(X), folder / "exact")
    save(MinimumDensityTree(3, test=True, **few).fit(X), folder / "tree")
    save(MinimumDensityTree(2, shape="any", random_state=0).fit(draw_rings(200)[0]), folder / "rings")
    save(MinimumDensityClassifier(**few).fit(X, y), folder / "classifier")
    return {path.name: unpack(path) for path in folder.iterdir()}


def edit_array(members, name, change):
    """Return the members with one array changed in place by a function."""
    array = np.load(io.BytesIO(members[f"{name}.npy"]))
    change(array)
    return {**members, f"{name}.npy": make_npy(array)}


def edit_document(members, change):
    document = json.loads(members["model.json"])
    change(document["fitted"])
    return {**members, "model.json": json.dumps(document).encode()}


def assert_rejected(path, match):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(ModelFileError, match=match) as info:
            load(path)
    assert len(str(info.value)) < 600
    assert "\n" not in str(info.value)


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
    document = b'{"format": "ravine model", "schema": 2, "a": [' + values[:-1] + b"]}"
    path = pack(tmp_path / "m", {**models["tree"], "model.json": document})
    assert path.stat().st_size < 150_000
    rise, message = measure_memory(path)
    assert "more than max_bytes=1073741824" in message
    assert rise < 200


@pytest.mark.skipif(sys.platform == "win32", reason="needs the module resource")
def test_unpacked_arrays_are_held_once(models, tmp_path):
    leaves = make_npy(np.full(25_000_000, 2, dtype="<i8"))
    rise, message = measure_memory(pack(tmp_path / "m", {**models["tree"], "leaves.npy": leaves}))
    assert "'leaves' has unexpected type int64 or shape (25000000,)" in message
    assert rise < 300


def test_hyperplanes_that_are_not_used_are_not_built(models, tmp_path):
    n = 20_000
    members = {
        **models["plane"],
        "hyperplanes/normal.npy": make_npy(np.tile([1.0, 0.0], (n, 1))),
        "hyperplanes/point.npy": make_npy(np.ones((n, 2))),
        "hyperplanes/numbers.npy": make_npy(np.tile([1.0, 0.1, 0.5, 0.1, 1.0], (n, 1))),
    }
    path = pack(tmp_path / "m", members)
    assert load(path, max_bytes=6_000_000).hyperplane_.bandwidth == 0.1
    many = edit_document(
        members, lambda fitted: fitted["path"].update({k: [v[0]] * n for k, v in fitted["path"].items()})
    )
    many = edit_document(many, lambda fitted: fitted["path"].update(hyperplane=list(range(n))))
    with pytest.raises(ModelFileError, match="more than max_bytes=6000000"):
        load(pack(tmp_path / "m", many), max_bytes=6_000_000)
    assert len(load(pack(tmp_path / "m", many)).path_) == n


def test_long_lists_of_members_are_rejected_before_they_are_read(models, tmp_path):
    whole = bytearray(pack(tmp_path / "m", models["tree"]).read_bytes())
    end = whole.rindex(b"PK\x05\x06")
    for at, number in ((end + 10, 60_000), (end + 14, 60_000)):
        changed = whole[:at] + number.to_bytes(2, "little") + whole[at + 2 :]
        (tmp_path / "m").write_bytes(changed)
        assert_rejected(tmp_path / "m", "too many files")
    (tmp_path / "m").write_bytes(whole[:end] + b"PK\x06\x07" + bytes(16) + whole[end:])
    assert_rejected(tmp_path / "m", "list of its members is damaged")


# ----------------------------------------------------------------------------------------------- errors of libraries


def make_header(text, body=b""):
    padded = text.encode() + b" " * max(0, 117 - len(text)) + b"\n"
    return b"\x93NUMPY\x01\x00" + len(padded).to_bytes(2, "little") + padded + body


@pytest.mark.parametrize(
    "header",
    [
        "{'descr': '<i8', 'fortran_order': False, 'shape': (90,), ",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (90L,), }",
        "{'descr': '''",
        "\\",
        "{'descr': '<i8', 'fortran_order': False, 'shape': (" + "9" * 5000 + ",), }",
        "{'descr': '<U999999999', 'fortran_order': False, 'shape': (90,), }",
        "{'descr': '<i3', 'fortran_order': False, 'shape': (90,), }",
        "{'descr': '>i8', 'fortran_order': False, 'shape': (90,), }",
        "{'descr': '<i8', 'fortran_order': True, 'shape': (90,), }",
        "(" * 1000,
    ],
)
def test_malformed_headers_of_arrays_are_rejected(models, tmp_path, header):
    members = {**models["tree"], "leaves.npy": make_header(header, bytes(720))}
    assert_rejected(pack(tmp_path / "m", members), r"array 'leaves\.npy' (is damaged|has)")


def test_every_flipped_bit_of_the_list_of_members_is_reported(models, tmp_path):
    whole = pack(tmp_path / "m", models["tree"]).read_bytes()
    start = whole.index(b"PK\x01\x02")
    for k in [*range(start, start + 60), *range(len(whole) - 22, len(whole))]:
        for bit in (0, 3, 7):
            flipped = bytearray(whole)
            flipped[k] ^= 1 << bit
            (tmp_path / "m").write_bytes(flipped)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                try:
                    load(tmp_path / "m")  # dates, for example, are not checked
                except ModelFileError as error:
                    assert len(str(error)) < 600  # noqa: PT017


def test_long_names_are_not_repeated(models, tmp_path):
    name = "x" * 60_000
    assert_rejected(pack(tmp_path / "m", {**models["tree"], name: b""}), "unexpected file: 'x{60}'")
    assert_rejected(pack(tmp_path / "m", {**models["tree"], f"{name}.npy": make_npy([1.0])}), "unexpected arrays")
    changed = edit_document(models["tree"], lambda fitted: fitted.update(n_features=name))
    assert_rejected(pack(tmp_path / "m", changed), "'n_features' has unexpected value")


# ----------------------------------------------------------------------------------------------- impossible values


@pytest.mark.parametrize("value", [-0.1, 1.5, np.inf])
def test_pvalues_outside_0_to_1_are_rejected(models, tmp_path, value):
    changed = edit_array(models["tree"], "tree/pvalue", lambda a: a.__setitem__(0, value))
    assert_rejected(pack(tmp_path / "m", changed), "pvalue of a hyperplane is outside 0 to 1")
    if np.isfinite(value):
        changed = edit_document(models["plane"], lambda fitted: fitted["valley_test"].update(pvalue=value))
        assert_rejected(pack(tmp_path / "m", changed), "P-value of a valley test is outside 0 to 1")
        changed = edit_document(models["exact"], lambda fitted: change_halves(fitted, "pvalues", [value, 0.5]))
        assert_rejected(pack(tmp_path / "m", changed), "P-value of a valley test is outside 0 to 1")


def change_halves(fitted, name, value):
    for half in fitted["valley_test"]["halves"]:
        assert half[name] is not None
        half[name] = value


@pytest.mark.parametrize("value", [-1.0, 0.0, np.inf])
@pytest.mark.parametrize(
    ("name", "array", "place"), [("tree", "tree/bandwidth", 0), ("plane", "hyperplanes/numbers", (0, 3))]
)
def test_bandwidths_that_are_not_positive_are_rejected(models, tmp_path, name, array, place, value):
    changed = edit_array(models[name], array, lambda a: a.__setitem__(place, value))
    assert_rejected(pack(tmp_path / "m", changed), "bandwidth of a hyperplane is outside")


def test_sizes_that_disagree_with_the_leaves_are_rejected(models, tmp_path):
    leaves = np.load(io.BytesIO(models["tree"]["leaves.npy"]))
    first, second = np.unique(leaves)[:2]
    moved = np.where(np.arange(len(leaves)) == np.argmax(leaves == first), second, leaves)
    path = pack(tmp_path / "m", {**models["tree"], "leaves.npy": make_npy(moved)})
    assert_rejected(path, "rows in the leaves of the tree do not agree with their sizes")


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_slopes_that_are_not_numbers_are_rejected(models, tmp_path, value):
    changed = edit_array(models["classifier"], "slopes", lambda a: a.__setitem__(0, value))
    assert_rejected(pack(tmp_path / "m", changed), "slope of a logistic curve")
    changed = edit_array(models["classifier"], "hyperplanes/numbers", lambda a: a.__setitem__((slice(None), 3), np.nan))
    assert_rejected(pack(tmp_path / "m", changed), "bandwidth of its hyperplane, is not a number")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("plane", lambda fitted: fitted.update(n_iter=-1)),
        ("plane", lambda fitted: fitted["path"].update(n_rows=[-1] * len(fitted["path"]["n_rows"]))),
        ("plane", lambda fitted: fitted["path"].update(gamma=[-0.5] * len(fitted["path"]["gamma"]))),
        ("plane", lambda fitted: fitted["valley_test"].update(grid_columns=[2])),
        ("plane", lambda fitted: fitted["valley_test"].update(n_folds=-3)),
        ("plane", lambda fitted: fitted["valley_test"]["partitions"][0][0].update(counts=[[5, 4, 1.0], [1, 2, 1.0]])),
        ("plane", lambda fitted: fitted["valley_test"]["partitions"][0][0].update(counts=[[1, 2, 9.0], [1, 2, 1.0]])),
        ("exact", lambda fitted: change_halves(fitted, "counts", [1, -1, 1])),
        ("exact", lambda fitted: change_halves(fitted, "valley", [[1, 0], [0, 1], [0, 1]])),
        ("exact", lambda fitted: change_halves(fitted, "valley", [[0, {"float": "nan"}], [0, 1], [0, 1]])),
    ],
)
def test_values_that_no_fit_can_produce_are_rejected(models, tmp_path, name, change):
    assert_rejected(pack(tmp_path / "m", edit_document(models[name], change)), ".")


def test_huge_numbers_cause_no_warning(models, tmp_path):
    changed = edit_array(models["tree"], "tree/normal", lambda a: a.fill(1e300))
    assert_rejected(pack(tmp_path / "m", changed), "not a unit vector")
    document = json.loads(models["tree"]["model.json"])
    document["parameters"]["eta"] = {"scalar": "float16", "value": 1e300}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        load(pack(tmp_path / "m", {**models["tree"], "model.json": json.dumps(document).encode()}))


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [
        ("leaves", slice(None), 0),
        ("leaves", (0, 0), 0),
        ("leaves", (0, 0), 10**6),
        ("boundaries", (0, 0), 1),
        ("boundaries", (0, 1), 2),
    ],
)
def test_joins_that_do_not_lead_to_the_clusters_are_rejected(models, tmp_path, name, place, value):
    changed = edit_array(models["rings"], f"tree/joins/{name}", lambda pairs: pairs.__setitem__(place, value))
    assert_rejected(pack(tmp_path / "m", changed), "invalid tree structure|tree/joins")
