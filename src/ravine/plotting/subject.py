"""Hyperplane, rows and labels that a display shows, and the numbers computed from them."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from ravine._plurals import format_pvalue
from ravine._typing import Array
from ravine.checks import check_integer
from ravine.density import BalancePenalty, ProjectedDensity
from ravine.estimators import MinimumDensityClassifier, MinimumDensityTree, PathSettings
from ravine.explain import check_estimator, encode_any_labels, encode_classes, place_points
from ravine.hyperplane import Hyperplane
from ravine.rows import Indices, Rows, StoredMoments
from ravine.rows.inputs import validate_readable_rows
from ravine.search import BandwidthRule, WorkingSpace, check_penalty, resolve_bandwidth
from ravine.tree import Tree, describe_test, find_shown_splits

# Below this, the part of a unit vector outside the row space is rounding.
OUTSIDE = 1e-9


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


def find_tree(estimator: Any, X: Any, optional: bool = False) -> tuple[Tree, Any]:
    """Return the tree of a fitted estimator and the rows to be drawn; None without X where it is optional."""
    if not isinstance(estimator, MinimumDensityTree):
        raise TypeError(f"estimator must be a fitted MinimumDensityTree, got {type(estimator).__name__}.")
    check_estimator(estimator)
    return estimator.tree_, None if X is None and optional else check_rows(X, estimator)


def check_tree(tree: Tree, X: Any, optional: bool = False) -> Any:
    """Validate a tree, and return the rows to be drawn with it; None without X where it is optional."""
    if not isinstance(tree, Tree):
        raise TypeError(f"tree must be a Tree, got {type(tree).__name__}.")
    if X is None and optional:
        return None
    rows = check_rows(X)
    if rows.shape[1] != tree.normal.shape[1]:
        raise ValueError(f"X must have {tree.normal.shape[1]} features, got {rows.shape[1]}.")
    return rows


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


def describe_tested(estimator: Any, node: int | None) -> str:
    """Describe the test of the split of an estimator, or of one of its nodes; empty if it was not tested."""
    if isinstance(estimator, MinimumDensityTree):
        tree, k = estimator.tree_, 0 if node is None else node
        return describe_test(tree, k, find_shown_splits(tree)[k])
    return format_pvalue(estimator.pvalue_) if hasattr(estimator, "pvalue_") else ""


def choose_pair(estimator: Any, pair: tuple[Any, Any] | None) -> tuple[Any, Any] | None:
    """Return a pair of classes, by default that with the least deep valley; None unless there are more than two."""
    if pair is not None or len(getattr(estimator, "classes_", ())) < 3:
        return pair
    planes: dict[tuple[Any, Any], Hyperplane] = estimator.hyperplanes_
    return min(planes, key=lambda pair: planes[pair].relative_depth if planes[pair].splits else math.inf)


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
    finder = getattr(estimator, "hyperplane", estimator)  # of a tree or classifier
    path = getattr(finder, "path", None) or PathSettings()
    penalty = check_penalty(path.eta, path.epsilon)
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


# -------------------------------------------------------------------------------- rows along and across a direction


def check_direction(direction: ArrayLike, n_features: int, name: str = "normal") -> Array:
    """Check a direction, one number for each feature, and scale it to length 1."""
    try:
        vector = np.array(direction, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name} must be {n_features} numbers, one for each feature of X: {error}") from error
    if vector.shape != (n_features,):
        raise ValueError(f"{name} must be {n_features} numbers, one for each feature of X, got shape {vector.shape}.")
    length = float(np.max(np.abs(vector), initial=0.0))
    if not (math.isfinite(length) and length > 0.0):
        raise ValueError(f"{name} must be finite and not all zeros.")
    vector /= length
    return np.asarray(vector / np.linalg.norm(vector))


@dataclass(frozen=True)
class ProjectedRows:
    """Projections of rows on a direction v, and the direction of largest variance orthogonal to it.

    Attributes
    ----------
    along : ndarray of shape (n,)
        Projections v·x of all rows.
    mean, std : float
        Weighted mean and standard deviation of the projections, which define F(v).
    across_direction : ndarray of shape (d,) or None
        Direction of largest variance orthogonal to v, approximated by a few Lanczos iterations where the covariance is
        not stored; None if there is no variance orthogonal to v.
    pc1_std : float
        Standard deviation along the first principal component.
    origin : ndarray of shape (d,)
        Mean of the rows. Projections are taken about it, so that a far origin costs no digits.
    """

    along: Array
    mean: float
    std: float
    across_direction: Array | None
    pc1_std: float
    origin: Array

    @classmethod
    def of(cls, rows: Rows, normal: Array, weights: Array | None = None) -> ProjectedRows:
        """Project all rows, with one pass for the covariance and one for the projections."""
        space = WorkingSpace.of(rows, weights, None)
        moments, basis, inner = space.sample.moments(), space.basis, normal
        if basis is not None:
            inner = basis.T @ normal
            outer = normal - basis @ inner
            length = float(np.linalg.norm(outer))
            if length > OUTSIDE:  # the direction leaves the row space: add an axis without variance
                basis, inner = np.column_stack([basis, outer / length]), np.append(inner, length)
                moments = StoredMoments(moments.total, np.pad(moments.covariance, (0, 1)))
        variance = moments.variance_along(inner)
        largest, _ = moments.leading_axis()
        value, axis = moments.across(inner).leading_axis()
        across = None
        if value > 1e-20 * largest and value > len(inner) * np.finfo(float).eps * largest:
            across = axis - (axis @ inner) * inner if basis is None else basis @ axis
            across = across - (across @ normal) * normal
            across /= np.linalg.norm(across)
            across *= np.sign(across[np.argmax(np.abs(across))])
        mean = float(normal @ space.origin)
        along = rows.project(space.origin, normal) + mean
        std, pc1_std = math.sqrt(variance) * space.unit, math.sqrt(largest) * space.unit
        return cls(along, mean, std, across, pc1_std, space.origin)

    def project_across(self, rows: Rows, indices: Indices) -> Array | None:
        """Project some rows on the direction of largest variance orthogonal to v; None if there is none."""
        if self.across_direction is None:
            return None
        center = float(self.across_direction @ self.origin)
        return rows.project(self.origin, self.across_direction, indices) + center


# -------------------------------------------------------------------------------- contents of a display


@dataclass(frozen=True)
class View:
    """Direction, hyperplane and settings to draw.

    Attributes
    ----------
    normal : ndarray of shape (d,)
        Direction of length 1.
    offset : float or None
        Offset of the hyperplane, infinite for none; None to minimise the penalised density over it.
    alpha : float or None
        Half-width of F(v) in standard deviations; None for no interval.
    bandwidth : "silverman", float or callable
    penalty : BalancePenalty
    """

    normal: Array
    offset: float | None
    alpha: float | None
    bandwidth: BandwidthRule
    penalty: BalancePenalty


def compute_view(
    rows: Rows,
    labels: tuple[NDArray[np.intp], list[Any]] | None,
    view: View,
    weights: Array | None,
    max_rows: int,
    indices: Indices | None = None,
) -> dict[str, Any]:
    """Compute the arguments of `HyperplaneDisplay`.

    Parameters
    ----------
    rows : Rows of shape (n, d)
    labels : tuple of (ndarray of shape (n,), list) or None
        Codes, -1 for unlabelled rows, and the labels they stand for; by default the sides of the hyperplane.
    view : View
    weights : ndarray of shape (n,) or None
    max_rows : int
        Largest number of rows that are drawn as points.
    indices : ndarray of shape (n,), optional
        Indices of the rows in the X of the user; by default 0 to n - 1.
    """
    max_rows = check_integer("max_rows", max_rows, low=1)
    indices = np.arange(rows.shape[0]) if indices is None else indices
    if weights is not None and not weights.all():
        kept = np.flatnonzero(weights)
        labels = None if labels is None else (labels[0][kept], labels[1])
        rows, weights, indices = rows.subset(kept), weights[kept], indices[kept]
    projected = ProjectedRows.of(rows, view.normal, weights)
    along = projected.along
    if not projected.pc1_std > 0.0:
        raise ValueError("all rows of X are equal: there is nothing to draw.")
    total = rows.shape[0] if weights is None else float(weights.sum())
    h = resolve_bandwidth(view.bandwidth, total, projected.pc1_std)
    density = ProjectedDensity(along, h, weights)
    interval, offset = _locate_hyperplane(density, projected, view)
    points = _place_points(along, h, offset, interval)
    codes, names = _name_sides(along, offset) if labels is None else labels
    shown = _sample_rows(rows.shape[0], max_rows, np.flatnonzero(codes >= 0) if (codes < 0).any() else None)
    across = projected.project_across(rows, shown)
    if across is None:
        across = np.random.default_rng(0).uniform(-1.0, 1.0, len(shown))
    return {
        "points": points,
        "density": density(points),
        "index": None if interval is None else density.evaluate_penalised(points, *interval, view.penalty),
        "along": along[shown],
        "across": across,
        "rows": indices[shown],
        "codes": codes[shown],
        "names": names,
        "sizes": np.bincount(np.where(codes < 0, len(names), codes), minlength=len(names) + 1),
        "normal": view.normal,
        "across_direction": projected.across_direction,
        "offset": offset,
        "interval": interval,
        "relative_depth": density.relative_depth(offset) if math.isfinite(offset) else 0.0,
        "alpha": view.alpha,
        "bandwidth": h,
        "n_rows": rows.shape[0],
    }


def _locate_hyperplane(
    density: ProjectedDensity, projected: ProjectedRows, view: View
) -> tuple[tuple[float, float] | None, float]:
    """Return the interval F(v), eq. (7), and the offset, by default the minimiser of the penalised density."""
    if view.alpha is None:
        return None, math.inf if view.offset is None else view.offset
    half = view.alpha * projected.std
    interval = projected.mean - half, projected.mean + half
    return interval, density.minimise(*interval, view.penalty).b if view.offset is None else view.offset


def _place_points(along: Array, h: float, offset: float, interval: tuple[float, float] | None) -> Array:
    """Return points for the curves, among them the offset and the strips beside F(v) where the penalty rises."""
    include = [offset]
    if interval is not None:
        # The penalty rises within a few tenths of h: without points there its line would start too late.
        strip = np.linspace(0.0, 1.0, 33) ** 2 * h
        include += [*(interval[0] - strip).tolist(), *(interval[1] + strip).tolist()]
    return place_points(float(along.min()), float(along.max()), h, include=include)


def _name_sides(along: Array, offset: float) -> tuple[NDArray[np.intp], list[Any]]:
    """Return the sides of the hyperplane as labels; one label if there is no hyperplane."""
    if not math.isfinite(offset):
        return np.zeros(len(along), dtype=np.intp), ["rows"]
    return (along > offset).astype(np.intp), ["v·x ≤ b", "v·x > b"]


def _sample_rows(n_rows: int, most: int, first: Indices | None = None) -> Indices:
    """Return the indices of at most ``most`` rows, the same in every run.

    The rows ``first`` are among them if they are at most half of the sample: otherwise a few labels in a million rows
    would not be seen.
    """
    if n_rows <= most:
        return np.arange(n_rows)
    rng = np.random.default_rng(0)
    if first is None or not len(first) or len(first) > most // 2:
        return np.sort(rng.choice(n_rows, most, replace=False))
    others = np.setdiff1d(np.arange(n_rows), first, assume_unique=True)
    return np.sort(np.concatenate([first, rng.choice(others, most - len(first), replace=False)]))
