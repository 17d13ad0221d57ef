"""Measure the speed and the memory of ravine: `make bench`.

    OMP_NUM_THREADS=1 python benchmarks/run.py                            # the bars of docs/performance.md
    ... run.py --only small kmeans                                        # single rows or tables; --list names them
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
OTHER_TABLES = {"costs": (COST_HEADER, measure_costs), "comparison": (COMPARISON_HEADER, compare)}


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


def choose_names(arguments: argparse.Namespace) -> set[str]:
    """Return the names of the rows and tables to measure."""
    if arguments.only:
        unknown = set(arguments.only) - {row.name for row in BARS + LIMITS} - set(OTHER_TABLES)
        if unknown:
            sys.exit(f"unknown measurements: {', '.join(sorted(unknown))}. `--list` names them.")
        return set(arguments.only)
    rows = BARS + LIMITS if arguments.more else BARS
    return {row.name for row in rows}.union(OTHER_TABLES if arguments.compare else ())


def measure_tables(names: set[str], options: Options) -> dict[str, tuple[list[str], list[list[str]]]]:
    """Measure and print tables; return the header and the rows of each."""
    sources: dict[str, tuple[list[str], Iterator[list[str]]]] = {}
    for table, rows in {"bars": BARS, "limits": LIMITS}.items():
        chosen = [row for row in rows if row.name in names]
        if chosen:
            sources[table] = (HEADER, measure_rows(chosen, options))
    for table, (header, measure) in OTHER_TABLES.items():
        if table in names:
            sources[table] = (header, measure(options))
    return {table: (header, print_rows(header, rows)) for table, (header, rows) in sources.items()}


def count_missed(measured: dict[str, tuple[list[str], list[list[str]]]]) -> int:
    return sum(cells[-1] != "yes" for header, rows in measured.values() if header is HEADER for cells in rows)


def update(path: Path, tables: dict[str, str], machine: str) -> None:
    """Replace the tables of a page."""
    page = path.read_text(encoding="utf-8")
    for name, table in tables.items():
        page = update_page(page, name, table, machine)
    path.write_text(page, encoding="utf-8")


def list_measurements() -> None:
    for row in BARS + LIMITS:
        print(f"{row.name:<12} {row.measure}")
    for table, (header, _) in OTHER_TABLES.items():
        print(f"{table:<12} table: {', '.join(header)}")


def make_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", metavar="NAME", help="measure single rows or tables")
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
    names = choose_names(arguments)
    options = Options(arguments.full, arguments.hipart)
    machine = describe_machine()
    print(machine + "\n")
    measured = measure_tables(names, options)
    tables = {name: format_table(header, rows) for name, (header, rows) in measured.items()}
    arguments.out.parent.mkdir(parents=True, exist_ok=True)
    arguments.out.write_text("\n".join([f"{machine}\n", *tables.values()]), encoding="utf-8")
    if arguments.update:
        update(arguments.update, tables, machine)
    missed = count_missed(measured)
    print(f"bars missed: {missed}")
    sys.exit(arguments.strict and missed > 0)


if __name__ == "__main__":
    main()
