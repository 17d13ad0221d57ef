"""Clusters as connected high-density regions: every part against its slow twin, and data with known modes."""

import itertools

import networkx as nx
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gaussian_kde, norm
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine import NoSplitWarning
from ravine.baselines import PdfCluster
from ravine.baselines.clustering.core_allocation import allocate, compute_log_density, compute_normal_bandwidth
from ravine.baselines.clustering.mode_tree import build_mode_tree, find_cores
from ravine.baselines.clustering.valley_graph import (
    SEGMENT,
    join_by_order,
    join_delaunay,
    join_without_valley,
    measure_valleys,
)
from support.simulate import one_gaussian_line, two_clusters


def quantiles(*components):
    """One column: normal quantiles of each (size, mean, sd)."""
    parts = [norm.ppf((np.arange(n) + 0.5) / n, mean, sd) for n, mean, sd in components]
    return np.concatenate(parts)[:, None], np.repeat(np.arange(len(parts)), [n for n, _, _ in components])


def three_gaussians(seed=0, d=2, sizes=(60, 50, 40)):
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1, 2], sizes)
    centres = np.zeros((3, d))
    centres[1, 0], centres[2, 1] = 7.0, 7.0
    return centres[y] + rng.standard_normal((len(y), d)), y


@pytest.mark.filterwarnings("ignore:n_clusters=", "ignore:All rows are equal")
@parametrize_with_checks([PdfCluster(), PdfCluster("auto", graph="pairs")], expected_failed_checks=lambda estimator: {})
def test_estimator_passes_every_check_of_scikit_learn(estimator, check):
    check(estimator)


# ----------------------------------------------------------------------------------------------- the valley measure


def slow_valley_measure(curve):
    """Fill one valley after the other up to the lower of its shoulders, until there is none."""
    filled = list(curve)
    while True:
        for left, right in itertools.combinations(range(len(filled)), 2):
            inside = filled[left + 1 : right]
            level = min(filled[left], filled[right])
            if inside and max(inside) < level:  # an interior valley between two shoulders
                filled[left + 1 : right] = [level] * len(inside)
                break
        else:
            break
    places, area = [0.0], sum(filled)
    for before, after in zip(curve, filled, strict=True):
        if after > before:
            places[-1] += after - before
        else:
            places.append(0.0)
    return max(places) / area if area else 0.0


@pytest.mark.parametrize("seed", range(5))
def test_valley_measure_is_that_of_the_slow_twin(seed):
    rng = np.random.default_rng(seed)
    curves = np.vstack([rng.random((60, 10)), rng.integers(0, 4, (60, 10)), np.zeros((1, 10))]).astype(float)
    assert_allclose(measure_valleys(curves.T), [slow_valley_measure(curve) for curve in curves], atol=1e-14)


@pytest.mark.parametrize(
    ("curve", "expected"),
    [
        ([1, 2, 3, 2, 1], 0.0),
        ([3, 2, 1, 0, 0], 0.0),
        ([1, 1, 1, 1, 1], 0.0),
        ([1, 0, 0, 0, 1], 3 / 5),
        ([2, 1, 3, 0, 3], 3 / 13),
        ([4, 1, 2, 1, 4], 8 / 20),
    ],
    ids=["peak", "slope", "flat", "one valley", "the larger of two valleys", "a hill in a valley"],
)
def test_valley_measure_of_curves_done_by_hand(curve, expected):
    assert measure_valleys(np.array(curve, dtype=float)[:, None])[0] == pytest.approx(expected)


# ----------------------------------------------------------------------------------------------- graphs


def slow_pairs(scaled, lam):
    """Pairs without a valley, from the density at every point of every segment."""
    found = []
    for i, j in itertools.combinations(range(len(scaled)), 2):
        points = [scaled[i] + t * (scaled[j] - scaled[i]) for t in np.linspace(0.0, 1.0, SEGMENT)]
        curve = [np.exp(-0.5 * np.sum((scaled - point) ** 2, axis=1)).sum() for point in points]
        if slow_valley_measure(curve) <= lam + 1e-9:
            found.append((i, j))
    return found


