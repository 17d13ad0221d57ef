"""The safe separator minimises the labels' loss plus the relative density, from the hyperplane of the labels."""

import numpy as np
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize, minimize_scalar
from sklearn.svm import LinearSVC

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, RowBlocks


def make_problem(n=400, d=6, gap=1.5, n_labels=30, seed=0):
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.standard_normal((n, d))
    X[:, 0] = 0.5 * X[:, 0] + gap * (2 * truth - 1)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return X, truth, np.where(np.arange(n) < n_labels, truth, -1)


def objective(u, X, rows, signs, C, density_weight=4.0, widths=0.0):
    """The objective by its definition, with exact sums; ``widths`` are the half widths of the cells."""
    w, c = u[:-1], u[-1]
    loss = (u @ u + (w * widths) @ (w * widths)) / (2.0 * C)
    loss += np.sum(np.maximum(0.0, 1.0 - signs * (rows @ w + c)) ** 2)
    t = X @ w + c
    square = (1.5 * 0.9 * len(X) ** -0.2) ** 2 * t.var() + (w * widths) @ (w * widths)
    total = t.var() + square
    expected = len(X) * np.sqrt(square / total) * np.exp(-0.5 * t.mean() ** 2 / total)
    return loss + density_weight * np.log((np.exp(-0.5 * t**2 / square).sum() + 20.0) / (expected + 20.0))


@pytest.mark.parametrize("gap", [1.5, 0.5])
@pytest.mark.parametrize("has_coin", [False, True], ids=["numbers", "with a coin"])
def test_hyperplane_is_the_minimiser_nearest_to_the_labels(gap, has_coin):
    X, truth, y = make_problem(gap=gap)
    widths = np.zeros(6)
    if has_coin:  # heads and tails are 2 standard deviations apart
        X[:, 5], widths[5] = np.where(np.arange(len(X)) % 4 < 2, 1.0, -1.0), 1.0
    model = MinimumDensityClassifier(C=1.0).fit(X, y)
    rows, signs = X[y >= 0], 2.0 * truth[y >= 0] - 1.0
    scales = np.sqrt(1.0 + widths**2)
    svm = LinearSVC(dual=False, tol=1e-12).fit(rows / scales, signs)
    start = np.append(svm.coef_[0] / scales, svm.intercept_)
    arguments = X, rows, signs, 1.0, 4.0, widths
    found = minimize(objective, start, arguments, method="L-BFGS-B", options={"ftol": 1e-15, "gtol": 1e-8}).x
    assert_allclose(model.coef_[0], found[:-1] / np.linalg.norm(found[:-1]), atol=1e-4)
    assert_allclose(model.intercept_, found[-1] / np.linalg.norm(found[:-1]), atol=1e-4)


def simulate_species(seed, n=300):
    """Two species with a gap along correlated measurements, and the rows of some labels of each."""
    rng = np.random.default_rng(seed)
    truth = np.arange(n) % 2
    X = rng.standard_normal((n, 4)) @ (0.5 * np.eye(4) + 0.5)
    X[:, 1] += 5.0 * truth
    return X, truth, np.concatenate([rng.choice(np.flatnonzero(truth == k), 3, replace=False) for k in (0, 1)]), rng


EXTRA = {
    "coin": lambda truth, rng: rng.integers(0, 2, (len(truth), 1)),
    "coin in two columns": lambda truth, rng: np.eye(2)[rng.integers(0, 2, len(truth))],
    "place": lambda truth, rng: np.eye(3)[np.where(rng.random(len(truth)) < 0.5, truth, 2)],
    "rating": lambda truth, rng: rng.integers(1, 6, (len(truth), 1)),
}


@pytest.mark.parametrize("extra", EXTRA.values(), ids=EXTRA)
def test_gaps_of_repeated_values_do_not_hide_those_of_numbers(extra):
    accuracies = []
    for seed in range(20):
        X, truth, labelled, rng = simulate_species(seed)
        X = np.column_stack([X, extra(truth, rng)])
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        y = np.full(len(X), -1)
        y[labelled] = truth[labelled]
        accuracies.append(np.mean(MinimumDensityClassifier().fit(X, y).predict(X) == truth))
    assert np.mean(accuracies) > 0.97
    assert min(accuracies) > 0.9


