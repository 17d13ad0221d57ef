"""`ravine cluster`: clusters of the rows of a table."""

from __future__ import annotations

from typing import Any

import click

from ravine.cli.errors import PoliteCommand
from ravine.cli.options import COMMON, FEATURES, READING, RESULTS, ClusterCount, options, thread_count
from ravine.cli.voice import Move, Voice

__all__ = ["cluster", "clusterer"]


@click.command(
    cls=PoliteCommand,
    epilog="\b\nExamples:\n  ravine cluster data.csv\n  ravine cluster data.csv --clusters 5 --key id --drop comment",
)
@click.argument("data", metavar="FILE")
@click.option(
    "--clusters", type=ClusterCount(), default=None, help="How many, or auto: splits that are shown to be real.  [auto]"
)
@click.option(
    "--method",
    type=click.Choice(["tree", "hyperplane"]),
    default="tree",
    show_default=True,
    help="Any number of clusters by a tree of hyperplanes, or two by one hyperplane.",
)
@click.option("--label-column", default=None, metavar="COLUMN", help="Known labels: not used, only compared with.")
@options(FEATURES, RESULTS, READING, COMMON)
def cluster(
    data: str,
    clusters: int | str | None,
    method: str,
    label_column: str | None,
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
    """Find clusters in the rows of FILE (- is standard input).

    FILE may be CSV or TSV, also with gzip, Parquet, Feather or a NumPy array. Labels, the model, a report and figures
    go to a new folder; what was done with the columns is said on standard error.
    """
    from ravine.cli.columns import Choices
    from ravine.cli.run import Job, run
    from ravine.cli.tables import Reading

    if method == "hyperplane" and clusters not in (None, 2):
        raise click.UsageError(f"--method hyperplane gives two clusters: --clusters {clusters} needs --method tree.")
    wanted = ("auto" if method == "tree" else 2) if clusters is None else clusters
    job = Job(
        command="cluster",
        source=data,
        reading=Reading(
            delimiter, encoding, header, decimal, tuple(name for name in (key, label_column) if name is not None)
        ),
        choices=Choices(drop, key, label_column, encode, missing, scale),
        make=lambda move, n_rows: clusterer(method, wanted, seed, thread_count(jobs, n_rows), move),
        out=out,
        force=force,
        figures=not no_figures,
        settings={"method": method, "clusters": wanted, "scale": scale, "missing": missing, "seed": seed},
    )
    run(job, Voice(quiet, as_json))


def clusterer(method: str, wanted: int | str, seed: int, n_threads: int, move: Move) -> Any:
    """The estimator, which moves the bar while it is fitted."""
    from ravine.estimators import MinimumDensityHyperplane, MinimumDensityTree

    if method == "tree":
        total = wanted - 1 if isinstance(wanted, int) else None

        def grown(tree: Any) -> None:
            move(tree.n_leaves - 1, total, f"{tree.n_leaves} clusters so far")

        return MinimumDensityTree(wanted, random_state=seed, n_jobs=n_threads, callback=grown)
    mdh = MinimumDensityHyperplane(test=True, random_state=seed, n_jobs=n_threads)
    done = 0

    def stepped(step: Any) -> None:
        nonlocal done
        done += 1
        move(done, mdh.n_init * (mdh.n_alpha + 1), "")

    return mdh.set_params(callback=stepped)
