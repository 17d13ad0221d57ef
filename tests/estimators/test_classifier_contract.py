"""The contract of the classifier as a scikit-learn estimator."""

import copy
import pickle
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.multiclass import OneVsRestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import assert_allclose_dense_sparse, parametrize_with_checks

from ravine import (
    Hyperplane,
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    PathSettings,
    PathStep,
    paper_settings,
)
from ravine.search.label_fit import _fit_linear_svm
from support.simulate import orthogonal, two_clusters

QUICK = {"gamma": 1.0}
SHORT = MinimumDensityHyperplane(
    init=("pc1", "pc2", "svm"), alpha_max=0.9, subsample=None, path=PathSettings(n_alpha=2, max_iter=5, polish=False)
)
VARIANTS = {
    "defaults": {},
    "paper": paper_settings("classification"),
    "hard votes": {"n_rounds": 0, "voting": "hard"},
}
# The same ways to choose, with few starts and few values of alpha: the contract does not depend on how many.
SHORT_VARIANTS = {
    "defaults": {"gamma": (0.1, 1.0)},
    "paper": {**paper_settings("classification"), "hyperplane": SHORT},
    "hard votes": {**QUICK, "n_rounds": 0, "voting": "hard"},
}


def few_labels(truth, of_each=5):
    """-1 but for the first rows of each class."""
    y = np.full(len(truth), -1)
    for c in np.unique(truth):
        y[np.flatnonzero(truth == c)[:of_each]] = c
    return y


def three_clusters(n=120, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.permutation(n) % 3
    return rng.standard_normal((n, 2)) + np.array([[0.0, 0.0], [6.0, 0.0], [0.0, 6.0]])[truth], truth


X, TRUTH = two_clusters(120, 3)
Y = few_labels(TRUTH)
X3, TRUTH3 = three_clusters()
Y3 = few_labels(TRUTH3)
PROBLEMS = {"two classes": (X, Y, TRUTH), "three classes": (X3, Y3, TRUTH3)}


def fit(rows=X, y=Y, weights=None, **parameters):
    return MinimumDensityClassifier(random_state=0, **parameters).fit(rows, y, sample_weight=weights)


@pytest.fixture(params=PROBLEMS.values(), ids=PROBLEMS, scope="module")
def problem(request):
    return request.param


@pytest.fixture(scope="module")
def two():
    return fit()


@pytest.fixture(scope="module")
def three():
    return fit(X3, Y3)


# ----------------------------------------------------------------------------------------------- scikit-learn


@pytest.mark.filterwarnings("ignore:y contains only -1")
@parametrize_with_checks(
    [MinimumDensityClassifier(**parameters) for parameters in SHORT_VARIANTS.values()],
    expected_failed_checks=lambda estimator: {},
)
def test_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:y contains only -1")
@parametrize_with_checks(
    [MinimumDensityClassifier(**parameters) for parameters in VARIANTS.values()],
    expected_failed_checks=lambda estimator: {},
)
def test_full_search_passes_every_check_of_scikit_learn(monkeypatch, estimator, check):
    if estimator.method == "paper" and "sample_weight_equivalence" in check.func.__name__:
        # The paper's settings end each of 60 stages before it has converged, so that rounding errors grow on the way:
        # weights and repetitions give probabilities that differ by 1e-8 (relative: 2e-7; the check allows 1e-7).
        close = partial(assert_allclose_dense_sparse, rtol=1e-5)
        monkeypatch.setattr("sklearn.utils.estimator_checks.assert_allclose_dense_sparse", close)
    check(estimator)


def test_cross_validation_and_search_take_unlabelled_rows():
    y = np.where(np.arange(120) % 3 == 0, TRUTH, -1)
    assert_array_equal(cross_val_score(MinimumDensityClassifier(), X, y, cv=3, error_score="raise"), 1.0)
    grid = {"minimumdensityclassifier__bandwidth_factor": [0.5, 1.0]}
    pipeline = make_pipeline(StandardScaler(), MinimumDensityClassifier(**QUICK))
    search = GridSearchCV(pipeline, grid, cv=2, error_score="raise").fit(X, y)
    assert search.best_score_ == 1.0
    assert_array_equal(search.predict(X), TRUTH)


def test_class_without_labels_is_never_predicted():
    order = np.argsort(TRUTH3, kind="stable")
    scores = cross_val_score(
        MinimumDensityClassifier(**QUICK), X3[order], TRUTH3[order], cv=KFold(3), error_score="raise"
    )
    assert_array_equal(scores, 0.0)


def test_one_against_the_rest_works():
    assert OneVsRestClassifier(MinimumDensityClassifier(**QUICK)).fit(X3, TRUTH3).score(X3, TRUTH3) > 0.95


def test_weights_are_routed_through_a_pipeline():
    weights = np.random.default_rng(0).integers(1, 4, len(X)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=False),
            MinimumDensityClassifier().set_fit_request(sample_weight=True),
        ).fit(X, Y, sample_weight=weights)
        scaled = StandardScaler().fit_transform(X)
        assert_array_equal(pipeline[-1].coef_, fit(scaled, weights=weights).coef_)
        assert np.abs(pipeline[-1].coef_ - fit(scaled).coef_).max() > 1e-6


