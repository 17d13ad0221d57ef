"""Two clusters with the widest margin, for the inner product and the Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.svm import SVR

from ravine._typing import Array
from ravine.baselines.clustering.label_alternation import Machine, Margin, fewest_on_a_side, maximise_margin
from ravine.baselines.clustering.laplacian_regression import LaplacianRegression, Regression
from ravine.baselines.clustering.svr_models import GaussianModel, LinearModel, Model, NystroemModel
from ravine.search.space import WorkingSpace

__all__ = ["Separation", "SvrOptions", "median_gamma", "separate"]

# Relative duality gap of a regression: well below the tolerance of the turns, which it must not decide.
GAP = 1e-5
# Megabytes of the kernel matrix that the solver keeps.
CACHE = 400
# Rows whose distances give the width of the kernel.
MEDIAN_ROWS = 1000
# Beyond these, C in the working units of the data is no number to compute with.
SMALLEST_C, LARGEST_C = 1e-100, 1e100


@dataclass(frozen=True)
class SvrOptions:
    """Parameters of `IterativeSVR` that one separation needs, validated."""

    kernel: str
    C: float
    balance: float
    gamma: float | None  # None for the median
    max_exact: int
    n_components: int
    max_iter: int
    tol: float


@dataclass(frozen=True)
class Separation:
    """Two clusters.

    Attributes
    ----------
    model : Model
    margin : Margin
    gap : float
        The largest relative duality gap of its regressions.
    """

    model: Model
    margin: Margin
    gap: float


def separate(X: NDArray[np.floating[Any]], options: SvrOptions, rng: np.random.Generator) -> Separation | None:
    """Separate the rows of X; None if they are all equal, or equal to the machine."""
    space = WorkingSpace.of(X, None, None)
    if space.all_rows_equal():
        return None
    origin, unit = space.origin, space.unit
    coordinates = space.sample.fetch(np.arange(len(X)))  # in working units, and in the row space if n < d
    start = KMeans(2, n_init=1, random_state=int(rng.integers(2**31))).fit_predict(coordinates)
    machine: _FeatureMachine | _KernelMachine
    if options.kernel == "linear":
        machine = _FeatureMachine(coordinates, options.C, unit)
    else:
        rows = X - origin
        gamma = median_gamma(rows, rng) if options.gamma is None else options.gamma
        if len(rows) <= options.max_exact:
            machine = _KernelMachine(rbf_kernel(rows, gamma=gamma), options.C)
        else:
            few = min(options.n_components, len(rows))
            features = Nystroem(gamma=gamma, n_components=few, random_state=int(rng.integers(2**31))).fit(rows)
            machine = _FeatureMachine(features.transform(rows), options.C)
    margin = _maximise(machine, np.where(start > 0, 1.0, -1.0), options)
    if margin is None:
        return None
    model: Model
    if options.kernel == "linear":
        inner = margin.solution
        model = LinearModel(inner if space.basis is None else space.basis @ inner, margin.cut, origin)
    elif isinstance(machine, _KernelMachine):
        support, weights = margin.solution
        model = GaussianModel(weights, margin.cut, origin, rows[support], gamma)
    else:
        model = NystroemModel(margin.solution, margin.cut, origin, features)
    if 2 * int((model.decide(X) > 0.0).sum()) > len(X):
        model = model.reversed()
    return Separation(model, margin, machine.worst_gap)


def _maximise(machine: Machine, targets: Array, options: SvrOptions) -> Margin | None:
    return maximise_margin(
        machine,
        targets,
        C=options.C,
        fewest=fewest_on_a_side(len(targets), options.balance),
        max_iter=options.max_iter,
        tol=options.tol,
    )


def median_gamma(rows: NDArray[np.floating[Any]], rng: np.random.Generator) -> float:
    """1 / (2 σ²) for σ the median distance between two rows (of a random thousand)."""
    if len(rows) > MEDIAN_ROWS:
        rows = rows[rng.choice(len(rows), MEDIAN_ROWS, replace=False)]
    distances = euclidean_distances(rows)[np.triu_indices(len(rows), 1)]
    median = float(np.median(distances))
    width = median if median > 0.0 else float(distances.mean())  # most rows may be equal
    return 0.5 / width**2 if width > 0.0 else 1.0


class _FeatureMachine:
    """Regressions on explicit features, which have been divided by ``unit``."""

    def __init__(self, features: Array, C: float, unit: float = 1.0) -> None:
        if not SMALLEST_C < C * unit**2 < LARGEST_C:
            raise ValueError(f"X has a spread of about {unit:g}, too far from 1 for C={C:g}: rescale X.")
        self.features = features
        self.unit = unit
        self.worst_gap = 0.0
        self._solver = LaplacianRegression(features, C * unit**2, GAP)
        self._last: Regression | None = None

    def regress(self, targets: Array) -> tuple[Array, float, Array]:
        """Values, ‖w‖² and w for features that are not divided."""
        self._last = self._solver.solve(targets, self._last)
        self.worst_gap = max(self.worst_gap, self._last.gap)
        w = self._last.weights
        return self.features @ w, float(w @ w) / self.unit**2, w / self.unit

    def contrast(self, targets: Array) -> Array:
        """Projections on the difference between the means of the two classes."""
        return self.features @ (_per_class(targets) @ self.features)


class _KernelMachine:
    """Regressions on a kernel matrix; their solver stops at its own tolerance and not before."""

    worst_gap = 0.0

    def __init__(self, kernel: Array, C: float) -> None:
        self.kernel = kernel
        self._solver = SVR(kernel="precomputed", C=C, epsilon=0.0, cache_size=CACHE)

    def regress(self, targets: Array) -> tuple[Array, float, tuple[NDArray[np.intp], Array]]:
        """Values, ‖w‖², and the support vectors with their weights."""
        self._solver.fit(self.kernel, targets)
        support = self._solver.support_.astype(np.intp)
        weights = np.array(self._solver.dual_coef_[0])
        values = self.kernel[:, support] @ weights
        return values, float(weights @ values[support]), (support, weights)

    def contrast(self, targets: Array) -> Array:
        """Projections on the difference between the means of the two classes."""
        return self.kernel @ _per_class(targets)


def _per_class(targets: Array) -> Array:
    """Weights of the rows that give the difference between the means of the two classes."""
    upper = targets > 0.0
    return np.where(upper, 1.0 / max(int(upper.sum()), 1), -1.0 / max(int((~upper).sum()), 1))
