"""The paper's semi-supervised study: every method on the same random labels of every problem."""

from __future__ import annotations

import itertools
import time
import warnings
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from ravine.datasets import load
from ravine.studies.choice import chosen_names
from ravine.studies.identity import settings_text
from ravine.studies.label_methods import LABEL_METHODS, LabelMethod
from ravine.studies.runner import Task
from ravine.studies.store import Record, ResultStore

__all__ = [
    "BINARY",
    "LABEL_SETS",
    "MULTI_CLASS",
    "SIZES",
    "LabelResults",
    "Problem",
    "StudySize",
    "choose_label_sets",
    "collect_errors",
    "label_counts",
    "label_tasks",
    "problems",
]

BINARY = ("voting", "banknote", "breast_cancer", "ionosphere")
MULTI_CLASS = ("pendigits", "optidigits", "satellite", "image_seg")
LABEL_SETS = (*BINARY, *MULTI_CLASS)
# Splits are run and kept in blocks of this many.
BLOCK = 10


@dataclass(frozen=True)
class StudySize:
    """How much of the study is run.

    Attributes
    ----------
    n_splits : int
        Random choices of labelled rows for each problem and number of labels.
    n_pairs : int or None
        Random pairs of classes for each set of more than two; None for all.
    """

    n_splits: int
    n_pairs: int | None


SIZES = {"quick": StudySize(3, 2), "default": StudySize(10, 10), "full": StudySize(30, None)}


@dataclass(frozen=True)
class LabelResults:
    """What the study found.

    Attributes
    ----------
    errors : dict
        By set, number of labels and method: errors in per cent, problems by splits; NaN for a problem that failed.
    seconds : dict
        By method, of every fit.
    not_converged : dict
        By method, how many fits warned that they did not converge; NaN if that is not known of some.
    failures : list of str
    """

    errors: dict[tuple[str, int, str], NDArray[np.float64]]
    seconds: dict[str, NDArray[np.float64]]
    not_converged: dict[str, float]
    failures: list[str]


@dataclass(frozen=True)
class Problem:
    """Two classes of a data set; ``pair`` is None if it has only two."""

    dataset: str
    pair: tuple[str, str] | None
    number: int

    @property
    def key(self) -> str:
        """For file names."""
        return self.dataset if self.pair is None else f"{self.dataset}.pair{self.number:02d}"

    @property
    def title(self) -> str:
        """For people."""
        return self.dataset if self.pair is None else f"{self.dataset} {self.pair[0]}/{self.pair[1]}"

    def rows(self, folder: str | None) -> tuple[NDArray[np.float64], NDArray[np.intp]]:
        """Standardised rows and classes 0 and 1."""
        loaded = load(self.dataset, folder).standardised()
        X, y = loaded.data, loaded.target
        pair = tuple(np.unique(y)) if self.pair is None else self.pair
        chosen = np.isin(y, pair)
        X, y = X[chosen], y[chosen]
        X = X[:, X.std(axis=0) > 1e-9]
        return (X - X.mean(axis=0)) / X.std(axis=0), (y == pair[1]).astype(np.intp)

    def labelled(self, y: NDArray[np.intp], n_labels: int, split: int) -> NDArray[np.intp]:
        """Random labelled rows with both classes among them: the same for every method."""
        rng = np.random.default_rng([zlib.crc32(self.key.encode()), n_labels, split])
        while True:
            rows = np.sort(rng.choice(len(y), n_labels, replace=False))
            if 0 < y[rows].sum() < n_labels:
                return rows


def choose_label_sets(names: str | None) -> tuple[str, ...]:
    """Sets by their names, separated by commas; None for all eight."""
    return chosen_names(names, LABEL_SETS, "data set")


def label_counts(dataset: str) -> tuple[int, ...]:
    """Numbers of labelled rows: up to 100 with two classes, up to 300 with more."""
    return (5, 10, 20, 50, 100) if dataset in BINARY else (5, 10, 20, 50, 100, 200, 300)


