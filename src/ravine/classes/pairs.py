"""From an array and labels of any number of classes to one hyperplane for each pair of classes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.classes.calibration import coupled_log_probabilities, probability_slope, vote_scores
from ravine.classes.labels import UNLABELLED
from ravine.hyperplane import Hyperplane
from ravine.rows import Rows
from ravine.search.label_starts import svm_classes
from ravine.search.separator import Separator, SeparatorOptions, separate
from ravine.search.space import PathStep

__all__ = ["PairModel", "fit_pairs"]


@dataclass(frozen=True)
class PairModel:
    """Hyperplanes between pairs of classes and how their answers are put together.

    Attributes
    ----------
    n_classes : int
    pairs : ndarray of shape (p, 2)
        Numbers of the two classes; the normal points to the second.
    hyperplanes : tuple of Hyperplane
    slopes : ndarray of shape (p,)
        Log-odds of the second class for each bandwidth of distance; the log-odds themselves where all rows are equal.
    voting : {"soft", "hard"}
    """

    n_classes: int
    pairs: NDArray[np.intp]
    hyperplanes: tuple[Hyperplane, ...]
    slopes: Array
    voting: str

    def distances(self, X: NDArray[np.floating[Any]]) -> Array:
        """Signed distances, one column for each pair."""
        return np.stack([plane.distance(X) for plane in self.hyperplanes], axis=1)

    def log_odds(self, X: NDArray[np.floating[Any]]) -> Array:
        """Log-odds of the second class of each pair, one column for each."""
        columns = [
            plane.distance(X) * (slope / plane.bandwidth) if plane.splits else np.full(X.shape[0], slope)
            for plane, slope in zip(self.hyperplanes, self.slopes.tolist(), strict=True)
        ]
        return np.stack(columns, axis=1)

    def decision(self, X: NDArray[np.floating[Any]]) -> Array:
        """Signed distance for two classes; else votes, or the log-probabilities of all classes."""
        if self.n_classes == 2:
            return self.distances(X)[:, 0]
        if self.voting == "hard":
            return vote_scores(self.pairs, self.log_odds(X), self.n_classes)
        return coupled_log_probabilities(self.pairs, self.log_odds(X), self.n_classes)

    def probabilities(self, X: NDArray[np.floating[Any]]) -> Array:
        """Probabilities of all classes."""
        if self.n_classes == 2:
            from scipy.special import expit

            odds = self.log_odds(X)[:, 0]
            return np.stack([expit(-odds), expit(odds)], axis=1)
        scores = self.decision(X)
        p = scores + 1.0 / 3.0 if self.voting == "hard" else np.exp(scores - scores.max(axis=1, keepdims=True))
        return np.asarray(p / p.sum(axis=1, keepdims=True))

    def codes(self, X: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
        """Number of the class of each row."""
        scores = self.decision(X)
        return (scores > 0.0).astype(np.intp) if self.n_classes == 2 else scores.argmax(axis=1)


def fit_pairs(
    X: Rows,
    codes: NDArray[np.intp],
    weights: Array | None,
    n_classes: int,
    *,
    options: SeparatorOptions,
    gated: bool,
    n_rounds: int,
    voting: str,
    calibration_C: float,
    n_threads: int,
    rng: np.random.Generator,
    callback: Callable[[PathStep], object] | None,
) -> tuple[PairModel, tuple[Separator, ...]]:
    """Separate every pair of classes; the arguments have been validated, and all weights are positive.

    With ``gated``, an unlabelled row is shown to a pair only if its current class is one of the two, so that the
    density a pair sees is that of its own classes. The first classes are those of a linear SVM on the labels, and
    each round gives better ones.
    """
    pairs = np.array(list(combinations(range(n_classes), 2)), dtype=np.intp)
    announce = _one_at_a_time(callback)
    generators = [np.random.default_rng(seed) for seed in rng.integers(2**63, size=len(pairs))]
    unlabelled = codes == UNLABELLED
    gated = gated and n_classes > 2 and bool(unlabelled.any())
    current = svm_classes(X, codes, weights, options.start_C, rng) if gated else None

    with ThreadPoolExecutor(n_threads) if n_threads > 1 else nullcontext() as pool:

        def fit_pair(pair: tuple[int, int], generator: np.random.Generator) -> tuple[Separator, float]:
            signs = np.where(codes == pair[1], 1.0, np.where(codes == pair[0], -1.0, 0.0))
            seen = unlabelled if current is None else unlabelled & np.isin(current, pair)
            rows = np.flatnonzero((signs != 0.0) | seen)
            if len(rows) == X.shape[0]:
                part, their_signs, their_weights = X, signs, weights
            else:
                part, their_signs = X.subset(rows), signs[rows]
                their_weights = None if weights is None else weights[rows]
            found = separate(
                part, their_signs, their_weights, options, generator,
                pair=pair if n_classes > 2 else None, pool=pool if n_classes == 2 else None, callback=announce,
            )  # fmt: skip
            labelled = their_signs != 0.0
            label_weights = np.ones(int(labelled.sum())) if their_weights is None else their_weights[labelled]
            if not found.hyperplane.splits:
                share = label_weights @ (their_signs[labelled] > 0.0), label_weights @ (their_signs[labelled] < 0.0)
                return found, float(np.log((share[0] + 1.0) / (share[1] + 1.0)))
            slope = probability_slope(found.label_distances, their_signs[labelled], label_weights, calibration_C)
            return found, slope

        def fit_all() -> list[tuple[Separator, float]]:
            arguments = [tuple(pair) for pair in pairs.tolist()], generators
            several = pool is not None and n_classes > 2
            results: Iterable[tuple[Separator, float]] = (pool.map if several else map)(fit_pair, *arguments)  # type: ignore[union-attr]
            return list(results)

        for _ in range(n_rounds if gated else 1):
            separators, slopes = zip(*fit_all(), strict=True)
            planes = tuple(separator.hyperplane for separator in separators)
            model = PairModel(n_classes, pairs, planes, np.array(slopes), voting)
            if gated:
                current = np.where(unlabelled, np.asarray(X.apply(model.codes)), codes)
    return model, separators


def _one_at_a_time(callback: Callable[[PathStep], object] | None) -> Callable[[PathStep], object] | None:
    """The callback, never called by two threads at once."""
    if callback is None:
        return None
    lock = threading.Lock()

    def call(step: PathStep) -> None:
        with lock:
            callback(step)

    return call
