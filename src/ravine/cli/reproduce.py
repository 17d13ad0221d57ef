"""`ravine reproduce`: the paper's studies."""

from __future__ import annotations

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import click

__all__ = ["reproduce"]

Command = TypeVar("Command", bound=Callable[..., Any])


@click.group()
def reproduce() -> None:
    """Compute the paper's tables and figures again.

    The data sets are taken from the folder named by --data or RAVINE_DATA, or else fetched from their archives.
    """


def _shared(command: Command) -> Command:
    """Options of every study."""
    for option in (
        click.option(
            "--out", type=click.Path(path_type=Path), default=None, help="Folder of the results.  [out/STUDY]"
        ),
        click.option("--data", default=None, metavar="DIR", help="Folder with the data sets.  [RAVINE_DATA]"),
    ):
        command = option(command)
    return command


def _parallel(command: Command) -> Command:
    """Options of studies with many independent computations."""
    for option in (
        click.option("--retry-failed", is_flag=True, help="Run again what failed or reached its time limit."),
        click.option("--jobs", type=click.IntRange(1), default=None, help="Processes at a time.  [number of cores]"),
    ):
        command = option(command)
    return command


@contextmanager
def _explained() -> Iterator[None]:
    """Errors of a study as one line."""

    def stop(*_: object) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, stop)  # what a scheduler sends
    try:
        from ravine.studies import StudyError

        try:
            yield
        except StudyError as error:
            raise click.ClickException(str(error)) from error
    except KeyboardInterrupt:
        click.echo("Stopped. What was finished is kept: run the same command again to go on.", err=True)
        sys.exit(130)
    finally:
        signal.signal(signal.SIGTERM, before)


def _say(text: str) -> None:
    click.echo(text, err=True)


@contextmanager
def _progress(title: str) -> Iterator[Callable[[str, int, int], None]]:
    """A bar on a terminal, else a line now and then."""
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

        def line(name: str, done: int, total: int) -> None:
            _say(f"{done} of {total}" + (f": {name}" if name else f" results are there ({title})"))

        yield line
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

        def move(name: str, done: int, total: int) -> None:
            bar.update(shown, completed=done, total=total, description=f"{title}  {name}"[:60])

        yield move


@reproduce.command()
@click.option("--sets", default=None, metavar="A,B,...", help="Only these data sets.")
@click.option("--methods", default=None, metavar="A,B,...", help="Only these methods.")
@click.option(
    "--seeds", type=click.IntRange(1), default=10, show_default=True, help="Seeds of methods that use chance."
)
@_parallel
@_shared
def table2(
    sets: str | None,
    methods: str | None,
    seeds: int,
    jobs: int | None,
    retry_failed: bool,
    out: Path | None,
    data: str | None,
) -> None:
    """Table 2: success ratio and V-measure of every method on every set, with its figures.

    Can be stopped at any time; the same command goes on. The table is printed, and written with everything else to the
    folder of the results.
    """
    with _explained():
        from ravine.studies import run_table2

        with _progress("Table 2") as notify:
            study = run_table2(
                out or Path("out") / "table2", sets=sets, methods=methods, n_seeds=seeds, n_jobs=jobs, folder=data,
                retry_failed=retry_failed, notify=notify,
            )  # fmt: skip
    click.echo(study.table)
    for path in study.files:
        _say(f"wrote {path}")


@reproduce.command()
@_shared
def alpha(out: Path | None, data: str | None) -> None:
    """The figure on the choice of alpha: three ways in which a single value goes wrong."""
    with _explained():
        from ravine.studies import draw_alpha

        path = draw_alpha(out or Path("out") / "alpha", folder=data)
    _say(f"wrote {path}")


@reproduce.command()
@_shared
def evolution(out: Path | None, data: str | None) -> None:
    """The figure on the evolution of the projection: optidigits from the second principal component."""
    with _explained():
        from ravine.studies import draw_evolution

        path = draw_evolution(out or Path("out") / "evolution", folder=data)
    _say(f"wrote {path}")


