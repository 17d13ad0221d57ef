"""Messages of estimators in the words of the command: parameters as options, X as the table, y as a column."""

from __future__ import annotations

import re

__all__ = ["name_options"]

OPTIONS = {
    "n_clusters": "--clusters",
    "min_cluster_size": "--min-cluster-size",
    "max_cluster_size": "--max-cluster-size",
    "shape": "--shape",
    "use_labels": "--use-labels",
    "contamination": "--outliers",
}
# Whole phrases come first, then parameters with and without a value.
PHRASES: tuple[tuple[str, str], ...] = (
    (r" of X \(n_samples=\d+\)", ""),
    (r"n_clusters=(\d+) clusters were asked for", r"\1 clusters were asked for"),
    (r"min_cluster_size=(\S+) rows each", r"\1 rows each (--min-cluster-size)"),
    (r"Give n_clusters a number, or use test_method='exact'\.", "Set --clusters to a number."),
    (r"Unlabelled rows are marked by -1, or by None or NaN", "Empty cells mark unlabelled rows"),
    (r"See violated_constraints_", "The summary lists all as violated_constraints"),
    (r"^y ", "the column of --label-column "),
    (r"\bX has\b", "the table has"),
)


def name_options(text: str) -> str:
    """Return a message of an estimator with the options of the command instead of parameters."""
    for pattern, words in PHRASES:
        text = re.sub(pattern, words, text)
    for name, option in OPTIONS.items():
        text = re.sub(rf"\b{name}=(['\"]?)([\w.]+)\1", rf"{option} \2", text)
        text = text if "_" not in name else re.sub(rf"\b{name}\b", option, text)  # "shape" is also a word
    return text
