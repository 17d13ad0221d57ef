"""Run the fuzzer: `make fuzz`, or `python -m fuzz --help` in the folder of the project."""

from __future__ import annotations

import argparse
import sys
import threading
import time
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path

from fuzz.plan import TARGETS, make_input
from fuzz.report import Report, format_finding
from fuzz.workers import Worker

PROGRESS_SECONDS = 30.0


def parse_arguments() -> argparse.Namespace:
    """Read the options of the command line."""
    parser = argparse.ArgumentParser(prog="python -m fuzz", description="Run generated inputs and print findings.")
    parser.add_argument("--inputs", type=int, default=10_000, help="number of inputs (10000)")
    parser.add_argument("--seed", type=int, default=0, help="seed of the inputs (0)")
    parser.add_argument("--minutes", type=float, default=30.0, help="end after as many minutes (30)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (2)")
    parser.add_argument("--timeout", type=float, default=20.0, help="seconds after which an input hangs (20)")
    parser.add_argument("--only", choices=list(TARGETS), help="one target")
    parser.add_argument("--first", type=int, default=0, help="number of the first input (0)")
    parser.add_argument("--show", action="store_true", help="print the script of the first input, and do not run it")
    parser.add_argument("--folder", type=Path, help="write each finding to a file in this folder, too")
    return parser.parse_args()


def run_inputs(options: argparse.Namespace, report: Report) -> None:
    """Run all inputs on several workers; findings are printed as they occur."""
    numbers = iter(range(options.first, options.first + options.inputs))
    end = time.monotonic() + 60.0 * options.minutes
    lock = threading.Lock()

    def work() -> None:
        worker = Worker(options.timeout)
        try:
            while time.monotonic() < end:
                with lock:
                    number = next(numbers, None)
                if number is None:
                    return
                given = make_input(options.seed, number, options.only)
                outcome = worker.run(number, given.script)
                with lock:
                    report.add(given, outcome)
                    if outcome.is_finding:
                        print_finding(options, format_finding(options.seed, given, outcome), number)
        finally:
            worker.close()

    with ThreadPoolExecutor(options.jobs) as pool:
        running = {pool.submit(work) for _ in range(options.jobs)}
        while running:
            ended, running = wait(running, PROGRESS_SECONDS)
            for one in ended:
                one.result()
            sys.stderr.write(f"{report.n_inputs} inputs, {len(report.findings)} findings\n")


def print_finding(options: argparse.Namespace, text: str, number: int) -> None:
    """Print a finding, and write it to the folder of findings if there is one."""
    print(f"\n# {'-' * 100}\n{text}", flush=True)
    if options.folder is not None:
        options.folder.mkdir(parents=True, exist_ok=True)
        (options.folder / f"input-{options.seed}-{number}.py").write_text(text, encoding="utf-8")


def main() -> None:
    """Run the inputs and exit with 1 if there are findings."""
    options = parse_arguments()
    if options.show:
        print(make_input(options.seed, options.first, options.only).script)
        return
    report = Report()
    start = time.monotonic()
    run_inputs(options, report)
    print(f"\n{report.format_summary()} ({time.monotonic() - start:.0f} s, seed {options.seed})")
    sys.exit(1 if report.findings else 0)


if __name__ == "__main__":
    main()
