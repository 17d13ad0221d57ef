"""Tables of docs/evidence.md, from stored results: a header and rows of strings."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

import numpy as np
from scipy.stats import rankdata

from clusterers import AUTOMATIC, GIVEN_K, PUBLISHED
from latent_classes import FEATURES
from mixtures import SHAPES
from problems import (
    ANSWER_SEEDS,
    AUTO_SEEDS,
    AXES,
    BORDERLINE,
    DESIGNS,
    DISTANCES,
    N_MIXTURES,
    SHOWN_SEEDS,
    list_designs,
    name_design,
    name_nulls,
)
from results import Results
from rivals import TESTS
from trees import NULLS

__all__ = [
    "select_verdicts",
    "tabulate_answers",
    "tabulate_automatic",
    "tabulate_given_k",
    "tabulate_mixtures",
    "tabulate_nulls",
    "tabulate_power",
    "tabulate_shown",
    "tabulate_yardstick",
]

# Published power for three clusters of 50 rows in 10 dimensions: L. L. Gao, J. Bien and D. Witten (2024), Selective
# inference for hierarchical clustering, JASA 119; average linkage, known variance.
GAO = {3.0: 0.12, 4.0: 0.47, 5.0: 0.86, 6.0: 0.97}
NOT_IN_MEANS = "smartphone"  # PPCI was not run on it

Table = tuple[list[str], list[list[str]]]


def format_share(values: Sequence[float]) -> str:
    return f"{100 * statistics.fmean(values):.0f} %" if values else "–"


def format_index(value: float | None, digits: int = 2) -> str:
    """Format an adjusted Rand index without the zero before the point."""
    return "–" if value is None else f"{round(value, digits) + 0.0:.{digits}f}".replace("0.", ".", 1)


def select_verdicts(results: Results, kind: str, problems: Iterable[str], method: str, n_fits: int) -> list[float]:
    """Return 1 for every data set on which a test shows more than one cluster, 0 for the others."""
    return [value[0] for problem in problems for value in results.select(kind, problem, method, range(n_fits))]


def tabulate_power(results: Results, n_fits: int) -> Table:
    rows = []
    for axis in AXES:
        for design in list_designs(axis):
            name = name_design(design)
            shares = [format_share(select_verdicts(results, "power", [name], method, n_fits)) for method in TESTS]
            rows.append([f"{axis}: {name}", *shares])
    means = [format_share(select_verdicts(results, "power", DESIGNS, method, n_fits)) for method in TESTS]
    return ["two clusters", *TESTS], [*rows, ["**mean over all designs**", *means]]


def tabulate_yardstick(results: Results, n_fits: int) -> Table:
    rows = []
    for distance in DISTANCES:
        shares = [
            format_share(select_verdicts(results, "yardstick", [f"{distance:g}"], method, n_fits)) for method in TESTS
        ]
        rows.append([f"{distance:g}", *shares, f"*{100 * GAO[distance]:.0f} %*"])
    return ["distance", *TESTS, "*Gao et al., average linkage*"], rows


def tabulate_nulls(results: Results, n_fits: int) -> Table:
    def summarise(families: Iterable[str], method: str) -> str:
        return format_share(select_verdicts(results, "nulls", name_nulls(families), method, n_fits))

    rows = [[family, *(summarise([family], method) for method in TESTS)] for family in NULLS]
    return ["family", *TESTS], [*rows, ["**all**", *(summarise(NULLS, method) for method in TESTS)]]


def tabulate_mixtures(results: Results) -> Table:
    return tabulate_simulated(results, "mixtures", "shape", SHAPES, range(N_MIXTURES))


def tabulate_answers(results: Results) -> Table:
    return tabulate_simulated(results, "answers", "features", FEATURES, ANSWER_SEEDS)


def tabulate_simulated(results: Results, kind: str, title: str, families: Sequence[str], seeds: Sequence[int]) -> Table:
    """Average the results of simulated data over the seeds of each family and over all; families alternate."""

    def summarise(chosen: Iterable[int], method: str) -> str:
        found = [results.get(kind, str(seed), method, 0) for seed in chosen]
        known = [value[0] for value in found if value is not None]
        return format_index(statistics.fmean(known) if known else None, 3)

    rows = [
        [family, *(summarise(seeds[i :: len(families)], method) for method in GIVEN_K)]
        for i, family in enumerate(families)
    ]
    return [title, *GIVEN_K], [*rows, ["**mean**", *(summarise(seeds, method) for method in GIVEN_K)]]


def tabulate_given_k(results: Results, kind: str, problems: Sequence[str]) -> Table:
    """Tabulate the adjusted Rand index given k; figures of PPCI are quoted for the paper's sets."""
    quoted = PUBLISHED if kind == "sets" else {}
    scores = []
    for problem in problems:
        found = [results.get(kind, problem, method, 0) for method in GIVEN_K]
        scores.append([None if value is None else value[0] for value in found])
        scores[-1] += [figures.get(problem) for figures in quoted.values()]
    rows = [[problem, *map(format_index, cells)] for problem, cells in zip(problems, scores, strict=True)]
    header = ["set" if kind == "sets" else "table", *GIVEN_K, *(f"*{name}*" for name in quoted)]
    return header, [*rows, *_summarise_columns(problems, scores)]


