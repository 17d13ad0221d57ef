"""`ravine classify`: classify a table from a few labels."""

from __future__ import annotations

from typing import Any

import click

from ravine.cli.console import Console, ShowProgress
from ravine.cli.errors import Command
from ravine.cli.options import COMMON, FEATURES, READING, RESULTS, FitOptions, add_options


@click.command(cls=Command, epilog="\b\nExample:\n  ravine classify data.csv --label-column species")
@click.argument("data", metavar="FILE")
@click.option(
    "--label-column", required=True, metavar="COLUMN", help="Column of labels; empty cells mark unlabelled rows."
)
@click.option(
    "--suggest",
    type=click.IntRange(0),
    default=0,
    metavar="N",
    help="Write the N unlabelled rows whose labels would help most to suggestions.csv.",
)
@add_options(FEATURES, RESULTS, READING, COMMON)
def classify(data: str, label_column: str, suggest: int, **shared: Any) -> None:
    """Classify all rows of FILE from a few labels.

    Unlabelled rows help: the boundary that the labels suggest moves to where there are few rows nearby. FILE may be any
    table that ravine cluster reads; - reads standard input.
    """
    with Console(shared["quiet"]).step("starting"):
        from ravine.cli.run import FitRequest, run

    options = FitOptions(**shared)
    if suggest and options.out == "-":
        raise click.UsageError("--suggest writes a file: leave out --out -.")
    run(
        FitRequest(
            command="classify",
            source=data,
            label_column=label_column,
            options=options,
            make_estimator=lambda show, n_threads: _make_classifier(options.seed, n_threads, show),
            settings={"label_column": label_column, **({"suggest": suggest} if suggest else {})},
            n_suggested=suggest,
        )
    )


def _make_classifier(seed: int, n_threads: int, show_progress: ShowProgress) -> Any:
    from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane

    done = 0

    def count_step(step: Any) -> None:
        nonlocal done
        done += 1
        show_progress(done, None, f"{done} hyperplanes tried")

    hyperplane = MinimumDensityHyperplane(callback=count_step)
    return MinimumDensityClassifier(hyperplane=hyperplane, random_state=seed, n_jobs=n_threads)