@reproduce.command()
@click.option("--quick", is_flag=True, help="3 splits, 2 pairs of classes a set: 2 minutes on 2 cores.")
@click.option("--default", is_flag=True, help="10 splits, 10 pairs a set: half an hour. This is the default.")
@click.option("--full", is_flag=True, help="The paper's 30 splits, all pairs: about 5 hours.")
@click.option("--sets", default=None, metavar="A,B,...", help="Only these data sets.")
@click.option("--methods", default=None, metavar="A,B,...", help="Only these methods.")
@_parallel
@_shared
def semisupervised(
    quick: bool,
    default: bool,
    full: bool,
    sets: str | None,
    methods: str | None,
    jobs: int | None,
    retry_failed: bool,
    out: Path | None,
    data: str | None,
) -> None:
    """Figures 7 and 8 in numbers: errors of every method for few labels.

    Can be stopped at any time; the same command goes on, and a larger size goes on from the default.
    """
    if quick + default + full > 1:
        raise click.UsageError("--quick, --default and --full are three sizes of the study: choose one.")
    size = "quick" if quick else "full" if full else "default"
    with _explained():
        from ravine.studies import run_semisupervised

        name = "semisupervised-quick" if size == "quick" else "semisupervised"
        with _progress("Semi-supervised study") as notify:
            study = run_semisupervised(
                out or Path("out") / name, size=size, sets=sets, methods=methods, n_jobs=jobs, folder=data,
                retry_failed=retry_failed, notify=notify,
            )  # fmt: skip
    click.echo(study.table)
    for path in study.files:
        _say(f"wrote {path}")


@reproduce.command()
@click.option("--starts", type=click.IntRange(1), default=100, show_default=True, help="Random directions.")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of these directions.")
@click.option("--variants/--no-variants", default=True, help="Also look at what decides the number of solutions.")
@_parallel
@_shared
def s1(
    starts: int,
    seed: int,
    variants: bool,
    jobs: int | None,
    retry_failed: bool,
    out: Path | None,
    data: str | None,
) -> None:
    """The figures on SQP and MDP²: where both end on S1 from many random starts.

    Draws the partitions and the index over the angle with the solutions of both. The summary is printed, and written
    with everything else to the folder of the results.
    """
    with _explained():
        from ravine.studies import run_s1

        with _progress("S1") as notify:
            study = run_s1(
                out or Path("out") / "s1", n_starts=starts, seed=seed, variants=variants, n_jobs=jobs, folder=data,
                retry_failed=retry_failed, notify=notify,
            )  # fmt: skip
    click.echo(study.table)
    for path in study.files:
        _say(f"wrote {path}")


@reproduce.command()
@click.option("--out", type=click.Path(path_type=Path), default=None, help="Folder of the results.  [out/margin]")
@click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Of the made-up rows.")
def margin(out: Path | None, seed: int) -> None:
    """The figure on the maximum margin: where minimum density hyperplanes go as the bandwidth shrinks."""
    with _explained():
        from ravine.studies import run_margin

        study = run_margin(out or Path("out") / "margin", seed=seed)
    click.echo(study.table)
    for path in study.files:
        _say(f"wrote {path}")


@reproduce.command()
@click.option("--sets", default=None, metavar="A,B,...", help="Only these data sets.")
@click.option("--optimisers", "names", default=None, metavar="A,B,...", help="Only these optimisers.")
@click.option("--starts", type=click.IntRange(1), default=10, show_default=True, help="Directions to start from.")
@_parallel
@_shared
def optimisers(
    sets: str | None,
    names: str | None,
    starts: int,
    jobs: int | None,
    retry_failed: bool,
    out: Path | None,
    data: str | None,
) -> None:
    """What every optimiser costs, how low it gets, and whether it ends at a stationary point.

    Can be stopped at any time; the same command goes on. The summary is printed, and written with everything else to
    the folder of the results.
    """
    with _explained():
        from ravine.studies import run_optimisers

        with _progress("Optimisers") as notify:
            study = run_optimisers(
                out or Path("out") / "optimisers", sets=sets, optimisers=names, n_starts=starts, n_jobs=jobs,
                folder=data, retry_failed=retry_failed, notify=notify,
            )  # fmt: skip
    click.echo(study.table)
    for path in study.files:
        _say(f"wrote {path}")
