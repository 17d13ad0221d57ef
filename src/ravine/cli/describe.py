"""`ravine describe`: what a model file holds, in words."""

from __future__ import annotations

from typing import Any

import click

from ravine.cli.errors import PoliteCommand, visible
from ravine.cli.options import COMMON, options
from ravine.cli.voice import Voice

__all__ = ["describe"]


@click.command(cls=PoliteCommand)
@click.argument("model", metavar="MODEL")
@options(COMMON)
def describe(model: str, quiet: bool, as_json: bool, debug: bool) -> None:
    """Say what a MODEL file holds: its columns, their preparation, its clusters or classes and how rows reach them."""
    from ravine.models import TableModel, inspect

    info = inspect(model)
    table = info.model if isinstance(info.model, TableModel) else None
    estimator = info.model if table is None else table.estimator
    if as_json:
        Voice(quiet, as_json).result(_for_machines(info, table, estimator))
        return
    names = list(map(visible, _names(table, estimator)))
    lines = [f"{type(estimator).__name__} in {visible(model)}", _origin(info), *_columns(table, estimator), ""]
    lines += _tree(estimator, names) if hasattr(estimator, "tree_") else _planes(estimator, names)
    click.echo("\n".join(lines))


def _names(table: Any, estimator: Any) -> list[str]:
    if table is not None:
        return list(table.preparation.feature_names)
    names = getattr(estimator, "feature_names_in_", None)
    return [f"x{j}" for j in range(estimator.n_features_in_)] if names is None else [str(name) for name in names]


def _origin(info: Any) -> str:
    versions = ", ".join(f"{name} {number}" for name, number in info.versions.items())
    return f"written by {visible(versions)} (schema {info.schema})"


def _columns(table: Any, estimator: Any) -> list[str]:
    if table is None:
        return [f"{estimator.n_features_in_} features, used as they are"]
    plan = table.preparation
    lines = [f"{len(plan.columns)} columns: {', '.join(map(visible, plan.columns))}"]
    lines += [
        f"  {name!r} as zeros and ones: {', '.join(map(visible, texts))}" for name, texts in plan.categories.items()
    ]
    how = {"standard": "mean 0 and standard deviation 1", "robust": "median 0, by the quartiles", "none": "as they are"}
    lines.append(f"features scaled: {how[plan.scaling]}; missing cells: {plan.missing}")
    if table.label_column is not None:
        lines.append(f"labels were in {table.label_column!r}")
    return lines


def _tree(estimator: Any, names: list[str]) -> list[str]:
    tree = estimator.tree_
    lines = [repr(tree), ""]
    for leaf in tree.leaves()[:20]:
        lines += [tree.rules(leaf, names), ""]
    if tree.n_leaves > 20:
        lines += [f"... and {tree.n_leaves - 20} more leaves", ""]
    return [*lines, "(in scaled features)"]


def _planes(estimator: Any, names: list[str]) -> list[str]:
    if hasattr(estimator, "classes_"):
        lines = [f"{len(estimator.classes_)} classes: {', '.join(map(visible, estimator.classes_.tolist()))}", ""]
        for (one, other), plane in list(estimator.hyperplanes_.items())[:20]:
            one, other = visible(one), visible(other)
            lines += [f"{one} | {other} (the direction points to {other})", plane.report(names), ""]
        return lines
    test = getattr(estimator, "valley_test_", None)
    return [estimator.hyperplane_.report(names), *([] if test is None else ["", str(test)])]


def _for_machines(info: Any, table: Any, estimator: Any) -> dict[str, Any]:
    import math

    def number(value: float) -> float | None:
        return float(value) if math.isfinite(value) else None

    def plane(p: Any) -> dict[str, Any]:
        numbers = {
            name: number(getattr(p, name)) for name in ("offset", "density", "relative_depth", "bandwidth", "alpha")
        }
        return {"normal": p.normal.tolist(), **numbers}

    out: dict[str, Any] = {
        "kind": type(estimator).__name__,
        "schema": info.schema,
        "versions": info.versions,
        "features": _names(table, estimator),
    }
    if table is not None:
        plan = table.preparation
        out |= {
            "columns": list(plan.columns), "scale": plan.scaling, "missing": plan.missing,
            "label_column": table.label_column, "centre": plan.centre.tolist(), "divided_by": plan.scale.tolist(),
        }  # fmt: skip
    if hasattr(estimator, "tree_"):
        tree = estimator.tree_
        nodes = [
            {
                "node": node.number, "depth": node.depth, "rows": node.size, "pvalue": number(node.pvalue),
                "cluster": node.cluster if node.cluster >= 0 else None,
                "children": [int(tree.left[node.number]), int(tree.right[node.number])] if node.hyperplane else None,
                "hyperplane": plane(node.hyperplane) if node.hyperplane else None,
            }
            for node in tree
        ]  # fmt: skip
        return {**out, "clusters": tree.n_clusters, "nodes": nodes}
    if hasattr(estimator, "classes_"):
        pairs = [{"classes": list(pair), "hyperplane": plane(p)} for pair, p in estimator.hyperplanes_.items()]
        return {**out, "classes": estimator.classes_.tolist(), "pairs": pairs}
    test = getattr(estimator, "pvalue_", math.nan)
    return {**out, "clusters": 2, "hyperplane": plane(estimator.hyperplane_), "pvalue": number(test)}
