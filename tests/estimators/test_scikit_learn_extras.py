"""Callbacks of scikit-learn 1.9, and links from the HTML of estimators to the documentation."""

from email.message import Message

import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, load, save
from ravine.estimators import _shared

needs_callbacks = pytest.mark.skipif(_shared.with_callbacks is None, reason="scikit-learn is older than 1.9")
X = np.repeat(np.eye(3, 2) * 9.0, 40, axis=0) + np.random.default_rng(0).normal(size=(120, 2))
Y = np.where(np.arange(120) % 8, -1, np.repeat([0, 1, 2], 40))


class Recorder:
    """Callback that counts the tasks that begin and end."""

    def __init__(self):
        self.events = []

    def setup(self, estimator, context):
        self.events.append("setup")

    def on_fit_task_begin(self, estimator, context, *, X=None):
        self.events.append(("begin", context.task_name, X is not None))

    def on_fit_task_end(self, estimator, context, *, X=None):
        self.events.append(("end", context.task_name, X is not None))

    def teardown(self, estimator, context):
        self.events.append("teardown")


def make_estimators():
    return [MinimumDensityTree(3, random_state=0), MinimumDensityHyperplane(random_state=0), MinimumDensityClassifier()]


@needs_callbacks
@pytest.mark.parametrize("estimator", make_estimators(), ids=lambda one: type(one).__name__)
def test_callbacks_see_the_fit_and_its_steps(estimator):
    recorder, expected = Recorder(), type(estimator)(**estimator.get_params(deep=False)).fit(X, Y)
    found = estimator.set_callbacks(recorder).fit(X, Y)
    assert recorder.events[:2] == ["setup", ("begin", "fit", True)]
    assert recorder.events[-2:] == [("end", "fit", True), "teardown"]
    steps = recorder.events[2:-2]
    assert steps[::2] == [("begin", "step", False)] * (len(steps) // 2)
    assert steps[1::2] == [("end", "step", False)] * (len(steps) // 2)
    assert len(steps) >= 4
    np.testing.assert_array_equal(found.predict(X), expected.predict(X))


@needs_callbacks
def test_callbacks_end_after_a_failure_and_own_callbacks_are_called():
    recorder, seen = Recorder(), []
    mdt = MinimumDensityTree(3, random_state=0, callback=seen.append).set_callbacks(recorder).fit(X)
    assert len(seen) == sum(event[:2] == ("end", "step") for event in recorder.events)
    with pytest.raises(ValueError, match="NaN"):
        mdt.fit(X * np.nan)
    assert recorder.events[-1] == "teardown"
    assert recorder.events.count("setup") == recorder.events.count("teardown") == 2
    assert mdt.n_clusters_ == 3


@needs_callbacks
def test_callbacks_of_a_pipeline_are_not_saved(tmp_path):
    pipeline = make_pipeline(StandardScaler(), MinimumDensityTree(3, random_state=0)).set_callbacks(Recorder()).fit(X)
    save(pipeline, tmp_path / "model.ravine")
    again = load(tmp_path / "model.ravine")
    assert not hasattr(again, "_skl_callbacks")
    np.testing.assert_array_equal(again.predict(X), pipeline.predict(X))


@pytest.mark.parametrize("address", ["", "https://example.org/ravine/docs"])
def test_html_links_to_the_documentation_if_it_has_an_address(monkeypatch, address):
    message = Message()
    if address:
        message["Project-URL"] = "Source, https://example.org/ravine"
        message["Project-URL"] = f"Documentation, {address}"
    monkeypatch.setattr(_shared, "metadata", lambda name: message)
    _shared.find_documentation.cache_clear()
    try:
        for estimator in make_estimators():
            assert estimator._get_doc_link() == (f"{address}/api.md" if address else "")
            assert ("example.org" in estimator._repr_html_()) == bool(address)
    finally:
        _shared.find_documentation.cache_clear()
