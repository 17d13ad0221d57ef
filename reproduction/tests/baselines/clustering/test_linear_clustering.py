"""The contract of scikit-learn for PDDP, DePDDP, LDAKMeans and IterativeSVR, difficult data, and refused input."""

import copy
import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine import NoSplitWarning
from ravine_paper.baselines import PDDP, DePDDP, IterativeSVR, LDAKMeans
from support.simulate import two_clusters
from support.tree_twin import have_same_groups

ESTIMATORS = {
    "PDDP": PDDP(),
    "DePDDP": DePDDP(),
    "LDAKMeans": LDAKMeans(),
    "LDAKMeans random": LDAKMeans(kmeans="k-means++", random_state=0),
    "LDAKMeans unweighted": LDAKMeans(weighted=False),
    "IterativeSVR": IterativeSVR(random_state=0),
    "IterativeSVR rbf": IterativeSVR(kernel="rbf", random_state=0),
    "IterativeSVR Nystroem": IterativeSVR(kernel="rbf", max_exact=0, n_components=20, random_state=0),
}
MORE = {
    "PDDP": PDDP(3),
    "DePDDP": DePDDP("auto"),
    "LDAKMeans": LDAKMeans(3, random_state=0),
    "IterativeSVR": IterativeSVR(3, random_state=0),
    "IterativeSVR rbf": IterativeSVR(3, kernel="rbf", random_state=0),
}
X, Y = two_clusters(120, 3, fraction=0.48)
every = pytest.mark.parametrize("estimator", ESTIMATORS.values(), ids=ESTIMATORS)
every_and_more = pytest.mark.parametrize(
    "estimator", [*ESTIMATORS.values(), *MORE.values()], ids=[*ESTIMATORS, *(f"{name} more" for name in MORE)]
)


ONE_OF_EACH = ("PDDP", "DePDDP", "LDAKMeans", "IterativeSVR")


@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
@parametrize_with_checks([ESTIMATORS[name] for name in ONE_OF_EACH], expected_failed_checks=lambda estimator: {})
def test_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
@parametrize_with_checks(
    [*(ESTIMATORS[name] for name in ESTIMATORS if name not in ONE_OF_EACH), *MORE.values()],
    expected_failed_checks=lambda estimator: {},
)
def test_other_parameters_pass_every_check_of_scikit_learn(estimator, check):
    check(estimator)


# ----------------------------------------------------------------------------------------------- results


@every
def test_two_far_clusters_are_found_and_the_smaller_is_one(estimator):
    fitted = clone(estimator).fit(X)
    assert_array_equal(fitted.labels_, Y)
    assert fitted.n_clusters_ == 2


@every
@pytest.mark.parametrize("dtype", [np.float64, np.float32, np.int64])
@pytest.mark.parametrize("order", ["C", "F"])
def test_labels_are_the_prediction_for_the_rows_of_the_fit(estimator, dtype, order):
    rows = np.asarray(10.0 * np.random.default_rng(3).standard_normal((90, 4)), dtype=dtype, order=order)
    with np.errstate(all="raise"):
        fitted = clone(estimator).fit(rows)
    assert_array_equal(fitted.labels_, fitted.predict(rows))
    assert fitted.labels_.dtype == np.intp
    if hasattr(fitted, "decision_function"):
        assert_array_equal(fitted.labels_, fitted.decision_function(rows) > 0)


@every_and_more
def test_same_random_state_same_result(estimator):
    rows = np.random.default_rng(1).standard_normal((80, 5))
    one, two = clone(estimator).fit(rows), clone(estimator).fit(rows)
    assert_array_equal(one.labels_, two.labels_)


@every
@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
def test_order_of_the_features_does_not_matter(estimator):
    rows, order = two_clusters(150, 4, seed=5, separation=5.0)[0], [2, 0, 3, 1]
    assert have_same_groups(clone(estimator).fit(rows).labels_, clone(estimator).fit(rows[:, order]).labels_)


@every
@pytest.mark.parametrize("offset", [1e6, -1e8])
def test_far_origin_changes_nothing(estimator, offset):
    shifted = np.round(X * 1024.0) / 1024.0 + offset  # so that the shift is exact
    fitted = clone(estimator).fit(shifted)
    assert_array_equal(fitted.labels_, Y)
    assert_array_equal(fitted.predict(shifted), Y)


