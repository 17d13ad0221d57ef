"""IterativeSVR: maximum margin clustering by iterated support vector regression."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClusterMixin
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from ravine.checks import (
    check_choice,
    check_enough_rows,
    check_integer,
    check_number,
    make_generator,
    restore_on_failure,
)
from ravine.estimators import validate_array
from ravine_paper._typing import Array
from ravine_paper.baselines._shared.found_clusters import has_at_most_two_clusters, warn_of_fewer_clusters
from ravine_paper.baselines._shared.numbering import number_by_size
from ravine_paper.baselines._shared.row_checks import check_moderate_rows
from ravine_paper.baselines.clustering.svr_bisection import Bisection, SvrOptions, bisect
from ravine_paper.baselines.clustering.svr_models import GaussianModel, LinearModel, NystroemModel, SvrModel

__all__ = ["IterativeSVR"]

KERNELS = ("linear", "rbf")
# A solution with a larger duality gap is reported.
LARGEST_GAP = 1e-3


class IterativeSVR(ClusterMixin, BaseEstimator):
    """Maximum margin clustering: labels for which a support vector machine has the widest margin.

    Starting from 2-means, a support vector regression with the Laplacian loss is fitted to the labels -1 and 1. Its
    offset is then moved to where ``½‖w‖² + C Σ|1 - |f(xᵢ)||`` is smallest, among the offsets that leave two sides of
    about equal size, and the sides are the new labels. This is repeated until labels recur. The labels with the lowest
    objective are kept.

    Features in different units should be standardised first, e.g. with :class:`sklearn.preprocessing.StandardScaler`:
    C and the width of the kernel are in the units of X.

    Parameters
    ----------
    n_clusters : int, default=2
        Number of clusters. The method finds two; for more, the largest cluster is split repeatedly.
    kernel : {"linear", "rbf"}, default="linear"
        Inner product, or Gaussian kernel exp(-gamma ‖x - y‖²).
    C : float, default=1.0
        Weight of the loss.
    balance : float, default=0.05
        The sizes of the two sides differ by at most this part of their rows, from 0 (halves) to 1 (no constraint). The
        result depends strongly on it. If ties prevent every cut from being balanced, the most balanced one is taken.
    gamma : float or "median", default="median"
        Parameter of the Gaussian kernel. ``"median"`` is 1 / (2 σ²), where σ is the median distance between two rows.
    max_exact : int, default=5000
        Up to this many rows the Gaussian kernel is exact, which needs memory for n² numbers. Beyond, it is approximated
        by the Nyström method.
    n_components : int, default=500
        Number of features of the approximation.
    max_iter : int, default=50
        Maximum number of regressions.
    tol : float, default=1e-4
        Stop also when the relative change of the objective is at most this.
    random_state : int, RandomState, Generator or None, default=None
        Determines the seeds of 2-means (k-means++, one run) and the rows of the Nyström method.

    Attributes
    ----------
    labels_ : ndarray of shape (n_samples,), int
        Cluster of each row, numbered from 0 by decreasing size: with two clusters, 1 is the smaller. All 0 if no split
        was found.
    n_clusters_ : int
        Number of clusters found; fewer than requested if there are fewer distinct rows.
    coef_ : ndarray of shape (1, n_features)
        w, with the linear kernel and at most two clusters.
    intercept_ : ndarray of shape (1,)
        ``coef_ @ x + intercept_`` is 1 or -1 on the margins, with the linear kernel and at most two clusters.
    objective_ : float
        ``½‖w‖² + C Σ|1 - |f(xᵢ)||``, summed over all splits.
    n_iter_ : int
        Number of regressions, the largest of all splits.
    gamma_ : float
        With the Gaussian kernel and two clusters.
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features,)
        Defined only if X has feature names that are all strings.

    Notes
    -----
    The paper gives no settings for this method. A balance of 0.05 was chosen by comparison with its Table 2, hence with
    the labels of its data sets in view; on data with clusters of different sizes a larger value is better.

    A regression with the linear kernel, or on Nyström features, is solved to a duality gap of 1e-5 of its objective by
    Newton's method on smoothed losses. A warning reports a gap that stays larger.

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
    >>> from ravine_paper.baselines import IterativeSVR
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
        """Find the clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        self
        """
        with restore_on_failure(self):
            n_clusters, options = self._check_options()
            rng = make_generator(self.random_state)
            rows = check_moderate_rows(self, X)
            check_enough_rows(n_clusters, len(rows))
            for name in ("coef_", "intercept_", "gamma_"):
                self.__dict__.pop(name, None)
            parts, found = _bisect_repeatedly(rows, n_clusters, options, rng)
            self._numbers = _number_parts(parts)
            self._splits = [(part, bisection.model) for part, bisection in found]
            self.labels_ = self._assign(rows)
            self.n_clusters_ = len(parts)
            self.objective_ = float(sum(bisection.margin.objective for _, bisection in found))
            self.n_iter_ = max([1, *(bisection.margin.n_iter for _, bisection in found)])
            if n_clusters <= 2:
                self._store_only_split()
            self._warn(n_clusters, [bisection for _, bisection in found])
        return self

    def _check_options(self) -> tuple[int, SvrOptions]:
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

    def _store_only_split(self) -> None:
        model = self._get_model()
        if self.kernel == "linear":
            self.coef_ = model.weights[None].copy()
            self.intercept_ = np.array([-model.cut - float(model.weights @ model.origin)])
        elif isinstance(model, GaussianModel | NystroemModel):
            self.gamma_ = model.gamma

    def _get_model(self) -> SvrModel:
        """Return the model of the only split; without one, f = -1 everywhere, with w = 0 and no loss."""
        zeros = np.zeros(self.n_features_in_)
        return self._splits[0][1] if self._splits else LinearModel(zeros, 1.0, zeros)

    def _assign(self, rows: NDArray[np.floating[Any]]) -> NDArray[np.intp]:
        """Assign each row to a cluster, split by split."""
        part = np.zeros(len(rows), dtype=np.intp)
        for new, (old, model) in enumerate(self._splits, start=1):
            inside = np.flatnonzero(part == old)
            if len(inside):
                part[inside[model.decide(rows[inside]) > 0.0]] = new
        return np.asarray(self._numbers[part])

    def _warn(self, n_clusters: int, found: list[Bisection]) -> None:
        reason = f"only {self.n_clusters_} could be separated: the remaining rows of a cluster are equal"
        warn_of_fewer_clusters(n_clusters, self.n_clusters_, reason, stacklevel=4)
        worst = max((bisection.gap for bisection in found), default=0.0)
        if worst > LARGEST_GAP:
            warnings.warn(
                f"A regression stopped with a duality gap of {worst:.1g} of its objective: standardise X or use a "
                f"smaller C than {self.C:g}.",
                ConvergenceWarning,
                stacklevel=3,
            )
        elif not all(bisection.margin.converged for bisection in found):
            warnings.warn(
                f"Labels still change after max_iter={self.max_iter} regressions; the best of them are kept. Increase "
                "max_iter.",
                ConvergenceWarning,
                stacklevel=3,
            )

    # ------------------------------------------------------------------------------------------- use

    @available_if(has_at_most_two_clusters)  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> Array:
        """Compute f(x) = w·φ(x) + b, which is 1 or -1 on the margins. Available with at most two clusters.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
            Positive for label 1.
        """
        check_is_fitted(self)
        return self._get_model().decide(validate_array(self, X, reset=False))

    def predict(self, X: ArrayLike) -> NDArray[np.intp]:
        """Predict the cluster of each row.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples,)
        """
        check_is_fitted(self)
        return self._assign(validate_array(self, X, reset=False))


