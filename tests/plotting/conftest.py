"""Fitted estimators for the displays; figures are closed after each test."""

import matplotlib
import numpy as np
import pytest

from ravine import MinimumDensityHyperplane, MinimumDensityTree
from support.plotted import QUICK, QUICK_TREE, X

matplotlib.use("Agg")


@pytest.fixture(autouse=True)
def _close_figures():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def mdh():
    return MinimumDensityHyperplane(**QUICK).fit(X)


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(7)
    return np.concatenate([rng.standard_normal((40, 3)) + c for c in ([0, 0, 0], [9, 0, 0], [0, 9, 0], [0, 9, 9])])


@pytest.fixture(scope="module")
def mdt(blobs):
    return MinimumDensityTree(4, **QUICK_TREE).fit(blobs)
