"""What the semi-supervised study says of the paper's statements and of our own bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ravine.experiments.label_methods import LabelMethod
from ravine.experiments.semisupervised import LABEL_SETS, MULTI_CLASS, label_counts

__all__ = ["Cell", "Errors", "Verdict", "cells", "median", "standard_error_of_median", "verdicts"]

N_BOOTSTRAP = 500
# A set and a number of labels.
Cell = tuple[str, int]
# By set, number of labels and method: errors in per cent, problems by splits.
Errors = Mapping[tuple[str, int, str], NDArray[np.float64]]


@dataclass(frozen=True)
class Verdict:
    """A statement, whether it holds here (None if that cannot be said), and our figures."""

    text: str
    holds: bool | None
    evidence: str


def cells(errors: Errors) -> list[Cell]:
    """Sets and numbers of labels, in the order of the tables."""
    return [(s, n) for s in LABEL_SETS for n in label_counts(s) if any((s, n) == key[:2] for key in errors)]


def median(errors: Errors, cell: Cell, method: str) -> float:
    """Over problems and splits; NaN if a problem failed."""
    return float(np.median(errors[(*cell, method)]))


def bootstrap_medians(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Medians of samples with splits drawn anew within every problem (row): the problems are those of the study.

    For every method the same splits are drawn, so that differences of these medians are paired.
    """
    n_problems, n_splits = values.shape
    drawn = np.random.default_rng(0).integers(0, n_splits, (N_BOOTSTRAP, n_problems, n_splits))
    return np.asarray(np.median(values[np.arange(n_problems)[:, None], drawn], axis=(1, 2)))


def standard_error_of_median(values: NDArray[np.float64], other: NDArray[np.float64] | None = None) -> float:
    """Of the median, or of its difference from another method's, by the bootstrap; NaN for a single split."""
    if values.shape[1] < 2:
        return math.nan
    medians = bootstrap_medians(values)
    return float(np.std(medians if other is None else medians - bootstrap_medians(other)))


def _best_or_tied(errors: Errors, methods: Sequence[LabelMethod], name: str, paired: bool = False) -> dict[Cell, bool]:
    """For each cell, whether the median is the lowest or at most a standard error above it.

    The standard error is that of the lowest median, or with ``paired`` that of the difference from it.
    """
    tied = {}
    for cell in cells(errors):
        medians = {m.name: median(errors, cell, m.name) for m in methods}
        best = min(medians, key=lambda m: math.inf if math.isnan(medians[m]) else medians[m])
        lowest = errors[(*cell, best)]
        error = standard_error_of_median(errors[(*cell, name)], lowest) if paired else standard_error_of_median(lowest)
        tied[cell] = medians[name] <= medians[best] + error
    return tied


def _worse_in_median(errors: Errors, name: str, other: str) -> list[Cell]:
    """Cells where a median is above another by more than two standard errors of their difference."""
    return [
        cell
        for cell in cells(errors)
        if not median(errors, cell, name) - median(errors, cell, other)
        <= 2.0 * standard_error_of_median(errors[(*cell, name)], errors[(*cell, other)])  # a failure is worse, too
    ]


def _worse_in_mean(errors: Errors, name: str, other: str) -> list[Cell]:
    """Cells where a mean is above another by more than two standard errors of the mean difference."""
    worse = []
    for cell in cells(errors):
        gap = (errors[(*cell, name)] - errors[(*cell, other)]).ravel()
        error = gap.std(ddof=1) / math.sqrt(len(gap)) if len(gap) > 1 else math.nan
        if not gap.mean() <= 2.0 * error:  # a failure is worse, too
            worse.append(cell)
    return worse


def verdicts(errors: Errors, methods: Sequence[LabelMethod]) -> list[Verdict]:
    """Our own bars and the paper's statements, as far as the methods they need were run."""
    names = {m.name for m in methods}
    rivals = [m for m in methods if m.in_paper]
    found = []  # with standard errors
    plain = []
    if "ravine" in names:
        found += [_mostly_best(errors, methods, paired) for paired in (False, True)]
    if {"ravine", "linear-svc"} <= names:
        found += _rarely_worse(errors)
    if {"mdp2", "lapsvm", "sssl", "xnv"} <= names:
        found += [_best_on_many_classes(errors, rivals), _strongest_with_few_labels(errors, rivals)]
        plain = [_lapsvm_ahead_on_ionosphere(errors), _xnv_varies_on_satellite(errors, rivals)]
    if {"tsvm", "mdp2"} <= names:
        found.append(_tsvm_not_competitive(errors, [*rivals, *(m for m in methods if m.name == "tsvm")]))
    if any(table.shape[1] < 2 for table in errors.values()):
        found = [Verdict(v.text, None, v.evidence and "one split has no standard error") for v in found]
    return [v for v in (*found, *plain) if v.evidence]


