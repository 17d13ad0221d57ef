"""What the estimators do, as functions."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from ravine.checks import check_integer
from ravine.estimators.hyperplane import MinimumDensityHyperplane
from ravine.hyperplane import Hyperplane
from ravine.rows.inputs import validate_array
from ravine.validity.valley_test import ValleyTest, split_test

__all__ = ["minimum_density_hyperplane", "valley_test"]


def minimum_density_hyperplane(
    X: ArrayLike, *, sample_weight: ArrayLike | None = None, **parameters: Any
) -> Hyperplane:
    """Find the minimum density hyperplane of X.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    sample_weight : array-like of shape (n_samples,), optional
    **parameters
        As for :class:`MinimumDensityHyperplane`.

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


def valley_test(X: ArrayLike, *, n_splits: int = 1, **parameters: Any) -> ValleyTest:
    """Test whether X really has two groups with a valley of the density between them.

    A random half of the rows chooses a hyperplane and, along its normal, an interval M around it and the intervals L
    and R beside it where its density is higher; the other half judges: are there significantly fewer of its rows in M
    than the widths let expect, both beside L and beside R? Then the halves change places. Since the rows that judge had
    no part in the choice, the P-value holds for any number of rows and columns and any tails, if the rows are
    independent and the density, if there is no split, is unimodal along every direction.

    Columns of repeated values (counts, yes and no) are recognised: at least half of (at most 1000) rows share their
    value with another row. Before judging, rows are spread uniformly over their cells in such columns; else the gaps
    between the values would look like valleys. Where such columns are correlated (above 0.5), the valley must
    show both if they are spread independently and if they are spread together.

    Parameters
    ----------
    X : array-like of shape (n_samples, n_features)
    n_splits : int, default=1
        Random halvings. With several the P-value is twice their median, which depends less on chance and costs more.
    **parameters
        As for :class:`MinimumDensityHyperplane`, which finds the hyperplanes of the halves.

    Returns
    -------
    ValleyTest

    Notes
    -----
    A large P is not evidence for one cluster: overlapping or very small clusters are not shown. If X itself was chosen
    because it looked split (a node of a tree, say) P tends to be too small.

    The recognition of repeated values sees the columns as they are given. Gaps between such values are called valleys
    if a transformation has hidden the values (principal components or a rotation of yes-and-no columns, rows divided by
    their sums), if fewer than half of the rows have them, if values heap on a coarser grid than the column has, or if a
    category is coded by three or more columns of yes and no. Many repeated rows make P too small, too: they are not
    independent.

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
    finder = MinimumDensityHyperplane(**parameters)
    n_splits = check_integer("n_splits", n_splits, low=1)
    options = finder._options()
    rows = validate_array(finder, X, reset=True)
    options["init"] = finder._directions(rows.shape[1])
    return split_test(rows, np.arange(len(rows)), n_splits, options)
