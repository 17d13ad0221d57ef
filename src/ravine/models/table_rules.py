"""Rules of a tree in the units of a table: numbers as they were measured, categories by name."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np

from ravine._plurals import count
from ravine.tables import Preparation
from ravine.tree import Tree

__all__ = ["Term", "express_split", "write_rule"]

# Categories of a column that are shown, those with the largest amounts.
MOST_CATEGORIES = 5


@dataclass(frozen=True)
class Term:
    """Contribution of a column to the left side of the inequality of a split.

    Attributes
    ----------
    column : str
    weight : float
        Factor of a number; NaN for categories.
    amounts : dict
        Amount that each category of a column adds; empty for numbers.
    importance : float
        Weight of the column in scaled units.
    mean : float
        Mean contribution over the rows of the training table; 0 for categories.
    """

    column: str
    weight: float
    amounts: dict[str, float]
    importance: float
    mean: float = 0.0

    def __str__(self) -> str:
        """Return the term as text."""
        if not self.amounts:
            return f"{self.weight:+.3g}·{self.column}"
        by_size = sorted(self.amounts.items(), key=lambda item: -abs(item[1]))
        parts = [f"{amount:+.2f} if {self.column} is {name}" for name, amount in by_size[:MOST_CATEGORIES]]
        more = len(by_size) - len(parts)
        return f"({', '.join(parts)}{f', less for {more} others' if more else ''})"


def express_split(normal: Sequence[float], offset: float, plan: Preparation) -> tuple[list[Term], float]:
    """Return the terms of a split and its threshold in the units of a table, the most important column first.

    A row is on the positive side if the sum of its terms exceeds the threshold. Its cells have one category of each
    column, so the mean amount of a column, over the rows of the training table, is moved to the threshold.

    Parameters
    ----------
    normal : sequence of float
        Normal of the hyperplane, in scaled features.
    offset : float
    plan : Preparation
    """
    weights = np.asarray(normal) / plan.scale if plan.is_scaled else np.asarray(normal, dtype=np.float64)
    threshold = float(offset) + (float(weights @ plan.centre) if plan.is_scaled else 0.0)
    terms = []
    for column, texts, place in plan.list_features():
        importance = float(np.linalg.norm(np.asarray(normal)[place]))
        if texts is None:
            weight = float(weights[place.start])
            mean = weight * float(plan.centre[place.start]) if plan.is_scaled else 0.0
            terms.append(Term(column, weight, {}, importance, mean))
            continue
        mean = float(weights[place] @ plan.centre[place]) if plan.is_scaled else float(weights[place].mean())
        threshold -= mean
        amounts = dict(zip(texts, (weights[place] - mean).tolist(), strict=True))
        terms.append(Term(column, float("nan"), amounts, importance))
    return sorted(terms, key=lambda term: -term.importance), threshold


def write_rule(tree: Tree, cluster: int, plan: Preparation, n_columns: int = 3) -> str:
    """Write the splits that lead to the leaves of a cluster.

    Parameters
    ----------
    tree : Tree
    cluster : int
    plan : Preparation
    n_columns : int
        Number of columns of largest weight to show for each split.
    """
    leaves = [leaf for leaf in tree.leaves() if tree.cluster[leaf] == cluster]
    size = sum(int(tree.size[leaf]) for leaf in leaves)
    start = f"A row belongs to cluster {cluster} ({size} of {tree.size[0]} rows) if"
    if len(leaves) == 1:
        conditions = _list_conditions(tree, leaves[0], plan, n_columns)
        return "\n".join([start, *conditions]) if conditions else f"All {tree.size[0]} rows belong to one cluster."
    lines = [f"{start} it is in one of {len(leaves)} leaves"]
    for leaf in leaves:
        lines += [f"leaf {leaf} ({count(tree.size[leaf], 'row')}):", *_list_conditions(tree, leaf, plan, n_columns)]
    return "\n".join(lines)


def _list_conditions(tree: Tree, leaf: Any, plan: Preparation, n_columns: int) -> list[str]:
    lines = []
    for k, child in pairwise(tree.ancestry(leaf)):
        terms, threshold = express_split(tree.normal[k], tree.offset[k], plan)
        hidden = terms[n_columns:]
        rest = f" (and {len(hidden)} columns of smaller weight, at their means)" if hidden else ""
        threshold -= sum(term.mean for term in hidden)
        sign = ">" if child == tree.right[k] else "<="
        lines.append(f"  {' '.join(map(str, terms[:n_columns]))}{rest} {sign} {threshold:.4g}")
    return lines
