"""Linear discriminants of labelled rows, and the exact split of numbers into two clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ravine._typing import Array

__all__ = ["Discriminants", "two_means"]


def two_means(values: Array) -> NDArray[np.intp]:
    """Labels 0 and 1 of the split of numbers with the smallest sum of squares within its two parts: O(n log n).

    The parts are never mixed, so it is one of the n - 1 cuts of the sorted numbers: that with the largest sum of
    squares between them. All 0 if the numbers are all equal.
    """
    order = np.argsort(values, kind="stable")
    s = values[order] - values.mean()
    n, below = len(s), np.arange(1, len(s))
    between = np.where(s[1:] > s[:-1], np.cumsum(s)[:-1] ** 2 * (n / (below * (n - below))), -np.inf)
    labels = np.zeros(n, dtype=np.intp)
    if len(between) and between.max() > -np.inf:
        labels[order[int(np.argmax(between)) + 1 :]] = 1
    return labels


@dataclass(frozen=True)
class Discriminants:
    """What linear discriminant analysis needs to know about centred rows.

    With class weights n_j the scatter within the classes is S_w = S_t - S_b, so the eigenvectors of (S_b, S_w + ρI) are
    those of (S_b, S_t + ρI), and S_t is known once for all labels.

    Attributes
    ----------
    rows : ndarray of shape (n, d)
        With mean zero.
    total : ndarray of shape (d, d)
        Their covariance S_t / n.
    ridge : float
        ρ, added to the diagonal of S_w / n.
    weighted : bool
        Whether the covariance of a class counts in proportion to its size, as in S_w, or each one in full.
    """

    rows: Array
    total: Array
    ridge: float
    weighted: bool

    def find(self, labels: NDArray[np.intp]) -> Array:
        """The k - 1 most discriminative directions of k classes, as columns u with u'(S + ρI)u = 1.

        S is S_t with class weights, else the sum of the covariances of the classes.
        """
        between = self._between(labels)
        values, vectors = self._of_total if self.weighted else self._eigen(self._unweighted_within(labels))
        half = (vectors / np.sqrt(values)) @ (vectors.T @ between.T / np.sqrt(values)[:, None])
        gram = between @ half  # its eigenvalues are those of (S_b, S + ρI)
        n_directions = min(len(gram) - 1, len(values))
        lengths, turn = np.linalg.eigh(gram)
        kept = np.arange(len(gram))[::-1][:n_directions]
        kept = kept[lengths[kept] > lengths[-1] * len(gram) * np.finfo(float).eps]
        return np.asarray(half @ (turn[:, kept] / np.sqrt(lengths[kept])))

    @cached_property
    def principal(self) -> Array:
        """The principal components, as columns by decreasing variance."""
        return np.asarray(self._of_total[1][:, ::-1])

    def objective(self, directions: Array, labels: NDArray[np.intp]) -> float:
        """tr[(U'(S_w + ρI)U)⁻¹ U'S_bU] of some directions U: the larger, the better the classes are told apart."""
        projections = self.rows @ directions
        inner = Discriminants(projections, projections.T @ projections / len(projections), 0.0, self.weighted)
        between = inner._between(labels)
        outer = between.T @ between
        within = inner.total - outer if self.weighted else inner._unweighted_within(labels)
        within = within + self.ridge * (directions.T @ directions)
        values, vectors = np.linalg.eigh(within)
        smallest = max(float(np.trace(inner.total)), np.finfo(float).tiny) * np.finfo(float).eps
        values = np.maximum(values, smallest)  # S_w may be zero
        return float(np.sum(vectors * (outer @ vectors), axis=0) @ (1.0 / values))

    def _between(self, labels: NDArray[np.intp]) -> Array:
        """A matrix B (a row for each class that is not empty) with B'B = S_b / n."""
        share, means = self._means(labels)
        return np.asarray(np.sqrt(share)[:, None] * means)

    def _means(self, labels: NDArray[np.intp]) -> tuple[Array, Array]:
        classes, label = np.unique(labels, return_inverse=True)
        indicator = np.zeros((len(classes), len(labels)))
        indicator[label, np.arange(len(labels))] = 1.0
        counts = indicator.sum(axis=1)
        return counts / len(labels), (indicator @ self.rows) / counts[:, None]

    def _unweighted_within(self, labels: NDArray[np.intp]) -> Array:
        within = np.zeros_like(self.total)
        for label, mean in zip(np.unique(labels), self._means(labels)[1], strict=True):
            part = self.rows[labels == label] - mean
            within += part.T @ part / len(part)
        return within

    @cached_property
    def _of_total(self) -> tuple[Array, Array]:
        return self._eigen(self.total)

    def _eigen(self, metric: Array) -> tuple[Array, Array]:
        """Eigenvalues and -vectors of S + ρI without those of no variance at all."""
        values, vectors = eigh(metric)
        kept = values > values[-1] * len(values) * np.finfo(float).eps
        kept |= self.ridge > values[-1] * len(values) * np.finfo(float).eps
        return np.maximum(values[kept], 0.0) + self.ridge, vectors[:, kept]
