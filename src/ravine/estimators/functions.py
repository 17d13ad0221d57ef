"""The estimators as functions, and functions that examine what they found."""

from __future__ import annotations

import math
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ravine._typing import Array
from ravine.checks import check_choice, check_integer, check_number, check_weights, make_generator
from ravine.classes import encode_labels, make_signs
from ravine.estimators._parameters import pick_parameters
from ravine.estimators.classifier import MinimumDensityClassifier
from ravine.estimators.hyperplane import MinimumDensityHyperplane
from ravine.hyperplane import Hyperplane
from ravine.rows import as_rows, limit_library_threads
from ravine.rows.inputs import validate_array, validate_rows_in_memory
from ravine.search import Problem, SearchSettings, check_settings
from ravine.theory.bandwidth_path import (
    BandwidthPath,
    BandwidthStep,
    choose_bandwidths,
    follow_bandwidths,
    make_path,
    with_labels,
)
from ravine.theory.stationarity import Stationarity, certify
from ravine.validity import TEST_METHODS, ValleyTest, run_valley_test

__all__ = ["bandwidth_path", "minimum_density_hyperplane", "stationarity", "valley_test"]


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


# --------------------------------------------------------------------------------------------------- bandwidth path


def bandwidth_path(
    X: ArrayLike,
    bandwidths: ArrayLike | None = None,
    *,
    y: ArrayLike | None = None,
    n_bandwidths: int = 25,
    sample_weight: ArrayLike | None = None,
    **parameters: Any,
) -> BandwidthPath:
    """Follow the minimum density hyperplane while the bandwidth shrinks.

    For the largest bandwidth, a search from several starts finds it. Each result is then followed to the smaller
    bandwidths by continuation, always with the widest interval of offsets (``alpha_max``), and for every bandwidth the
    hyperplane of lowest index is reported. As the bandwidth goes to 0 it becomes the hyperplane of largest margin
    within that interval, eq. (19) and (20), Lemma 3, Lemma 7 and Theorem 5 of the paper, below some bandwidth with the
    same partition of the rows. All computations are in the log domain, so the bandwidth may shrink by many orders of
    magnitude.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    bandwidths : array-like of float or None, default=None
        Decreasing. None means ``n_bandwidths`` values, in equal ratios, from that of the parameter ``bandwidth`` to a
        millionth of it.
    y : array-like of shape (n_samples,), optional
        Labels of two classes for some rows; -1, None or NaN mark unlabelled rows. The hyperplane then becomes the one
        of largest margin among those that classify them correctly.
    n_bandwidths : int, default=25
    sample_weight : array-like of shape (n_samples,), optional
        Weights of the density. Rows without weight are ignored.
    **parameters
        Parameters of :class:`MinimumDensityHyperplane`. With ``y``, omit ``init`` or give directions.

    Returns
    -------
    BandwidthPath

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine.estimators import bandwidth_path
    >>> X, _ = make_blobs([20, 30], centers=[[0, 0], [6, 6]], random_state=0)
    >>> path = bandwidth_path(X, random_state=0)
    >>> len(path.steps)
    25
    >>> bool(path.margins[-1] >= path.margins[0])
    True
    >>> len(path.steps[-1].support)
    2
    """
    finder = MinimumDensityHyperplane(**parameters)
    rows = as_rows(validate_array(finder, X, reset=True))
    weights = check_weights(sample_weight, rows.shape[0])
    count = check_integer("n_bandwidths", n_bandwidths, low=2, high=10_000)
    settings = check_settings(**pick_parameters(finder, check_settings)).check_init(rows.shape[1])
    settings, signs = replace(settings, subsample=None, n_threads=1, callback=None), None
    if y is not None:
        if isinstance(settings.init, str) and settings.init != "auto":
            raise ValueError(f"init must be omitted or be directions if y is given, got {settings.init!r}.")
        settings, signs = with_labels(settings), _encode_signs(y, rows.shape[0])
    rng = make_generator(finder.random_state)
    problem = Problem.of(rows, weights, signs, settings=settings, rng=rng)
    if problem.has_no_spread:
        raise ValueError("all rows of X are equal: no hyperplane has a margin.")
    sequence = choose_bandwidths(problem, bandwidths, count)
    path = make_path(problem, follow_bandwidths(problem, sequence))
    if signs is not None:
        _warn_of_label_errors(signs, path.steps[-1])
    return path


def _encode_signs(y: ArrayLike, n_rows: int) -> Array:
    classes, codes = encode_labels(y, n_rows, "bandwidth_path", stacklevel=4)
    if len(classes) != 2:
        raise ValueError(f"y must have labels of two classes, got {len(classes)}: {classes.tolist()}.")
    return make_signs(codes)


def _warn_of_label_errors(signs: Array, last: BandwidthStep) -> None:
    """Warn if no hyperplane separates the labels, as Lemma 7 assumes."""
    sides = np.where(last.labels == 1, 1.0, -1.0)
    wrong = min(int(((signs != 0) & (signs == side * sides)).sum()) for side in (1.0, -1.0))
    if wrong:
        warnings.warn(
            f"{wrong} labelled rows are on the wrong side of the last hyperplane: no hyperplane within alpha_max "
            "separates the labels, or none was found. Its margin is not that of a separation of the classes.",
            UserWarning,
            stacklevel=3,
        )


