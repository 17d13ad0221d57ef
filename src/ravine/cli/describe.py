"""`ravine describe`: content of a model file."""

from __future__ import annotations

import math
from typing import Any

import click

from ravine._plurals import count
from ravine.cli.console import Console, escape
from ravine.cli.errors import Command
from ravine.cli.options import COMMON, add_options

# Clusters, or pairs of classes, that are described.
MAX_GROUPS = 20
SCALINGS = {
    "standard": "mean 0, standard deviation 1",
    "robust": "by median and quartiles",
    "none": "none",
}
MISSING = {
    "error": "not allowed",
    "drop": "rows are dropped",
    "impute-median": "filled with the median",
    "multiple": "filled several times with values of similar rows",
}


@click.command(cls=Command, epilog="\b\nExample:\n  ravine describe data-ravine/model.ravine")
@click.argument("model", metavar="MODEL")
@add_options(COMMON)
def describe(model: str, quiet: bool, as_json: bool, debug: bool) -> None:
    """Describe the model file MODEL.

    Lists the columns and their preparation, and the rules by which rows are assigned to clusters or classes.
    """
    from ravine.explain import find_suggestion, name_features, open_pipeline
    from ravine.models import TableModel, inspect

    info = inspect(model)
    table, opened = info.model if isinstance(info.model, TableModel) else None, open_pipeline(info.model)
    estimator = opened.estimator if table is None else table.estimator
    names = name_features(
        opened.feature_names if table is None else table.preparation.get_feature_names_out(),
        estimator.n_features_in_,
        estimator,
    )
    if as_json:
        Console(quiet, as_json).print_json(_make_summary(info, table, estimator, names))
        return
    names = list(map(escape, names))
    versions = ", ".join(f"{name} {number}" for name, number in info.versions.items())
    lines = [
        f"{type(estimator).__name__} in {escape(model)}",
        f"written by {escape(versions)} (schema {info.schema})",
        *_describe_preparation(table, estimator, opened.preparation),
        _describe_parameters(estimator),
        "",
    ]
    suggestion = find_suggestion(estimator)
    if suggestion is not None:
        lines += [str(suggestion), ""]
    if hasattr(estimator, "tree_"):
        lines += _describe_tree(estimator.tree_, names, table, None if opened.find_units() is None else info.model)
    elif hasattr(estimator, "classes_"):
        lines += _describe_classes(estimator, names)
    else:
        test = getattr(estimator, "valley_test_", None)
        lines += [estimator.hyperplane_.report(names), *([] if test is None else ["", str(test)])]
    click.echo("\n".join(lines))


# ----------------------------------------------------------------------------------------------- text


def _describe_preparation(table: Any, estimator: Any, preparation: Any) -> list[str]:
    if table is None:
        steps = [] if preparation is None else [type(step).__name__ for _, step in preparation.steps]
        how = f"prepared by {', '.join(steps)}" if steps else "not scaled"
        return [f"{count(estimator.n_features_in_, 'feature')}, {how}"]
    scaler = table.preparation
    columns = [name for name, _, _ in scaler.list_features()]
    lines = [f"{count(len(columns), 'column')}: {', '.join(map(escape, columns))}"]
    how = "as in FAMD" if scaler.encode == "famd" else "as zeros and ones"
    for name, texts in scaler.categories_.items():
        lines.append(f"  {name!r} {how}: {', '.join(map(repr, texts))}")
        if name in scaler.rare_:
            lines.append(f"    {texts[-1]}: {', '.join(map(repr, scaler.rare_[name]))}")
    if scaler.normalize == "l2":
        lines.append("each row is divided by its length first")
    lines.append(f"scaling of the features: {SCALINGS[scaler.scale]}; missing cells: {MISSING[table.missing]}")
    if table.label_column is not None:
        lines.append(f"label column: {table.label_column!r}")
    return lines


def _describe_parameters(estimator: Any) -> str:
    """Return the parameters that do not have their default value."""
    from ravine.explain import list_parameters

    defaults = list_parameters(type(estimator)())
    changed = [f"{name}={text}" for name, text in list_parameters(estimator).items() if text != defaults[name]]
    return f"parameters: {', '.join(changed) or 'all have their defaults'}"


