"""The contract of the hyperplane as a scikit-learn estimator."""

import os
import pickle
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine import (
    Hyperplane,
    MinimumDensityHyperplane,
    NoSplitWarning,
    PathSettings,
    PathStep,
    minimum_density_hyperplane,
    paper_settings,
)
from support.simulate import one_gaussian_line, two_clusters

NAMES = ["colour", "height", "mass", "age"]
# scikit-learn expects that only classifiers with two or four classes have memberships of sparse rows.
FAILED = dict.fromkeys(
    ("check_estimator_sparse_array", "check_estimator_sparse_matrix"), "predict_proba of a clusterer has no classes"
)
SETTINGS = {"defaults": {}, "paper": paper_settings("clustering")}


@pytest.fixture(scope="module")
def data():
    return two_clusters()


@pytest.fixture(scope="module")
def fitted(data):
    return MinimumDensityHyperplane(random_state=0).fit(data[0])


@pytest.fixture(scope="module")
def unsplit():
    with pytest.warns(NoSplitWarning):
        return MinimumDensityHyperplane().fit(one_gaussian_line())


# ----------------------------------------------------------------------------------------------- scikit-learn's checks


@pytest.mark.filterwarnings("ignore:No split")
@parametrize_with_checks(
    [MinimumDensityHyperplane(**settings) for settings in SETTINGS.values()],
    expected_failed_checks=lambda estimator: FAILED,
)
def test_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


def test_no_scikit_learn_check_fails_or_is_skipped_with_array_api():
    """SCIPY_ARRAY_API must be set before SciPy is imported, hence a process of its own."""
    script = (
        "from sklearn.utils.estimator_checks import check_estimator\n"
        "from ravine import MinimumDensityHyperplane\n"
        "results = check_estimator(MinimumDensityHyperplane(n_init=1), on_fail=None, on_skip=None)\n"
        "print([r['check_name'] for r in results if r['status'] != 'passed'], len(results) > 40)\n"
    )
    run = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", script],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "SCIPY_ARRAY_API": "1"},
    )
    assert run.stdout.strip() == f"{list(FAILED)} True", run.stdout + run.stderr


# ----------------------------------------------------------------------------------------------- labels and distances


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("weighted", [False, True])
def test_labels_are_the_prediction_for_the_rows_of_the_fit(data, settings, dtype, order, weighted):
    X = np.asarray(data[0], dtype=dtype, order=order)
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(X)) if weighted else None
    mdh = MinimumDensityHyperplane(**settings, random_state=0).fit(X, sample_weight=weights)
    assert_array_equal(mdh.labels_, mdh.predict(X))
    assert_array_equal(mdh.labels_, MinimumDensityHyperplane(**settings, random_state=0).fit_predict(
        X, sample_weight=weights
    ))  # fmt: skip
    assert np.issubdtype(mdh.labels_.dtype, np.integer)
    assert set(mdh.labels_) == {0, 1}


def test_clusters_are_recovered(data, fitted):
    assert_array_equal(fitted.labels_, data[1])


@pytest.mark.parametrize(
    ("heavy", "weight"), [(0, 1.0), (0, 1.5), (1, 3.0)], ids=["plain", "larger side heavy", "smaller side heavy"]
)
def test_label_1_is_the_side_of_smaller_weight(data, heavy, weight):
    X, y = data
    weights = np.where(y == heavy, weight, 1.0)
    labels = MinimumDensityHyperplane().fit(X, sample_weight=weights).labels_
    side_weights = np.bincount(labels, weights)
    assert side_weights[1] < side_weights[0]
    lighter = int(weights[y == 1].sum() < weights[y == 0].sum())
    assert np.mean(labels == (y == lighter)) >= 0.99


@pytest.mark.parametrize("axis", range(4))
def test_sign_of_a_start_does_not_choose_the_side_of_label_1(data, axis):
    X, direction = data[0], np.eye(4)[axis]
    one, other = (MinimumDensityHyperplane(init=sign * direction).fit(X) for sign in (1.0, -1.0))
    assert_array_equal(one.labels_, other.labels_)
    assert_allclose(one.coef_, other.coef_, atol=1e-9)
    assert one.labels_.sum() < len(X) / 2


def test_decision_function_is_the_signed_euclidean_distance(data, fitted):
    X, _ = data
    assert fitted.coef_.shape == (1, X.shape[1])
    assert fitted.intercept_.shape == (1,)
    assert_allclose(np.linalg.norm(fitted.coef_), 1.0, rtol=1e-14)
    assert_allclose(fitted.decision_function(X), (X @ fitted.coef_.T + fitted.intercept_)[:, 0], rtol=1e-12, atol=1e-12)


def test_foot_of_the_perpendicular_lies_on_the_hyperplane(data, fitted):
    X, _ = data
    feet = X - fitted.decision_function(X)[:, None] * fitted.coef_
    assert_allclose(fitted.decision_function(feet), 0.0, atol=1e-12)


def test_prediction_is_the_sign_of_the_decision_function(fitted):
    rows = np.random.default_rng(2).normal(scale=5.0, size=(500, 4))
    assert_array_equal(fitted.predict(rows), fitted.decision_function(rows) > 0)


