"""Computations of the semi-supervised study: every method on the same random labels of every problem."""

from __future__ import annotations

import itertools
import time
import warnings
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ravine_paper._typing import Array
from ravine_paper.datasets import load
from ravine_paper.studies.engine.identity import describe_settings
from ravine_paper.studies.engine.options import choose_names
from ravine_paper.studies.engine.runner import Task
from ravine_paper.studies.engine.store import Record, ResultStore
from ravine_paper.studies.semi_supervised.methods import LABEL_METHODS, LabelMethod

__all__ = [
    "BINARY",
    "LABEL_SETS",
    "MULTI_CLASS",
    "PROTOCOL",
    "SIZES",
    "ClassPair",
    "LabelResults",
    "StudySize",
    "choose_label_sets",
    "count_labels",
    "make_label_tasks",
    "make_pairs",
    "read_errors",
    "run_splits",
]

BINARY = ("voting", "banknote", "breast_cancer", "ionosphere")
MULTI_CLASS = ("pendigits", "optidigits", "satellite", "image_seg")
LABEL_SETS = (*BINARY, *MULTI_CLASS)
# Splits are run and stored in blocks of this size.
BLOCK = 10
# Settings of all results. The wording is part of stored results.
PROTOCOL = {"columns": "standardised for each problem"}


@dataclass(frozen=True)
class StudySize:
    """Size of the study.

    Attributes
    ----------
    n_splits : int
        Random choices of labelled rows for each problem and number of labels.
    n_pairs : int or None
        Random pairs of classes for each set with more than two classes; None for all pairs.
    """

    n_splits: int
    n_pairs: int | None

    @property
    def blocks(self) -> list[range]:
        """Blocks of splits."""
        return [range(at, min(at + BLOCK, self.n_splits)) for at in range(0, self.n_splits, BLOCK)]


SIZES = {"quick": StudySize(3, 2), "default": StudySize(10, 10), "full": StudySize(30, None)}


@dataclass(frozen=True)
class LabelResults:
    """Results of the study.

    Attributes
    ----------
    errors : dict
        By set, number of labels and method: errors in per cent, problems by splits; NaN for a problem that failed.
    seconds : dict
        By method: seconds of every fit.
    not_converged : dict
        By method: number of fits with a convergence warning; NaN if it is unknown for some.
    failures : list of str
    """

    errors: dict[tuple[str, int, str], Array]
    seconds: dict[str, Array]
    not_converged: dict[str, float]
    failures: list[str]


@dataclass(frozen=True)
class ClassPair:
    """Problem of two classes of a data set.

    Attributes
    ----------
    dataset : str
    pair : tuple of str or None
        The classes; None if the set has only two.
    number : int
        Number of the pair among all pairs of the set.
    """

    dataset: str
    pair: tuple[str, str] | None
    number: int

    @property
    def key(self) -> str:
        """Name in file names."""
        return self.dataset if self.pair is None else f"{self.dataset}.pair{self.number:02d}"

    @property
    def title(self) -> str:
        """Name shown to the user."""
        return self.dataset if self.pair is None else f"{self.dataset} {self.pair[0]}/{self.pair[1]}"

    def load(self, folder: str | None) -> tuple[Array, NDArray[np.intp]]:
        """Load the standardised rows and their classes 0 and 1."""
        loaded = load(self.dataset, folder).standardised()
        X, y = loaded.data, loaded.target
        pair = tuple(np.unique(y)) if self.pair is None else self.pair
        chosen = np.isin(y, pair)
        X, y = X[chosen], y[chosen]
        X = X[:, X.std(axis=0) > 1e-9]
        return (X - X.mean(axis=0)) / X.std(axis=0), (y == pair[1]).astype(np.intp)

    def draw_labelled(self, y: NDArray[np.intp], n_labels: int, split: int) -> NDArray[np.intp]:
        """Draw the indices of the labelled rows: both classes occur, and all methods receive the same rows."""
        rng = np.random.default_rng([zlib.crc32(self.key.encode()), n_labels, split])
        while True:
            indices = np.sort(rng.choice(len(y), n_labels, replace=False))
            if 0 < y[indices].sum() < n_labels:
                return indices


def choose_label_sets(names: str | None) -> tuple[str, ...]:
    """Return the sets in a comma-separated list; all eight for None."""
    return choose_names(names, LABEL_SETS, "data set")


def count_labels(dataset: str) -> tuple[int, ...]:
    """Return the numbers of labelled rows: up to 100 with two classes, up to 300 with more."""
    return (5, 10, 20, 50, 100) if dataset in BINARY else (5, 10, 20, 50, 100, 200, 300)


