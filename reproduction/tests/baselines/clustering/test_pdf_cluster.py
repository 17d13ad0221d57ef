"""PdfCluster: its density and allocation against slow twins, and data with known modes."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import gaussian_kde, norm
from sklearn.metrics import adjusted_rand_score
from sklearn.utils.estimator_checks import parametrize_with_checks

from ravine import NoSplitWarning
from ravine_paper.baselines import PdfCluster
from ravine_paper.baselines.clustering.core_allocation import allocate, compute_log_density, compute_normal_bandwidth
from support.simulate import one_gaussian_line, two_clusters


def quantiles(*components):
    """Return one feature with the normal quantiles of each (size, mean, sd), and the components."""
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
def test_modes_of_one_feature_are_counted(components, n_modes):
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


def test_too_few_modes_are_a_warning():
    with pytest.warns(NoSplitWarning, match=r"n_clusters=2 .* 1 mode"):
        pdf = PdfCluster().fit(one_gaussian_line())
    assert_array_equal(pdf.labels_, 0)
    assert pdf.n_clusters_ == 1


def test_largest_of_too_many_components_are_the_cores():
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
    with pytest.warns(NoSplitWarning, match="equal"):
        assert_array_equal(PdfCluster().fit(np.full((9, 2), 0.1)).labels_, 0)


def test_duplicates_and_fewer_rows_than_features():
    X, y = two_clusters(30, 4, separation=20.0)
    wide = np.repeat(X @ np.random.default_rng(0).standard_normal((4, 90)), 2, axis=0)
    assert_array_equal(PdfCluster(lam=0.3).fit(wide).labels_, np.repeat(y, 2))


def test_rows_in_a_plane_use_pairs_by_default():
    X = three_gaussians()[0]
    flat = np.hstack([X, X[:, :1] + X[:, 1:]])
    assert PdfCluster("auto").fit(flat).graph_ == "pairs"
    with pytest.raises(ValueError, match=r"graph='delaunay'.*150.*graph='pairs'"):
        PdfCluster(graph="delaunay").fit(flat)


def test_a_triangulation_that_would_be_too_large_is_avoided(monkeypatch):
    X = three_gaussians()[0]
    monkeypatch.setattr("ravine_paper.baselines.clustering.pdf_cluster.MOST_SIMPLICES", 2 * len(X) - 1)
    assert PdfCluster("auto").fit(X).graph_ == "pairs"
    assert PdfCluster("auto", graph="delaunay").fit(X).graph_ == "delaunay"


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"n_clusters": "many"}, ValueError, "n_clusters .*'auto'"),
        ({"n_clusters": 0}, ValueError, "n_clusters"),
        ({"n_clusters": 151}, ValueError, "n_clusters=151 .*n_samples=150"),
        ({"bandwidth_factor": 0.0}, ValueError, "bandwidth_factor must be"),
        ({"graph": "knn"}, ValueError, "graph .*'auto', 'delaunay', 'pairs'"),
        ({"lam": 1.5}, ValueError, "lam"),
        ({"n_grid": 0}, ValueError, "n_grid must be"),
        ({"n_stages": 0}, ValueError, "n_stages must be"),
        ({"max_rows": 149}, ValueError, "150 .*max_rows=149"),
        ({"max_rows": None}, TypeError, "max_rows must be"),
    ],
)
def test_bad_parameter_is_named_and_leaves_the_earlier_fit(settings, error, message):
    X = three_gaussians()[0]
    pdf = PdfCluster().fit(X)
    before = pdf.labels_
    with pytest.raises(error, match=message):
        pdf.set_params(**settings).fit(X)
    assert pdf.labels_ is before


def test_far_too_many_rows_are_refused_immediately():
    with pytest.raises(ValueError, match=r"1000000.*max_rows=5000"):
        PdfCluster().fit(np.arange(1e6)[:, None])


def test_triangulation_of_many_features_is_refused():
    X = np.random.default_rng(0).standard_normal((200, 20))
    with pytest.raises(ValueError, match=r"'delaunay'.*7.*20.*graph='pairs'"):
        PdfCluster(graph="delaunay").fit(X)
