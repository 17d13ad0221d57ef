"""The estimators as functions, and the settings of the paper."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike
from sklearn.base import clone

from ravine.checks import check_choice, check_integer, count_threads, make_generator
from ravine.estimators.classifier import MinimumDensityClassifier
from ravine.estimators.hyperplane import MinimumDensityHyperplane, PathSettings, read_settings
from ravine.hyperplane import Hyperplane
from ravine.rows import limit_library_threads
from ravine.rows.inputs import validate_rows_in_memory
from ravine.search import SearchSettings
from ravine.validity import TEST_METHODS, ValleyTest, run_valley_test


def minimum_density_hyperplane(
    X: ArrayLike,
    *,
    hyperplane: MinimumDensityHyperplane | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = None,
) -> Hyperplane:
    """Find the minimum density hyperplane of X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    hyperplane : MinimumDensityHyperplane or None, default=None
        Estimator with the parameters of the search; it is not fitted itself.
    sample_weight : array-like of shape (n_samples,), optional
    random_state : int, RandomState, Generator or None, default=None
        Seed; None means that of ``hyperplane``.

    Returns
    -------
    Hyperplane

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import minimum_density_hyperplane
    >>> X, y = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> plane = minimum_density_hyperplane(X)
    >>> plane.side([[0, 0], [6, 6]])
    array([1, 0])
    """
    finder = _copy_hyperplane(hyperplane, random_state)
    return finder.fit(X, sample_weight=sample_weight).hyperplane_


def _copy_hyperplane(hyperplane: MinimumDensityHyperplane | None, random_state: Any) -> MinimumDensityHyperplane:
    """Return an unfitted copy, or an estimator with default parameters, with a seed if one is given."""
    if not isinstance(hyperplane, MinimumDensityHyperplane | None):
        raise TypeError(f"hyperplane must be a MinimumDensityHyperplane or None, got {hyperplane!r}.")
    finder = MinimumDensityHyperplane() if hyperplane is None else clone(hyperplane)
    return finder if random_state is None else finder.set_params(random_state=random_state)


def make_search_settings(estimator: Any, n_features: int) -> SearchSettings:
    """Return the settings of the search that `fit` of an estimator makes, to repeat or to examine it.

    Parameters
    ----------
    estimator : MinimumDensityHyperplane or MinimumDensityClassifier
    n_features : int
        Number of features of X.
    """
    if isinstance(estimator, MinimumDensityClassifier):
        return estimator._make_settings(n_features).search
    settings = read_settings(estimator, n_threads=count_threads(estimator.n_jobs), callback=estimator.callback)
    return settings.check_init(n_features)


def valley_test(
    X: ArrayLike,
    *,
    hyperplane: MinimumDensityHyperplane | None = None,
    method: str = "pooled",
    n_splits: int = 1,
    random_state: Any = None,
) -> ValleyTest:
    """Test whether X has two groups with a valley of the density between them.

    Some rows choose a direction and, along it, an interval M in a valley and intervals L and R on both sides where the
    density is higher. Other rows are counted: are there significantly fewer of them in M than the widths suggest,
    compared with L and with R?

    ``method="exact"`` halves the rows at random. One half chooses the normal of its minimum density hyperplane and the
    other is counted, then they change places; P is twice the smaller of the two results. Since the rows that count had
    no part in the choice, P is valid for any number of rows and features and any tails, if the rows are independent and
    the density, without a split, is unimodal along every direction: P ≤ 0.05 then occurs at most 5 % of the time.

    ``method="pooled"`` is the test of :class:`MinimumDensityTree`, on at most 10,000 random rows. It divides them at
    random into three folds. The rows of each fold are counted in a valley that the other two choose, and the counts of
    the folds are added. Z-scores are averaged over up to eight such partitions, fewer if P is clearly above or below
    0.05. A single curved cluster, such as a ring or an arc, has valleys along directions, too: if P is at most 0.05 and
    the two sides of the valley are connected around it, P is 1 and ``is_bend`` is True. Each fold is judged exactly,
    but the folds share the rows that choose: **the level is checked by simulation, not proved**. The test has much more
    power than the exact one.

    Features of repeated values (counts, yes and no) are recognised: at least half of (at most 1000) rows share their
    value with another row. Such values are spread uniformly over their cells before counting; otherwise the gaps
    between them would look like valleys. If such features are correlated (above 0.5), the valley must show both if they
    are spread independently and if they are spread together. The pooled test also spreads the levels of a category that
    is encoded by three or more yes-and-no features, replaces values that many rows of a continuous feature share, and
    counts equal rows once, unless all features have repeated values.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    hyperplane : MinimumDensityHyperplane or None, default=None
        Estimator with the parameters of the search for the hyperplanes of the exact test. The pooled test uses only its
        ``random_state``.
    method : {"pooled", "exact"}, default="pooled"
    n_splits : int, default=1
        Number of random halvings of the exact test; with several, P is twice their median. The pooled test makes up to
        16 partitions for each. More are less random, and slower.
    random_state : int, RandomState, Generator or None, default=None
        Seed; None means that of ``hyperplane``.

    Returns
    -------
    ValleyTest

    Notes
    -----
    A large P-value is not evidence for one cluster: the test misses overlapping or very small clusters. If X itself was
    chosen because it looked split (for example a node of a tree), the P-value tends to be too small. With fewer than 20
    rows the pooled test gives P = 1. The exact test takes sparse matrices of at most 1000 features.

    Repeated values are recognised in the features of X only. Gaps between such values count as valleys if a
    transformation has hidden the values (principal components or a rotation of yes-and-no features, rows divided by
    their sums), or if values accumulate on a coarser grid than that of the feature; in the exact test also if fewer
    than half of the rows have them, or if three or more yes-and-no features encode a category. Many repeated rows also
    make the P-value of the exact test too small: they are not independent.

    Examples
    --------
    >>> import numpy as np
    >>> from ravine import valley_test
    >>> rng = np.random.default_rng(0)
    >>> one = rng.normal(size=(400, 3))
    >>> two = one + np.repeat([[0, 0, 0], [6, 0, 0]], 200, axis=0)
    >>> bool(valley_test(one, random_state=0).pvalue > 0.05)
    True
    >>> bool(valley_test(two, random_state=0).pvalue < 1e-6)
    True
    """
    method = check_choice("method", method, TEST_METHODS)
    finder = _copy_hyperplane(hyperplane, random_state)
    n_splits = check_integer("n_splits", n_splits, low=1)
    rng = make_generator(finder.random_state)
    rows = validate_rows_in_memory(finder, X, reset=True)
    settings = make_search_settings(finder, rows.shape[1])
    with limit_library_threads():
        return run_valley_test(rows, n_splits, settings, rng, method=method)


def paper_settings(task: str = "clustering") -> dict[str, Any]:
    """Return constructor arguments that reproduce the paper's experiments.

    For clustering the paper specifies: starts at the first two principal components, bandwidth 0.9 σ n^(-1/5), alpha
    increasing to 0.9, the last hyperplane that is a minimiser of the projected density, and the start with the largest
    relative depth. For classification: of the first two principal components and the weights of a linear SVM, the start
    whose index is lowest; alpha increasing as before with γ = 0.1, then γ = 1 and 10.

    The paper does not specify whether features are standardised, the number of values of alpha, or the number of
    iterations for each. The values 20 and 5 were chosen by comparing with its table of clusterings, that is, with the
    labels in view. Further choices of this implementation are: η in units of the bandwidth, C = 1 for the SVM on rows
    scaled to a mean variance of 1, and votes of the pairs for more than two classes (the paper has pairs only).

    Parameters
    ----------
    task : {"clustering", "classification"}, default="clustering"

    Returns
    -------
    dict
        For :class:`MinimumDensityHyperplane` or :class:`MinimumDensityClassifier`; standardise the features first.

    Examples
    --------
    >>> from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, paper_settings
    >>> MinimumDensityHyperplane(**paper_settings("clustering")).n_init
    2
    >>> MinimumDensityClassifier(**paper_settings("classification")).gamma
    (0.1, 1.0, 10.0)
    """
    check_choice("task", task, ("clustering", "classification"))
    path = PathSettings(
        alpha_min=0.01, n_alpha=20, max_iter=5, select="last", polish=False, tol=1e-6, eta=0.01, epsilon=1.0 - 1e-6
    )
    search: dict[str, Any] = {"bandwidth": "silverman", "alpha_max": 0.9, "subsample": None, "path": path}
    if task == "clustering":
        return {**search, "init": "pca", "n_init": 2}
    return {
        "hyperplane": MinimumDensityHyperplane(**search, init=("pc1", "pc2", "svm")),
        "method": "paper",
        "bandwidth_factor": 1.0,
        "gamma": (0.1, 1.0, 10.0),
        "start_C": 1.0,
        "n_rounds": 0,
        "voting": "hard",
    }
