"""`ravine demo`: the whole way from a table to results, with data made on the spot."""

from __future__ import annotations

import click

from ravine.cli.errors import PoliteCommand
from ravine.cli.options import COMMON, options
from ravine.cli.voice import Voice

__all__ = ["birds", "demo"]

# Kind, number of birds, mean and standard deviation of each measurement.
MEASUREMENTS = ("wing_mm", "bill_mm", "tail_mm", "weight_g")
KINDS = (
    ("finch", 150, (88.0, 12.5, 64.0, 24.0), (2.4, 0.8, 2.6, 2.0)),
    ("thrush", 105, (118.0, 20.0, 85.0, 70.0), (3.5, 1.1, 4.0, 6.0)),
    ("swift", 80, (172.0, 7.0, 76.0, 42.0), (4.0, 0.5, 3.0, 3.5)),
    ("wader", 65, (116.0, 34.0, 52.0, 62.0), (3.5, 2.2, 2.8, 6.5)),
)


def birds() -> str:
    """A table of made-up birds as CSV: four kinds that no single measurement tells apart."""
    import numpy as np

    rng = np.random.default_rng(2016)
    rows = [
        (kind, *(mean + spread * rng.normal(size=(n, len(mean))))[k])
        for kind, n, mean, spread in ((k, n, np.array(m), np.array(s)) for k, n, m, s in KINDS)
        for k in range(n)
    ]
    order = rng.permutation(len(rows))
    lines = [",".join(("ring", *MEASUREMENTS, "kind"))]
    for number, k in enumerate(order.tolist(), start=1):
        kind, *sizes = rows[k]
        lines.append(",".join([f"B{number:04d}", *(f"{size:.1f}" for size in sizes), kind]))
    return "\n".join(lines) + "\n"


@click.command(cls=PoliteCommand)
@click.option("--out", type=click.Path(), default="ravine-demo", show_default=True, help="Folder of the results.")
@click.option("--force", is_flag=True, help="Replace results that are there already.")
@options(COMMON)
def demo(out: str, force: bool, quiet: bool, as_json: bool, debug: bool) -> None:
    """Cluster a table of made-up birds and leave the results in a folder; needs no data and no network."""
    from ravine.cli.cluster import clusterer
    from ravine.cli.columns import Choices
    from ravine.cli.run import Job, run
    from ravine.cli.tables import Reading

    voice = Voice(quiet, as_json)
    voice.tell("400 made-up birds of four kinds; how many kinds there are is not told. The same as\n")
    voice.tell(f"  ravine cluster birds.csv --key ring --label-column kind --out {out}\n")
    job = Job(
        command="cluster",
        source="birds.csv",
        reading=Reading(as_text=("ring", "kind")),
        choices=Choices(key="ring", label="kind"),
        make=lambda move, n_rows: clusterer("tree", "auto", 0, 1, move),
        out=out,
        force=force,
        figures=True,
        settings={"method": "tree", "clusters": "auto", "scale": "standard", "missing": "error", "seed": 0},
        embedded=birds(),
    )
    run(job, voice)
