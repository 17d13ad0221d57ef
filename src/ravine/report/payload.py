"""Findings as plain values for the scripts of the page: summaries and a sample, never all rows."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.spatial import cKDTree

from ravine._plurals import format_pvalue
from ravine._typing import Array
from ravine.explain import DensitySummary, format_evidence, shorten
from ravine.explain.outliers import find_exemplars
from ravine.hyperplane import Hyperplane
from ravine.report.findings import Findings
from ravine.report.splits import BoundarySummary, PairSummary
from ravine.rows import ArrayRows
from ravine.tree import Tree

# Rows of each cluster that the sample contains whatever its size.
MIN_OF_PART = 12
# Labels that are named for a cluster.
MAX_LABELS_NAMED = 5
# Features shown for the rows of the sample, if X has as many.
MIN_COLUMNS = 6
# Table of typical rows: clusters, features of a centre, rows that are named, and characters of a name.
MAX_CLUSTERS, MAX_FEATURES, MAX_NAMED, NAME_CHARACTERS = 60, 4, 5, 40
# Rows with a smaller membership are between clusters.
SURE = 0.8
# Values that differ from 0 or 1 by less are these numbers.
SAME_SHARE = 1e-4


@dataclass(frozen=True)
class Budget:
    """Limits on the amount of data in the page.

    Attributes
    ----------
    rows, cells : int
        Rows and values of the sample.
    columns : int
        Features whose values are shown for the rows of the sample.
    features : int
        Features named for each cluster and each direction.
    characters : int
        Characters of a name.
    """

    rows: int
    cells: int = 48_000
    columns: int = 24
    features: int = 12
    characters: int = 120

    def halve(self) -> Budget:
        """Return half of the limits, with names shorter by a third."""
        return Budget(
            self.rows // 2, self.cells // 2, max(self.columns // 2, 1), max(self.features // 2, 1),
            max(2 * self.characters // 3, 12),
        )  # fmt: skip


@dataclass(frozen=True)
class Naming:
    """Names of features and rows, and the units of the features.

    Attributes
    ----------
    features : sequence of str
    keys : ndarray of shape (n,) or None
        Names of the rows; None for their numbers from 0.
    key_name, label_name : str
        Headings of the names and of the labels.
    center, scale : ndarray of shape (d,)
        A value x of X is ``scale * x + center`` in the units of the user.
    is_share : ndarray of bool of shape (d,)
        Features that are 0 or 1 in every row, as those of categories; their means are shares.
    """

    features: Sequence[str]
    keys: NDArray[Any] | None
    key_name: str
    label_name: str
    center: Array
    scale: Array
    is_share: NDArray[np.bool_]


def find_shares(X: NDArray[np.floating[Any]], center: Array, scale: Array) -> NDArray[np.bool_]:
    """Return which features are 0 or 1 in every row, up to rounding, and both in some."""
    low, high = (edge(X, axis=0) * scale + center for edge in (np.min, np.max))
    is_share = np.asarray(np.maximum(np.abs(np.minimum(low, high)), np.abs(np.maximum(low, high) - 1.0)) < SAME_SHARE)
    for j in np.flatnonzero(is_share).tolist():
        x = X[:, j] * scale[j] + center[j]
        is_share[j] = np.minimum(np.abs(x), np.abs(x - 1.0)).max() < SAME_SHARE
    return is_share


class _FeatureIndex:
    """Numbers of the features that the page mentions, in the order of their first mention."""

    def __init__(self) -> None:
        self.numbers: dict[int, int] = {}
        self.rank: dict[int, tuple[int, int]] = {}

    def mention(self, j: int, rank: int) -> int:
        """Return the number of feature j, which has the position ``rank`` in some list."""
        best, mentions = self.rank.get(j, (rank, 0))
        self.rank[j] = min(best, rank), mentions - 1
        return self.numbers.setdefault(j, len(self.numbers))

    def rank_first(self, most: int) -> list[int]:
        """Return the features with the best position in any list; of equal ones, those in more lists."""
        return sorted(self.numbers, key=lambda j: (self.rank[j], j))[:most]


def build_payload(found: Findings, naming: Naming, budget: Budget) -> dict[str, Any]:
    """Return everything that the page draws."""
    return _PayloadBuilder(found, naming, budget).build()


class _PayloadBuilder:
    """Builder of the payload; ``indices`` are the rows of the sample."""

    def __init__(self, found: Findings, naming: Naming, budget: Budget) -> None:
        self.found, self.naming, self.budget = found, naming, budget
        self.features = _FeatureIndex()
        self.indices = sample_rows(found, budget.rows)

    def build(self) -> dict[str, Any]:
        """Return the payload; features are numbered in the order in which its entries mention them."""
        found = self.found
        data: dict[str, Any] = {
            "kind": found.kind,
            "n": len(found.X),
            "nFeatures": found.X.shape[1],
            "keyName": self._shorten(self.naming.key_name),
            "labelName": self._shorten(self.naming.label_name),
            "classes": [self._shorten(name) for name in found.class_names],
            "groups": [self._describe_group(g) for g in range(len(found.group_sizes))],
            "cuts": [
                {
                    "frontier": [list(pair) for pair in summary.cut.frontier],
                    "groups": summary.groups,
                    "numbers": summary.numbers,
                    "agreement": _round(summary.agreement, 4),
                }
                for summary in found.cuts
            ],
            "firstCut": found.first_cut,
            "nShown": None if found.suggestion is None else found.suggestion.n_shown,
            "suggestion": None if found.suggestion is None else str(found.suggestion),
            "joined": found.is_joined,
            "boundaries": [_describe_boundary(boundary) for boundary in found.boundaries],
            "splits": self._describe_splits(),
        }
        data["map"] = self._describe_map()
        data["sample"] = self._describe_sample()
        data["labels"] = self._name_labels(data)
        data["features"] = [self._shorten(self.naming.features[j]) for j in self.features.numbers]
        data["shares"] = [k for k, j in enumerate(self.features.numbers) if self.naming.is_share[j]]
        return data

    def _shorten(self, name: object) -> str:
        return shorten(name, self.budget.characters)

    # ------------------------------------------------------------------------------------------- groups

    def _describe_group(self, g: int) -> dict[str, Any]:
        """Return the size of a group, the features that set it apart, and its known labels."""
        effects, known = self.found.effects, self.found.known
        group: dict[str, Any] = {
            "size": int(self.found.group_sizes[g]),
            "apart": [
                self._describe_effect(g, j, rank)
                for rank, j in enumerate(effects.rank_features(g, self.budget.features))
            ],
        }
        if known is not None and known.table is not None:
            counts = known.table[g]
            most = np.argsort(-counts, kind="stable")[:MAX_LABELS_NAMED].tolist()
            group["labels"] = [[k, int(counts[k])] for k in most if counts[k]]
            group["labelled"] = int(counts.sum())
        return group

    def _describe_effect(self, g: int, j: int, rank: int) -> list[int | float | str | None]:
        """Return number, effect size, two means, pooled standard deviation, sign and P-value of a feature.

        Means and deviations are in original units.
        """
        effects, parts = self.found.effects, self.found.parts
        scale, center = float(self.naming.scale[j]), float(self.naming.center[j])
        origin, spread = float(parts.origin[j]) * scale + center, float(parts.std[j]) * abs(scale)
        means = [origin + scale * float(part[g, j]) for part in (effects.inside, effects.outside)]
        inside, outside = (
            [encode_number(round(min(max(mean, 0.0), 1.0), 5)) for mean in means] if self.naming.is_share[j]
            else [round_by_spread(mean, 30.0 * spread) for mean in means]
        )  # fmt: skip
        size = float(effects.effect[g, j]) * math.copysign(1.0, scale)
        pooled = _round(float(effects.pooled[g, j]) * abs(scale), 3)
        sign, p = 1 if size > 0.0 else -1, _format_pvalue(self.found.get_pvalue(g, j))
        return [self.features.mention(j, rank), _round(size, 3), inside, outside, pooled, sign, p]

    def _name_labels(self, data: dict[str, Any]) -> dict[str, str]:
        """Return the names of the labels that the page mentions."""
        if self.found.known is None:
            return {}
        used = {k for group in data["groups"] for k, _ in group.get("labels", ())} | set(data["sample"]["labels"])
        return {str(k): self._shorten(self.found.known.names[k]) for k in sorted(used) if k >= 0}

    # ------------------------------------------------------------------------------------------- splits

    def _describe_splits(self) -> list[dict[str, Any]]:
        """Return the nodes of the tree, or the pairs of classes, with curves, directions and rows of the sample."""
        parts, tree = self.found.part_of_row[self.indices], self.found.tree
        if tree is None:
            return [
                self._describe_pair(pair, np.flatnonzero(np.isin(parts, (pair.first, pair.second))))
                for pair in self.found.pairs
            ]
        leaf = np.asarray(self.found.part_numbers)[parts]
        return [self._describe_node(tree, k, np.flatnonzero(np.isin(leaf, tree.leaves(k)))) for k in range(len(tree))]

    def _describe_pair(self, pair: PairSummary, places: NDArray[np.intp]) -> dict[str, Any]:
        """Return a pair of classes; ``places`` are the positions of its rows in the sample."""
        return {
            "first": pair.first,
            "second": pair.second,
            "size": pair.size,
            "sides": list(pair.sides),
            "level": 1,
            **self._describe_hyperplane(pair.plane, pair.curve, math.nan),
            **self._locate_rows(pair.plane, places),
        }

    def _describe_node(self, tree: Tree, k: int, places: NDArray[np.intp]) -> dict[str, Any]:
        """Return a node of the tree; ``places`` are the positions of its rows in the sample."""
        plane, nodes, pvalue = tree.hyperplane(k), self.found.nodes, float(tree.pvalue[k])
        entry: dict[str, Any] = {"size": nodes[k].size, "level": len(tree.ancestry(k)), "parent": int(tree.parent[k])}
        if plane is None:
            return entry | {"p": _format_pvalue(pvalue), "rows": places.tolist()}
        left, right = int(tree.left[k]), int(tree.right[k])
        return {
            **entry,
            "left": left,
            "right": right,
            "order": int(tree.order[k]),
            "sides": [nodes[left].size, nodes[right].size],
            **self._describe_hyperplane(plane, nodes[k].curve, pvalue, is_tested=not math.isnan(tree.level)),
            **self._locate_rows(plane, places),
        }

    def _describe_hyperplane(
        self, plane: Hyperplane, curve: DensitySummary | None, pvalue: float, is_tested: bool = False
    ) -> dict[str, Any]:
        """Return the largest weights of the normal, the depth and the density."""
        order = np.argsort(-np.abs(plane.normal), kind="stable")
        named = [j for j in order[: self.budget.features].tolist() if plane.normal[j] != 0.0]
        others = np.delete(plane.normal, named)
        out: dict[str, Any] = {
            "weights": [[self.features.mention(j, i), _round(float(plane.normal[j]), 3)] for i, j in enumerate(named)],
            "others": [int((others != 0.0).sum()), _round(float(np.linalg.norm(others)), 3)],
            "depth": _round(plane.relative_depth, 4),
            "p": format_pvalue(pvalue) if is_tested else _format_pvalue(pvalue),
            "offset": _round(plane.offset, 6),
        }
        return out if curve is None else {**out, "curve": _describe_curve(curve)}

    def _locate_rows(self, plane: Hyperplane, places: NDArray[np.intp]) -> dict[str, Any]:
        """Return positions in the sample with the signed distances of these rows."""
        if not plane.splits:
            return {"rows": places.tolist()}
        distances = plane.distance(self.found.X, self.indices[places])
        return {"rows": places.tolist(), "at": round_figures(distances.tolist())}

    # ------------------------------------------------------------------------------------------- rows

    def _describe_map(self) -> dict[str, Any]:
        """Return the coordinates of the rows of the sample on the map, and the features that are named for its axes.

        ``own`` is the share of these rows whose nearest neighbour on the map is in the same cluster, for each cut.
        """
        found, naming = self.found, self.naming
        at, has_units = found.map.place(found.X[self.indices]), found.X.shape[1] <= 2
        parts, own = found.part_of_row[self.indices], []
        if len(at) > 1 and not has_units:
            nearest = cKDTree(at).query(at, 2)[1]
            other = np.where(nearest[:, 0] == np.arange(len(at)), nearest[:, 1], nearest[:, 0])
            partitions = [summary.cluster_of_part for summary in found.cuts] or [np.arange(len(found.part_numbers))]
            own = [float((clusters[parts] == clusters[parts[other]]).mean()) for clusters in partitions]
        for j in range(found.X.shape[1] if has_units else 0):
            at[:, j] = found.X[self.indices, j] * naming.scale[j] + naming.center[j]
        return {
            "axes": [[[self.features.mention(j, rank), _round(r, 2)] for rank, (j, r) in enumerate(names)]
                     for names in found.map.named],
            "at": [round_figures(column) for column in at.T.tolist()],
            "hasUnits": has_units,
            "nSeparating": found.map.n_separating,
            "own": round_figures(own, 3),
        }  # fmt: skip

    def _describe_sample(self) -> dict[str, Any]:
        """Return rows by name, with the values of the most important features in the units of the user."""
        found, naming, budget, features = self.found, self.naming, self.budget, self.features
        for j in range(min(MIN_COLUMNS, found.X.shape[1])):  # needed where no feature has been mentioned
            if len(features.numbers) < MIN_COLUMNS:
                features.mention(j, found.X.shape[1])
        columns = features.rank_first(min(budget.columns, max(budget.cells // max(len(self.indices), 1), 1)))
        spread = (found.parts.std * np.abs(naming.scale))[columns].tolist()
        values = found.X[self.indices][:, columns].astype(np.float64) * naming.scale[columns] + naming.center[columns]
        keys = self.indices.tolist() if naming.keys is None else naming.keys[self.indices].tolist()
        return {
            "columns": [features.numbers[j] for j in columns],
            "values": [[round_by_spread(x, s) for x, s in zip(row, spread, strict=True)] for row in values.tolist()],
            "keys": [k if type(k) is int else self._shorten(k) for k in keys],
            "parts": [found.part_numbers[p] for p in found.part_of_row[self.indices].tolist()],
            "labels": [] if found.known is None else found.known.codes[self.indices].tolist(),
        }


def _describe_boundary(boundary: BoundarySummary) -> dict[str, Any]:
    """Return a boundary between two groups: rows of the first precede those of the second."""
    first, second = boundary.coordinates
    return {
        "groups": [boundary.first, boundary.second],
        "z": format_evidence(boundary.evidence),
        "near": list(boundary.sizes),
        "drawn": [len(first), len(second)],
        "at": round_figures([*first.tolist(), *second.tolist()]),
        **({} if boundary.curve is None else {"curve": _describe_curve(boundary.curve)}),
    }


def _describe_curve(curve: DensitySummary) -> dict[str, Any]:
    peak = float(curve.density.max())
    return {
        "low": curve.low,
        "high": curve.high,
        "peak": peak,
        # Heights in ten thousandths of the highest point.
        "y": np.round(curve.density * (1e4 / peak if peak > 0.0 else 0.0)).astype(int).tolist(),
        "bandwidth": _round(curve.bandwidth, 4),
        "own": curve.has_fitted_bandwidth,
        "out": [curve.below, curve.above],
    }


def _round(x: float | None, digits: int) -> int | float | None:
    return None if x is None else round_figures([x], digits)[0]


def _format_pvalue(p: float) -> str | None:
    return None if math.isnan(p) else format_pvalue(p)


def sample_rows(found: Findings, most: int) -> NDArray[np.intp]:
    """Return the indices of at most ``most`` rows: labelled rows of a classifier, some rows of each part, and others.

    The sample is the same in every run.
    """
    n = len(found.X)
    if n <= most:
        return np.arange(n)
    rng = np.random.default_rng(0)
    chosen = np.zeros(n, dtype=bool)
    if found.kind == "classifier" and found.known is not None:
        labelled = np.flatnonzero(found.known.codes >= 0)
        if len(labelled) <= most // 2:
            chosen[labelled] = True
    shuffled = rng.permutation(n)
    few = min(MIN_OF_PART, (most - int(chosen.sum())) // max(2 * len(found.part_numbers), 1))
    # The first few of each part in the shuffled order: a stable sort keeps that order inside the parts.
    by_part = shuffled[np.argsort(found.part_of_row[shuffled], kind="stable")]
    starts = np.concatenate([[0], np.cumsum(found.parts.size)])
    for k in range(len(found.part_numbers)):
        chosen[by_part[starts[k] : min(starts[k] + few, starts[k + 1])]] = True
    rest = shuffled[~chosen[shuffled]]
    chosen[rest[: most - int(chosen.sum())]] = True
    return np.flatnonzero(chosen)


# ----------------------------------------------------------------------------------------------- typical rows


@dataclass(frozen=True)
class TypicalRows:
    """One line of the table.

    Attributes
    ----------
    cluster : int
    rows : list of str
        Names of the most typical rows.
    center : list of (str, str)
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
    center: list[tuple[str, str]]
    membership: float
    n_unsure: int
    outliers: list[str]
    n_outliers: int


