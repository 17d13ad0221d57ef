"""Constructor parameters: few, declared once, refused by name, and reached through the estimators that contain them."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

import ravine
from ravine import (
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    PathSettings,
    minimum_density_hyperplane,
    paper_settings,
    valley_test,
)
from support.simulate import two_clusters

X, TRUTH = two_clusters(100, 3)
Y = np.where(np.arange(100) < 20, TRUTH, -1)
ESTIMATORS = [MinimumDensityHyperplane, MinimumDensityTree, MinimumDensityClassifier]

BAD_PATH = {
    "alpha_min": [1e3, -0.1, None, "a"],
    "n_alpha": [0, 2.0, None, True, 10**7],
    "max_iter": [0, 2.0, None],
    "select": ["first", None, 1],
    "polish": ["no", None, 1],
    "tol": [-1e-9, np.nan, "small", None, 10**400],
    "optimiser": ["newton", None, 1],
    "eta": [0, -0.1, 2.0, np.nan, None, "a"],
    "epsilon": [0, 1.1, -1, np.nan, None],
}
BAD_HYPERPLANE = {
    "bandwidth": ["scott", None, 0.0, -1, np.nan, np.inf, 1e-300, *[lambda n, s, h=h: h for h in (-1.0, 0, "1", None)]],
    "init": ["kmeans", None, 3, np.ones((2, 2)), np.ones((1, 2, 3)), np.empty((0, 3)), [[1.0, np.nan, 0.0]], [[1.0]]],
    "n_init": [0, -3, 1.5, "2", None, True],
    "alpha_max": [0, -1.0, np.nan, np.inf, "1", None, True, 1e300],
    "subsample": ["all", 1, 0, -5, 0.5, True],
    "path": ["long", 3, {"n_alpha": 2}, MinimumDensityHyperplane()],
    "test": [True, "halves", 1],
    "n_splits": [0, 1.5, None, True],
    "callback": [1, "print"],
}
BAD_CLUSTERER = {
    "contamination": [0.0, 0.5, -0.1, np.nan, "some", True, [0.1]],
    "n_jobs": [0, 1.5, "all", True],
    "random_state": ["seed", -1, 1.5],
}
BAD_TREE = {
    "n_clusters": ["three", None, 0, -1, True, 2.5, [2]],
    "hyperplane": [3, "pddp", {"a": 1}, PathSettings(), MinimumDensityTree()],
    "min_cluster_size": [0, -1, 2.5, 1.0, 0.0, np.nan, None, True, "5"],
    "max_cluster_size": [0, -1, 2.5, 1.0, 0.0, np.nan, 4, True, "5"],
    "alpha": [-0.1, 1.1, np.nan, "a", None, True],
    "callback": [3, "print"],
    **BAD_CLUSTERER,
}
BAD_CLASSIFIER = {
    "hyperplane": [3, "svm", PathSettings(), MinimumDensityTree()],
    "method": ["safe", None],
    "C": [0.0, -1, np.nan, None, "best"],
    "density_weight": [-1, np.inf, None],
    "bandwidth_factor": [0.0, -1, np.nan, "1", 1e300],
    "gamma": [0.0, -1, None, "1", [], (1.0, 0.1), (0.1, 0.1), (0.1, None), (0.0, 1.0)],
    "start_C": [0.0, -1, np.inf, None],
    "n_rounds": [-1, 1.5, None, True],
    "voting": ["loud", None],
    "n_jobs": [0, 1.5, "all"],
    "random_state": ["seed", -1],
}
BAD_LABEL_STARTS = ["kmeans", "pc0", "pc", "pc99", None, (), 3, ("svm", "x"), ("svm", 3), np.ones((2, 2))]


def pairs(bad):
    return [(name, value) for name, values in bad.items() for value in values]


def fit(estimator):
    return estimator.fit(X, Y) if isinstance(estimator, MinimumDensityClassifier) else estimator.fit(X)


def assert_refused(estimator, name):
    with pytest.raises((ValueError, TypeError), match=rf"\b{name}\b"):
        fit(estimator)
    assert not hasattr(estimator, "n_features_in_")


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_have_at_most_twelve_parameters(estimator):
    assert len(inspect.signature(estimator).parameters) <= 12


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_estimators_have_at_most_two_classes_of_the_library(estimator):
    assert len([cls for cls in estimator.__mro__ if cls.__module__.startswith("ravine")]) <= 2


def test_bad_values_of_every_parameter_are_tried():
    assert BAD_PATH.keys() == PathSettings().get_params().keys()
    assert (BAD_HYPERPLANE | BAD_CLUSTERER).keys() == MinimumDensityHyperplane().get_params(deep=False).keys()
    assert BAD_TREE.keys() == MinimumDensityTree().get_params(deep=False).keys()
    assert BAD_CLASSIFIER.keys() == MinimumDensityClassifier().get_params(deep=False).keys()


@pytest.mark.parametrize(("name", "value"), pairs(BAD_HYPERPLANE | BAD_CLUSTERER))
def test_bad_parameter_of_the_hyperplane_is_refused(name, value):
    assert_refused(MinimumDensityHyperplane(**{name: value}), name)


@pytest.mark.parametrize(("name", "value"), pairs(BAD_TREE))
def test_bad_parameter_of_the_tree_is_refused(name, value):
    assert_refused(MinimumDensityTree(**{"n_clusters": 2, name: value}), name)


@pytest.mark.parametrize(("name", "value"), pairs(BAD_CLASSIFIER))
def test_bad_parameter_of_the_classifier_is_refused(name, value):
    assert_refused(MinimumDensityClassifier(**{"method": "paper", name: value}), name)


@pytest.mark.parametrize(("name", "value"), pairs(BAD_PATH))
def test_bad_parameter_of_the_path_is_refused_by_every_estimator(name, value):
    plane = MinimumDensityHyperplane(path=PathSettings(**{name: value}))
    paper = MinimumDensityClassifier(hyperplane=plane, method="paper")
    for estimator in (plane, MinimumDensityTree(2, hyperplane=plane), paper):
        assert_refused(clone(estimator), name)


@pytest.mark.parametrize(("name", "values"), BAD_HYPERPLANE.items())
def test_bad_parameter_of_a_part_is_refused(name, values):
    plane = MinimumDensityHyperplane(**{name: values[0]})
    if name != "callback":  # a tree has its own
        assert_refused(MinimumDensityTree(2, hyperplane=plane), name)
    assert_refused(MinimumDensityClassifier(hyperplane=plane), name)


@pytest.mark.parametrize("value", BAD_LABEL_STARTS, ids=repr)
def test_bad_start_of_a_classifier_is_refused(value):
    plane = MinimumDensityHyperplane(init=value)
    assert_refused(MinimumDensityClassifier(hyperplane=plane, method="paper"), "init")


def test_message_lists_the_allowed_values():
    with pytest.raises(ValueError, match=r"'deepest'.*'first'|'last'.*'first'"):
        fit(MinimumDensityHyperplane(path=PathSettings(select="first")))
    with pytest.raises(ValueError, match=r"1, inf"):
        fit(MinimumDensityHyperplane(n_init=0))
    with pytest.raises(ValueError, match="callable"):
        fit(MinimumDensityTree(2, callback="deep"))


def test_unknown_parameter_or_task_is_refused_by_name():
    for function in (minimum_density_hyperplane, valley_test):
        with pytest.raises(TypeError, match="alpha_mux"):
            function(X, alpha_mux=1.0)
        with pytest.raises(TypeError, match="hyperplane"):
            function(X, hyperplane=3)
    with pytest.raises(ValueError, match=r"task .*regression"):
        paper_settings("regression")


# ----------------------------------------------------------------------------------------------- nested parameters


def test_nested_parameters_are_reached_by_their_names():
    plane = MinimumDensityHyperplane(path=PathSettings())
    for estimator in (MinimumDensityTree(hyperplane=plane), MinimumDensityClassifier(hyperplane=plane)):
        other = clone(estimator).set_params(hyperplane__bandwidth=0.7, hyperplane__path__n_alpha=3)
        assert other.get_params()["hyperplane__path__n_alpha"] == 3
        assert (other.hyperplane.bandwidth, other.hyperplane.path.n_alpha) == (0.7, 3)
        assert (plane.bandwidth, plane.path.n_alpha) == ("silverman", 12)


@pytest.mark.parametrize("estimator", [MinimumDensityTree, MinimumDensityClassifier])
def test_nested_parameters_reach_the_default_hyperplane(estimator):
    other = clone(estimator()).set_params(hyperplane__bandwidth=0.7, hyperplane__path__n_alpha=3)
    assert (other.hyperplane.bandwidth, other.hyperplane.path.n_alpha) == (0.7, 3)
    assert MinimumDensityHyperplane().set_params(path__n_alpha=5).path.n_alpha == 5
    with pytest.raises(ValueError, match="bandwith"):
        estimator().set_params(hyperplane__bandwith=0.7)
    plane = MinimumDensityHyperplane()
    assert estimator().set_params(hyperplane=plane, hyperplane__n_init=2).hyperplane is plane


def test_nested_parameters_keep_the_defaults_of_the_method():
    changed = MinimumDensityClassifier(method="paper").set_params(hyperplane__bandwidth=0.7)
    assert (changed.hyperplane.alpha_max, changed.hyperplane.path.n_alpha) == (0.9, 20)


@pytest.mark.parametrize("options", [{"test": "x"}, {"test": True}, {"n_clusters": 3}, {"callback": print}])
def test_split_refuses_what_it_does_not_use(options):
    tree = MinimumDensityTree(2, random_state=0).fit(X)
    with pytest.raises((TypeError, ValueError), match=next(iter(options))):
        tree.split(tree.tree_.leaves()[0], X, **options)


@pytest.mark.parametrize("reference", [X[:, :1], np.full_like(X, np.nan), "rows.csv"])
def test_a_bad_reference_is_named(reference):
    with pytest.raises((TypeError, ValueError), match="reference"):
        MinimumDensityTree(2, random_state=0).fit(X).score_outliers(X, reference=reference)


def test_weights_of_one_may_be_tested():
    weighted = MinimumDensityHyperplane(test="pooled", random_state=0).fit(X, sample_weight=np.ones(len(X)))
    assert weighted.pvalue_ == MinimumDensityHyperplane(test="pooled", random_state=0).fit(X).pvalue_


@pytest.mark.parametrize(
    ("estimator", "y", "scoring"),
    [
        (MinimumDensityTree(2, hyperplane=MinimumDensityHyperplane()), None, "density"),
        (MinimumDensityClassifier(), TRUTH, None),
    ],
)
def test_grid_search_reaches_the_bandwidth(estimator, y, scoring):
    scoring = None if scoring is None else lambda model, rows, y=None: -float(model.tree_.bandwidth[0])
    grid = {"hyperplane__bandwidth": [0.5, 1.5]}
    search = GridSearchCV(estimator, grid, cv=2, scoring=scoring, error_score="raise").fit(X, y)
    assert search.best_params_["hyperplane__bandwidth"] in (0.5, 1.5)
    if scoring is not None:
        assert search.best_estimator_.tree_.bandwidth[0] == 0.5


def test_fit_does_not_change_its_parts():
    plane = MinimumDensityHyperplane(path=PathSettings(n_alpha=3))
    for estimator in (MinimumDensityTree(2, hyperplane=plane), MinimumDensityClassifier(hyperplane=plane)):
        fit(estimator)
        assert vars(plane).keys() == plane.get_params(deep=False).keys()


def test_default_path_is_that_of_path_settings():
    one, other = (MinimumDensityHyperplane(path=path, random_state=0).fit(X) for path in (None, PathSettings()))
    np.testing.assert_array_equal(one.coef_, other.coef_)


def test_functions_do_not_fit_the_estimator_that_is_given():
    plane = MinimumDensityHyperplane(n_init=2, random_state=3)
    found = minimum_density_hyperplane(X, hyperplane=plane)
    np.testing.assert_array_equal(found.normal, clone(plane).fit(X).hyperplane_.normal)
    assert ravine.valley_test(X, hyperplane=plane).pvalue == valley_test(X, hyperplane=plane, random_state=3).pvalue
    assert not hasattr(plane, "hyperplane_")
