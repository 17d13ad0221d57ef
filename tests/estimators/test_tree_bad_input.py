"""Unusable input of the tree is refused by name, with what is allowed."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from ravine import Hyperplane, MinimumDensityTree, NoSplitWarning, Split, valley_test
from support.simulate import two_clusters

X, _ = two_clusters(100, 3)
QUICK = {"init": "pca", "n_init": 1, "n_alpha": 3, "polish": False, "random_state": 0}


def fit(n_clusters="auto", rows=X, **parameters):
    return MinimumDensityTree(n_clusters, **{**QUICK, **parameters}).fit(rows)


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
        with pytest.raises(NotFittedError, match="not fitted yet"):
            use(X)


def test_other_columns_are_refused(fitted):
    for use in (fitted.predict, fitted.decision_path, lambda rows: fitted.split(1, rows)):
        with pytest.raises(ValueError, match=r"2 features.*expecting 3 features"):
            use(X[:, :2])
        with pytest.raises(ValueError, match=r"X contains NaN in feature 1 \(row 7\)"):
            use(np.where((np.arange(100) == 7)[:, None] & (np.arange(3) == 1), np.nan, X))


BAD = {
    "n_clusters": ["three", None, 0, -1, True, 2.5, [2]],
    "split_next": ["deep", None, 3, ["size"]],
    "shape": ["round", None, 1],
    "refine": [1, None, "yes"],
    "min_cluster_size": [0, -1, 2.5, 1.0, 0.0, np.nan, None, True, "5"],
    "max_cluster_size": [0, -1, 2.5, 1.0, 0.0, np.nan, 4, True, "5"],
    "test": [1, None, "yes"],
    "alpha_test": [-0.1, 1.1, np.nan, "a", None, True],
    "test_method": ["halves", None],
    "n_splits": [0, 1.5, None, True],
    "splitter": [3, "pddp", {"a": 1}],
    "contamination": [0.0, 0.5, 0.9, -0.1, np.nan, "some", True, [0.1]],
    "bandwidth": ["scott", 0.0, -1.0, None, np.inf],
    "init": ["kmeans", np.ones((1, 5)), None, [[np.nan, 0.0, 0.0]]],
    "n_init": [0, 1.5],
    "alpha_min": [-0.1, 2.0, "a"],
    "alpha_max": [0.0, np.inf, None],
    "n_alpha": [0, 2.0],
    "max_iter": [0, None],
    "select": ["first", None],
    "polish": [1, "no"],
    "tol": [-1.0, None],
    "optimiser": ["newton", None],
    "use_labels": [1, None, "yes"],
    "method": ["newton", None],
    "eta": [0.0, "a"],
    "epsilon": [0.0, 1.5],
    "subsample": [1, "all", 2.5],
    "n_jobs": [0, "all", 1.5, True],
    "random_state": ["seed", -1],
    "callback": [3, "print"],
}


def test_bad_values_of_every_parameter_are_tried():
    assert BAD.keys() == MinimumDensityTree().get_params().keys()


@pytest.mark.parametrize(("name", "value"), [(name, value) for name, values in BAD.items() for value in values])
def test_bad_value_is_refused_by_name(name, value):
    with pytest.raises((ValueError, TypeError), match=rf"^{name} must "):
        MinimumDensityTree(**{"n_clusters": 2, name: value}).fit(X)


@pytest.mark.parametrize(
    ("parameters", "allowed"),
    [({"n_clusters": "three"}, "integer"), ({"n_clusters": None}, "'auto'"), ({"split_next": "deep"}, "callable")],
)
def test_message_lists_all_allowed_values(parameters, allowed):
    with pytest.raises((ValueError, TypeError), match=allowed):
        MinimumDensityTree(**parameters).fit(X)


# ----------------------------------------------------------------------------------------------- edits


@pytest.mark.parametrize(("node", "error"), [(99, ValueError), (-1, ValueError), (True, TypeError), (1.0, TypeError)])
def test_node_that_does_not_exist_is_refused(fitted, node, error):
    for use in (fitted.prune, lambda k: fitted.merge(k, 1), lambda k: fitted.split(k, X)):
        with pytest.raises(error, match=r"there is no node|node must be an integer"):
            use(node)


def test_split_of_an_inner_node_is_refused(fitted):
    with pytest.raises(ValueError, match=r"node 0 is not a leaf.*prune\(0\)"):
        fitted.split(0, X)


def test_split_needs_the_rows_of_the_fit(fitted):
    for rows in (X[:50], X[::-1]):
        with pytest.raises(ValueError, match="rows that the tree was fitted to"):
            fitted.split(1, rows)


def test_split_with_a_parameter_that_does_not_exist_is_refused(fitted):
    with pytest.raises(ValueError, match="Invalid parameter 'bandwith'"):
        fitted.split(1, X, bandwith=1.0)
    assert fitted.bandwidth == "silverman"


def test_leaf_that_cannot_be_split_is_named(fitted):
    with pytest.raises(ValueError, match="leaf 1 cannot be split"):
        fitted.split(1, X, bandwidth=100.0)


@pytest.mark.parametrize(
    "plane", [Hyperplane(np.eye(3)[0], 1e6), Hyperplane.at_infinity(np.eye(3)[0])], ids=["beyond all rows", "infinity"]
)
def test_split_with_nothing_on_one_side_is_refused(fitted, plane):
    class Far:
        def split(self, X, rows, rng):
            return Split(plane)

    with pytest.raises(ValueError, match="leaf 1 cannot be split"):
        fitted.split(1, X, splitter=Far())


def test_cut_at_a_level_names_the_splits_without_a_test(fitted):
    edited = fitted.split(1, X, bandwidth=0.15)
    with pytest.raises(ValueError, match=r"split of node 1.*not tested|node 1 .*not tested"):
        edited.cut(significance=0.05)


def test_split_is_tested_on_request(fitted):
    edited = fitted.split(1, X, bandwidth=0.15, test=True)
    assert 0.0 <= edited.tree_.pvalue[1] <= 1.0
    assert edited.get_params() == fitted.get_params()
    largest = max(0.05, *edited.tree_.pvalue[edited.tree_.left >= 0])
    assert set(edited.cut(significance=largest)) == {0, 1, 2}
    if largest < 1.0:
        with pytest.raises(ValueError, match=r"above alpha_test=0.05.*larger alpha_test"):
            edited.cut(significance=1.0)


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (None, TypeError, "splitter must return an object with hyperplane and pvalue, got None"),
        ((1, 2), TypeError, "splitter must return an object"),
        (Split(None, None), TypeError, "splitter must return an object"),
        (Split(None, 7.0), ValueError, "pvalue that is NaN or in .0, 1., got 7.0"),
    ],
    ids=["None", "tuple", "no P", "P = 7"],
)
def test_invalid_answers_of_a_splitter_are_refused(answer, error, message, fitted):
    class Nonsense:
        def split(self, X, rows, rng):
            return answer

    with pytest.raises(error, match=message):
        MinimumDensityTree(2, splitter=Nonsense(), split_next="size").fit(X)
    with pytest.raises(error, match=message):
        fitted.split(1, X, splitter=Nonsense())


def test_too_few_rows_for_the_test_are_reported():
    with pytest.warns(NoSplitWarning, match="the pooled test needs at least 20 rows, but X has 19"):
        MinimumDensityTree().fit(X[:19])


def test_valley_test_refuses_the_names_of_other_parameters():
    with pytest.raises(TypeError, match=r"valley_test has no parameter test_method: use method='exact'"):
        valley_test(X, test_method="exact")


def test_callable_can_order_by_the_cut():
    mdt = MinimumDensityTree(3, split_next=lambda candidate: -candidate.cut, random_state=0)
    assert np.isfinite(mdt.fit(X).tree_.relative_depth[0])
