"""Hyperplanes and trees as HTML in notebooks."""

import re
import xml.etree.ElementTree as ET

import numpy as np

from ravine import (
    Hyperplane,
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