@pytest.mark.parametrize("d", [1, 2, 7, 40])
@pytest.mark.parametrize("scale", [0.3, 1.0, 100.0], ids=["flat", "plain", "far apart"])
@pytest.mark.parametrize("lam", [0.0, 0.1, 0.47])
def test_pairs_without_a_valley_are_those_of_the_slow_twin(d, scale, lam, monkeypatch):
    monkeypatch.setattr("ravine.baselines.clustering.valley_graph.BLOCK", 2000)  # several blocks
    rng = np.random.default_rng(d)
    scaled = scale * rng.standard_normal((40, d))
    scaled[5] = scaled[4]
    scaled[10:20] = scaled[10] + rng.random((10, 1)) * (scaled[11] - scaled[10])  # on one straight line
    assert_array_equal(join_without_valley(scaled, lam), slow_pairs(scaled, lam))


def test_a_chain_joins_rows_that_are_far_apart():
    """The densities in between are finite where the factors of the product are too small for a number."""
    chain = np.arange(0.0, 121.0)[:, None]
    everything = np.array(list(itertools.combinations(range(121), 2)))
    assert_array_equal(join_without_valley(chain, 0.1), everything)
    ends = chain[[0, 1, 119, 120]]
    assert_array_equal(join_without_valley(ends, 0.1), [[0, 1], [2, 3]])


def test_order_joins_neighbours_in_one_column():
    assert_array_equal(join_by_order(np.array([3.0, 1.0, 2.0, 1.0])), [[1, 3], [3, 2], [2, 0]])


@pytest.mark.parametrize("d", [2, 3, 5])
def test_delaunay_edges_join_everything_duplicates_included(d):
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((40, d))
    rows[7] = rows[3]
    graph = nx.Graph(join_delaunay(rows).tolist())
    assert set(graph) == set(range(40))
    assert nx.is_connected(graph)
    assert all(i < j for i, j in join_delaunay(rows).tolist())


def test_delaunay_edges_of_a_square_with_its_centre():
    corners = np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0], [0.0, 0.0]])
    assert set(map(tuple, join_delaunay(corners).tolist())) == {
        (0, 1), (1, 2), (2, 3), (0, 3), (0, 4), (1, 4), (2, 4), (3, 4)
    }  # fmt: skip


# ----------------------------------------------------------------------------------------------- the tree of modes


def slow_tree(density, edges, n_grid):
    """Components of every level set from scratch; the modes that each row joins, births and numbers of components."""
    n = len(density)
    label, births, counts = [None] * n, [], []
    ordered = np.sort(density)[::-1]
    for level in range(n_grid):
        least = next(k for k in range(1, n + 1) if k * (n_grid + 1) >= (level + 1) * n)
        above = [i for i in range(n) if density[i] >= ordered[least - 1]]
        graph = nx.Graph()
        graph.add_nodes_from(above)
        graph.add_edges_from([(i, j) for i, j in edges.tolist() if i in graph and j in graph])
        parts = [part for part in nx.connected_components(graph) if len(part) > 1]
        counts.append(len(parts))
        for part in sorted(parts, key=lambda p: min((-density[i], i) for i in p)):
            held = sorted({m for i in part if label[i] is not None for m in label[i]})
            if not held:
                held = [len(births)]
                births.append(level)
            for i in part:
                if label[i] is None:
                    label[i] = tuple(held)
    return [entry or () for entry in label], births, counts


@pytest.mark.parametrize("seed", range(8))
@pytest.mark.parametrize("tied", [False, True])
def test_tree_of_modes_is_that_of_brute_force(seed, tied):
    rng = np.random.default_rng(seed)
    n = 40
    density = rng.integers(0, 6, n).astype(float) if tied else rng.standard_normal(n)
    pairs = np.array(list(itertools.combinations(range(n), 2)))
    edges = pairs[rng.random(len(pairs)) < rng.choice([0.01, 0.05, 0.1])].reshape(-1, 2)
    tree, joined = build_mode_tree(density, edges, 13)
    slow_joined, births, counts = slow_tree(density, edges, 13)
    assert_array_equal(tree.n_components, counts)
    assert_array_equal(tree.births, births)
    assert joined == slow_joined


