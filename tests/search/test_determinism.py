"""The same input gives the same answer, and nothing outside is touched."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from ravine import MinimumDensityHyperplane, PathSettings, paper_settings
from support.simulate import mixture, two_clusters

# Enough rows that blocks of them go to threads, and that the multilevel scheme is used.
MANY = 60_000


def outcome(mdh):
    """Everything that a fit found, as bytes."""
    steps = [
        (s.hyperplane.normal.tobytes(), s.hyperplane.offset, s.hyperplane.density, s.n_evaluations, s.n_rows)
        for s in mdh.path_
    ]
    plane = mdh.hyperplane_
    return plane.normal.tobytes(), plane.offset, plane.density, plane.relative_depth, mdh.labels_.tobytes(), steps


@pytest.fixture(scope="module")
def many():
    return mixture(MANY, 6, seed=3)[0]


@pytest.mark.parametrize(
    "make",
    [
        lambda: 0,
        lambda: np.int64(5),
        lambda: np.random.RandomState(0),
        lambda: np.random.default_rng(0),
    ],
    ids=["int", "numpy int", "RandomState", "Generator"],
)
@pytest.mark.parametrize("init", ["auto", "random"])
def test_same_seed_gives_the_same_result_to_the_bit(make, init):
    X = mixture(600, 8)[0]
    first, second = (MinimumDensityHyperplane(init=init, subsample=100, random_state=make()).fit(X) for _ in range(2))
    assert outcome(first) == outcome(second)


def test_other_seed_gives_other_random_starts():
    X = mixture(600, 8)[0]
    first, second = (
        MinimumDensityHyperplane(init="random", random_state=seed, path=PathSettings(max_iter=1))
        .fit(X)
        .path_[0]
        .hyperplane.normal
        for seed in (0, 1)
    )
    assert np.abs(first - second).max() > 1e-3


def test_no_seed_is_needed():
    assert MinimumDensityHyperplane(init="random", random_state=None).fit(mixture(200, 3)[0]).relative_depth_ > 0


def test_refitting_an_estimator_with_an_int_seed_changes_nothing():
    X = mixture(600, 8)[0]
    mdh = MinimumDensityHyperplane(init="random", random_state=4).fit(X)
    first = outcome(mdh)
    assert outcome(mdh.fit(X)) == first


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("settings", [{}, {"subsample": None, "n_init": 2}, {"n_init": 1, "init": "pca"}])
def test_number_of_threads_does_not_change_a_bit(many, settings, weighted):
    weights = np.random.default_rng(0).uniform(0.0, 2.0, len(many)) if weighted else None
    one, two = (
        MinimumDensityHyperplane(**settings, n_jobs=n_jobs, random_state=0).fit(many, sample_weight=weights)
        for n_jobs in (1, 2)
    )
    assert outcome(one) == outcome(two)


def test_several_blocks_of_rows_do_not_depend_on_threads():
    X = two_clusters(300_000, 3)[0].astype(np.float32)
    one, two = (
        MinimumDensityHyperplane(init="pca", n_init=1, subsample=None, n_jobs=n_jobs, path=PathSettings(n_alpha=3)).fit(
            X
        )
        for n_jobs in (1, 2)
    )
    assert outcome(one) == outcome(two)


def test_concurrent_fits_equal_sequential_fits(many):
    problems = [mixture(2000, 5, seed)[0] for seed in range(6)] + [many[:25_000]]

    def fit(X):
        return outcome(MinimumDensityHyperplane(random_state=0, n_jobs=2).fit(X))

    alone = [fit(X) for X in problems]
    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(fit, problems)) == alone


def test_one_fitted_estimator_can_predict_in_several_threads(many):
    mdh = MinimumDensityHyperplane(random_state=0).fit(many)
    with ThreadPoolExecutor(4) as pool:
        for labels in pool.map(mdh.predict, [many] * 8):
            assert_array_equal(labels, mdh.labels_)


def test_global_random_state_is_untouched():
    np.random.seed(42)  # noqa: NPY002
    before = np.random.get_state()  # noqa: NPY002
    MinimumDensityHyperplane(init="random", subsample=50).fit(two_clusters()[0])
    after = np.random.get_state()  # noqa: NPY002
    assert_array_equal(before[1], after[1])
    assert before[2:] == after[2:]


def test_floating_point_mode_is_untouched():
    X = two_clusters()[0]
    with np.errstate(over="call", under="ignore", divide="warn", invalid="raise"):
        before = np.geterr()
        MinimumDensityHyperplane().fit(X).predict(X)
        assert np.geterr() == before
    tiny = np.array([np.finfo(np.float64).tiny])
    assert (tiny * 0.5 > 0).all(), "results are flushed to zero"
    assert (tiny * 0.5 * 2.0 == tiny).all(), "subnormal arguments are taken as zero"
    one, three = np.array([1.0]), np.array([3.0])
    assert (one / three).tolist() == [float.fromhex("0x1.5555555555555p-2")], "rounding is not to nearest"
    assert (-one / three).tolist() == [float.fromhex("-0x1.5555555555555p-2")]


@pytest.mark.parametrize("settings", [{}, paper_settings("clustering")], ids=["defaults", "paper"])
@pytest.mark.parametrize(
    "X",
    [
        two_clusters()[0],
        two_clusters(separation=40.0)[0],
        two_clusters(40, 90)[0],
        1e-100 * two_clusters()[0],
        1e12 + two_clusters()[0],
        two_clusters()[0].round(),
        np.repeat(two_clusters(20)[0], 9, axis=0),
        mixture(500, 1)[0],
    ],
    ids=["plain", "far apart", "few rows", "small", "shifted", "rounded", "repeated", "one column"],
)
def test_no_floating_point_exception_is_hidden_in_numpy(X, settings):
    """Every overflow, underflow, division by zero or NaN that NumPy meets would be raised."""
    with np.errstate(all="raise"):
        mdh = MinimumDensityHyperplane(**settings, random_state=0).fit(X)
        assert_array_equal(mdh.predict(X), mdh.labels_)
    assert mdh.relative_depth_ > 0
