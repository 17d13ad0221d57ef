"""Contacts of two groups of rows: neighbours, effective dimension, coordinates and the valley between the groups."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.spatial.distance import cdist

from ravine.density import ProjectedDensity, measure_evidence
from ravine.validity import contacts
from ravine.validity.contacts import estimate_dimension, find_contact, find_neighbours, measure_dimension
from support.shape_data import draw_ring, draw_rings, draw_spiral

RNG = np.random.default_rng(0)
CLOUD = RNG.normal(size=(300, 3))
PAIR = CLOUD + np.repeat([[0.0, 0.0, 0.0], [6.0, 0.0, 0.0]], 150, axis=0)
INPUTS = {
    "cloud": CLOUD[:80],
    "ties": RNG.integers(0, 5, size=(80, 2)).astype(float),
    "copies": np.repeat(CLOUD[:20], 3, axis=0),
    "one feature": CLOUD[:60, :1],
    "constant feature": np.column_stack([CLOUD[:50, 0], np.ones(50)]),
    "tiny": 1e-150 * CLOUD[:60],
    "huge": 1e150 * CLOUD[:60],
    "outlier": np.concatenate([CLOUD[:60], [[1e6, 0.0, 0.0]]]),
    "two rows": CLOUD[:2],
    "equal rows": np.ones((12, 2)),
}


def touch(points, first, second, dimension=2.0):
    return find_contact(points, find_neighbours(points, 10), dimension, first, second)


# ----------------------------------------------------------------------------------------------- neighbours


@pytest.mark.parametrize("name", INPUTS)
def test_neighbours_have_the_smallest_distances(name):
    x = INPUTS[name]
    nearest = find_neighbours(x, 7)
    distances = np.array([[np.linalg.norm((a - b) / np.abs(x).max()) for b in x] for a in x])
    for i in range(len(x)):
        others = [distances[i, j] for j in range(len(x)) if j != i]
        assert i not in nearest[i]
        assert len(set(nearest[i])) == min(7, len(x) - 1)
        assert_allclose(np.sort(distances[i, nearest[i]]), sorted(others)[:7], rtol=1e-6, atol=1e-12)


def test_single_row_has_no_neighbour():
    assert find_neighbours(np.zeros((1, 3)), 5).shape == (1, 0)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_dimension_is_that_of_a_line_a_plane_and_a_cube(d):
    rotation = np.linalg.qr(np.random.default_rng(d).normal(size=(6, 6)))[0][:d]
    points = np.random.default_rng(0).random((1500, d)) @ rotation
    assert measure_dimension(points, find_neighbours(points, 10)) == pytest.approx(d, rel=0.15)


@pytest.mark.parametrize("name", ["cloud", "copies", "one feature", "outlier", "tiny", "huge"])
def test_dimension_equals_a_mean_over_rows(name):
    points = INPUTS[name]
    nearest = find_neighbours(points, 8)
    sums = []
    for point, others in zip(points, nearest, strict=True):
        lengths = sorted(np.linalg.norm((points[others] - point) / np.abs(points).max(), axis=1))
        # A copy of a row is as near as nothing: it counts as if it were the last neighbour.
        sums.append(sum(np.log(lengths[-1] / length) for length in lengths[:-1] if length > 0.0))
    positive = [total for total in sums if total > 0.0]
    assert_allclose(measure_dimension(points, nearest), (8 - 2) / np.mean(positive), rtol=1e-6)
    assert_allclose(estimate_dimension(np.array(sums), 8), (8 - 2) / np.mean(positive))


@pytest.mark.parametrize("name", ["two rows", "equal rows"])
def test_dimension_is_one_if_nothing_is_known(name):
    assert measure_dimension(INPUTS[name], find_neighbours(INPUTS[name], 10)) == 1.0


# ----------------------------------------------------------------------------------------------- coordinates


def compute_coordinates(x, is_second):
    """Return the signed coordinates, row by row from all distances."""
    distances = cdist(x, x)
    np.fill_diagonal(distances, np.inf)
    ordered = np.sort(distances, axis=1)[:, :10]
    dimension = 8.0 / np.log(ordered[:, -1:] / ordered[:, :-1]).sum(axis=1).mean()
    weight = np.clip((dimension - 2.0) / 3.0, 0.0, 1.0)
    signed = []
    for i, row in enumerate(distances):
        other = np.sort(row[is_second != is_second[i]])[:5].mean()
        own = np.sort(row[is_second == is_second[i]])[:5].mean()
        expected = ordered[i, 1::2].mean()
        signed.append((1.0 if is_second[i] else -1.0) * (other - weight * own - (1.0 - weight) * expected))
    return np.array(signed)


@pytest.mark.parametrize("d", [1, 2, 3, 8])
def test_coordinates_are_those_of_all_pairs(d):
    x = np.random.default_rng(d).normal(size=(70, d))
    x[30:, 0] += 3.0
    found = contacts._compute_coordinates(x, np.arange(30), np.arange(30, 70))
    assert_allclose(found, compute_coordinates(x, np.arange(70) >= 30), rtol=1e-9, atol=1e-12)


def test_rows_near_the_boundary_are_those_within_a_few_steps():
    points = np.random.default_rng(1).random((400, 2))
    nearest, first = find_neighbours(points, 5), points[:, 0] < 0.5
    second = (points[:, 0] >= 0.5) & (points[:, 1] < 0.7)
    linked = {(i, j) for i, others in enumerate(nearest.tolist()) for j in others}
    linked |= {(j, i) for i, j in linked}
    inside = first | second
    near = {i for i, j in linked if (first[i] and second[j]) or (second[i] and first[j])}
    for n_steps in range(4):
        found = contacts._find_rows_near(nearest, first, second, n_steps, np.inf)
        assert set(np.flatnonzero(found).tolist()) == near
        near |= {i for i, j in linked if j in near and inside[i]}


def test_contact_uses_the_lowest_density_between_medians():
    contact = touch(PAIR, PAIR[:, 0] < 3.0, PAIR[:, 0] >= 3.0)
    medians = [np.median(contact.coordinates[contact.is_second == side]) for side in (False, True)]
    density = ProjectedDensity(contact.coordinates, contact.bandwidth)
    assert medians[0] < contact.at < medians[1]
    assert density(contact.at) <= 1.05 * density(np.linspace(*medians, 500)).min() + 1e-12
    assert contact.evidence == min(measure_evidence(contact.coordinates, contact.bandwidth, contact.at))


# ----------------------------------------------------------------------------------------------- evidence


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e100])
def test_separated_groups_have_a_valley(scale):
    rng = np.random.default_rng(0)
    points = rng.normal(size=(400, 2)) + np.repeat([[0.0, 0.0], [5.0, 0.0]], 200, axis=0)
    contact = touch(scale * points, points[:, 0] < 2.5, points[:, 0] >= 2.5)
    assert contact.evidence > 4.0
    assert np.mean((contact.coordinates > contact.at) == contact.is_second) > 0.95


def test_concentric_rings_have_a_valley():
    points, labels = draw_rings()
    assert touch(points, labels == 0, labels == 1).evidence > 8.0


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("kind", ["normal", "uniform", "five features", "ring", "spiral"])
def test_one_cloud_cut_in_half_has_no_valley(kind, seed):
    rng = np.random.default_rng(seed)
    points = {
        "normal": lambda: rng.normal(size=(400, 2)),
        "uniform": lambda: rng.random((400, 2)),
        "five features": lambda: rng.normal(size=(400, 5)),
        "ring": lambda: draw_ring(rng, 400),
        "spiral": lambda: draw_spiral(seed=seed),
    }[kind]()
    right = points[:, 0] > np.median(points[:, 0])
    assert touch(points, ~right, right, points.shape[1]).evidence < 3.0


@pytest.mark.parametrize("n", [0, 1, 9])
def test_contact_of_few_rows_is_unknown(n):
    first = np.arange(300) < n
    assert touch(CLOUD, first, ~first) is None


def test_groups_that_do_not_touch_have_no_contact():
    far = CLOUD + np.repeat([[0.0, 0.0, 0.0], [1e6, 0.0, 0.0]], 150, axis=0)
    assert touch(far, np.arange(300) < 150, np.arange(300) >= 150) is None


def test_equal_rows_have_no_valley():
    first = np.arange(40) % 2 == 0
    assert touch(np.ones((40, 2)), first, ~first).evidence == -np.inf


def test_large_contacts_are_measured_on_the_same_random_rows():
    points = np.random.default_rng(2).random((3000, 2))
    right = points[:, 0] > 0.5
    one, other = (touch(points, ~right, right) for _ in range(2))
    assert len(one.coordinates) <= contacts.MOST_ROWS
    assert_array_equal(one.coordinates, other.coordinates)
