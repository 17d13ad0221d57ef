"""From a fitted estimator to the hyperplane, the rows and the labels that a display is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from ravine.density import BalancePenalty
from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree
from ravine.explain import encode_any_labels
from ravine.hyperplane import Hyperplane
from ravine.plotting.rows import rows_for
from ravine.rows import Rows
from ravine.search.settings import check_penalty
from ravine.tree import Tree

__all__ = ["Subject", "check_estimator_kind", "hyperplane_of", "node_plane", "subject_of"]

KINDS = "MinimumDensityHyperplane, MinimumDensityClassifier or MinimumDensityTree"


@dataclass(frozen=True)
class Subject:
    """What is shown.

    Attributes
    ----------
    X : Rows of shape (m, d)
        The rows that belong to the hyperplane.
    rows : ndarray of shape (m,), int, or None
        Their numbers in the X of the user; None for all.
    labels : tuple
        Their labels: codes, -1 for unlabelled rows, and the names that the others stand for.
    hyperplane : Hyperplane
    penalty : BalancePenalty
    given : Rows
        All rows of the X of the user.
    """

    X: Rows
    rows: NDArray[np.intp] | None
    labels: tuple[NDArray[np.intp], list[Any]]
    hyperplane: Hyperplane
    penalty: BalancePenalty
    given: Rows


def check_estimator_kind(estimator: Any) -> None:
    """Only fitted estimators of this library have what is drawn."""
    if not isinstance(estimator, MinimumDensityHyperplane | MinimumDensityClassifier | MinimumDensityTree):
        raise TypeError(
            f"estimator must be a fitted {KINDS}, got {type(estimator).__name__}. Of a pipeline take the last step, "
            "and X as the other steps transform it."
        )
    check_is_fitted(estimator)


def checked_rows(estimator: Any, X: Any) -> Rows:
    """The rows to be drawn; estimators do not keep those of the fit."""
    if X is None:
        raise TypeError(
            f"X is needed to draw this: {type(estimator).__name__} does not keep the rows of its fit. Pass the same X, "
            "scaled in the same way."
        )
    return rows_for(estimator, X)


def node_plane(tree: Tree, node: int | None) -> tuple[int, Hyperplane]:
    """An inner node (by default the root) and its hyperplane."""
    inner = np.flatnonzero(tree.left >= 0).tolist()
    if not inner:
        raise ValueError("the tree has only one cluster: there is no split to draw.")
    k = tree.check_node(0 if node is None else node)
    plane = tree.hyperplane(k)
    if plane is None:
        some = ", ".join(map(str, inner[:8])) + (", ..." if len(inner) > 8 else "")
        raise ValueError(f"node {k} is a leaf: it has no hyperplane. The nodes with a split are {some}.")
    return k, plane


def hyperplane_of(estimator: Any, node: int | None, pair: tuple[Any, Any] | None) -> Hyperplane:
    """The hyperplane of an estimator, of one of its nodes or of two of its classes."""
    is_tree = isinstance(estimator, MinimumDensityTree)
    several = isinstance(estimator, MinimumDensityClassifier) and len(estimator.hyperplanes_) > 1
    if node is not None and not is_tree:
        raise ValueError(f"node={node!r} is for trees, but the estimator is a {type(estimator).__name__}.")
    if pair is not None and not isinstance(estimator, MinimumDensityClassifier):
        raise ValueError(f"pair={pair!r} is for classifiers, but the estimator is a {type(estimator).__name__}.")
    if is_tree:
        return node_plane(estimator.tree_, node)[1]
    if pair is None:
        if several:
            first = next(iter(estimator.hyperplanes_))
            raise ValueError(
                f"the classifier has {len(estimator.classes_)} classes and a hyperplane for each pair of them: choose "
                f"one, for example pair={first!r}."
            )
        plane: Hyperplane = (
            next(iter(estimator.hyperplanes_.values()))
            if isinstance(estimator, MinimumDensityClassifier)
            else estimator.hyperplane_
        )
        return plane
    key = tuple(pair) if isinstance(pair, tuple | list) else pair
    if key in estimator.hyperplanes_:
        return estimator.hyperplanes_[key]  # type: ignore[no-any-return]
    if isinstance(key, tuple) and key[::-1] in estimator.hyperplanes_:
        return estimator.hyperplanes_[key[::-1]].reversed()  # type: ignore[no-any-return]
    pairs = ", ".join(map(repr, list(estimator.hyperplanes_)[:4]))
    raise ValueError(f"pair must be two of the classes, for example one of {pairs}; got {pair!r}.")


def subject_of(
    estimator: Any, X: Any, y: ArrayLike | None, *, node: int | None = None, pair: tuple[Any, Any] | None = None
) -> Subject:
    """The rows, labels and hyperplane that a display of this estimator shows."""
    check_estimator_kind(estimator)
    plane = hyperplane_of(estimator, node, pair)
    given = checked_rows(estimator, X)
    with given.session():
        codes, names = _labels(estimator, given, y, plane, node)
        rows = _belonging(estimator, given, node, pair)
    mine = given
    if rows is not None:
        if not len(rows):
            raise ValueError("no row of X belongs to this split: there is nothing to draw.")
        mine, codes = given.subset(rows), codes[rows]
    return Subject(mine, rows, (codes, names), plane, check_penalty(estimator.eta, estimator.epsilon), given)


def _labels(
    estimator: Any, given: Any, y: ArrayLike | None, plane: Hyperplane, node: int | None
) -> tuple[NDArray[np.intp], list[Any]]:
    """Labels of all rows as codes, and their names: those given, or what the estimator says."""
    if y is not None:
        return encode_any_labels(y, given.shape[0])
    if isinstance(estimator, MinimumDensityTree):
        k, _ = node_plane(estimator.tree_, node)
        sides = estimator.tree_.left, estimator.tree_.right
        return plane.on_positive_side(given).astype(np.intp), [
            _side_name(estimator.tree_, int(side[k])) for side in sides
        ]
    if isinstance(estimator, MinimumDensityClassifier):
        codes = np.searchsorted(estimator.classes_, np.asarray(estimator.predict(given)))
        return codes.astype(np.intp), estimator.classes_.tolist()
    return np.asarray(estimator.predict(given)), ["cluster 0", "cluster 1"]


def _belonging(estimator: Any, X: Any, node: int | None, pair: tuple[Any, Any] | None) -> NDArray[np.intp] | None:
    """Rows that a node or a pair of classes is about; None for all."""
    if isinstance(estimator, MinimumDensityTree):
        k, _ = node_plane(estimator.tree_, node)
        if not k:
            return None
        reached = np.asarray(X.apply(estimator.tree_.apply))
        return np.flatnonzero(np.isin(reached, estimator.tree_.leaves(k)))
    if pair is not None and len(estimator.classes_) > 2:
        return np.flatnonzero(np.isin(np.asarray(estimator.predict(X)), pair))
    return None


def _side_name(tree: Tree, child: int) -> str:
    return f"cluster {tree.cluster[child]}" if tree.left[child] < 0 else f"node {child}"
