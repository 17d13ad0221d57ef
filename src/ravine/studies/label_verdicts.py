"""What the semi-supervised study says of the paper's statements and of our own bars."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import fisher_exact

from ravine.studies.label_methods import LabelMethod
from ravine.studies.semisupervised import BINARY, LABEL_SETS, MULTI_CLASS, label_counts

__all__ = ["Cell", "Errors", "Verdict", "cells", "median", "standard_error_of_median", "verdicts"]

N_BOOTSTRAP = 500
# "Almost every" case: this part of them.
ALMOST_EVERY = 0.9
# Differences are told from chance by so many standard errors, or at this level.
TOLD_APART, LEVEL = 2.0, 0.05
# "By far" the most: so many times the next.
BY_FAR = 2.0
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
        <= TOLD_APART
        * standard_error_of_median(errors[(*cell, name)], errors[(*cell, other)])  # a failure is worse, too
    ]


def _worse_in_mean(errors: Errors, name: str, other: str) -> list[Cell]:
    """Cells where a mean is above another by more than two standard errors of the mean difference."""
    worse = []
    for cell in cells(errors):
        gap = (errors[(*cell, name)] - errors[(*cell, other)]).ravel()
        error = gap.std(ddof=1) / math.sqrt(len(gap)) if len(gap) > 1 else math.nan
        if not gap.mean() <= TOLD_APART * error:  # a failure is worse, too
            worse.append(cell)
    return worse


def verdicts(errors: Errors, methods: Sequence[LabelMethod]) -> list[Verdict]:
    """Our own bars and the paper's statements, as far as the methods they need were run."""
    names = {m.name for m in methods}
    rivals = [m for m in methods if m.in_paper]
    found = []  # need more than one split
    plain = []
    if "ravine" in names:
        found += [_mostly_best(errors, methods, paired) for paired in (False, True)]
    if {"ravine", "linear-svc"} <= names:
        found += _rarely_worse(errors)
    if {"mdp2", "lapsvm", "sssl", "xnv"} <= names:
        found += [
            _comparable_on_two_classes(errors, rivals),
            _best_on_many_classes(errors, rivals),
            _strongest_with_few_labels(errors, rivals),
            _lapsvm_ahead_on_ionosphere(errors),
        ]
    if {"tsvm", "mdp2"} <= names:
        found.append(_tsvm_not_competitive(errors, [*rivals, *(m for m in methods if m.name == "tsvm")]))
    if {"mdp2", "lapsvm", "sssl", "xnv"} <= names:
        found.append(_xnv_varies_on_satellite(errors, rivals, within=True))
        plain.append(_xnv_varies_on_satellite(errors, rivals, within=False))
    if any(table.shape[1] < 2 for table in errors.values()):
        found = [Verdict(v.text, None, v.evidence and "one split says nothing of chance") for v in found]
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
    evidence = _share(tied)
    if any(m.name == "mdp2" for m in methods):
        by_paper = _best_or_tied(errors, methods, "mdp2", paired)
        evidence += f"; MDP² with the paper's settings, by the same rule: {_share(by_paper)}"
    evidence += _but(c for c, ok in tied.items() if not ok).replace("not in", "the defaults not in")
    return Verdict(text, sum(tied.values()) >= 0.6 * len(tied), evidence)


def _share(tied: Mapping[Cell, bool]) -> str:
    return f"{_count(tied.values())} ({sum(tied.values()) / len(tied):.1%})"


def _count(tied: Iterable[bool]) -> str:
    found = list(tied)
    return f"{sum(found)} of {len(found)}"


