"""Estimators: any rows give sound labels, the same as `predict`, or an error that explains."""

from __future__ import annotations

import numpy as np

from fuzz.targets.rows import choose, write_rows

__all__ = ["write_estimator", "write_labels"]

CLUSTERERS = {
    "MinimumDensityHyperplane": [
        "", "", "test='pooled'", "n_init=1", "n_init=2, init='pca'", "init='random', n_init=2",
        "bandwidth=0.5", "bandwidth=1e-200", "path=PathSettings(select='last', polish=False)", "subsample=20",
        "n_jobs=2", "path=PathSettings(n_alpha=1)", "test='exact'", "path=PathSettings(optimiser='gradient')",
        "path=PathSettings(tol=0.0)", "alpha_max=10.0", "bandwidth='nothing'", "contamination=0.2",
        "contamination='auto'",
    ],
    "MinimumDensityTree": [
        "", "", "2", "3", "5", "'shown'", "'auto', alpha=0.5", "'shown', alpha=1.0", "alpha=0.0",
        "2, hyperplane=MinimumDensityHyperplane(test='pooled')", "hyperplane=MinimumDensityHyperplane(bandwidth=0.5)",
        "3, n_jobs=2", "3, min_cluster_size=1", "min_cluster_size=1", "'shown', min_cluster_size=0.2",
        "3, hyperplane=MinimumDensityHyperplane(bandwidth=1e-200)", "200", "0", "8",
        "3, hyperplane=MinimumDensityHyperplane(test='exact')", "hyperplane=MinimumDensityHyperplane(test='exact')",
        "4, min_cluster_size=1", "3, contamination=0.1", "contamination='auto'", "'shown', contamination=0.1",
        "max_cluster_size=0.4", "3, max_cluster_size=12, min_cluster_size=0.05", "3, contamination=0.7",
    ],
    "MaximumMarginHyperplane": ["n_bandwidths=3, n_init=1, n_random=2"],
}  # fmt: skip
CLASSIFIERS = [
    "", "", "", "n_rounds=1", "n_rounds=0", "voting='hard'", "n_jobs=2", "C=1e6", "C=0.0", "density_weight=0.0",
    "bandwidth_factor=0.1", "method='paper', hyperplane=MinimumDensityHyperplane(path=PathSettings(n_alpha=3))",
    "method='paper', hyperplane=MinimumDensityHyperplane(alpha_max=0.5), gamma=1.0",
]  # fmt: skip
CHECK_CLUSTERS = """
labels = model.labels_
assert labels.shape == ({n},), labels.shape
if getattr(model, "contamination", None) is None:
    assert labels.min() >= 0
    assert np.array_equal(model.predict(X), labels), "predict differs from labels_"
else:
    assert np.array_equal(model.predict(X)[labels >= 0], labels[labels >= 0]), "predict differs from labels_"
if hasattr(model, "predict_proba"):
    proba = model.predict_proba(X)
    assert np.array_equal(proba.argmax(axis=1), model.predict(X)), "memberships differ from predict"
    assert np.allclose(proba.sum(axis=1), 1.0), "memberships do not sum to 1"
    scores = model.score_outliers(X)
    assert (scores >= 0.0).all() and (scores <= 1.0).all()
if hasattr(model, "n_shown_"):
    assert 1 <= model.n_shown_ <= model.n_clusters_, (model.n_shown_, model.n_clusters_)
    assert not model.pvalue_ < 0.0 and not model.pvalue_ > 1.0, model.pvalue_
    shown = model.cut("shown")
    assert shown.shape == ({n},) and shown.max() < model.n_shown_, "cut('shown') differs from n_shown_"
"""
CHECK_PLANE = """
if model.hyperplane_.splits:
    assert np.isfinite(model.coef_).all(), "NaN in the normal"
    assert not np.isnan(model.decision_function(X)).any(), "NaN in decision_function"
"""
CHECK_CLASSES = """
assert model.transduction_.shape == ({n},)
labels = model.predict(X)
assert labels.shape == ({n},)
proba = model.predict_proba(X)
assert proba.shape == ({n}, len(model.classes_))
assert (proba >= 0.0).all() and np.allclose(proba.sum(axis=1), 1.0), "NaN or wrong sums in predict_proba"
for strategy in ("diverse", "uncertainty", "change", "density"):
    try:
        chosen = model.query(X, 2, strategy=strategy)
    except ValueError as error:
        assert "unlabelled rows" in str(error), error
    else:
        assert len(set(chosen.tolist())) == 2 and chosen.min() >= 0 and chosen.max() < {n}, chosen
"""
ROUND_TRIP = """
from ravine import load, save
save(model, "model.ravine")
again = load("model.ravine")
assert np.array_equal(again.predict(X), model.predict(X)), "predictions of the saved model differ"
if hasattr(model, "predict_proba"):
    assert np.array_equal(again.predict_proba(X), model.predict_proba(X)), "memberships of the saved model differ"
"""
WEIGHTS = ["rng.uniform(size={n})", "rng.integers(0, 2, {n})", "np.ones({n})", "np.full({n}, 1e-320)",
           "10.0 ** rng.uniform(-300, 300, {n})", "10.0 ** rng.uniform(-40, 40, {n})",
           "np.zeros({n})", "-np.ones({n})"]  # fmt: skip
