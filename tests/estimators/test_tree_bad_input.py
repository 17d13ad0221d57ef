"""Unusable input of the tree is refused by name, with what is allowed."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from ravine import (
    Hyperplane,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    NoSplitWarning,
    PathSettings,
    Split,
)
from support.simulate import two_clusters

X, _ = two_clusters(100, 3)
QUICK = {"init": "pca", "n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3, polish=False)}
QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}


def fit(n_clusters="auto", rows=X, **parameters):
    return MinimumDensityTree(n_clusters, **{**QUICK_TREE, **parameters}).fit(rows)


@pytest.fixture(scope="module")
def fitted():
    return fit()


def test_everything_but_fit_needs_a_fit():
    mdt = MinimumDensityTree()
    for use in (
        mdt.predict,
        mdt.decision_path,
        mdt.cut,
        mdt.prune,
        lambda x: mdt.merge(1, 2),
        lambda x: mdt.split(0, x),
    ):
        with pytest.raises(NotFittedError):
            use(X)


def test_other_columns_are_refused(fitted):
    for use in (fitted.predict, fitted.decision_path, lambda rows: fitted.split(1, rows)):
        with pytest.raises(ValueError, match=r"2 .*3 "):
            use(X[:, :2])
        with pytest.raises(ValueError, match=r"NaN.*feature 1.*row 7"):
            use(np.where((np.arange(100) == 7)[:, None] & (np.arange(3) == 1), np.nan, X))


# ----------------------------------------------------------------------------------------------- edits


@pytest.mark.parametrize(("node", "error"), [(99, ValueError), (-1, ValueError), (True, TypeError), (1.0, TypeError)])
def test_node_that_does_not_exist_is_refused(fitted, node, error):
    for use in (fitted.prune, lambda k: fitted.merge(k, 1), lambda k: fitted.split(k, X)):
        with pytest.raises(error, match="node"):
            use(node)


def test_split_of_an_inner_node_is_refused(fitted):
    with pytest.raises(ValueError, match=r"node 0 .*prune\(0\)"):
        fitted.split(0, X)


def test_split_needs_the_rows_of_the_fit(fitted):
    for rows in (X[:50], X[::-1]):
        with pytest.raises(ValueError, match="rows"):
            fitted.split(1, rows)


def test_split_with_a_parameter_that_does_not_exist_is_refused(fitted):
    with pytest.raises(ValueError, match="bandwith"):
        fitted.split(1, X, hyperplane__bandwith=1.0)


def test_leaf_that_cannot_be_split_is_named(fitted):
    with pytest.raises(ValueError, match="leaf 1"):
        fitted.split(1, X, hyperplane__bandwidth=100.0)


@pytest.mark.parametrize(
    "plane", [Hyperplane(np.eye(3)[0], 1e6), Hyperplane.at_infinity(np.eye(3)[0])], ids=["beyond all rows", "infinity"]
)
def test_split_with_nothing_on_one_side_is_refused(fitted, plane):
    class Far:
        def split(self, X, rows, rng):
            return Split(plane)

    with pytest.raises(ValueError, match="leaf 1"):
        fitted.split(1, X, hyperplane=Far())


def test_split_is_tested_on_request(fitted):
    edited = fitted.split(1, X, hyperplane__bandwidth=0.15, test="pooled")
    assert 0.0 <= edited.tree_.pvalue[1] <= 1.0
    assert edited.get_params(deep=False) == fitted.get_params(deep=False)
    largest = max(0.05, *edited.tree_.pvalue[edited.tree_.left >= 0])
    assert set(edited.cut(significance=largest)) == {0, 1, 2}


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (None, TypeError, "hyperplane.*None"),
        ((1, 2), TypeError, "hyperplane"),
        (Split(None, None), TypeError, "hyperplane"),
        (Split(None, 7.0), ValueError, "pvalue .*7.0"),
    ],
    ids=["None", "tuple", "no P", "P = 7"],
)
def test_invalid_answers_of_a_splitter_are_refused(answer, error, message, fitted):
    class Nonsense:
        def split(self, X, rows, rng):
            return answer

    with pytest.raises(error, match=message):
        MinimumDensityTree(2, hyperplane=Nonsense()).fit(X)
    with pytest.raises(error, match=message):
        fitted.split(1, X, hyperplane=Nonsense())


def test_too_few_rows_for_the_test_are_reported():
    with pytest.warns(NoSplitWarning, match=r"20 .*X .*19"):
        MinimumDensityTree().fit(X[:19])
