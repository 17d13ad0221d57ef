"""Table of the clusters with their most typical rows, centres, memberships and outliers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from ravine.explain import shorten
from ravine.explain.exemplars import find_exemplars
from ravine.report.findings import Findings
from ravine.report.page import escape_html, round_by_spread
from ravine.report.payload import Naming

__all__ = ["TypicalRows", "find_typical_rows", "render_typical_rows"]

# Clusters of the table, features of a centre, rows that are named, and characters of a name.
MOST_CLUSTERS, MOST_FEATURES, MOST_ROWS, CHARACTERS = 60, 4, 5, 40
# Rows with a smaller membership are between clusters.
SURE = 0.8


@dataclass(frozen=True)
class TypicalRows:
    """One line of the table.

    Attributes
    ----------
    cluster : int
    rows : list of str
        Names of the most typical rows.
    center : list of (str, float or None)
        Features that set the cluster apart, with their means.
    membership : float
        Mean membership of the rows of the cluster.
    n_unsure : int
        Number of rows with a small membership.
    outliers : list of str
        Names of the rows with the largest outlier scores, of those that are marked.
    n_outliers : int
    """

    cluster: int
    rows: list[str]
    center: list[tuple[str, float | None]]
    membership: float
    n_unsure: int
    outliers: list[str]
    n_outliers: int


def find_typical_rows(found: Findings, naming: Naming) -> list[TypicalRows]:
    """Return a line for each cluster of the estimator; none for classifiers.

    Parameters
    ----------
    found : Findings
    naming : Naming
    """
    estimator, X = found.estimator, found.X
    if found.kind == "classifier" or found.n_left_out:
        return []
    proba, scores = np.asarray(estimator.predict_proba(X)), np.asarray(estimator.score_outliers(X))
    labels = estimator.predict(X)
    is_marked = np.zeros(len(X), dtype=bool)
    if estimator.contamination is not None:
        is_marked = np.asarray(estimator.predict(X, outliers=True)) < 0
    groups = found.cuts[found.first_cut][1]
    exemplars = find_exemplars(np.where(is_marked, 2.0, scores), labels, len(groups), MOST_ROWS)
    return [
        _describe(found, naming, k, group, labels == k, (proba[:, k], scores, is_marked), exemplars[k])
        for k, group in enumerate(groups[:MOST_CLUSTERS])
    ]


def _describe(
    found: Findings, naming: Naming, k: int, group: int, inside: Any, values: tuple[Any, Any, Any], exemplars: Any
) -> TypicalRows:
    proba, scores, is_marked = values
    marked = np.flatnonzero(inside & is_marked)
    features = found.effects.rank_features(group, MOST_FEATURES) or list(range(min(MOST_FEATURES, found.X.shape[1])))
    typical = inside & ~is_marked if (inside & ~is_marked).any() else inside
    center = []
    for j in features:
        mean = float(found.X[typical, j].mean(dtype=np.float64)) * float(naming.scale[j]) + float(naming.center[j])
        spread = float(found.parts.std[j]) * abs(float(naming.scale[j]))
        center.append((shorten(naming.features[j], CHARACTERS), round_by_spread(mean, spread)))
    return TypicalRows(
        k,
        _name_rows(naming, exemplars),
        center,
        float(proba[inside].mean()) if inside.any() else 1.0,
        int((proba[inside] < SURE).sum()),
        _name_rows(naming, marked[np.argsort(-scores[marked], kind="stable")[:MOST_ROWS]]),
        len(marked),
    )


def _name_rows(naming: Naming, indices: Any) -> list[str]:
    return [shorten(i if naming.keys is None else naming.keys[i], CHARACTERS) for i in indices.tolist()]


def render_typical_rows(lines: Sequence[TypicalRows], key_name: str) -> str:
    """Return the section of the page; empty without lines."""
    if not lines:
        return ""
    has_outliers = any(line.n_outliers for line in lines)
    heads = [
        "Cluster",
        f"Most typical ({shorten(key_name, CHARACTERS)})",
        "Centre",
        "Mean membership",
        f"Rows below {SURE:g}",
    ]
    heads += ["Outliers"] if has_outliers else []
    body = "".join(f"<tr>{_render_cells(line, has_outliers, heads)}</tr>" for line in lines)
    note = (
        "Typical rows have the smallest outlier scores of their cluster. The membership of a row in its cluster "
        "follows from its distance to the hyperplanes; rows with a small one are between clusters."
    )
    columns = "".join(f"<th scope='col'>{escape_html(head)}</th>" for head in heads)
    return (
        "<section id='typical' aria-labelledby='typical-title'><h2 id='typical-title'>Typical rows and outliers</h2>"
        f"<p class='quiet'>{escape_html(note)}</p><div class='scroll'><table class='settings typical'>"
        f"<thead><tr>{columns}</tr></thead><tbody>{body}</tbody></table></div></section>"
    )


def _render_cells(line: TypicalRows, has_outliers: bool, heads: Sequence[str]) -> str:
    cells = [
        ", ".join(line.rows),
        ", ".join(f"{name} {value}".replace(" -", " \N{MINUS SIGN}") for name, value in line.center),
        f"{line.membership:.3f}",
        f"{line.n_unsure}",
    ]
    if has_outliers:
        cells.append(f"{line.n_outliers}" + (f" ({', '.join(line.outliers)})" if line.outliers else ""))
    first = f"<th scope='row'>{line.cluster}</th>"
    named = zip(heads[1:], cells, strict=True)
    return first + "".join(f"<td data-head='{escape_html(head)}'>{escape_html(cell)}</td>" for head, cell in named)
