"""Measure the speed and the memory of ravine: `make bench`.

    OMP_NUM_THREADS=1 python benchmarks/run.py                       # the bars of docs/performance.md
    ... run.py --only small kmeans                                        # single rows; --list names them
    ... run.py --more                                                     # limits of everything else
    ... run.py --compare                                                  # costs, and other clusterers
    ... run.py --compare --more --full --update docs/performance.md       # all tables of the page, measured again

The tables are printed and written to out/bench.md. Everything runs on one thread unless stated otherwise.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from bars import BARS, LIMITS, Measurement, Options, Skipped
from pages import describe_machine, format_measurement, format_table, update_page
from peers import COMPARISON_HEADER, COST_HEADER, compare, measure_costs

HEADER = ["measure", "before", "now", "bar", "met"]


def measure_rows(rows: list[Measurement], options: Options) -> Iterator[list[str]]:
    """Yield the cells of each row that can be measured."""
    for row in rows:
        try:
            yield format_measurement(row, *row.run(options))
        except Skipped as reason:
            print(f"skipped: {row.measure}: {reason}", flush=True)


def print_rows(header: list[str], rows: Iterator[list[str]]) -> list[list[str]]:
    """Print the rows of a table as they come; return them."""
    print(format_table(header, []), end="", flush=True)
    done = []
    for cells in rows:
        print(f"| {' | '.join(cells)} |", flush=True)
        done.append(cells)
    print()
    return done


def choose_rows(names: list[str] | None, more: bool) -> dict[str, list[Measurement]]:
    """Return the measurements of each table; by their names, if some are given."""
    tables = {"bars": BARS, "limits": LIMITS if more or names else []}
    if not names:
        return tables
    unknown = set(names) - {row.name for rows in tables.values() for row in rows}
    if unknown:
        sys.exit(f"unknown measurements: {', '.join(sorted(unknown))}. `--list` names them.")
    return {table: [row for row in rows if row.name in names] for table, rows in tables.items()}


def list_measurements() -> None:
    for row in BARS + LIMITS:
        print(f"{row.name:<12} {row.measure}")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measure single rows")
    parser.add_argument("--list", action="store_true", help="list the names of all rows")
    parser.add_argument("--more", action="store_true", help="measure the limits of everything else, too")
    parser.add_argument("--compare", action="store_true", help="measure costs and other clusterers, too (5 minutes)")
    parser.add_argument("--full", action="store_true", help="fit the whole 8 GB file and 4e6 x 50 rows with Dask")
    parser.add_argument("--update", metavar="PAGE", type=Path, help="replace the tables of a page")
    parser.add_argument("--out", metavar="FILE", type=Path, default=Path("out/bench.md"), help="file for the tables")
    parser.add_argument("--hipart", default=sys.executable, help="Python interpreter with HiPart installed")
    parser.add_argument("--strict", action="store_true", help="fail if a bar is missed")
    return parser


def main() -> None:
    arguments = make_parser().parse_args()
    if arguments.list:
        return list_measurements()
    if os.environ.get("OMP_NUM_THREADS") != "1":
        sys.exit("Set OMP_NUM_THREADS=1 (as `make bench` does): the ratios are for one thread.")
    options = Options(arguments.full, arguments.hipart)
    machine = describe_machine()
    print(machine + "\n")
    measured = {
        name: (HEADER, print_rows(HEADER, measure_rows(rows, options)))
        for name, rows in choose_rows(arguments.only, arguments.more).items()
        if rows
    }
    missed = sum(cells[-1] != "yes" for _, rows in measured.values() for cells in rows)
    if arguments.compare:
        measured["costs"] = (COST_HEADER, print_rows(COST_HEADER, measure_costs(options)))
        measured["comparison"] = (COMPARISON_HEADER, print_rows(COMPARISON_HEADER, compare(options)))
    tables = {name: format_table(header, rows) for name, (header, rows) in measured.items()}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join([f"{machine}\n", *tables.values()]), encoding="utf-8")
    if arguments.update:
        page = arguments.update.read_text(encoding="utf-8")
        for name, table in tables.items():
            page = update_page(page, name, table, machine)
        arguments.update.write_text(page, encoding="utf-8")
    print(f"{missed} bars missed" if missed else "all bars met")
    sys.exit(arguments.strict and missed > 0)


if __name__ == "__main__":
    main()
