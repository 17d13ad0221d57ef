"""The semi-supervised study as text: errors, ranks, the paper's statements."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import rankdata, studentized_range

from ravine.experiments.label_methods import LabelMethod
from ravine.experiments.markdown import grid
from ravine.experiments.semisupervised import LABEL_SETS, MULTI_CLASS, label_counts

__all__ = ["Errors", "Verdict", "errors_csv", "errors_markdown", "label_summary", "mean_ranks", "verdicts"]

N_BOOTSTRAP = 500
# By set, number of labels and method: errors in per cent, problems by splits.
Errors = Mapping[tuple[str, int, str], NDArray[np.float64]]


@dataclass(frozen=True)
class Verdict:
    """A statement, whether it holds here, and our figures."""

    text: str
    holds: bool
    evidence: str


def _cells(errors: Errors) -> list[tuple[str, int]]:
    return [(s, n) for s in LABEL_SETS for n in label_counts(s) if any((s, n) == key[:2] for key in errors)]


def _values(errors: Errors, cell: tuple[str, int], method: str) -> NDArray[np.float64]:
    return errors[(*cell, method)].ravel()


def _median(errors: Errors, cell: tuple[str, int], method: str) -> float:
    return float(np.median(_values(errors, cell, method)))  # NaN if a problem failed


def standard_error_of_median(values: NDArray[np.float64]) -> float:
    """By the bootstrap: splits are drawn anew within every problem (row); the problems are those of the study."""
    rng = np.random.default_rng(0)
    n_problems, n_splits = values.shape
    rows = np.arange(n_problems)[:, None]
    drawn = values[rows, rng.integers(0, n_splits, (N_BOOTSTRAP, n_problems, n_splits))]
    return float(np.std(np.median(drawn, axis=(1, 2))))


def errors_csv(errors: Errors, methods: Sequence[LabelMethod]) -> str:
    """One line for each set, number of labels and method."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(
        ["set", "labels", "method", "median", "lower_quartile", "upper_quartile", "mean", "problems", "splits"]
    )
    for cell in _cells(errors):
        for method in methods:
            table = errors[(*cell, method.name)]
            numbers = [f"{x:.3f}" for x in (*np.percentile(table, [50, 25, 75]), table.mean())]
            writer.writerow([*cell, method.name, *numbers, *table.shape])
    return out.getvalue()


def errors_markdown(errors: Errors, methods: Sequence[LabelMethod]) -> str:
    """A table for each set: median and quartiles of the error."""
    parts = []
    for dataset in dict.fromkeys(cell[0] for cell in _cells(errors)):
        counts = label_counts(dataset)
        lowest = {n: np.nanmin([_median(errors, (dataset, n), m.name) for m in methods]) for n in counts}
        rows = {m.title: [_shown(errors[dataset, n, m.name], lowest[n]) for n in counts] for m in methods}
        parts.append(f"### {dataset}\n\n" + grid("error in %", [f"ℓ = {n}" for n in counts], rows))
    return "\n".join(parts)


def _shown(table: NDArray[np.float64], lowest: float) -> str:
    if np.isnan(table).any():
        return "failed"
    low, middle, high = np.percentile(table, [25, 50, 75])
    text = f"{middle:.1f}"
    return f"{f'**{text}**' if middle <= lowest + 0.05 else text} [{low:.1f}, {high:.1f}]"


def mean_ranks(errors: Errors, methods: Sequence[LabelMethod]) -> tuple[NDArray[np.float64], float]:
    """Mean ranks of the median errors over the sets (the cells of a set averaged first), and the critical difference.

    Two methods whose mean ranks differ by less than the critical difference (Nemenyi's test at 5 %, Demšar 2006) cannot
    be told apart. Only whole sets count as independent: the numbers of labels of a set share its rows.
    """
    by_set: dict[str, list[NDArray[np.float64]]] = {}
    for cell in _cells(errors):
        medians = [_median(errors, cell, m.name) for m in methods]
        by_set.setdefault(cell[0], []).append(rankdata(np.nan_to_num(medians, nan=np.inf)))
    ranks = np.mean([np.mean(of_set, axis=0) for of_set in by_set.values()], axis=0)
    k, n = len(methods), len(by_set)
    critical = studentized_range.ppf(0.95, k, math.inf) / math.sqrt(2.0) * math.sqrt(k * (k + 1) / (6.0 * n))
    return ranks, float(critical)


def _best_or_tied(errors: Errors, methods: Sequence[LabelMethod], name: str) -> dict[tuple[str, int], bool]:
    """For each cell, whether the median is within one standard error of the lowest one."""
    tied = {}
    for cell in _cells(errors):
        medians = {m.name: _median(errors, cell, m.name) for m in methods}
        best = min(medians, key=lambda m: math.inf if math.isnan(medians[m]) else medians[m])
        limit = medians[best] + standard_error_of_median(errors[(*cell, best)])
        tied[cell] = medians[name] <= limit
    return tied


def _worse_than(errors: Errors, name: str, other: str) -> list[tuple[str, int]]:
    """Cells where a method is worse than another by more than two standard errors of the mean difference."""
    worse = []
    for cell in _cells(errors):
        gap = (errors[(*cell, name)] - errors[(*cell, other)]).ravel()
        if not gap.mean() <= 2.0 * gap.std(ddof=1) / math.sqrt(len(gap)):  # a failure is worse, too
            worse.append(cell)
    return worse


