"""Text of a report: the method, its result and its limits in plain words."""

from __future__ import annotations

import math
import platform
from importlib import metadata
from typing import Any

from ravine._plurals import format_pvalue
from ravine.explain import describe_evidence, describe_outliers, format_count, format_plural
from ravine.report.findings import Findings
from ravine.tree import describe_test

PACKAGES = ("ravine", "numpy", "scipy", "scikit-learn")
HYPERPLANE = "A hyperplane is a flat border that divides the rows in two. "
METHOD = HYPERPLANE + (
    "The method rotates and shifts it until it runs through the emptiest valley between dense groups of rows: a "
    "minimum density hyperplane."
)
METHOD_OF_CELLS = HYPERPLANE + (
    "Hyperplanes first cut the rows into small cells, where they separate the fewest nearest neighbours. Cells are "
    "then joined, unless the density of the rows near their common boundary has a valley."
)


def write_headline(found: Findings, source: str) -> str:
    """Write the title of the report."""
    if found.kind == "classifier":
        return f"{format_plural(len(found.class_names), 'class', 'classes')} in {source}"
    if found.suggestion is not None:
        return f"{source}: {found.suggestion}"
    n = found.n_groups + found.n_left_out
    return f"No separate clusters in {source}" if n == 1 else f"{format_plural(n, 'cluster')} in {source}"


def write_story(found: Findings, source: str) -> list[str]:
    """Write the result, and then paragraphs on the method and on how far the result can be trusted."""
    table = f"{format_plural(len(found.X), 'row')} with {format_plural(found.X.shape[1], 'feature')} from {source}"
    write = {"classifier": _write_classes, "hyperplane": _write_hyperplane, "tree": _write_tree}[found.kind]
    result, *trust = write(found, table)
    return [result, METHOD_OF_CELLS if found.is_joined else METHOD, *trust]


def _write_tree(found: Findings, table: str) -> list[str]:
    estimator, n = found.estimator, found.n_groups + found.n_left_out
    if found.is_joined:
        return _write_joined_tree(found, table, n)
    n_splits = int((estimator.tree_.left >= 0).sum())
    result = f"{table} were divided into {format_plural(n, 'cluster')} by {format_plural(n_splits, 'split')}."
    if n == 1:
        result = f"{table} were analysed and not split: as far as can be shown, they form one group."
        test = describe_test(estimator.tree_, 0)
        result += f" The result of the test: {test}." if test else ""
    if isinstance(estimator.n_clusters, str):
        start = "The number of clusters was chosen automatically: a group was split only if a test showed"
        n_untested = sum(math.isnan(p) for p in estimator.tree_.pvalue[estimator.tree_.left >= 0])
        if n_untested or (found.suggestion is not None and n > found.suggestion.n_shown):
            start = "A split counts as shown if a test showed"
        trust = (
            f"{start}, at the level {estimator.alpha:g}, that the valley is real. Rows of the group that had no "
            "part in the choice of a valley were counted in it. The P-value of the first split is "
            f"{_name_validity(estimator)}; the P-values below it are a guide, since the same rows decided on the "
            "splits above. A group that was not split may still contain small or overlapping clusters."
        )
        if n_untested:
            trust += (
                f" {n_untested} of {format_plural(n_splits, 'split')} have no P: they cut cells, or meet limits "
                "of sizes or constraints."
            )
    else:
        wanted = int(estimator.n_clusters)
        trust = f"The number of clusters, {wanted}, was given"
        trust += "." if n >= wanted else f", but only {n} could be separated."
        trust += (
            " A split is therefore not evidence of two groups: its relative depth measures how empty the valley is, "
            "and its P-value, if it was tested, whether the valley also shows in rows that did not choose it."
        )
    return [result, trust, *_write_suggestion(found)]


def _write_joined_tree(found: Findings, table: str, n_clusters: int) -> list[str]:
    """Write how cells were cut and joined, why, and how strong the boundaries between the clusters are."""
    estimator = found.estimator
    result = (
        f"{table} were divided into {format_plural(n_clusters, 'cluster')} of any shape: hyperplanes cut the rows into "
        f"{format_plural(estimator.tree_.n_leaves, 'cell')}, and cells that no valley separates were joined."
    )
    if n_clusters == 1:
        result = (
            f"{table} were cut into cells, and no valley separates these: as far as can be shown, they form one group."
        )
    trust = "Groups of cells stay apart if a valley separates them where they meet. "
    if not isinstance(estimator.n_clusters, str):
        trust = f"The number of clusters, {int(estimator.n_clusters)}, was given. "
    trust += (
        "The evidence for each boundary is a z-score: how few rows are in the valley, compared with both sides. It is "
        "calibrated by simulation, not proved, and there are no P-values. A single split only cuts cells: it need not "
        "follow a valley."
    )
    return [result, trust]


