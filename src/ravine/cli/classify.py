"""`ravine classify`: classes of all rows from the labels of a few."""

from __future__ import annotations

from typing import Any

import click

from ravine.cli.errors import PoliteCommand
from ravine.cli.options import COMMON, FEATURES, READING, RESULTS, options, thread_count
from ravine.cli.voice import Move, Voice

__all__ = ["classify"]


@click.command(cls=PoliteCommand, epilog="\b\nExample:\n  ravine classify data.csv --label-column species")
@click.argument("data", metavar="FILE")
@click.option("--label-column", required=True, metavar="COLUMN", help="Labels; empty cells are unlabelled rows.")
@options(FEATURES, RESULTS, READING, COMMON)
def classify(
    data: str,
    label_column: str,
    drop: tuple[str, ...],
    key: str | None,
    scale: str,
    encode: str,
    missing: str,
    out: str | None,
    force: bool,
    no_figures: bool,
    seed: int,
    jobs: int | None,
    delimiter: str | None,
    header: bool | None,
    encoding: str | None,
    decimal: str,
    quiet: bool,
    as_json: bool,
    debug: bool,
) -> None:
    """Label all rows of FILE from the few that have a label (- is standard input).

    Rows without a label help, too: the border between classes is put where there are few rows.
    """
    from ravine.cli.columns import Choices
    from ravine.cli.run import Job, run
    from ravine.cli.tables import Reading

    job = Job(
        command="classify",
        source=data,
        reading=Reading(delimiter, encoding, header, decimal, (label_column,) if key is None else (key, label_column)),
        choices=Choices(drop, key, label_column, encode, missing, scale),
        make=lambda move, n_rows: _classifier(seed, thread_count(jobs, n_rows), move),
        out=out,
        force=force,
        figures=not no_figures,
        settings={"label_column": label_column, "scale": scale, "missing": missing, "seed": seed},
    )
    run(job, Voice(quiet, as_json))


def _classifier(seed: int, n_threads: int, move: Move) -> Any:
    from ravine.estimators import MinimumDensityClassifier

    done = 0

    def stepped(step: Any) -> None:
        nonlocal done
        done += 1
        move(done, None, f"{done} hyperplanes tried")

    return MinimumDensityClassifier(random_state=seed, n_jobs=n_threads, callback=stepped)
