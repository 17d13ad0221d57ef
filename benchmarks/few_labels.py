"""Classifier with few labels on public tables that the paper does not use, beside supervised classifiers.

    RAVINE_DATA=folder python benchmarks/few_labels.py development|confirmation|simulated [--splits 10] [--jobs 2]

Tables of two classes, and at most ``--pairs`` random pairs of classes of the others, give problems of at most
``--rows`` standardised rows; seeds depend only on the name of the table. For each number of labels (5 to 100, if at
least 20 rows remain unlabelled) all methods use the same random choices of labelled rows from both classes. Error,
balanced error and log-loss are those on the unlabelled rows. A cell is one problem with one number of labels.

Every run adds three more tests: 20 % wrong labels of 50, all rows labelled (70 % of the rows train, the others test),
and a class of 2 % behind a gap with 20 labels (simulated).

Rules and constants were chosen on the development tables and the simulated problems; the confirmation tables are for
the frozen rule only.
"""

from __future__ import annotations

import argparse
import itertools
import os
import warnings
import zlib
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import balanced_accuracy_score, log_loss
from sklearn.svm import LinearSVC

from ravine import MinimumDensityClassifier, paper_settings
from semi_supervised import choose_labelled_rows
from sets import TABLES, load_table

LABELS = (5, 10, 20, 50, 100)
FEWEST_UNLABELLED = 20
OURS, SVM, LOGISTIC = "ravine", "LinearSVC", "logistic, C by CV"
FAMILIES = ("gap", "overlap", "rare", "tilted", "steep", "clusters", "heavy", "wide", "discrete", "skew")
Problem = tuple[str, np.ndarray, np.ndarray]
Scores = dict[str, tuple[float, float, float]]


# ----------------------------------------------------------------------------------------------- problems


def load_problems(group: str, n_pairs: int, n_rows: int) -> list[Problem]:
    """Return name, standardised rows and classes 0 and 1 of all problems of a group."""
    if group == "simulated":
        return [(f"{family} {seed}", *simulate(family, seed)) for family in FAMILIES for seed in range(2)]
    return [problem for name in TABLES[group] for problem in choose_pairs(name, n_pairs, n_rows)]


def choose_pairs(name: str, n_pairs: int, n_rows: int) -> list[Problem]:
    """Return random pairs of classes of a table, each with random rows."""
    X, y = load_table(name)
    rng = np.random.default_rng(zlib.crc32(name.encode()))
    pairs = list(itertools.combinations(np.unique(y), 2))
    chosen = []
    for k in np.sort(rng.permutation(len(pairs))[:n_pairs]):
        rows = np.flatnonzero(np.isin(y, pairs[k]))
        rows = np.sort(rng.choice(rows, min(len(rows), n_rows), replace=False))
        chosen.append(
            (f"{name} {pairs[k][0]}-{pairs[k][1]}", standardise(X[rows]), (y[rows] == pairs[k][1]).astype(int))
        )
    return chosen


