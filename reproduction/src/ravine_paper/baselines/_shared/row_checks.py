"""Checks of X for methods that square its values."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.estimators import validate_array

__all__ = ["check_moderate_rows"]

# Squares of the values, and of their spread, neither overflow nor vanish within these bounds.
LARGEST, SMALLEST = 1e153, 1e-153


def check_moderate_rows(estimator: Any, X: Any) -> NDArray[np.floating[Any]]:
    """Validate X for a fit as `validate_array` does, and refuse values whose squares overflow or underflow."""
    rows = validate_array(estimator, X, reset=True)
    low, high = float(rows.min()), float(rows.max())
    if max(-low, high) > LARGEST:
        raise ValueError(f"X has values beyond ±{LARGEST:g}: divide the features by their standard deviations first.")
    if 0.0 < high - low < SMALLEST:
        raise ValueError(
            f"The values of X differ by less than {SMALLEST:g}: divide the features by their standard deviations first."
        )
    return rows
