"""Rows that the classifier asks to be labelled."""

import copy

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_array_equal
from sklearn.exceptions import NotFittedError

from ravine import MinimumDensityClassifier, RowBlocks
from ravine.classes.query import STRATEGIES
from support.simulate import two_clusters

X, TRUTH = two_clusters(200, 3, separation=3.0)
Y = np.where(np.arange(200) < 20, TRUTH, -1)
MODEL = MinimumDensityClassifier().fit(X, Y)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_are_distinct_and_unlabelled(strategy):
    chosen = MODEL.query(12, strategy=strategy)
    assert len(set(chosen.tolist())) == 12
    assert (Y[chosen] < 0).all()
    assert_array_equal(MODEL.query(12, strategy=strategy), chosen)


def test_uncertain_rows_are_those_nearest_to_the_hyperplane():
    distances = np.where(Y < 0, np.abs(MODEL.decision_function(X)), np.inf)
    assert_array_equal(MODEL.query(8, strategy="uncertainty"), np.argsort(distances, kind="stable")[:8])
    assert MODEL.query(1)[0] == np.argmin(distances)


def test_diverse_rows_are_farther_from_each_other():
    def spread(strategy):
        rows = X[MODEL.query(8, strategy=strategy)]
        distances = np.linalg.norm(rows[:, None] - rows, axis=2)
        return distances[np.triu_indices(8, 1)].min()

    assert spread("diverse") > spread("uncertainty")


def test_dense_rows_have_more_neighbours():
    def count(strategy):
        rows = X[MODEL.query(8, strategy=strategy)]
        return (np.linalg.norm(rows[:, None] - X, axis=2) < 1.0).sum()

    assert count("density") > count("uncertainty")


def test_rows_that_change_more_are_farther_from_the_mean():
    lengths = [np.linalg.norm(X[MODEL.query(8, strategy=s)] - X.mean(axis=0), axis=1).mean() for s in STRATEGIES[1:3]]
    assert lengths[1] > lengths[0]


@pytest.mark.parametrize("container", [sp.csr_array, lambda rows: RowBlocks([rows[:90], rows[90:]])])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_container_of_the_rows_does_not_matter(container, strategy):
    other = MinimumDensityClassifier().fit(container(X), Y)
    assert_array_equal(other.query(5, strategy=strategy), MODEL.query(5, strategy=strategy))


def test_other_rows_may_be_given():
    chosen = MODEL.query(3, X[Y < 0], strategy="uncertainty")
    assert_array_equal(np.flatnonzero(Y < 0)[chosen], MODEL.query(3, strategy="uncertainty"))


def test_several_classes_have_rows_between_them():
    rng = np.random.default_rng(0)
    truth = np.arange(150) % 3
    rows = rng.standard_normal((150, 2)) + 3.0 * np.array([[0, 0], [1, 0], [0, 1]])[truth]
    model = MinimumDensityClassifier().fit(rows, np.where(np.arange(150) < 30, truth, -1))
    p = np.sort(model.predict_proba(rows[model.query(5, strategy="uncertainty")]), axis=1)
    assert (p[:, -1] - p[:, -2]).max() < 0.3


@pytest.mark.parametrize(
    ("n", "strategy", "message"),
    [
        (181, "diverse", "n is 181, but there are only 180 unlabelled rows"),
        (0, "diverse", "n must be an integer >= 1"),
        (2.5, "diverse", "n must be an integer"),
        (3, "best", "strategy must be one of 'diverse', 'uncertainty'"),
    ],
)
def test_impossible_query_is_refused(n, strategy, message):
    with pytest.raises((ValueError, TypeError), match=message):
        MODEL.query(n, strategy=strategy)


def test_copy_does_not_have_the_rows_and_says_so():
    with pytest.raises(ValueError, match="does not have the rows of its fit: pass the unlabelled rows as X"):
        copy.deepcopy(MODEL).query(3)
    assert_array_equal(copy.deepcopy(MODEL).query(3, X), MODEL.query(3, X))


def test_query_needs_a_fit():
    with pytest.raises(NotFittedError):
        MinimumDensityClassifier().query(3)


@pytest.mark.parametrize("strategy", ["diverse", "uncertainty", "change", "density"])
@pytest.mark.parametrize("scale", [1e-300, 1e155])
@pytest.mark.filterwarnings("error")
def test_rows_of_any_scale_give_the_same_choice(strategy, scale):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(120, 3)), np.full(120, -1)
    labels[:8] = np.arange(8) % 2
    rows[:8:2] += 2.0
    plain, scaled = (MinimumDensityClassifier().fit(rows * factor, labels).query(6, strategy=strategy)
                     for factor in (1.0, scale))  # fmt: skip
    assert_array_equal(plain, scaled)


def test_rows_without_weight_are_not_chosen():
    rng = np.random.default_rng(0)
    rows, labels, weights = rng.normal(size=(60, 2)), np.full(60, -1), np.ones(60)
    labels[:6], weights[30:] = np.arange(6) % 2, 0.0
    chosen = MinimumDensityClassifier().fit(rows, labels, weights).query(24)
    assert sorted(chosen.tolist()) == list(range(6, 30))
