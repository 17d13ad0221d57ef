"""PDDP and dePDDP against slow twins, and the paper's PDDP column."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.datasets import make_blobs

from ravine import MinimumDensityTree, NoSplitWarning
from ravine_paper.baselines import PDDP, DePDDP
from ravine_paper.baselines._shared import eigenvectors
from ravine_paper.baselines.clustering import principal_axis
from ravine_paper.baselines.clustering.principal_axis import PrincipalAxis
from ravine_paper.baselines.clustering.principal_splitters import MeanSplitter, ValleySplitter
from ravine_paper.datasets import load
from ravine_paper.metrics import binary_v_measure, success_ratio
from ravine_paper.studies.clustering.paper import SETS, TABLE_2
from support.simulate import one_gaussian_line, two_clusters
from support.tree_twin import assert_consistent, have_same_groups

CENTERS = [[0, 0, 0], [9, 0, 0], [0, 14, 0], [9, 14, 3]]
BLOBS, TRUTH = make_blobs([90, 70, 60, 50], centers=CENTERS, random_state=0)


def slow_axis(rows):
    """Compute mean, first principal component and scatter by the singular value decomposition."""
    mean = rows.mean(axis=0)
    _, lengths, right = np.linalg.svd(rows - mean, full_matrices=False)
    return mean, right[0], float((lengths**2).sum())


def slow_pddp(rows, n_clusters):
    """Split the group with the largest scatter at the mean of its first component, and return the labels."""
    groups = [np.arange(len(rows))]
    while len(groups) < n_clusters:
        k = int(np.argmax([slow_axis(rows[group])[2] for group in groups]))
        mean, direction, _ = slow_axis(rows[groups[k]])
        upper = (rows[groups[k]] - mean) @ direction > 0
        groups += [groups[k][upper], groups[k][~upper]]
        del groups[k]
    labels = np.empty(len(rows), dtype=int)
    for number, group in enumerate(groups):
        labels[group] = number
    return labels


def slow_valley(p, h, percentile):
    """Find the lowest local minimum of the density on a fine grid between two quantiles, and its density."""
    grid = np.linspace(*np.quantile(p, [percentile, 1 - percentile]), 20001)
    density = np.zeros(len(grid))
    for value in p:
        density += np.exp(-0.5 * ((grid - value) / h) ** 2) / (len(p) * h * np.sqrt(2 * np.pi))
    inside = np.flatnonzero((density[1:-1] < density[:-2]) & (density[1:-1] < density[2:])) + 1
    if not len(inside):
        return None
    k = inside[np.argmin(density[inside])]
    return grid[k], density[k]


# ----------------------------------------------------------------------------------------------- the axis


@pytest.mark.parametrize("limit", [1500, 3, 1], ids=["Gram", "Lanczos beyond 3", "Lanczos"])
@pytest.mark.parametrize(("n", "d"), [(60, 4), (5, 40), (40, 40), (2, 9), (300, 20), (20, 300)])
@pytest.mark.parametrize("offset", [0.0, 1e7])
def test_axis_is_that_of_the_singular_value_decomposition(monkeypatch, limit, n, d, offset):
    monkeypatch.setattr(principal_axis, "LARGEST_GRAM", limit)
    rng = np.random.default_rng(n + d)
    X = rng.standard_normal((n + 7, d)) + offset
    X[:, 0] += 5.0 * rng.standard_normal(n + 7)
    chosen = np.sort(rng.choice(n + 7, n, replace=False))
    axis = PrincipalAxis.of(X, chosen)
    mean, direction, scatter = slow_axis(X[chosen])
    assert_allclose(axis.mean, mean, rtol=1e-12)
    assert_allclose(abs(axis.direction @ direction), 1.0, rtol=1e-9)
    assert_allclose(axis.scatter, scatter, rtol=1e-6)
    assert axis.direction[np.argmax(np.abs(axis.direction))] > 0


def test_axis_without_a_gap_falls_back_on_the_gram_matrix(monkeypatch):
    def fail(*args, **kwargs):
        raise eigenvectors.ArpackError(-9999)

    X = np.random.default_rng(0).standard_normal((30, 50))
    expected = PrincipalAxis.of(X, np.arange(30))
    monkeypatch.setattr(principal_axis, "LARGEST_GRAM", 10)
    monkeypatch.setattr(eigenvectors, "eigsh", fail)
    assert_allclose(PrincipalAxis.of(X, np.arange(30)).direction, expected.direction, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-300, 1e-12, 1.0, 1e150])
def test_axis_does_not_depend_on_the_unit(scale):
    X = two_clusters(40, 3)[0]
    for rows in (X, np.tile(X, (1, 20))[:30]):  # tall and wide
        everything = np.arange(len(rows))
        expected = PrincipalAxis.of(rows, everything).direction
        assert_allclose(PrincipalAxis.of(rows * scale, everything).direction, expected, atol=1e-10)


def test_equal_rows_have_no_axis():
    for rows in (np.full((5, 3), 0.1), np.full((3, 50), 1e9 / 7), np.ones((1, 2))):
        assert PrincipalAxis.of(rows, np.arange(len(rows))) is None


# ----------------------------------------------------------------------------------------------- PDDP


@pytest.mark.parametrize("n_clusters", [1, 2, 3, 5, 9])
@pytest.mark.parametrize("seed", range(3))
def test_pddp_is_its_slow_twin(n_clusters, seed):
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((70, 4)) @ rng.standard_normal((4, 4))
    fitted = PDDP(n_clusters).fit(rows)
    assert have_same_groups(fitted.labels_, slow_pddp(rows, n_clusters))
    assert fitted.n_clusters_ == n_clusters
    assert_consistent(fitted.tree_, rows)


def test_pddp_finds_far_clusters():
    assert have_same_groups(PDDP(4).fit(BLOBS).labels_, TRUTH)


def test_pddp_splits_the_largest_scatter_not_the_largest_leaf():
    rng = np.random.default_rng(0)
    tight, wide = rng.standard_normal((100, 2)) * 0.1, rng.normal([50, 0], 1.0, (20, 2))
    tree = PDDP(3).fit(np.concatenate([tight, wide])).tree_
    assert tree.size[tree.order == 1] == 20


def test_pddp_warns_of_fewer_distinct_rows():
    rows = np.repeat(np.eye(3), 4, axis=0)
    with pytest.warns(NoSplitWarning, match="n_clusters=5 .* only 3"):
        fitted = PDDP(5).fit(rows)
    assert have_same_groups(fitted.labels_, np.repeat([0, 1, 2], 4))


def test_decision_function_is_the_distance_along_the_axis():
    fitted = PDDP().fit(BLOBS)
    mean, direction, _ = slow_axis(BLOBS)
    assert_allclose(np.abs(fitted.decision_function(BLOBS)), np.abs((BLOBS - mean) @ direction), atol=1e-10)


# ----------------------------------------------------------------------------------------------- dePDDP


@pytest.mark.parametrize("spread", ["std", "robust"])
@pytest.mark.parametrize("percentile", [0.0, 0.1, 0.3])
@pytest.mark.parametrize("seed", range(4))
def test_depddp_cuts_at_the_lowest_minimum_of_a_fine_grid(seed, percentile, spread):
    rows = np.random.default_rng(seed).standard_t(4, (60, 3)) * [3.0, 1.0, 1.0]
    mean, direction, _ = slow_axis(rows)
    p = (rows - mean) @ direction
    s = p.std() if spread == "std" else min(p.std(), np.subtract(*np.quantile(p, [0.75, 0.25])) / 1.34)
    found = slow_valley(p, 0.5 * 0.9 * s * 60**-0.2, percentile)
    split = ValleySplitter(0.5, spread, percentile).split(rows, np.arange(60), None)
    if found is None:
        assert split.hyperplane is None
        return
    plane = split.hyperplane
    assert_allclose(abs(plane.offset - plane.normal @ mean), abs(found[0]), atol=2e-3)
    assert_allclose(plane.density, found[1], rtol=1e-4)
    assert plane.relative_depth > 0
    assert_allclose(plane.bandwidth, 0.45 * s * 60**-0.2)


def test_grids_with_and_without_a_minimum_were_tested():
    splits = [
        ValleySplitter(0.5, "std", percentile).split(
            np.random.default_rng(seed).standard_t(4, (60, 3)) * [3.0, 1.0, 1.0], np.arange(60), None
        )
        for seed in range(4)
        for percentile in (0.0, 0.1, 0.3)
    ]
    assert 2 <= sum(split.hyperplane is None for split in splits) <= 10


def test_depddp_splits_the_leaf_with_the_lowest_minimum():
    tree = DePDDP(3, bandwidth_scale=1.0).fit(BLOBS).tree_
    root_children = [int(tree.left[0]), int(tree.right[0])]
    split = next(k for k in root_children if tree.left[k] >= 0)
    other = next(k for k in root_children if k != split)
    members = tree.apply(BLOBS)
    rows = np.flatnonzero(members == other)
    alternative = ValleySplitter(1.0).split(BLOBS, rows, None).hyperplane
    assert alternative is not None
    assert tree.density[split] <= alternative.density


def test_depddp_finds_the_number_of_far_clusters():
    fitted = DePDDP("auto", bandwidth_scale=1.0, min_cluster_size=30).fit(BLOBS)
    assert fitted.n_clusters_ == 4
    assert have_same_groups(fitted.labels_, TRUTH)
    assert_consistent(fitted.tree_, BLOBS)


def test_without_a_minimum_there_is_one_cluster():
    rows = one_gaussian_line()
    with pytest.warns(NoSplitWarning, match="n_clusters=2 ") as caught:
        fitted = DePDDP().fit(rows)
    assert caught[0].filename == __file__
    assert_array_equal(fitted.labels_, 0)
    assert_array_equal(fitted.decision_function(rows), -np.inf)
    assert fitted.n_clusters_ == 1


def test_auto_does_not_warn_of_one_cluster(recwarn):
    assert DePDDP("auto").fit(one_gaussian_line()).n_clusters_ == 1
    assert not recwarn.list


def test_minimum_outside_the_quantiles_is_not_used():
    rows = np.concatenate([one_gaussian_line(95), np.linspace(20, 21, 5)[:, None]])
    assert DePDDP(percentile=0.0).fit(rows).labels_.sum() == 5
    with pytest.warns(NoSplitWarning):
        DePDDP(percentile=0.1, bandwidth_scale=1.0).fit(rows)


def test_bandwidth_is_positive_with_half_of_the_rows_equal():
    rows = np.concatenate([np.zeros(60), np.linspace(5, 6, 40)])[:, None]
    assert DePDDP(spread="robust").fit(rows).labels_.sum() == 40
    assert DePDDP(spread="robust", percentile=0.3).fit(np.concatenate([rows, rows[60:]])).n_clusters_ == 2


def test_splitters_work_in_other_trees():
    for splitter in (MeanSplitter(), ValleySplitter(1.0)):
        tree = MinimumDensityTree(4, hyperplane=splitter).fit(BLOBS)
        assert have_same_groups(tree.labels_, TRUTH)


# ----------------------------------------------------------------------------------------------- the paper

# PDDP in Table 2. The coding of the voting data is unknown.
PAPER = {name: TABLE_2[name, "pddp"] for name in SETS if name != "voting"}


@pytest.mark.parametrize("name", [pytest.param(n, marks=pytest.mark.slow) if n == "smartphone" else n for n in PAPER])
def test_pddp_scores_as_in_the_paper(name):
    folder = Path(os.environ.get("RAVINE_DATA", "nowhere"))
    if not (folder / f"{name}.csv.gz").is_file():
        pytest.skip("set RAVINE_DATA to the folder of the paper's data sets")
    loaded = load(name, folder).standardised()
    rows, truth = loaded.data, loaded.target
    labels = PDDP().fit(rows).labels_
    assert success_ratio(truth, labels) == pytest.approx(PAPER[name][0], abs=0.0051)
    assert binary_v_measure(truth, labels) == pytest.approx(PAPER[name][1], abs=0.0051)
