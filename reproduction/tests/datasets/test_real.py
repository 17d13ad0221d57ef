"""The data sets of the paper, from RAVINE_DATA: sizes, classes, and the formats of the archives."""

import gzip
import hashlib
import os
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from ravine_paper.datasets import describe, fingerprint, list_datasets, load
from ravine_paper.datasets import download as module
from ravine_paper.datasets.content import TOLERANCE, check_content, compute_sketch, hash_labels
from ravine_paper.datasets.parsers import IMAGES, parse_files
from support.archive_files import r_list, r_matrix, r_save, r_vector, zip_files

SMALL = [name for name in list_datasets() if name != "smartphone"]


@pytest.fixture(scope="module")
def folder():
    path = os.environ.get("RAVINE_DATA")
    if not path:
        pytest.skip("set RAVINE_DATA to the folder of the data sets (NAME.csv.gz)")
    missing = [name for name in list_datasets() if not (Path(path) / f"{name}.csv.gz").is_file()]
    if missing:
        pytest.skip(f"RAVINE_DATA={path} lacks {', '.join(missing)}")
    return Path(path)


@cache
def loaded(folder, name):
    return load(name, folder)


@pytest.mark.parametrize("name", list_datasets())
def test_datasets_match_their_cards(folder, name):
    dataset, card = loaded(folder, name), describe(name)
    assert dataset.checked
    assert dataset.data.shape == (card.n, card.d)
    assert dataset.classes == dict(card.classes)
    assert dataset.n_missing == card.missing
    assert len(set(dataset.feature_names)) == card.d
    assert fingerprint(dataset.data, dataset.target) == card.fingerprint


@pytest.mark.parametrize("name", [name for name in SMALL if name != "s1"])
def test_standardised_agrees_with_a_direct_computation(folder, name):
    cells = np.loadtxt(folder / f"{name}.csv.gz", delimiter=",", dtype=str, skiprows=1)
    X = np.where(cells[:, :-1] == "", "nan", cells[:, :-1]).astype(float)
    X = np.where(np.isnan(X), np.nanmedian(X, axis=0), X)
    X = X[:, X.std(axis=0) > 0]
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), cells[:, -1]
    scaled = loaded(folder, name).standardised()
    assert np.array_equal(scaled.data, X)
    assert scaled.target.tolist() == y.tolist()


@pytest.mark.parametrize("name", [pytest.param("smartphone", marks=pytest.mark.slow), "yeast"])
def test_sketch_matches_the_content(folder, name):
    dataset, card = loaded(folder, name), describe(name)
    assert hash_labels(dataset.target) == card.labels
    assert np.allclose(compute_sketch(dataset.data), card.sketch, rtol=0, atol=1e-7)
    noise = np.random.default_rng(0).uniform(-4.3e-8, 4.3e-8, dataset.data.shape)
    check_content(card, dataset.data + noise, dataset.target, "the archive's digits")
    assert 100 * np.abs(np.subtract(compute_sketch(dataset.data + noise), card.sketch)).max() < TOLERANCE


# ---------------------------------------------------------------- the archives' files, written from the content


def text(value):
    return repr(float(value)).removesuffix(".0")


def lines(rows, separator=",", end="\n"):
    return (end.join(separator.join(row) for row in rows) + end).encode()


@cache
def write_files(dataset):
    """Return the files of a data set in the format of the archive, byte for byte where a SHA-256 is pinned."""
    name, names = dataset.name, dataset.feature_names
    cells = [[text(value) for value in row] for row in dataset.data]
    labels = dataset.target.tolist()
    last = [[*row, label] for row, label in zip(cells, labels, strict=True)]
    first = [[label, *row] for row, label in zip(cells, labels, strict=True)]
    if name == "banknote":
        return {"data_banknote_authentication.txt": lines(last, end="\r\n").removesuffix(b"\r\n")}
    if name == "breast_cancer":
        code = {"benign": "2", "malignant": "4"}
        rows = [["7", *(c if c != "nan" else "?" for c in row[:-1]), code[row[-1]]] for row in last]
        return {"breast-cancer-wisconsin.data": lines(rows)}
    if name == "forest":
        rows = [[f"{row[0]} ", *row[1:]] for row in first]
        header = ["class", *names]
        return {"training.csv": lines([header, *rows[:198]]), "testing.csv": lines([header, *rows[198:]])}
    if name == "image_seg":
        code = {word: number for number, word in IMAGES.items()}
        return {"segment.dat": lines([[*row[:2], "9", *row[2:-1], code[row[-1]]] for row in last], " ")}
    if name == "ionosphere":
        return {"ionosphere.data": lines([[row[0], "0", *row[1:-1], row[-1][0]] for row in last])}
    if name == "optidigits":
        return {"optdigits.tra": lines(last[:3823]), "optdigits.tes": lines(last[3823:])}
    if name == "pendigits":
        rows = [[*(f"{c:>3}" for c in row[:-1]), f"{row[-1]:>2}"] for row in last]
        return {"pendigits.tra": lines(rows[:7494]), "pendigits.tes": lines(rows[7494:])}
    if name == "satellite":
        return {"sat.trn": lines(last[:4435], " "), "sat.tst": lines(last[4435:], " ")}
    if name == "seeds":
        return {"seeds_dataset.txt": lines(last, "\t")}
    if name == "synth_control":
        return {"synthetic_control.data": lines(cells, "  ")}
    if name == "voting":
        vote = {"1": "y", "-1": "n", "0": "?"}
        return {"house-votes-84.data": lines([[row[0], *(vote[c] for c in row[1:])] for row in first])}
    if name == "wine":
        return {"wine.data": lines([[row[0], *(c.removeprefix("0") or "0" for c in row[1:])] for row in first])}
    if name == "yeast":
        codes = np.unique(dataset.target, return_inverse=True)[1] + 1.0
        return {"yeast.RData": r_save(yeast=r_list(x=r_matrix(dataset.data), c=r_vector(codes)))}
    return {"s1.txt": lines(cells, "    "), "s1.labels0.gz": gzip.compress("\n".join(labels).encode())}


@pytest.mark.parametrize("name", SMALL)
def test_format_of_the_archive_gives_the_same_dataset(folder, name):
    dataset = loaded(folder, name)
    data, target, names = parse_files(name, write_files(dataset))
    check_content(describe(name), data, target, name)
    assert np.array_equal(data, dataset.data, equal_nan=True)
    assert names == dataset.feature_names


@pytest.mark.parametrize("name", ["banknote", "forest", "optidigits", "pendigits", "satellite", "voting"])
def test_pinned_hashes_match_the_format_of_the_archive(folder, name):
    files = write_files(loaded(folder, name))
    (source,) = describe(name).sources
    for member in source.members:
        assert hashlib.sha256(files[member.name]).hexdigest() in member.sha256


def test_whole_archive_is_parsed(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("RAVINE_CACHE", str(tmp_path))
    monkeypatch.delenv("RAVINE_DATA")
    card = describe("optidigits")
    (source,) = card.sources
    place = tmp_path / "archives" / "optidigits" / source.name
    place.parent.mkdir(parents=True)
    content = zip_files(write_files(loaded(folder, "optidigits")))
    place.write_bytes(content)
    unpinned = replace(card, sources=(replace(source, sha256=None),))  # the members keep their checksums
    data, target, _ = module.parse_sources(unpinned)
    check_content(card, data, target, "cache")
