"""The evidence page: its simulated data, rival tests, stored results and tables."""

import gzip
from pathlib import Path
from unittest.mock import Mock

import matplotlib
import numpy as np
import pytest
from scipy.optimize import linprog

import evidence
from clusterers import AUTOMATIC, GIVEN_K, score
from evidence_figures import draw_nulls, draw_power
from latent_classes import FEATURES, simulate_latent_classes
from mixtures import SHAPES, simulate_hard_mixture
from problems import AXES, BASE, list_designs, simulate_design, simulate_three_clusters, solve
from results import Results, Task
from rivals import (
    TESTS,
    compute_dip,
    compute_dip_pvalue,
    has_several_components,
    rejects_gaussian,
    threshold_eigenvalues,
)
from sets import TABLES, load_table
from trees import NULLS

matplotlib.use("Agg")

PAGE = Path(__file__).parents[1] / "docs" / "evidence.md"


@pytest.mark.parametrize("seed", range(4))
def test_hard_mixtures_have_the_stated_sizes(seed):
    X, y = simulate_hard_mixture(seed)
    n, d = X.shape
    assert 300 <= n <= 1500
    assert 2 <= d <= 20
    assert 3 <= len(np.unique(y)) <= 8
    assert len(y) == n


@pytest.mark.parametrize("seed", range(8))
def test_latent_classes_have_the_stated_features(seed):
    X, y = simulate_latent_classes(seed)
    assert 200 <= len(X) == len(y) < 1500
    assert 2 <= len(np.unique(y)) <= 7
    np.testing.assert_allclose(X.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(X.std(axis=0), 1.0)
    n_values = np.array([len(np.unique(column)) for column in X.T])
    most = {"yes/no": 2, "ratings": 5, "categories": 2, "mixed": len(X)}[FEATURES[seed % len(FEATURES)]]
    assert n_values.max() == most
    np.testing.assert_array_equal(simulate_latent_classes(seed)[0], X)


def test_hard_mixtures_depend_on_the_seed_only():
    np.testing.assert_array_equal(simulate_hard_mixture(5)[0], simulate_hard_mixture(5)[0])
    assert not np.array_equal(simulate_hard_mixture(5)[0], simulate_hard_mixture(9)[0])


@pytest.mark.parametrize("seed", [0, 4, 16, 28])
def test_closest_balls_are_separated_as_stated(seed):
    assert SHAPES[seed % len(SHAPES)] == "balls"
    X, y = simulate_hard_mixture(seed)
    groups = [X[y == j] for j in np.unique(y)]
    means = np.array([group.mean(axis=0) for group in groups])
    variances = np.array([group.var(axis=0).mean() for group in groups])
    i, j = np.triu_indices(len(groups), 1)
    closest = (np.linalg.norm(means[i] - means[j], axis=1) / np.sqrt((variances[i] + variances[j]) / 2.0)).min()
    assert 2.4 < closest < 4.4


def solve_for_dip(x):
    """Return the dip by linear programmes: one for each possible mode, where the distribution function may jump."""
    points, counts = np.unique(x, return_counts=True)
    above = np.cumsum(counts) / len(x)
    below = above - counts / len(x)
    return min(fit_unimodal_function(points, below, above, mode) for mode in range(len(points)))


def fit_unimodal_function(points, below, above, mode):
    """Return the smallest distance from the steps: convex up to the mode, then concave; the last variable is it."""
    m = len(points)
    left, right = list(range(mode + 1)), list(range(mode + 1, m + 1))  # the mode has two values
    place = [*range(mode + 1), *range(mode, m)]
    rows, limits = [], []

    def add(limit, **coefficients):
        row = np.zeros(m + 2)
        for index, value in coefficients.items():
            row[int(index[1:])] = value
        rows.append(row)
        limits.append(limit)

    for i in left + right:
        low = below[place[i]] if i == mode else above[place[i]]
        high = above[place[i]] if i == mode + 1 else below[place[i]]
        add(high, **{f"u{i}": 1.0, f"u{m + 1}": -1.0})
        add(-low, **{f"u{i}": -1.0, f"u{m + 1}": -1.0})
    for i in range(m):
        add(0.0, **{f"u{i}": 1.0, f"u{i + 1}": -1.0})
    for side, sign in ((left, 1.0), (right, -1.0)):
        for a, b, c in zip(side, side[1:], side[2:], strict=False):
            first, second = points[place[b]] - points[place[a]], points[place[c]] - points[place[b]]
            add(0.0, **{f"u{a}": -sign / first, f"u{b}": sign / first + sign / second, f"u{c}": -sign / second})
    return linprog([0.0] * (m + 1) + [1.0], A_ub=rows, b_ub=limits, bounds=[(None, None)] * (m + 2)).fun


@pytest.mark.parametrize("seed", range(12))
def test_dip_is_that_of_linear_programmes(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 25))
    x = rng.standard_normal(n) + rng.uniform(0.0, 6.0) * (rng.random(n) < 0.4)
    x = np.round(x, 1) if seed % 3 == 0 else x
    assert compute_dip(x) == pytest.approx(solve_for_dip(x), abs=1e-9)


