"""Features whose spreads differ so much that distances hardly depend on some of them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ravine._plurals import join_texts
from ravine._typing import Array
from ravine.rows.base import Rows

# Ratio of two standard deviations above which the smaller feature is hidden.
MOST_UNEQUAL = 30.0
# Rows that are examined, at most and at least, and their values.
MOST_ROWS, FEWEST_ROWS, MOST_VALUES = 1000, 20, 1 << 22
# Features that are named.
MOST_NAMED = 5


class ScaleWarning(UserWarning):
    """Warning that some features vary so much more than others that the others hardly count.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> from ravine import MinimumDensityHyperplane, ScaleWarning
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) * [1.0, 1000.0]
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     mdh = MinimumDensityHyperplane().fit(X)
    >>> any(warning.category is ScaleWarning for warning in caught)
    True
    """


def describe_hidden_features(rows: Rows, names: Sequence[str] | None = None) -> str:
    """Return a sentence that names the features that others hide; empty if there are none.

    A few rows are examined that are in memory, or in the first blocks of others.

    Parameters
    ----------
    names : sequence of str, optional
        Names of the features.
    """
    few, columns = rows.glance(max(FEWEST_ROWS, min(MOST_ROWS, MOST_VALUES // rows.shape[1])))
    if len(few) < FEWEST_ROWS:
        return ""
    for measure in (measure_deviations, measure_quartiles):  # the first takes less time
        spreads = measure(few)
        is_hidden = (spreads > 0.0) & (spreads < spreads.max(initial=0.0) / MOST_UNEQUAL)
        if not is_hidden.any():
            return ""
    called = [f"feature {j}" if names is None else repr(str(names[j])) for j in columns.tolist()]
    texts = [f"{name} ({spread:.2g})" for name, spread in zip(called, spreads.tolist(), strict=True)]
    hidden = join_texts([texts[k] for k in np.flatnonzero(is_hidden)], MOST_NAMED)
    return (
        f"standard deviations differ more than {MOST_UNEQUAL:g} times: {texts[int(spreads.argmax())]} hides {hidden}."
    )


def measure_deviations(few: Array) -> Array:
    """Return standard deviations; 0 for features that are constant or have two values."""
    low, high = few.min(axis=0), few.max(axis=0)
    half = np.where(low < high, 0.5 * high - 0.5 * low, np.maximum(np.abs(low), 1.0))  # no square overflows
    is_indicator = ((few == low) | (few == high)).all(axis=0)
    return np.where(is_indicator, 0.0, half * (few / half - low / half).std(axis=0))


def measure_quartiles(few: Array) -> Array:
    """Return deviations, at most those of a normal distribution with the same quartiles; 0 if these are equal."""
    lower, upper = np.percentile(few, [25, 75], axis=0)
    return np.where(lower < upper, np.minimum(measure_deviations(few), upper / 1.349 - lower / 1.349), 0.0)
