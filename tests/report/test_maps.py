"""The map of a report shows the directions in which groups are farthest apart."""

import numpy as np
import pytest
from scipy.linalg import eigh
from scipy.special import erf
from sklearn.covariance import ledoit_wolf
from sklearn.neighbors import NearestNeighbors

from ravine import MinimumDensityTree
from ravine.report.findings import collect_findings
from ravine.report.maps import find_map


def correlate(one, other):
    """Return the absolute correlations of the columns of two arrays of coordinates."""
    return [abs(np.corrcoef(one[:, k], other[:, k])[0, 1]) for k in range(one.shape[1])]


def place_slowly(X, part, group_of_part):
    """Return the two coordinates: pairwise weights in two loops, and a generalised eigenproblem."""
    means = [X[part == p].mean(axis=0) for p in range(len(group_of_part))]
    within = ledoit_wolf(X - np.array(means)[part], assume_centered=True)[0]
    between = np.zeros_like(within)
    for a in range(len(means)):
        for b in range(a):
            if group_of_part[a] != group_of_part[b]:
                difference = means[a] - means[b]
                distance = np.sqrt(difference @ np.linalg.solve(within, difference))
                weight = (part == a).sum() * (part == b).sum() * erf(distance / np.sqrt(8)) / distance**2
                between += weight * np.outer(difference, difference)
    return (X - X.mean(axis=0)) @ eigh(between, within)[1][:, ::-1][:, :2]


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    part = np.repeat(np.arange(5), (60, 30, 50, 40, 20))
    return (rng.normal(size=(5, 6)) * 4)[part] + rng.normal(size=(200, 6)) @ rng.normal(size=(6, 6)), part


@pytest.mark.parametrize("group_of_part", [[0, 1, 2, 3, 4], [0, 1, 1, 0, 2]])
def test_axes_are_the_weighted_discriminants(blobs, group_of_part):
    X, part = blobs
    found = find_map(X, part, np.array(group_of_part))
    assert found.n_separating == 2
    assert min(correlate(found.place(X), place_slowly(X, part, group_of_part))) > 1 - 1e-9


def test_axes_do_not_depend_on_shift_and_unit(blobs):
    X, part = blobs
    one, other = (find_map(rows, part, np.arange(5)).place(rows) for rows in (X, 1e-3 * X + 7.0))
    assert min(correlate(one, other)) > 1 - 1e-9


def test_one_group_is_shown_by_principal_components(blobs):
    X, part = blobs
    found = find_map(X, part, np.zeros(5, dtype=int))
    components = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[2][:2]
    assert found.n_separating == 0
    assert min(correlate(found.place(X), X @ components.T)) > 1 - 1e-9


def test_two_groups_are_apart_along_the_first_axis_only(blobs):
    X, part = blobs
    inside = part < 2
    two = find_map(X[inside], part[inside], np.arange(2))
    at = two.place(X[inside])
    assert two.n_separating == 1
    assert abs(np.corrcoef(at.T)[0, 1]) < 1e-9
    assert np.abs(np.diff([at[part[inside] == k, 0].mean() for k in range(2)])) > 2 * at[part[inside] == 0, 0].std()


def test_rings_hidden_in_five_dimensions_are_apart():
    rng = np.random.default_rng(0)
    angle, radius = rng.uniform(0, 2 * np.pi, 600), np.repeat([0.7, 1.8, 3.0], 200) + rng.normal(0, 0.12, 600)
    flat = np.column_stack([radius * np.cos(angle), radius * np.sin(angle), rng.normal(0, 0.3, (600, 3))])
    X = flat @ np.linalg.qr(rng.normal(size=(5, 5)))[0]
    mdt = MinimumDensityTree(3, random_state=0).fit(X)
    assert mdt.tree_.joins is not None
    at = collect_findings(mdt, X, None, feature_tests=False).map.place(X)
    nearest = NearestNeighbors(n_neighbors=2).fit(at).kneighbors(at)[1][:, 1]
    assert (mdt.labels_[nearest] == mdt.labels_).mean() > 0.95


def test_named_features_have_the_largest_correlations(blobs):
    X, part = blobs
    found = find_map(X, part, np.arange(5))
    for axis, named in zip(found.place(X).T, found.named, strict=True):
        correlations = [np.corrcoef(axis, column)[0, 1] for column in X.T]
        assert named[0][0] == np.argmax(np.abs(correlations))
        assert named[0][1] > 0
        np.testing.assert_allclose([r for _, r in named], [correlations[j] for j, _ in named])


def test_two_features_are_the_axes():
    X = np.random.default_rng(0).normal(size=(30, 2))
    found = find_map(X, np.repeat([0, 1, 2], 10), np.arange(3))
    assert min(correlate(found.place(X), X)) > 1 - 1e-12
    assert [[j for j, _ in named] for named in found.named] == [[0], [1]]


@pytest.mark.parametrize(
    "X",
    [np.ones((5, 4)), np.ones((1, 3)), np.column_stack([np.arange(9.0), np.ones((9, 2))]), np.arange(9.0)[:, None]],
)
def test_rows_on_a_line_have_a_zero_coordinate(X):
    found = find_map(X, np.zeros(len(X), dtype=int), np.zeros(1, dtype=int))
    assert found.axes.shape == (2, X.shape[1])
    assert (found.place(X)[:, 1] == 0.0).all()
    assert found.named[1] == []


def test_many_features_are_placed_by_leading_components():
    rng = np.random.default_rng(0)
    X, part = rng.normal(size=(300, 400)), np.repeat([0, 1, 2], 100)
    X[:100, :5] += 6.0
    X[100:200, 5:10] += 6.0
    at = find_map(X, part, np.arange(3)).place(X)
    nearest = NearestNeighbors(n_neighbors=2).fit(at).kneighbors(at)[1][:, 1]
    assert (part[nearest] == part).mean() > 0.95