@pytest.mark.parametrize("seed", range(5))
def test_merges_have_the_density_of_the_saddle(seed):
    """The best path between two modes has its lowest row there."""
    rng = np.random.default_rng(seed)
    density, n = rng.standard_normal(50), 50
    edges = np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)  # a line: there is one path only
    tree, joined = build_mode_tree(density, edges, 49)
    assert tree.n_modes - 1 >= len(tree.merges) > 0
    first = {m: min(i for i in range(n) if joined[i] == (m,)) for m in range(tree.n_modes)}
    for merge in tree.merges:
        gaps = [
            density[min(first[a], first[b]) : max(first[a], first[b]) + 1].min()
            for a in merge.modes[0]
            for b in merge.modes[1]
        ]
        assert merge.log_density == max(gaps)
    assert (np.diff([merge.log_density for merge in tree.merges]) <= 0).all()


def test_the_tree_is_cut_at_its_lowest_saddle_first():
    #         mode 0, saddle 5, mode 2 | saddle 1 | mode 1
    density = np.array([7.0, 9.0, 8.5, 5.0, 6.0, 6.5, 1.0, 7.5, 8.0, 0.5])
    edges = np.stack([np.arange(9), np.arange(1, 10)], axis=1)
    tree, joined = build_mode_tree(density, edges, 9)
    assert tree.n_modes == 3
    assert_array_equal(tree.groups(3), [0, 1, 2])
    assert_array_equal(tree.groups(2), [0, 1, 0])
    assert_array_equal(tree.groups(1), [0, 0, 0])
    assert_array_equal(find_cores(joined, tree.groups(3)), [0, 0, 0, -1, 2, 2, -1, 1, 1, -1])
    assert_array_equal(find_cores(joined, tree.groups(2)), [0, 0, 0, 0, 0, 0, -1, 1, 1, -1])


# ----------------------------------------------------------------------------------------------- densities, allocation


def test_density_is_that_of_scipy_where_both_apply():
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((50, 1))
    h = compute_normal_bandwidth(rows)
    expected = gaussian_kde(rows.T, bw_method=float(h[0] / rows.std(ddof=1))).logpdf(rows.T)
    assert_allclose(compute_log_density(rows, rows, h), expected, rtol=1e-10)
    assert h[0] == pytest.approx(rows.std(ddof=1) * (4 / 150) ** 0.2)


def test_density_is_a_product_kernel_in_the_units_of_the_data():
    X, _ = three_gaussians()
    X = X * [1.0, 50.0] + [0.0, 1e4]
    pdf = PdfCluster("auto").fit(X)
    n = len(X)
    h = 0.75 * X.std(axis=0, ddof=1) * (4.0 / (4.0 * n)) ** (1.0 / 6.0)
    assert_allclose(pdf.bandwidth_, h, rtol=1e-12)
    kernels = norm.pdf(X[:, None], X[None], h).prod(axis=2)
    assert_allclose(pdf.density_, kernels.mean(axis=1), rtol=1e-8)


def slow_allocation(rows, core, k, h0, factor, n_stages):
    labels, n = core.copy(), len(rows)
    for left in range(n_stages, 0, -1):
        rest = [i for i in range(n) if labels[i] < 0]
        found = []
        for i in rest:
            f, se2 = [], []
            for m in range(k):
                members = rows[labels == m]
                own = (
                    factor
                    * members.std(axis=0, ddof=1)
                    * (4 / ((rows.shape[1] + 2) * len(members))) ** (1 / (rows.shape[1] + 4))
                )
                a = len(members) / n
                h = np.exp((1 - a) * np.log(h0) + a * np.log(own))
                f.append(norm.pdf(rows[i], members, h).prod(axis=1).mean())
                se2.append(1.0 / (f[-1] * len(members) * h.prod()))
            one, two = np.argsort(f)[::-1][:2]
            found.append(((np.log(f[one]) - np.log(f[two])) / np.sqrt(se2[one] + se2[two]), i, one))
        for _, i, one in sorted(found, reverse=True)[: int(np.ceil(len(rest) / left))]:
            labels[i] = one
    return labels


