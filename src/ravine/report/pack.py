"""Findings as the plain values that go into the page: summaries and a sample, never all rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.hyperplane import Hyperplane
from ravine.report.curves import Curve
from ravine.report.findings import Findings
from ravine.report.text import figures, rounded, shortened

__all__ = ["Budget", "Naming", "pack", "sample_rows"]

# Rows of each cluster that are in the sample whatever its size.
FEWEST_OF_PART = 12
# Labels that are named for a cluster.
MOST_LABELS_NAMED = 5
# Features of the rows of the sample, if there are so many.
FEWEST_COLUMNS = 6


@dataclass(frozen=True)
class Budget:
    """How much of each thing goes into the page.

    Attributes
    ----------
    rows, cells : int
        Of the sample: rows, and values in all.
    columns : int
        Features whose values are shown for the rows of the sample.
    features : int
        Features named for each cluster and each direction.
    characters : int
        Of a name.
    """

    rows: int
    cells: int = 48_000
    columns: int = 24
    features: int = 12
    characters: int = 120

    def halved(self) -> Budget:
        """Half of it, and shorter names."""
        return Budget(
            self.rows // 2, self.cells // 2, max(self.columns // 2, 1), max(self.features // 2, 1),
            max(2 * self.characters // 3, 12),
        )  # fmt: skip


@dataclass(frozen=True)
class Naming:
    """What things are called, and the units of the features.

    Attributes
    ----------
    features : sequence of str
    keys : ndarray of shape (n,) or None
        What names the rows; None for their numbers from 0.
    key_name, label_name : str
    centre, scale : ndarray of shape (d,)
        A feature x of X is ``scale * x + centre`` in the units of the user.
    """

    features: Sequence[str]
    keys: NDArray[Any] | None
    key_name: str
    label_name: str
    centre: Array
    scale: Array


class _Features:
    """Features that are mentioned, numbered in the order in which they are; of the others the page knows nothing."""

    def __init__(self) -> None:
        self.place: dict[int, int] = {}
        self.rank: dict[int, tuple[int, int]] = {}

    def number(self, j: int, rank: int) -> int:
        """The number of feature j, which is the ``rank``-th in some list."""
        best, mentions = self.rank.get(j, (rank, 0))
        self.rank[j] = min(best, rank), mentions - 1
        return self.place.setdefault(j, len(self.place))

    def foremost(self, most: int) -> list[int]:
        """Those that come first in some list, the more lists the better."""
        return sorted(self.place, key=lambda j: (self.rank[j], j))[:most]


def pack(found: Findings, naming: Naming, budget: Budget) -> dict[str, Any]:
    """Everything that the page draws.

    Parameters
    ----------
    found : Findings
    naming : Naming
    budget : Budget
    """
    features = _Features()
    rows = sample_rows(found, budget.rows)
    data: dict[str, Any] = {
        "kind": found.kind,
        "n": len(found.X),
        "nFeatures": found.X.shape[1],
        "keyName": shortened(naming.key_name, budget.characters),
        "labelName": shortened(naming.label_name, budget.characters),
        "classes": [shortened(name, budget.characters) for name in found.class_names],
        "groups": [_group(found, g, naming, features, budget) for g in range(len(found.group_sizes))],
        "cuts": [
            {"frontier": [list(pair) for pair in cut.frontier], "groups": groups, "agreement": _number(agreement, 4)}
            for cut, groups, agreement in found.cuts
        ],
        "splits": _splits(found, rows, features, budget),
    }
    data["sample"] = _sample(found, naming, rows, features, budget)
    data["labels"] = _label_names(found, data, budget)
    data["features"] = [shortened(naming.features[j], budget.characters) for j in features.place]
    return data


def _number(x: float | None, digits: int) -> int | float | None:
    return None if x is None else figures([x], digits)[0]


# ------------------------------------------------------------------------------------------------- groups


def _group(found: Findings, g: int, naming: Naming, features: _Features, budget: Budget) -> dict[str, Any]:
    """Size of a group, the features that set it apart, and the labels it holds."""
    effect, spread = found.effects.effect[g], found.parts.std * np.abs(naming.scale)
    origin = found.parts.origin * naming.scale + naming.centre
    apart = []
    for rank, j in enumerate(found.effects.rank_features(g, budget.features)):
        inside, outside = (
            rounded(float(origin[j] + naming.scale[j] * means[g, j]), 30.0 * float(spread[j]))
            for means in (found.effects.inside, found.effects.outside)
        )
        pooled = _number(float(found.effects.pooled[g, j] * abs(naming.scale[j])), 3)
        size = float(effect[j]) * math.copysign(1.0, naming.scale[j])
        number = features.number(j, rank)
        apart.append([number, _number(size, 3), inside, outside, pooled, 1 if size > 0.0 else -1])
    group: dict[str, Any] = {"size": int(found.group_sizes[g]), "apart": apart}
    if found.comparison is not None and found.comparison.table is not None:
        counts = found.comparison.table[g]
        most = np.argsort(-counts, kind="stable")[:MOST_LABELS_NAMED].tolist()
        group["labels"] = [[k, int(counts[k])] for k in most if counts[k]]
        group["labelled"] = int(counts.sum())
    return group


def _label_names(found: Findings, data: dict[str, Any], budget: Budget) -> dict[str, str]:
    """Names of the labels that are mentioned."""
    if found.comparison is None:
        return {}
    used = {k for group in data["groups"] for k, _ in group.get("labels", ())} | set(data["sample"]["labels"])
    return {str(k): shortened(found.comparison.names[k], budget.characters) for k in sorted(used) if k >= 0}


# ------------------------------------------------------------------------------------------------- splits


def _splits(found: Findings, rows: NDArray[np.intp], features: _Features, budget: Budget) -> list[dict[str, Any]]:
    """Nodes of the tree, or pairs of classes, with their curves, directions and rows of the sample."""
    parts = found.part_of_row[rows]
    if found.tree is None:
        out = []
        for pair in found.pairs:
            here = np.flatnonzero((parts == pair.first) | (parts == pair.second))
            out.append(
                {
                    "first": pair.first,
                    "second": pair.second,
                    "size": pair.size,
                    "sides": list(pair.sides),
                    "level": 1,
                    **_plane(pair.plane, pair.curve, math.nan, features, budget),
                    **_places(found.X, pair.plane, rows, here),
                }
            )
        return out
    tree, depth = found.tree, found.tree.depth
    leaf = np.asarray(found.part_numbers)[parts]
    out = []
    for node in found.nodes:
        k = node.node
        plane = tree.hyperplane(k)
        entry: dict[str, Any] = {"size": node.size, "level": int(depth[k]) + 1, "parent": int(tree.parent[k])}
        here = np.flatnonzero(np.isin(leaf, tree.leaves(k)))
        if plane is None:
            entry |= {"p": _number(float(tree.pvalue[k]), 3), "rows": here.tolist()}
        else:
            left, right = int(tree.left[k]), int(tree.right[k])
            entry |= {"left": left, "right": right, "order": int(tree.order[k])}
            entry |= {"sides": [found.nodes[left].size, found.nodes[right].size]}
            entry |= _plane(plane, node.curve, float(tree.pvalue[k]), features, budget)
            entry |= _places(found.X, plane, rows, here)
        out.append(entry)
    return out


def _plane(
    plane: Hyperplane, curve: Curve | None, pvalue: float, features: _Features, budget: Budget
) -> dict[str, Any]:
    """What is known of a hyperplane: the largest weights of its normal, its depth and the density along it."""
    order = np.argsort(-np.abs(plane.normal), kind="stable")
    named = [j for j in order[: budget.features].tolist() if plane.normal[j] != 0.0]
    others = np.delete(plane.normal, named)
    out: dict[str, Any] = {
        "weights": [[features.number(j, i), _number(float(plane.normal[j]), 3)] for i, j in enumerate(named)],
        "others": [int((others != 0.0).sum()), _number(float(np.linalg.norm(others)), 3)],
        "depth": _number(plane.relative_depth, 4),
        "p": _number(pvalue, 3),
        "offset": _number(plane.offset, 6),
    }
    if curve is not None:
        peak = float(curve.density.max())
        out["curve"] = {
            "low": curve.low,
            "high": curve.high,
            "peak": peak,
            # Heights in ten thousandths of the highest point.
            "y": np.round(curve.density * (1e4 / peak if peak > 0.0 else 0.0)).astype(int).tolist(),
            "bandwidth": _number(curve.bandwidth, 4),
            "own": curve.own_bandwidth,
            "out": [curve.below, curve.above],
        }
    return out


def _places(
    X: NDArray[np.floating[Any]], plane: Hyperplane, rows: NDArray[np.intp], here: NDArray[np.intp]
) -> dict[str, Any]:
    """The rows of the sample that a split is about, by their places in it, and their signed distances."""
    if not plane.splits:
        return {"rows": here.tolist()}
    return {"rows": here.tolist(), "at": figures(plane.distance(X, rows[here]).tolist())}


# ------------------------------------------------------------------------------------------------- rows


def sample_rows(found: Findings, most: int) -> NDArray[np.intp]:
    """Numbers of at most ``most`` rows, always the same: labelled ones of a classifier, some of each part, and others.

    Parameters
    ----------
    found : Findings
    most : int
    """
    n = len(found.X)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    chosen = np.zeros(n, dtype=bool)
    if found.kind == "classifier" and found.comparison is not None:
        labelled = np.flatnonzero(found.comparison.codes >= 0)
        if len(labelled) <= most // 2:
            chosen[labelled] = True
    shuffled = rng.permutation(n)
    few = min(FEWEST_OF_PART, (most - int(chosen.sum())) // max(2 * len(found.part_numbers), 1))
    # The first few of each part in the shuffled order: a stable sort keeps that order inside the parts.
    by_part = shuffled[np.argsort(found.part_of_row[shuffled], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(found.parts.size)])
    for k in range(len(found.part_numbers)):
        chosen[by_part[starts[k] : min(starts[k] + few, starts[k + 1])]] = True
    rest = shuffled[~chosen[shuffled]]
    chosen[rest[: most - int(chosen.sum())]] = True
    return np.flatnonzero(chosen)


def _sample(
    found: Findings, naming: Naming, rows: NDArray[np.intp], features: _Features, budget: Budget
) -> dict[str, Any]:
    """Rows by name, with the values of the features that matter most, in the units of the user."""
    for j in range(min(FEWEST_COLUMNS, found.X.shape[1])):  # where no feature has been mentioned
        if len(features.place) < FEWEST_COLUMNS:
            features.number(j, found.X.shape[1])
    columns = features.foremost(min(budget.columns, max(budget.cells // max(len(rows), 1), 1)))
    spread = (found.parts.std * np.abs(naming.scale))[columns].tolist()
    values = found.X[rows][:, columns].astype(np.float64) * naming.scale[columns] + naming.centre[columns]
    keys = rows.tolist() if naming.keys is None else naming.keys[rows].tolist()
    known = found.comparison
    return {
        "columns": [features.place[j] for j in columns],
        "values": [[rounded(x, s) for x, s in zip(row, spread, strict=True)] for row in values.tolist()],
        "keys": [k if type(k) is int else shortened(k, budget.characters) for k in keys],
        "parts": [found.part_numbers[p] for p in found.part_of_row[rows].tolist()],
        "labels": [] if known is None else known.codes[rows].tolist(),
    }  # fmt: skip
