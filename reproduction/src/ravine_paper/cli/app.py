"""The group of commands: one for each study of the paper, and `data`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from ravine.cli import CommandGroup, OutputPath
from ravine_paper.cli.data import data

__all__ = ["app"]

STOPPED = "Stopped. Finished results are kept: run the same command again to continue."
# Each option carries the name of the argument of the study that it sets.
OUT = click.option("--out", type=OutputPath(path_type=Path), default=None, help="Folder of the results.  [out/STUDY]")
DATA = click.option("--data", "folder", default=None, metavar="DIR", help="Folder of the data sets.  [RAVINE_DATA]")
JOBS = click.option(
    "--jobs", "n_jobs", type=click.IntRange(1), default=None, help="Number of processes.  [number of cores]"
)
RETRY = click.option("--retry-failed", is_flag=True, help="Run again what failed or reached its time limit.")
SETS = click.option("--sets", default=None, metavar="A,B,...", help="Only these data sets.")
METHODS = click.option("--methods", default=None, metavar="A,B,...", help="Only these methods.")


@click.group(
    cls=CommandGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "\b\nExamples:\n"
        "  ravine-paper data fetch all --folder data\n"
        "  ravine-paper table2 --data data\n\n"
        "Run 'ravine-paper COMMAND --help' for the options of a command."
    ),
)
@click.version_option(version("ravine-paper"), prog_name="ravine-paper")
def app() -> None:
    """Reproduce the tables and figures of the paper.

    The data sets are read from the folder named by --data or RAVINE_DATA, or else downloaded from their archives.
    """


app.add_command(data)


@app.command(stopped=STOPPED)
@SETS
@METHODS
@click.option(
    "--seeds", "n_seeds", type=click.IntRange(1), default=10, show_default=True, help="Seeds of the random methods."
)
@JOBS
@RETRY
@DATA
@OUT
def table2(out: Path | None, **arguments: Any) -> None:
    """Reproduce Table 2: success ratio and V-measure of every method on every set, with figures.

    Can be stopped at any time; the same command continues. The table is printed, and written with everything else to
    the folder of the results.
    """
    _run_study("run_table2", "Table 2", out or Path("out") / "table2", arguments)


@app.command(stopped=STOPPED)
@DATA
@OUT
def alpha(out: Path | None, folder: str | None) -> None:
    """Draw the figure on the choice of alpha: three ways in which a single value fails."""
    _draw_figure("draw_alpha", out or Path("out") / "alpha", folder)


@app.command(stopped=STOPPED)
@DATA
@OUT
def evolution(out: Path | None, folder: str | None) -> None:
    """Draw the figure on the evolution of the projection: optidigits from the second principal component."""
    _draw_figure("draw_evolution", out or Path("out") / "evolution", folder)


@app.command(stopped=STOPPED)
@click.option("--quick", is_flag=True, help="3 splits, 2 pairs of classes per set: 2 minutes on 2 cores.")
@click.option("--default", is_flag=True, help="10 splits, 10 pairs per set: half an hour. This is the default.")
@click.option("--full", is_flag=True, help="30 splits and all pairs, as in the paper: about 5 hours.")
@SETS
@METHODS
@JOBS
@RETRY
@DATA
@OUT
def semisupervised(out: Path | None, quick: bool, default: bool, full: bool, **arguments: Any) -> None:
    """Reproduce figures 7 and 8 in numbers: errors of every method for few labels.

    Can be stopped at any time; the same command continues, and --full continues from the default.
    """
    if quick + default + full > 1:
        raise click.UsageError("--quick, --default and --full are three sizes of the study: choose one.")
    size = "quick" if quick else "full" if full else "default"
    name = "semisupervised-quick" if size == "quick" else "semisupervised"
    arguments["size"] = size
    _run_study("run_semisupervised", "Semi-supervised study", out or Path("out") / name, arguments)


@app.command(stopped=STOPPED)
@click.option(
    "--starts", "n_starts", type=click.IntRange(1), default=100, show_default=True, help="Number of random starts."
)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the starts.")
@click.option(
    "--variants/--no-variants", default=True, help="Whether to run variants that explain the number of solutions."
)
@JOBS
@RETRY
@DATA
@OUT
def s1(out: Path | None, **arguments: Any) -> None:
    """Reproduce the figures on SQP and MDP²: the solutions of both on S1 from many random starts.

    Draws the partitions, and the index over the angle with the solutions of both. The summary is printed, and written
    with everything else to the folder of the results.
    """
    _run_study("run_s1", "S1", out or Path("out") / "s1", arguments)


@app.command(stopped=STOPPED)
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Seed of the simulated rows.")
@OUT
def margin(out: Path | None, seed: int) -> None:
    """Draw the figure on the maximum margin: minimum density hyperplanes as the bandwidth shrinks."""
    from ravine_paper import studies

    _print_study(studies.run_margin(out or Path("out") / "margin", seed=seed))


@app.command(stopped=STOPPED)
@SETS
@click.option("--optimisers", default=None, metavar="A,B,...", help="Only these optimisers.")
@click.option("--starts", "n_starts", type=click.IntRange(1), default=10, show_default=True, help="Number of starts.")
@JOBS
@RETRY
@DATA
@OUT
def optimisers(out: Path | None, **arguments: Any) -> None:
    """Compare the optimisers: evaluations, value of the index, and stationarity of the solution.

    Can be stopped at any time; the same command continues. The summary is printed, and written with everything else to
    the folder of the results.
    """
    _run_study("run_optimisers", "Optimisers", out or Path("out") / "optimisers", arguments)


# ----------------------------------------------------------------------------------------------- shared


def _run_study(function: str, title: str, out: Path, arguments: dict[str, Any]) -> None:
    """Run a study, imported only now, with a progress bar, and print its result."""
    from ravine_paper import studies

    with _show_progress(title) as notify:
        study = getattr(studies, function)(out, notify=notify, **arguments)
    _print_study(study)


def _print_study(study: Any) -> None:
    click.echo(study.table)
    for path in study.files:
        click.echo(f"wrote {path}", err=True)


def _draw_figure(function: str, out: Path, folder: str | None) -> None:
    from ravine_paper import studies

    click.echo(f"wrote {getattr(studies, function)(out, folder=folder)}", err=True)


@contextmanager
def _show_progress(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """Show a progress bar on a terminal, and lines of text elsewhere."""
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    console = Console(stderr=True)
    if not console.is_terminal:

        def print_line(name: str, done: int, total: int) -> None:
            click.echo(f"{done} of {total}" + (f": {name}" if name else f" results exist ({title})"), err=True)

        yield print_line
        return
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
    )
    with Progress(*columns, console=console) as bar:
        shown = bar.add_task(title)

        def update(name: str, done: int, total: int) -> None:
            bar.update(shown, completed=done, total=total, description=f"{title}  {name}"[:60])

        yield update
