"""Pipelines that end with an estimator of the library: displays, reports, rules, tests of features and files."""

import re
import warnings

import matplotlib as mpl
import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_moons
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PowerTransformer,
    RobustScaler,
    StandardScaler,
)

from ravine import (
    BoundaryDisplay,
    CellDisplay,
    DirectionDisplay,
    HyperplaneDisplay,
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    MixedScaler,
    PathDisplay,
    ScaleWarning,
    TreeDisplay,
    compare_clusters,
    describe_rules,
    load,
    save,
)
from ravine.explain import open_pipeline
from support.report_files import report

mpl.use("Agg")
SCALERS = [StandardScaler, RobustScaler, MinMaxScaler, MaxAbsScaler, Normalizer]


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(0)
    groups = np.repeat([[0.0, 0.0], [5e5, 0.0], [0.0, 0.05]], 60, axis=0)
    return pd.DataFrame(
        1.0 * groups + rng.normal(size=(180, 2)) * [4e4, 0.004] + [2e6, 0.3], columns=["income", "rate"]
    )


@pytest.fixture(scope="module")
def pipeline(frame):
    return make_pipeline(StandardScaler(), MinimumDensityTree(3, random_state=0)).fit(frame)


@pytest.fixture(autouse=True)
def _warnings_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        warnings.simplefilter("ignore", ScaleWarning)  # income and rate have different units
        yield


def follow_rule(text, frame):
    """Return which rows meet all inequalities of a rule, which has all terms."""
    holds = np.ones(len(frame), dtype=bool)
    for terms, sign, threshold in re.findall(r"^  (.*) (<=|>) (\S+)$", text, re.MULTILINE):
        weights = {name: float(weight) for weight, name in re.findall(r"([-+][\d.e+-]+)·(\w+)", terms)}
        value = sum(weight * frame[name] for name, weight in weights.items())
        holds &= (value > float(threshold)) == (sign == ">")
    return holds


def test_rules_of_a_pipeline_hold_in_the_original_units(frame, pipeline):
    labels = pipeline.predict(frame)
    for cluster in range(3):
        holds = follow_rule(describe_rules(pipeline, cluster), frame)
        assert (holds == (labels == cluster)).mean() > 0.97  # the numbers have three digits
    assert describe_rules(pipeline).count("A row belongs to cluster") == 3


def test_rules_without_a_scaler_are_those_of_the_tree(frame):
    mdt = MinimumDensityTree(2, random_state=0).fit(frame)
    assert describe_rules(mdt, 1) == mdt.tree_.rules(cluster=1)
    assert describe_rules(make_pipeline(mdt), 1) == mdt.tree_.rules(cluster=1)


def test_rules_after_other_steps_are_in_the_features_of_the_tree(frame):
    pipeline = make_pipeline(PCA(2), MinimumDensityTree(2, random_state=0)).fit(frame)
    assert "pca0" in describe_rules(pipeline, 1)
    with pytest.raises(TypeError, match="MinimumDensityHyperplane"):
        describe_rules(make_pipeline(StandardScaler(), MinimumDensityHyperplane(random_state=0)).fit(frame))


def test_rules_after_a_mixed_scaler_name_categories(frame):
    table = frame.assign(colour=np.where(frame["rate"] > 0.325, "red", "blue"))
    pipeline = make_pipeline(MixedScaler(), MinimumDensityTree(2, random_state=0)).fit(table)
    assert "colour is red" in describe_rules(pipeline, 0, n_features=3)


@pytest.mark.parametrize(
    ("step", "is_linear"),
    [
        *[(scaler, True) for scaler in (StandardScaler(), RobustScaler(), MinMaxScaler(), MaxAbsScaler())],
        *[(step, False) for step in (Normalizer(), PowerTransformer(), PCA(2), FunctionTransformer(np.abs))],
    ],
)
def test_units_are_found_for_steps_that_scale_each_feature(frame, step, is_linear):
    frame = frame / [1e5, 0.01]
    pipeline = make_pipeline(step, MinimumDensityHyperplane(random_state=0)).fit(frame)
    opened = open_pipeline(pipeline, frame)
    units = opened.find_units()
    assert (units is not None) == is_linear
    if units is not None:
        center, scale = units
        np.testing.assert_allclose(np.asarray(opened.X) * scale + center, frame.to_numpy(), rtol=1e-6)