def simulate_sexes(seed, n=240):
    """Two species with a gap, whose sexes differ in size, the sex in two columns, and two labels of each species."""
    rng = np.random.default_rng(seed)
    truth, sex = np.arange(n) % 2, rng.integers(0, 2, n)
    X = 0.9 * rng.standard_normal((n, 4)) @ (0.5 * np.eye(4) + 0.5) + np.outer(sex, [0.5, 1.0, 2.0, 2.0])
    X[:, 0] += 5.0 * truth
    X = np.column_stack([X, sex, 1 - sex])
    labelled = np.concatenate([rng.choice(np.flatnonzero(truth == k), 2, replace=False) for k in (0, 1)])
    return (X - X.mean(axis=0)) / X.std(axis=0), truth, np.where(np.isin(np.arange(n), labelled), truth, -1)


def test_second_start_finds_the_gap_that_labels_miss():
    accuracies = []
    for seed in range(40):
        X, truth, y = simulate_sexes(seed)
        accuracies.append(MinimumDensityClassifier().fit(X, y).score(X, truth))
    assert min(accuracies) > 0.99


def minimise_length(u, arguments):
    return minimize_scalar(lambda length: objective(length * u, *arguments), bounds=(0.1, 10.0)).fun


def test_second_start_never_raises_the_objective():
    gains = []
    for seed in range(16, 26):
        X, truth, y = simulate_sexes(seed)
        X = X[:, :4]
        rows, signs = X[y >= 0], 2.0 * truth[y >= 0] - 1.0
        svm = LinearSVC(dual=False, tol=1e-12).fit(rows, signs)
        arguments = X, rows, signs, 1.0
        nearest = minimize(objective, np.append(svm.coef_[0], svm.intercept_), arguments, method="L-BFGS-B").fun
        model = MinimumDensityClassifier(C=1.0).fit(X, y)
        plane = np.append(model.coef_[0], model.intercept_)  # its length is that of the lowest objective
        gains.append(nearest - minimise_length(plane, arguments))
    assert min(gains) > -1e-6
    assert max(gains) > 0.5


def test_density_does_not_buy_mistakes_on_labels():
    for seed in range(20):  # the gap is between two sizes, the classes differ in shape
        rng = np.random.default_rng(seed)
        size, shape = rng.choice([-3.0, 3.0], 300) + rng.standard_normal(300), rng.standard_normal(300)
        X = np.outer(size, np.ones(6)) + 0.7 * np.column_stack([shape, -shape, rng.standard_normal((300, 4))])
        X, truth = (X - X.mean(axis=0)) / X.std(axis=0), (shape > 0.0).astype(int)
        labelled = np.concatenate([rng.choice(np.flatnonzero(truth == k), 3, replace=False) for k in (0, 1)])
        y = np.full(300, -1)
        y[labelled] = truth[labelled]
        alone, moved = (MinimumDensityClassifier(density_weight=weight).fit(X, y) for weight in (0.0, 4.0))
        assert moved.score(X[labelled], truth[labelled]) >= alone.score(X[labelled], truth[labelled])


def test_correlated_features_lose_little_to_the_labels_alone():
    losses = []
    for seed in range(20):
        rng = np.random.default_rng(seed)
        size, contrast, noise = 3.0 * rng.standard_normal(400), rng.standard_normal(400), rng.standard_normal((400, 2))
        X = np.outer(size, [1.0, 1.2, 0.8, 1.1]) + 0.5 * np.column_stack([contrast, -contrast, noise])
        X, truth = (X - X.mean(axis=0)) / X.std(axis=0), (contrast > 0.0).astype(int)
        labelled = np.concatenate([rng.choice(np.flatnonzero(truth == k), 3, replace=False) for k in (0, 1)])
        y = np.full(400, -1)
        y[labelled] = truth[labelled]
        svm = LinearSVC(dual=False).fit(X[labelled], truth[labelled])
        losses.append(svm.score(X, truth) - MinimumDensityClassifier().fit(X, y).score(X, truth))
    assert np.mean(losses) < 0.03


