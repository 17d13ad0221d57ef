"""Result of a run of the command, ready to be written and printed."""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ravine.models import TableModel
    from ravine.tables import Consensus, Preparation

__all__ = ["Result", "get_row_keys", "keep_rows", "profile_groups"]

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
        return self.model.preparation.feature_names

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
        return table[key], key
    import numpy as np

    return import_module("pyarrow").array(np.arange(1, table.num_rows + 1)), "row"


def profile_groups(X: NDArray[Any], labels: NDArray[Any], plan: Preparation, word: str) -> list[dict[str, Any]]:
    """Return the size of each group and the features whose mean differs most from that of all other rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    labels : ndarray of shape (n,)
    plan : Preparation
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

    names = plan.feature_names
    indicators = {j for _, texts, place in plan.list_features() if texts for j in range(place.start, place.stop)}
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
            shares[names[j]] = [_get_share(mean + moments.origin[j], j, plan) for mean in both]
        profiles.append({**profile, **({"shares": shares} if shares else {})})
    return profiles


def _get_share(mean: float, j: int, plan: Preparation) -> float:
    """Return the share of a category in a group from the mean of its feature."""
    value = float(mean * plan.scale[j] + plan.centre[j]) if plan.is_scaled else float(mean)
    return round(min(max(value, 0.0), 1.0), 3)