# --------------------------------------------------------------------------------------------------- stationarity


def stationarity(
    fitted: Any,
    X: ArrayLike,
    y: ArrayLike | None = None,
    *,
    radius: float = 1e-4,
    n_samples: int | None = None,
    bandwidth: float | None = None,
    alpha: float | None = None,
    sample_weight: ArrayLike | None = None,
    random_state: Any = 0,
) -> Stationarity:
    """Certify that a hyperplane is stationary, by the smallest element of the sampled Clarke gradient.

    The index φ has kinks where two offsets are equally good (Proposition 8 of the paper), and near a kink the gradient
    at a single point says little. The convex hull of the gradients nearby contains 0 at every local minimum. Its
    shortest vector is computed exactly.

    Parameters
    ----------
    fitted : Hyperplane, MinimumDensityHyperplane or MinimumDensityClassifier
        Hyperplane to certify. A classifier must have two classes.
    X : array-like of shape (n_samples, n_features)
        The rows it was fitted to.
    y : array-like of shape (n_samples,), optional
        Labels as given to `fit`; only with a classifier.
    radius : float, default=1e-4
        Angle within which directions are sampled.
    n_samples : int or None, default=None
        Number of directions. None means four times the number of features, at least 20.
    bandwidth, alpha : float or None, default=None
        Parameters of the index. None means those with which the hyperplane was found.
    sample_weight : array-like of shape (n_samples,), optional
    random_state : int, RandomState, Generator or None, default=0
        Seed of the sampled directions.

    Returns
    -------
    Stationarity

    References
    ----------
    J. V. Burke, A. S. Lewis, M. L. Overton. A robust gradient sampling algorithm for nonsmooth, nonconvex optimization.
    SIAM Journal on Optimization 15 (2005), 751-779.

    Examples
    --------
    >>> from sklearn.datasets import make_blobs
    >>> from ravine import Hyperplane, MinimumDensityHyperplane
    >>> from ravine.estimators import stationarity
    >>> X, _ = make_blobs([40, 60], centers=[[0, 0], [6, 6]], random_state=0)
    >>> mdh = MinimumDensityHyperplane().fit(X)
    >>> stationarity(mdh, X).norm < 0.01
    True
    >>> stationarity(Hyperplane([1.0, 0.0], 3.0), X, bandwidth=mdh.bandwidth_, alpha=1.0).norm > 1.0
    True
    """
    plane = fitted if isinstance(fitted, Hyperplane) else getattr(fitted, "hyperplane_", None)
    if not isinstance(plane, Hyperplane):
        raise TypeError(
            f"fitted must be a Hyperplane or a fitted estimator that has one (hyperplane_), got {fitted!r}."
        )
    if not plane.splits or plane.point is None:
        raise ValueError("fitted found no split: its hyperplane lies at infinity and has nothing to certify.")
    radius = check_number("radius", radius, low=0.0, high=0.5 * math.pi, open_low=True)
    rows = as_rows(validate_array(MinimumDensityHyperplane(), X, reset=True))
    n_rows, n_features = rows.shape
    if n_features != len(plane.normal):
        raise ValueError(f"X has {n_features} features, but the hyperplane has {len(plane.normal)}.")
    count = max(20, 4 * n_features) if n_samples is None else check_integer("n_samples", n_samples, low=1)
    weights = check_weights(sample_weight, n_rows)
    h = _check_known("bandwidth", plane.bandwidth if bandwidth is None else bandwidth)
    half_width = _check_known("alpha", plane.alpha if alpha is None else alpha)
    signs, settings = _find_signs(fitted, y, n_rows), _find_settings(fitted, n_features)
    problem = Problem.of(rows, weights, signs, settings=settings, rng=make_generator(random_state))
    return certify(problem, plane, bandwidth=h, alpha=half_width, radius=radius, n_samples=count)


def _check_known(name: str, value: Any) -> float:
    if isinstance(value, float) and math.isnan(value):
        raise ValueError(f"the hyperplane does not record the {name} it was found with: give {name}=.")
    return check_number(name, value, low=0.0, open_low=name == "bandwidth")


def _find_signs(fitted: Any, y: ArrayLike | None, n_rows: int) -> Array | None:
    """Return +1 and -1 for the labelled rows of a classifier, 0 for others; None if there are no labels."""
    if isinstance(fitted, MinimumDensityClassifier):
        return make_signs(encode_labels(y, n_rows, "stationarity", stacklevel=4)[1])
    if y is not None:
        raise ValueError("y is for classifiers only: omit it for a hyperplane that was found without labels.")
    return None


def _find_settings(fitted: Any, n_features: int) -> SearchSettings:
    """Return the settings with which a hyperplane was found, or the default ones; without subsamples."""
    if isinstance(fitted, MinimumDensityClassifier):
        return replace(fitted._check_settings(n_features).search, subsample=None)
    if isinstance(fitted, MinimumDensityHyperplane):
        return replace(check_settings(**pick_parameters(fitted, check_settings)), subsample=None)
    return SearchSettings()