def _write_suggestion(found: Findings) -> list[str]:
    """Write how many clusters are shown and how many are suggested; nothing if these are the same."""
    suggestion = found.suggestion
    if suggestion is None:
        return []
    reason = ""
    if not suggestion.n_untested:
        reason = ": there is a valley at every boundary between the clusters, but not each is clear enough for the test"
    return [f"{suggestion}{reason}. Splits beyond those shown are marked “suggested, not shown by the test”."]


def _name_validity(estimator: Any) -> str:
    """Return how far the P-value of the test of an estimator can be trusted."""
    finder = getattr(estimator, "hyperplane", estimator)  # of a tree
    exact = getattr(finder, "test", None) == "exact"
    return "exact under the conditions of the test" if exact else "checked by simulation (the pooled test)"


def _write_hyperplane(found: Findings, table: str) -> list[str]:
    if found.n_groups == 1:
        return [f"{table} were analysed, and no hyperplane was found that separates two groups of them."]
    p = getattr(found.estimator, "pvalue_", math.nan)
    if math.isnan(p):
        trust = (
            "Any data can be split in two: the relative depth measures how empty the valley is, but the direction was "
            "chosen to make it empty. Whether the valley is real was not tested."
        )
    elif found.estimator.valley_test_.is_bend:
        trust = (
            "Whether the valley separates two groups was tested. As far as can be shown, it does not: its two sides "
            "are connected around it, as in a ring or an arc, so that the rows form one bent group (P = 1)."
        )
    else:
        trust = (
            "Whether the valley is real was tested: rows that had no part in the choice of a valley were counted in "
            f"it. {format_pvalue(p)} is the probability of a valley at least as clear if there were only one group, "
            f"{_name_validity(found.estimator)}."
        )
    return [f"{table} were split in two by one hyperplane.", trust]


def _write_classes(found: Findings, table: str) -> list[str]:
    n = len(found.class_names)
    n_labelled = 0 if found.known is None else int((found.known.codes >= 0).sum())
    labelled = f", based on the labels of {format_plural(n_labelled, 'row')}" if n_labelled else ""
    evidence = describe_evidence(found.estimator)
    if evidence is None:
        method = (
            "The labels determine which class lies on which side, and the rows without a label determine where the "
            "valley between the classes is: the hyperplane minimises the density on it plus a penalty for labelled "
            "rows on the wrong side."
        )
    else:
        method = (
            "The labels suggest a hyperplane, and the rows without a label move it to a place nearby where there are "
            f"fewer rows than a normal curve would have. {evidence}"
        )
    if n > 2:
        method += " There is one hyperplane for each pair of classes; together they decide."
    return [f"{table} were assigned to {n} classes{labelled}.", method]


def list_warnings(found: Findings) -> list[str]:
    """List what the reader needs to know before the first picture."""
    if found.same_rows:
        return []
    return [
        "These are not the rows that the model was fitted to: sizes, means and densities are those of the rows shown, "
        "relative depths and P-values are those of the fit."
    ]


def list_caveats(found: Findings, n_sampled: int) -> list[str]:
    """List restrictions that apply to the numbers in the report, of which ``n_sampled`` rows are shown."""
    out = []
    if len(found.X) > n_sampled:
        out.append(
            f"Sizes, means and densities are computed from all {format_count(len(found.X))} rows. Single rows are "
            f"shown from a sample of {format_count(n_sampled)}, in which small groups are over-represented."
        )
    if found.n_left_out and found.kind == "tree":
        out.append(
            f"The tree has {format_count(found.n_groups + found.n_left_out)} clusters; the report shows its first "
            f"splits, down to {found.n_groups} clusters."
        )
    elif found.n_left_out:
        out.append(f"{format_count(found.n_left_out)} more pairs, of the smallest classes, are not shown.")
    n_outliers = getattr(found.estimator, "n_outliers_", 0) if found.same_rows else 0
    if n_outliers:
        out.append(
            f"{describe_outliers(n_outliers)}. Sizes, means and densities include them in the clusters on whose sides "
            "they lie."
        )
    if found.known is not None and found.known.table is None:
        out.append(
            f"The known labels have {format_count(len(found.known.names))} different values: too many to compare."
        )
    return out


def list_versions() -> list[tuple[str, str]]:
    """List the software that made the report."""
    return [("Python", platform.python_version()), *((name, metadata.version(name)) for name in PACKAGES)]
