"""Votes and probabilities of classes, from those of pairs."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, log_expit

from ravine._typing import Array

# Number of coefficients in the linear systems that are solved at a time.
BLOCK_SIZE = 1 << 20


def count_votes(pairs: NDArray[np.intp], scores: Array, n_classes: int) -> Array:
    """Count the votes of the pairs for each class, plus the sum of their scores in (-1/3, 1/3), which breaks ties.

    Parameters
    ----------
    pairs : ndarray of shape (p, 2)
        Numbers of the two classes; a positive score is a vote for the second.
    scores : ndarray of shape (n, p)
    n_classes : int
    """
    votes, confidence = np.zeros((len(scores), n_classes)), np.zeros((len(scores), n_classes))
    for (first, second), score in zip(pairs.tolist(), scores.T, strict=True):
        votes[:, second] += score > 0.0
        votes[:, first] += score <= 0.0
        confidence[:, second] += score
        confidence[:, first] -= score
    return votes + confidence / (3.0 * (np.abs(confidence) + 1.0))


def couple_log_probabilities(pairs: NDArray[np.intp], scores: Array, n_classes: int) -> Array:
    """Return the log-probabilities of all classes that agree best with those of the pairs.

    This is the second method of Wu, Lin & Weng (2004).

    They minimise ``Σ_i Σ_{j≠i} (r_ji p_i - r_ij p_j)²`` with ``Σ p = 1``, where ``r_ij`` is the probability of class i
    in the pair {i, j}.

    Parameters
    ----------
    pairs : ndarray of shape (p, 2)
    scores : ndarray of shape (n, p)
        Log-odds of the second class of each pair.
    n_classes : int

    Returns
    -------
    ndarray of shape (n, n_classes)
    """
    out = np.empty((len(scores), n_classes))
    first, second = pairs[:, 0], pairs[:, 1]
    diagonal = np.arange(n_classes)
    step = max(1, BLOCK_SIZE // n_classes**2)
    for start in range(0, len(scores), step):
        part = scores[start : start + step]
        r = np.zeros((len(part), n_classes, n_classes))
        r[:, second, first], r[:, first, second] = expit(part), expit(-part)
        system = -r * r.transpose(0, 2, 1)
        system[:, diagonal, diagonal] = (r**2).sum(axis=1)
        # The solution of the constrained problem is proportional to that of Q p = 1 (Q is positive semi-definite; the
        # ridge keeps it solvable where pairs are certain).
        system[:, diagonal, diagonal] += 1e-12
        p = np.linalg.solve(system, np.ones((len(part), n_classes, 1)))[..., 0]
        p = np.maximum(p, 0.0)
        out[start : start + step] = p / p.sum(axis=1, keepdims=True)
    # Certain pairs leave ties between impossible classes: break them, and rounding, by the sum of the log-odds.
    support = np.zeros_like(out)
    for (i, j), score in zip(pairs.tolist(), scores.T, strict=True):
        support[:, j] += log_expit(score)
        support[:, i] += log_expit(-score)
    log_p = np.log(np.maximum(out, 1e-300))
    return np.asarray(log_p + 1e-12 * support)
