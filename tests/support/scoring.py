"""Success ratio and binary V-measure of a bi-partition, as the paper defines them: slow and obvious."""

from math import log

import numpy as np


def aggregate(truth, labels):
    """Side to which each true cluster is assigned: that of most members; for a tie the smaller side, then side 0."""
    truth, labels = np.asarray(truth), np.asarray(labels)
    smaller = 1 if np.sum(labels == 1) < np.sum(labels == 0) else 0
    merged = np.empty(len(labels), dtype=int)
    for cluster in np.unique(truth):
        members = truth == cluster
        ones, zeros = np.sum(labels[members] == 1), np.sum(labels[members] == 0)
        merged[members] = smaller if ones == zeros else int(ones > zeros)
    return merged


def overlaps(truth, labels):
    """Number of rows in side k of the partition and in aggregate cluster c, as ``[k][c]``."""
    merged, labels = aggregate(truth, labels), np.asarray(labels)
    return [[int(np.sum((labels == k) & (merged == c))) for c in (0, 1)] for k in (0, 1)]


def is_degenerate(n):
    """Whether all rows are on one side, or all clusters were assigned to one side."""
    return 0 in (sum(n[0]), sum(n[1]), n[0][0] + n[1][0], n[0][1] + n[1][1])


def success_ratio(truth, labels):
    """Eq. SR; 0 if no cluster is told from the rest."""
    n = overlaps(truth, labels)
    if is_degenerate(n):
        return 0.0
    error = min(n[0][0] + n[1][1], n[0][1] + n[1][0])  # eq. (27)
    success = min(max(n[0]), max(n[1]))  # eq. (28)
    return success / (success + error)  # eq. (29)


def v_measure(truth, labels):
    """Harmonic mean of homogeneity and completeness of the partition against the two aggregate clusters."""
    n = overlaps(truth, labels)
    if is_degenerate(n):
        return 0.0
    joint = [n[0][0], n[0][1], n[1][0], n[1][1]]
    sides, clusters = [sum(n[0]), sum(n[1])], [n[0][0] + n[1][0], n[0][1] + n[1][1]]
    mutual = entropy(sides) + entropy(clusters) - entropy(joint)
    homogeneity, completeness = mutual / entropy(clusters), mutual / entropy(sides)
    return 2 * homogeneity * completeness / (homogeneity + completeness) if mutual > 1e-15 else 0.0


def entropy(counts):
    return -sum(c / sum(counts) * log(c / sum(counts)) for c in counts if c)
