"""Self-tuning spectral clustering against a slow twin, its landmarks against all rows, and data with known clusters."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.linalg import sqrtm, subspace_angles
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine import NoSplitWarning
from ravine_paper.baselines import SelfTuningSpectral
from ravine_paper.baselines._shared.distances import compute_squared_distances
from ravine_paper.baselines.clustering.affinity_eigenvectors import (
    compute_nystrom_degrees,
    extend_in_one_shot,
    extend_in_two_steps,
    find_exact_eigenvectors,
    find_nystrom_eigenvectors,
)
from ravine_paper.baselines.clustering.local_affinities import (
    SCALE_FLOOR,
    centre_and_scale,
    compute_affinities,
    compute_local_scales,
)
from support.simulate import mixture, two_clusters


def rings(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, n), np.where(y, 3.0, 1.0) + 0.1 * rng.standard_normal(n)
    return np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1), y


def slow_scales(X, k):
    """Compute the distance to the k-th nearest other row, row by row."""
    return np.array(
        [np.sort([np.linalg.norm(x - y) for j, y in enumerate(X) if j != i])[k - 1] for i, x in enumerate(X)]
    )


def slow_matrix(X, scales, *, diagonal):
    """Compute D^-1/2 A D^-1/2, entry by entry."""
    n = len(X)
    A = np.full((n, n), float(diagonal))
    for i in range(n):
        for j in range(n):
            if i != j:
                A[i, j] = np.exp(-np.sum((X[i] - X[j]) ** 2) / (scales[i] * scales[j]))
    return A / np.sqrt(np.outer(A.sum(axis=1), A.sum(axis=1)))


def slow_embedding(matrix, k):
    values, vectors = np.linalg.eigh(matrix)
    top = vectors[:, ::-1][:, :k]
    return values[::-1][:k], top / np.linalg.norm(top, axis=1, keepdims=True)


def up_to_sign(one, other, **tolerance):
    signs = np.sign((one * other).sum(axis=0))
    assert_allclose(one * signs, other, **tolerance)


@parametrize_with_checks([SelfTuningSpectral()], expected_failed_checks=lambda estimator: {})
def test_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.slow
@parametrize_with_checks(
    [SelfTuningSpectral(n_landmarks=20, duplicates="floor")], expected_failed_checks=lambda estimator: {}
)
def test_landmarks_pass_every_check_of_scikit_learn(estimator, check):
    check(estimator)


# ----------------------------------------------------------------------------------------------- the slow twin


@pytest.mark.parametrize(
    ("change", "rtol"),
    [
        (lambda X: X, 1e-9),
        (lambda X: X.astype(np.float32), 1e-9),
        (lambda X: np.asfortranarray(X), 1e-9),
        (lambda X: X + 1e8, 1e-5),
        (lambda X: X * 1e-150, 1e-9),
        (lambda X: X * 1e150, 1e-9),
        (lambda X: np.hstack([X, np.full((len(X), 1), 7.0)]), 1e-9),
        (lambda X: np.hstack([X] * 20), 1e-9),
    ],
    ids=["plain", "float32", "fortran", "offset", "tiny", "huge", "constant column", "wide"],
)
def test_embedding_is_that_of_the_slow_twin(change, rtol):
    X = change(two_clusters(60, 3, separation=4.0)[0])
    spectral = SelfTuningSpectral(random_state=0).fit(X)
    unit = np.abs(X - X.mean(axis=0)).max()
    twin = (X.astype(np.float64) - X.astype(np.float64).mean(axis=0)) / unit
    scales = slow_scales(twin, 7)
    assert_allclose(spectral.scales_ / unit, scales, rtol=rtol)
    values, embedding = slow_embedding(slow_matrix(twin, scales, diagonal=0.0), 2)
    assert_allclose(spectral.eigenvalues_, values, rtol=max(rtol, 1e-8))
    up_to_sign(spectral.embedding_, embedding, atol=max(rtol, 1e-7))


def test_labels_are_those_of_the_signs_between_two_clusters():
    X, y = two_clusters(120, 3)
    assert_array_equal(SelfTuningSpectral(random_state=0).fit(X).labels_, y)


@pytest.mark.parametrize("d", [3, 100])
def test_distances_are_exact_for_rows_that_are_almost_equal(d):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((40, d))
    X[1], X[2], X[3] = X[0], X[0] + 1e-9, X[0] * (1 + 1e-6)
    exact = np.array([[np.sum((x - y) ** 2) for y in X] for x in X])
    assert_allclose(compute_squared_distances(X, X), exact, rtol=1e-9)
    far = X.copy()
    far[:20] += 1e7  # all within either half are close, relative to their norms
    exact = np.array([[np.sum((x - y) ** 2) for y in far] for x in far])
    assert_allclose(compute_squared_distances(far, far), exact, rtol=1e-9)


@pytest.mark.parametrize("n", [30, 1100])
def test_leading_eigenvectors_are_those_of_a_dense_solver(n):
    rng = np.random.default_rng(0)
    matrix = rng.standard_normal((n, n))
    matrix = matrix + matrix.T
    expected, vectors = np.linalg.eigh(matrix)
    values, found = find_exact_eigenvectors(matrix.copy(), 3)
    assert_allclose(values, expected[::-1][:3], rtol=1e-9)
    up_to_sign(found, vectors[:, ::-1][:, :3], atol=1e-7)


def test_an_eigenvalue_that_is_repeated_is_found_as_often():
    blocks = np.kron(np.eye(4), np.full((400, 400), 1.0 / 400))
    values, vectors = find_exact_eigenvectors(blocks.copy(), 4)
    assert_allclose(values, 1.0, rtol=1e-9)
    assert_allclose(vectors.T @ vectors, np.eye(4), atol=1e-9)


# ----------------------------------------------------------------------------------------------- known clusters


@pytest.mark.parametrize("n_landmarks", [None, 200])
def test_two_rings_are_separated(n_landmarks):
    X, y = rings()
    labels = SelfTuningSpectral(n_landmarks=n_landmarks, random_state=0).fit(X).labels_
    assert adjusted_rand_score(y, labels) == 1.0


def test_three_gaussians_are_three_clusters_numbered_by_size():
    X, y = mixture(300, 5)
    labels = SelfTuningSpectral(3, random_state=0).fit_predict(X)
    assert adjusted_rand_score(y, labels) > 0.95
    assert (np.diff(np.bincount(labels)) <= 0).all()


def test_more_rows_than_max_exact_use_landmarks():
    X, y = two_clusters(1100, 3)
    spectral = SelfTuningSpectral(max_exact=1099, random_state=0).fit(X)
    assert spectral.n_landmarks_ == len(np.unique(spectral.landmarks_)) == 1000
    assert SelfTuningSpectral(max_exact=1100, random_state=0).fit(X).n_landmarks_ == 0
    assert adjusted_rand_score(y, spectral.labels_) == 1.0


# ----------------------------------------------------------------------------------------------- landmarks


def test_with_all_rows_as_landmarks_the_eigenvectors_are_exact():
    """The matrix has ones on the diagonal, as in Fowlkes et al."""
    X = mixture(80, 3)[0]
    spectral = SelfTuningSpectral(3, n_landmarks=80, random_state=0).fit(X)
    values, embedding = slow_embedding(slow_matrix(X, slow_scales(X, 7), diagonal=1.0), 3)
    assert_allclose(spectral.eigenvalues_, values, rtol=1e-7)
    up_to_sign(spectral.embedding_, embedding, atol=1e-5)
    exact = SelfTuningSpectral(3, random_state=0).fit(X)
    assert_array_equal(exact.labels_, spectral.labels_)


def completed(columns, landmarks):
    """Complete the n × n matrix from its columns, with landmarks first; return it and the order of its rows."""
    others = np.setdiff1d(np.arange(len(columns)), landmarks)
    A, B = columns[landmarks], columns[others].T
    return np.block([[A, B], [B.T, B.T @ np.linalg.inv(A) @ B]]), np.concatenate([landmarks, others])


def psd_columns(n=60, m=12, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, 2))
    landmarks = np.sort(np.random.default_rng(seed + 1).choice(n, m, replace=False))
    return np.exp(-np.sum((X[:, None] - X[landmarks]) ** 2, axis=2) / 0.5), landmarks


def indefinite_columns():
    columns, landmarks = psd_columns()
    columns[landmarks] -= 0.6 * np.eye(len(landmarks))
    return columns, landmarks


@pytest.mark.parametrize("make", [psd_columns, indefinite_columns])
def test_nystrom_eigenvectors_are_those_of_the_completed_matrix(make):
    columns, landmarks = make()
    full, order = completed(columns, landmarks)
    degrees = np.empty(len(order))
    clipped = np.concatenate([np.zeros(len(landmarks)), columns[order[len(landmarks) :]].sum(axis=1)])
    degrees[order] = np.maximum(full.sum(axis=1), clipped)  # at least the known sums
    assert_allclose(compute_nystrom_degrees(columns, landmarks), degrees, rtol=1e-7)
    root = 1.0 / np.sqrt(degrees[order])
    values, vectors = np.linalg.eigh(full * np.outer(root, root))
    found_values, found = find_nystrom_eigenvectors(columns.copy(), landmarks, 3)
    assert_allclose(found_values, values[::-1][:3], rtol=1e-6)
    up_to_sign(found[order], vectors[:, ::-1][:, :3], atol=1e-5)
    assert_allclose(found.T @ found, np.eye(3), atol=1e-6)


def test_both_extensions_agree_with_the_formula_of_fowlkes():
    columns, landmarks = psd_columns()
    inner, basis = np.linalg.eigh(columns[landmarks])
    values, vectors = extend_in_one_shot(columns, inner, basis, 3)
    other_values, other_vectors = extend_in_two_steps(columns, inner, basis, 3)
    assert_allclose(values, other_values, rtol=1e-8)
    up_to_sign(vectors, other_vectors, atol=1e-7)
    A, B = columns[landmarks], np.delete(columns, landmarks, axis=0).T
    root = np.linalg.inv(sqrtm(A).real)
    assert_allclose(values, np.linalg.eigvalsh(A + root @ B @ B.T @ root)[::-1][:3], rtol=1e-7)


def test_a_singular_block_of_landmarks_does_no_harm():
    X = np.repeat(two_clusters(60, 3)[0], 3, axis=0)  # landmarks with equal columns
    y = np.repeat(two_clusters(60, 3)[1], 3)
    for seed in range(5):
        spectral = SelfTuningSpectral(n_landmarks=90, n_neighbors=12, random_state=seed).fit(X)
        assert np.isfinite(spectral.embedding_).all()
        assert adjusted_rand_score(y, spectral.labels_) == 1.0


def test_more_landmarks_come_nearer_to_the_exact_subspace():
    X = mixture(600, 6)[0]
    rows, _ = centre_and_scale(X)
    scales = compute_local_scales(rows, 7, "next")
    full = compute_affinities(rows, scales, rows, scales)
    root = 1.0 / np.sqrt(full.sum(axis=1))
    exact = np.linalg.eigh(full * np.outer(root, root))[1][:, -3:]
    angles = []
    for m in (40, 120, 500):
        landmarks = np.sort(np.random.default_rng(0).choice(600, m, replace=False))
        _, found = find_nystrom_eigenvectors(full[:, landmarks].copy(), landmarks, 3)
        angles.append(subspace_angles(exact, found).max())
    assert angles[2] < angles[1] < angles[0]
    assert angles[2] < 0.05


# ----------------------------------------------------------------------------------------------- duplicates


def with_duplicates():
    X, y = two_clusters(120, 3)
    return np.vstack([X, np.repeat(X[:1], 8, axis=0), np.repeat(X[1:2], 8, axis=0)]), np.append(
        y, [y[0]] * 8 + [y[1]] * 8
    )


def test_scale_of_duplicates_is_that_of_the_nearest_distinct_row():
    X, y = with_duplicates()
    spectral = SelfTuningSpectral(random_state=0).fit(X)
    same = (X[0] == X).all(axis=1)
    assert same.sum() == 9
    assert_allclose(spectral.scales_[same], np.linalg.norm(X[~same] - X[0], axis=1).min(), rtol=1e-9)
    assert adjusted_rand_score(y, spectral.labels_) == 1.0


def test_the_floor_makes_clusters_of_duplicates():
    """In the published recipe each group of equal rows has an eigenvalue 1 of its own."""
    X, _ = with_duplicates()
    spectral = SelfTuningSpectral(3, duplicates="floor", random_state=0).fit(X)
    groups = np.where((X[0] == X).all(axis=1), 1, np.where((X[1] == X).all(axis=1), 2, 0))
    assert_allclose(spectral.scales_[groups > 0], SCALE_FLOOR * np.median(spectral.scales_[groups == 0]), rtol=0.2)
    assert_allclose(spectral.eigenvalues_, 1.0, atol=1e-12)
    assert adjusted_rand_score(groups, spectral.labels_) == 1.0


@pytest.mark.parametrize("n_landmarks", [None, 5])
def test_rows_that_are_all_equal_are_one_cluster(n_landmarks):
    with pytest.warns(NoSplitWarning, match="equal"):
        spectral = SelfTuningSpectral(n_landmarks=n_landmarks).fit(np.full((10, 2), 3.7))
    assert_array_equal(spectral.labels_, 0)
    assert spectral.embedding_.shape == (10, 2)


# ----------------------------------------------------------------------------------------------- contract


@pytest.mark.parametrize("n_landmarks", [None, 60])
def test_random_state_decides_everything(n_landmarks):
    X = mixture(200, 4)[0]
    one, other = (SelfTuningSpectral(4, n_landmarks=n_landmarks, random_state=3).fit(X) for _ in range(2))
    assert_array_equal(one.labels_, other.labels_)
    assert_array_equal(one.embedding_, other.embedding_)
    assert_array_equal(one.landmarks_, other.landmarks_)


def test_exact_embedding_does_not_depend_on_the_seed():
    X = mixture(200, 4)[0]
    one, other = (SelfTuningSpectral(random_state=seed).fit(X).embedding_ for seed in (0, 1))
    assert_array_equal(one, other)


@pytest.mark.parametrize("n", [2, 3, 5])
def test_few_rows_are_enough(n):
    X = np.arange(float(n))[:, None] ** 2
    labels = SelfTuningSpectral(random_state=0).fit(X).labels_
    assert labels[0] != labels[-1]


def test_fewer_rows_than_features():
    X, y = two_clusters(20, 4, separation=20.0)
    wide = X @ np.random.default_rng(0).standard_normal((4, 300))
    assert_array_equal(SelfTuningSpectral(n_neighbors=3, random_state=0).fit(wide).labels_, y)


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_clusters": 0}, ValueError, "n_clusters"),
        ({"n_clusters": 2.0}, TypeError, "n_clusters"),
        ({"n_clusters": 41}, ValueError, "n_clusters=41 .*n_samples=40"),
        ({"n_neighbors": 0}, ValueError, "n_neighbors"),
        ({"n_landmarks": 1}, ValueError, "n_landmarks.*n_clusters=2"),
        ({"n_landmarks": "all"}, TypeError, "n_landmarks"),
        ({"max_exact": 0}, ValueError, "max_exact"),
        ({"duplicates": "drop"}, ValueError, "duplicates .*'next', 'floor'"),
        ({"n_init": 0}, ValueError, "n_init"),
        ({"random_state": "seed"}, ValueError, "random_state must be"),
    ],
)
def test_bad_parameter_is_named_and_leaves_the_earlier_fit(settings, error, message):
    X = two_clusters(40, 2)[0]
    spectral = SelfTuningSpectral(random_state=0).fit(X)
    before = spectral.labels_
    with pytest.raises(error, match=message):
        spectral.set_params(**settings).fit(X)
    assert spectral.labels_ is before


def test_non_finite_value_is_located():
    X = two_clusters(40, 2)[0]
    X[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*feature 1.*row 3"):
        SelfTuningSpectral().fit(X)


def test_few_different_rows_give_fewer_clusters_with_a_warning():
    X = np.repeat([[-100.0], [100.0]], 30, axis=0)
    with pytest.warns(NoSplitWarning, match=r"n_clusters=3.*2") as caught:
        SelfTuningSpectral(3, n_landmarks=10, random_state=0).fit(X)
    assert len(caught) == 1
    assert caught[0].filename == __file__
