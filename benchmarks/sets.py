"""Data sets of the paper for the benchmarks."""

from __future__ import annotations

import numpy as np

from ravine.datasets import load


def load_standardised(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Load standardised features and classes of a set, from the folder RAVINE_DATA or the archives."""
    loaded = load(name).standardised()
    return loaded.data, loaded.target
