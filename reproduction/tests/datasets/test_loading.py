"""`load` and `Dataset`: order of places, errors, standardisation, fingerprints."""

import copy
import gzip
import os
import pickle
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

from ravine_paper.datasets import (
    CorruptDatasetError,
    Dataset,
    DatasetError,
    DatasetNotFoundError,
    UnknownDatasetError,
    UnreadableDatasetError,
    cache_folder,
    describe,
    fingerprint,
    list_datasets,
    load,
    write_csv,
)
from ravine_paper.datasets.catalogue import CARDS
from ravine_paper.datasets.content import compute_sketch, hash_labels

X = np.array([[1.0, 2.5, 7.0], [3.0, np.nan, 7.0], [-0.125, 1e-7, 7.0], [5.0, 0.5, 7.0]])
Y = np.array(["a", "b", "a", "b"])
TEXT = "p,q,r,label\n1,2.5,7,a\n3,,7,b\n-0.125,1e-07,7,a\n5,0.5,7,b\n"


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    """Use no folder, an empty cache, and a data set of four rows named wine."""
    monkeypatch.delenv("RAVINE_DATA", raising=False)
    monkeypatch.setenv("RAVINE_CACHE", str(tmp_path / "cache"))
    toy = replace(CARDS["wine"], n=4, d=3, classes={"a": 2, "b": 2}, missing=1, fingerprint=fingerprint(X, Y))
    monkeypatch.setitem(CARDS, "wine", toy)


def put(folder, text=TEXT, name="wine.csv.gz"):
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return path


def same(dataset):
    return np.array_equal(dataset.data, X, equal_nan=True) and dataset.target.tolist() == Y.tolist()


# ------------------------------------------------------------------------------------------------- order of places


def test_folder_is_read(tmp_path):
    path = put(tmp_path / "here")
    for folder in (tmp_path / "here", str(tmp_path / "here")):
        dataset = load("wine", folder)
        assert same(dataset)
        assert dataset.feature_names == ("p", "q", "r")
        assert (dataset.origin, dataset.checked, dataset.n_missing) == (str(path), True, 1)
        assert dataset.data.dtype == np.float64
        assert dataset.target.dtype.kind == "U"


def test_argument_precedes_variable_precedes_cache(tmp_path, monkeypatch):
    cached = put(cache_folder())
    assert load("wine", download=False).origin == str(cached)
    chosen = put(tmp_path / "variable")
    monkeypatch.setenv("RAVINE_DATA", str(tmp_path / "variable"))
    assert load("wine", download=False).origin == str(chosen)
    given = put(tmp_path / "argument")
    assert load("wine", tmp_path / "argument").origin == str(given)
    chosen.unlink()
    assert load("wine", download=False).origin == str(cached)


def test_compressed_file_is_preferred_to_the_plain_one(tmp_path):
    plain = put(tmp_path, name="wine.csv")
    assert load("wine", tmp_path).origin == str(plain)
    assert load("wine", put(tmp_path).parent).origin.endswith(".gz")


@pytest.mark.parametrize(
    "text",
    [
        TEXT.replace("\n", "\r\n"),
        "\ufeff" + TEXT,
        TEXT + "\n\n",
        TEXT.rstrip("\n"),
        TEXT.replace("p,q,r,label", '"p","q", "r" ,"label"'),
        TEXT.replace(",a\n", ',"a"\n').replace("3,,", "3,NA,"),
        TEXT.replace("1,2.5", " 1 , 2.5").replace("3,,", "3,?,"),
        "\n" + TEXT.replace("1e-07", "0.0000001"),
    ],
)
def test_messy_files_are_read_alike(tmp_path, text):
    put(tmp_path, text)
    assert same(load("wine", tmp_path))


