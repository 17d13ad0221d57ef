"""Methods ``plot`` return the displays of `ravine.plotting`."""

import pytest

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, PathSettings
from ravine.plotting import BoundaryDisplay, CellDisplay, HyperplaneDisplay, TreeDisplay
from support.plotted import TRUTH, X
from support.shape_data import draw_rings


def test_plot_returns_the_display(mdh, mdt, blobs):
    assert isinstance(mdh.plot(X, TRUTH, layout="overlaid"), HyperplaneDisplay)
    assert isinstance(mdt.plot(blobs), TreeDisplay)
    assert isinstance(mdt.plot(), TreeDisplay)
    assert isinstance(mdt.plot(blobs, node=0), HyperplaneDisplay)
    assert isinstance(mdt.tree_.plot(blobs), TreeDisplay)
    mdc = MinimumDensityClassifier(
        hyperplane=MinimumDensityHyperplane(init=("pc1",), alpha_max=0.3, path=PathSettings(n_alpha=2, polish=False))
    ).fit(X, TRUTH)
    assert isinstance(mdc.plot(X), HyperplaneDisplay)


def test_kind_chooses_the_display_of_a_tree():
    rows, _ = draw_rings()
    rings = MinimumDensityTree(2, random_state=0).fit(rows)
    assert isinstance(rings.plot(rows, kind="cells"), CellDisplay)
    assert isinstance(rings.plot(rows, kind="boundary"), BoundaryDisplay)
    assert "joined" in rings.plot(rows, kind="tree").ax_.get_title(loc="left")


def test_plot_without_rows_names_the_missing_X(mdh, mdt):
    with pytest.raises(TypeError, match="MinimumDensityHyperplane"):
        mdh.plot()
    with pytest.raises(TypeError, match="MinimumDensityTree"):
        mdt.plot(node=0)