def test_parameters_are_kept_as_given_and_cloned():
    parameters = MinimumDensityClassifier().get_params() | {"gamma": [0.1, 1.0], "n_jobs": 2}
    classifier = MinimumDensityClassifier(**parameters).fit(X, Y)
    assert all(classifier.get_params()[name] is value for name, value in parameters.items())
    assert clone(classifier).get_params() == parameters
    assert not hasattr(clone(classifier), "classes_")


@pytest.mark.parametrize("duplicate", [copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_predict_the_same(problem, duplicate):
    rows, y, _ = problem
    original = fit(rows, y, **QUICK)
    again = duplicate(original)
    assert_array_equal(again.predict_proba(rows), original.predict_proba(rows))
    assert_array_equal(again.transduction_, original.transduction_)
    assert list(again.hyperplanes_) == list(original.hyperplanes_)


# ----------------------------------------------------------------------------------------------- answers


@pytest.mark.parametrize("parameters", VARIANTS.values(), ids=VARIANTS)
def test_few_labels_are_enough_where_clusters_are_classes(problem, parameters):
    rows, y, truth = problem
    assert np.mean(fit(rows, y, **parameters).transduction_ == truth) >= 0.98


@pytest.mark.parametrize("parameters", VARIANTS.values(), ids=VARIANTS)
def test_prediction_has_the_largest_decision_and_probability(problem, parameters):
    rows, y, _ = problem
    model = fit(rows, y, **parameters)
    grid = np.random.default_rng(1).uniform(-30.0, 30.0, (5000, rows.shape[1]))
    decision, probabilities = model.decision_function(grid), model.predict_proba(grid)
    largest = (decision > 0).astype(int) if decision.ndim == 1 else decision.argmax(axis=1)
    assert_array_equal(model.predict(grid), model.classes_[largest])
    assert_array_equal(model.predict(grid), model.classes_[probabilities.argmax(axis=1)])
    assert_allclose(probabilities.sum(axis=1), 1.0, rtol=1e-12)
    assert probabilities.min() >= 0.0


def test_attributes_of_two_classes_describe_one_hyperplane(two):
    plane = two.hyperplane_
    assert isinstance(plane, Hyperplane)
    assert list(two.hyperplanes_) == [(0, 1)]
    assert two.hyperplanes_[0, 1] is plane
    assert_array_equal(two.coef_, [plane.normal])
    assert_array_equal(two.intercept_, [-plane.offset])
    assert_allclose(two.decision_function(X), X @ two.coef_[0] + two.intercept_[0], atol=1e-12)
    assert two.decision_function(X)[TRUTH == 1].min() > 0 > two.decision_function(X)[TRUTH == 0].max()


def test_attributes_of_three_classes_describe_each_pair(three):
    assert list(three.hyperplanes_) == [(0, 1), (0, 2), (1, 2)]
    assert not hasattr(three, "hyperplane_")
    assert three.coef_.shape == (3, 2)
    for (a, b), plane in three.hyperplanes_.items():
        assert plane.distance(X3[b == TRUTH3]).mean() > 0 > plane.distance(X3[a == TRUTH3]).mean()


@pytest.mark.parametrize("missing", [-1, np.nan, None])
def test_transduction_keeps_wrong_labels(missing):
    y = np.where(Y < 0, missing, Y) if missing is not None else np.where(Y < 0, None, Y)
    wrong = np.flatnonzero(Y == 0)[0]
    y[wrong] = 1
    model = fit(y=y)
    assert model.transduction_[wrong] == 1
    assert model.predict(X)[wrong] == 0
    assert_array_equal(model.transduction_[Y < 0], model.predict(X)[Y < 0])


@pytest.mark.parametrize("sparse", [False, True])
def test_labels_that_mean_nothing_give_no_certainty(sparse):
    """With fewer labels than columns any labels can be separated: those left out tell that nothing was learnt."""
    certainty = np.mean([_certainty_of_random_labels(sparse, 60, seed=seed) for seed in range(3)])
    assert certainty < 0.82


def test_many_labels_that_mean_nothing_give_no_certainty(unstored):
    """More labels than features, of which there are too many to store the covariance."""
    assert _certainty_of_random_labels(True, 220, n=300, d=201) < 0.75


@pytest.mark.slow
def test_a_thousand_labels_that_mean_nothing_give_no_certainty():
    assert _certainty_of_random_labels(True, 1100, n=1500, d=1001) < 0.75


def _certainty_of_random_labels(sparse, n_labels, n=400, d=1500, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random_array((n, d), density=0.05, rng=rng, format="csr") if sparse else rng.standard_normal((n, 120))
    y = np.where(np.arange(n) < n_labels, rng.integers(0, 2, n), -1)
    p = MinimumDensityClassifier(random_state=0).fit(X, y).predict_proba(X[n_labels:])
    return p.max(axis=1).mean()


def test_probabilities_of_many_labels_are_calibrated():
    """Where classes overlap, the mean probability on the side of a class is its share there."""
    rows, truth = two_clusters(600, 2, separation=2.0, fraction=0.5)
    p = fit(rows, truth, **QUICK).predict_proba(rows)
    sure = p.max(axis=1)
    right = p.argmax(axis=1) == truth
    assert abs(sure.mean() - right.mean()) < 0.03
    assert sure[right].mean() > sure[~right].mean() + 0.05


def test_score_ignores_unlabelled_rows_and_weighs_the_others(two):
    y = np.where(Y < 0, -1, 1 - Y)  # all wrong
    y[Y < 0] = np.where(np.arange((Y < 0).sum()) < 30, TRUTH[Y < 0], -1)
    assert two.score(X, y) == 30 / 40
    assert two.score(X, np.where(y < 0, np.nan, y)) == 30 / 40
    assert two.score(X, y, sample_weight=np.where(Y < 0, 2.0, 1.0)) == 60 / 70


def test_progress_of_every_pair_comes_from_one_thread_at_a_time():
    seen, busy = [], threading.Lock()

    def callback(step):
        assert busy.acquire(blocking=False), "called by two threads at once"
        time.sleep(0.0005)
        seen.append(step)
        busy.release()

    model = fit(X3, Y3, n_jobs=2, n_rounds=1, hyperplane=MinimumDensityHyperplane(callback=callback))
    assert {step.pair for step in seen} == {(0, 1), (0, 2), (1, 2)}
    assert len(seen) == len(model.path_)
    assert all(isinstance(step, PathStep) and step.n_iter >= 0 for step in seen)


@pytest.mark.parametrize(("n_rounds", "shown"), [(2, 2 * 120), (0, 3 * 105 + 2 * 15)])
def test_rounds_show_pairs_only_the_rows_of_their_classes(n_rounds, shown):
    rows_of = {}
    plane = MinimumDensityHyperplane(callback=lambda step: rows_of.update({step.pair: step.n_rows}))
    fit(X3, Y3, n_rounds=n_rounds, hyperplane=plane)
    assert sum(rows_of.values()) == shown


def test_steps_of_the_path_say_which_pair_they_separate(three):
    assert {step.pair for step in three.path_} == {(0, 1), (0, 2), (1, 2)}


# ----------------------------------------------------------------------------------------------- repeatability


def outcome(model, rows):
    steps = [(s.hyperplane.normal.tobytes(), s.hyperplane.offset, s.n_iter) for s in model.path_]
    return model.coef_.tobytes(), model.intercept_.tobytes(), model.predict_proba(rows).tobytes(), steps


def test_number_of_threads_does_not_change_a_bit(problem):
    rows, y, _ = problem
    assert outcome(fit(rows, y, n_jobs=2), rows) == outcome(fit(rows, y), rows)


@pytest.mark.parametrize("make", [lambda: 3, lambda: np.random.RandomState(3), lambda: np.random.default_rng(3)])
def test_same_seed_gives_the_same_result_to_the_bit(problem, make):
    rows, y, _ = problem
    first, second = (
        MinimumDensityClassifier(**QUICK, random_state=make(), hyperplane=MinimumDensityHyperplane(subsample=20)).fit(
            rows, y
        )
        for _ in range(2)
    )
    assert outcome(first, rows) == outcome(second, rows)
    other = MinimumDensityClassifier(**QUICK, random_state=4, hyperplane=MinimumDensityHyperplane(subsample=20)).fit(
        rows, y
    )
    assert outcome(first, rows) != outcome(other, rows)


def test_concurrent_fits_equal_sequential_fits():
    problems = [three_clusters(seed=seed) for seed in range(4)]

    def run(problem):
        rows, truth = problem
        return outcome(fit(rows, few_labels(truth), **QUICK, n_jobs=2), rows)

    alone = [run(problem) for problem in problems]
    with ThreadPoolExecutor(3) as pool:
        assert list(pool.map(run, problems)) == alone


def test_refit_leaves_nothing_of_the_earlier_fit():
    model = MinimumDensityClassifier(**QUICK).fit(pd.DataFrame(X, columns=list("abc")), Y)
    model.fit(X3, Y3)
    assert not hasattr(model, "hyperplane_")
    assert not hasattr(model, "feature_names_in_")
    assert model.predict_proba(X3).shape == (120, 3)
    model.fit(X, Y)
    assert outcome(model, X) == outcome(MinimumDensityClassifier(**QUICK).fit(X, Y), X)
    assert model.hyperplane_ is model.hyperplanes_[0, 1]


# ----------------------------------------------------------------------------------------------- invariance


def assert_same_answers(changed, original, rows, rows_before, *, atol=1e-7):
    assert_allclose(changed.predict_proba(rows), original.predict_proba(rows_before), atol=atol)
    assert_array_equal(changed.predict(rows), original.predict(rows_before))


def test_order_of_the_rows_does_not_matter(problem):
    rows, y, _ = problem
    order = np.random.default_rng(0).permutation(len(rows))
    changed, original = fit(rows[order], y[order]), fit(rows, y)
    assert_same_answers(changed, original, rows, rows)
    assert_array_equal(changed.transduction_, original.transduction_[order])


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
@pytest.mark.parametrize(("shift", "atol"), [(0.0, 1e-7), (1e9, 1e-4)])
def test_rotation_unit_and_origin_do_not_matter(problem, scale, shift, atol):
    rows, y, _ = problem
    moved = scale * (rows @ orthogonal(rows.shape[1], 7) + shift)
    assert_same_answers(fit(moved, y, **QUICK), fit(rows, y, **QUICK), moved, rows, atol=atol)


def test_swapping_two_classes_mirrors_the_decision_function(two):
    mirrored = fit(y=np.where(Y < 0, -1, 1 - Y))
    assert_allclose(mirrored.decision_function(X), -two.decision_function(X), atol=1e-7)
    assert_allclose(mirrored.predict_proba(X), two.predict_proba(X)[:, ::-1], atol=1e-7)


@pytest.mark.parametrize("voting", ["soft", "hard"])
def test_names_of_classes_only_permute_the_columns(voting):
    original, names = fit(X3, Y3, voting=voting), np.array(["b", "c", "a"])
    renamed = fit(X3, [None if c < 0 else str(names[c]) for c in Y3], voting=voting)
    assert_array_equal(renamed.predict(X3), names[original.predict(X3)])
    assert_allclose(renamed.predict_proba(X3)[:, [1, 2, 0]], original.predict_proba(X3), atol=1e-7)


def test_class_whose_labels_all_have_weight_zero_does_not_exist():
    model = fit(X3, Y3, np.where(Y3 == 1, 0.0, 1.0))
    without = fit(X3[Y3 != 1], Y3[Y3 != 1])
    assert_array_equal(model.classes_, [0, 2])
    assert_allclose(model.decision_function(X3), without.decision_function(X3), atol=1e-7)


def test_as_good_as_a_linear_classifier_with_every_row_labelled():
    rows, truth = two_clusters(200, 3, separation=2.5)
    linear = LogisticRegression().fit(rows, truth).score(rows, truth)
    assert fit(rows, truth).score(rows, truth) > linear - 0.03


@pytest.mark.parametrize("size", [1e-120, 1e-160, 1e-200, 1e-308])
def test_labels_far_closer_than_other_rows_do_not_stop_the_svm(size):
    """liblinear runs for ever on coordinates whose squares underflow: the classes then share a place."""
    rows = np.random.default_rng(0).standard_normal((2, 2)) * size
    svm = _fit_linear_svm(rows, np.array([1.0, -1.0]), np.ones(2), 1.0, np.random.default_rng(0))
    assert np.isfinite(svm.coef_).all()