LABELS = [
    "np.where(rng.random({n}) < {share}, np.arange({n}) * {k} // {n}, -1)",
    "np.where(rng.random({n}) < {share}, rng.integers(0, {k}, {n}), -1)",
    "np.where(rng.random({n}) < {share}, np.arange({n}) % {k} * 1.0, np.nan)",
    "np.array(['a', 'b', 'c', 'd', 'e', 'f', 'g', None], dtype=object)[np.where(rng.random({n}) < {share}, "
    "rng.integers(0, {k}, {n}), -1)]",
    "np.arange({n}) < {n} // 3",
]


def write_labels(rng: np.random.Generator, n: int) -> str:
    """Write a line that makes labels y, some of them missing."""
    values = {"n": max(n, 1), "k": int(rng.integers(1, 8)), "share": choose(rng, ["0.2", "0.5", "1.0"])}
    return f"y = {choose(rng, LABELS).format(**values)}"


def write_estimator(rng: np.random.Generator) -> str:
    """Write a script that fits one of the package's estimators and checks the result."""
    rows = write_rows(rng)
    if rng.random() < 0.3:
        lines = [rows.text + write_labels(rng, rows.n_rows)]
        lines += ["from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, PathSettings"]
        lines += [f"model = MinimumDensityClassifier({_add_seed(choose(rng, CLASSIFIERS))}).fit(X, y)"]
        check = CHECK_CLASSES
    else:
        name = str(rng.choice(list(CLUSTERERS), p=[0.5, 0.47, 0.03]))
        parameters = _add_seed(choose(rng, CLUSTERERS[name]))
        weights = f"X, sample_weight={choose(rng, WEIGHTS)}" if rng.random() < 0.15 else "X"
        home = "ravine_paper" if name == "MaximumMarginHyperplane" else "ravine"
        lines = [f"{rows.text}from ravine import MinimumDensityHyperplane, PathSettings\nfrom {home} import {name}"]
        lines += [f"model = {name}({parameters}).fit({weights.format(n=max(rows.n_rows, 1))})"]
        check = CHECK_CLUSTERS + ("" if "Tree" in name else CHECK_PLANE)
    if rng.random() < 0.15 and "MaximumMargin" not in lines[-1]:
        check += ROUND_TRIP
    return "\n".join(lines) + check.format(n=rows.n_rows)


def _add_seed(parameters: str) -> str:
    return f"{parameters}, random_state=0" if parameters else "random_state=0"