def _bisect_repeatedly(
    rows: NDArray[np.floating[Any]], n_clusters: int, options: SvrOptions, rng: np.random.Generator
) -> tuple[list[NDArray[np.intp]], list[tuple[int, Bisection]]]:
    """Split the largest part until there are enough: the parts, and for each split its part and bisection."""
    parts, found = [np.arange(len(rows))], []
    whole: set[int] = set()  # parts of equal rows
    while len(parts) < n_clusters and len(whole) < len(parts):
        k = max((k for k in range(len(parts)) if k not in whole), key=lambda k: len(parts[k]))
        inside = rows if len(parts) == 1 else rows[parts[k]]
        bisection = bisect(inside, options, rng)
        upper = np.zeros(len(inside), dtype=bool) if bisection is None else bisection.model.decide(inside) > 0.0
        if bisection is None or not upper.any():
            whole.add(k)
            continue
        found.append((k, bisection))
        parts.append(parts[k][upper])
        parts[k] = parts[k][~upper]
    return parts, found


def _number_parts(parts: list[NDArray[np.intp]]) -> NDArray[np.intp]:
    """Return the cluster number of each part, by decreasing size."""
    membership = np.empty(sum(map(len, parts)), dtype=np.intp)
    for k, part in enumerate(parts):
        membership[part] = k
    return number_by_size(membership)[[part[0] for part in parts]]
