"""The road from minimum density to maximum margin."""

import itertools
import math
import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.svm import SVC

from ravine import Hyperplane, MinimumDensityHyperplane
from ravine.optimise import FunctionObjective, Memory, minimise_on_sphere, run
from ravine_paper import bandwidth_path
from ravine_paper.optimise import find_hull_gap
from support import reference as ref
from support.simulate import two_clusters


def two_groups(rng, n=60, d=3, distance=6.0):
    X = rng.standard_normal((n, d))
    X[: n // 3] += distance * ref.unit(rng.standard_normal(d))
    return X


def same_partition(a, c):
    return np.array_equal(a, c) or np.array_equal(a, 1 - np.asarray(c))


def svm(X, labels):
    """Margin and normal of a linear SVM with a large C."""
    fitted = SVC(kernel="linear", C=1e8, tol=1e-8).fit(X, labels)
    w = fitted.coef_[0]
    return 1.0 / np.linalg.norm(w), w / np.linalg.norm(w), -fitted.intercept_[0] / np.linalg.norm(w)


# ------------------------------------------------------------------------------------------------- theorem convergence


@pytest.mark.parametrize("d", [1, 2, 3, 6])
def test_limit_is_the_maximum_margin_hyperplane_of_its_partition(d, rng):
    for _ in range(2):
        X = two_groups(rng, d=d)
        last = bandwidth_path(X, random_state=0, hyperplane=MinimumDensityHyperplane(alpha_max=0.9)).steps[-1]
        margin, normal, offset = svm(X, last.labels)
        assert last.margin == pytest.approx(margin, rel=1e-4)
        assert abs(normal @ last.hyperplane.normal) == pytest.approx(1.0, abs=1e-6)
        assert offset * np.sign(normal @ last.hyperplane.normal) == pytest.approx(last.hyperplane.offset, abs=1e-3)
        gap = find_hull_gap(X[last.labels == 1], X[last.labels == 0])
        assert last.margin <= 0.5 * gap.distance * (1 + 1e-9)


def test_the_partition_is_right_from_some_bandwidth_on(rng):
    """Lemma 4, seen from both ends: the smaller of two steps never changes the partition after h'."""
    X = two_groups(rng, distance=5.0)
    path = bandwidth_path(X, random_state=0, hyperplane=MinimumDensityHyperplane(alpha_max=0.9))
    settled = [step for step in path.steps if step.bandwidth <= path.settled]
    assert len(settled) > 10
    assert all(same_partition(step.labels, settled[-1].labels) for step in settled)
    # From there on the angle to the step before goes to zero.
    assert settled[-1].angle < 1e-5
    assert path.margins[-1] == path.margins[-6:].max() or path.margins[-1] == pytest.approx(path.margins[-6:].max())


def test_steps_describe_themselves(rng):
    X = two_groups(rng)
    path = bandwidth_path(X, n_bandwidths=8, random_state=0)
    for before, step in itertools.pairwise(path.steps):
        plane = step.hyperplane
        distance = X @ plane.normal - plane.offset
        assert step.margin == pytest.approx(np.abs(distance).min(), abs=1e-12)
        assert_array_equal(step.labels, distance > 0)
        log_density = ref.log_density(X @ plane.normal, step.bandwidth, np.array([plane.offset]))
        assert step.log_density == pytest.approx(float(np.squeeze(log_density)), rel=1e-6)
        kernels = np.exp(-0.5 * (distance**2 - step.margin**2) / step.bandwidth**2)
        assert_array_equal(step.support, np.flatnonzero(kernels >= 1e-3))
        assert step.angle == pytest.approx(math.acos(min(1.0, plane.normal @ before.hyperplane.normal)), abs=1e-7)
        assert plane.normal @ before.hyperplane.normal >= 0.0
        assert step.same_partition == same_partition(step.labels, before.labels)
    first = path.steps[0]
    assert math.isnan(first.angle)
    assert first.labels.sum() <= 30
    np.testing.assert_allclose(path.bandwidths[-1] / path.bandwidths[0], 1e-6)


def test_nothing_underflows(rng):
    X = two_groups(rng, distance=20.0)
    path = bandwidth_path(X, [1.0, 1e-2, 1e-4, 1e-6, 1e-8], random_state=0)
    last = path.steps[-1]
    assert last.log_density == pytest.approx(-0.5 * (last.margin / 1e-8) ** 2, rel=1e-6)
    assert last.log_density < -1e16
    assert last.hyperplane.density == 0.0
    assert last.converged
    assert np.isfinite(path.margins).all()


def test_support_points_are_those_of_the_svm(rng):
    X = two_groups(rng, d=2)
    last = bandwidth_path(X, random_state=0, hyperplane=MinimumDensityHyperplane(alpha_max=0.9)).steps[-1]
    gap = find_hull_gap(X[last.labels == 1], X[last.labels == 0])
    ones, zeros = np.flatnonzero(last.labels == 1), np.flatnonzero(last.labels == 0)
    assert set(last.support) <= {*ones[gap.first], *zeros[gap.second]}
    assert len(last.support) >= 2


def test_tiny_bandwidths_cost_few_evaluations(rng):
    X = two_groups(rng, n=200)
    path = bandwidth_path(X, random_state=0, hyperplane=MinimumDensityHyperplane(alpha_max=0.9, init=[[1.0, 0.0, 0.0]]))
    assert max(step.n_evaluations for step in path.steps[5:]) <= 40


# ------------------------------------------------------------------------------------------------- labels


def test_with_all_labels_the_limit_is_the_linear_svm(rng):
    for d in (1, 2, 3):
        X = two_groups(rng, d=d, distance=7.0)
        y = (np.arange(60) < 20).astype(int)
        margin, normal, _ = svm(X, y)
        last = bandwidth_path(X, y=y, random_state=0, hyperplane=MinimumDensityHyperplane(alpha_max=1.5)).steps[-1]
        assert same_partition(last.labels, y)
        assert last.margin == pytest.approx(margin, rel=1e-4)
        assert abs(normal @ last.hyperplane.normal) == pytest.approx(1.0, abs=1e-6)


def test_labels_choose_the_gap(rng):
    """Semi-supervised lemma: the widest margin among those that classify the labels, not the widest of all."""
    X = rng.standard_normal((90, 2)) * 0.4
    X[:, 0] += np.repeat([-7.0, 0.0, 4.0], 30)
    free = bandwidth_path(X, random_state=0, hyperplane=MinimumDensityHyperplane(alpha_max=1.4)).steps[-1]
    assert same_partition(free.labels, np.repeat([1, 0, 0], 30))
    y = np.full(90, -1)
    y[[0, 30, 60]] = [0, 0, 1]
    bound = bandwidth_path(X, y=y, random_state=0, hyperplane=MinimumDensityHyperplane(alpha_max=1.4)).steps[-1]
    assert same_partition(bound.labels, np.repeat([0, 0, 1], 30))
    assert bound.margin == pytest.approx(0.5 * find_hull_gap(X[60:], X[:60]).distance, rel=1e-5)
    assert bound.margin < free.margin


# ------------------------------------------------------------------------------------------------- input


@pytest.mark.parametrize(("scale", "shift"), [(1e-6, 0.0), (1e6, 0.0), (1.0, 1e6)])
def test_units_and_offsets_do_not_matter(scale, shift, rng):
    X = two_groups(rng)
    one, other = bandwidth_path(X, random_state=0), bandwidth_path(X * scale + shift, random_state=0)
    assert same_partition(one.steps[-1].labels, other.steps[-1].labels)
    np.testing.assert_allclose(other.margins[-1], one.margins[-1] * scale, rtol=1e-5)


def test_integer_weights_repeat_rows_and_zero_drops_them(rng):
    X = two_groups(rng, d=2)
    w = rng.integers(0, 3, 60)
    one = bandwidth_path(X, [0.5, 0.05, 0.005], sample_weight=w, random_state=0)
    other = bandwidth_path(np.repeat(X, w, axis=0), [0.5, 0.05, 0.005], random_state=0)
    np.testing.assert_allclose(one.margins, other.margins, rtol=1e-4)
    assert not np.isin(np.flatnonzero(w == 0), one.steps[-1].support).any()


def test_fewer_rows_than_columns(rng):
    X = rng.standard_normal((12, 30))
    X[:5, 0] += 8.0
    last = bandwidth_path(X, random_state=0, hyperplane=MinimumDensityHyperplane(alpha_max=0.9)).steps[-1]
    assert last.margin == pytest.approx(
        0.5 * find_hull_gap(X[last.labels == 1], X[last.labels == 0]).distance, rel=1e-3
    )


@pytest.mark.parametrize(
    "X", [np.arange(6.0)[:, None], np.eye(4), np.array([[0.0], [1.0]]), np.ones((4, 2)) * [[0], [0], [1], [2]]]
)
def test_odd_data_end_without_an_error(X):
    path = bandwidth_path(X, random_state=0)
    assert np.isfinite(path.margins).all()
    assert isinstance(path.steps[-1].hyperplane, Hyperplane)


def test_bad_input_is_refused(rng):
    X = two_groups(rng)
    with pytest.raises(ValueError, match="decreasing order"):
        bandwidth_path(X, [0.1, 0.2])
    with pytest.raises(ValueError, match="bandwidths"):
        bandwidth_path(X, [0.1, -0.2])
    with pytest.raises(ValueError, match="decreasing order"):
        bandwidth_path(X, [])
    with pytest.raises(ValueError, match="too small"):
        bandwidth_path(X, [0.1, 1e-15])
    with pytest.raises(ValueError, match="equal"):
        bandwidth_path(np.ones((4, 2)))
    with pytest.raises(ValueError, match="classes, got 3"):
        bandwidth_path(X, y=np.arange(60) % 3)
    with pytest.raises(ValueError, match="n_bandwidths"):
        bandwidth_path(X, n_bandwidths=1)
    with pytest.raises(TypeError, match="unexpected keyword"):
        bandwidth_path(X, colour="red")


# ------------------------------------------------------------------------------------------------- optimiser


def test_rescaled_memory_descends_like_a_steeper_function(rng):
    one, other = Memory(), Memory()
    for _ in range(4):
        s, noise = rng.standard_normal((2, 5))
        y = s + 0.1 * noise
        one.push(s, y)
        other.push(s, 16.0 * y)
    one.rescale(16.0)
    g = rng.standard_normal(5)
    np.testing.assert_allclose(one.descend(g), other.descend(g), rtol=1e-12)


def test_a_carried_angle_saves_trials_on_steep_functions(rng):
    """With a kink and slopes of 1e10, nearly all trials of a first angle of 0.1 are wasted."""
    e, steep = np.eye(6), 1e10
    A = np.diag(np.linspace(1.0, 5.0, 6))
    v = ref.unit(1e-7 * rng.standard_normal(6) + e[1])

    def function(v):
        return steep * abs(v[0]) + v @ A @ v

    def gradient(v):
        return steep * np.sign(v[0]) * e[0] + 2.0 * A @ v

    usual, carried = (
        run(
            minimise_on_sphere(
                FunctionObjective(function, gradient), v, max_iter=3, tolerance=1e-9, resolution=1e-6, first_angle=angle
            )
        )
        for angle in (None, 1e-7)
    )
    assert carried.n_trials < usual.n_trials


def test_labels_that_cannot_be_separated_are_said():
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    with pytest.warns(UserWarning, match="2 labelled"):
        bandwidth_path(X, y=[0, 1, 0, 1], n_bandwidths=5)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        bandwidth_path(X, y=[0, 0, 1, 1], n_bandwidths=5)


def test_words_for_starts_are_refused_with_labels():
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    with pytest.raises(ValueError, match="init"):
        bandwidth_path(X, y=[0, 0, 1, 1], n_bandwidths=5, hyperplane=MinimumDensityHyperplane(init="pca"))


@pytest.mark.filterwarnings("error")
def test_memory_that_is_not_set_is_not_rescaled():
    memory = Memory(4)
    pairs, _, _ = memory.buffers(3)
    memory._pairs[:] = 1e308
    memory.rescale(16.0)
    assert pairs.max() == 1e308


@pytest.mark.parametrize("scale", [2.0**-600, 2.0**515, 2.0**965])
def test_paths_of_bandwidths_do_not_depend_on_the_scale(scale):
    X, _ = two_clusters(60, 3, separation=4.0)
    found, expected = (bandwidth_path(rows, random_state=0).steps[-1] for rows in (X * scale, X))
    assert_array_equal(found.labels, expected.labels)
    assert_allclose(found.margin, expected.margin * scale)


def test_paths_to_bandwidths_that_vanish_are_refused(rng):
    with pytest.raises(ValueError, match="smallest number"):
        bandwidth_path(rng.normal(size=(50, 3)) * 1e-318)
