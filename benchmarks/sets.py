"""The paper's data sets as the benchmarks want them."""

from __future__ import annotations

import numpy as np

from ravine.datasets import load


def standardised(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Standardised features and classes of a set, from the folder named by RAVINE_DATA or the archives."""
    loaded = load(name).standardised()
    return loaded.data, loaded.target