def _listed(cells_: Iterable[Cell]) -> str:
    return ", ".join(f"{s} ℓ={n}" for s, n in cells_)


def _but(cells_: Iterable[Cell]) -> str:
    listed = _listed(cells_)
    return f"; not in {listed}" if listed else ""


def _mostly_best(errors: Errors, methods: Sequence[LabelMethod], paired: bool) -> Verdict:
    tied = _best_or_tied(errors, methods, "ravine", paired)
    of_what = "of the difference of the two medians (paired bootstrap)" if paired else "of that lowest median"
    text = (
        "The median error of MinimumDensityClassifier (some settings found on these sets) is the lowest, or above it "
        f"by at most one standard error {of_what}, in at least 60 % of the cells."
    )
    share = sum(tied.values()) / len(tied)
    evidence = f"{sum(tied.values())} of {len(tied)} ({share:.1%}){_but(c for c, ok in tied.items() if not ok)}"
    return Verdict(text, share >= 0.6, evidence)


def _rarely_worse(errors: Errors) -> list[Verdict]:
    found = []
    for what, of_what, worse in (
        ("median", "the difference of medians (paired bootstrap)", _worse_in_median(errors, "ravine", "linear-svc")),
        ("mean", "the mean difference over pairs and splits", _worse_in_mean(errors, "ravine", "linear-svc")),
    ):
        n = len(cells(errors))
        text = (
            f"Its {what} error is above that of LinearSVC on the labels alone, by more than two standard errors of "
            f"{of_what}, in at most 10 % of the cells."
        )
        evidence = f"{len(worse)} of {n} ({len(worse) / n:.1%}){': ' if worse else ''}{_listed(worse)}"
        found.append(Verdict(text, len(worse) <= 0.1 * n, evidence))
    return found


def _best_on_many_classes(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    tied = {c: ok for c, ok in _best_or_tied(errors, rivals, "mdp2").items() if c[0] in MULTI_CLASS}
    missed = _but(c for c, ok in tied.items() if not ok)
    evidence = f"{sum(tied.values())} of {len(tied)} cells{missed}" if tied else ""
    return Verdict(
        "MDP² has the lowest or tied lowest median on the multi-class sets for every ℓ.", not missed, evidence
    )


def _strongest_with_few_labels(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    tied = _best_or_tied(errors, rivals, "mdp2")
    few, many = (
        np.mean([ok for (s, n), ok in tied.items() if (n in label_counts(s)[:2]) == small]) for small in (True, False)
    )
    evidence = f"best or tied in {few:.0%} of the cells with ℓ ≤ 10, in {many:.0%} of the others"
    return Verdict("MDP² is most competitive when there are few labels.", bool(few > many), evidence)


def _lapsvm_ahead_on_ionosphere(errors: Errors) -> Verdict:
    pairs = [
        (c[1], median(errors, c, "lapsvm"), median(errors, c, "mdp2")) for c in cells(errors) if c[0] == "ionosphere"
    ]
    evidence = ", ".join(f"ℓ={n}: {lap:.1f} against {ours:.1f}" for n, lap, ours in pairs)
    holds = all(lap < ours for _, lap, ours in pairs)
    return Verdict("LapSVM is better than MDP² on ionosphere for every ℓ.", holds, evidence)


def _xnv_varies_on_satellite(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    text = "The error of XNV varies by far most on satellite."
    tables = {m.title: [errors[(*c, m.name)] for c in cells(errors) if c[0] == "satellite"] for m in rivals}
    spread = {
        title: float(np.mean([np.subtract(*np.percentile(table, [75, 25])) for table in of_method]))
        for title, of_method in tables.items()
        if of_method
    }
    if not spread:
        return Verdict(text, False, "")
    evidence = "mean interquartile range: " + ", ".join(f"{title} {width:.1f}" for title, width in spread.items())
    return Verdict(text, max(spread, key=lambda title: spread[title]) == "XNV", evidence)


def _tsvm_not_competitive(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    by_set: dict[str, list[bool]] = {}
    for (dataset, _), ok in _best_or_tied(errors, rivals, "tsvm").items():
        by_set.setdefault(dataset, []).append(ok)
    competitive = [dataset for dataset, ok in by_set.items() if 2 * sum(ok) >= len(ok)]
    counts = ", ".join(f"{dataset} {sum(ok)} of {len(ok)}" for dataset, ok in by_set.items())
    return Verdict(
        "The gradient S³VM is not competitive on any set: on none is it best or tied in half of the cells.",
        not competitive,
        f"best or tied, among the paper's methods: {counts}",
    )