def test_dip_is_smallest_for_equidistant_rows():
    assert compute_dip(np.arange(40.0)) == pytest.approx(1.0 / 80.0)


def test_dip_of_two_atoms_is_a_quarter():
    assert compute_dip(np.repeat([0.0, 1.0], 50)) == pytest.approx(0.25)


def test_dip_test_sees_two_modes_and_accepts_one():
    rng = np.random.default_rng(0)
    x = rng.standard_normal(100)
    assert compute_dip_pvalue(x) > 0.2
    assert compute_dip_pvalue(x + 6.0 * (np.arange(100) < 50)) == pytest.approx(0.001)


@pytest.mark.parametrize(("n", "d"), [(40, 5), (20, 30)])
def test_thresholded_eigenvalues_keep_the_trace(n, d):
    X = np.random.default_rng(0).standard_normal((n, d)) * np.linspace(0.1, 3.0, d)
    values = threshold_eigenvalues(X)
    assert values.shape == (d,)
    assert values.min() > 0.0
    assert values.sum() == pytest.approx(X.var(axis=0, ddof=1).sum())


@pytest.mark.parametrize("test", [has_several_components, rejects_gaussian])
def test_gaussian_tests_tell_one_cluster_from_two(test):
    X = np.random.default_rng(0).standard_normal((100, 2))
    assert not test(X, 0)
    assert test(X + [[7.0, 0.0]] * (np.arange(100) < 50)[:, None], 0)


@pytest.mark.parametrize("name", TESTS)
def test_every_test_sees_two_distant_clusters(name, monkeypatch):
    monkeypatch.setattr("rivals.SIGCLUST_DRAWS", 39)
    assert TESTS[name](simulate_design((120, 2, 8.0, 0.5, 1.0), 0), 0)


def test_designs_have_their_separation_share_and_nuisance():
    X = simulate_design((1000, 3, 5.0, 0.2, 4.0), 0)
    assert X[:200, 0].mean() - X[200:, 0].mean() == pytest.approx(5.0, abs=0.3)
    assert X[:, 2].std() == pytest.approx(4.0, abs=0.4)


def test_designs_differ_from_the_base_in_one_respect():
    for place, axis in enumerate(AXES):
        for design in list_designs(axis):
            assert [k for k in range(len(BASE)) if design[k] != BASE[k]] in ([], [place])


def test_three_clusters_are_equidistant():
    X = np.mean([simulate_three_clusters(6.0, seed) for seed in range(20)], axis=0).reshape(3, 50, 10).mean(axis=1)
    distances = [np.linalg.norm(X[i] - X[j]) for i, j in ((0, 1), (0, 2), (1, 2))]
    np.testing.assert_allclose(distances, 6.0, atol=0.2)


def solve_with_seed(task):
    return {method: [float(task.seed), 2.0] for method in task.methods}


def test_results_are_computed_once_and_kept(tmp_path):
    path = tmp_path / "results.json"
    tasks = [Task("kind", "a", seed, ("x", "y")) for seed in (0, 3)]
    Results(path).complete(tasks, solve_with_seed, 1)
    results, seen = Results(path), []

    def note(task):
        seen.append(task)
        return solve_with_seed(task)

    results.complete([*tasks, Task("kind", "a", 0, ("x", "z"))], note, 1)
    assert seen == [Task("kind", "a", 0, ("z",))]
    assert results.select("kind", "a", "y", range(9)) == [[0.0, 2.0], [3.0, 2.0]]