def verdicts(errors: Errors, methods: Sequence[LabelMethod]) -> list[Verdict]:
    """Our own bars and the paper's statements, as far as the methods they need were run."""
    names = {m.name for m in methods}
    found = []
    if "ravine" in names:
        tied = _best_or_tied(errors, methods, "ravine")
        share = float(np.mean(list(tied.values())))
        missed = ", ".join(f"{s} ℓ={n}" for (s, n), ok in tied.items() if not ok)
        text = (
            "The median error of MinimumDensityClassifier (some settings found on these sets) is lowest, or within a "
            "bootstrap standard error of it, in 60 % of the cells."
        )
        found.append(Verdict(text, share >= 0.6, f"{share:.0%} of {len(tied)}{f'; not in {missed}' if missed else ''}"))
    if {"ravine", "linear-svc"} <= names:
        worse = _worse_than(errors, "ravine", "linear-svc")
        share = len(worse) / len(_cells(errors))
        text = (
            "Its mean error is above that of LinearSVC on the labels alone, by more than two standard errors, in at "
            "most 10 % of the cells."
        )
        listed = ", ".join(f"{s} ℓ={n}" for s, n in worse) or "nowhere"
        found.append(Verdict(text, share <= 0.1, f"{share:.1%}: {listed}"))
    rivals = [m for m in methods if m.in_paper]
    if {"mdp2", "lapsvm", "sssl", "xnv"} <= names:
        found += [
            _best_on_many_classes(errors, rivals),
            _strongest_with_few_labels(errors, rivals),
            _lapsvm_ahead_on_ionosphere(errors),
            _xnv_varies_on_satellite(errors, rivals),
        ]
    if {"tsvm", "mdp2"} <= names:
        found.append(_tsvm_not_competitive(errors, [*rivals, *(m for m in methods if m.name == "tsvm")]))
    return [v for v in found if v.evidence]


def _best_on_many_classes(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    tied = {c: ok for c, ok in _best_or_tied(errors, rivals, "mdp2").items() if c[0] in MULTI_CLASS}
    missed = ", ".join(f"{s} ℓ={n}" for (s, n), ok in tied.items() if not ok)
    evidence = f"{sum(tied.values())} of {len(tied)} cells{f'; not in {missed}' if missed else ''}" if tied else ""
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
    cells = [c for c in _cells(errors) if c[0] == "ionosphere"]
    pairs = [(n, _median(errors, (s, n), "lapsvm"), _median(errors, (s, n), "mdp2")) for s, n in cells]
    evidence = ", ".join(f"ℓ={n}: {lap:.1f} against {ours:.1f}" for n, lap, ours in pairs)
    holds = all(lap < ours for _, lap, ours in pairs)
    return Verdict("LapSVM is better than MDP² on ionosphere for every ℓ.", holds, evidence)


def _xnv_varies_on_satellite(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    cells = [c for c in _cells(errors) if c[0] == "satellite"]
    if not cells:
        return Verdict("XNV varies most on satellite.", False, "")
    spread = {
        m.title: float(np.mean([np.subtract(*np.percentile(_values(errors, c, m.name), [75, 25])) for c in cells]))
        for m in rivals
    }
    evidence = "mean interquartile range: " + ", ".join(f"{title} {width:.1f}" for title, width in spread.items())
    return Verdict("The error of XNV varies by far most on satellite.", max(spread, key=spread.get) == "XNV", evidence)  # type: ignore[arg-type]


def _tsvm_not_competitive(errors: Errors, rivals: Sequence[LabelMethod]) -> Verdict:
    tied = _best_or_tied(errors, rivals, "tsvm")
    evidence = f"best or tied, among the paper's methods, in {sum(tied.values())} of {len(tied)} cells"
    return Verdict("The gradient S³VM is not competitive on any set.", not any(tied.values()), evidence)


def label_summary(
    errors: Errors,
    seconds: Mapping[str, NDArray[np.float64]],
    failures: Sequence[str],
    methods: Sequence[LabelMethod],
    runs: Sequence[Mapping[str, object]],
    size: str,
) -> str:
    """Everything about the study that a reader should know."""
    ranks, critical = mean_ranks(errors, methods)
    order = np.argsort(ranks)
    ranked = {
        methods[k].title: [
            f"{ranks[k]:.2f}",
            "yes" if ranks[k] - ranks.min() <= critical else "no",
            f"{np.median(seconds[methods[k].name]):.3g}" if len(seconds[methods[k].name]) else "–",
        ]
        for k in order
    }
    parts = [
        "# Semi-supervised classification: figures 7 and 8 of “Minimum Density Hyperplanes” in numbers\n",
        f"Size of the study: {size}. Columns of every problem of two classes are standardised. Labelled rows are drawn "
        "at random, again if a class is missing, and are the same for every method; the error is that on the "
        "unlabelled rows. Sets of more than two classes are cut into pairs of classes. A cell is the median "
        "[and quartiles] over pairs and splits; bold are the lowest median and those within 0.05 of it.\n",
        errors_markdown(errors, methods),
        "## Mean ranks\n",
        grid("method", ["mean rank", "not told apart from the first", "seconds a fit"], ranked),
        f"Ranks are averaged over the numbers of labels of a set and then over the sets. Critical difference (Nemenyi, "
        f"5 %): {critical:.2f}.\n",
        "## What the paper says, and what we ask of ourselves\n",
        grid(
            "statement",
            ["here", "figures"],
            {v.text: ["holds" if v.holds else "**does not hold**", v.evidence] for v in verdicts(errors, methods)},
        ),
        "## Settings\n",
        grid("method", ["settings"], {m.title: [m.settings] for m in methods}),
    ]
    if failures:
        parts.append("## What failed\n\n" + "\n".join(f"- {failure}" for failure in failures) + "\n")
    parts += [f"Run with {run['environment']}.\n" for run in runs[-1:]]
    return "\n".join(parts)
