"""Plans of hyperplanes between the clusters of a partition, and the trees that all rows are sent through."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.sparse import csr_array
from sklearn.metrics import adjusted_rand_score

from ravine.density import ProjectedDensity
from ravine.rows import as_rows
from ravine.tree import constants, hyperplanes
from ravine.tree.editing import label_unions
from ravine.tree.graph import NeighbourGraph
from ravine.tree.hyperplanes import Plan, build_tree, plan_splits
from ravine.tree.nodes import NONE
from ravine.tree.partitions import Partition, cut_cells
from support.shape_data import draw_moons, draw_rings

CENTERS = np.array([[0.0, 0.0, 0.0], [9.0, 0.0, 0.0], [0.0, 9.0, 0.0], [9.0, 9.0, 5.0]])
LABELS = np.repeat([0, 1, 2, 3], [80, 50, 60, 40])
X = CENTERS[LABELS] + np.random.default_rng(0).normal(size=(230, 3))


def make_graph(rows, **options):
    return NeighbourGraph.of(as_rows(rows), np.random.default_rng(0), **options)


def plan_blobs(rows=X, labels=LABELS, **options):
    graph = make_graph(rows, **options)
    return graph, plan_splits(graph, Partition(labels[graph.indices]))


def plan_shapes(draw):
    rows, labels = draw()
    graph = make_graph(rows)
    partition = cut_cells(graph, 1, 2, np.random.default_rng(1))[0].join(2, 50.0)
    return rows, labels, graph, partition, plan_splits(graph, partition)


def route(plan, x):
    """Return the cluster that each row reaches, one row and one split at a time."""
    reached = []
    for row in x:
        node = 0
        for n_made, split in enumerate(plan.splits):
            if split.node == node:
                node = 2 * n_made + (2 if sum(row * split.direction) > split.threshold else 1)
        reached.append(plan.cluster[node])
    return reached


# ----------------------------------------------------------------------------------------------- plans


@pytest.mark.parametrize("kind", ["blobs", "random", "ties", "one feature", "outlier", "rings", "moons"])
def test_labels_of_a_plan_are_those_of_routing_by_hand(kind):
    if kind in ("rings", "moons"):
        graph, plan = plan_shapes(draw_rings if kind == "rings" else draw_moons)[2::2]
    else:
        rng = np.random.default_rng(1)
        rows, labels = {
            "blobs": (X, LABELS),
            "random": (X, rng.integers(0, 3, 230)),
            "ties": (rng.integers(0, 4, size=(100, 2)).astype(float), rng.integers(0, 3, 100)),
            "one feature": (X[:, :1], LABELS),
            "outlier": (np.concatenate([X, [[1e6, 0.0, 0.0]]]), np.append(LABELS, 0)),
        }[kind]
        graph, plan = plan_blobs(rows, labels)
    assert_array_equal(plan.labels, route(plan, graph.rows.x))
    assert len(plan.cluster) == len(plan.splits) + 1
    members = [np.arange(len(graph))]
    for (inside, goes_right), split in zip(plan.list_nodes(graph), plan.splits, strict=True):
        assert_array_equal(inside, members[split.node])
        assert_array_equal(goes_right, graph.rows.x[inside] @ split.direction > split.threshold)
        members += [inside[~goes_right], inside[goes_right]]


@pytest.mark.parametrize("scale", [1e-150, 1.0, 1e150])
@pytest.mark.parametrize("k", [2, 3, 4])
def test_convex_clusters_need_one_split_less(k, scale):
    inside = np.isin(LABELS, range(k))
    graph, plan = plan_blobs(scale * X[inside], LABELS[inside])
    assert len(plan.splits) == plan.n_clusters - 1 == k - 1
    assert_array_equal(plan.labels, LABELS[inside][graph.indices])


@pytest.mark.parametrize("draw", [draw_rings, draw_moons])
def test_cells_lead_to_the_joined_clusters(draw):
    _, labels, graph, partition, plan = plan_shapes(draw)
    assert adjusted_rand_score(partition.labels, plan.labels) == 1.0
    assert adjusted_rand_score(labels[graph.indices], plan.labels) > 0.9
    assert plan.n_clusters == 2 < len(plan.splits) < partition.cells[0].n_leaves - 1


def test_clearest_separation_is_made_first():
    rows = np.concatenate([X[LABELS == 0], X[LABELS == 0] + [4.0, 0.0, 0.0], X[LABELS == 0] + [50.0, 0.0, 0.0]])
    graph, plan = plan_blobs(rows, np.repeat([0, 1, 2], 80))
    first, second = (graph.rows.make_hyperplane(split.direction, split.threshold) for split in plan.splits)
    assert 10.0 < abs(first.offset) < 45.0
    assert abs(second.offset) < 4.0


@pytest.mark.parametrize("group", [[0, 0, 1, 2], [1, 0, 0, 0]])
def test_groups_are_separated_before_their_clusters(group):
    graph, group = make_graph(X), np.array(group)
    labels = LABELS[graph.indices]
    plan = plan_splits(graph, Partition(labels), group)
    n_groups = len(set(group.tolist()))
    for i, (inside, goes_right) in enumerate(plan.list_nodes(graph)):
        left, right = (set(group[labels[inside[side]]].tolist()) for side in (~goes_right, goes_right))
        assert left.isdisjoint(right) == (i < n_groups - 1)
    assert adjusted_rand_score(labels, plan.labels) == 1.0


@pytest.mark.parametrize("step", [1.0, 2.0**-3, 2.0**-40])
def test_threshold_has_the_fewest_rows_on_the_wrong_side(step):
    for seed in range(10):
        rng = np.random.default_rng(seed)
        p, is_right = step * np.round(rng.normal(size=150) / step), rng.random(150) < 0.4
        p[is_right] += rng.integers(0, 4)
        values = np.unique(p)
        wrong = {t: int(((p > t) != is_right).sum()) for t in 0.5 * (values[1:] + values[:-1])}
        n_wrong, threshold, (low, high) = hyperplanes._find_threshold(p, is_right)
        assert n_wrong == min(wrong.values()) == ((p > threshold) != is_right).sum()
        assert low < threshold < high
        allowed = n_wrong + constants.TOLERATED * 150
        assert all(count <= allowed for t, count in wrong.items() if low < t < high)
        beyond = [t for t in wrong if t < low][-1:] + [t for t in wrong if t > high][:1]
        assert step > 1e-9 or all(wrong[t] > allowed for t in beyond)


def test_crossing_is_a_sum_over_edges_inside_a_node():
    graph = make_graph(X)
    inside = np.flatnonzero(LABELS[graph.indices] != 2)
    goes_right = graph.rows.x[inside, 0] > 0.1
    side, crossing, volumes = dict(zip(inside.tolist(), goes_right.tolist(), strict=True)), 0.0, [0.0, 0.0]
    for i in inside.tolist():
        for j, weight in zip(graph.nearest[i].tolist(), graph.edge_weights[i].tolist(), strict=True):
            if j in side:
                volumes[side[i]] += weight
                crossing += weight * (side[i] != side[j])
    assert crossing > 0.0
    expected = crossing / volumes[0] + crossing / volumes[1]
    assert hyperplanes._measure_crossing(graph, inside, goes_right) == pytest.approx(expected)


# ----------------------------------------------------------------------------------------------- trees


@pytest.mark.parametrize("kind", ["dense", "sparse", "sample", "constant feature", "tiny", "huge"])
def test_tree_sends_all_rows_to_their_clusters(kind, monkeypatch):
    scale = {"tiny": 1e-150, "huge": 1e150}.get(kind, 1.0)
    rows = np.column_stack([X, np.full(230, 0.1)]) if kind == "constant feature" else scale * X
    if kind == "sample":
        monkeypatch.setattr(constants, "MOST_GRAPH_ROWS", 120)
    given, seen = as_rows(csr_array(rows) if kind == "sparse" else rows), []
    graph, plan = plan_blobs(given)
    tree, leaves = build_tree(given, graph, plan, "silverman", notify=seen.append)
    tree.validate()
    assert_array_equal(leaves, tree.apply(rows))
    assert adjusted_rand_score(LABELS, tree.cluster[leaves]) > (0.95 if kind == "sample" else 1.0 - 1e-12)
    assert_array_equal(tree.size, [np.isin(leaves, tree.leaves(node)).sum() for node in range(len(tree))])
    assert sorted(tree.order[tree.left != NONE]) == [0, 1, 2]
    assert [len(one) for one in seen] == [3, 5, 7]
    assert all(tree.order[tree.parent[k]] < tree.order[k] for k in range(1, len(tree)) if tree.left[k] != NONE)


@pytest.mark.parametrize("scale", [1e-100, 1.0, 1e100])
def test_hyperplanes_lie_at_local_minima_of_the_density(scale):
    rows = scale * X
    graph, plan = plan_blobs(rows)
    tree, leaves = build_tree(as_rows(rows), graph, plan, "silverman")
    for node in np.flatnonzero(tree.left != NONE):
        plane, h = tree.hyperplane(node), tree.bandwidth[node]
        inside = rows[np.isin(leaves, tree.leaves(node))]
        deviation = np.sqrt(np.linalg.eigvalsh(np.cov((inside / scale).T, bias=True))[-1])
        assert h == pytest.approx(0.9 * scale * deviation * len(inside) ** -0.2)
        density = ProjectedDensity(plane.distance(inside), h)
        assert density(0.0) <= min(density(-0.1 * h), density(0.1 * h))
        assert tree.density[node] == pytest.approx(float(density(0.0)), rel=1e-6)
        assert tree.relative_depth[node] == pytest.approx(density.relative_depth(0.0))


@pytest.mark.parametrize("draw", [draw_rings, draw_moons])
def test_joins_lead_to_the_clusters(draw):
    rows, _, graph, _, plan = plan_shapes(draw)
    tree, leaves = build_tree(as_rows(rows), graph, plan, "silverman")
    nodes = np.array(tree.leaves())
    groups = label_unions(len(tree), tree.joins.leaves[: tree.n_leaves - tree.n_clusters])[nodes]
    assert adjusted_rand_score(groups, tree.cluster[nodes]) == 1.0
    assert len(np.unique(label_unions(len(tree), tree.joins.leaves)[nodes])) == 1
    assert adjusted_rand_score(plan.labels, tree.cluster[leaves[graph.indices]]) > 0.9
    assert tree.joins.boundaries.tolist() == [[0, 1]]
    assert tree.joins.boundary_evidence[0] > 3.0


def test_integer_weights_make_the_tree_of_copies():
    weights = np.random.default_rng(3).integers(1, 4, 230)
    copies = np.repeat(X, weights, axis=0)
    trees = [
        build_tree(as_rows(rows), *plan_blobs(rows, labels, weights=w), "silverman", w)[0]
        for rows, labels, w in ((X, LABELS, weights.astype(float)), (copies, np.repeat(LABELS, weights), None))
    ]
    for name in ("normal", "offset", "density", "bandwidth", "relative_depth"):
        assert_allclose(getattr(trees[0], name), getattr(trees[1], name), rtol=1e-6)


def test_splits_without_rows_on_both_sides_are_left_out():
    graph, plan = plan_blobs()
    outside = Plan([*plan.splits[:-1], hyperplanes.replace(plan.splits[-1], threshold=99.0, interval=(99.0, 99.0))],
                   plan.cluster, plan.labels)  # fmt: skip
    tree, leaves = build_tree(as_rows(X), graph, outside, 0.5)
    assert tree.n_leaves == 3
    assert_array_equal(leaves, tree.apply(X))


def test_joined_convex_cells_become_discriminants():
    graph = make_graph(X)
    partition = cut_cells(graph, 1, 4, np.random.default_rng(1))[0].join(4, 20.0)
    plan = plan_splits(graph, partition)
    assert adjusted_rand_score(LABELS[graph.indices], plan.labels) == 1.0
    assert len(plan.splits) == 3
    assert all(low < split.threshold < high for split in plan.splits for low, high in [split.interval])


def test_overlapping_clusters_are_separated_by_a_margin():
    rng = np.random.default_rng(3)
    wide = rng.normal(size=(400, 2)) * [6.0, 1.0]
    rows = np.concatenate([wide[wide[:, 0] < 9.0], rng.normal(size=(40, 2)) * 0.3 + [2.0, 4.0]])
    labels = (np.arange(len(rows)) >= len(rows) - 40).astype(np.intp)
    graph = make_graph(rows)
    labels = labels[graph.indices]
    split = plan_splits(graph, Partition(labels)).splits[0]
    right = graph.rows.x @ split.direction > split.threshold
    direction = hyperplanes.find_discriminant(graph.rows.x, labels > 0)
    by_discriminant = hyperplanes._find_threshold(graph.rows.x @ direction, labels > 0)[0]
    assert min(np.sum(right != labels), np.sum(right == labels)) <= by_discriminant


@pytest.mark.parametrize("smallest", [0, 45, 55, 200])
def test_rows_of_small_clusters_go_to_the_others(smallest):
    """A small cluster beside all others leaves them in place."""
    graph, plan = plan_blobs()
    tree, leaves = build_tree(as_rows(X), graph, plan, "silverman", smallest=smallest)
    sizes = np.bincount(tree.cluster[leaves])
    n_kept = {0: 4, 45: 3, 55: 2, 200: 1}[smallest]
    assert tree.n_clusters == n_kept
    assert sizes.min() >= smallest
    assert sizes.sum() == len(X)
    assert_array_equal(tree.apply(X), leaves)
    assert_array_equal(tree.size[tree.leaves()], [np.sum(leaves == k) for k in tree.leaves()])
    kept = LABELS < 1 if smallest == 200 else np.isin(LABELS, np.argsort(np.bincount(LABELS))[4 - n_kept :])
    assert adjusted_rand_score(LABELS[kept], tree.cluster[leaves][kept]) == 1.0
