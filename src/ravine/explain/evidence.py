"""One or two sentences on what the unlabelled rows changed in a classifier."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["describe_evidence"]

# The number of rows at the hyperplane fell by at least this factor, in logarithms: by a fifth.
CLEAR_DECREASE = -math.log(0.8)


def describe_evidence(classifier: Any) -> str | None:
    """Say how far the unlabelled rows moved the hyperplanes of a fitted classifier, and how many rows are at them.

    It describes the density, not the accuracy: whether a move is right, only more labels can tell.

    Parameters
    ----------
    classifier : MinimumDensityClassifier

    Returns
    -------
    str or None
        None if the classifier did not start from the labels (``method="paper"``, or an older model file).
    """
    evidence = getattr(classifier, "density_evidence_", None)
    if evidence is None:
        return None
    emptier = evidence[:, 0] - evidence[:, 1] >= CLEAR_DECREASE
    if len(evidence) > 1:
        return (
            f"In {int(emptier.sum())} of {len(evidence)} pairs of classes the unlabelled rows moved the hyperplane of "
            "the labels to where there are clearly fewer rows. In the others it stayed near that of the labels."
        )
    first, last, angle = evidence[0].tolist()
    moved = f"moved the hyperplane of the labels by {_format_angle(angle)}"
    if emptier[0]:
        return (
            f"The unlabelled rows {moved}, to where there are clearly fewer rows: {_format_share(last)} as many as a "
            f"normal curve would have, instead of {_format_share(first)}."
        )
    if last <= -CLEAR_DECREASE:
        return (
            f"The unlabelled rows {moved}, which is already in a gap: there are {_format_share(last)} as many rows at "
            "it as a normal curve would have."
        )
    return (
        f"The unlabelled rows {moved}: they show no gap nearby. There are {_format_share(last)} as many rows at it as "
        "a normal curve would have."
    )


def _format_angle(angle: float) -> str:
    return f"{angle:.0f} degree{'' if round(angle) == 1 else 's'}"


def _format_share(log_ratio: float) -> str:
    return f"{100.0 * math.exp(log_ratio):.0f} %"