def find_typical_rows(found: Findings, naming: Naming) -> list[TypicalRows]:
    """Return a line for each cluster of the estimator; none for classifiers."""
    estimator, X = found.estimator, ArrayRows(found.X)
    if found.kind == "classifier" or found.n_left_out:
        return []
    proba, scores = np.asarray(estimator.predict_proba(X)), np.asarray(estimator.score_outliers(X))
    labels = estimator.predict(X)
    is_marked = np.zeros(len(found.X), dtype=bool)
    if estimator.contamination is not None:
        is_marked = np.asarray(estimator.predict(X, outliers=True)) < 0
    groups = found.cuts[found.first_cut].groups
    exemplars = find_exemplars(np.where(is_marked, 2.0, scores), labels, len(groups), MAX_NAMED)
    return [
        _describe(found, naming, k, group, labels == k, (proba[:, k], scores, is_marked), exemplars[k])
        for k, group in enumerate(groups[:MAX_CLUSTERS])
        if (labels == k).any()
    ]


def _describe(
    found: Findings, naming: Naming, k: int, group: int, inside: Any, values: tuple[Any, Any, Any], exemplars: Any
) -> TypicalRows:
    proba, scores, is_marked = values
    marked = np.flatnonzero(inside & is_marked)
    features = found.effects.rank_features(group, MAX_FEATURES) or list(range(min(MAX_FEATURES, found.X.shape[1])))
    typical = inside & ~is_marked if (inside & ~is_marked).any() else inside
    center = []
    for j in features:
        mean = float(found.X[typical, j].mean(dtype=np.float64)) * float(naming.scale[j]) + float(naming.center[j])
        spread = float(found.parts.std[j]) * abs(float(naming.scale[j]))
        text = format_share(mean) if naming.is_share[j] else f"{round_by_spread(mean, spread)}"
        center.append((shorten(naming.features[j], NAME_CHARACTERS), text))
    return TypicalRows(
        k,
        _name_rows(naming, exemplars),
        center,
        float(proba[inside].mean()),
        int((proba[inside] < SURE).sum()),
        _name_rows(naming, marked[np.argsort(-scores[marked], kind="stable")[:MAX_NAMED]]),
        len(marked),
    )


