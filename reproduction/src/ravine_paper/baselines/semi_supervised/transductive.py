"""Base class of the semi-supervised baselines: labels, pairs of classes, prediction."""

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

from ravine.checks import check_choice, check_flag, make_generator, restore_on_failure
from ravine.classes import UNLABELLED, compare_labels, count_votes, encode_labels, make_signs
from ravine.estimators import validate_array
from ravine.search import predict_by_svm
from ravine_paper._typing import Array
from ravine_paper.baselines.semi_supervised.coordinates import LinearMap, Map

__all__ = ["PairLearner", "Rule", "TransductiveClassifier", "check_intercept"]

# C of the linear SVM on the labels that assigns unlabelled rows to pairs of classes.
GATE_C = 1.0


@dataclass(frozen=True)
class Rule:
    """Linear function of some coordinates, positive for the second class of a pair.

    Attributes
    ----------
    map : Map
        From rows to coordinates.
    coef : ndarray of shape (r,)
    intercept : float
    chosen : dict
        Parameters that were used.
    cv_error : float
        Their cross-validated error; NaN if there was no choice, or too few labels for one.
    details : dict
        Further results of the method.
    """

    map: Map
    coef: Array
    intercept: float
    chosen: dict[str, float]
    cv_error: float
    details: dict[str, Any] = field(default_factory=dict)


def check_intercept(value: Any, n_classes: int) -> bool:
    """Validate the parameter ``fit_intercept``; "auto" is True for pairs out of three classes or more."""
    if isinstance(value, str):
        check_choice("fit_intercept", value, ("auto",))
        return n_classes > 2
    return check_flag("fit_intercept", value)


class PairLearner(Protocol):
    """Method for two classes with its validated parameters."""

    def represent(
        self, X: NDArray[np.floating[Any]], indices: NDArray[np.intp] | None, rng: np.random.Generator
    ) -> Any:
        """Compute all that does not depend on labels; ``indices`` are those of the rows in all of X (None: all)."""

    def separate(self, view: Any, signs: Array, rng: np.random.Generator) -> Rule:
        """Learn from signs -1 and +1; 0 marks unlabelled rows, and NaN labels of other classes."""


