"""`ravine demo`: the whole way from a table to results, with simulated data."""

from __future__ import annotations

from typing import Any

import click

from ravine.cli.console import Console, escape
from ravine.cli.errors import Command
from ravine.cli.options import COMMON, FitOptions, OutputPath, add_options

MEASUREMENTS = ("wing_mm", "bill_mm", "tail_mm", "weight_g")
# Species, number of birds, mean and standard deviation of each measurement.
SPECIES = (
    ("finch", 150, (88.0, 12.5, 64.0, 24.0), (2.4, 0.8, 2.6, 2.0)),
    ("thrush", 105, (118.0, 20.0, 85.0, 70.0), (3.5, 1.1, 4.0, 6.0)),
    ("swift", 80, (172.0, 7.0, 76.0, 42.0), (4.0, 0.5, 3.0, 3.5)),
    ("wader", 65, (116.0, 34.0, 52.0, 62.0), (3.5, 2.2, 2.8, 6.5)),
)


def simulate_birds() -> str:
    """Return a CSV table of simulated birds of four species."""
    import numpy as np

    rng = np.random.default_rng(2016)
    rows = [
        (kind, *(mean + spread * rng.normal(size=(n, len(mean))))[k])
        for kind, n, mean, spread in ((k, n, np.array(m), np.array(s)) for k, n, m, s in SPECIES)
        for k in range(n)
    ]
    order = rng.permutation(len(rows))
    lines = [",".join(("ring", *MEASUREMENTS, "kind"))]
    for number, k in enumerate(order.tolist(), start=1):
        kind, *sizes = rows[k]
        lines.append(",".join([f"B{number:04d}", *(f"{size:.1f}" for size in sizes), kind]))
    return "\n".join(lines) + "\n"


@click.command(cls=Command)
@click.option(
    "--out",
    type=OutputPath(),
    default="ravine-demo",
    show_default=True,
    metavar="DIR",
    help="Folder for the results.",
)
@click.option("--force", is_flag=True, help="Replace existing results.")
@add_options(COMMON)
def demo(**given: Any) -> None:
    """Cluster a simulated table.

    Simulates measurements of 400 birds of four species, clusters them without their species, and writes all results to
    a folder. Needs neither data nor a network.
    """
    from ravine.cli.cluster import make_clusterer
    from ravine.cli.run import FitRequest, run

    options = FitOptions(key="ring", jobs=1, **given)
    console = Console(options.quiet)
    console.print("Clustering 400 simulated birds of four species without saying how many. Equivalent to:\n")
    console.print(f"  ravine cluster birds.csv --key ring --label-column kind --out {escape(options.out)}\n")
    run(
        FitRequest(
            command="cluster",
            source="birds.csv",
            label_column="kind",
            options=options,
            make_estimator=lambda show, n_threads: make_clusterer("tree", "auto", options.seed, n_threads, show),
            settings={"method": "tree", "clusters": "auto"},
            content=simulate_birds(),
        )
    )
