"""One sentence on whether the unlabelled rows helped a classifier."""

from __future__ import annotations

import math
from typing import Any

__all__ = ["describe_evidence"]

# The number of rows at the hyperplane fell by at least this factor, in logarithms: by a fifth.
CLEAR_DECREASE = -math.log(0.8)


def describe_evidence(classifier: Any) -> str | None:
    """Say whether the unlabelled rows moved the hyperplanes of a fitted classifier into a gap.

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
    helped = evidence[:, 0] - evidence[:, 1] >= CLEAR_DECREASE
    if len(evidence) > 1:
        return (
            f"The unlabelled rows helped in {int(helped.sum())} of {len(evidence)} pairs of classes: there they moved "
            "the hyperplane of the labels into a gap. In the others it stayed near that of the labels."
        )
    first, last, angle = evidence[0].tolist()
    if helped[0]:
        return (
            f"The unlabelled rows helped: they moved the hyperplane of the labels by {angle:.0f} degrees into a gap. "
            f"There are {_format_share(last)} as many rows at it as a normal curve would have, instead of "
            f"{_format_share(first)}."
        )
    return (
        f"The unlabelled rows did not help: there is no gap near the hyperplane of the labels, which they moved by "
        f"{angle:.0f} degrees. There are {_format_share(last)} as many rows at it as a normal curve would have."
    )


def _format_share(log_ratio: float) -> str:
    return f"{100.0 * math.exp(log_ratio):.0f} %"