def problems(sets: Sequence[str], size: StudySize, folder: str | None) -> list[Problem]:
    """The problems of two classes: those of a smaller study are the first of a larger one."""
    found = []
    for dataset in sets:
        if dataset in BINARY:
            found.append(Problem(dataset, None, 0))
            continue
        pairs = list(itertools.combinations(np.unique(load(dataset, folder).target).tolist(), 2))
        order = np.random.default_rng(zlib.crc32(dataset.encode())).permutation(len(pairs))
        found += [Problem(dataset, pairs[k], int(k)) for k in np.sort(order[: size.n_pairs])]
    return found


def _blocks(size: StudySize) -> list[range]:
    return [range(at, min(at + BLOCK, size.n_splits)) for at in range(0, size.n_splits, BLOCK)]


def _key(problem: Problem, method: LabelMethod, splits: range) -> str:
    return f"{problem.key}.{method.name}.splits{splits.start}-{splits.stop}"


def label_tasks(
    chosen: Sequence[Problem], methods: Sequence[LabelMethod], size: StudySize, folder: str | None
) -> list[Task]:
    """One task for each method on a block of splits of each problem."""
    return [
        Task(
            name=f"{problem.title}, {method.title}",
            keys=(_key(problem, method, splits),),
            function=run_splits,
            arguments={"problem": problem, "method": method.name, "splits": splits, "folder": folder},
            identity=settings_text(method.make(0)),
        )
        for problem in chosen
        for splits in _blocks(size)
        for method in methods
    ]


def run_splits(
    pending: Sequence[str], *, problem: Problem, method: str, splits: range, folder: str | None
) -> Iterator[tuple[str, Record]]:
    """Errors of one method on some splits of a problem, for every number of labels."""
    X, y = problem.rows(folder)
    (key,) = pending
    errors, seconds, not_converged = {}, {}, 0
    for n_labels in label_counts(problem.dataset):
        fits = [_error(X, y, problem.labelled(y, n_labels, s), LABEL_METHODS[method], s) for s in splits]
        errors[str(n_labels)], seconds[str(n_labels)] = [fit[0] for fit in fits], [fit[1] for fit in fits]
        not_converged += sum(fit[2] for fit in fits)
    yield key, {"status": "ok", "errors": errors, "seconds": seconds, "not_converged": not_converged}


def _error(X: Any, y: Any, labelled: Any, method: LabelMethod, seed: int) -> tuple[float, float, bool]:
    """Share of wrong classes among the unlabelled rows, the seconds of the fit, and if it warned of no convergence."""
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


def collect_errors(
    store: ResultStore, chosen: Sequence[Problem], methods: Sequence[LabelMethod], size: StudySize
) -> LabelResults:
    """The results of all problems and methods."""
    errors: dict[tuple[str, int, str], list[list[float]]] = {}
    seconds: dict[str, list[float]] = {m.name: [] for m in methods}
    not_converged = dict.fromkeys(seconds, 0.0)
    failures = []
    for problem, method in itertools.product(chosen, methods):
        records = {splits: store.get(_key(problem, method, splits)) for splits in _blocks(size)}
        failures += [
            f"{problem.title}, {method.title}: {r['error']}" for r in records.values() if r and r["status"] != "ok"
        ]
        not_converged[method.name] += sum(
            r.get("not_converged", np.nan) for r in records.values() if r and r["status"] == "ok"
        )
        for n_labels in label_counts(problem.dataset):
            row: list[float] = []
            for splits, record in records.items():
                ok = record is not None and record["status"] == "ok"
                row += record["errors"][str(n_labels)] if ok and record else [np.nan] * len(splits)
                seconds[method.name].extend(record["seconds"][str(n_labels)] if ok and record else [])
            errors.setdefault((problem.dataset, n_labels, method.name), []).append(row)
    return LabelResults(
        {key: 100.0 * np.array(rows) for key, rows in errors.items()},
        {name: np.array(values) for name, values in seconds.items()},
        not_converged,
        failures,
    )
