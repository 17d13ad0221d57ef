"""Hyperplanes between all pairs of classes, and their joint predictions."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.checks import require
from ravine.classes.calibration import count_votes, couple_log_probabilities
from ravine.classes.labels import UNLABELLED, make_signs
from ravine.hyperplane import Hyperplane, PathStep
from ravine.rows import Rows, open_pool, round_to_power_of_two
from ravine.rows.repeated_values import Cells, measure_cells
from ravine.search import (
    Problem,
    SearchSettings,
    Separator,
    find_safe_separator,
    find_separator,
    predict_by_svm,
)

# Log-odds of all pairs are summed.
LARGEST_ODDS = 1e300
# Largest number of classes.
MOST_CLASSES = 1 << 15


@dataclass(frozen=True)
class PairModel:
    """Hyperplanes between pairs of classes, and how their answers are combined.

    Attributes
    ----------
    n_classes : int
    pairs : ndarray of shape (p, 2)
        Numbers of the two classes; the normal points to the second.
    hyperplanes : tuple of Hyperplane
    slopes : ndarray of shape (p,)
        Log-odds of the second class per bandwidth of distance; the log-odds themselves where all rows are equal.
    voting : {"soft", "hard"}
    """

    n_classes: int
    pairs: NDArray[np.intp]
    hyperplanes: tuple[Hyperplane, ...]
    slopes: Array
    voting: str

    def validate(self) -> None:
        """Raise an error if the hyperplanes are not those of all pairs of classes."""
        require(2 <= self.n_classes <= MOST_CLASSES, "n_classes")
        require(np.array_equal(self.pairs, np.stack(np.triu_indices(self.n_classes, 1), axis=1)), "pairs")
        require(self.slopes.shape == (len(self.pairs),) == (len(self.hyperplanes),), "hyperplanes")
        require(np.isfinite(self.slopes).all() and self.voting in ("soft", "hard"), "slopes or voting")
        require(all(not plane.splits or plane.bandwidth > 0.0 for plane in self.hyperplanes), "bandwidth")

    def measure_distances(self, X: Any) -> Array:
        """Return the signed distances, one column for each pair."""
        return np.stack([plane.distance(X) for plane in self.hyperplanes], axis=1)

    def compute_log_odds(self, X: Any) -> Array:
        """Return the log-odds of the second class of each pair, one column for each."""
        columns = [
            _scale_distances(plane.distance(X), slope, plane.bandwidth) if plane.splits else np.full(X.shape[0], slope)
            for plane, slope in zip(self.hyperplanes, self.slopes.tolist(), strict=True)
        ]
        return np.stack(columns, axis=1)

    def compute_scores(self, X: Any) -> Array:
        """Return the signed distance for two classes, otherwise votes or log-probabilities of all classes."""
        if self.n_classes == 2:
            return self.measure_distances(X)[:, 0]
        if self.voting == "hard":
            return count_votes(self.pairs, self.compute_log_odds(X), self.n_classes)
        return couple_log_probabilities(self.pairs, self.compute_log_odds(X), self.n_classes)

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of all classes."""
        if self.n_classes == 2:
            from scipy.special import expit

            odds = self.compute_log_odds(X)[:, 0]
            return np.stack([expit(-odds), expit(odds)], axis=1)
        scores = self.compute_scores(X)
        if self.voting == "hard":
            p = np.maximum(scores + 1.0 / 3.0, 0.0)  # rounding may lead below zero
        else:
            p = np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def predict_codes(self, X: Any) -> NDArray[np.intp]:
        """Return the number of the class of each row."""
        scores = self.compute_scores(X)
        return (scores > 0.0).astype(np.intp) if self.n_classes == 2 else scores.argmax(axis=1)


@dataclass(frozen=True)
class PairSettings:
    """Settings of a classifier of pairs.

    Attributes
    ----------
    search : SearchSettings
    n_rounds : int
        Number of rounds in which a pair sees only unlabelled rows whose current class is one of the two; 0 if it sees
        all of them.
    voting : {"soft", "hard"}
    """

    search: SearchSettings
    n_rounds: int = 2
    voting: str = "soft"


