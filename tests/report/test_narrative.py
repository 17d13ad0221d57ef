"""Reports of joined trees show the boundaries between the clusters of every cut."""

import numpy as np
import pytest

from ravine import MinimumDensityHyperplane, MinimumDensityTree, ProjectedDensity
from ravine.explain import format_evidence
from ravine.report.findings import collect_findings
from ravine.report.narrative import METHOD, METHOD_OF_CELLS, write_story
from ravine.rows import as_rows
from ravine.tree.graph import NeighbourGraph
from ravine.validity.contacts import find_contact
from support.report_files import report
from support.shape_data import draw_ring

RNG = np.random.default_rng(3)
X = np.concatenate([draw_ring(RNG, 150, radius) for radius in (0.8, 1.8, 2.8)])


@pytest.fixture(scope="module")
def mdt():
    return MinimumDensityTree(3, random_state=0).fit(X)


@pytest.fixture(scope="module")
def page(mdt, tmp_path_factory):
    return report(tmp_path_factory.mktemp("report"), mdt, X, source="rings")


def test_boundaries_of_the_result_have_the_evidence_of_the_fit(mdt, page):
    data = page[1].data
    groups = data["cuts"][data["firstCut"]]["groups"]
    shown = {
        tuple(sorted(map(groups.index, boundary["groups"]))): boundary["z"]
        for boundary in data["boundaries"]
        if set(boundary["groups"]) <= set(groups)
    }
    joins = mdt.tree_.joins
    pairs = zip(joins.boundaries.tolist(), joins.boundary_evidence.tolist(), strict=True)
    assert shown == {tuple(pair): format_evidence(z) for pair, z in pairs}
    assert data["joined"]


def test_every_cut_has_its_boundaries(mdt, page):
    """Each boundary has the contact of the two clusters of its cut, measured from the labels."""
    data = page[1].data
    graph = NeighbourGraph.of(as_rows(X), np.random.default_rng(0), 3)
    for k in (2, 3):
        groups, labels = data["cuts"][k - 1]["groups"], mdt.cut(n_clusters=k)
        here = [boundary for boundary in data["boundaries"] if set(boundary["groups"]) <= set(groups)]
        assert len(here) >= k - 1
        for boundary in here:
            first, second = (labels[graph.indices] == groups.index(g) for g in boundary["groups"])
            contact = find_contact(graph.points, graph.nearest, graph.dimension, first, second)
            assert boundary["z"] == format_evidence(contact.evidence)
            assert boundary["near"] == [int((contact.is_second == side).sum()) for side in (False, True)]
            np.testing.assert_allclose(boundary["at"], contact.coordinates - contact.at, rtol=1e-2, atol=1e-3)
            curve = boundary["curve"]
            points = np.linspace(curve["low"], curve["high"], len(curve["y"]))
            expected = ProjectedDensity(contact.coordinates - contact.at, contact.bandwidth)(points)
            np.testing.assert_allclose(np.array(curve["y"]) * curve["peak"] / 1e4, expected, atol=2e-4 * curve["peak"])


def test_boundaries_are_sorted_with_the_weakest_first(mdt):
    evidence = [boundary.evidence for boundary in collect_findings(mdt, X, None).boundaries]
    assert evidence == sorted(evidence)


def test_story_counts_clusters_and_cells(mdt, page):
    story = " ".join(write_story(collect_findings(mdt, X, None), "rings"))
    assert "3 clusters" in story
    assert f"{mdt.tree_.n_leaves} cells" in story
    assert METHOD_OF_CELLS in story
    assert METHOD not in story
    text, _ = page
    assert "clusters 0 and" in text  # without scripts, too


def test_automatic_number_of_joined_clusters_is_not_called_tested():
    mdt = MinimumDensityTree(random_state=0).fit(X)
    story = " ".join(write_story(collect_findings(mdt, X, None), "rings"))
    assert "P-value of the first split" not in story
    assert METHOD_OF_CELLS in story


def test_other_rows_are_measured_as_far_as_they_are_enough(mdt, tmp_path):
    found = collect_findings(mdt, X[:12], None)
    assert len(found.boundaries) == len(mdt.tree_.joins.boundaries)
    assert all(boundary.curve is None for boundary in found.boundaries)
    report(tmp_path, mdt, X[:12])


def test_convex_trees_have_no_boundaries(tmp_path):
    rows = np.random.default_rng(0).normal(size=(200, 2)) + np.repeat([[0, 0], [7, 0]], 100, axis=0)
    mdt = MinimumDensityTree(2, random_state=0).fit(rows)
    found = collect_findings(mdt, rows, None)
    assert found.boundaries == []
    data = report(tmp_path, mdt, rows)[1].data
    assert (data["joined"], data["boundaries"]) == (False, [])


@pytest.mark.parametrize("is_ring", [True, False])
def test_story_of_a_hyperplane_says_whether_its_valley_is_a_bend(is_ring):
    rng = np.random.default_rng(0)
    X = draw_ring(rng, 300) if is_ring else rng.normal(size=(300, 2)) + np.repeat([[0.0], [8.0]], 150, axis=0)
    mdh = MinimumDensityHyperplane(test="pooled", random_state=0).fit(X)
    assert mdh.hyperplane_.splits
    assert ("bent" in " ".join(write_story(collect_findings(mdh, X, None), "rows"))) == is_ring
