"""Linear discriminants of labelled rows, and the best split of numbers into two clusters."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from ravine_paper._typing import Array

__all__ = ["Discriminants", "split_in_two_means"]

EPS = float(np.finfo(float).eps)


def split_in_two_means(values: Array) -> NDArray[np.intp]:
    """Split numbers into two clusters, labelled 0 and 1, with the smallest sum of squares within them: O(n log n).

    The clusters never overlap, so the best split is one of the n - 1 cuts of the sorted numbers: that with the largest
    sum of squares between the clusters. All labels are 0 if the numbers are all equal.
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
    """Linear discriminant analysis of centred rows for any labels.

    With class weights n_j the scatter within the classes is S_w = S_t - S_b. The eigenvectors of (S_b, S_w + ρI) are
    therefore those of (S_b, S_t + ρI), and S_t is computed once for all labels.

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

    def find_directions(self, labels: NDArray[np.intp]) -> Array:
        """Find the k - 1 most discriminative directions of k classes, as columns u with u'(S + ρI)u = 1.

        S is S_t with class weights, else the sum of the covariances of the classes.
        """
        between = self._factor_between(labels)
        values, vectors = self._axes_of_total if self.weighted else self._solve(self._sum_covariances(labels))
        half = (vectors / np.sqrt(values)) @ (vectors.T @ between.T / np.sqrt(values)[:, None])
        gram = between @ half  # its eigenvalues are those of (S_b, S + ρI)
        n_directions = min(len(gram) - 1, len(values))
        lengths, rotation = np.linalg.eigh(gram)
        kept = np.arange(len(gram))[::-1][:n_directions]
        kept = kept[lengths[kept] > lengths[-1] * len(gram) * EPS]
        return np.asarray(half @ (rotation[:, kept] / np.sqrt(lengths[kept])))

    @cached_property
    def principal_components(self) -> Array:
        """Principal components of the rows, as columns by decreasing variance."""
        return np.asarray(self._axes_of_total[1][:, ::-1])

    def evaluate(self, directions: Array, labels: NDArray[np.intp]) -> float:
        """Compute J = tr[(U'(S_w + ρI)U)⁻¹ U'S_bU] of directions U; a larger value separates the classes better."""
        projections = self.rows @ directions
        inner = Discriminants(projections, projections.T @ projections / len(projections), 0.0, self.weighted)
        factor = inner._factor_between(labels)
        between = factor.T @ factor
        within = inner.total - between if self.weighted else inner._sum_covariances(labels)
        values, vectors = np.linalg.eigh(within + self.ridge * (directions.T @ directions))
        smallest = max(float(np.trace(inner.total)), np.finfo(float).tiny) * EPS
        values = np.maximum(values, smallest)  # S_w may be zero
        return float(np.sum(vectors * (between @ vectors), axis=0) @ (1.0 / values))

    def _factor_between(self, labels: NDArray[np.intp]) -> Array:
        """Compute a matrix B (a row for each class that is not empty) with B'B = S_b / n."""
        shares, means = self._average_classes(labels)
        return np.asarray(np.sqrt(shares)[:, None] * means)

    def _average_classes(self, labels: NDArray[np.intp]) -> tuple[Array, Array]:
        """Return the share of the rows and the mean of each class."""
        classes, label = np.unique(labels, return_inverse=True)
        indicator = np.zeros((len(classes), len(labels)))
        indicator[label, np.arange(len(labels))] = 1.0
        counts = indicator.sum(axis=1)
        return counts / len(labels), (indicator @ self.rows) / counts[:, None]

    def _sum_covariances(self, labels: NDArray[np.intp]) -> Array:
        within = np.zeros_like(self.total)
        for label, mean in zip(np.unique(labels), self._average_classes(labels)[1], strict=True):
            members = self.rows[labels == label] - mean
            within += members.T @ members / len(members)
        return within

    @cached_property
    def _axes_of_total(self) -> tuple[Array, Array]:
        return self._solve(self.total)

    def _solve(self, covariance: Array) -> tuple[Array, Array]:
        """Compute eigenvalues and eigenvectors of S + ρI; without a ridge, those of no variance are left out."""
        values, vectors = eigh(covariance)
        rounding = values[-1] * len(values) * EPS
        kept = (values > rounding) | (self.ridge > rounding)
        return np.maximum(values[kept], 0.0) + self.ridge, vectors[:, kept]