@pytest.mark.parametrize("n_stages", [1, 3, 5])
def test_allocation_in_stages_is_that_of_the_slow_twin(n_stages):
    rows, y = three_gaussians(3)
    rows = rows / rows.std(axis=0, ddof=1)
    core = np.where(np.random.default_rng(0).random(len(y)) < 0.3, y, -1)
    h0 = 0.75 * compute_normal_bandwidth(rows)
    assert_array_equal(allocate(rows, core, 3, h0, 0.75, n_stages), slow_allocation(rows, core, 3, h0, 0.75, n_stages))


# ----------------------------------------------------------------------------------------------- known clusters


@pytest.mark.parametrize(
    ("components", "n_modes"),
    [
        ([(100, 0.0, 1.0)], 1),
        ([(60, 0.0, 1.0), (40, 6.0, 1.0)], 2),
        ([(50, 0.0, 1.0), (40, 6.0, 1.0), (30, 14.0, 1.0)], 3),
    ],
)
def test_modes_of_one_column_are_counted(components, n_modes):
    X, y = quantiles(*components)
    pdf = PdfCluster("auto").fit(X)
    assert pdf.n_clusters_ == pdf.tree_.n_modes == n_modes
    assert adjusted_rand_score(y, pdf.labels_) > 0.95
    assert (np.diff(np.bincount(pdf.labels_)) <= 0).all()


@pytest.mark.parametrize(("d", "graph", "size"), [(2, "delaunay", 50), (2, "pairs", 50), (7, "pairs", 200)])
def test_three_gaussians_are_three_modes(d, graph, size):
    X, y = three_gaussians(d=d, sizes=(size + 10, size, size - 10))
    pdf = PdfCluster("auto", graph=graph).fit(X)
    assert pdf.n_clusters_ == 3
    assert pdf.graph_ == graph
    assert adjusted_rand_score(y, pdf.labels_) > 0.9
    assert_array_equal(PdfCluster("auto").fit(X).graph_, "delaunay" if d <= 6 else "pairs")
    inside = pdf.cluster_cores_ >= 0
    assert_array_equal(pdf.cluster_cores_[inside], pdf.labels_[inside])
    assert 0 < inside.sum() < len(X)


def test_two_clusters_are_cut_at_the_lowest_saddle():
    X, y = quantiles((50, 0.0, 1.0), (40, 5.0, 1.0), (30, 18.0, 1.0))
    labels = PdfCluster(bandwidth_factor=0.3).fit(X).labels_
    assert_array_equal(labels, y == 2)


def test_crescents_are_two_clusters():
    rng = np.random.default_rng(0)
    angle, y = rng.uniform(0, np.pi, 300), np.arange(300) % 2
    X = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    X[y == 1] = [1.0, 0.4] - X[y == 1]
    X += 0.07 * rng.standard_normal(X.shape)
    labels = PdfCluster(bandwidth_factor=0.5, graph="pairs").fit(X).labels_
    assert adjusted_rand_score(y, labels) > 0.95


def test_too_few_modes_are_told():
    with pytest.warns(NoSplitWarning, match=r"n_clusters=2 .* the density has 1 mode\(s\)"):
        pdf = PdfCluster().fit(one_gaussian_line())
    assert_array_equal(pdf.labels_, 0)
    assert pdf.n_clusters_ == 1


def test_of_too_many_separate_parts_the_largest_are_the_cores():
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1, 2], [60, 50, 5])
    X = np.zeros((115, 7))
    X[:, :3] = 60.0 * np.eye(3)[y]
    X += rng.standard_normal(X.shape)
    pdf = PdfCluster().fit(X)
    assert pdf.n_clusters_ == 2
    assert adjusted_rand_score(y[y < 2], pdf.labels_[y < 2]) == 1.0


# ----------------------------------------------------------------------------------------------- contract


