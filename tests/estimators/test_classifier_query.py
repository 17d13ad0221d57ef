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
UNLABELLED = np.flatnonzero(Y < 0)


def ask(n, strategy="diverse", model=MODEL, rows=X):
    """Return the indices of the rows that are chosen among those without a label."""
    return UNLABELLED[model.query(rows[UNLABELLED], n, strategy=strategy)]


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_rows_are_distinct_and_unlabelled(strategy):
    chosen = ask(12, strategy)
    assert len(set(chosen.tolist())) == 12
    assert (Y[chosen] < 0).all()
    assert_array_equal(ask(12, strategy), chosen)


def test_uncertain_rows_are_those_nearest_to_the_hyperplane():
    distances = np.where(Y < 0, np.abs(MODEL.decision_function(X)), np.inf)
    assert_array_equal(ask(8, "uncertainty"), np.argsort(distances, kind="stable")[:8])
    assert ask(1)[0] == np.argmin(distances)


def test_diverse_rows_are_farther_from_each_other():
    def spread(strategy):
        rows = X[ask(8, strategy)]
        distances = np.linalg.norm(rows[:, None] - rows, axis=2)
        return distances[np.triu_indices(8, 1)].min()

    assert spread("diverse") > spread("uncertainty")


def test_dense_rows_have_more_neighbours():
    def count(strategy):
        rows = X[ask(8, strategy)]
        return (np.linalg.norm(rows[:, None] - X, axis=2) < 1.0).sum()

    assert count("density") > count("uncertainty")


def test_rows_that_change_more_are_farther_from_the_mean():
    lengths = [np.linalg.norm(X[ask(8, s)] - X.mean(axis=0), axis=1).mean() for s in STRATEGIES[1:3]]
    assert lengths[1] > lengths[0]


@pytest.mark.parametrize("container", [sp.csr_array, lambda rows: RowBlocks([rows[:90], rows[90:]])])
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_container_of_the_rows_does_not_matter(container, strategy):
    assert_array_equal(MODEL.query(container(X), 5, strategy=strategy), MODEL.query(X, 5, strategy=strategy))


def test_several_classes_have_rows_between_them():
    rng = np.random.default_rng(0)
    truth = np.arange(150) % 3
    rows = rng.standard_normal((150, 2)) + 3.0 * np.array([[0, 0], [1, 0], [0, 1]])[truth]
    model = MinimumDensityClassifier().fit(rows, np.where(np.arange(150) < 30, truth, -1))
    p = np.sort(model.predict_proba(rows[model.query(rows, 5, strategy="uncertainty")]), axis=1)
    assert (p[:, -1] - p[:, -2]).max() < 0.3


@pytest.mark.parametrize(
    ("n", "strategy", "message"),
    [
        (181, "diverse", "181.*180"),
        (0, "diverse", "n must"),
        (2.5, "diverse", "n must"),
        (3, "best", "strategy .*'diverse', 'uncertainty'"),
    ],
)
def test_impossible_query_is_refused(n, strategy, message):
    with pytest.raises((ValueError, TypeError), match=message):
        ask(n, strategy)


def test_copy_answers_as_the_original():
    assert_array_equal(copy.deepcopy(MODEL).query(X, 3), MODEL.query(X, 3))


def test_query_needs_a_fit():
    with pytest.raises(NotFittedError):
        MinimumDensityClassifier().query(X, 3)


@pytest.mark.parametrize("strategy", ["diverse", "uncertainty", "change", "density"])
@pytest.mark.parametrize("scale", [1e-300, 1e155])
@pytest.mark.filterwarnings("error")
def test_rows_of_any_scale_give_the_same_choice(strategy, scale):
    rng = np.random.default_rng(0)
    rows, labels = rng.normal(size=(120, 3)), np.full(120, -1)
    labels[:8] = np.arange(8) % 2
    rows[:8:2] += 2.0
    plain, scaled = (
        MinimumDensityClassifier().fit(rows * factor, labels).query(rows[8:] * factor, 6, strategy=strategy)
        for factor in (1.0, scale)
    )
    assert_array_equal(plain, scaled)


def simulate_species(seed, n=300):
    """Three species with gaps along correlated measurements, and one label of each."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 3
    X = rng.standard_normal((n, 4)) @ (0.5 * np.eye(4) + 0.5)
    X[:, 1:3] += 5.0 * (truth[:, None] == [1, 2])
    labelled = np.concatenate([rng.choice(np.flatnonzero(truth == k), 1) for k in range(3)])
    return (X - X.mean(axis=0)) / X.std(axis=0), truth, labelled


@pytest.mark.parametrize("seed", range(10))
def test_labels_that_are_asked_for_lose_no_accuracy(seed):
    X, truth, labelled = simulate_species(seed)
    y = np.full(len(X), -1)
    y[labelled] = truth[labelled]
    accuracies = []
    for _ in range(8):
        model = MinimumDensityClassifier().fit(X, y)
        accuracies.append(np.mean(model.predict(X) == truth))
        unlabelled = np.flatnonzero(y == -1)
        (chosen,) = unlabelled[model.query(X[unlabelled], 1)]
        y[chosen] = truth[chosen]
    assert np.diff(accuracies).min() > -0.02
    assert accuracies[-1] > 0.98