# ---------------------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "no rows"),
        ("p,q,r,label\n", "no rows"),
        (TEXT.replace("label", "class"), "'label'.*'class'"),
        (TEXT.replace("3,,7,b", "3,x,7,b"), "line 3, column 'q': 'x'"),
        (TEXT.replace("3,,7,b", "3,inf,7,b"), "line 3, column 'q': 'inf'"),
        (TEXT.replace("3,,7,b", "3,7,b"), "line 3: .*4 .*3"),
        (TEXT.replace("3,,7,b", "3,,7,"), "row 2: .*label"),
        (TEXT[: len(TEXT) - 9], "4 cells, got 1"),
        (TEXT.replace("5,0.5,7,b\n", ""), "3 rows .*wine .*4"),
        (TEXT.replace("5,0.5,7,b", "5,0.5,7,a"), "2 .*'a' .*wine.* 3"),
        (TEXT.replace("5,0.5,7,b", "5,0.5,7,c"), "2 .*'b' .*wine.* 1"),
        (TEXT.replace("0.5", "0.6"), "order"),
        ("\n".join([TEXT.split("\n")[i] for i in (0, 3, 2, 1, 4)]), "order"),
    ],
)
def test_damaged_file_is_rejected_in_one_sentence(tmp_path, text, message):
    path = put(tmp_path, text)
    with pytest.raises(CorruptDatasetError, match=message) as raised:
        load("wine", tmp_path)
    assert str(path) in str(raised.value)
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, ValueError)


@pytest.mark.parametrize("keep", [0, 5, 20, -8, -1])
def test_truncated_file_is_rejected(tmp_path, keep):
    path = put(tmp_path)
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(CorruptDatasetError, match=r"wine\.csv\.gz .*gzip"):
        load("wine", tmp_path)


def test_custom_file_needs_check_false(tmp_path):
    put(tmp_path, "u,label\n1,x\n2,y\n4,y\n")
    with pytest.raises(CorruptDatasetError, match="check=False"):
        load("wine", tmp_path)
    own = load("wine", tmp_path, check=False)
    assert own.data.tolist() == [[1], [2], [4]]
    assert own.classes == {"x": 1, "y": 2}
    assert not own.checked


@pytest.mark.parametrize(
    ("name", "guess"),
    [
        ("wnie", "did you mean 'wine'"),
        ("Breast-Cancer", "did you mean 'breast_cancer'"),
        ("optdigits", "'optidigits'"),
        ("zzz", "choose from banknote, breast_cancer"),
        ("", "choose from"),
        (None, "choose from"),
        (["wine"], "did you mean|choose from"),
    ],
)
def test_unknown_name_suggests_similar_ones(name, guess):
    for function in (describe, load):
        with pytest.raises(UnknownDatasetError, match=guess) as raised:
            function(name)
        assert isinstance(raised.value, DatasetError)


def test_missing_folder_is_named(tmp_path, monkeypatch):
    with pytest.raises(DatasetNotFoundError, match=r"folder='.*nowhere'"):
        load("wine", tmp_path / "nowhere")
    monkeypatch.setenv("RAVINE_DATA", str(tmp_path / "gone"))
    with pytest.raises(DatasetNotFoundError, match=r"RAVINE_DATA='.*gone'") as raised:
        load("wine")
    assert isinstance(raised.value, FileNotFoundError)


def test_file_instead_of_a_folder_is_an_error(tmp_path):
    path = put(tmp_path)
    with pytest.raises(DatasetNotFoundError, match="is a file"):
        load("wine", path)


def test_explicit_folder_without_the_file_is_an_error(tmp_path):
    put(cache_folder())
    (tmp_path / "empty").mkdir()
    with pytest.raises(DatasetNotFoundError, match=r"empty.wine\.csv\.gz"):
        load("wine", tmp_path / "empty")


def test_absent_dataset_without_download_is_an_error(tmp_path):
    with pytest.raises(DatasetNotFoundError, match=r"RAVINE_DATA .*cache"):
        load("wine", download=False)


def test_unreadable_file_is_named(tmp_path, monkeypatch):
    path = put(tmp_path)

    def deny(self, *_, **__):
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "read_bytes", deny)
    with pytest.raises(UnreadableDatasetError, match="Permission denied") as raised:
        load("wine", tmp_path)
    assert str(path) in str(raised.value)
    monkeypatch.setattr(Path, "is_file", deny)
    with pytest.raises(UnreadableDatasetError, match="permissions"):
        load("wine", tmp_path)
    monkeypatch.setattr(Path, "is_dir", deny)
    with pytest.raises(UnreadableDatasetError, match="cannot be read"):
        load("wine", tmp_path)


