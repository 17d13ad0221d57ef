"""S1 from many random starts: tables, words and the paper's two figures."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ravine._typing import Array
from ravine.studies.figures import HIGHLIGHT, INK, MEAN, new_figure, save
from ravine.studies.markdown import grid
from ravine.studies.s1 import ALPHA, METHODS, SAME, VARIANTS, Ends, Scan

__all__ = ["draw_index", "draw_partitions", "solutions_csv", "summary_csv", "summary_markdown"]

COLOURS = {"sqp": MEAN, "mdp2": HIGHLIGHT}
# More solutions than this are not listed one by one.
MOST_LISTED = 10


def solutions_csv(found: Mapping[str, Ends | str]) -> str:
    """One line for each start of each variant."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["variant", "start", "solution", "angle", "offset", "density", "success_ratio", "minimum"])
    for name, ends in found.items():
        if isinstance(ends, str):
            continue
        solution = {k: number for number, group in enumerate(ends.solutions(), 1) for k in group}
        for k, rank in enumerate(ends.ranks().tolist()):
            numbers = (ends.angles[k], ends.offsets[k], ends.densities[k], ends.success[k])
            writer.writerow([name, k, solution[k], *(f"{x:.6g}" for x in numbers), rank + 1 if rank >= 0 else ""])
    return out.getvalue()


COLUMNS = (
    "solutions", "median SR", "lowest SR", "at the global minimum", "at one of the three lowest",
    "most frequent is global",
)  # fmt: skip


def _facts(ends: Ends) -> list[Any]:
    ranks, solutions = ends.ranks(), ends.solutions()
    return [
        len(solutions),
        float(np.median(ends.success)),
        float(ends.success.min()),
        int(np.sum(ranks == 0)),
        int(np.sum((ranks >= 0) & (ranks < 3))),
        "yes" if ranks[solutions[0][0]] == 0 else "no",
    ]


