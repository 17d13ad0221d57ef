"""Statements about the semi-supervised study: those of the paper, and our own requirements."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from scipy.stats import fisher_exact

from ravine_paper._typing import Array
from ravine_paper.studies.engine.claims import Claim
from ravine_paper.studies.semi_supervised.methods import LabelMethod
from ravine_paper.studies.semi_supervised.tasks import BINARY, LABEL_SETS, MULTI_CLASS, count_labels

__all__ = [
    "CellKey",
    "Errors",
    "check_label_claims",
    "compute_median",
    "estimate_standard_error",
    "list_cells",
]

N_BOOTSTRAP = 500
# Share of the cells that "almost every case" requires.
ALMOST_EVERY = 0.9
# A difference is significant if it exceeds this many standard errors, or at this level.
N_STANDARD_ERRORS, LEVEL = 2.0, 0.05
# "By far" the most: this many times the next.
BY_FAR = 2.0
# A set and a number of labels.
CellKey = tuple[str, int]
# By set, number of labels and method: errors in per cent, problems by splits.
Errors = Mapping[tuple[str, int, str], Array]
Methods = Sequence[LabelMethod]


def list_cells(errors: Errors) -> list[CellKey]:
    """Return the sets and numbers of labels, in the order of the tables."""
    return [(s, n) for s in LABEL_SETS for n in count_labels(s) if any((s, n) == key[:2] for key in errors)]


def compute_median(errors: Errors, cell: CellKey, method: str) -> float:
    """Return the median over problems and splits; NaN if a problem failed."""
    return float(np.median(errors[(*cell, method)]))


def _bootstrap_medians(values: Array) -> Array:
    """Return medians of samples in which the splits of every problem (row) are resampled.

    The problems are fixed. The same splits are drawn for every method, so differences of these medians are paired.
    """
    n_problems, n_splits = values.shape
    drawn = np.random.default_rng(0).integers(0, n_splits, (N_BOOTSTRAP, n_problems, n_splits))
    return np.asarray(np.median(values[np.arange(n_problems)[:, None], drawn], axis=(1, 2)))


def estimate_standard_error(values: Array, other: Array | None = None) -> float:
    """Estimate the standard error of a median, or of a difference of medians; NaN for a single split.

    Parameters
    ----------
    values : ndarray of shape (n_problems, n_splits)
        Errors of a method.
    other : ndarray of shape (n_problems, n_splits), optional
        Errors of the method whose median is subtracted.
    """
    if values.shape[1] < 2:
        return math.nan
    medians = _bootstrap_medians(values)
    return float(np.std(medians if other is None else medians - _bootstrap_medians(other)))


def _find_ties(errors: Errors, methods: Methods, name: str, paired: bool = False) -> dict[CellKey, bool]:
    """Return for each cell whether the median is at most one standard error above the lowest.

    The standard error is that of the lowest median, or with ``paired`` that of the difference from it.
    """
    tied = {}
    for cell in list_cells(errors):
        medians = {m.name: compute_median(errors, cell, m.name) for m in methods}
        best = min(medians, key=lambda m: math.inf if math.isnan(medians[m]) else medians[m])
        lowest = errors[(*cell, best)]
        error = estimate_standard_error(errors[(*cell, name)], lowest) if paired else estimate_standard_error(lowest)
        tied[cell] = medians[name] <= medians[best] + error
    return tied


def _find_worse_medians(errors: Errors, name: str, other: str) -> list[CellKey]:
    """Return the cells where a median is significantly above that of another method, or missing."""
    worse = []
    for cell in list_cells(errors):
        gap = compute_median(errors, cell, name) - compute_median(errors, cell, other)
        error = estimate_standard_error(errors[(*cell, name)], errors[(*cell, other)])
        if not gap <= N_STANDARD_ERRORS * error:
            worse.append(cell)
    return worse


def _find_worse_means(errors: Errors, name: str, other: str) -> list[CellKey]:
    """Return the cells where a mean is significantly above that of another method, or missing."""
    worse = []
    for cell in list_cells(errors):
        gap = (errors[(*cell, name)] - errors[(*cell, other)]).ravel()
        error = gap.std(ddof=1) / math.sqrt(len(gap)) if len(gap) > 1 else math.nan
        if not gap.mean() <= N_STANDARD_ERRORS * error:
            worse.append(cell)
    return worse


def check_label_claims(errors: Errors, methods: Methods) -> list[Claim]:
    """Check our own requirements and the statements of the paper, as far as the methods that they need were run."""
    names = {m.name for m in methods}
    rivals = [m for m in methods if m.in_paper]
    has_rivals = {"mdp2", "lapsvm", "sssl", "xnv"} <= names
    claims = []  # these need more than one split
    pooled = []
    if "ravine" in names:
        claims += [_check_mostly_best(errors, methods, paired) for paired in (False, True)]
    if {"ravine", "linear-svc"} <= names:
        claims += _check_rarely_worse(errors)
    if has_rivals:
        claims += [
            _check_two_classes(errors, rivals),
            _check_many_classes(errors, rivals),
            _check_few_labels(errors, rivals),
            _check_lapsvm_on_ionosphere(errors),
        ]
    if {"tsvm", "mdp2"} <= names:
        claims.append(_check_tsvm(errors, [*rivals, *(m for m in methods if m.name == "tsvm")]))
    if has_rivals:
        claims.append(_check_variation_of_xnv(errors, rivals, within=True))
        pooled.append(_check_variation_of_xnv(errors, rivals, within=False))
    if any(table.shape[1] < 2 for table in errors.values()):
        claims = [Claim(c.text, None, c.evidence and "one split gives no standard error") for c in claims]
    return [c for c in (*claims, *pooled) if c.evidence]


# ----------------------------------------------------------------------------------------------- words


def _format_cells(cells: Iterable[CellKey]) -> str:
    return ", ".join(f"{s} ℓ={n}" for s, n in cells)


def _format_exceptions(tied: Mapping[CellKey, bool]) -> str:
    missed = _format_cells(cell for cell, ok in tied.items() if not ok)
    return f"not in {missed}" if missed else ""


def _format_share(tied: Mapping[CellKey, bool]) -> str:
    return f"{_format_fraction(tied.values())} ({sum(tied.values()) / len(tied):.1%})"


def _format_fraction(tied: Iterable[bool]) -> str:
    found = list(tied)
    return f"{sum(found)} of {len(found)}"


def _group_by_set(tied: Mapping[CellKey, bool]) -> dict[str, list[bool]]:
    found: dict[str, list[bool]] = {}
    for (dataset, _), ok in tied.items():
        found.setdefault(dataset, []).append(ok)
    return found


def _format_by_set(tied: Mapping[CellKey, bool]) -> str:
    return ", ".join(f"{dataset} {_format_fraction(ok)}" for dataset, ok in _group_by_set(tied).items())


# ----------------------------------------------------------------------------------------------- our requirements


def _check_mostly_best(errors: Errors, methods: Methods, paired: bool) -> Claim:
    tied = _find_ties(errors, methods, "ravine", paired)
    kind = "of the difference of the two medians (paired bootstrap)" if paired else "of that lowest median"
    text = (
        "The median error of MinimumDensityClassifier is the lowest, or above it "
        f"by at most one standard error {kind}, in at least 60 % of the cells."
    )
    parts = [_format_share(tied)]
    if any(m.name == "mdp2" for m in methods):
        by_paper = _find_ties(errors, methods, "mdp2", paired)
        parts.append(f"MDP² with the paper's settings, by the same rule: {_format_share(by_paper)}")
    if missed := _format_exceptions(tied):
        parts.append(f"the defaults {missed}")
    return Claim(text, sum(tied.values()) >= 0.6 * len(tied), "; ".join(parts))


def _check_rarely_worse(errors: Errors) -> list[Claim]:
    claims = []
    n = len(list_cells(errors))
    for what, kind, find_worse in (
        ("median", "the difference of medians (paired bootstrap)", _find_worse_medians),
        ("mean", "the mean difference over pairs and splits", _find_worse_means),
    ):
        worse = find_worse(errors, "ravine", "linear-svc")
        text = (
            f"Its {what} error exceeds that of LinearSVC on the labels alone by more than two standard errors of "
            f"{kind} in at most 10 % of the cells."
        )
        evidence = f"{len(worse)} of {n} ({len(worse) / n:.1%}){': ' if worse else ''}{_format_cells(worse)}"
        claims.append(Claim(text, len(worse) <= 0.1 * n, evidence))
    return claims


# ----------------------------------------------------------------------------------------------- the paper


def _check_two_classes(errors: Errors, rivals: Methods) -> Claim:
    tied = {c: ok for c, ok in _find_ties(errors, rivals, "mdp2").items() if c[0] in BINARY}
    others = [ok for c, ok in tied.items() if c[0] != "ionosphere"]
    text = (
        "On the sets of two classes MDP² is comparable with the best method in almost every case, with ionosphere as "
        f"the only exception: best or tied in at least {ALMOST_EVERY:.0%} of the cells of the other three."
    )
    evidence = (
        f"{_format_fraction(others)} there; with ionosphere {_format_fraction(tied.values())}: {_format_by_set(tied)}"
    )
    return Claim(text, sum(others) >= ALMOST_EVERY * len(others), evidence if others else "")


def _check_many_classes(errors: Errors, rivals: Methods) -> Claim:
    tied = {c: ok for c, ok in _find_ties(errors, rivals, "mdp2").items() if c[0] in MULTI_CLASS}
    missed = _format_exceptions(tied)
    evidence = f"{_format_fraction(tied.values())} cells{f'; {missed}' if missed else ''}" if tied else ""
    return Claim("MDP² has the lowest or tied lowest median on the multi-class sets for every ℓ.", not missed, evidence)


def _check_few_labels(errors: Errors, rivals: Methods) -> Claim:
    tied = _find_ties(errors, rivals, "mdp2")

    def divide(sets: Sequence[str]) -> list[list[bool]]:
        """Return the cells with few labels, and those with more."""
        return [
            [ok for (s, n), ok in tied.items() if s in sets and (n in count_labels(s)[:2]) == small]
            for small in (True, False)
        ]

    few, many = divide(LABEL_SETS)
    p = float(fisher_exact([[sum(few), len(few) - sum(few)], [sum(many), len(many) - sum(many)]])[1])
    ahead = sum(few) * len(many) > sum(many) * len(few)
    strata = "; ".join(
        f"{name}: {_format_fraction(of_few)} against {_format_fraction(of_many)}"
        for name, (of_few, of_many) in (("two classes", divide(BINARY)), ("more", divide(MULTI_CLASS)))
        if of_few or of_many
    )
    evidence = (
        f"best or tied in {_format_fraction(few)} cells with ℓ ≤ 10, in {_format_fraction(many)} others ({strata}); "
        f"Fisher's exact test, as if cells were independent: p = {p:.2g}"
    )
    if p > LEVEL:
        evidence += f"; the difference {'agrees with' if ahead else 'contradicts'} the statement but is not significant"
    text = "MDP² is most competitive when there are few labels."
    return Claim(text, None if p > LEVEL else ahead, evidence)


def _check_lapsvm_on_ionosphere(errors: Errors) -> Claim:
    gaps = {}
    for cell in list_cells(errors):
        if cell[0] == "ionosphere":
            gap = compute_median(errors, cell, "lapsvm") - compute_median(errors, cell, "mdp2")
            gaps[cell[1]] = gap, estimate_standard_error(errors[(*cell, "lapsvm")], errors[(*cell, "mdp2")])
    ahead = [n for n, (gap, error) in gaps.items() if gap < -N_STANDARD_ERRORS * error]
    behind = [n for n, (gap, error) in gaps.items() if gap > N_STANDARD_ERRORS * error]
    evidence = ", ".join(f"ℓ={n}: {gap:+.1f} ± {error:.1f}" for n, (gap, error) in gaps.items())
    if gaps:
        places = [
            f"{word} with {', '.join(f'ℓ={n}' for n in counts)}"
            for word, counts in (("ahead", ahead), ("behind", behind))
            if counts
        ]
        evidence = (
            f"median of LapSVM minus that of MDP² ± standard error of the difference: {evidence}; by more than "
            f"{N_STANDARD_ERRORS:.0f} standard errors LapSVM is "
            f"{' and '.join(places) or 'neither ahead nor behind with any ℓ'}"
        )
    text = "LapSVM is better than MDP² on ionosphere for every ℓ."
    return Claim(text, False if behind else True if len(ahead) == len(gaps) else None, evidence)


def _check_variation_of_xnv(errors: Errors, rivals: Methods, within: bool) -> Claim:
    kind = "over the splits of a pair, mean of the pairs" if within else "over pairs and splits together"
    text = (
        f"The error of XNV varies by far the most on satellite: its interquartile range ({kind}), averaged over "
        f"ℓ, is at least {BY_FAR:.0f} times the next."
    )
    counts = [c for c in list_cells(errors) if c[0] == "satellite"]
    if not counts:
        return Claim(text, False)
    ranges = {m.name: np.array([_interquartile_range(errors[(*c, m.name)], within) for c in counts]) for m in rivals}
    own, others = ranges["xnv"], np.max([r for name, r in ranges.items() if name != "xnv"], axis=0)
    means = {m.title: float(ranges[m.name].mean()) for m in rivals}
    next_mean = max(mean for title, mean in means.items() if title != "XNV")
    evidence = (
        f"{', '.join(f'{title} {mean:.1f}' for title, mean in means.items())}; XNV varies most for "
        f"{np.sum(own > others)} of {len(counts)} ℓ, {BY_FAR:.0f} times as much as the next for "
        f"{np.sum(own >= BY_FAR * others)}"
    )
    return Claim(text, bool(means["XNV"] >= BY_FAR * next_mean), evidence)


def _interquartile_range(table: Array, within: bool) -> float:
    low, high = np.percentile(table, [25, 75], axis=1 if within else None)
    return float(np.mean(high - low))


def _check_tsvm(errors: Errors, rivals: Methods) -> Claim:
    tied = _find_ties(errors, rivals, "tsvm")
    competitive = [dataset for dataset, ok in _group_by_set(tied).items() if 2 * sum(ok) >= len(ok)]
    return Claim(
        "The gradient S³VM is not competitive on any set: on none is it best or tied in half of the cells.",
        not competitive,
        f"best or tied, among the paper's methods: {_format_by_set(tied)}",
    )
