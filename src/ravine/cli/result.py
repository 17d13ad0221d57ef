"""What a run of the command found, ready to be written and told."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from ravine.models import TableModel

__all__ = ["Result", "profiles"]

# Features that are named for each cluster.
MOST_FEATURES = 3


@dataclass
class Result:
    """What a run found.

    Attributes
    ----------
    command : {"cluster", "classify"}
    source : str
        Name of the input.
    model : TableModel
    X : ndarray of shape (n_kept, n_features)
        The rows that were used, as the estimator saw them.
    kept : ndarray of bool of shape (n,) or None
        Which rows of the input these are; None for all.
    found : ndarray of shape (n_kept,)
        Their clusters or classes.
    key_name : str
        What names the rows: a column, or "row".
    keys : object
        The names of all rows, as a pyarrow array.
    given : ndarray of shape (n,) or None
        Labels that the input had.
    probability : ndarray of shape (n_kept,) or None
        Of the class found.
    summary : dict
        Everything for machines.
    """

    command: str
    source: str
    model: TableModel
    X: NDArray[Any]
    kept: NDArray[Any] | None
    found: NDArray[Any]
    key_name: str
    keys: Any
    given: NDArray[Any] | None = None
    probability: NDArray[Any] | None = None
    summary: dict[str, Any] = field(default_factory=dict)

    @property
    def feature_names(self) -> tuple[str, ...]:
        """Names of the columns of X."""
        return self.model.preparation.feature_names


def profiles(X: NDArray[Any], found: NDArray[Any], names: tuple[str, ...], word: str) -> list[dict[str, Any]]:
    """Return the size of each cluster and the features whose mean differs most from that of all other rows.

    Parameters
    ----------
    X : ndarray of shape (n, d)
    found : ndarray of shape (n,)
    names : tuple of str
    word : {"cluster", "class"}

    Returns
    -------
    list of dict
        ``differs_by`` has the effect sizes of `ravine.explain.compare_with_rest`; None for a feature that is constant
        inside the cluster and outside, since JSON has no infinity.
    """
    import numpy as np

    from ravine.explain import GroupMoments, compare_with_rest

    groups, codes = np.unique(found, return_inverse=True)
    moments = GroupMoments.of(X, codes, len(groups))
    effects = compare_with_rest(moments)
    out = []
    for k, group in enumerate(groups.tolist()):
        sizes = {j: float(effects.effect[k, j]) for j in effects.rank_features(k, MOST_FEATURES)}
        differs = {names[j]: round(size, 2) if np.isfinite(size) else None for j, size in sizes.items()}
        out.append({word: group, "rows": int(moments.size[k]), "differs_by": differs})
    return out
