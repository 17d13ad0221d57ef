"""Result of a run, its summary, and the summary in words."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

from ravine._plurals import count
from ravine.cli.console import Console, escape
from ravine.cli.errors import CommandError
from ravine.explain import (
    describe_completions,
    describe_evidence,
    describe_groups,
    describe_outliers,
    find_suggestion,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ravine.cli.run import FitRequest
    from ravine.models import TableModel
    from ravine.tables import Consensus, MixedScaler

PLURALS = {"cluster": "clusters", "class": "classes"}
# Pairs of rows that contradict labels and are printed; the summary lists all.
MAX_VIOLATIONS = 3
# Groups that are printed; the summary lists all.
MAX_GROUPS = 30
# Number of features that are named for each group.
MAX_FEATURES = 3


@dataclass
class Result:
    """Result of a run.

    Attributes
    ----------
    command : {"cluster", "classify"}
    source : str
        Name of the input.
    model : TableModel
    X : ndarray of shape (n_kept, n_features)
        Features of the rows that were used.
    kept : ndarray of bool of shape (n,) or None
        Mask of these rows in the input; None for all.
    labels : ndarray of shape (n_kept,)
        Cluster or class of each row that was used.
    key_name : str
        Name of the column that identifies the rows, or "row".
    keys : pyarrow.Array
        Keys of all rows.
    given : ndarray of shape (n,) or None
        Labels in the input.
    probability : ndarray of shape (n_kept,) or None
        Probability of the predicted class, or membership in the cluster.
    summary : dict
        Content of summary.json.
    suggested : ndarray of shape (m,) or None
        Rows of X whose labels would help most.
    outlier_scores : ndarray of shape (n_kept,) or None
    instability : ndarray of shape (n_kept,) or None
        Share of the completions of missing cells that put a row into another group: by a tree of each completion after
        a fit, by the tree of the model in `ravine predict`.
    consensus : Consensus or None
        Agreement of these completions.
    protects_formulas : bool
        Whether an apostrophe is written before text that a spreadsheet would take for a formula.
    """

    command: str
    source: str
    model: TableModel
    X: NDArray[Any]
    kept: NDArray[Any] | None
    labels: NDArray[Any]
    key_name: str
    keys: Any
    given: NDArray[Any] | None = None
    probability: NDArray[Any] | None = None
    summary: dict[str, Any] = field(default_factory=dict)
    suggested: NDArray[Any] | None = None
    outlier_scores: NDArray[Any] | None = None
    protects_formulas: bool = False
    instability: NDArray[Any] | None = None
    consensus: Consensus | None = None

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the features in X."""
        return tuple(self.model.preparation.get_feature_names_out().tolist())

    def list_typical_rows(self) -> tuple[NDArray[Any], NDArray[Any]]:
        """Return features and labels of the rows that are not marked as outliers."""
        if self.outlier_scores is None:
            return self.X, self.labels
        return self.X[self.labels >= 0], self.labels[self.labels >= 0]

    @property
    def group_name(self) -> str:
        """Word for a group of rows: "cluster" or "class"."""
        return "class" if self.command == "classify" else "cluster"


def keep_rows(values: Any, kept: NDArray[Any] | None) -> Any:
    """Return the values of the rows that were used; None stays None."""
    return values if values is None or kept is None else values[kept]


def get_row_keys(table: Any, key: str | None) -> tuple[Any, str]:
    """Return the column that identifies the rows and its name: that of --key, or row numbers from 1."""
    if key is not None:
        return import_module("pyarrow").array(table[key]), key
    import numpy as np

    return import_module("pyarrow").array(np.arange(1, len(table) + 1)), "row"