@pytest.mark.parametrize("name", ["PDDP", "DePDDP", "LDAKMeans", "LDAKMeans unweighted"])
@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
def test_unit_changes_nothing(name, scale):
    assert_array_equal(clone(ESTIMATORS[name]).fit(X * scale).labels_, Y)


@every
def test_constant_and_repeated_features_do_no_harm(estimator):
    rows = np.hstack([X, np.full((120, 1), 7.0), X[:, :1]])
    assert_array_equal(clone(estimator).fit(rows).labels_, Y)


@every
def test_fewer_rows_than_features(estimator):
    rows, truth = two_clusters(30, 200, seed=1, separation=60.0, fraction=0.5)
    assert have_same_groups(clone(estimator).fit(rows).labels_, truth)


@every
def test_one_feature(estimator):
    rows = np.concatenate([np.linspace(0, 1, 40), np.linspace(5, 6, 41)])[:, None]
    assert_array_equal(clone(estimator).fit(rows).labels_, [1] * 40 + [0] * 41)


# ----------------------------------------------------------------------------------------------- nothing to split


@every_and_more
@pytest.mark.parametrize("rows", [np.full((20, 3), 0.1), np.full((6, 300), 1e8 / 3)], ids=["tall", "wide"])
@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
def test_equal_rows_are_one_cluster(estimator, rows):
    fitted = clone(estimator).fit(rows)
    assert_array_equal(fitted.labels_, 0)
    assert_array_equal(fitted.predict(rows), 0)
    assert fitted.n_clusters_ == 1


@every
def test_equal_rows_warn_at_the_line_of_the_call(estimator):
    with pytest.warns(NoSplitWarning, match="n_clusters=2") as caught:
        clone(estimator).fit(np.ones((20, 2)))
    assert caught[0].filename == __file__


@every
@pytest.mark.filterwarnings("error")
def test_one_cluster_can_be_requested(estimator):
    fitted = clone(estimator).set_params(n_clusters=1).fit(X)
    assert_array_equal(fitted.labels_, 0)
    assert_array_equal(fitted.predict(X), 0)


@every
@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
def test_two_rows_are_two_clusters_or_one(estimator):
    rows = np.array([[0.0, 0.0], [1.0, 2.0]])
    fitted = clone(estimator).fit(rows)
    assert fitted.n_clusters_ == (1 if isinstance(fitted, DePDDP) else 2)  # a cluster of DePDDP has at least five rows


@every
def test_repeated_rows_stay_together(estimator):
    rows = np.repeat([[0.0, 0.0], [0.0, 1.0], [9.0, 0.0], [9.0, 1.0]], [20, 15, 20, 20], axis=0)
    fitted = clone(estimator).fit(rows)
    assert have_same_groups(fitted.labels_, rows[:, 0].astype(int))


# ----------------------------------------------------------------------------------------------- use


@every_and_more
def test_copies_predict_the_same(estimator):
    fitted = clone(estimator).fit(X)
    for other in (pickle.loads(pickle.dumps(fitted)), copy.deepcopy(fitted)):
        assert_array_equal(other.predict(X), fitted.labels_)


@every
def test_fit_that_fails_leaves_the_earlier_fit(estimator):
    fitted = clone(estimator).fit(pd.DataFrame(X, columns=["a", "b", "c"]))
    before = dict(vars(fitted))
    with pytest.raises(ValueError, match="NaN in feature"):
        fitted.fit(pd.DataFrame(np.full((20, 2), np.nan), columns=["d", "e"]))
    assert vars(fitted) == before


@every
def test_bad_rows_are_located_by_name(estimator):
    bad = pd.DataFrame(X.copy(), columns=["colour", "height", "mass"])
    fitted = clone(estimator).fit(bad)
    bad.loc[7, "height"] = np.inf
    for use in (clone(estimator).fit, fitted.predict):
        with pytest.raises(ValueError, match=r"infinity.*feature 'height'.*row 7"):
            use(bad)
    with pytest.raises(NotFittedError, match="not fitted"):
        clone(estimator).predict(X)
    with pytest.raises(ValueError, match=r"2 .*3 "):
        clone(estimator).fit(X).predict(X[:, :2])