def summary_csv(found: Mapping[str, Ends | str]) -> str:
    """One line for each variant."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["variant", *(c.replace(" ", "_").lower() for c in COLUMNS), "minima_of_the_index", "seconds"])
    for name, ends in found.items():
        if not isinstance(ends, str):
            writer.writerow([name, *_facts(ends), len(ends.scan.minima), f"{ends.seconds:.3g}"])
    return out.getvalue()


def summary_markdown(found: Mapping[str, Ends | str], n_starts: int) -> str:
    """What was found, and what decides the number of solutions."""
    parts = [
        f"# S1 from {n_starts} random starts\n",
        f"Two hyperplanes are one solution if their angles differ by less than {SAME} rad and their offsets by less "
        f"than {SAME} standard deviations of a column. A start is at a minimum of the index if its angle is within "
        f"{SAME} rad of it and its density within 1 % of φ there. SR is the success ratio against the 15 clusters.\n",
        _grid({METHODS[name].title: found[name] for name in METHODS}),
    ]
    sqp, mdp2 = found["sqp"], found["mdp2"]
    if not isinstance(mdp2, str):
        if not isinstance(sqp, str):
            parts.append("## Statements\n")
            parts.extend(f"- {'yes' if holds else 'NO'}: {words}" for words, holds in _statements(sqp, mdp2))
            parts.append("")
        lowest = mdp2.scan.minima
        parts.append(
            f"φ has {len(lowest)} local minima at α = {ALPHA:g} and h = {mdp2.scan.bandwidth:.4f}; the lowest are "
            + ", ".join(f"{mdp2.scan.index[k]:.4f} at {mdp2.scan.angles[k]:.3f} rad" for k in lowest[:3])
            + ".\n"
        )
    for name in METHODS:
        ends = found[name]
        if not isinstance(ends, str):
            parts.append(f"## Solutions of {METHODS[name].title}\n")
            parts.append(_solutions(ends))
    if VARIANTS.keys() & found.keys():
        parts.append("## What decides the number of solutions\n")
        parts.append("MDP² as above unless the line says otherwise.\n")
        parts.append(_grid({VARIANTS[name].title: found[name] for name in VARIANTS if name in found}))
        parts.append(_explanation(found))
    return "\n".join(parts)


def _grid(ends: Mapping[str, Ends | str]) -> str:
    rows = {}
    for title, one in ends.items():
        if isinstance(one, str):
            rows[title] = [one, *[""] * (len(COLUMNS) - 1)]
        else:
            rows[title] = [f"{x:.3f}" if isinstance(x, float) else str(x) for x in _facts(one)]
    return grid("", COLUMNS, rows)


def _statements(sqp: Ends, mdp2: Ends) -> list[tuple[str, bool]]:
    counts = len(sqp.solutions()), len(mdp2.solutions())
    top = mdp2.solutions()[0]
    median = float(np.median(mdp2.success))
    return [
        (
            f"MDP² ends at clearly fewer solutions than SQP ({counts[1]} and {counts[0]}; at most half)",
            2 * counts[1] <= counts[0],
        ),
        (f"the median success ratio of MDP² is at least .98 ({median:.3f})", median >= 0.98),
        (
            f"the most frequent solution of MDP² ({len(top)} starts) is the global minimum of a scan over "
            f"{len(mdp2.scan.angles)} angles",
            int(mdp2.ranks()[top[0]]) == 0,
        ),
        ("SQP always converged", bool(sqp.converged.all())),
    ]


def _solutions(ends: Ends) -> str:
    ranks, rows, solutions = ends.ranks(), {}, ends.solutions()
    for number, group in enumerate(solutions[:MOST_LISTED], 1):
        k = group[0]
        rank = f"{ranks[k] + 1}" if ranks[k] >= 0 else "none"
        numbers = [f"{ends.angles[k]:.3f}", f"{ends.offsets[k]:+.3f}", f"{ends.densities[k]:.4f}", rank]
        rows[str(number)] = [str(len(group)), *numbers, f"{ends.success[k]:.3f}"]
    more = solutions[MOST_LISTED:]
    if more:
        rows["others"] = [str(sum(map(len, more))), f"{len(more)} solutions", "", "", "", ""]
    return grid("", ("starts", "angle", "offset", "density", "minimum of φ, by height", "SR"), rows)


def _explanation(found: Mapping[str, Ends | str]) -> str:
    """The paper reports three solutions: the three lowest minima of φ. What it would take to get there."""
    ends = {name: one for name, one in found.items() if not isinstance(one, str)}
    if not {"mdp2", *VARIANTS} <= ends.keys():
        return ""

    def counts(names: Sequence[str], what: Callable[[Ends], int]) -> str:
        numbers = sorted({what(ends[name]) for name in names})
        return f"{numbers[0]}" if len(numbers) == 1 else f"{numbers[0]} to {numbers[-1]}"

    def solutions(one: Ends) -> int:
        return len(one.solutions())

    def in_three(one: Ends) -> int:
        return int(np.sum((one.ranks() >= 0) & (one.ranks() < 3)))

    def in_second(one: Ends) -> int:
        return int(np.sum(one.ranks() == 1))

    long_steps = ("fixed-050", "fixed-100", "fixed-120")
    steps = ("n-alpha-5", "n-alpha-50", "max-iter-1", "max-iter-200", "spherical")
    widest = ends["h-175"]
    exact = [VARIANTS[name].title for name in VARIANTS if set(ends[name].ranks().tolist()) == {0, 1, 2}]
    return (
        "The paper reports three solutions, and says that they are the three lowest minima of φ. "
        + (f"These come out with: {'; '.join(exact)}. " if exact else "None of the lines above gives exactly these. ")
        + "What comes near, and what does not matter:\n\n"
        f"- **α.** With α growing from 0.01, {in_three(ends['mdp2'])} starts end in one of the three, and "
        f"{in_second(ends['mdp2'])} in the second lowest: its offset is at the end of F(v), and by the time F(v) is so "
        "wide the direction has gone elsewhere. So the paper's three hardly come from such a path.\n"
        f"- **The first step.** With α = {ALPHA:g} from the start, first steps of 0.5 to 1.2 rad lead "
        f"{counts(long_steps, in_three)} starts to the three ({counts(long_steps, in_second)} to the second), since "
        f"they jump over small basins; a first step of 0.1 rad leads {in_three(ends['fixed-010'])} there. With a "
        f"bandwidth 1.25 and 1.5 times as large it is {in_three(ends['fixed-100-h-125'])} and "
        f"{in_three(ends['fixed-120-h-150'])}, with {solutions(ends['fixed-100-h-125'])} and "
        f"{solutions(ends['fixed-120-h-150'])} solutions. This is the most likely difference: one α, and a line search "
        "that begins with long steps. The paper gives neither.\n"
        f"- **The bandwidth** alone gives {solutions(widest)} solutions if it is 1.75 times as large, but with a "
        f"median success ratio of {np.median(widest.success):.3f} and {in_three(widest)} starts in the three lowest.\n"
        f"- **Number of values of α, iterations, tolerance, optimiser:** {counts(steps, solutions)} solutions.\n"
    )


# ----------------------------------------------------------------------------------------------- pictures


def draw_partitions(found: Mapping[str, Ends | str], X: Array, path: Path) -> Path:
    """The hyperplanes of all starts over the points, for both methods; X is standardised."""
    shown = _complete(found)
    figure = new_figure(figsize=(5.2 * len(shown), 5.9))
    low, high = X.min(axis=0) - 0.25, X.max(axis=0) + 0.25
    for axes, (name, ends) in zip(np.atleast_1d(figure.subplots(1, len(shown))), shown.items(), strict=True):
        axes.scatter(*X.T, s=3, color="#9a9a9a", alpha=0.35, lw=0, rasterized=True)
        ranks, solutions = ends.ranks(), ends.solutions()
        for group in reversed(solutions):
            k = group[0]
            is_global = ranks[k] == 0
            line = _segment(ends.angles[k], ends.offsets[k], low, high)
            width = 0.8 + 5.0 * len(group) / max(len(g) for g in solutions)
            axes.plot(*line, color=INK if is_global else COLOURS[name], lw=width, alpha=0.9 if is_global else 0.6,
                      solid_capstyle="butt", zorder=3)  # fmt: skip
            end = line[:, int(np.argmax(line[1] + 1e-3 * line[0]))]
            if len(solutions) <= MOST_LISTED:
                axes.annotate(str(len(group)), end, textcoords="offset points", xytext=_inwards(end, low, high),
                              ha="center", va="center", fontsize=9, color=INK, zorder=5,
                              bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5, "alpha": 0.85})  # fmt: skip
        words = f"{METHODS[name].title}: {len(solutions)} solutions from {len(ends.angles)} starts\n"
        words += f"median SR {np.median(ends.success):.3f}, lowest {ends.success.min():.3f}; "
        words += f"global minimum {int(np.sum(ranks == 0))} times (black)"
        axes.set_title(words, loc="left", fontsize=10, color=INK)
        axes.set(xlim=(low[0], high[0]), ylim=(low[1], high[1]), xticks=[], yticks=[], aspect="equal")
        axes.spines[:].set_color("#bbbbbb")
    figure.get_layout_engine().set(h_pad=0.16)  # titles of two lines need more than they are given
    figure.supxlabel("S1, standardised; a line is a solution, as wide as it is frequent", fontsize=9, color=INK)
    save(figure, path)
    return path


def draw_index(found: Mapping[str, Ends | str], path: Path) -> Path:
    """The index over the angle, with the solutions of both methods, and histograms of their angles."""
    shown = _complete(found)
    scan = next(iter(shown.values())).scan
    figure = new_figure(figsize=(9.5, 7.0))
    upper, *lower = figure.subplots(1 + len(shown), 1, sharex=True, height_ratios=[3.2] + [1.0] * len(shown))
    _draw_scan(upper, scan)
    for name, ends in shown.items():
        of = [group[0] for group in ends.solutions()]
        sizes = np.array([len(group) for group in ends.solutions()])
        marker = {"marker": "o"} if name == "mdp2" else {"marker": "X"}
        upper.scatter(ends.angles[of], ends.densities[of], s=26 + 260 * sizes / sizes.max(), color=COLOURS[name],
                      alpha=0.75, lw=0.8, edgecolor="white", zorder=4 if name == "mdp2" else 3,
                      label=f"{METHODS[name].title}: {len(of)} solutions", **marker)  # fmt: skip
    upper.set_ylabel("density on the hyperplane")
    legend = upper.legend(fontsize=9, frameon=False, loc="upper left", bbox_to_anchor=(0.0, 1.12), ncols=4)
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([60])
    most = max(int(np.histogram(e.angles, bins=90, range=(0.0, np.pi))[0].max()) for e in shown.values())
    for axes, (name, ends) in zip(lower, shown.items(), strict=True):
        axes.hist(ends.angles, bins=90, range=(0.0, np.pi), color=COLOURS[name], alpha=0.85)
        axes.set_ylabel("starts")
        axes.set_ylim(0, 1.12 * most)
        axes.text(0.008, 0.88, METHODS[name].title, transform=axes.transAxes, va="top", fontsize=10, color=INK)
        axes.axvline(scan.angles[scan.minima[0]], color=INK, lw=0.8, ls=":", zorder=0)
    lower[-1].set_xlabel("angle of the direction v")
    lower[-1].set_xticks(np.pi * np.arange(5) / 4, ["0", "π/4", "π/2", "3π/4", "π"])
    lower[-1].set_xlim(0.0, np.pi)
    for axes in (upper, *lower):
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(axis="x", color="#e5e5e5", lw=0.6)
        axes.set_axisbelow(True)
    save(figure, path)
    return path


def _draw_scan(axes: Any, scan: Scan) -> None:
    axes.plot(scan.angles, scan.index, color=INK, lw=1.4, label="projection index φ", zorder=2)
    lowest = scan.minima[0]
    axes.axvline(scan.angles[lowest], color=INK, lw=0.8, ls=":", zorder=0)
    axes.annotate("global minimum", (scan.angles[lowest], scan.index[lowest]), textcoords="offset points",
                  xytext=(0, -24), ha="center", fontsize=9, color=INK,
                  bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5})  # fmt: skip
    axes.set_ylim(0.35 * scan.index[lowest], None)


def _complete(found: Mapping[str, Ends | str]) -> dict[str, Ends]:
    return {name: ends for name in METHODS if not isinstance(ends := found[name], str)}


def _segment(angle: float, offset: float, low: Array, high: Array) -> Array:
    """The part of a line within a box, as two points (columns)."""
    normal = np.array([np.cos(angle), np.sin(angle)])
    along, point = np.array([-normal[1], normal[0]]), offset * normal
    near, far = -np.inf, np.inf
    for k in range(2):
        if abs(along[k]) > 1e-12:
            ends = sorted([(low[k] - point[k]) / along[k], (high[k] - point[k]) / along[k]])
            near, far = max(near, ends[0]), min(far, ends[1])
    return np.asarray(point[:, None] + along[:, None] * np.array([near, far]))


def _inwards(end: Sequence[float] | Array, low: Array, high: Array) -> tuple[float, float]:
    """From the edge of a box towards its middle, in points."""
    if abs(end[1] - high[1]) < 1e-9 or abs(end[1] - low[1]) < 1e-9:
        return (0.0, -10.0 if end[1] > 0 else 10.0)
    return (-12.0 if end[0] > 0 else 12.0, 0.0)
