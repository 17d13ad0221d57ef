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

from ravine._typing import Array
from ravine.baselines.semi_supervised.coordinates import KernelOptions, Map, linear_map
from ravine.baselines.semi_supervised.cross_validation import Fold, check_grid, label_folds, nearest_first, select
from ravine.baselines.semi_supervised.margin_descent import MarginLoss, anneal
from ravine.baselines.semi_supervised.neighbour_graph import check_graph, laplacian, neighbour_graph
from ravine.baselines.semi_supervised.transductive import Rule, TransductiveClassifier
from ravine.checks import check_choice, check_integer

__all__ = ["LaplacianSVM"]

DEFAULT_PENALTY, DEFAULT_RATIO = 1e-2, 9.0
# In the search for parameters hinges are rounded over this part of the margin, and solutions need not be exact.
BEND, SEARCH_TOL, SEARCH_STEPS = 0.1, 1e-3, 200
# After so many steps of the final fit the duality gap decides if there are more: up to MOST_STEPS, or as many for each
# label. Rounding may keep the steps from their own end at a solution that is as exact as it gets.
FIRST_STEPS, MOST_STEPS, STEPS_PER_LABEL = 200_000, 3_000_000, 500
# Duality gap, as a part of the objective, of what counts as solved.
SOLVED = 1e-6


