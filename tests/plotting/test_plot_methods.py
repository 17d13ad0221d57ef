"""Methods ``plot`` return the displays of `ravine.plotting`."""

import pytest

from ravine import (
    MinimumDensityClassifier,
)
from ravine.plotting import HyperplaneDisplay, TreeDisplay
from support.plotted import TRUTH, X


def test_plot_returns_the_display(mdh, mdt, blobs):
    assert isinstance(mdh.plot(X, TRUTH, layout="overlaid"), HyperplaneDisplay)
    assert isinstance(mdt.plot(blobs), TreeDisplay)
    assert isinstance(mdt.plot(), TreeDisplay)
    assert isinstance(mdt.plot(blobs, node=0), HyperplaneDisplay)
    assert isinstance(mdt.tree_.plot(blobs), TreeDisplay)
    mdc = MinimumDensityClassifier(init=("pc1",), alpha_max=0.3, n_alpha=2, polish=False).fit(X, TRUTH)
    assert isinstance(mdc.plot(X), HyperplaneDisplay)


def test_plot_without_rows_names_the_missing_X(mdh, mdt):
    with pytest.raises(TypeError, match="MinimumDensityHyperplane does not keep the rows of its fit"):
        mdh.plot()
    with pytest.raises(TypeError, match="MinimumDensityTree does not keep the rows of its fit"):
        mdt.plot(node=0)