def test_rows_on_the_hyperplane_get_label_0():
    plane = Hyperplane(np.array([1.0, 0.0]), offset=2.0)
    assert_array_equal(plane.side([[2.0, 7.0], [2.0 + 1e-12, 7.0], [2.0 - 1e-12, 7.0]]), [0, 1, 0])


def test_attributes_agree_with_the_hyperplane(fitted):
    plane = fitted.hyperplane_
    assert_array_equal(fitted.coef_[0], plane.normal)
    assert fitted.intercept_[0] == -plane.offset
    assert fitted.density_ == plane.density > 0
    assert fitted.relative_depth_ == plane.relative_depth > 0
    assert fitted.bandwidth_ == plane.bandwidth > 0
    assert 0 < plane.alpha <= fitted.alpha_max


@pytest.mark.parametrize(
    "copy", [lambda plane: plane, lambda plane: pickle.loads(pickle.dumps(plane))], ids=["new", "unpickled"]
)
def test_hyperplane_cannot_be_changed(copy):
    plane = copy(Hyperplane(np.array([0.6, 0.8]), offset=1.0))
    for array in (plane.normal, plane.point):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 1.0
    with pytest.raises(AttributeError, match="offset"):
        plane.offset = 0.0


def test_reversed_hyperplane_has_the_opposite_distances(data, fitted):
    X, _ = data
    plane = fitted.hyperplane_
    assert_array_equal(plane.reversed().distance(X), -plane.distance(X))
    assert plane.reversed().margin(X) == plane.margin(X) == np.abs(fitted.decision_function(X)).min()


def test_report_names_the_heaviest_features(data):
    mdh = MinimumDensityHyperplane().fit(pd.DataFrame(data[0], columns=NAMES))
    heaviest = NAMES[int(np.argmax(np.abs(mdh.coef_)))]
    report = mdh.hyperplane_.report(mdh.feature_names_in_, n_features=1)
    assert heaviest in report
    assert not any(name in report for name in set(NAMES) - {heaviest})
    assert "3 smaller" in report


def test_report_wraps_many_long_names():
    names = [f"measurement number {j}" for j in range(30)]
    report = Hyperplane(np.full(30, 30**-0.5), 0.5, 0.1, 1.0, 1.0, 0.9).report(names, n_features=20)
    assert max(map(len, report.splitlines())) <= 88
    assert re.findall(r"·(.*?)(?= [+-]|\n)", report) == names[:20]


@pytest.mark.parametrize(("names", "got"), [(["a"], "1"), (["a", "b", "c"], "3"), ("ab", "'ab'")])
def test_report_checks_the_number_of_names(names, got):
    with pytest.raises(ValueError, match=f"feature_names .*{got}"):
        Hyperplane(np.array([1.0, 0.0]), 0.5, 0.1, 1.0, 1.0, 0.9).report(names)


def test_report_leaves_out_what_a_hyperplane_lacks():
    report = Hyperplane(np.array([1.0, 0.0]), 0.5, 0.1, 0.0, 1.0, np.nan).report()
    assert re.search("relative depth +0 ", report)
    assert "alpha" not in report


@pytest.mark.parametrize("settings", SETTINGS.values(), ids=SETTINGS)
def test_function_and_class_give_the_same_hyperplane(data, settings):
    weights = np.linspace(1.0, 2.0, len(data[0]))
    plane = minimum_density_hyperplane(
        data[0], hyperplane=MinimumDensityHyperplane(**settings), sample_weight=weights, random_state=0
    )
    mdh = MinimumDensityHyperplane(**settings, random_state=0).fit(data[0], sample_weight=weights)
    assert_array_equal(plane.normal, mdh.hyperplane_.normal)
    assert plane.offset == mdh.hyperplane_.offset


# ----------------------------------------------------------------------------------------------- no split


def test_no_split_is_one_cluster_that_all_methods_can_live_with(unsplit):
    X = one_gaussian_line()
    assert_array_equal(unsplit.labels_, 0)
    assert_array_equal(unsplit.predict(X), 0)
    assert unsplit.relative_depth_ == 0.0
    assert not unsplit.hyperplane_.splits
    assert_array_equal(unsplit.decision_function(X), -np.inf)
    assert_allclose(unsplit.transform(X), X @ unsplit.coef_.T)
    assert "No split" in unsplit.hyperplane_.report()


# ----------------------------------------------------------------------------------------------- transform, names


def test_transform_is_the_projection_on_the_normal(data, fitted):
    projections = fitted.transform(data[0])
    assert_allclose(projections, data[0] @ fitted.coef_.T, atol=1e-12)
    assert_allclose(projections[:, 0] - fitted.hyperplane_.offset, fitted.decision_function(data[0]), atol=1e-12)


def test_feature_names_out_are_prefixed_by_the_class(fitted):
    assert fitted.get_feature_names_out().tolist() == ["minimumdensityhyperplane0"]