def profile_groups(X: NDArray[Any], labels: NDArray[Any], scaler: MixedScaler, word: str) -> list[dict[str, Any]]:
    """Return the size of each group and the features whose mean differs most from that of all other rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
    scaler : MixedScaler
        Preparation of the features.
    word : {"cluster", "class"}

    Returns
    -------
    list of dict
        ``differs_by`` holds the effect sizes of `ravine.explain.compare_with_rest`; None for a feature that is constant
        inside the group and outside, since JSON has no infinity. ``shares`` holds the shares, inside and outside, of
        those features that are categories.
    """
    import numpy as np

    from ravine.explain import GroupMoments, compare_with_rest

    names = scaler.get_feature_names_out().tolist()
    indicators = {j for _, texts, place in scaler.list_features() if texts for j in range(place.start, place.stop)}
    groups, codes = np.unique(labels, return_inverse=True)
    moments = GroupMoments.of(X, codes, len(groups))
    effects = compare_with_rest(moments)
    profiles = []
    for k, group in enumerate(groups.tolist()):
        sizes = {j: float(effects.effect[k, j]) for j in effects.rank_features(k, MAX_FEATURES)}
        differs = {names[j]: round(size, 2) if np.isfinite(size) else None for j, size in sizes.items()}
        profile = {word: group, "rows": int(moments.size[k]), "differs_by": differs}
        shares = {}
        for j in indicators.intersection(sizes):
            both = effects.inside[k, j], effects.outside[k, j]
            shares[names[j]] = [_get_share(mean + moments.origin[j], j, scaler) for mean in both]
        profiles.append({**profile, **({"shares": shares} if shares else {})})
    return profiles


def _get_share(mean: float, j: int, scaler: MixedScaler) -> float:
    """Return the share of a category in a group from the mean of its feature."""
    value = float(mean * scaler.scale_[j] + scaler.mean_[j])
    return round(min(max(value, 0.0), 1.0), 3)


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
            "encode": result.model.preparation.encode, "missing": result.model.missing,
            "seed": options.seed,
        },
        PLURALS[word]: profile_groups(*result.list_typical_rows(), result.model.preparation, word),
        "notes": list(console.notes),
        "version": version("ravine"),
    }  # fmt: skip
    estimator = result.model.estimator
    tree, test = getattr(estimator, "tree_", None), getattr(estimator, "valley_test_", None)
    if tree is not None:
        from ravine.tree.text import describe_tests, list_splits

        level = tree.level if tree.level > 0.0 else None
        summary |= {"splits": list_splits(tree), "level": level, "test": describe_tests(tree)}
        if tree.joins is not None:
            add_joins(summary, tree)
    if test is not None:
        summary |= {"pvalue": test.pvalue, "test": str(test).split("\n")}
    suggestion = find_suggestion(estimator)
    if suggestion is not None and suggestion.n_suggested > suggestion.n_shown:
        summary["suggestion"] = {
            "shown": suggestion.n_shown, "suggested": suggestion.n_suggested, "text": str(suggestion),
        }  # fmt: skip
    if result.consensus is not None:
        from ravine.tables.imputer import UNSTABLE

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
    summary["boundaries"] = [{"clusters": pair, "z": round(z, 2) if np.isfinite(z) else None} for pair, z in pairs]


def compute_agreement(result: Result) -> dict[str, Any]:
    """Compare the clusters with known labels that were not used."""
    import numpy as np
    from sklearn.metrics import adjusted_rand_score, v_measure_score

    given = keep_rows(result.given, result.kept)
    is_labelled = np.array([label is not None for label in given.tolist()], dtype=bool)
    if not is_labelled.any():
        raise CommandError(f"the column {result.model.label_column!r} is empty: omit --label-column.")
    known = np.unique([str(label) for label in given[is_labelled]], return_inverse=True)[1]
    labels = result.labels[is_labelled]
    return {
        "rows": int(is_labelled.sum()),
        "adjusted_rand_index": round(float(adjusted_rand_score(known, labels)), 4),
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
    for line in summary.get("test", ()):
        console.print(line)
    if "outliers" in summary:
        console.print(describe_outliers(summary["outliers"]))
    if "violated_constraints" in summary:
        console.print(describe_violations(result, summary["violated_constraints"]))
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
    """Return how many clusters are shown and suggested, and the option that gives the smaller number."""
    return f"{summary['suggestion']['text']}; --clusters shown gives {summary['suggestion']['shown']}"