def fit_pairs(
    rows: Rows,
    codes: NDArray[np.intp],
    weights: Array | None,
    n_classes: int,
    settings: PairSettings,
    rng: np.random.Generator,
) -> tuple[PairModel, tuple[Separator, ...]]:
    """Find the hyperplane between every pair of classes.

    With rounds, a pair sees an unlabelled row only if its current class is one of the two, so that the density is that
    of these classes. The first classes are those of a linear SVM on the labels, and each round improves them.

    Parameters
    ----------
    rows : Rows
    codes : ndarray of shape (n,)
        Number of the class of each row; -1 for unlabelled rows.
    weights : ndarray of shape (n,), optional
        Positive.
    n_classes : int
    settings : PairSettings
    rng : numpy.random.Generator
    """
    settings = replace(settings, search=replace(settings.search, callback=_serialise(settings.search.callback)))
    pairs = np.array(list(combinations(range(n_classes), 2)), dtype=np.intp)
    generators = [np.random.default_rng(seed) for seed in rng.integers(2**63, size=len(pairs))]
    unlabelled = codes == UNLABELLED
    gated = settings.n_rounds > 0 and n_classes > 2 and bool(unlabelled.any())
    current = predict_by_svm(rows, codes, weights, settings.search.labels.start_C, rng) if gated else None
    cells = measure_cells(rows) if settings.search.labels.method == "relative" else []
    with open_pool(settings.search.n_threads) as pool:
        fitter = _PairFitter(rows, codes, weights, n_classes, settings, pool, cells)
        for _ in range(settings.n_rounds - 1 if gated else 0):
            model, _ = fitter.fit_all(pairs, generators, current, is_last=False)
            current = np.where(unlabelled, np.asarray(rows.apply(model.predict_codes)), codes)
        return fitter.fit_all(pairs, generators, current)


@dataclass(frozen=True)
class _PairFitter:
    """Fits of all pairs: with two classes, threads share the passes over the rows, with more, the pairs."""

    rows: Rows
    codes: NDArray[np.intp]
    weights: Array | None
    n_classes: int
    settings: PairSettings
    pool: ThreadPoolExecutor | None
    cells: Cells

    def fit_all(
        self,
        pairs: NDArray[np.intp],
        generators: list[np.random.Generator],
        current: NDArray[np.intp] | None,
        is_last: bool = True,
    ) -> tuple[PairModel, tuple[Separator, ...]]:
        """Fit every pair, given the current classes of the unlabelled rows (None: all rows are shown to all pairs)."""
        mapper = self.pool.map if self.pool is not None and self.n_classes > 2 else map
        numbers = [(int(first), int(second)) for first, second in pairs]
        separators = tuple(mapper(lambda pair, rng: self.fit_pair(pair, rng, current, is_last), numbers, generators))
        planes = tuple(separator.hyperplane for separator in separators)
        slopes = np.array([separator.slope for separator in separators])
        return PairModel(self.n_classes, pairs, planes, slopes, self.settings.voting), separators

    def fit_pair(
        self, pair: tuple[int, int], rng: np.random.Generator, current: NDArray[np.intp] | None, is_last: bool
    ) -> Separator:
        """Find the hyperplane between two classes, roughly in a round before the last."""
        signs, unlabelled = make_signs(self.codes, pair), self.codes == UNLABELLED
        seen = unlabelled if current is None else unlabelled & np.isin(current, pair)
        indices = np.flatnonzero((signs != 0.0) | seen)
        rows, weights = self.rows, self.weights
        if len(indices) < rows.shape[0]:
            rows, signs = rows.subset(indices), signs[indices]
            weights = None if weights is None else weights[indices]
        pool = self.pool if self.n_classes == 2 else None
        problem = Problem.of(rows, weights, signs, settings=self.settings.search, rng=rng, pool=pool, cells=self.cells)
        noted = pair if self.n_classes > 2 else None
        if self.settings.search.labels.method == "paper":
            return find_separator(problem, noted)
        return find_safe_separator(problem, noted, is_rough=not is_last)


def _scale_distances(distances: Array, slope: float, bandwidth: float) -> Array:
    """Return the log-odds ``slope`` · distance / bandwidth, which are finite also for subnormal bandwidths."""
    unit = round_to_power_of_two(bandwidth)
    with np.errstate(over="ignore"):
        odds = distances / unit * (slope / (bandwidth / unit))
    return np.clip(odds, -LARGEST_ODDS, LARGEST_ODDS)


def _serialise(callback: Callable[[PathStep], object] | None) -> Callable[[PathStep], object] | None:
    """Return the callback, protected from concurrent calls by several threads."""
    if callback is None:
        return None
    lock = threading.Lock()

    def call(step: PathStep) -> None:
        with lock:
            callback(step)

    return call