@pytest.mark.parametrize(
    ("container", "frame"), [("pandas", pd.DataFrame), ("polars", pl.DataFrame)], ids=["pandas", "polars"]
)
def test_transform_gives_the_container_that_set_output_asks_for(data, fitted, container, frame):
    out = clone(fitted).set_output(transform=container).fit(data[0]).transform(data[0])
    assert isinstance(out, frame)
    assert list(out.columns) == ["minimumdensityhyperplane0"]
    assert_array_equal(out.to_numpy(), fitted.transform(data[0]))


@pytest.mark.parametrize("frame", [pd.DataFrame, lambda X, columns: pl.DataFrame(X, schema=columns)])
def test_feature_names_are_stored_and_checked(data, frame):
    mdh = MinimumDensityHyperplane().fit(frame(data[0], columns=NAMES))
    assert mdh.feature_names_in_.tolist() == NAMES
    with pytest.raises(ValueError, match="feature names"):
        mdh.predict(frame(data[0], columns=NAMES[::-1]))


# ----------------------------------------------------------------------------------------------- ecosystem


def test_weights_are_routed_through_a_pipeline(data):
    X, _ = data
    weights = np.random.default_rng(0).integers(0, 4, len(X)).astype(float)
    with sklearn.config_context(enable_metadata_routing=True):
        pipeline = make_pipeline(
            StandardScaler().set_fit_request(sample_weight=True),
            MinimumDensityHyperplane(random_state=0).set_fit_request(sample_weight=True),
        ).fit(X, sample_weight=weights)
        scaled = StandardScaler().fit(X, sample_weight=weights).transform(X)
        alone = MinimumDensityHyperplane(random_state=0).fit(scaled, sample_weight=weights)
        ignored = MinimumDensityHyperplane(random_state=0).fit(scaled)
    assert_array_equal(pipeline[-1].coef_, alone.coef_)
    assert np.abs(pipeline[-1].coef_ - ignored.coef_).max() > 1e-6


def test_pipeline_gives_what_its_parts_give(data):
    X, _ = data
    pipeline = make_pipeline(StandardScaler(), MinimumDensityHyperplane(random_state=0))
    scaled = StandardScaler().fit_transform(X)
    alone = MinimumDensityHyperplane(random_state=0).fit(scaled)
    assert_array_equal(pipeline.fit_predict(X), alone.labels_)
    assert_array_equal(pipeline.predict(X), alone.predict(scaled))
    assert_array_equal(pipeline.transform(X), alone.transform(scaled))


def test_parameters_are_kept_as_given_and_cloned(data):
    rule, directions = (lambda n, s: 0.5 * s), np.eye(4)
    parameters = {
        **paper_settings("clustering"),
        "bandwidth": rule,
        "init": directions,
        "path": PathSettings(tol=1e-4),
        "test": "exact",
        "n_splits": 2,
        "contamination": 0.1,
        "n_jobs": 2,
        "random_state": 7,
        "callback": lambda step: None,
    }
    mdh = MinimumDensityHyperplane(**parameters)
    assert mdh.get_params(deep=False) == parameters
    mdh.fit(data[0])
    assert mdh.get_params(deep=False) == parameters
    copy = clone(mdh)
    assert not hasattr(copy, "labels_")
    assert copy.get_params(deep=False).keys() == parameters.keys()
    assert_array_equal(copy.init, directions)
    assert copy.set_params(path__n_alpha=3).path.n_alpha == 3
    assert parameters["path"].n_alpha == 12
    with pytest.raises(ValueError, match="alpha_mux"):
        copy.set_params(alpha_mux=1.0)


def test_pickle_predicts_the_same(data, fitted):
    copy = pickle.loads(pickle.dumps(fitted))
    assert_array_equal(copy.decision_function(data[0]), fitted.decision_function(data[0]))
    assert_array_equal(copy.labels_, fitted.labels_)
    assert len(copy.path_) == len(fitted.path_)


def test_model_does_not_keep_the_rows():
    def bytes_beyond_labels(n):
        mdh = MinimumDensityHyperplane(init="pca", random_state=0).fit(two_clusters(n)[0])
        return len(pickle.dumps(mdh)) - mdh.labels_.nbytes

    small, large = bytes_beyond_labels(200), bytes_beyond_labels(20_000)
    assert abs(large - small) < 0.05 * small


def test_callback_receives_every_step_of_the_path(data):
    seen = []
    mdh = MinimumDensityHyperplane(callback=seen.append).fit(data[0])
    assert all(isinstance(step, PathStep) for step in seen)
    assert len(seen) == len(mdh.path_) > 1
    assert all(a is b for a, b in zip(seen, mdh.path_, strict=True))
    assert mdh.n_iter_ == sum(step.n_iter for step in seen)


def test_error_of_a_callback_reaches_the_caller(data):
    def stop(step):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        MinimumDensityHyperplane(callback=stop, n_jobs=2).fit(data[0])


def test_paper_settings_are_valid_arguments_and_not_shared():
    settings = paper_settings()
    assert settings.keys() == paper_settings("clustering").keys()
    assert settings.keys() <= MinimumDensityHyperplane().get_params().keys()
    settings["path"].set_params(n_alpha=1)
    assert paper_settings()["path"].n_alpha == 20