class LaplacianSVM(TransductiveClassifier):
    """Support vector machine whose function varies little along a graph of all rows.

    For two classes it minimises over f(x) = w·φ(x) + b

        mean of max(0, 1 - y f(x)) over the labels + penalty · (‖w‖² + manifold_ratio · f'Lf / trace L),

    L being the Laplacian of a graph that joins neighbouring rows, labelled or not.

    With the inner-product kernel the second penalty is a quadratic form in w, so this is **an ordinary linear SVM in
    rescaled axes**: those of X'LX, each divided by the root of 1 + manifold_ratio · eigenvalue. The graph can then only
    weigh directions, not bend the boundary; ``kernel="rbf"`` lets it.

    Parameters
    ----------
    penalty : float or sequence of float, default=(1e-4, 1e-2, 0.1, 1.0)
        γ_A. One number is used as it is; of several, one is chosen by cross-validation on the labels. Rows are first
        scaled to a mean variance of 1 for each column.
    manifold_ratio : float or sequence of float, default=(0.0, 1.0, 9.0, 100.0)
        γ_I / γ_A; γ_I / trace L is what the original writes as γ_I / (l + u)². Zero is an SVM on the labels alone.
    graph : "knn", array or sparse matrix of shape (n_samples, n_samples), default="knn"
        The graph, e.g. one from :func:`neighbour_graph` that serves many fits to the same rows.
    n_neighbors : int, default=6
        Of ``graph="knn"``.
    edge_weights : {"binary", "heat"}, default="binary"
        Of ``graph="knn"``; see :func:`neighbour_graph`.
    laplacian : {"unnormalised", "normalised"}, default="unnormalised"
        D - W, which does not see constants, so that b is free; or D^(-1/2) (D - W) D^(-1/2), which sees w·φ(x) for the
        rows centred at their mean while b stays free, a choice.
    kernel : {"linear", "rbf"}, default="linear"
    kernel_gamma : "scale" or float, default="scale"
        Of exp(-gamma ‖x - x'‖²). ``"scale"`` is 1 / (n_features · mean variance).
    n_landmarks : int, default=500
        With ``kernel="rbf"`` and more rows than this, the kernel is Nyström's from so many random rows.
    multi_class : {"ovo", "gated"}, default="ovo"
        With more than two classes there is a function for each pair, and they vote. With ``"ovo"`` all share the graph
        of all rows; with ``"gated"`` a pair sees only rows that a linear SVM on the labels gives to one of the two.
    random_state : int, RandomState, Generator or None, default=None
        Shuffles the folds and draws landmarks.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    transduction_ : ndarray of shape (n_samples,)
        Given labels, and predicted ones for unlabelled rows.
    chosen_ : list of dict
        Parameters used for each pair of classes.
    cv_errors_ : ndarray
        Their cross-validated error on the labels of the pair; NaN if nothing was chosen by it.
    coef_ : ndarray of shape (n_pairs, n_features)
        Only with the linear kernel, as `intercept_`.
    intercept_ : ndarray of shape (n_pairs,)
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    Notes
    -----
    Parameters are chosen with the labels of a pair alone: each left out once for up to 10, else five stratified folds.
    Ties go to the values nearest ``penalty=0.01`` and ``manifold_ratio=9``, and these nearest values are used where a
    class has a single label. There are no probabilities: margins of so few labels cannot be calibrated.

    The steps of a fit are bounded. Where they end with a duality gap above a millionth of the objective, which takes
    many labels that overlap and a small penalty, a ``ConvergenceWarning`` says so.

    References
    ----------
    M. Belkin, P. Niyogi, V. Sindhwani. Manifold regularization: a geometric framework for learning from labeled and
    unlabeled examples. Journal of Machine Learning Research 7 (2006), 2399-2434.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.baselines import LaplacianSVM
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

    def _learner(self, n_rows: int, n_features: int, n_classes: int) -> _Learner:
        return _Learner(
            tuple(nearest_first(check_grid("penalty", self.penalty), DEFAULT_PENALTY)),
            tuple(nearest_first(check_grid("manifold_ratio", self.manifold_ratio, open_low=False), DEFAULT_RATIO)),
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
                f"be above the lowest by {worst.details['gap']:.2g} of itself. Larger values of penalty converge "
                "sooner, e.g. penalty=(0.01, 0.1, 1.0).",
                ConvergenceWarning,
                stacklevel=3,
            )


@dataclass(frozen=True)
class _View:
    map: Map
    rows: Array  # coordinates along the axes of X'LX
    axes: Array
    roughness: Array  # eigenvalues of X'LX / trace L


@dataclass(frozen=True)
class _Learner:
    penalties: tuple[float, ...]
    ratios: tuple[float, ...]
    graph: scipy.sparse.csr_array | None
    n_neighbors: int
    edge_weights: str
    normalised: bool
    kernel: KernelOptions

    def represent(
        self, X: NDArray[np.floating[Any]], which: NDArray[np.intp] | None, rng: np.random.Generator
    ) -> _View:
        map_ = self.kernel.map(X, rng)
        rows = map_(X)
        if self.ratios == (0.0,):
            return _View(map_, rows, np.eye(rows.shape[1]), np.zeros(rows.shape[1]))
        if self.graph is None:
            frame = rows if self.kernel.kernel == "linear" else linear_map(X)(X)
            graph = neighbour_graph(frame, self.n_neighbors, weights=self.edge_weights)
        else:
            graph = self.graph if which is None else self.graph[which][:, which]
        L = laplacian(graph, normalised=self.normalised)
        total = float(L.diagonal().sum()) or 1.0
        centred = rows - rows.mean(axis=0)
        roughness, axes = np.linalg.eigh(centred.T @ (L @ centred) / total)
        return _View(map_, rows @ axes, axes, np.maximum(roughness, 0.0))

    def separate(self, view: _View, signs: Array, rng: np.random.Generator) -> Rule:
        labelled = np.flatnonzero(np.abs(signs) == 1.0)
        y, rows = signs[labelled], view.rows[labelled]
        # Candidates near both defaults come first.
        candidates = sorted(
            product(enumerate(self.ratios), enumerate(self.penalties)), key=lambda c: (c[0][0] + c[1][0], c[0][0])
        )
        grid = [(ratio, penalty) for (_, ratio), (_, penalty) in candidates]
        folds = label_folds(y, rng) if len(grid) > 1 else []
        best, error = 0, math.nan
        if folds:
            held_out = _search(rows, y, folds, grid, view.roughness)
            best, error = select(len(grid), y, folds, lambda k: held_out[folds[k][1], k])
        ratio, penalty = grid[best]
        stretch = 1.0 / np.sqrt(1.0 + ratio * view.roughness)
        normal, offset, gap = _machine(rows * stretch, y, 1.0 / (2.0 * len(y) * penalty))
        coef, chosen = view.axes @ (stretch * normal), {"penalty": penalty, "manifold_ratio": ratio}
        return Rule(view.map, coef, offset, chosen, error, {"gap": gap})


def _machine(rows: Array, y: Array, C: float) -> tuple[Array, float, float]:
    """Normal and offset of the SVM on some rows, and its duality gap as a part of its objective (0 if it converged)."""
    gap = math.inf
    for steps in (FIRST_STEPS, max(MOST_STEPS, STEPS_PER_LABEL * len(y))):
        svm = SVC(kernel="linear", C=C, tol=1e-8, max_iter=steps)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # its advice is of no use here
            svm.fit(rows, y)
        normal, offset = svm.coef_[0], float(svm.intercept_[0])
        gap = _duality_gap(rows, y, C, normal, offset, svm.dual_coef_) if svm.fit_status_ else 0.0
        if gap <= SOLVED:
            break
    return normal, offset, gap


def _duality_gap(rows: Array, y: Array, C: float, normal: Array, offset: float, dual: Array) -> float:
    """Of ½ ‖w‖² + C Σ max(0, 1 - y f(x)) and its dual Σ α - ½ ‖w‖², as a part of the first."""
    half = 0.5 * float(normal @ normal)
    primal = half + C * float(np.maximum(0.0, 1.0 - y * (rows @ normal + offset)).sum())
    return (primal - (float(np.abs(dual).sum()) - half)) / primal


def _search(
    rows: Array, y: Array, folds: Sequence[Fold], grid: Sequence[tuple[float, float]], roughness: Array
) -> Array:
    """Decision values of all labels for all folds and candidates, of shape (l, n_folds, n_candidates)."""
    costs, ridges = [], []
    for train, _ in folds:
        for ratio, penalty in grid:
            cost = np.zeros(len(y))
            cost[train] = 1.0 / (2.0 * len(train) * penalty) / (2.0 * BEND)
            costs.append(cost)
            ridges.append(np.append(1.0 + ratio * roughness, 0.0))
    design = np.column_stack([rows, np.ones(len(y))])
    p, d = len(costs), design.shape[1]
    problem = MarginLoss(
        design, y, np.zeros((0, d)), np.array(ridges), np.array(costs), np.zeros(p), np.zeros(p), bend=BEND
    )
    found, _, _ = anneal(
        problem, np.zeros((p, d)), np.ones(1), tol=SEARCH_TOL, path_tol=SEARCH_TOL, max_iter=SEARCH_STEPS
    )
    return np.asarray(design @ found.T).reshape(len(y), len(folds), len(grid))
