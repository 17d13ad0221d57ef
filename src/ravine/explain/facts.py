"""Facts about a fitted estimator, each in one sentence for terminal, `describe`, summary and report, and names."""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine._plurals import count

# The number of rows at the hyperplane fell by at least this factor, in logarithms: by a fifth.
CLEAR_DECREASE = -math.log(0.8)
# Characters of the value of a parameter.
MAX_CHARACTERS = 300
# Other spaces, such as the narrow ones in numbers, stay.
_BREAKS = re.compile("[ \t\n\r\f\v\x85\u2028\u2029]+")


def describe_groups(n_groups: int, n_rows: int, noun: str = "cluster", plural: str | None = None) -> str:
    """State the number of clusters or classes, and of rows."""
    return f"{count(n_groups, noun, plural)} of {count(n_rows, 'row')}"


@dataclass(frozen=True)
class Suggestion:
    """Numbers of clusters of a tree that chose them.

    Attributes
    ----------
    n_suggested : int
        Number of clusters.
    n_shown : int
        Number of clusters without the splits that the test does not show.
    n_splits : int
        Number of splits.
    n_untested : int
        Number of splits without a P-value: between cells, or made by limits of sizes and constraints.
    """

    n_suggested: int
    n_shown: int
    n_splits: int
    n_untested: int

    def __str__(self) -> str:
        if not self.n_untested:
            return f"{count(self.n_shown, 'cluster')} shown by the test, {self.n_suggested} suggested"
        part = "none" if self.n_untested == self.n_splits else f"{self.n_splits - self.n_untested}"
        fewer = f", {self.n_shown} without the splits that fail it" if self.n_shown < self.n_suggested else ""
        return f"{count(self.n_suggested, 'cluster')} by {count(self.n_splits, 'split')}, {part} of them tested{fewer}"


def find_suggestion(estimator: Any) -> Suggestion | None:
    """Return the numbers of clusters of a tree that chose them; None for others and after edits."""
    if not hasattr(estimator, "n_shown_"):
        return None
    pvalue = estimator.tree_.pvalue[estimator.tree_.left >= 0]
    return Suggestion(estimator.n_clusters_, estimator.n_shown_, len(pvalue), int(np.isnan(pvalue).sum()))


def describe_outliers(n: int) -> str:
    """State the number of rows that are marked as outliers."""
    return f"{count(n, 'row')} marked as outliers (cluster -1)"


def describe_completions(n_clusters: Sequence[int], n_unstable: int, unstable: float) -> str:
    """State how far the completions of missing cells agree.

    Parameters
    ----------
    n_clusters : sequence of int
        Number of clusters of each completion.
    n_unstable : int
        Number of rows that more than a share of the completions put into another cluster.
    unstable : float
        This share.
    """
    return (
        f"Missing cells were filled {len(n_clusters)} times (clusters: {', '.join(map(str, n_clusters))}); "
        f"{count(n_unstable, 'row')} {'is' if n_unstable == 1 else 'are'} unstable: more than {100 * unstable:.0f} % "
        "of the completions choose another cluster"
    )


def describe_evidence(classifier: Any) -> str | None:
    """Say how far the unlabelled rows moved the hyperplanes of a fitted classifier, and how many rows are at them.

    It describes the density, not the accuracy: whether a move is right, only more labels can tell.

    Returns
    -------
    str or None
        None if the classifier did not start from the labels (``method="paper"``).
    """
    evidence = getattr(classifier, "density_evidence_", None)
    if evidence is None:
        return None
    emptier = evidence[:, 0] - evidence[:, 1] >= CLEAR_DECREASE
    if len(evidence) > 1:
        return (
            f"In {int(emptier.sum()) or 'none'} of the {len(evidence)} pairs of classes the unlabelled rows moved the "
            "hyperplane of the labels to where there are clearly fewer rows. In the others it stayed near that of the "
            "labels."
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


def list_parameters(estimator: Any) -> dict[str, str]:
    """Return the parameters of an estimator as text; functions and objects by name, not by their changing addresses."""
    return {name: _show_parameter(value) for name, value in estimator.get_params(deep=False).items()}


def _show_parameter(value: Any) -> str:
    if hasattr(value, "get_params"):
        return shorten(" ".join(repr(value).split()), MAX_CHARACTERS)
    if callable(value):
        return f"{getattr(value, '__qualname__', type(value).__qualname__)} (a function)"
    if type(value).__module__ not in ("builtins", "numpy"):
        return type(value).__qualname__
    return shorten(" ".join(repr(value).split()), MAX_CHARACTERS)


# ----------------------------------------------------------------------------------------------- names and counts


def clean_text(value: object) -> str:
    """Return any value as one line of text, with control characters and lone surrogates replaced by visible marks."""
    text = _BREAKS.sub(" ", str(value)).strip()
    if text.isascii() and text.isprintable():
        return text
    return "".join("\ufffd" if unicodedata.category(c) in ("Cc", "Cs", "Co", "Cn") else c for c in text)


def shorten(value: object, most: int) -> str:
    """Return a name as one line of at most ``most`` characters; both of its ends are kept."""
    text = clean_text(value)
    if len(text) <= most:
        return text
    tail = (most - 1) // 3
    return f"{text[: most - 1 - tail]}…{text[len(text) - tail :]}"


def format_count(n: int) -> str:
    """Format a whole number with a narrow space between thousands."""
    return f"{n:,}".replace(",", "\u202f")


def format_plural(n: int, singular: str, plural: str | None = None) -> str:
    """Format a count with its noun: "1 cluster", "3 clusters"."""
    return f"{format_count(n)} {singular if n == 1 else plural or singular + 's'}"