def test_results_of_a_method_are_forgotten_by_name():
    results = Results()
    results.complete([Task("kind", "a", 0, ("x", "y"))], solve_with_seed, 1)
    results.forget(["x"])
    assert results.get("kind", "a", "x", 0) is None
    assert results.get("kind", "a", "y", 0) == [0.0, 2.0]


def test_results_are_those_of_several_processes():
    results = Results()
    results.complete([Task("mixtures", "0", 0, ("Ward",))], solve, 2)
    assert results.get("mixtures", "0", "Ward", 0) == solve(Task("mixtures", "0", 0, ("Ward",)))["Ward"]


def test_tables_are_encoded_filled_and_standardised(tmp_path):
    (tmp_path / "tables").mkdir()
    text = "size,kind,same,label\n1,a,7,x\n,a,7,x\n3,,7,y\n5,None,7,y\n"
    with gzip.open(tmp_path / "tables" / "toy.csv.gz", "wt") as file:
        file.write(text)
    X, y = load_table("toy", str(tmp_path))
    raw = np.array([[1.0, 0.0, 1.0], [3.0, 0.0, 1.0], [3.0, 0.0, 1.0], [5.0, 1.0, 0.0]])
    np.testing.assert_allclose(X, (raw - raw.mean(axis=0)) / raw.std(axis=0))
    assert y.tolist() == [0, 0, 1, 1]


def test_groups_of_tables_are_disjoint():
    assert not set(TABLES["development"]) & set(TABLES["confirmation"])


@pytest.mark.parametrize("name", [*GIVEN_K, *AUTOMATIC])
def test_every_clusterer_finds_two_distant_clusters(name):
    X = simulate_design((120, 2, 12.0, 0.5, 1.0), 0)
    index, n_clusters = score(name, X, np.arange(120) < 60, 0)
    assert index > 0.8
    assert n_clusters == 2


def test_collapsed_mixtures_score_nothing(monkeypatch):
    monkeypatch.setattr("clusterers.GaussianMixture.fit_predict", Mock(side_effect=ValueError("ill-defined")))
    assert score("GMM full", np.zeros((9, 1)), np.arange(9) < 4, 0) == [0.0, 0.0]


@pytest.mark.parametrize("what", ["power", "nulls", "mixtures", "tables", "sets"])
def test_commands_replace_the_tables_of_the_page(what, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(evidence, "solve", lambda task: {method: [0.125, 3.0] for method in task.methods})
    page = tmp_path / "evidence.md"
    page.write_text(PAGE.read_text(encoding="utf-8"), encoding="utf-8")
    options = ["--fits", "1", "--jobs", "1", "--store", str(tmp_path / "store.json"), "--update", str(page)]
    evidence.main([what, *options])
    printed = capsys.readouterr().out
    assert "| 12 %" in printed or "| .12" in printed
    tables = [line for line in printed.splitlines() if line.startswith("| ")]
    assert set(tables) <= set(page.read_text(encoding="utf-8").splitlines())


def test_figures_show_every_test(tmp_path, monkeypatch):
    monkeypatch.setattr(evidence, "solve", lambda task: {method: [1.0] for method in task.methods})
    options = ["--fits", "1", "--jobs", "1", "--store", str(tmp_path / "store.json"), "--images", str(tmp_path)]
    for what in ("power", "nulls", "figures"):
        evidence.main([what, *options])
    assert {path.name for path in tmp_path.glob("*.png")} == {"evidence_power.png", "evidence_nulls.png"}
    results = Results(tmp_path / "store.json")
    legend = draw_power(results, 1).axes[-1].get_legend()
    assert [text.get_text() for text in legend.get_texts()] == list(TESTS)
    assert len(draw_nulls(results, 1).axes[0].texts) == len(NULLS) * len(TESTS)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [(["power", "development"], "power takes no group"), (["power", "--again", "magic"], "unknown methods: magic")],
)
def test_commands_refuse_what_they_cannot_do(arguments, message, capsys):
    with pytest.raises(SystemExit):
        evidence.main(arguments)
    assert message in capsys.readouterr().err
