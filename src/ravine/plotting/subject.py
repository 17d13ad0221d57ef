"""Hyperplane, rows and labels that a display of a fitted estimator shows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from ravine.density import BalancePenalty
from ravine.estimators import MinimumDensityClassifier, MinimumDensityTree
from ravine.explain import check_estimator, encode_any_labels, encode_classes
from ravine.hyperplane import Hyperplane
from ravine.rows import Indices, Rows
from ravine.rows.inputs import validate_readable_rows
from ravine.search import check_penalty
from ravine.tree import Tree

__all__ = ["Subject", "check_rows", "find_subject", "get_hyperplane"]


@dataclass(frozen=True)
class Subject:
    """Hyperplane to be drawn, with the rows that it splits.

    Attributes
    ----------
    rows : Rows of shape (m, d)
    indices : ndarray of shape (m,), int, or None
        Indices of the rows in the X of the user; None for all.
    labels : tuple of (ndarray of shape (m,), list)
        Codes of the rows, -1 for unlabelled ones, and the labels they stand for.
    hyperplane : Hyperplane
    penalty : BalancePenalty
    all_rows : Rows
        All rows of the X of the user.
    """

    rows: Rows
    indices: Indices | None
    labels: tuple[NDArray[np.intp], list[Any]]
    hyperplane: Hyperplane
    penalty: BalancePenalty
    all_rows: Rows


def check_rows(X: Any, estimator: Any = None) -> Rows:
    """Validate the rows to be drawn, with the features of the estimator if one is given."""
    if estimator is None:
        return validate_readable_rows(BaseEstimator(), X, reset=True)
    if X is None:
        raise TypeError(
            f"X is needed to draw this, since {type(estimator).__name__} does not keep the rows of its fit: pass the "
            "same X, scaled in the same way."
        )
    return validate_readable_rows(estimator, X, reset=False)


def get_hyperplane(estimator: Any, node: int | None, pair: tuple[Any, Any] | None) -> Hyperplane:
    """Return the hyperplane of an estimator, of one of its nodes or of two of its classes."""
    if node is not None and not isinstance(estimator, MinimumDensityTree):
        raise ValueError(f"node={node!r} is for trees, but the estimator is a {type(estimator).__name__}.")
    if pair is not None and not isinstance(estimator, MinimumDensityClassifier):
        raise ValueError(f"pair={pair!r} is for classifiers, but the estimator is a {type(estimator).__name__}.")
    if isinstance(estimator, MinimumDensityTree):
        return _find_split(estimator.tree_, node)[1]
    if isinstance(estimator, MinimumDensityClassifier):
        return _find_pair(estimator, pair)
    plane: Hyperplane = estimator.hyperplane_
    return plane


def _find_split(tree: Tree, node: int | None) -> tuple[int, Hyperplane]:
    """Return an inner node, by default the root, and its hyperplane."""
    inner = np.flatnonzero(tree.left >= 0).tolist()
    if not inner:
        raise ValueError("the tree has only one cluster: there is no split to draw.")
    k = tree.check_node(0 if node is None else node)
    plane = tree.hyperplane(k)
    if plane is None:
        some = ", ".join(map(str, inner[:8])) + (", ..." if len(inner) > 8 else "")
        raise ValueError(f"node {k} is a leaf: it has no hyperplane. The nodes with a split are {some}.")
    return k, plane


def _find_pair(classifier: MinimumDensityClassifier, pair: tuple[Any, Any] | None) -> Hyperplane:
    """Return the hyperplane between two classes, with the normal pointing to the second."""
    planes: dict[Any, Hyperplane] = classifier.hyperplanes_
    if pair is None:
        if len(planes) > 1:
            raise ValueError(
                f"the classifier has {len(classifier.classes_)} classes and one hyperplane for each pair of them: "
                f"choose one, for example pair={next(iter(planes))!r}."
            )
        return next(iter(planes.values()))
    key = tuple(pair) if isinstance(pair, tuple | list) else pair
    if key in planes:
        return planes[key]
    if isinstance(key, tuple) and key[::-1] in planes:
        return planes[key[::-1]].reversed()
    some = ", ".join(map(repr, list(planes)[:4]))
    raise ValueError(f"pair must be two of the classes, for example one of {some}; got {pair!r}.")


def find_subject(
    estimator: Any, X: Any, y: ArrayLike | None, *, node: int | None = None, pair: tuple[Any, Any] | None = None
) -> Subject:
    """Return the hyperplane, rows and labels that a display of this estimator shows."""
    check_estimator(estimator)
    plane = get_hyperplane(estimator, node, pair)
    all_rows = check_rows(X, estimator)
    with all_rows.session():
        codes, names = _find_labels(estimator, all_rows, y, plane, node)
        indices = _find_indices(estimator, all_rows, node, pair)
    rows = all_rows
    if indices is not None:
        if not len(indices):
            raise ValueError("no row of X belongs to this split: there is nothing to draw.")
        rows, codes = all_rows.subset(indices), codes[indices]
    penalty = check_penalty(estimator.eta, estimator.epsilon)
    return Subject(rows, indices, (codes, names), plane, penalty, all_rows)


def _find_labels(
    estimator: Any, rows: Rows, y: ArrayLike | None, plane: Hyperplane, node: int | None
) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the labels of all rows as codes and names: those given, or those of the estimator."""
    if y is not None:
        return encode_any_labels(y, rows.shape[0])
    if isinstance(estimator, MinimumDensityTree):
        tree = estimator.tree_
        k, _ = _find_split(tree, node)
        names = [_name_side(tree, int(side[k])) for side in (tree.left, tree.right)]
        return plane.on_positive_side(rows).astype(np.intp), names
    predicted = np.asarray(estimator.predict(rows))
    if isinstance(estimator, MinimumDensityClassifier):
        return encode_classes(predicted, estimator.classes_), estimator.classes_.tolist()
    return predicted, ["cluster 0", "cluster 1"]


def _find_indices(estimator: Any, rows: Rows, node: int | None, pair: tuple[Any, Any] | None) -> Indices | None:
    """Return the indices of the rows of a node or of a pair of classes; None for all rows."""
    if isinstance(estimator, MinimumDensityTree):
        k, _ = _find_split(estimator.tree_, node)
        if k == 0:
            return None
        leaf_of_row = np.asarray(rows.apply(estimator.tree_.apply))
        return np.flatnonzero(np.isin(leaf_of_row, estimator.tree_.leaves(k)))
    if pair is not None and len(estimator.classes_) > 2:
        return np.flatnonzero(np.isin(np.asarray(estimator.predict(rows)), pair))
    return None


def _name_side(tree: Tree, child: int) -> str:
    return f"cluster {tree.cluster[child]}" if tree.left[child] < 0 else f"node {child}"