def _describe_tree(tree: Any, names: list[str], table: Any, pipeline: Any) -> list[str]:
    """Return the tree and its rules; with a pipeline, these are in its units."""
    from ravine.models import describe_rules

    with_categories = table is not None and bool(table.preparation.categories_)
    in_units = table if with_categories else pipeline
    units = "in the units of the table" if in_units is not None else "in terms of the scaled features"
    lines = [repr(tree), "", f"Rules {units}:", ""]
    for cluster in range(min(tree.n_clusters, MAX_GROUPS)):
        rule = (
            tree.rules(cluster=cluster, feature_names=names) if in_units is None else describe_rules(in_units, cluster)
        )
        lines += ["\n".join(map(escape, rule.split("\n"))), ""]
    if tree.n_clusters > MAX_GROUPS:
        lines += [f"... and {tree.n_clusters - MAX_GROUPS} more clusters", ""]
    return lines[:-1]


def _describe_classes(estimator: Any, names: list[str]) -> list[str]:
    from ravine.explain import describe_evidence

    lines = [f"{len(estimator.classes_)} classes: {', '.join(map(escape, estimator.classes_.tolist()))}", ""]
    evidence = describe_evidence(estimator)
    lines += [] if evidence is None else [evidence, ""]
    for (one, other), plane in list(estimator.hyperplanes_.items())[:MAX_GROUPS]:
        lines += [f"{escape(one)} | {escape(other)} (the direction points to {escape(other)})", plane.report(names), ""]
    return lines


# ----------------------------------------------------------------------------------------------- JSON


def _make_summary(info: Any, table: Any, estimator: Any, names: list[str]) -> dict[str, Any]:
    out: dict[str, Any] = {
        "kind": type(estimator).__name__,
        "schema": info.schema,
        "versions": info.versions,
        "features": names,
        "parameters": _summarise_parameters(estimator),
    }
    if table is not None:
        scaler = table.preparation
        out |= {
            "columns": [name for name, _, _ in scaler.list_features()], "scale": scaler.scale, "encode": scaler.encode,
            "normalize": scaler.normalize, "missing": table.missing,
            "label_column": table.label_column, "centre": scaler.mean_.tolist(), "divided_by": scaler.scale_.tolist(),
        }  # fmt: skip
    if hasattr(estimator, "tree_"):
        from ravine.explain import find_suggestion
        from ravine.tree.text import list_splits

        tree, suggestion = estimator.tree_, find_suggestion(estimator)
        if suggestion is not None:
            out |= {"shown": suggestion.n_shown, "suggested": suggestion.n_suggested}
        out |= {"clusters": tree.n_clusters, "level": _finite_or_none(tree.level)}
        shown = {split["node"]: split["shown"] for split in list_splits(tree)}
        return {**out, "nodes": [{**_summarise_node(node, tree), "shown": shown.get(node.number)} for node in tree]}
    if hasattr(estimator, "classes_"):
        pairs = [
            {"classes": list(pair), "hyperplane": _summarise_hyperplane(plane)}
            for pair, plane in estimator.hyperplanes_.items()
        ]
        return {**out, "classes": estimator.classes_.tolist(), "pairs": pairs}
    pvalue = _finite_or_none(getattr(estimator, "pvalue_", math.nan))
    return {**out, "clusters": 2, "hyperplane": _summarise_hyperplane(estimator.hyperplane_), "pvalue": pvalue}


def _summarise_parameters(estimator: Any) -> dict[str, Any]:
    """Return the parameters as values of JSON; anything else, such as an array, as text."""
    from ravine.explain import list_parameters

    values = estimator.get_params(deep=False)
    return {name: values[name] if _is_json(values[name]) else text for name, text in list_parameters(estimator).items()}


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, bool | int | str) or (type(value) is float and math.isfinite(value))


def _summarise_node(node: Any, tree: Any) -> dict[str, Any]:
    is_split = bool(node.hyperplane)
    return {
        "node": node.number,
        "depth": node.depth,
        "rows": node.size,
        "pvalue": _finite_or_none(node.pvalue),
        "cluster": node.cluster if node.cluster >= 0 else None,
        "children": [int(tree.left[node.number]), int(tree.right[node.number])] if is_split else None,
        "hyperplane": _summarise_hyperplane(node.hyperplane) if is_split else None,
    }


def _summarise_hyperplane(plane: Any) -> dict[str, Any]:
    names = ("offset", "density", "relative_depth", "bandwidth", "alpha")
    return {"normal": plane.normal.tolist(), **{name: _finite_or_none(getattr(plane, name)) for name in names}}


def _finite_or_none(value: float) -> float | None:
    return float(value) if math.isfinite(value) else None