def _summarise_columns(problems: Sequence[str], scores: Sequence[Sequence[float | None]]) -> list[list[str]]:
    """Return rows with the means and the mean ranks over the problems that all methods solved."""
    solved = [cells for name, cells in zip(problems, scores, strict=True) if None not in cells and name != NOT_IN_MEANS]
    if not solved:
        return []
    numbers = np.array(solved, dtype=float)
    ranks = rankdata(-numbers.round(4), axis=1).mean(axis=0)
    return [
        [f"**mean of {len(solved)}**", *(format_index(value, 3) for value in numbers.mean(axis=0))],
        ["**mean rank**", *(f"{value:.1f}" for value in ranks)],
    ]


def tabulate_automatic(results: Results, kind: str, problems: Sequence[str]) -> Table:
    """Tabulate index, its standard deviation over seeds and number of clusters, where k is not given."""
    found = {
        method: [results.select(kind, problem, method, AUTO_SEEDS) for problem in problems] for method in AUTOMATIC
    }
    rows = [[problem, *(_format_runs(found[method][i]) for method in AUTOMATIC)] for i, problem in enumerate(problems)]
    counted = [
        i
        for i, problem in enumerate(problems)
        if problem != NOT_IN_MEANS and all(found[method][i] for method in AUTOMATIC)
    ]
    if counted:
        means = [_average_runs([found[method][i] for i in counted]) for method in AUTOMATIC]
        rows.append([f"**mean of {len(counted)}**", *means])
    return ["set" if kind == "sets" else "table", *AUTOMATIC], rows


def _format_runs(runs: Sequence[Sequence[float]]) -> str:
    """Return mean and standard deviation of the index and the range of the number of clusters."""
    if not runs:
        return "–"
    counts = sorted(int(run[1]) for run in runs)
    span = f"{counts[0]}" if counts[0] == counts[-1] else f"{counts[0]}–{counts[-1]}"
    return f"{_average_runs([runs], digits=2)} ({span})"


def _average_runs(problems: Sequence[Sequence[Sequence[float]]], digits: int = 3) -> str:
    """Return the mean over problems of the mean index, and of its standard deviation if there are several runs."""
    mean = statistics.fmean(statistics.fmean(run[0] for run in runs) for runs in problems)
    spreads = [statistics.stdev(run[0] for run in runs) for runs in problems if len(runs) > 1]
    spread = f" ± {format_index(statistics.fmean(spreads), digits)}" if spreads else ""
    return format_index(mean, digits) + spread


def tabulate_shown(results: Results) -> Table:
    """Tabulate how often the automatic tree finds more than one cluster in sets with overlapping classes."""
    rows = []
    for name in BORDERLINE:
        found = results.select("sets", name, "tree, auto", SHOWN_SEEDS)
        rows.append([name, f"{sum(value[1] > 1 for value in found)} of {len(found)}" if found else "–"])
    return ["set", "more than one cluster"], rows
