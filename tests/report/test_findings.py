"""The report names typical rows, memberships and outliers of each cluster."""

import numpy as np
import pytest
from sklearn.datasets import make_blobs

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, PathSettings, load, save
from ravine.report import write_report
from ravine.report.findings import collect_findings
from ravine.report.payload import Naming, find_typical_rows
from ravine.report.writer import render_typical_rows

X, Y = make_blobs([60, 50, 40], centers=[[0, 0], [9, 0], [0, 9]], random_state=0)
X[0] = 60.0
QUICK = {"init": "pca", "n_init": 1, "random_state": 0, "path": PathSettings(n_alpha=3, polish=False)}
QUICK_TREE = {"hyperplane": MinimumDensityHyperplane(**QUICK), "random_state": 0}


def find(estimator, keys=None):
    found = collect_findings(estimator, X, None, feature_tests=False)
    return find_typical_rows(
        found, Naming(["a<b", "c"], keys, "id", "label", np.zeros(2), np.ones(2), np.zeros(2, bool))
    )


def test_lines_agree_with_the_estimator():
    model = MinimumDensityTree(3, contamination=0.02, **QUICK_TREE).fit(X)
    lines = find(model)
    assert [line.cluster for line in lines] == [0, 1, 2]
    assert sum(line.n_outliers for line in lines) == model.n_outliers_ == 3
    assert "0" in {name for line in lines for name in line.outliers}
    for line in lines:
        assert line.rows == [str(i) for i in model.find_exemplars(X)[line.cluster]]
        assert line.membership == pytest.approx(model.predict_proba(X)[model.predict(X) == line.cluster].max(1).mean())
        values = dict(line.center)
        assert float(values["c"]) == pytest.approx(model.compute_centers(X)[line.cluster, 1], abs=0.05)


def test_names_are_escaped():
    keys = np.array([f"<i>{i}" for i in range(len(X))])
    page = render_typical_rows(find(MinimumDensityTree(3, **QUICK_TREE).fit(X), keys), "id")
    assert "&lt;i&gt;" in page
    assert "<i>" not in page
    assert "Outliers" not in page
    assert render_typical_rows([], "id") == ""


def test_page_of_a_clusterer_has_the_section(tmp_path):
    path = tmp_path / "report.html"
    model = MinimumDensityHyperplane(contamination=0.1, **QUICK).fit(X)
    write_report(path, model, X)
    assert "Typical rows and outliers" in path.read_text(encoding="utf-8")
    write_report(path, MinimumDensityClassifier(random_state=0).fit(X, Y), X)
    assert "Typical rows" not in path.read_text(encoding="utf-8")
    save(MinimumDensityTree(3, **QUICK_TREE).fit(X), tmp_path / "m")
    write_report(path, load(tmp_path / "m"), X)
    assert "Typical rows" in path.read_text(encoding="utf-8")
