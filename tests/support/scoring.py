"""Slow reference implementations of the success ratio and the binary V-measure of the paper."""

from math import log

import numpy as np


def aggregate(truth, labels):
    """Assign each true cluster to the side of most members; for a tie to the smaller side, then side 0."""
    truth, labels = np.asarray(truth), np.asarray(labels)
    smaller = 1 if np.sum(labels == 1) < np.sum(labels == 0) else 0
    merged = np.empty(len(labels), dtype=int)
    for cluster in np.unique(truth):
        members = truth == cluster
        ones, zeros = np.sum(labels[members] == 1), np.sum(labels[members] == 0)
        merged[members] = smaller if ones == zeros else int(ones > zeros)
    return merged


def count_overlaps(truth, labels):
    """Count the rows on side k of the partition and in aggregate cluster c, as ``[k][c]``."""
    merged, labels = aggregate(truth, labels), np.asarray(labels)
    return [[int(np.sum((labels == k) & (merged == c))) for c in (0, 1)] for k in (0, 1)]


def is_degenerate(n):
    """Whether all rows are on one side, or all clusters were assigned to one side."""
    return 0 in (sum(n[0]), sum(n[1]), n[0][0] + n[1][0], n[0][1] + n[1][1])


def success_ratio(truth, labels):
    """Success ratio, eq. (29); 0 if no cluster is separated from the rest."""
    n = count_overlaps(truth, labels)
    if is_degenerate(n):
        return 0.0
    error = min(n[0][0] + n[1][1], n[0][1] + n[1][0])  # eq. (27)
    success = min(max(n[0]), max(n[1]))  # eq. (28)
    return success / (success + error)  # eq. (29)


def v_measure(truth, labels):
    """Harmonic mean of homogeneity and completeness of the partition against the two aggregate clusters."""
    n = count_overlaps(truth, labels)
    if is_degenerate(n):
        return 0.0
    joint = [n[0][0], n[0][1], n[1][0], n[1][1]]
    sides, clusters = [sum(n[0]), sum(n[1])], [n[0][0] + n[1][0], n[0][1] + n[1][1]]
    mutual = entropy(sides) + entropy(clusters) - entropy(joint)
    homogeneity, completeness = mutual / entropy(clusters), mutual / entropy(sides)
    return 2 * homogeneity * completeness / (homogeneity + completeness) if mutual > 1e-15 else 0.0


def entropy(counts):
    return -sum(c / sum(counts) * log(c / sum(counts)) for c in counts if c)
