"""Bisection of rows into two clusters with the widest margin, for the inner product and the Gaussian kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.kernel_approximation import Nystroem
from sklearn.metrics.pairwise import euclidean_distances, rbf_kernel
from sklearn.svm import SVR

from ravine_paper._typing import Array
from ravine_paper.baselines._shared.working_rows import WorkingRows
from ravine_paper.baselines.clustering.label_alternation import MarginSolution, compute_smallest_side, maximise_margin
from ravine_paper.baselines.clustering.laplacian_regression import LaplacianRegression, Regression
from ravine_paper.baselines.clustering.svr_models import GaussianModel, LinearModel, NystroemModel, SvrModel

__all__ = ["Bisection", "SvrOptions", "bisect", "choose_median_gamma"]

# Relative duality gap of a regression: well below the tolerance of the alternation, so that it does not affect it.
GAP = 1e-5
# Megabytes of the kernel matrix that the solver keeps.
CACHE = 400
# Number of rows whose distances determine the width of the kernel.
MEDIAN_ROWS = 1000
# Beyond these, C in the working units of the data overflows or underflows in the solver.
SMALLEST_C, LARGEST_C = 1e-100, 1e100


@dataclass(frozen=True)
class SvrOptions:
    """Validated parameters of `IterativeSVR` that one bisection needs."""

    kernel: str
    C: float
    balance: float
    gamma: float | None  # None for the median
    max_exact: int
    n_components: int
    max_iter: int
    tol: float


@dataclass(frozen=True)
class Bisection:
    """Two clusters.

    Attributes
    ----------
    model : SvrModel
        Positive for the smaller cluster.
    margin : MarginSolution
    gap : float
        Largest relative duality gap of the regressions.
    """

    model: SvrModel
    margin: MarginSolution
    gap: float


def bisect(X: NDArray[np.floating[Any]], options: SvrOptions, rng: np.random.Generator) -> Bisection | None:
    """Divide the rows of X into two clusters; None if they are all equal up to rounding."""
    rows = WorkingRows.of(X)
    if rows.all_equal:
        return None
    start = KMeans(2, n_init=1, random_state=int(rng.integers(2**31))).fit_predict(rows.coordinates)
    regressor = _make_regressor(X, rows, options, rng)
    margin = maximise_margin(
        regressor,
        np.where(start > 0, 1.0, -1.0),
        C=options.C,
        fewest=compute_smallest_side(len(X), options.balance),
        max_iter=options.max_iter,
        tol=options.tol,
    )
    if margin is None:
        return None
    model = regressor.make_model(margin)
    if 2 * int((model.decide(X) > 0.0).sum()) > len(X):
        model = model.reversed()
    return Bisection(model, margin, regressor.worst_gap)


def choose_median_gamma(rows: NDArray[np.floating[Any]], rng: np.random.Generator) -> float:
    """Choose 1 / (2 σ²), where σ is the median distance between two rows (of a random thousand)."""
    if len(rows) > MEDIAN_ROWS:
        rows = rows[rng.choice(len(rows), MEDIAN_ROWS, replace=False)]
    distances = euclidean_distances(rows)[np.triu_indices(len(rows), 1)]
    median = float(np.median(distances))
    width = median if median > 0.0 else float(distances.mean())  # most rows may be equal
    return 0.5 / width**2 if width > 0.0 else 1.0


class _FeatureRegressor:
    """Regressions on explicit features, which have been divided by ``unit``."""

    def __init__(self, features: Array, C: float, origin: Array, unit: float = 1.0) -> None:
        if not SMALLEST_C < C * unit**2 < LARGEST_C:
            raise ValueError(f"X has a spread of about {unit:g}, too far from 1 for C={C:g}: rescale X.")
        self.features = features
        self.origin = origin
        self.unit = unit
        self.worst_gap = 0.0
        self._solver = LaplacianRegression(features, C * unit**2, GAP)
        self._last: Regression | None = None

    def regress(self, targets: Array) -> tuple[Array, float, Array]:
        """Return the values, ‖w‖², and w for features that are not divided."""
        self._last = self._solver.solve(targets, self._last)
        self.worst_gap = max(self.worst_gap, self._last.gap)
        w = self._last.weights
        return self.features @ w, float(w @ w) / self.unit**2, w / self.unit

    def contrast(self, targets: Array) -> Array:
        """Project the rows on the difference between the means of the two classes."""
        return self.features @ (_weigh_means(targets) @ self.features)


class _LinearRegressor(_FeatureRegressor):
    """Regressions on the rows themselves."""

    def __init__(self, rows: WorkingRows, C: float) -> None:
        super().__init__(rows.coordinates, C, rows.origin, rows.unit)
        self._rows = rows

    def make_model(self, margin: MarginSolution) -> LinearModel:
        """Return the decision function."""
        return LinearModel(self._rows.to_original(margin.solution), margin.cut, self.origin)


class _NystroemRegressor(_FeatureRegressor):
    """Regressions on Nyström features of rows less the origin."""

    def __init__(self, centred: Array, C: float, origin: Array, transformer: Nystroem) -> None:
        super().__init__(transformer.fit(centred).transform(centred), C, origin)
        self._transformer = transformer

    def make_model(self, margin: MarginSolution) -> NystroemModel:
        """Return the decision function."""
        return NystroemModel(margin.solution, margin.cut, self.origin, self._transformer)


class _KernelRegressor:
    """Regressions on the Gaussian kernel matrix of rows less the origin, solved to the tolerance of libsvm."""

    worst_gap = 0.0

    def __init__(self, centred: Array, C: float, origin: Array, gamma: float) -> None:
        self.centred = centred
        self.origin = origin
        self.gamma = gamma
        self.kernel = rbf_kernel(centred, gamma=gamma)
        self._solver = SVR(kernel="precomputed", C=C, epsilon=0.0, cache_size=CACHE)

    def regress(self, targets: Array) -> tuple[Array, float, tuple[NDArray[np.intp], Array]]:
        """Return the values, ‖w‖², and the support vectors with their weights."""
        self._solver.fit(self.kernel, targets)
        support = self._solver.support_.astype(np.intp)
        weights = np.array(self._solver.dual_coef_[0])
        values = self.kernel[:, support] @ weights
        return values, float(weights @ values[support]), (support, weights)

    def contrast(self, targets: Array) -> Array:
        """Project the rows on the difference between the means of the two classes."""
        return np.asarray(self.kernel @ _weigh_means(targets))

    def make_model(self, margin: MarginSolution) -> GaussianModel:
        """Return the decision function."""
        support, weights = margin.solution
        return GaussianModel(weights, margin.cut, self.origin, self.centred[support], self.gamma)


def _make_regressor(
    X: NDArray[np.floating[Any]], rows: WorkingRows, options: SvrOptions, rng: np.random.Generator
) -> _LinearRegressor | _KernelRegressor | _NystroemRegressor:
    if options.kernel == "linear":
        return _LinearRegressor(rows, options.C)
    centred = X - rows.origin
    gamma = choose_median_gamma(centred, rng) if options.gamma is None else options.gamma
    if len(X) <= options.max_exact:
        return _KernelRegressor(centred, options.C, rows.origin, gamma)
    few = min(options.n_components, len(X))
    transformer = Nystroem(gamma=gamma, n_components=few, random_state=int(rng.integers(2**31)))
    return _NystroemRegressor(centred, options.C, rows.origin, transformer)


def _weigh_means(targets: Array) -> Array:
    """Return the weights of the rows that give the difference between the means of the two classes."""
    upper = targets > 0.0
    return np.where(upper, 1.0 / max(int(upper.sum()), 1), -1.0 / max(int((~upper).sum()), 1))
