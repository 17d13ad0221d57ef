"""Use an installed package as a new user would, and compare one fit with expected labels.

    python smoke.py

Needs the package with its extra `app` and nothing else, so that it can run beside a wheel, outside of the repository.
"""

from __future__ import annotations

import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

import numpy as np
import scipy
import sklearn
from scipy.sparse import csr_array
from sklearn.datasets import load_wine, make_blobs
from sklearn.preprocessing import StandardScaler

import ravine

# The sides of the 178 wines, 50 of them on the smaller one, as lengths of runs of equal labels.
WINE_RUNS = (83, 1, 34, 1, 11, 48)
CENTERS = [[0, 0], [9, 0], [0, 9]]


def expand(runs: tuple[int, ...]) -> np.ndarray:
    """Return labels that alternate between 0 and 1, from the lengths of their runs."""
    return np.repeat(np.arange(len(runs)) % 2, runs)


def check_expected_labels() -> None:
    """Split the wine data and compare every label."""
    X = StandardScaler().fit_transform(load_wine().data)
    mdh = ravine.MinimumDensityHyperplane(random_state=0).fit(X)
    assert np.array_equal(mdh.labels_, expand(WINE_RUNS)), "labels of the wine data differ"
    assert np.array_equal(mdh.predict(X), mdh.labels_)


def check_estimators(folder: Path) -> None:
    """Fit trees and a classifier of three kinds of rows, and write and read a model."""
    X, truth = make_blobs([200] * 3, centers=CENTERS, random_state=0)
    mdt = ravine.MinimumDensityTree(random_state=0).fit(X)
    order = [np.bincount(mdt.labels_[truth == k]).argmax() for k in range(3)]
    assert sorted(order) == [0, 1, 2], "the three clusters are not found"
    assert np.array_equal(np.take(order, truth), mdt.labels_)
    ravine.save(mdt, folder / "tree.ravine")
    assert np.array_equal(ravine.load(folder / "tree.ravine").predict(X), mdt.labels_)
    np.save(folder / "rows.npy", X)
    for rows in (csr_array(X), ravine.RowBlocks(folder / "rows.npy")):
        assert len(np.unique(ravine.MinimumDensityTree(3, random_state=0).fit(rows).labels_)) == 3
    y = np.full(len(X), -1)
    for k in range(3):
        y[np.flatnonzero(truth == k)[:2]] = k
    assert np.mean(ravine.MinimumDensityClassifier().fit(X, y).predict(X) == truth) > 0.99


def check_command(folder: Path) -> None:
    """Run the demonstration of the command."""
    command = Path(sysconfig.get_path("scripts")) / "ravine"
    subprocess.run([command, "demo", "--out", folder / "demo"], check=True, capture_output=True)
    for name in ("report.html", "model.ravine"):
        assert (folder / "demo" / name).is_file(), f"ravine demo did not write {name}"


def main() -> None:
    """Run all checks and print the versions."""
    with tempfile.TemporaryDirectory() as folder:
        check_expected_labels()
        check_estimators(Path(folder))
        check_command(Path(folder))
    versions = f"numpy {np.__version__}, scipy {scipy.__version__}, scikit-learn {sklearn.__version__}"
    print(f"ravine {ravine.__version__} works: Python {sys.version.split()[0]}, {versions}")


if __name__ == "__main__":
    main()
