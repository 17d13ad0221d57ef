"""From a file to results: the work that `cluster`, `classify` and `demo` share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from pathlib import Path
from typing import Any

import click

from ravine._plurals import count
from ravine.cli.console import Console, ShowProgress
from ravine.cli.errors import CommandError
from ravine.cli.killed_runs import remove_killed_runs
from ravine.cli.options import FitOptions
from ravine.cli.output_folder import check_output_folder, get_default_folder, stage_results
from ravine.cli.outputs import RESULTS, make_labels_table, print_labels, report_formulas, write_outputs
from ravine.cli.result import Result, get_row_keys, keep_rows, profile_groups
from ravine.cli.streams import escape
from ravine.explain import (
    describe_completions,
    describe_evidence,
    describe_groups,
    describe_outliers,
    describe_shape,
    find_suggestion,
)
from ravine.models import TableModel
from ravine.tables import (
    ColumnChoices,
    Consensus,
    PreparedTable,
    ReadOptions,
    apply_remedy,
    average_memberships,
    choose_consensus,
    fit_table,
    read_labels,
    read_table,
    resolve_columns,
)

__all__ = ["FitRequest", "run"]

PLURALS = {"cluster": "clusters", "class": "classes"}
# Pairs of rows that contradict labels and are printed; the summary lists all.
MAX_VIOLATIONS = 3
# Groups that are printed; the summary lists all.
MAX_GROUPS = 30
# Rows are unstable if a larger share of the completions of missing cells puts them into another cluster.
UNSTABLE = 0.25


@dataclass(frozen=True)
class FitRequest:
    """Request to fit an estimator to a table.

    Attributes
    ----------
    command : {"cluster", "classify"}
    source : str
        File, or "-" for standard input.
    label_column : str or None
    options : FitOptions
    make_estimator : callable
        Makes the estimator from a function that shows its progress and the number of threads.
    settings : dict
        Settings of the command for the summary.
    content : str or None
        Text of the input if there is no such file; it is then written next to the results, as ``source``.
    n_suggested : int
        Number of unlabelled rows to suggest for labelling.
    memberships : bool
        Whether the labels of clusters have a column of memberships.
    """

    command: str
    source: str
    label_column: str | None
    options: FitOptions
    make_estimator: Callable[[ShowProgress, int], Any]
    settings: dict[str, Any]
    content: str | None = None
    n_suggested: int = 0
    memberships: bool = False


def run(request: FitRequest) -> None:
    """Read the table, fit the estimator, write and print the results."""
    options = request.options
    console = Console(options.quiet, options.as_json)
    if options.out == "-" and options.as_json:
        raise click.UsageError("--out - and --json both print to standard output: choose one.")
    folder = get_default_folder(request.source) if options.out is None else Path(options.out)
    with ExitStack() as stack:
        stage, source = None, request.source
        if options.out != "-":  # first, so that a folder that is not writable is noticed before the work
            results = RESULTS if request.content is None else (*RESULTS, request.source)
            check_output_folder(folder, results, options.force)
            for message in remove_killed_runs(folder):
                console.print(escape(message))
            stage = stack.enter_context(stage_results(folder, results))
            if request.content is not None:
                source = str(stage / request.source)
                Path(source).write_text(request.content, encoding="utf-8")
        result = fit(source, request, console)
        if stage is not None:
            files = write_outputs(stage, result, console, not options.no_figures)
    if stage is None:
        print_labels(make_labels_table(result))
    print_result(result, console)
    if stage is not None:
        print_files(folder, files, console)
        result.summary["folder"] = str(folder)
    console.print_json(result.summary)


def fit(source: str, request: FitRequest, console: Console) -> Result:
    """Read a table and fit the estimator to it."""
    options, label_column = request.options, request.label_column
    classify = request.command == "classify"
    uses_labels = classify or request.settings.get("use_labels", False)
    table, choices = read_choices(source, request, console)
    with console.step("preparing"):
        given = None if label_column is None else read_labels(table, label_column, console.report, learn=uses_labels)
        if options.auto:
            table, choices = apply_remedy(table, choices, console.report)
        prepared = fit_table(table, choices, console.report, options.seed)
    X, kept = prepared.X, prepared.kept
    labels_of_fit = keep_rows(given, kept) if uses_labels else None
    if labels_of_fit is not None:
        check_labels(labels_of_fit, str(label_column))
    check_suggestions(request.n_suggested, labels_of_fit)
    with console.step("fitting") as show_progress:
        make_estimator = partial(request.make_estimator, show_progress, options.count_threads(len(X)))
        estimator, consensus = fit_estimator(make_estimator, prepared, labels_of_fit)
        X = X if consensus is None else consensus.X
        estimator.set_params(callback=None)
    with console.step("labelling"):
        labels = estimator.transduction_ if classify else estimator.labels_
        labels = labels if consensus is None else consensus.labels
        probability = None
        if consensus is not None and request.memberships:
            probability = average_memberships(estimator, X[None], labels)
        elif classify or request.memberships:
            probability = estimator.predict_proba(X).max(axis=1)
    keys, key_name = get_row_keys(table, choices.key)
    model = TableModel(estimator, prepared.preparation, label_column)
    name = "standard input" if request.source == "-" else request.source
    result = Result(request.command, name, model, X, kept, labels, key_name, keys, given, probability)
    result.protects_formulas = options.spreadsheet
    if request.settings.get("outliers") is not None:
        result.outlier_scores = estimator.outlier_scores_
    if consensus is not None:
        result.consensus, result.instability = consensus, consensus.instability
    if request.n_suggested:
        result.suggested = estimator.query(request.n_suggested)
    report_formulas(result, console)
    result.summary = make_summary(result, request, console, table.num_rows)
    return result


def read_choices(source: str, request: FitRequest, console: Console) -> tuple[Any, ColumnChoices]:
    """Read a table; return it with the choices about its columns."""
    options, label_column = request.options, request.label_column
    classify = request.command == "classify"
    if classify and options.missing == "multiple":
        raise click.UsageError("--missing multiple is an option of cluster: use impute-median or drop.")
    given = request.settings
    once = [name for name in ("outliers", "use_labels") if given.get(name) not in (None, False)]
    if once and options.missing == "multiple":
        option = f"--{once[0].replace('_', '-')}"
        raise click.UsageError(f"--missing multiple and {option} cannot be combined: use --missing impute-median.")
    as_text = tuple(name for name in (options.key, label_column) if name is not None)
    with console.step("reading"):
        reading = ReadOptions(options.delimiter, options.encoding, options.header, options.decimal, as_text)
        table = read_table(source, reading, console.report)
    reason = explain_medians(request.command, once, options.normalize)
    return table, resolve_columns(
        table,
        ColumnChoices(
            options.drop, options.key, label_column, options.encode, options.missing, options.scale, options.normalize,
            "impute-median" if reason else "multiple", reason,
        ),
    )  # fmt: skip


def explain_medians(command: str, once: Sequence[str], normalize: str) -> str:
    """Return why missing cells cannot be filled several times; empty if they can."""
    if command == "classify":
        return "classify fits completed rows once"
    if once:
        return f"--{once[0].replace('_', '-')} needs one completion of the rows"
    return "--normalize l2 needs complete rows" if normalize == "l2" else ""


def fit_estimator(
    make_estimator: Callable[[], Any], prepared: PreparedTable, labels: Any
) -> tuple[Any, Consensus | None]:
    """Fit the estimator to a table; to several completions of it if cells are missing, on which they have to agree."""
    import numpy as np

    X, imputer = prepared.X, prepared.preparation.imputer
    if imputer is None or not np.isnan(X).any():
        return make_estimator().fit(X, labels), None
    consensus = choose_consensus(make_estimator, imputer.impute(X), imputer, labels)
    return consensus.estimator, consensus


def check_labels(labels: Any, column: str) -> None:
    """Raise an error if no row that is used has a label."""
    if all(label is None for label in labels):
        raise CommandError(
            f"all rows are unlabelled: the column {column!r} has no label in a row that is used. Enter some labels, or "
            "choose another --label-column."
        )


def check_suggestions(n: int, labels: Any) -> None:
    """Refuse more suggestions than there are unlabelled rows, before the fit."""
    n_open = 0 if labels is None else sum(label is None for label in labels)
    if n > n_open:
        raise click.UsageError(
            f"--suggest {n}: only {count(n_open, 'row')} {'has' if n_open == 1 else 'have'} no label. Ask for at most "
            "as many."
        )


# ----------------------------------------------------------------------------------------------- summary


def make_summary(result: Result, request: FitRequest, console: Console, n_rows: int) -> dict[str, Any]:
    """Return the content of summary.json."""
    options, word = request.options, result.group_name
    summary: dict[str, Any] = {
        "command": request.command,
        "input": result.source,
        "rows": n_rows,
        "rows_used": len(result.X),
        "features": list(result.feature_names),
        "settings": {
            **request.settings, "scale": options.scale, "normalize": options.normalize,
            "encode": result.model.preparation.encoding, "missing": result.model.preparation.missing,
            "seed": options.seed,
        },
        PLURALS[word]: profile_groups(*result.list_typical_rows(), result.model.preparation, word),
        "notes": list(console.notes),
        "version": version("ravine"),
    }  # fmt: skip
    estimator = result.model.estimator
    if hasattr(estimator, "shape_"):
        summary["shape"] = {"used": estimator.shape_, "reason": estimator.shape_reason_}
        if estimator.tree_.joins is not None:
            add_joins(summary, estimator.tree_)
    suggestion = find_suggestion(estimator)
    if suggestion is not None and suggestion.n_suggested > suggestion.n_shown:
        summary["suggestion"] = {
            "shown": suggestion.n_shown, "suggested": suggestion.n_suggested, "text": str(suggestion),
        }  # fmt: skip
    if result.consensus is not None:
        n_clusters, instability = list(result.consensus.n_clusters), result.consensus.instability
        n_unstable = int((instability > UNSTABLE).sum())
        summary["completions"] = {
            "clusters": n_clusters, "mean_instability": round(float(instability.mean()), 4),
            "unstable_rows": n_unstable, "text": describe_completions(n_clusters, n_unstable, UNSTABLE),
        }  # fmt: skip
    evidence = describe_evidence(result.model.estimator)
    if evidence is not None:
        summary["unlabelled_rows"] = evidence
    if result.outlier_scores is not None:
        summary["outliers"] = estimator.n_outliers_
    if hasattr(estimator, "violated_constraints_"):
        summary["violated_constraints"] = [list(one) for one in estimator.violated_constraints_]
    if request.command == "cluster" and result.given is not None and not request.settings.get("use_labels"):
        summary["agreement"] = compute_agreement(result)
    return summary


def add_joins(summary: dict[str, Any], tree: Any) -> None:
    """Add the number of joined leaves of each cluster, and the boundaries between clusters with their evidence."""
    import numpy as np

    n_leaves = np.bincount(tree.cluster[tree.cluster >= 0]).tolist()
    for profile in summary["clusters"]:
        profile["leaves"] = n_leaves[profile["cluster"]]
    pairs = zip(tree.joins.boundaries.tolist(), tree.joins.boundary_evidence.tolist(), strict=True)
    summary["shape"]["boundaries"] = [
        {"clusters": pair, "z": round(z, 2) if np.isfinite(z) else None} for pair, z in pairs
    ]


def compute_agreement(result: Result) -> dict[str, Any]:
    """Compare the clusters with known labels that were not used."""
    import numpy as np
    from sklearn.metrics import v_measure_score

    from ravine.metrics import adjusted_rand_index, contingency_table

    given = keep_rows(result.given, result.kept)
    is_labelled = np.array([label is not None for label in given.tolist()], dtype=bool)
    if not is_labelled.any():
        raise CommandError(f"the column {result.model.label_column!r} is empty: omit --label-column.")
    known = np.unique([str(label) for label in given[is_labelled]], return_inverse=True)[1]
    labels = result.labels[is_labelled]
    return {
        "rows": int(is_labelled.sum()),
        "adjusted_rand_index": round(adjusted_rand_index(contingency_table(known, labels)), 4),
        "v_measure": round(float(v_measure_score(known, labels)), 4),
    }


def print_result(result: Result, console: Console) -> None:
    """Print the groups with the features that set them apart."""
    summary, word = result.summary, result.group_name
    groups, n_rows = summary[PLURALS[word]], summary["rows_used"]
    console.print(f"\n{describe_groups(len(groups), n_rows, word, PLURALS[word])}")
    width = max(len(escape(group[word])) for group in groups)
    for group in groups[:MAX_GROUPS]:
        differs = ", ".join(describe_difference(group, name) for name in group["differs_by"])
        if group.get("leaves", 1) > 1:
            differs = f"{group['leaves']} joined leaves   {differs}"
        rows = f"{group['rows']:>8} {'row ' if group['rows'] == 1 else 'rows'}"
        share = 100.0 * group["rows"] / n_rows
        line = f"  {word} {escape(group[word]):>{width}}  {rows} {share:5.1f} %   {differs}"
        console.print(line.rstrip())
    if len(groups) > MAX_GROUPS:
        console.print(f"  and {len(groups) - MAX_GROUPS} more")
    if len(groups) > 1:
        end = ", or the share of the rows with a category" if any("shares" in group for group in groups) else ""
        text = "features whose mean differs most from that of all other rows, in pooled standard deviations"
        console.print(f"  ({text}{end})")
    if "outliers" in summary:
        console.print(describe_outliers(summary["outliers"]))
    if "violated_constraints" in summary:
        console.print(describe_violations(result, summary["violated_constraints"]))
    if summary.get("shape", {}).get("used") == "any":
        console.print(describe_shape(result.model.estimator))
    if "suggestion" in summary:
        console.print(describe_suggestion(summary))
    if "completions" in summary:
        console.print(summary["completions"]["text"])
    if "unlabelled_rows" in summary:
        console.print(summary["unlabelled_rows"])
    if "agreement" in summary:
        scores = summary["agreement"]
        console.print(
            f"Agreement with {result.model.label_column!r} ({count(scores['rows'], 'row')}): adjusted Rand index "
            f"{scores['adjusted_rand_index']:.2f}, V-measure {scores['v_measure']:.2f}"
        )


def describe_difference(group: dict[str, Any], name: str) -> str:
    """Return how a group differs by a feature: the effect size, or the shares of a category inside and outside."""
    if name in group.get("shares", {}):
        inside, outside = group["shares"][name]
        return f"{escape(name)} {100.0 * inside:.0f} % (others {100.0 * outside:.0f} %)"
    value = group["differs_by"][name]
    return f"{escape(name)} {'constant' if value is None else format(value, '+.1f')}"


def describe_violations(result: Result, violated: list[list[Any]]) -> str:
    """Return how many labels contradict the clusters, and the first of them by the keys of their rows."""
    import numpy as np

    if not violated:
        return "All known labels agree with the clusters"
    keys = keep_rows(np.asarray(result.keys), result.kept)
    pairs = ", ".join(f"{escape(keys[i])} and {escape(keys[j])}" for _, i, j in violated[:MAX_VIOLATIONS])
    verb = "contradicts" if len(violated) == 1 else "contradict"
    return f"{count(len(violated), 'pair')} of labelled rows {verb} the clusters, first {pairs}"


def describe_suggestion(summary: dict[str, Any]) -> str:
    """Return how many clusters are shown and suggested, and the option that gives the other number."""
    is_followed = summary["settings"]["clusters"] == "suggested"
    other = "--clusters auto gives the former" if is_followed else "--clusters suggested gives the latter"
    return f"{summary['suggestion']['text']}; {other}"


def print_files(folder: Path, names: list[str], console: Console) -> None:
    """Print the names of the files that were written."""
    console.print(f"\nWritten to {escape(folder)}: {', '.join(name for name in names if '/' not in name)}")
    figures = [name for name in names if "/" in name]
    if figures:
        console.print(f"and {count(len(figures), 'figure')}: {', '.join(figures[:6])}")