class TransductiveClassifier(ClassifierMixin, BaseEstimator, metaclass=ABCMeta):
    """Semi-supervised classifier of two classes, and of more by one against one."""

    multi_class: str
    random_state: Any

    @abstractmethod
    def _make_learner(self, n_rows: int, n_features: int, n_classes: int) -> PairLearner:
        """Validate the parameters and return the method with them."""

    def fit(self, X: ArrayLike, y: ArrayLike, **unknown: Any) -> Self:
        """Learn from labelled and unlabelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Labelled and unlabelled rows.
        y : array-like of shape (n_samples,)
            Labels of any type; -1, None or NaN marks unlabelled rows. If y contains only -1 and +1, they are two
            classes and every row is labelled.
        **unknown
            Raises an error: sample weights are not supported.

        Returns
        -------
        self
        """
        self._refuse("fit", unknown)
        with restore_on_failure(self):
            rows = validate_array(self, X, reset=True)
            classes, codes = encode_labels(y, len(rows), type(self).__name__)
            learner = self._make_learner(rows.shape[0], rows.shape[1], len(classes))
            gated = check_choice("multi_class", self.multi_class, ("ovo", "gated")) == "gated"
            rng = make_generator(self.random_state)
            self._pairs = np.array(list(combinations(range(len(classes)), 2)), dtype=np.intp)
            self._store(_learn_pairs(rows, codes, self._pairs, learner, gated and len(classes) > 2, rng))
            self.classes_ = classes
            self.transduction_ = classes[np.where(codes == UNLABELLED, self._predict_codes(rows), codes)]
        return self

    def _refuse(self, method: str, unknown: Mapping[str, Any]) -> None:
        """Raise an error for unknown arguments that names the class of the estimator."""
        if unknown:
            weights = " Sample weights are not supported." if "sample_weight" in unknown else ""
            raise TypeError(f"{type(self).__name__}.{method}() takes no argument {next(iter(unknown))!r}.{weights}")

    def _store(self, rules: Sequence[Rule]) -> None:
        self._rules = rules
        self.chosen_ = [rule.chosen for rule in rules]
        self.cv_errors_ = np.array([rule.cv_error for rule in rules])
        planes = [
            rule.map.express_in_features(rule.coef, rule.intercept) for rule in rules if isinstance(rule.map, LinearMap)
        ]
        if planes:
            self.coef_ = np.stack([normal for normal, _ in planes])
            self.intercept_ = np.array([intercept for _, intercept in planes])
        elif hasattr(self, "coef_"):
            del self.coef_, self.intercept_  # of an earlier fit

    def _score_pairs(self, X: NDArray[np.floating[Any]]) -> Array:
        """Compute decision values, one column for each pair."""
        columns, known = [], {}
        for rule in self._rules:
            if id(rule.map) not in known:  # pairs with the same map share their coordinates
                known = {id(rule.map): rule.map(X)}
            # Not BLAS: its rounding depends on the other rows. (Maps with a basis or a kernel still use it.)
            columns.append(np.einsum("ij,j->i", known[id(rule.map)], rule.coef) + rule.intercept)
        return np.stack(columns, axis=1)

    def _predict_codes(self, X: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
        decision = self._decide(X)
        return (decision > 0.0).astype(np.intp) if decision.ndim == 1 else decision.argmax(axis=1)

    def _decide(self, X: NDArray[np.floating[Any]]) -> Array:
        scores = self._score_pairs(X)
        if len(self._pairs) == 1:
            return np.ascontiguousarray(scores[:, 0])
        return count_votes(self._pairs, scores, int(self._pairs.max()) + 1)

    def decision_function(self, X: ArrayLike) -> Array:
        """Compute the confidence in each class.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            With two classes the learned function, positive for ``classes_[1]``. With more, the votes of the pairs plus
            a part below 1/3 that breaks ties.
        """
        check_is_fitted(self)
        return self._decide(validate_array(self, X, reset=False))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Predict the class of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return np.asarray(self.classes_[self._predict_codes(validate_array(self, X, reset=False))])

    def score(self, X: ArrayLike, y: ArrayLike, **unknown: Any) -> float:
        """Compute the accuracy on the labelled rows.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Unlabelled rows (-1, None or NaN) are ignored.
        **unknown
            Raises an error, as in `fit`.

        Returns
        -------
        float
        """
        self._refuse("score", unknown)
        check_is_fitted(self)
        return float(np.mean(compare_labels(y, self.predict(X), self.classes_)[1]))


def _learn_pairs(
    X: NDArray[np.floating[Any]],
    codes: NDArray[np.intp],
    pairs: NDArray[np.intp],
    learner: PairLearner,
    gated: bool,
    rng: np.random.Generator,
) -> Sequence[Rule]:
    """Learn a rule for each pair of classes.

    With ``gated``, a pair gets only its labelled rows and the unlabelled rows that a linear SVM on the labels assigns
    to one of its two classes; otherwise all pairs share one representation of all rows.
    """
    unlabelled = codes == UNLABELLED
    gated = gated and bool(unlabelled.any())
    current = predict_by_svm(X, codes, None, GATE_C, rng) if gated else None
    shared = None if gated else learner.represent(X, None, rng)
    rules = []
    for first, second in pairs.tolist():
        signs = make_signs(codes, (first, second))
        signs[(signs == 0.0) & ~unlabelled] = np.nan
        if current is None:
            rules.append(learner.separate(shared, signs, rng))
        else:
            own = np.flatnonzero((np.abs(signs) == 1.0) | (unlabelled & np.isin(current, (first, second))))
            rules.append(learner.separate(learner.represent(X[own], own, rng), signs[own], rng))
    return rules
