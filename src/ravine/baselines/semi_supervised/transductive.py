"""What the semi-supervised baselines share: labels, pairs of classes, prediction."""

from __future__ import annotations

from abc import ABCMeta, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.baselines.semi_supervised.coordinates import LinearMap, Map
from ravine.checks import check_choice, check_flag, make_generator, restore_on_failure
from ravine.classes import UNLABELLED, correct_labels, encode_labels, svm_classes, vote_scores
from ravine.rows.inputs import validate_array

__all__ = ["Learner", "Rule", "TransductiveClassifier", "check_intercept"]

# C of the linear SVM on the labels that decides which unlabelled rows a pair of classes sees.
GATE_C = 1.0


@dataclass(frozen=True)
class Rule:
    """A linear function of some coordinates, positive for the second class of a pair.

    Attributes
    ----------
    map : Map
        From rows to coordinates.
    coef : ndarray of shape (r,)
    intercept : float
    chosen : dict
        Parameters that were used.
    cv_error : float
        Cross-validated error of these; NaN if there was nothing to choose or too few labels to choose by.
    details : dict
        What else the method has to tell.
    """

    map: Map
    coef: Array
    intercept: float
    chosen: dict[str, float]
    cv_error: float
    details: dict[str, Any] = field(default_factory=dict)


def check_intercept(value: Any, n_classes: int) -> bool:
    """The parameter ``fit_intercept``; "auto" is True for pairs out of three classes or more."""
    if isinstance(value, str):
        check_choice("fit_intercept", value, ("auto",))
        return n_classes > 2
    return check_flag("fit_intercept", value)


class Learner(Protocol):
    """A method for two classes with its validated parameters."""

    def represent(self, X: NDArray[np.floating[Any]], which: NDArray[np.intp] | None, rng: np.random.Generator) -> Any:
        """What does not depend on labels; ``which`` says which rows of the whole X these are, None for all."""

    def separate(self, view: Any, signs: Array, rng: np.random.Generator) -> Rule:
        """The rule for rows with the signs -1 and +1; 0 for unlabelled rows, NaN for labels of other classes."""


class TransductiveClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """A semi-supervised classifier of two classes, and of more by one against one."""

    multi_class: str
    random_state: Any

    @abstractmethod
    def _learner(self, n_rows: int, n_features: int, n_classes: int) -> Learner:
        """The method with this estimator's parameters, which are validated here."""

    def fit(self, X: ArrayLike, y: ArrayLike, **unknown: Any) -> Self:
        """Learn from labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Labelled and unlabelled rows.
        y : array-like of shape (n_samples,)
            Labels of any type; -1 (also None or NaN) marks unlabelled rows. A y of nothing but -1 and +1 is read as two
            classes with every row labelled.
        **unknown
            Refused: there are no weights of rows.

        Returns
        -------
        self
        """
        self._refuse("fit", unknown)
        with restore_on_failure(self):
            rows = validate_array(self, X, reset=True)
            classes, codes = encode_labels(y, len(rows), type(self).__name__)
            learner = self._learner(rows.shape[0], rows.shape[1], len(classes))
            gated = check_choice("multi_class", self.multi_class, ("ovo", "gated")) == "gated"
            rng = make_generator(self.random_state)
            self._pairs = np.array(list(combinations(range(len(classes)), 2)), dtype=np.intp)
            self._store(_fit_pairs(rows, codes, self._pairs, learner, gated and len(classes) > 2, rng))
            self.classes_ = classes
            self.transduction_ = classes[np.where(codes == UNLABELLED, self._codes(rows), codes)]
        return self

    def _refuse(self, method: str, unknown: Mapping[str, Any]) -> None:
        """Arguments that there are not, by the name of the class that the caller knows."""
        if unknown:
            weights = " Weights of rows are not supported." if "sample_weight" in unknown else ""
            raise TypeError(f"{type(self).__name__}.{method}() takes no argument {next(iter(unknown))!r}.{weights}")

    def _store(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self.chosen_ = [rule.chosen for rule in rules]
        self.cv_errors_ = np.array([rule.cv_error for rule in rules])
        planes = [rule.map.hyperplane(rule.coef, rule.intercept) for rule in rules if isinstance(rule.map, LinearMap)]
        if planes:
            self.coef_ = np.stack([normal for normal, _ in planes])
            self.intercept_ = np.array([intercept for _, intercept in planes])
        elif hasattr(self, "coef_"):
            del self.coef_, self.intercept_  # of an earlier fit

    def _scores(self, X: NDArray[np.floating[Any]]) -> Array:
        """Decision values, one column for each pair."""
        columns, known = [], {}
        for rule in self._rules:
            if id(rule.map) not in known:  # pairs that see the same rows share their coordinates
                known = {id(rule.map): rule.map(X)}
            # Not BLAS: its rounding depends on the other rows. (Maps with a basis or a kernel still use it.)
            columns.append(np.einsum("ij,j->i", known[id(rule.map)], rule.coef) + rule.intercept)
        return np.stack(columns, axis=1)

    def _codes(self, X: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
        decision = self._decision(X)
        return (decision > 0.0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)

    def _decision(self, X: NDArray[np.floating[Any]]) -> Array:
        scores = self._scores(X)
        if len(self._pairs) == 1:
            return np.ascontiguousarray(scores[:, 0])
        return vote_scores(self._pairs, scores, int(self._pairs.max()) + 1)

    def decision_function(self, X: ArrayLike) -> Array:
        """How much each class is preferred.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes the function that was learned, positive for ``classes_[1]``. With more the votes of the
            pairs and a part below 1/3 that breaks ties.
        """
        check_is_fitted(self)
        return self._decision(validate_array(self, X, reset=False))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[self._codes(validate_array(self, X, reset=False))])

    def score(self, X: ArrayLike, y: ArrayLike, **unknown: Any) -> float:
        """Accuracy on the labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabelled rows (-1, None or NaN) are ignored.
        **unknown
            Refused, as by `fit`.

        Returns
        -------
        float
        """
        self._refuse("score", unknown)
        check_is_fitted(self)
        return float(np.mean(correct_labels(y, self.predict(X), self.classes_)[1]))


def _fit_pairs(
    X: NDArray[np.floating[Any]],
    codes: NDArray[np.intp],
    pairs: NDArray[np.intp],
    learner: Learner,
    gated: bool,
    rng: np.random.Generator,
) -> Sequence[Rule]:
    """A rule for each pair of classes.

    With ``gated``, a pair sees only its labelled rows and those unlabelled rows that a linear SVM on the labels gives
    to one of its two classes; else all pairs share one representation of all rows.
    """
    unlabelled = codes == UNLABELLED
    gated = gated and bool(unlabelled.any())
    current = svm_classes(X, codes, None, GATE_C, rng) if gated else None
    shared = None if gated else learner.represent(X, None, rng)
    rules = []
    for first, second in pairs.tolist():
        signs = np.select([codes == second, codes == first, unlabelled], [1.0, -1.0, 0.0], np.nan)
        if current is None:
            rules.append(learner.separate(shared, signs, rng))
        else:
            own = np.flatnonzero((np.abs(signs) == 1.0) | (unlabelled & np.isin(current, (first, second))))
            rules.append(learner.separate(learner.represent(X[own], own, rng), signs[own], rng))
    return rules