@pytest.mark.parametrize("wrong", [{"download": "yes"}, {"check": None}, {"folder": 3}])
def test_parameters_are_checked(wrong):
    with pytest.raises(TypeError, match=next(iter(wrong))):
        load("wine", **wrong)


# ------------------------------------------------------------------------------------------------------ Dataset


def test_dataset_is_immutable(tmp_path):
    put(tmp_path)
    dataset = load("wine", tmp_path)
    with pytest.raises(ValueError, match="read-only"):
        dataset.data[0, 0] = 1
    with pytest.raises(ValueError, match="read-only"):
        dataset.target[0] = "z"
    with pytest.raises(FrozenInstanceError):
        dataset.name = "x"
    with pytest.raises(TypeError):
        dataset.card.classes["a"] = 3


def test_dataset_copies_its_arguments():
    values = X.copy()
    dataset = Dataset("wine", values, Y, ("p", "q", "r"), describe("wine"))
    values[0, 0] = 100
    assert dataset.data[0, 0] == 1


def test_dataset_can_be_copied_and_pickled(tmp_path):
    put(tmp_path)
    dataset = load("wine", tmp_path)
    for twin in (pickle.loads(pickle.dumps(dataset)), copy.deepcopy(dataset)):
        assert same(twin)
        assert not twin.data.flags.writeable
        assert twin.card == dataset.card
        assert hash(twin.card) == hash(dataset.card)
    assert repr(dataset).startswith("Dataset('wine': 4 rows, 3 columns, 2 classes")


def test_standardising_fills_drops_and_scales(tmp_path):
    put(tmp_path)
    scaled = load("wine", tmp_path).standardised()
    filled = np.array([[1.0, 2.5], [3.0, 0.5], [-0.125, 1e-7], [5.0, 0.5]])  # 0.5 is the median of the rest
    assert np.allclose(scaled.data, (filled - filled.mean(axis=0)) / np.sqrt(filled.var(axis=0)), rtol=1e-14)
    assert scaled.feature_names == ("p", "q")
    assert np.allclose(scaled.data.mean(axis=0), 0, atol=1e-15)
    assert np.allclose((scaled.data**2).mean(axis=0), 1)
    assert scaled.target.tolist() == Y.tolist()


def test_standardising_drops_constant_features_exactly():
    values = np.column_stack([np.full(3, 0.1), [1e8, 1e8 + 1, 1e8 + 2], np.full(3, 1e8 + 0.3)])
    toy = Dataset("wine", values, Y[:3], ("p", "q", "r"), describe("wine"))
    assert toy.standardised().feature_names == ("q",)
    assert np.allclose(toy.standardised().data[:, 0], [-np.sqrt(1.5), 0, np.sqrt(1.5)])


def test_standardising_nothing_is_an_error():
    card = describe("wine")
    with pytest.raises(ValueError, match="'q' of wine"):
        Dataset("wine", np.array([[1.0, np.nan], [2.0, np.nan]]), Y[:2], ("p", "q"), card).standardised()
    with pytest.raises(ValueError, match=r"wine .*constant"):
        Dataset("wine", np.ones((3, 2)), Y[:3], ("p", "q"), card).standardised()


def test_to_frame(tmp_path):
    put(tmp_path)
    frame = load("wine", tmp_path).to_frame()
    assert list(frame.columns) == ["p", "q", "r", "label"]
    assert frame["label"].tolist() == Y.tolist()
    frame.loc[0, "p"] = 9.0


def test_written_dataset_round_trips_to_the_bit(tmp_path, rng):
    values = rng.standard_normal((50, 3)) * 10.0 ** rng.integers(-200, 200, (50, 3))
    values[3, 1], values[4, 2], values[5, 0] = np.nan, -0.0, 1e8
    labels = np.array(["G2/M", "b c"])[rng.integers(0, 2, 50)]
    dataset = Dataset("wine", values, labels, ("p", "q", "r"), describe("wine"))
    path = write_csv(dataset, tmp_path / "new" / "folder")
    again = load("wine", tmp_path / "new" / "folder", check=False)
    assert np.array_equal(again.data, values, equal_nan=True)
    assert again.target.tolist() == labels.tolist()
    first = path.read_bytes()
    assert write_csv(again, tmp_path / "new" / "folder").read_bytes() == first
    assert os.listdir(path.parent) == ["wine.csv.gz"]


