"""`ravine cluster`: find clusters in a table."""

from __future__ import annotations

from typing import Any

import click

from ravine.cli.console import Console, ShowProgress
from ravine.cli.errors import Command
from ravine.cli.options import (
    COMMON,
    FEATURES,
    MEMBERSHIPS,
    READING,
    RESULTS,
    ClusterCount,
    FitOptions,
    Share,
    add_options,
)


@click.command(
    cls=Command,
    epilog="\b\nExamples:\n  ravine cluster data.csv\n  ravine cluster data.csv --clusters 5 --key id --drop comment",
)
@click.argument("data", metavar="FILE")
@click.option(
    "--clusters",
    type=ClusterCount(),
    default=None,
    metavar="K|auto|shown",
    help="Number of clusters; auto finds it if a test shows that there is more than one, shown keeps only splits that "
    "pass the test.  [default: auto]",
)
@click.option(
    "--method",
    type=click.Choice(["tree", "hyperplane"]),
    default="tree",
    show_default=True,
    help="Any number of clusters by a tree of hyperplanes, or two by a single hyperplane.",
)
@click.option(
    "--label-column",
    default=None,
    metavar="COLUMN",
    help="Known labels to compare the clusters with; they are not used to find them, unless --use-labels is given.",
)
@click.option(
    "--use-labels",
    is_flag=True,
    help="Keep rows of one known label in one cluster, and rows of different labels apart; empty cells are unlabelled.",
)
@click.option(
    "--outliers",
    type=Share("auto", most=0.5),
    default=None,
    metavar="SHARE|auto",
    help="Mark this share of the rows, or those that are far out, as outliers: cluster -1. Their scores are added to "
    "the labels.",
)
@MEMBERSHIPS
@click.option(
    "--min-cluster-size",
    type=Share(allows_numbers=True),
    default=None,
    metavar="N|SHARE",
    help="Fewest rows of a cluster; only for --method tree.  [default: 5]",
)
@click.option(
    "--max-cluster-size",
    type=Share(allows_numbers=True),
    default=None,
    metavar="N|SHARE",
    help="Most rows of a cluster; larger ones are split further. Only for --method tree.",
)
@add_options(FEATURES, RESULTS, READING, COMMON)
def cluster(
    data: str,
    clusters: int | str | None,
    method: str,
    label_column: str | None,
    use_labels: bool,
    outliers: float | str | None,
    memberships: bool,
    min_cluster_size: float | None,
    max_cluster_size: float | None,
    **shared: Any,
) -> None:
    """Find clusters in the rows of FILE.

    FILE is CSV or a similar text format, optionally with gzip, Excel, JSON lines, Parquet, Feather or a NumPy array;
    - reads standard input. Labels, model, report and figures are written to a new folder. How the columns are used is
    reported on standard error.
    """
    with Console(shared["quiet"]).step("starting"):
        from ravine.cli.run import FitRequest, run

    if method == "hyperplane" and clusters not in (None, 2):
        raise click.UsageError(f"--method hyperplane finds two clusters: --clusters {clusters} needs --method tree.")
    given = {"use_labels": use_labels, "min_cluster_size": min_cluster_size, "max_cluster_size": max_cluster_size}
    of_tree = {name: value for name, value in given.items() if value is not None and value is not False}
    if method == "hyperplane" and of_tree:
        raise click.UsageError(f"--{next(iter(of_tree)).replace('_', '-')} needs --method tree.")
    if use_labels and label_column is None:
        raise click.UsageError("--use-labels needs --label-column: the column of the known labels.")
    sizes = {name: value for name, value in of_tree.items() if name != "use_labels"}
    n_clusters = ("auto" if method == "tree" else 2) if clusters is None else clusters
    options = FitOptions(**shared)
    run(
        FitRequest(
            command="cluster",
            source=data,
            label_column=label_column,
            options=options,
            make_estimator=lambda show, n_threads: make_clusterer(
                method, n_clusters, options.seed, n_threads, show, contamination=outliers, **sizes
            ),
            memberships=memberships,
            settings={
                "method": method,
                "clusters": n_clusters,
                **({} if outliers is None else {"outliers": outliers}),
                **of_tree,
            },
        )
    )


def make_clusterer(
    method: str,
    n_clusters: int | str,
    seed: int,
    n_threads: int,
    show_progress: ShowProgress,
    **parameters: Any,
) -> Any:
    """Return the estimator with some more parameters; it shows its progress while it is fitted."""
    from ravine.estimators import MinimumDensityHyperplane, MinimumDensityTree, PathSettings

    if method == "tree":
        total = n_clusters - 1 if isinstance(n_clusters, int) else None

        def show_leaves(tree: Any) -> None:
            show_progress(tree.n_clusters - 1, total, f"{tree.n_clusters} clusters so far")

        return MinimumDensityTree(n_clusters, random_state=seed, n_jobs=n_threads, callback=show_leaves, **parameters)
    mdh = MinimumDensityHyperplane(test="pooled", random_state=seed, n_jobs=n_threads, **parameters)
    # Half of the starts are followed at one alpha, the others along the whole path; each path is polished at its end.
    total = 2 * ((mdh.n_init + 1) // 2) + (PathSettings().n_alpha + 1) * (mdh.n_init // 2)
    done = 0

    def count_step(step: Any) -> None:
        nonlocal done
        done += 1
        show_progress(done, total, "")

    return mdh.set_params(callback=count_step)