@pytest.mark.parametrize(
    "change",
    [
        lambda X: X.astype(np.float32),
        np.asfortranarray,
        lambda X: X + 1e8,
        lambda X: X * [1e-150, 1e150],
        lambda X: np.insert(X, 1, 7.3, axis=1),
    ],
    ids=["float32", "fortran", "offset", "tiny and huge", "constant column"],
)
@pytest.mark.parametrize("graph", ["delaunay", "pairs"])
def test_clusters_do_not_depend_on_units_or_storage(change, graph):
    X, _ = three_gaussians()
    X = X.astype(np.float32).astype(np.float64)
    assert_array_equal(
        PdfCluster("auto", graph=graph).fit(change(X)).labels_, PdfCluster("auto", graph=graph).fit(X).labels_
    )


def test_order_of_the_rows_does_not_matter():
    X, _ = three_gaussians()
    order = np.random.default_rng(0).permutation(len(X))
    assert_array_equal(PdfCluster().fit(X[order]).labels_, PdfCluster().fit(X).labels_[order])


@pytest.mark.parametrize("n", [1, 2, 3, 4])
@pytest.mark.parametrize("d", [1, 2, 9])
@pytest.mark.filterwarnings("error")
def test_few_rows_are_one_cluster_or_more(n, d):
    X = np.random.default_rng(0).standard_normal((n, d))
    pdf = PdfCluster("auto").fit(X)
    assert pdf.labels_.shape == (n,)
    assert set(pdf.labels_) == set(range(pdf.n_clusters_))


def test_rows_that_are_all_equal_are_one_cluster():
    with pytest.warns(NoSplitWarning, match="All rows are equal"):
        assert_array_equal(PdfCluster().fit(np.full((9, 2), 0.1)).labels_, 0)


def test_duplicates_and_fewer_rows_than_columns():
    X, y = two_clusters(30, 4, separation=20.0)
    wide = np.repeat(X @ np.random.default_rng(0).standard_normal((4, 90)), 2, axis=0)
    assert_array_equal(PdfCluster(lam=0.3).fit(wide).labels_, np.repeat(y, 2))


def test_rows_in_a_plane_use_pairs_unless_told_otherwise():
    X = three_gaussians()[0]
    flat = np.hstack([X, X[:, :1] + X[:, 1:]])
    assert PdfCluster("auto").fit(flat).graph_ == "pairs"
    with pytest.raises(ValueError, match=r"graph='delaunay' found no triangulation of 150 rows.*graph='pairs'"):
        PdfCluster(graph="delaunay").fit(flat)


def test_a_triangulation_that_would_be_too_large_is_avoided(monkeypatch):
    X = three_gaussians()[0]
    monkeypatch.setattr("ravine.baselines.clustering.pdf_cluster.MOST_SIMPLICES", 2 * len(X) - 1)
    assert PdfCluster("auto").fit(X).graph_ == "pairs"
    assert PdfCluster("auto", graph="delaunay").fit(X).graph_ == "delaunay"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_clusters": "many"}, ValueError, "n_clusters must be an integer >= 1 or 'auto'"),
        ({"n_clusters": 0}, ValueError, "n_clusters must be an integer >= 1"),
        ({"n_clusters": 151}, ValueError, "n_clusters=151 is more than the 150 rows of X .n_samples=150"),
        ({"bandwidth_factor": 0.0}, ValueError, "bandwidth_factor must be"),
        ({"graph": "knn"}, ValueError, "graph must be one of 'auto', 'delaunay', 'pairs'"),
        ({"lam": 1.5}, ValueError, "lam must be"),
        ({"n_grid": 0}, ValueError, "n_grid must be"),
        ({"n_stages": 0}, ValueError, "n_stages must be"),
        ({"max_rows": 149}, ValueError, r"X has 150 rows, more than max_rows=149.*increase max_rows"),
        ({"max_rows": None}, TypeError, "max_rows must be"),
    ],
)
def test_what_cannot_be_used_is_refused_by_name_and_leaves_the_fit_as_it_was(settings, error, message):
    X = three_gaussians()[0]
    pdf = PdfCluster().fit(X)
    before = pdf.labels_
    with pytest.raises(error, match=message):
        pdf.set_params(**settings).fit(X)
    assert pdf.labels_ is before


def test_far_too_many_rows_are_refused_at_once():
    with pytest.raises(ValueError, match="X has 1000000 rows, more than max_rows=5000"):
        PdfCluster().fit(np.arange(1e6)[:, None])