def _name_rows(naming: Naming, indices: Any) -> list[str]:
    return [shorten(i if naming.keys is None else naming.keys[i], NAME_CHARACTERS) for i in indices.tolist()]


# ----------------------------------------------------------------------------------------------- numbers


def encode_number(x: float) -> int | float | None:
    """Return a number for JSON: whole numbers without a decimal point, None for those that are not finite."""
    if not math.isfinite(x):
        return None
    return int(x) if x == int(x) and abs(x) < 1e15 else float(x)


def format_share(share: float) -> str:
    """Return a share in per cent, with a decimal near 0 and 100."""
    percent = round(100.0 * min(max(share, 0.0), 1.0), 1)
    return f"{percent:.0f} %" if percent in (0.0, 100.0) or 10.0 <= percent <= 99.0 else f"{percent:.1f} %"


def round_figures(values: Iterable[float], digits: int = 4) -> list[int | float | None]:
    """Round numbers to a few significant digits."""
    return [encode_number(float(f"{x:.{digits}g}")) for x in values]


def round_by_spread(x: float, spread: float) -> int | float | None:
    """Round a number to about a thousandth of the spread of its feature, so that a far origin costs no digits."""
    if not (math.isfinite(x) and math.isfinite(spread) and spread > 0.0):
        return encode_number(x)
    return encode_number(round(x, min(max(3 - math.floor(math.log10(spread)), -290), 320)))