@pytest.mark.parametrize("decimals", [0, 12], ids=["all repeated", "some repeated"])
def test_weights_equal_repetition_with_repeated_values(decimals, rng):
    X, _, y = make_problem(150)
    X = np.column_stack([np.round(X, decimals), rng.integers(0, 2, 150), rng.integers(1, 6, 150)])
    weights, order = rng.integers(0, 4, 150), rng.permutation(150)
    weights[:30] = np.maximum(weights[:30], 1)
    weighted = MinimumDensityClassifier().fit(X[order], y[order], sample_weight=weights[order])
    repeated = MinimumDensityClassifier().fit(np.repeat(X, weights, axis=0), np.repeat(y, weights))
    assert_allclose(weighted.coef_, repeated.coef_, atol=1e-9)
    assert_allclose(weighted.intercept_, repeated.intercept_, atol=1e-9)


def test_weight_zero_is_the_linear_svm():
    X, _, y = make_problem()
    svm = LinearSVC(dual=False, tol=1e-12).fit(X[y >= 0], y[y >= 0])
    model = MinimumDensityClassifier(C=1.0, density_weight=0.0).fit(X, y)
    assert_allclose(model.coef_[0], svm.coef_[0] / np.linalg.norm(svm.coef_[0]), atol=1e-6)
    assert_allclose(model.density_evidence_[0, 2], 0.0, atol=1e-6)


def test_evidence_says_whether_the_rows_helped():
    with_gap, without = (MinimumDensityClassifier().fit(*make_problem(gap=gap, n_labels=10)[::2]) for gap in (1.5, 0.3))
    first, last, angle = with_gap.density_evidence_[0]
    assert last < first - 0.3
    assert angle > 5.0
    assert with_gap.label_evidence_[0, 1] >= with_gap.label_evidence_[0, 0]
    assert abs(np.subtract(*without.density_evidence_[0, :2])) < 0.3


def test_gap_is_found_with_very_few_labels():
    X, truth, y = make_problem(n_labels=6)
    svm = LinearSVC(dual=False).fit(X[y >= 0], y[y >= 0])
    assert np.mean(MinimumDensityClassifier().fit(X, y).predict(X) != truth) < 0.5 * np.mean(svm.predict(X) != truth)


CONTAINERS = {
    "sparse": sp.csr_array,
    "blocks": lambda rows: RowBlocks(np.array_split(rows, 3)),
    "float32": lambda rows: rows.astype(np.float32),
}


@pytest.mark.parametrize("container", CONTAINERS.values(), ids=CONTAINERS)
def test_container_of_the_rows_does_not_matter(container):
    X, _, y = make_problem()
    X = X.astype(np.float32).astype(np.float64)
    original, other = (MinimumDensityClassifier().fit(rows, y) for rows in (X, container(X)))
    assert_allclose(other.coef_, original.coef_, atol=1e-8)
    assert_allclose(other.predict_proba(X), original.predict_proba(X), atol=1e-7)
    assert_array_equal(other.transduction_, original.transduction_)


def test_subsamples_lead_to_the_hyperplane_of_all_rows():
    X, _, y = make_problem(6000)
    few, every = (
        MinimumDensityClassifier(random_state=0, hyperplane=MinimumDensityHyperplane(subsample=size)).fit(X, y)
        for size in (500, None)
    )
    assert_allclose(few.coef_, every.coef_, atol=1e-8)
    assert_allclose(few.intercept_, every.intercept_, atol=1e-8)


@pytest.mark.filterwarnings("error")
def test_contradicting_labels_suggest_no_direction_and_no_certainty():
    X = np.random.default_rng(0).standard_normal((50, 3))
    model = MinimumDensityClassifier().fit(np.r_[X, X], np.repeat([0, 1], 50))
    assert_allclose(model.predict_proba(X), 0.5, atol=1e-6)


@pytest.mark.filterwarnings("error")
def test_wrong_labels_are_outvoted_by_a_gap():
    X, truth, y = make_problem(n_labels=50)
    y[:10] = 1 - truth[:10]
    svm = LinearSVC(dual=False).fit(X[y >= 0], y[y >= 0])
    assert np.mean(MinimumDensityClassifier().fit(X, y).predict(X) != truth) < 0.5 * np.mean(svm.predict(X) != truth)