def _by_set(tied: Mapping[Cell, bool]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = {}
    for (dataset, _), ok in tied.items():
        found.setdefault(dataset, []).append(ok)
    return found


def _listed_by_set(tied: Mapping[Cell, bool]) -> str:
    return ", ".join(f"{dataset} {_count(ok)}" for dataset, ok in _by_set(tied).items())


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


def _comparable_on_two_classes(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    tied = {c: ok for c, ok in _best_or_tied(errors, rivals, "mdp2").items() if c[0] in BINARY}
    others = [ok for c, ok in tied.items() if c[0] != "ionosphere"]
    text = (
        "On the sets of two classes MDP² is comparable with the best method in almost every case, with ionosphere as "
        f"the only exception: best or tied in at least {ALMOST_EVERY:.0%} of the cells of the other three."
    )
    evidence = f"{_count(others)} there; with ionosphere {_count(tied.values())}: {_listed_by_set(tied)}"
    return Verdict(text, sum(others) >= ALMOST_EVERY * len(others), evidence if others else "")


def _best_on_many_classes(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    tied = {c: ok for c, ok in _best_or_tied(errors, rivals, "mdp2").items() if c[0] in MULTI_CLASS}
    missed = _but(c for c, ok in tied.items() if not ok)
    evidence = f"{sum(tied.values())} of {len(tied)} cells{missed}" if tied else ""
    return Verdict(
        "MDP² has the lowest or tied lowest median on the multi-class sets for every ℓ.", not missed, evidence
    )


def _strongest_with_few_labels(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    tied = _best_or_tied(errors, rivals, "mdp2")

    def counted(sets: Sequence[str]) -> list[list[bool]]:
        """With few labels, and with more."""
        return [
            [ok for (s, n), ok in tied.items() if s in sets and (n in label_counts(s)[:2]) == small]
            for small in (True, False)
        ]

    few, many = counted(LABEL_SETS)
    p = float(fisher_exact([[sum(few), len(few) - sum(few)], [sum(many), len(many) - sum(many)]])[1])
    ahead = sum(few) * len(many) > sum(many) * len(few)
    strata = "; ".join(
        f"{name}: {_count(of_few)} against {_count(of_many)}"
        for name, (of_few, of_many) in (("two classes", counted(BINARY)), ("more", counted(MULTI_CLASS)))
        if of_few or of_many
    )
    evidence = (
        f"best or tied in {_count(few)} cells with ℓ ≤ 10, in {_count(many)} others ({strata}); Fisher's exact test, "
        f"as if cells were independent: p = {p:.2g}"
    )
    if p > LEVEL:
        evidence += f"; points {'that' if ahead else 'no such'} way, cannot be told"
    text = "MDP² is most competitive when there are few labels."
    return Verdict(text, None if p > LEVEL else ahead, evidence)


def _lapsvm_ahead_on_ionosphere(errors: Errors) -> Verdict:
    gaps = {}
    for cell in cells(errors):
        if cell[0] == "ionosphere":
            gap = median(errors, cell, "lapsvm") - median(errors, cell, "mdp2")
            gaps[cell[1]] = gap, standard_error_of_median(errors[(*cell, "lapsvm")], errors[(*cell, "mdp2")])
    ahead = [n for n, (gap, error) in gaps.items() if gap < -TOLD_APART * error]
    behind = [n for n, (gap, error) in gaps.items() if gap > TOLD_APART * error]
    evidence = ", ".join(f"ℓ={n}: {gap:+.1f} ± {error:.1f}" for n, (gap, error) in gaps.items())
    if gaps:
        told = [
            f"{who} {', '.join(f'ℓ={n}' for n in ns)}"
            for who, ns in (("ahead with", ahead), ("behind with", behind))
            if ns
        ]
        evidence = (
            f"median of LapSVM minus that of MDP² ± standard error of the difference: {evidence}; by more than "
            f"{TOLD_APART:.0f} of these LapSVM is {' and '.join(told) or 'neither ahead nor behind with any ℓ'}"
        )
    text = "LapSVM is better than MDP² on ionosphere for every ℓ."
    return Verdict(text, False if behind else True if len(ahead) == len(gaps) else None, evidence)


def _xnv_varies_on_satellite(errors: Errors, rivals: Sequence[LabelMethod], within: bool) -> Verdict:
    of_what = "over the splits of a pair, mean of the pairs" if within else "over pairs and splits together"
    text = (
        f"The error of XNV varies by far most on satellite: its interquartile range ({of_what}) is, in the mean over "
        f"ℓ, at least {BY_FAR:.0f} times the next."
    )
    counts = [c for c in cells(errors) if c[0] == "satellite"]
    if not counts:
        return Verdict(text, False, "")
    ranges = {m.name: np.array([_interquartile_range(errors[(*c, m.name)], within) for c in counts]) for m in rivals}
    own, others = ranges["xnv"], np.max([r for name, r in ranges.items() if name != "xnv"], axis=0)
    means = {m.title: float(ranges[m.name].mean()) for m in rivals}
    next_mean = max(mean for title, mean in means.items() if title != "XNV")
    evidence = (
        f"{', '.join(f'{title} {mean:.1f}' for title, mean in means.items())}; XNV varies most for "
        f"{np.sum(own > others)} of {len(counts)} ℓ, {BY_FAR:.0f} times as much as the next for "
        f"{np.sum(own >= BY_FAR * others)}"
    )
    return Verdict(text, bool(means["XNV"] >= BY_FAR * next_mean), evidence)


def _interquartile_range(table: NDArray[np.float64], within: bool) -> float:
    low, high = np.percentile(table, [25, 75], axis=1 if within else None)
    return float(np.mean(high - low))


def _tsvm_not_competitive(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    tied = _best_or_tied(errors, rivals, "tsvm")
    competitive = [dataset for dataset, ok in _by_set(tied).items() if 2 * sum(ok) >= len(ok)]
    return Verdict(
        "The gradient S³VM is not competitive on any set: on none is it best or tied in half of the cells.",
        not competitive,
        f"best or tied, among the paper's methods: {_listed_by_set(tied)}",
    )