def make_pairs(sets: Sequence[str], size: StudySize, folder: str | None) -> list[ClassPair]:
    """Return the problems of two classes; those of a smaller study are contained in a larger one."""
    found = []
    for dataset in sets:
        if dataset in BINARY:
            found.append(ClassPair(dataset, None, 0))
            continue
        pairs = list(itertools.combinations(np.unique(load(dataset, folder).target).tolist(), 2))
        order = np.random.default_rng(zlib.crc32(dataset.encode())).permutation(len(pairs))
        found += [ClassPair(dataset, pairs[k], int(k)) for k in np.sort(order[: size.n_pairs])]
    return found


def _make_key(problem: ClassPair, method: LabelMethod, splits: range) -> str:
    return f"{problem.key}.{method.name}.splits{splits.start}-{splits.stop}"


def make_label_tasks(
    problems: Sequence[ClassPair], methods: Sequence[LabelMethod], size: StudySize, folder: str | None
) -> list[Task]:
    """Return one task for each method on a block of splits of each problem."""
    return [
        Task(
            name=f"{problem.title}, {method.title}",
            keys=(_make_key(problem, method, splits),),
            function=run_splits,
            arguments={"problem": problem, "method": method.name, "splits": splits, "folder": folder},
            identity=describe_settings(method.make(0)),
        )
        for problem in problems
        for splits in size.blocks
        for method in methods
    ]


def run_splits(
    pending: Sequence[str], *, problem: ClassPair, method: str, splits: range, folder: str | None
) -> Iterator[tuple[str, Record]]:
    """Compute the errors of one method on some splits of a problem, for every number of labels."""
    X, y = problem.load(folder)
    (key,) = pending
    errors, seconds, not_converged = {}, {}, 0
    for n_labels in count_labels(problem.dataset):
        fits = [_fit(X, y, problem.draw_labelled(y, n_labels, s), LABEL_METHODS[method], s) for s in splits]
        errors[str(n_labels)], seconds[str(n_labels)] = [fit[0] for fit in fits], [fit[1] for fit in fits]
        not_converged += sum(fit[2] for fit in fits)
    yield key, {"status": "ok", "errors": errors, "seconds": seconds, "not_converged": not_converged}


def _fit(X: Any, y: Any, labelled: Any, method: LabelMethod, seed: int) -> tuple[float, float, bool]:
    """Return the error on the unlabelled rows, the seconds of the fit, and whether it warned of no convergence."""
    given = np.full(len(y), -1)
    given[labelled] = y[labelled]
    rest = given < 0
    model = method.make(seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        start = time.perf_counter()
        if method.labels_only:
            model.fit(X[labelled], y[labelled])
        else:
            model.fit(X, given)
        seconds = time.perf_counter() - start
        error = float(np.mean(model.predict(X[rest]) != y[rest]))
    warned = any(issubclass(warning.category, ConvergenceWarning) for warning in caught)
    return error, seconds, warned


def read_errors(
    store: ResultStore, problems: Sequence[ClassPair], methods: Sequence[LabelMethod], size: StudySize
) -> LabelResults:
    """Read the stored results of all problems and methods."""
    errors: dict[tuple[str, int, str], list[list[float]]] = {}
    seconds: dict[str, list[float]] = {m.name: [] for m in methods}
    not_converged = dict.fromkeys(seconds, 0.0)
    failures = []
    for problem, method in itertools.product(problems, methods):
        records = {splits: store.get(_make_key(problem, method, splits)) for splits in size.blocks}
        finished = {splits: r for splits, r in records.items() if r and r["status"] == "ok"}
        failed = [r for r in records.values() if r and r["status"] != "ok"]
        failures += [f"{problem.title}, {method.title}: {r['error']}" for r in failed]
        not_converged[method.name] += sum(r.get("not_converged", np.nan) for r in finished.values())
        for n_labels in count_labels(problem.dataset):
            row = _join_splits(finished, size, "errors", n_labels)
            errors.setdefault((problem.dataset, n_labels, method.name), []).append(row)
            for record in finished.values():
                seconds[method.name].extend(record["seconds"][str(n_labels)])
    return LabelResults(
        {key: 100.0 * np.array(rows) for key, rows in errors.items()},
        {name: np.array(values) for name, values in seconds.items()},
        not_converged,
        failures,
    )


def _join_splits(finished: Mapping[range, Record], size: StudySize, field: str, n_labels: int) -> list[float]:
    """Join the values of all splits; NaN where a block is missing."""
    row: list[float] = []
    for splits in size.blocks:
        row += finished[splits][field][str(n_labels)] if splits in finished else [np.nan] * len(splits)
    return row
