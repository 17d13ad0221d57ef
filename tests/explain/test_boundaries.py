"""Boundaries between clusters: which clusters touch, and the evidence for a valley between them."""

import math

import numpy as np
import pytest

from ravine import MinimumDensityTree
from ravine.explain import BoundaryFinder, find_boundaries, format_evidence, get_known_evidence
from ravine.rows import as_rows
from support.shape_data import draw_ring


def draw_three_rings(n=450):
    rng = np.random.default_rng(3)
    return np.concatenate([draw_ring(rng, n // 3, radius) for radius in (0.8, 1.8, 2.8)])


X = draw_three_rings()


@pytest.fixture(scope="module")
def tree():
    return MinimumDensityTree(3, random_state=0).fit(X).tree_


def test_rows_of_the_fit_have_the_evidence_of_the_fit(tree):
    found = find_boundaries(tree, as_rows(X))
    assert {(b.first, b.second): b.evidence for b in found} == get_known_evidence(tree)
    assert len(found) == len(tree.joins.boundaries) > 0
    for boundary in found:
        assert boundary.contact.evidence == pytest.approx(boundary.evidence)


def test_pairs_are_those_with_nearest_neighbours_in_each_other(tree):
    leaves = tree.apply(X)
    pairs = BoundaryFinder(as_rows(X), leaves, 3).list_pairs(tree.cluster)
    distances = np.linalg.norm(X[:, None] - X, axis=2)
    np.fill_diagonal(distances, np.inf)
    nearest = np.argsort(distances, axis=1)[:, :10]
    labels = tree.cluster[leaves]
    expected = {tuple(sorted((int(labels[i]), int(labels[j])))) for i in range(len(X)) for j in nearest[i]}
    assert sorted(pairs) == sorted(pair for pair in expected if pair[0] != pair[1])


def test_cut_trees_are_measured_on_the_rows(tree):
    cut = tree.cut(n_clusters=2)
    assert get_known_evidence(cut) == {}
    (boundary,) = find_boundaries(cut, as_rows(X))
    assert (boundary.first, boundary.second) == (0, 1)
    assert boundary.evidence == boundary.contact.evidence > 4.0


def test_coordinates_have_the_signs_of_the_clusters(tree):
    for boundary in find_boundaries(tree, as_rows(X)):
        contact = boundary.contact
        assert np.median(contact.coordinates[~contact.is_second]) < contact.at
        assert np.median(contact.coordinates[contact.is_second]) > contact.at


@pytest.mark.filterwarnings("ignore::ravine.NoSplitWarning")
def test_convex_clusters_have_boundaries_too():
    rng = np.random.default_rng(0)
    for distance, is_valley in ((4.5, True), (0.0, False)):
        rows = rng.normal(size=(300, 2)) + np.repeat([[0.0, 0.0], [distance, 0.0]], 150, axis=0)
        tree = MinimumDensityTree(2, random_state=0).fit(rows).tree_
        (boundary,) = find_boundaries(tree, as_rows(rows))
        assert (boundary.evidence > 4.0) == is_valley


def test_few_rows_are_an_error(tree):
    with pytest.raises(ValueError, match="20 rows"):
        find_boundaries(tree, as_rows(X[:19]))


def test_evidence_in_words():
    assert format_evidence(9.57) == "z = 9.6"
    assert format_evidence(-math.inf) == "no valley"
    assert format_evidence(math.nan) == "too few rows"
