"""What was done, in plain words."""

from __future__ import annotations

import math
import platform
from collections.abc import Mapping
from importlib import metadata
from typing import Any

from ravine.report.findings import Findings
from ravine.report.text import clean, count, shortened

__all__ = ["AUTHORS", "PAPER", "headline", "parameters", "story", "versions", "warnings_of"]

AUTHORS = ("Pavlidis, Nicos G.", "Hofmeyr, David P.", "Tasoulis, Sotiris K.")
PAPER = {
    "title": "Minimum Density Hyperplanes",
    "journal": "Journal of Machine Learning Research",
    "volume": "17",
    "year": "2016",
    "pages": "1-33",
}
PACKAGES = ("ravine", "numpy", "scipy", "scikit-learn")
MOST_CHARACTERS = 300


def headline(found: Findings, source: str) -> str:
    """The title of the report."""
    if found.kind == "classifier":
        return f"{_many(len(found.class_names), 'class', 'classes')} in {source}"
    if found.n_groups == 1:
        return f"No separate clusters in {source}"
    return f"{_many(found.n_groups + found.n_left_out, 'cluster', 'clusters')} in {source}"


def story(found: Findings, source: str) -> list[str]:
    """Paragraphs: what was given, what was looked for, how sure one can be."""
    table = f"{_many(len(found.X), 'row', 'rows')} of {source} with {_many(found.X.shape[1], 'feature', 'features')}"
    how = (
        "A hyperplane is a flat cut through the data, here placed where the fewest rows lie along it. The method turns "
        "the cut and shifts it until it runs through the emptiest valley between dense groups of rows: a minimum "
        "density hyperplane."
    )
    told = {"classifier": _of_classes, "hyperplane": _of_hyperplane, "tree": _of_tree}[found.kind](found, table)
    return [told[0], how, *told[1:]]


def _of_tree(found: Findings, table: str) -> list[str]:
    estimator, n = found.estimator, found.n_groups + found.n_left_out
    automatic = isinstance(estimator.n_clusters, str)
    again = ", and the parts again" if (estimator.tree_.left >= 0).sum() > 1 else ""
    first = f"{table} were cut in two{again}, which gave {_many(n, 'cluster', 'clusters')}."
    if n == 1:
        first = f"{table} were looked at, and no cut was made: they form one group as far as can be shown."
        if not math.isnan(estimator.tree_.pvalue[0]):
            first += f" The test of the first cut gave P = {estimator.tree_.pvalue[0]:.2g}."
    if automatic:
        rule = (
            f"How many clusters there are was not told. A part was cut only if a test showed the valley to be real at "
            f"the level {estimator.alpha_test:g}: one half of its rows chose the cut, the other half, which had no say "
            "in it, was counted. The P-value of the first cut is exact under the conditions of the test; those below "
            "it are a guide, since the same rows decided about the cuts above. A group that is not cut may still hold "
            "small or overlapping clusters."
        )
    else:
        wanted = int(estimator.n_clusters)
        rule = f"The number of clusters, {wanted}, was told"
        rule += "." if n >= wanted else f", but only {n} could be separated."
        rule += (
            " That a cut was made is therefore no evidence for two groups; the relative depth says how empty its "
            "valley is, and a P-value, where there is one, whether the valley shows in rows that did not choose it."
        )
    return [first, rule]


def _of_hyperplane(found: Findings, table: str) -> list[str]:
    if found.n_groups == 1:
        return [f"{table} were looked at, and no hyperplane was found that separates two groups of them."]
    p = getattr(found.estimator, "pvalue_", math.nan)
    if math.isnan(p):
        sure = (
            "Any data can be cut in two: the relative depth says how empty the valley is, but the direction was chosen "
            "to make it so. Whether the valley is real was not tested."
        )
    else:
        sure = (
            f"Whether the valley is real was tested: one half of the rows chose a cut, the other half, which had no "
            f"say in it, was counted. P = {p:.2g} is the probability of so clear a valley if there were only one group."
        )
    return [f"{table} were cut in two by one hyperplane.", sure]


def _of_classes(found: Findings, table: str) -> list[str]:
    n = len(found.class_names)
    known = found.comparison
    labelled = None if known is None else int((known.codes >= 0).sum())
    first = f"{table} were given one of {n} classes."
    if labelled is not None:
        first = f"{table} were given one of {n} classes, {count(labelled)} of them by the label they had."
    rule = (
        "The labels say what the sides of a cut mean, the rows without a label say where the valley between them is: "
        "the cut minimises the density along it plus a penalty for labelled rows on the wrong side."
    )
    if n > 2:
        rule += " There is a cut for each pair of classes; together they decide."
    return [first, rule]


def warnings_of(found: Findings, budget_rows: int) -> list[str]:
    """What a reader must know about the numbers in the report."""
    out = []
    if len(found.X) > budget_rows:
        out.append(
            f"Sizes, means and densities are of all {count(len(found.X))} rows. Single rows that are shown are a "
            f"sample of {count(budget_rows)}, in which small groups have more rows than their share."
        )
    if found.n_left_out and found.kind == "tree":
        out.append(
            f"The tree has {count(found.n_groups + found.n_left_out)} clusters; the report shows its first splits, "
            f"down to {found.n_groups} clusters."
        )
    elif found.n_left_out:
        out.append(f"{count(found.n_left_out)} more pairs of classes, of the smallest classes, are not shown.")
    if not found.same_rows:
        out.append(
            "These are not the rows that the model was fitted to: sizes, means and densities are of these rows, "
            "relative depths and P-values are of the fit."
        )
    if found.comparison is not None and found.comparison.table is None:
        out.append(f"The known labels have {count(len(found.comparison.names))} different values: too many to compare.")
    return out


def parameters(estimator: Any, settings: Mapping[str, Any] | None) -> tuple[list[tuple[str, str]], ...]:
    """Settings of the run and those of the estimator, as names and values."""
    run = [(clean(name), shortened(value, MOST_CHARACTERS)) for name, value in (settings or {}).items()]
    mine = [(name, shortened(_shown(value), MOST_CHARACTERS)) for name, value in estimator.get_params().items()]
    return run, mine


def _shown(value: Any) -> str:
    """A parameter; a function by its name, without an address that changes from run to run."""
    if callable(value):
        return f"{getattr(value, '__qualname__', type(value).__qualname__)} (a function)"
    if type(value).__module__ not in ("builtins", "numpy"):
        return type(value).__qualname__
    return " ".join(repr(value).split())


def versions() -> list[tuple[str, str]]:
    """What the report was made with."""
    found = [("Python", platform.python_version())]
    for package in PACKAGES:
        try:
            found.append((package, metadata.version(package)))
        except metadata.PackageNotFoundError:
            continue
    return found


def _many(n: int, one: str, more: str) -> str:
    return f"{count(n)} {one if n == 1 else more}"
