"""The estimators as functions."""

from __future__ import annotations

from typing import Any

from numpy.typing import ArrayLike

from ravine.checks import check_choice, check_integer, make_generator
from ravine.estimators._parameters import pick_parameters
from ravine.estimators.classifier import MinimumDensityClassifier
from ravine.estimators.hyperplane import MinimumDensityHyperplane
from ravine.hyperplane import Hyperplane
from ravine.rows import limit_library_threads
from ravine.rows.inputs import validate_rows_in_memory
from ravine.search import SearchSettings, check_settings
from ravine.validity import TEST_METHODS, ValleyTest, run_valley_test

__all__ = ["make_search_settings", "minimum_density_hyperplane", "valley_test"]


def minimum_density_hyperplane(
    X: ArrayLike, *, sample_weight: ArrayLike | None = None, **parameters: Any
) -> Hyperplane:
    """Find the minimum density hyperplane of X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), optional
    **parameters
        Parameters of :class:`MinimumDensityHyperplane`.

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
    return MinimumDensityHyperplane(**parameters).fit(X, sample_weight=sample_weight).hyperplane_


def valley_test(X: ArrayLike, *, method: str = "pooled", n_splits: int = 1, **parameters: Any) -> ValleyTest:
    """Test whether X has two groups with a valley of the density between them.

    Some rows choose a hyperplane and, along its normal, an interval M around it and intervals L and R on both sides
    where the density is higher. Other rows are counted: are there significantly fewer of them in M than the widths
    suggest, compared with L and with R?

    ``method="exact"`` halves the rows at random. One half chooses and the other is counted, then they change places;
    P is twice the smaller of the two results. Since the rows that count had no part in the choice, P is valid for any
    number of rows and features and any tails, if the rows are independent and the density, without a split, is
    unimodal along every direction: P ≤ 0.05 then occurs at most 5 % of the time.

    ``method="pooled"`` divides the rows at random into three folds. The rows of each fold are counted in valleys that
    the other two choose, along three directions (the normal, the discriminant of its two sides and the difference of
    their means), and the counts of the folds are added. Z-scores are averaged over up to eight such partitions, fewer
    if P is clearly above or below 0.05, and P belongs to the best direction. Each fold is judged exactly, but the folds
    share the rows that choose: **P is calibrated by simulation, not proved**. The test has much more power than the
    exact one.

    Features of repeated values (counts, yes and no) are recognised: at least half of (at most 1000) rows share their
    value with another row. Such values are spread uniformly over their cells before counting; otherwise the gaps
    between them would look like valleys. If such features are correlated (above 0.5), the valley must show both if they
    are spread independently and if they are spread together.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    method : {"pooled", "exact"}, default="pooled"
        The test. The parameter of the same name of :class:`MinimumDensityHyperplane`, the method of the search, cannot
        be given here.
    n_splits : int, default=1
        Number of random halvings of the exact test; with several, P is twice their median. The pooled test makes up to
        eight partitions for each. More are less random, and slower.
    **parameters
        Other parameters of :class:`MinimumDensityHyperplane`, which finds the hyperplanes. The pooled test uses half of
        ``n_init``, a quarter of ``n_alpha``, and no ``polish``.

    Returns
    -------
    ValleyTest

    Notes
    -----
    A large P-value is not evidence for one cluster: the test misses overlapping or very small clusters. If X itself was
    chosen because it looked split (for example a node of a tree), the P-value tends to be too small. With fewer than 20
    rows the pooled test gives P = 1.

    Repeated values are recognised in the features of X only. Gaps between such values count as valleys if a
    transformation has hidden the values (principal components or a rotation of yes-and-no features, rows divided by
    their sums), if fewer than half of the rows have them, if values accumulate on a coarser grid than that of the
    feature, or if three or more yes-and-no features encode a category. Many repeated rows also make the P-value too
    small: they are not independent.

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
    for name, instead in (("test_method", f"method={parameters.get('test_method')!r}"), ("test", "no parameter")):
        if name in parameters:
            raise TypeError(f"valley_test has no parameter {name}: use {instead} instead.")
    finder = MinimumDensityHyperplane(**parameters)
    n_splits = check_integer("n_splits", n_splits, low=1)
    settings = check_settings(**pick_parameters(finder, check_settings))
    rng = make_generator(finder.random_state)
    rows = validate_rows_in_memory(finder, X, reset=True)
    with limit_library_threads():
        return run_valley_test(rows, n_splits, settings.check_init(rows.shape[1]), rng, method=method)


def make_search_settings(estimator: Any, n_features: int) -> SearchSettings:
    """Return the settings of the search that `fit` of an estimator makes, to repeat or to examine it.

    Parameters
    ----------
    estimator : MinimumDensityHyperplane or MinimumDensityClassifier
    n_features : int
        Number of features of X.
    """
    if isinstance(estimator, MinimumDensityClassifier):
        return estimator._check_settings(n_features).search
    return check_settings(**pick_parameters(estimator, check_settings)).check_init(n_features)
