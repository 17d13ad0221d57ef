"""Laplacian support vector machine (Belkin, Niyogi, Sindhwani)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import SVC

from ravine.checks import check_choice, check_integer
from ravine_paper._typing import Array
from ravine_paper.baselines.semi_supervised.coordinates import KernelOptions, Map, fit_linear_map
from ravine_paper.baselines.semi_supervised.cross_validation import (
    Fold,
    check_grid,
    select_best,
    sort_by_nearness,
    split_labels,
)
from ravine_paper.baselines.semi_supervised.margin_descent import MarginLoss, anneal
from ravine_paper.baselines.semi_supervised.neighbour_graph import check_graph, compute_laplacian, neighbour_graph
from ravine_paper.baselines.semi_supervised.transductive import Rule, TransductiveClassifier

__all__ = ["LaplacianSVM"]

DEFAULT_PENALTY, DEFAULT_RATIO = 1e-2, 9.0
# In cross-validation hinges are rounded over this part of the margin, and solutions need not be exact.
BEND, SEARCH_TOL, SEARCH_STEPS = 0.1, 1e-3, 200
# After the first steps of the final fit the duality gap decides whether it goes on, up to MOST_STEPS or that many steps
# per label. Rounding may keep the solver from stopping by itself at a solution that cannot be improved.
FIRST_STEPS, MOST_STEPS, STEPS_PER_LABEL = 200_000, 3_000_000, 500
# Duality gap, as a part of the objective, up to which a problem counts as solved.
SOLVED = 1e-6


class LaplacianSVM(TransductiveClassifier):
    """Support vector machine whose function varies little along a graph of all rows.

    For two classes it minimises over f(x) = w·φ(x) + b

        mean of max(0, 1 - y f(x)) over the labels + penalty · (‖w‖² + manifold_ratio · f'Lf / trace L),

    where L is the Laplacian of a graph that joins neighbouring rows, labelled or not.

    With the inner-product kernel the second penalty is a quadratic form in w, so this is **an ordinary linear SVM in
    rescaled axes**: those of X'LX, each divided by the root of 1 + manifold_ratio · eigenvalue. The graph can then only
    weight directions, not bend the boundary, which needs ``kernel="rbf"``.

    Parameters
    ----------
    penalty : float or sequence of float, default=(1e-4, 1e-2, 0.1, 1.0)
        γ_A. One of several values is chosen by cross-validation on the labels. Rows are first scaled to a mean variance
        of 1 per feature.
    manifold_ratio : float or sequence of float, default=(0.0, 1.0, 9.0, 100.0)
        γ_I / γ_A; γ_I / trace L here is γ_I / (l + u)² in the original. Zero is an SVM on the labels alone.
    graph : "knn", array or sparse matrix of shape (n_samples, n_samples), default="knn"
        The graph, e.g. one from :func:`neighbour_graph` for many fits to the same rows.
    n_neighbors : int, default=6
        Number of neighbours for ``graph="knn"``.
    edge_weights : {"binary", "heat"}, default="binary"
        Weights for ``graph="knn"``; see :func:`neighbour_graph`.
    laplacian : {"unnormalised", "normalised"}, default="unnormalised"
        D - W, which does not penalise constants, so that b is free; or D^(-1/2) (D - W) D^(-1/2), which does. The
        latter is applied to w·φ(x) of the centred rows, so that b is free by convention.
    kernel : {"linear", "rbf"}, default="linear"
    kernel_gamma : "scale" or float, default="scale"
        Parameter of the kernel exp(-gamma ‖x - x'‖²). ``"scale"`` is 1 / (n_features · mean variance).
    n_landmarks : int, default=500
        With ``kernel="rbf"`` and more rows than this, the Nyström method approximates the kernel from this many random
        rows.
    multi_class : {"ovo", "gated"}, default="ovo"
        With more than two classes there is a function for each pair, and they vote. With ``"ovo"`` all share the graph
        of all rows; with ``"gated"`` a pair uses only rows that a linear SVM on the labels assigns to one of the two.
    random_state : int, RandomState, Generator or None, default=None
        Determines the folds and the landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Given labels, and the predicted ones of unlabelled rows.
    chosen_ : list of dict
        Parameters used for each pair of classes.
    cv_errors_ : ndarray
        Their cross-validated error on the labels of the pair; NaN if it was not used for a choice.
    coef_ : ndarray of shape (n_pairs, n_features)
        Defined only with the linear kernel, as is `intercept_`.
    intercept_ : ndarray of shape (n_pairs,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    Parameters are chosen with the labels of a pair alone: by leaving out one label at a time for up to 10, else by five
    stratified folds. Ties go to the values nearest ``penalty=0.01`` and ``manifold_ratio=9``, which are also used where
    a class has a single label. Probabilities are not available, since the margins of a few labels cannot be calibrated.

    The number of steps of a fit is bounded. A ``ConvergenceWarning`` reports a final duality gap above a millionth of
    the objective, which occurs with many overlapping labels and a small penalty.

    References
    ----------
    M. Belkin, P. Niyogi, V. Sindhwani. Manifold regularization: a geometric framework for learning from labeled and
    unlabeled examples. Journal of Machine Learning Research 7 (2006), 2399-2434.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine_paper.baselines import LaplacianSVM
    >>> X, truth = make_blobs([100, 100], centers=[[0, 0], [5, 5]], random_state=0)
    >>> y = np.where(np.arange(200) < 20, truth, -1)
    >>> svm = LaplacianSVM(random_state=0).fit(X, y)
    >>> bool((svm.transduction_ == truth).all())
    True
    """

    def __init__(
        self,
        *,
        penalty: float | Sequence[float] = (1e-4, 1e-2, 0.1, 1.0),
        manifold_ratio: float | Sequence[float] = (0.0, 1.0, 9.0, 100.0),
        graph: Any = "knn",
        n_neighbors: int = 6,
        edge_weights: str = "binary",
        laplacian: str = "unnormalised",
        kernel: str = "linear",
        kernel_gamma: float | str = "scale",
        n_landmarks: int = 500,
        multi_class: str = "ovo",
        random_state: Any = None,
    ) -> None:
        self.penalty = penalty
        self.manifold_ratio = manifold_ratio
        self.graph = graph
        self.n_neighbors = n_neighbors
        self.edge_weights = edge_weights
        self.laplacian = laplacian
        self.kernel = kernel
        self.kernel_gamma = kernel_gamma
        self.n_landmarks = n_landmarks
        self.multi_class = multi_class
        self.random_state = random_state

    def _make_learner(self, n_rows: int, n_features: int, n_classes: int) -> _LaplacianSVMLearner:
        return _LaplacianSVMLearner(
            sort_by_nearness(check_grid("penalty", self.penalty), DEFAULT_PENALTY),
            sort_by_nearness(check_grid("manifold_ratio", self.manifold_ratio, open_low=False), DEFAULT_RATIO),
            check_graph(self.graph, n_rows),
            check_integer("n_neighbors", self.n_neighbors, low=1),
            check_choice("edge_weights", self.edge_weights, ("binary", "heat")),
            check_choice("laplacian", self.laplacian, ("unnormalised", "normalised")) == "normalised",
            KernelOptions.of(self),
        )

    def _store(self, rules: Sequence[Rule]) -> None:
        super()._store(rules)
        worst = max(rules, key=lambda rule: float(rule.details["gap"]))
        if worst.details["gap"] > SOLVED:
            warnings.warn(
                f"The Laplacian SVM with penalty={worst.chosen['penalty']:g} is not fully converged: its objective may "
                f"exceed the minimum by {worst.details['gap']:.2g} of its value. Larger values of penalty converge "
                "faster, e.g. penalty=(0.01, 0.1, 1.0).",
                ConvergenceWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class _GraphView:
    """Coordinates of all rows along the axes of X'LX."""

    map: Map
    rows: Array
    axes: Array
    roughness: Array  # eigenvalues of X'LX / trace L


@dataclass(frozen=True)
class _LaplacianSVMLearner:
    penalties: tuple[float, ...]
    ratios: tuple[float, ...]
    graph: scipy.sparse.csr_array | None
    n_neighbors: int
    edge_weights: str
    normalised: bool
    kernel: KernelOptions

    def represent(
        self, X: NDArray[np.floating[Any]], indices: NDArray[np.intp] | None, rng: np.random.Generator
    ) -> _GraphView:
        map_ = self.kernel.fit_map(X, rng)
        rows = map_(X)
        if self.ratios == (0.0,):
            return _GraphView(map_, rows, np.eye(rows.shape[1]), np.zeros(rows.shape[1]))
        if self.graph is None:
            scaled = rows if self.kernel.kernel == "linear" else fit_linear_map(X)(X)
            graph = neighbour_graph(scaled, self.n_neighbors, weights=self.edge_weights)
        else:
            graph = self.graph if indices is None else self.graph[indices][:, indices]
        L = compute_laplacian(graph, normalised=self.normalised)
        total = float(L.diagonal().sum()) or 1.0
        centred = rows - rows.mean(axis=0)
        roughness, axes = np.linalg.eigh(centred.T @ (L @ centred) / total)
        return _GraphView(map_, rows @ axes, axes, np.maximum(roughness, 0.0))

    def separate(self, view: _GraphView, signs: Array, rng: np.random.Generator) -> Rule:
        labelled = np.flatnonzero(np.abs(signs) == 1.0)
        y, rows = signs[labelled], view.rows[labelled]
        grid = self._list_candidates()
        folds = split_labels(y, rng) if len(grid) > 1 else []
        best, error = 0, math.nan
        if folds:
            decisions = _decide_held_out(rows, y, folds, grid, view.roughness)
            best, error = select_best(len(grid), y, folds, lambda k: decisions[folds[k][1], k])
        ratio, penalty = grid[best]
        stretch = 1.0 / np.sqrt(1.0 + ratio * view.roughness)
        normal, offset, gap = _fit_svm(rows * stretch, y, 1.0 / (2.0 * len(y) * penalty))
        coef, chosen = view.axes @ (stretch * normal), {"penalty": penalty, "manifold_ratio": ratio}
        return Rule(view.map, coef, offset, chosen, error, {"gap": gap})

    def _list_candidates(self) -> list[tuple[float, float]]:
        """List all pairs of ratio and penalty, those near both defaults first."""
        pairs = product(enumerate(self.ratios), enumerate(self.penalties))
        ordered = sorted(pairs, key=lambda pair: (pair[0][0] + pair[1][0], pair[0][0]))
        return [(ratio, penalty) for (_, ratio), (_, penalty) in ordered]


def _fit_svm(rows: Array, y: Array, C: float) -> tuple[Array, float, float]:
    """Fit an SVM: its normal, its offset, and its duality gap as a part of its objective (0 if it converged)."""
    gap = math.inf
    for steps in (FIRST_STEPS, max(MOST_STEPS, STEPS_PER_LABEL * len(y))):
        svm = SVC(kernel="linear", C=C, tol=1e-8, max_iter=steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # its advice does not apply here
            svm.fit(rows, y)
        normal, offset = svm.coef_[0], float(svm.intercept_[0])
        gap = _compute_duality_gap(rows, y, C, normal, offset, svm.dual_coef_) if svm.fit_status_ else 0.0
        if gap <= SOLVED:
            break
    return normal, offset, gap


def _compute_duality_gap(rows: Array, y: Array, C: float, normal: Array, offset: float, dual: Array) -> float:
    """Compute the gap between ½ ‖w‖² + C Σ max(0, 1 - y f(x)) and its dual Σ α - ½ ‖w‖², as a part of the former."""
    half = 0.5 * float(normal @ normal)
    primal = half + C * float(np.maximum(0.0, 1.0 - y * (rows @ normal + offset)).sum())
    return (primal - (float(np.abs(dual).sum()) - half)) / primal


def _decide_held_out(
    rows: Array, y: Array, folds: Sequence[Fold], grid: Sequence[tuple[float, float]], roughness: Array
) -> Array:
    """Compute the decision values of all labels for all folds and candidates, of shape (l, n_folds, n_candidates)."""
    costs, ridges = [], []
    for train, _ in folds:
        for ratio, penalty in grid:
            cost = np.zeros(len(y))
            cost[train] = 1.0 / (2.0 * len(train) * penalty) / (2.0 * BEND)
            costs.append(cost)
            ridges.append(np.append(1.0 + ratio * roughness, 0.0))
    design = np.column_stack([rows, np.ones(len(y))])
    p, d = len(costs), design.shape[1]
    loss = MarginLoss(
        design, y, np.zeros((0, d)), np.array(ridges), np.array(costs), np.zeros(p), np.zeros(p), bend=BEND
    )
    found, _, _ = anneal(loss, np.zeros((p, d)), np.ones(1), tol=SEARCH_TOL, path_tol=SEARCH_TOL, max_iter=SEARCH_STEPS)
    return np.asarray(design @ found.T).reshape(len(y), len(folds), len(grid))
