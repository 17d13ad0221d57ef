"""Hyperplanes, trees and results of tests as HTML in notebooks."""

import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

from ravine import (
    Hyperplane,
    MinimumDensityClassifier,
    MinimumDensityHyperplane,
    MinimumDensityTree,
    compare_clusters,
    describe_rules,
    fit_consensus,
    valley_test,
)


def parsed(html):
    assert "<script" not in html
    assert not re.search(r"https?:|\bon\w+=|url\(", html)
    colours = set(re.findall(r'(?:fill|stroke)="([^"]*)"', html))
    assert colours <= {"currentColor", "none"}  # the page's own colour, light or dark
    return ET.fromstring(html)


def test_hyperplane_is_a_table_and_its_largest_weights(mdh):
    plane = mdh.hyperplane_
    page = parsed(plane._repr_html_())
    cells = dict(zip([e.text for e in page.iter("th")], [e.text for e in page.iter("td")], strict=True))
    assert cells["offset"] == f"{plane.offset:.4g}"
    assert cells["relative depth"] == f"{plane.relative_depth:.4g}"
    titles = [e.text for e in page.iter("title")]
    order = np.argsort(-np.abs(plane.normal))
    assert titles == [f"x{j}: {plane.normal[j]:+.4f}" for j in order]
    many = np.ones(1000) / np.sqrt(1000.0)
    assert "24 largest of 1000" in Hyperplane(many, 0.0)._repr_html_()
    assert len(Hyperplane(many, 0.0)._repr_html_()) < 10_000
    assert "–" in Hyperplane(many, 0.0)._repr_html_()
    assert "No split" in parsed(Hyperplane.at_infinity([1.0, 0.0])._repr_html_())[1][0].text


def test_tree_is_a_table_and_its_shape(mdt):
    page = parsed(mdt.tree_._repr_html_())
    sizes = [e.text for e in page.iter("td")]
    assert sizes == [f"{mdt.tree_.size[leaf]} rows" for leaf in mdt.tree_.leaves()]
    assert len(list(page.iter("rect"))) == 4
    assert len(list(page.iter("circle"))) == 3
    lines = {line.lstrip("│├└─ ") for line in repr(mdt.tree_).splitlines()[1:]}
    assert {e.text for e in page.iter("title")} == lines
    one = parsed(mdt.tree_.cut(1)._repr_html_())
    assert len(list(one.iter("rect"))) == 1


def list_texts(html):
    """Return the texts of all tables of one or more sections."""
    return [e.text for e in parsed(f"<div>{html}</div>").iter() if e.tag in ("td", "th", "div") and e.text]


@pytest.mark.parametrize("method", ["pooled", "exact"])
def test_valley_test_shows_the_lines_that_it_prints(method, blobs):
    result = valley_test(blobs, method=method, random_state=0)
    assert list_texts(result._repr_html_()) == [line.strip() for line in str(result).split("\n")]
    assert repr(result) == str(result)


def test_feature_tests_are_a_table_of_each_comparison(mdt, blobs):
    tests = compare_clusters(mdt, blobs, feature_names=["a", "<b>", "c"])
    texts = list_texts(tests._repr_html_())
    assert [text for text in texts if text.startswith("cluster ")] == [
        f"cluster {k} and all other rows" for k in range(4)
    ]
    for k, j in np.ndindex(tests.effect.shape):
        if not np.isnan(tests.adjusted[k]).all():
            assert f"{tests.effect[k, j]:+.2f}" in texts
            assert f"{tests.effect[k, j]:+8.2f} sd" in str(tests)
    assert "<b>" in texts


def test_too_few_rows_are_the_reason_in_place_of_a_table(mdt, blobs):
    tests = compare_clusters(mdt, blobs[mdt.labels_ < 4][::8])
    assert "not tested: there are too few rows" in list_texts(tests._repr_html_())


def test_consensus_shows_sizes_and_agreement(blobs):
    holes = blobs.copy()
    holes[np.random.default_rng(0).random(holes.shape) < 0.05] = np.nan
    consensus = fit_consensus(MinimumDensityTree(4, random_state=0), holes)
    texts = list_texts(consensus._repr_html_())
    assert texts[0] == repr(consensus).split("\n")[0] == "Consensus of 8 completions: 4 clusters of 160 rows"
    assert [f"{n} rows" for n in np.bincount(consensus.labels)] == [text for text in texts if text.endswith(" rows")][
        1:
    ]
    assert repr(consensus).split("\n")[1].strip() in texts


def test_names_of_a_data_frame_are_in_text_and_notebook(blobs):
    frame = pd.DataFrame(blobs, columns=["alpha", "beta", "a<b"])
    tree = MinimumDensityTree(4, random_state=0).fit(frame).tree_
    assert "·alpha" in tree.rules(cluster=0, n_features=3)
    plane = MinimumDensityHyperplane(random_state=0).fit(frame).hyperplane_
    assert "·beta" in plane.report()
    for one in (plane, tree.hyperplane(0)):
        titles = [e.text for e in parsed(one._repr_html_()).iter("title")]
        assert {title.partition(":")[0] for title in titles} == set(frame.columns)
    y = np.where(np.arange(160) % 4, -1, np.repeat([0, 1, 2, 3], 40))
    mdc = MinimumDensityClassifier().fit(frame, y)
    assert all("·alpha" in plane.report() for plane in mdc.hyperplanes_.values())
    assert tree.cut(2).feature_names == ("alpha", "beta", "a<b")


def test_rules_are_shown_line_by_line(mdt):
    for text in (mdt.tree_.rules(1), mdt.tree_.rules(cluster=1), describe_rules(mdt), mdt.tree_.hyperplane(0).report()):
        assert repr(text) == str(text)
        assert "\n" in text
        assert isinstance(text, str)
