"""Sentences about a fitted estimator claim no more than the fit has tested."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ravine import MinimumDensityTree
from ravine.explain import find_suggestion
from ravine.report.findings import collect_findings
from ravine.report.narrative import write_story
from support.shape_data import draw_moons

BLOBS, _ = make_blobs([80, 80, 60], centers=[[0, 0], [7, 0], [0, 7]], random_state=0)
NORMAL = np.random.default_rng(0).normal(size=(200, 3))
TREES = {
    "curved": (draw_moons()[0], {}),
    "some tested": (BLOBS, {"max_cluster_size": 50}),
    "none shown": (NORMAL, {"max_cluster_size": 50}),
    "all tested": (BLOBS, {}),
}


@pytest.mark.parametrize("name", TREES)
@pytest.mark.parametrize("n_clusters", ["auto", "shown"])
def test_only_splits_with_a_pvalue_are_called_shown(name, n_clusters):
    X, limits = TREES[name]
    mdt = MinimumDensityTree(n_clusters, random_state=0, **limits).fit(X)
    pvalue = mdt.tree_.pvalue[mdt.tree_.left >= 0]
    n_untested = int(np.isnan(pvalue).sum())
    text = str(find_suggestion(mdt))
    assert (n_untested == 0) == (name == "all tested")
    assert ("shown by the test" in text) == (n_untested == 0)
    if n_untested:
        n_tested = len(pvalue) - n_untested
        assert f"by {len(pvalue)} splits, {n_tested or 'none'} of them tested" in text
        assert ("without the splits that fail it" in text) == (mdt.n_shown_ < mdt.n_clusters_)


def test_reports_state_how_many_splits_have_no_pvalue():
    for name in ("some tested", "none shown"):
        X, limits = TREES[name]
        mdt = MinimumDensityTree(random_state=0, **limits).fit(X)
        story = " ".join(write_story(collect_findings(mdt, X, None), "rows"))
        n_untested = int(np.isnan(mdt.tree_.pvalue[mdt.tree_.left >= 0]).sum())
        assert f"{n_untested} of {mdt.tree_.n_leaves - 1} splits have no P: they" in story
        assert "a valley at every boundary" not in story