def standardise(X: np.ndarray) -> np.ndarray:
    X = X[:, X.std(axis=0) > 1e-9]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def simulate(family: str, seed: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Simulate a problem with 10 features (50 for "wide"); "overlap", "steep" and "discrete" have no gap."""
    rng = np.random.default_rng([zlib.crc32(family.encode()), seed])
    y = (rng.random(n) < (0.1 if family == "rare" else 0.5)).astype(int)
    X, side = rng.standard_normal((n, 10)), 2 * y - 1
    if family == "gap":
        X[:, 0] = 0.5 * X[:, 0] + 1.5 * side
    elif family == "overlap":
        X[:, 0] += side
    elif family == "rare":
        X[:, 0] = 0.5 * X[:, 0] + 3.0 * y
    elif family == "tilted":  # the gap lies across correlated features
        X[:, 0] = 0.3 * X[:, 0] + side
        X = X @ (rng.standard_normal((10, 10)) / np.sqrt(10) + 0.5 * np.eye(10))
    elif family == "steep":  # the class is the sign of a difference of small variance
        common, t = 3.0 * rng.standard_normal(n), X[:, 0].copy()
        y = (t + 0.3 * rng.standard_normal(n) > 0).astype(int)
        X[:, 0], X[:, 1] = common + 0.5 * t, common - 0.5 * t
    elif family == "clusters":  # a second gap has nothing to do with the classes
        X[:, 0] = 0.4 * X[:, 0] + 1.2 * side
        X[:, 1] = 0.4 * X[:, 1] + rng.choice([-2.0, 2.0], n)
    elif family == "heavy":
        X = rng.standard_t(3, (n, 10))
        X[:, 0] = 0.4 * X[:, 0] + 1.2 * side
    elif family == "wide":
        X = rng.standard_normal((n, 50))
        X[:, :5] = 0.6 * X[:, :5] + 0.8 * side[:, None]
    elif family == "discrete":
        X = (X + 0.5 * side[:, None] * (np.arange(10) < 4) > 0) + rng.integers(0, 2, (n, 10)) * (np.arange(10) >= 7.0)
    else:  # skew
        X = np.exp(0.7 * X)
        X[:, 0] = np.exp(0.5 * rng.standard_normal(n)) + 2.0 * y
    return standardise(np.asarray(X, dtype=float)), y


# ----------------------------------------------------------------------------------------------- methods


def make_supervised(y: np.ndarray) -> dict[str, object]:
    """Return the supervised methods; cross-validation needs two labels of each class."""
    folds = min(5, int(np.bincount(y).min()))
    logistic = LogisticRegressionCV(cv=folds, max_iter=1000, scoring="neg_log_loss") if folds > 1 else None
    return {
        SVM: LinearSVC(dual=False),
        LOGISTIC: LogisticRegression(max_iter=1000) if logistic is None else logistic,
        "shrinkage LDA": LinearDiscriminantAnalysis(solver="lsqr", shrinkage="auto"),
        "HistGradientBoosting": HistGradientBoostingClassifier(max_iter=50, min_samples_leaf=5),
    }


def score(model: object, X: np.ndarray, y: np.ndarray) -> tuple[float, float, float]:
    """Return error and balanced error in %, and the log-loss (NaN without probabilities)."""
    predicted = model.predict(X)
    loss = log_loss(y, model.predict_proba(X), labels=[0, 1]) if hasattr(model, "predict_proba") else np.nan
    return 100.0 * np.mean(predicted != y), 100.0 * (1.0 - balanced_accuracy_score(y, predicted)), loss


def fit_ours(X: np.ndarray, y: np.ndarray, labelled: np.ndarray, **parameters: object) -> MinimumDensityClassifier:
    given = np.full(len(X), -1)
    given[labelled] = y
    return MinimumDensityClassifier(**parameters).fit(X, given)


def run_split(X: np.ndarray, y: np.ndarray, labelled: np.ndarray, with_paper: bool) -> Scores:
    rest = np.setdiff1d(np.arange(len(y)), labelled)
    models = {OURS: fit_ours(X, y[labelled], labelled)}
    if with_paper:
        models["paper's settings"] = fit_ours(X, y[labelled], labelled, **paper_settings("classification"))
    for name, model in make_supervised(y[labelled]).items():
        models[name] = model.fit(X[labelled], y[labelled])
    return {name: score(model, X[rest], y[rest]) for name, model in models.items()}


def run_wrong_labels(X: np.ndarray, y: np.ndarray, labelled: np.ndarray, share: float = 0.2) -> Scores:
    rest, given = np.setdiff1d(np.arange(len(y)), labelled), y[labelled].copy()
    wrong = np.random.default_rng(labelled).choice(len(labelled), round(share * len(labelled)), replace=False)
    given[wrong] = 1 - given[wrong]
    if len(np.unique(given)) < 2:
        given[wrong] = 1 - given[wrong]
    models = {OURS: fit_ours(X, given, labelled), SVM: LinearSVC(dual=False).fit(X[labelled], given)}
    return {name: score(model, X[rest], y[rest]) for name, model in models.items()}


def run_all_labelled(X: np.ndarray, y: np.ndarray, seed: int) -> Scores:
    train, test = np.split(np.random.default_rng(seed).permutation(len(y)), [int(0.7 * len(y))])
    models = {OURS: MinimumDensityClassifier(), SVM: LinearSVC(dual=False)}
    return {name: score(model.fit(X[train], y[train]), X[test], y[test]) for name, model in models.items()}


def run_rare_class(seed: int, n: int = 1000) -> Scores:
    """Score a class of 2 % at a distance of 8 standard deviations in one of 10 features, with 20 labels."""
    y, rng = (np.arange(n) < n // 50).astype(int), np.random.default_rng([99, seed])
    X = rng.standard_normal((n, 10))
    X[:, 0] = 0.5 * X[:, 0] + 4.0 * y
    X = standardise(X)
    labelled = choose_labelled_rows(y, 20, 1, seed)[0]
    rest = np.setdiff1d(np.arange(n), labelled)
    models = {OURS: fit_ours(X, y[labelled], labelled), SVM: LinearSVC(dual=False).fit(X[labelled], y[labelled])}
    return {name: score(model, X[rest], y[rest]) for name, model in models.items()}


def run_problem(task: tuple[Problem, int, bool]) -> dict[str, list[Scores] | dict[int, list[Scores]]]:
    """Run all tests on one problem."""
    warnings.simplefilter("ignore")
    (name, X, y), n_splits, with_paper = task
    seed = zlib.crc32(name.encode())
    sizes = [n for n in LABELS if n <= len(y) - FEWEST_UNLABELLED]
    cells = {
        n: [run_split(X, y, labelled, with_paper) for labelled in choose_labelled_rows(y, n, n_splits, seed)]
        for n in sizes
    }
    wrong = [run_wrong_labels(X, y, labelled) for labelled in choose_labelled_rows(y, 50, n_splits, seed)]
    return {"name": name, "cells": cells, "wrong": wrong, "all": [run_all_labelled(X, y, k) for k in range(3)]}


# ----------------------------------------------------------------------------------------------- report


def select(cell: list[Scores], method: str, k: int) -> np.ndarray:
    return np.array([scores[method][k] for scores in cell])


def find_worse(cells: list[list[Scores]], method: str, than: str) -> list[int]:
    """Return the cells in which a method is worse by more than two standard errors of the paired difference."""
    found = []
    for i, cell in enumerate(cells):
        gap = select(cell, method, 0) - select(cell, than, 0)
        if gap.mean() > 2.0 * gap.std(ddof=1) / np.sqrt(len(gap)):
            found.append(i)
    return found


def print_report(results: list[dict]) -> None:
    keys = [(result["name"], n) for result in results for n in result["cells"]]
    cells = [cell for result in results for cell in result["cells"].values()]
    print(f"\n{len(cells)} cells of {len(results)} problems\n")
    columns = " | ".join(f"l = {n}" for n in LABELS)
    print(f"| method | error | of LinearSVC's | worse by > 2 SE | balanced | log-loss | {columns} |")
    print("|---" * (6 + len(LABELS)) + "|")
    svm = np.mean([np.median(select(cell, SVM, 0)) for cell in cells])
    for method in cells[0][0]:
        medians = np.array([np.median(select(cell, method, 0)) for cell in cells])
        balanced, loss = (np.mean([select(cell, method, k).mean() for cell in cells]) for k in (1, 2))
        by_size = [np.mean([m for m, (_, size) in zip(medians, keys, strict=True) if size == n]) for n in LABELS]
        worse = f"{100.0 * len(find_worse(cells, method, SVM)) / len(cells):.1f} %"
        print(
            f"| {method} | {medians.mean():.2f} | {medians.mean() / svm:.3f} | {worse} | {balanced:.2f} | {loss:.3f} | "
            + " | ".join(f"{value:.1f}" for value in by_size) + " |"
        )  # fmt: skip
    print("worse than LinearSVC: " + ", ".join(f"{keys[i][0]} l={keys[i][1]}" for i in find_worse(cells, OURS, SVM)))
    for title, key in (("20 % wrong labels of 50", "wrong"), ("all rows labelled", "all")):
        ours, theirs = (
            np.mean([np.mean(select(result[key], method, 0)) for result in results]) for method in (OURS, SVM)
        )
        print(f"{title}: error {ours:.2f} % against {theirs:.2f} % of LinearSVC ({ours / theirs - 1:+.0%})")
    rare = [run_rare_class(seed) for seed in range(20)]
    for method in (OURS, SVM):
        error, balanced = (select(rare, method, k).mean() for k in (0, 1))
        print(f"class of 2 %, 20 labels, {method}: error {error:.2f} %, balanced {balanced:.2f} %")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("group", choices=[*TABLES, "simulated"])
    parser.add_argument("--paper", action="store_true", help="also run the settings of the paper")
    for option, default in (("splits", 10), ("pairs", 4), ("rows", 600), ("jobs", 2)):
        parser.add_argument(f"--{option}", type=int, default=default)
    options = parser.parse_args()
    problems = load_problems(options.group, options.pairs, options.rows)
    tasks = [(problem, options.splits, options.paper) for problem in problems]
    with ProcessPoolExecutor(options.jobs) as pool:
        print_report(list(pool.map(run_problem, tasks)))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