def test_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    put(tmp_path)
    dataset = load("wine", tmp_path)
    before = (tmp_path / "wine.csv.gz").read_bytes()

    def full(self, data):
        with self.open("wb") as file:
            file.write(data[:10])
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Path, "write_bytes", full)
    with pytest.raises(UnreadableDatasetError, match="No space left on device"):
        write_csv(dataset, tmp_path)
    assert (tmp_path / "wine.csv.gz").read_bytes() == before
    assert os.listdir(tmp_path) == ["wine.csv.gz"]


# ---------------------------------------------------------------------------------------------------- fingerprints


def test_fingerprint_depends_on_every_cell_and_its_place(rng):
    values, labels = rng.standard_normal((5, 3)), np.array(list("aabbc"))
    whole = fingerprint(values, labels)
    seen = {whole}
    for i in range(5):
        for j in range(3):
            other = values.copy()
            other[i, j] = np.nextafter(other[i, j], np.inf)
            seen.add(fingerprint(other, labels))
        renamed = labels.copy()
        renamed[i] = "z"
        seen.add(fingerprint(values, renamed))
    seen |= {
        fingerprint(values.T.copy(), labels),
        fingerprint(values[::-1], labels[::-1]),
        fingerprint(values, labels[::-1]),
    }
    assert len(seen) == 1 + 15 + 5 + 3
    assert fingerprint(np.asfortranarray(values), labels) == whole
    assert fingerprint(values.astype(">f8"), labels.astype("U9")) == whole
    assert fingerprint(np.array([[-0.0, np.nan]]), Y[:1]) == fingerprint(np.array([[0.0, -np.nan]]), Y[:1])


def test_more_digits_are_accepted_if_the_card_allows_it(tmp_path, monkeypatch, rng):
    values, labels = rng.standard_normal((200, 30)), np.repeat(["a", "b"], 100)
    short = np.round(values, 8)
    card = replace(
        CARDS["wine"], n=200, d=30, classes={"a": 100, "b": 100}, missing=0, fingerprint=fingerprint(short, labels)
    )

    def loads(changed, target=labels):
        write_csv(Dataset("wine", changed, target, tuple(f"f{j}" for j in range(30)), card), tmp_path)
        try:
            return load("wine", tmp_path).checked
        except CorruptDatasetError:
            return False

    monkeypatch.setitem(CARDS, "wine", card)
    assert loads(short)
    assert not loads(values)
    close = replace(card, sketch=compute_sketch(short), labels=hash_labels(labels))
    monkeypatch.setitem(CARDS, "wine", close)
    assert loads(short)
    assert loads(values)
    swapped = values.copy()
    swapped[[0, 1]] = swapped[[1, 0]]
    missing = values.copy()
    missing[0, 0] = np.nan
    one = values.copy()
    one[17, 5] += 0.01
    for wrong in (swapped, values[:, ::-1], values * 1.001, one, missing):
        assert not loads(wrong)
    assert not loads(values, labels[::-1])


# ------------------------------------------------------------------------------------------------------- cards


def test_datasets_are_those_of_the_paper_and_s1():
    names = list_datasets()
    assert len(names) == 15
    assert names[-1] == "s1"
    assert list(names[:-1]) == sorted(names[:-1])


@pytest.mark.parametrize("name", [name for name in list_datasets() if name != "wine"])
def test_every_card_is_complete(name):
    card = describe(name)
    assert sum(card.classes.values()) == card.n
    assert list(card.classes) == sorted(card.classes, key=lambda k: (len(k) if k.isdigit() else 0, k))
    for word in ("title", "source", "licence", "citation", "preprocessing", "paper"):
        assert getattr(card, word).strip()
    assert len(card.fingerprint) == 64
    for source in card.sources:
        assert source.url.startswith("https://")
        assert source.sha256 is None or len(source.sha256) == 64
        assert all(len(pin) == 64 for member in source.members for pin in member.sha256)
    assert card.to_dict()["classes"] == dict(card.classes)
    assert card.citation in str(card)