BAD = [
    (PDDP, "n_clusters", [0, -1, 2.5, None, "auto", True, [2]]),
    (DePDDP, "n_clusters", [0, -1, 2.5, None, "some", True, [2]]),
    (DePDDP, "bandwidth_scale", [0.0, -1.0, np.nan, np.inf, "a", None, True]),
    (DePDDP, "spread", ["iqr", None, 1]),
    (DePDDP, "percentile", [-0.1, 0.5, 10, np.nan, None, "a"]),
    (DePDDP, "min_cluster_size", [0, 1.5, None, True]),
    (LDAKMeans, "n_clusters", [0, -1, 2.5, None, "auto", True]),
    (LDAKMeans, "weighted", [1, None, "yes"]),
    (LDAKMeans, "kmeans", ["random", None, 3]),
    (LDAKMeans, "max_iter", [0, 1.5, None]),
    (LDAKMeans, "tol", [-1.0, np.nan, None]),
    (LDAKMeans, "n_init", [0, 1.5, None, "auto"]),
    (LDAKMeans, "ridge", [-1.0, np.nan, np.inf, None]),
    (LDAKMeans, "random_state", ["a", -1]),
    (IterativeSVR, "n_clusters", [0, 2.5, None, "auto", True]),
    (IterativeSVR, "kernel", ["poly", None, 3]),
    (IterativeSVR, "C", [0.0, -1.0, np.inf, None]),
    (IterativeSVR, "balance", [-0.1, 1.1, np.nan, None]),
    (IterativeSVR, "gamma", ["scale", 0.0, -1.0, None, np.inf]),
    (IterativeSVR, "max_exact", [-1, 1.5, None]),
    (IterativeSVR, "n_components", [0, 1.5, None]),
    (IterativeSVR, "max_iter", [0, 1.5, None]),
    (IterativeSVR, "tol", [-1.0, np.nan, None]),
    (IterativeSVR, "random_state", ["a", -1]),
]


@pytest.mark.parametrize(("kind", "name", "values"), BAD, ids=[f"{kind.__name__} {name}" for kind, name, _ in BAD])
def test_bad_parameter_is_named(kind, name, values):
    for value in values:
        with pytest.raises((ValueError, TypeError), match=f"^{name} must be"):
            kind(**{"kmeans": "k-means++"} if name == "n_init" else {}).set_params(**{name: value}).fit(X)


def test_every_parameter_is_tried():
    for kind in (PDDP, DePDDP, LDAKMeans, IterativeSVR):
        assert {name for k, name, _ in BAD if k is kind} == kind().get_params().keys()


@pytest.mark.parametrize("kind", [PDDP, DePDDP, LDAKMeans, IterativeSVR])
def test_more_clusters_than_rows_is_an_error(kind):
    with pytest.raises(ValueError, match=r"n_clusters=121.*120"):
        kind(121).fit(X)


@pytest.mark.parametrize("kind", [PDDP, DePDDP, IterativeSVR])
def test_decision_function_needs_two_clusters(kind):
    fitted = kind(3, **{"bandwidth_scale": 0.2} if kind is DePDDP else {}).fit(X)
    assert not hasattr(fitted, "decision_function")
    with pytest.raises(AttributeError, match="'decision_function'") as caught:
        fitted.decision_function(X)
    assert "two clusters" in str(caught.value.__cause__)
    assert hasattr(fitted.set_params(n_clusters=2).fit(X), "decision_function")


@pytest.mark.parametrize("estimator", [PDDP(), DePDDP(), LDAKMeans(), IterativeSVR()])
@pytest.mark.parametrize(("scale", "said"), [(1e200, "beyond"), (1e-200, "differ by less")])
def test_values_with_overflowing_squares_are_refused(estimator, scale, said):
    rows = np.random.default_rng(0).standard_normal((30, 2)) * scale
    with pytest.raises(ValueError, match=f"{said}.*standard deviations"):
        estimator.fit(rows)
