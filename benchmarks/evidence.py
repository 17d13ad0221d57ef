"""Evidence for the valley test and the tree beside what users would take instead: the tables of docs/evidence.md.

    export OMP_NUM_THREADS=1 RAVINE_DATA=folder
    python benchmarks/evidence.py power                 # power of tests of "more than one cluster"
    python benchmarks/evidence.py nulls                 # their false splits on unimodal data
    python benchmarks/evidence.py mixtures              # clusterers given k, hard simulated mixtures
    python benchmarks/evidence.py answers               # the same, simulated tables of answers and categories
    python benchmarks/evidence.py tables development    # clusterers given k and without k, public tables
    python benchmarks/evidence.py sets                  # the same on the paper's sets
    python benchmarks/evidence.py figures               # docs/images/evidence_*.png, from stored results
    python benchmarks/evidence.py all --update docs/evidence.md

Results are kept in the file ``--store``: a second run computes only what is missing, and ``figures`` and ``--update``
need no computation. After a change of a method, ``--again NAME`` computes its results again.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from clusterers import AUTOMATIC, GIVEN_K
from evidence_tables import (
    Table,
    tabulate_answers,
    tabulate_automatic,
    tabulate_given_k,
    tabulate_mixtures,
    tabulate_nulls,
    tabulate_power,
    tabulate_shown,
    tabulate_yardstick,
)
from pages import format_table, update_page
from problems import (
    ANSWER_SEEDS,
    AUTO_SEEDS,
    N_MIXTURES,
    NULL_SIZES,
    SHOWN_SEEDS,
    list_answer_tasks,
    list_mixture_tasks,
    list_null_tasks,
    list_power_tasks,
    list_real_tasks,
    list_yardstick_tasks,
    solve,
)
from ravine_paper.studies.clustering.paper import SETS
from results import Results, Task
from rivals import TESTS
from sets import TABLES


class Run:
    """One call of the script: options, stored results, and the tables made so far."""

    def __init__(self, arguments: argparse.Namespace) -> None:
        self.arguments = arguments
        self.results = Results(arguments.store)
        self.results.forget(arguments.again)
        self.tables: dict[str, tuple[str, str]] = {}

    def add(self, name: str, table: Table, note: str) -> None:
        """Print a table and keep it with a note for the page."""
        text = format_table(*table)
        print(f"{note}\n\n{text}", flush=True)
        self.tables[name] = (text, note)

    def complete(self, tasks: list[Task]) -> None:
        """Compute the results that are not stored."""
        self.results.complete(tasks, solve, self.arguments.jobs)

    def power(self) -> None:
        """Compute the power of all tests."""
        fits = self.arguments.fits
        self.complete([*list_power_tasks(fits), *list_yardstick_tasks(fits)])
        note = f"{fits} data sets in each row; share on which the test shows more than one cluster at 5 %."
        self.add("power", tabulate_power(self.results, fits), note)
        self.add("yardstick", tabulate_yardstick(self.results, fits), note)

    def nulls(self) -> None:
        """Compute the false splits of all tests."""
        fits = self.arguments.fits
        self.complete(list_null_tasks(fits))
        sizes = ", ".join(f"{n} x {d}" for n, d in NULL_SIZES)
        note = f"{fits * len(NULL_SIZES)} data sets in each row ({fits} each of {sizes}); share of false splits at 5 %."
        self.add("nulls", tabulate_nulls(self.results, fits), note)

    def mixtures(self) -> None:
        """Compare clusterers on hard simulated mixtures."""
        self.complete(list_mixture_tasks())
        note = f"{N_MIXTURES} mixtures; mean adjusted Rand index, number of components given."
        self.add("mixtures", tabulate_mixtures(self.results), note)

    def answers(self) -> None:
        """Compare clusterers on simulated tables of answers and categories."""
        self.complete(list_answer_tasks())
        note = f"{len(ANSWER_SEEDS)} tables; mean adjusted Rand index, number of classes given."
        self.add("answers", tabulate_answers(self.results), note)

    def tables_of(self, group: str) -> None:
        """Compare clusterers on a group of public tables."""
        names = [name for name in TABLES[group] if name in (self.arguments.only or TABLES[group])]
        self._compare("tables", group, names)

    def sets(self) -> None:
        """Compare clusterers on the paper's sets."""
        # Mixtures of the 561 features of smartphone take hours.
        compared = self.arguments.only or sorted(set(SETS) - {"smartphone"})
        self._compare("sets", "sets", [name for name in sorted(SETS) if name in compared])
        note = f"Random states 0 to {SHOWN_SEEDS[-1]} of the tree without k."
        self.add("shown", tabulate_shown(self.results), note)

    def _compare(self, kind: str, page_name: str, names: Sequence[str]) -> None:
        self.complete(list_real_tasks(kind, names))
        given = "Adjusted Rand index, number of classes given."
        automatic = (
            f"Adjusted Rand index, number of classes not given; tree: mean ± standard deviation over "
            f"{len(AUTO_SEEDS)} random states; number of clusters in brackets. HDBSCAN's noise counts as one group."
        )
        self.add(f"{page_name}, k given", tabulate_given_k(self.results, kind, names), given)
        self.add(f"{page_name}, k unknown", tabulate_automatic(self.results, kind, names), automatic)

    def figures(self) -> None:
        """Draw the figures from stored results."""
        from evidence_figures import draw_nulls, draw_power

        folder = self.arguments.images
        draw_power(self.results, self.arguments.fits).savefig(folder / "evidence_power.png", dpi=150)
        draw_nulls(self.results, self.arguments.fits).savefig(folder / "evidence_nulls.png", dpi=150)

    def update(self, path: Path) -> None:
        """Replace the tables of a page."""
        page = path.read_text(encoding="utf-8")
        for name, (table, note) in self.tables.items():
            page = update_page(page, name, table, note, keep=False)
        path.write_text(page, encoding="utf-8")


WHAT = ("power", "nulls", "mixtures", "answers", "tables", "sets", "figures", "all")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("group", nargs="?", choices=list(TABLES), help="group of tables (default: development)")
    parser.add_argument("--fits", type=int, default=100, help="data sets in each cell of power and nulls")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes")
    parser.add_argument("--only", nargs="+", metavar="NAME", help="single tables or sets")
    parser.add_argument("--again", nargs="+", metavar="METHOD", default=[], help="compute results of methods again")
    parser.add_argument("--store", metavar="FILE", type=Path, default=Path("out/evidence.json"), help="stored results")
    parser.add_argument("--images", metavar="FOLDER", type=Path, default=Path("docs/images"), help="folder of figures")
    parser.add_argument("--update", metavar="PAGE", type=Path, help="replace the tables of a page")
    return parser


def main(argv: Sequence[str] | None = None) -> None:
    parser = make_parser()
    arguments = parser.parse_args(argv)
    if arguments.group and arguments.what != "tables":
        parser.error(f"{arguments.what} takes no group.")
    unknown = set(arguments.again) - set(TESTS) - set(GIVEN_K) - set(AUTOMATIC)
    if unknown:
        known = ", ".join([*TESTS, *GIVEN_K, *AUTOMATIC])
        parser.error(f"unknown methods: {', '.join(sorted(unknown))}. Known: {known}.")
    run = Run(arguments)
    everything = arguments.what == "all"
    for what in WHAT[:-1] if everything else (arguments.what,):
        if what != "tables":
            getattr(run, what)()
            continue
        for group in TABLES if everything else (arguments.group or "development",):
            run.tables_of(group)
    if arguments.update:
        run.update(arguments.update)


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    sys.exit(main())