def test_every_display_accepts_a_pipeline(frame, pipeline):
    prepared, tree = pipeline[:-1].transform(frame), pipeline[-1]
    np.testing.assert_array_equal(TreeDisplay.from_estimator(pipeline, frame).sizes, tree.tree_.size)
    shown, expected = (HyperplaneDisplay.from_estimator(one, X) for one, X in ((pipeline, frame), (tree, prepared)))
    np.testing.assert_array_equal(shown.along, expected.along)
    assert CellDisplay.from_estimator(pipeline, frame).feature_names == ["income", "rate"]
    assert set(DirectionDisplay.from_estimator(pipeline).names) == {"income", "rate"}
    moons = pd.DataFrame(make_moons(400, noise=0.1, random_state=1)[0], columns=["a", "b"])
    curved = make_pipeline(StandardScaler(), MinimumDensityTree(2, random_state=0)).fit(moons)
    assert BoundaryDisplay.from_estimator(curved, moons).boundary.evidence > 0
    mdh = make_pipeline(StandardScaler(), MinimumDensityHyperplane(random_state=0)).fit(frame)
    assert PathDisplay.from_estimator(mdh, frame).n_stages >= 1


def test_reports_of_pipelines_are_in_the_original_units(frame, pipeline, tmp_path):
    scaler, names = pipeline[0], list(frame.columns)
    units = {"centre": scaler.mean_, "scale": scaler.scale_}
    first = report(tmp_path, pipeline, frame)[1].data
    second = report(tmp_path, pipeline[-1], scaler.transform(frame), feature_names=names, **units)[1].data
    assert sorted(first["features"]) == sorted(names)
    assert first["groups"] == second["groups"]


@pytest.mark.parametrize("contamination", [None, 0.05])
def test_reports_of_named_features_do_not_warn(frame, tmp_path, contamination):
    scaled = (frame - frame.mean()) / frame.std()
    mdt = MinimumDensityTree(3, contamination=contamination, random_state=0).fit(scaled)
    assert set(report(tmp_path, mdt, scaled)[1].data["features"]) == set(frame.columns)
    y = np.where(np.arange(180) % 6, -1, np.repeat([0, 1, 2], 60))
    report(tmp_path, MinimumDensityClassifier().fit(scaled, y), scaled, labels_true=y)


def test_features_are_compared_by_name(frame, pipeline):
    tests = compare_clusters(pipeline, frame)
    assert tests.feature_names == ["income", "rate"]
    expected = compare_clusters(pipeline[-1], pipeline[:-1].transform(frame))
    np.testing.assert_array_equal(tests.adjusted, expected.adjusted)
    assert compare_clusters(MinimumDensityTree(2, random_state=0).fit(frame), frame).n_rows == 90


@pytest.mark.parametrize("scaler", [*SCALERS, MixedScaler])
def test_saved_pipelines_predict_the_same(frame, tmp_path, scaler):
    for X in (frame,) if scaler is MixedScaler else (frame, frame.to_numpy()):
        pipeline = make_pipeline(scaler(), MinimumDensityTree(3, random_state=0)).fit(X)
        save(pipeline, tmp_path / "model.ravine")
        again = load(tmp_path / "model.ravine")
        np.testing.assert_array_equal(again.predict_proba(X), pipeline.predict_proba(X))
        assert [type(step) for _, step in again.steps] == [scaler, MinimumDensityTree]
        assert describe_rules(again) == describe_rules(pipeline)


def test_saved_pipelines_keep_the_kind_of_their_output(frame, tmp_path):
    pipeline = make_pipeline(StandardScaler(), MinimumDensityTree(2, random_state=0)).set_output(transform="pandas")
    save(pipeline.fit(frame), tmp_path / "model.ravine")
    again = load(tmp_path / "model.ravine")
    np.testing.assert_array_equal(again.predict(frame), pipeline.predict(frame))
    assert again[-1].tree_.feature_names == ("income", "rate")


def test_other_steps_cannot_be_saved(frame, tmp_path):
    pipeline = make_pipeline(PCA(2), MinimumDensityTree(2, random_state=0)).fit(frame)
    with pytest.raises(TypeError, match="step 'pca'"):
        save(pipeline, tmp_path / "model.ravine")
    with pytest.raises(TypeError, match="Pipeline cannot be saved"):
        save(make_pipeline(StandardScaler(), PCA(2)).fit(frame), tmp_path / "model.ravine")
    assert list(tmp_path.iterdir()) == []


def test_three_classes_are_drawn_by_their_closest_pair(frame):
    y = np.full(180, -1)
    y[::10] = np.repeat([0, 1, 2], 6)
    mdc = MinimumDensityClassifier().fit(frame / [1e5, 0.01], y)
    depths = {pair: plane.relative_depth for pair, plane in mdc.hyperplanes_.items()}
    closest = min(depths, key=depths.get)
    display = mdc.plot(frame / [1e5, 0.01])
    assert display.pair == closest
    assert display.ax_density_.get_title(loc="left").startswith(f"{closest[0]} | {closest[1]}:")
    assert mdc.plot(frame / [1e5, 0.01], pair=(0, 1)).relative_depth == pytest.approx(depths[0, 1])
