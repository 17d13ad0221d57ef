"""Refinement on the rows near the hyperplane against the optimisation on all rows, its slow twin."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, PathSettings
from ravine.optimise import Memory, SphereResult
from ravine.rows import BlockSample, DenseSample, RowBlocks, RowsIn, SetDirection, as_rows, blocks, cluster, projections
from ravine.search import Problem, SearchSettings, describe_stage, drive, refinement
from ravine.search.refinement import polish_on_slabs
from ravine.search.stages import Path, polish
from support.simulate import mixture, orthogonal, two_clusters

pytestmark = pytest.mark.usefixtures("sparse_samples")

N, D = 6000, 6


@pytest.fixture
def slabs(monkeypatch):
    """Use slabs also for few rows, most of which are near any hyperplane; note their sizes."""
    monkeypatch.setattr(refinement, "WORTH_A_SLAB", 0)
    monkeypatch.setattr(refinement, "LARGEST_SHARE", 1.0)
    sizes = []
    run = refinement._SlabDescent._run

    def count(self, on_slab, *args):
        sizes.append(on_slab.sample.n_rows)
        return run(self, on_slab, *args)

    monkeypatch.setattr(refinement._SlabDescent, "_run", count)
    return sizes


@pytest.fixture
def rows():
    X = mixture(N, D, seed=5)[0]
    return np.where(np.abs(X) < 0.2, 0.0, X)


def model(**options):
    mdh = MinimumDensityHyperplane(n_init=3, subsample=600, path=PathSettings(n_alpha=5, tol=1e-11), random_state=7)
    return mdh.set_params(**options)


def fit_both(slabs, monkeypatch, fit):
    """Fit with slabs, then without."""
    with_slabs = fit()
    assert slabs
    monkeypatch.setattr(refinement, "WORTH_A_SLAB", 10**9)
    return with_slabs, fit()


def assert_same(found, expected):
    np.testing.assert_array_equal(np.asarray(found.labels_), expected.labels_)
    assert found.density_ == pytest.approx(expected.density_, rel=1e-8)
    assert found.path_[-1].certified
    assert found.path_[-1].converged


@pytest.mark.parametrize("form", ["array", "columns adjacent", "float32", "weights", "sparse", "blocks", "two threads"])
def test_slabs_give_the_answer_of_all_rows(form, rows, slabs, monkeypatch, rng):
    X = rows.astype(np.float32) if form == "float32" else rows
    X = np.asfortranarray(X) if form == "columns adjacent" else X
    X = sp.csr_array(X) if form == "sparse" else X
    weights = rng.integers(1, 4, N).astype(float) if form == "weights" else None
    options = {"n_jobs": 2} if form == "two threads" else {}

    def fit():
        data = [X[:1000], X[1000:1001], X[1001:]] if form == "blocks" else X
        return model(**options).fit(data, sample_weight=weights)

    assert_same(*fit_both(slabs, monkeypatch, fit))


def test_slabs_give_the_answer_of_all_rows_with_labels(slabs, monkeypatch, rng):
    X, y = two_clusters(N, D, separation=4.0)
    labels = np.full(N, -1)
    chosen = rng.choice(N, 20, replace=False)
    labels[chosen] = y[chosen]

    def fit():
        return MinimumDensityClassifier(
            method="paper",
            random_state=0,
            hyperplane=MinimumDensityHyperplane(
                subsample=600, alpha_max=0.9, path=PathSettings(polish=True, tol=1e-11, n_alpha=20, max_iter=5)
            ),
        ).fit(X, labels)

    found, expected = fit_both(slabs, monkeypatch, fit)
    np.testing.assert_array_equal(found.transduction_, expected.transduction_)


def test_a_sample_of_the_slab_leads_to_the_answer_of_all_rows(rows, slabs, monkeypatch):
    monkeypatch.setattr(blocks, "GATHERED_BYTES", 8 * D * 300)

    def fit():
        return model().fit([rows])

    assert_same(*fit_both(slabs, monkeypatch, fit))
    assert max(slabs) <= 300


def test_slabs_of_a_cluster_give_the_answer_of_all_rows(rows, slabs, monkeypatch):
    da, distributed = pytest.importorskip("dask.array"), pytest.importorskip("distributed")
    monkeypatch.setattr(cluster, "TAKE_BYTES", 0)
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None, "processes": False}
    with distributed.LocalCluster(**options) as local, distributed.Client(local):
        X = da.from_array(rows, chunks=(2000, D)).persist()
        for most in (cluster.GATHERED_BYTES, 4 * D * 500):
            monkeypatch.setattr(refinement, "WORTH_A_SLAB", 0)
            monkeypatch.setattr(cluster, "GATHERED_BYTES", most)
            assert_same(*fit_both(slabs, monkeypatch, lambda: model().fit(X)))


def test_a_file_is_read_a_few_times(rows, slabs, tmp_path):
    np.save(tmp_path / "rows.npy", rows)
    source = RowBlocks(tmp_path / "rows.npy")
    model(path__tol=1e-6).fit(source)
    assert slabs
    assert source.passes <= 8  # one of them compares scales, in the first block


# ------------------------------------------------------------------------------------------------- adversarial starts


def heavy_tails(rng):
    """Outliers far out along every direction, which come near the hyperplane when the normal turns."""
    X = two_clusters(N, 4, separation=5.0)[0]
    return X + rng.standard_t(1.5, X.shape) * (rng.random((N, 1)) < 0.2)


PROBLEMS = {
    "clusters": lambda rng: two_clusters(N, D, separation=5.0)[0],
    "five clusters": lambda rng: 4.0 * rng.standard_normal((5, D))[rng.integers(0, 5, N)] + rng.standard_normal((N, D)),
    "heavy tails": heavy_tails,
    "deep valley": lambda rng: two_clusters(N, D, separation=40.0)[0],
    "empty valley": lambda rng: two_clusters(N, D, separation=1000.0)[0],
    "one Gaussian": lambda rng: rng.standard_normal((N, D)),
    "repeated rows": lambda rng: np.repeat(rng.integers(0, 6, (N // 10, 3)), 10, axis=0).astype(float),
    "far away": lambda rng: two_clusters(N, D, separation=5.0)[0] + 1e9,
}


def make_problem(X, bandwidth):
    settings = SearchSettings(subsample=None, tolerance=1e-9)
    settings = settings if bandwidth is None else replace(settings, bandwidth=bandwidth)
    return Problem.of(as_rows(X), settings=settings, rng=np.random.default_rng(0))


def make_path(problem, v):
    """Return a path that keeps the hyperplane with the normal v."""
    index = problem.index()
    ((value, gradient),) = drive(problem.sample, [index.begin(v)])
    start = SphereResult(v, value, gradient, 0, 0, False, False)
    (stage,) = drive(problem.sample, [describe_stage(index, start, 0, (0, 0))])
    return Path((stage,), stage, Memory())


@pytest.mark.parametrize("turn", [0.0, 0.05, 0.5])
@pytest.mark.parametrize("shift", [0.0, 15.0])
@pytest.mark.parametrize("bandwidth", [None, 1e-3])
@pytest.mark.parametrize("name", PROBLEMS)
def test_further_iterations_on_all_rows_gain_nothing(name, bandwidth, shift, turn, slabs, rng):
    """Wherever the start is, and wherever the offset of fewer rows was."""
    problem = make_problem(PROBLEMS[name](rng), bandwidth)
    first = problem.axes.directions[0]
    v = np.cos(turn) * first + np.sin(turn) * orthogonal(len(first))[:, 0]
    path = make_path(problem, v / np.linalg.norm(v))
    at = path.kept.separation
    guess = replace(path.kept, separation=replace(at, b=at.b + shift * path.kept.bandwidth))
    (found,) = drive(
        problem.sample, [polish_on_slabs(problem, problem.sample, replace(path, kept=guess), problem.settings)]
    )
    assert bool(slabs) == (bandwidth is None)  # with a tiny bandwidth the index has too many kinks for slabs
    assert found.polished
    assert found.n_rows == problem.sample.n_rows
    assert found.log_index <= path.kept.log_index + 1e-9
    if not slabs:  # the index has so many minima that further iterations may step into the next one
        return
    (after,) = drive(problem.sample, [polish(problem.index(), Path((found,), found, Memory()), problem.settings)])
    assert after.log_index >= found.log_index - 1e-6 * max(1.0, abs(found.log_index))


# ------------------------------------------------------------------------------------------------- rows near b


def request(sample, v, b, reach, most=np.inf):
    projections = sample.new_projections()
    ((_, found),) = sample.answer([[SetDirection(projections, v), RowsIn(projections, 0.3, b, reach, most)]])
    return found


@pytest.mark.parametrize("most", [np.inf, 200])
@pytest.mark.parametrize("weighted", [False, True])
def test_every_kind_of_rows_gathers_the_same(weighted, most, rows, rng):
    weights = rng.integers(1, 4, N).astype(float) if weighted else None
    whole = DenseSample(rows, weights)
    v = whole.moments().principal_axes(1)[1][0]
    found = request(whole, v, 0.1, 0.5, most)
    p = whole.fetch(np.arange(N)) @ v
    near_b = np.abs(p - 0.1) <= 0.5
    assert found.n_rows == min(near_b.sum(), most)
    if most == np.inf:
        np.testing.assert_array_equal(found.fetch(np.arange(found.n_rows)), whole.fetch(np.flatnonzero(near_b)))
    others = [
        BlockSample(RowBlocks([rows[:7], rows[7:3000], rows[3000:]]), weights, origin=whole.origin, unit=whole.unit)
    ]
    others += [as_rows(sp.csr_array(rows)).sample(weights)] if most == np.inf else []
    for other in others:
        same = request(other, v, 0.1, 0.5, most)
        assert same.total == found.total == whole.total
        assert same.lightest == whole.lightest
        np.testing.assert_allclose(same.fetch(np.arange(same.n_rows)), found.fetch(np.arange(found.n_rows)), atol=1e-12)
        if weighted or most < np.inf:
            np.testing.assert_allclose(same.weights, found.weights, rtol=1e-9)


def test_weights_make_up_for_rows_that_are_left_out(rng):
    p = np.sort(rng.normal(0.0, 2.0, 50_000))
    r = RowsIn(None, 0.3, 0.1, 1.5, 4000)
    places = projections.find_near(p, r)
    kept, weights = projections.thin(places, p[places], None, r)
    assert len(kept) == 4000
    for b in (0.1, -0.2, 0.5):
        exact = np.exp(-0.5 * ((p[places] - b) / 0.3) ** 2).sum()
        assert weights @ np.exp(-0.5 * ((p[places[kept]] - b) / 0.3) ** 2) == pytest.approx(exact, rel=0.02)


def test_rows_that_come_in_blocks_are_thinned_as_all_at_once(rng):
    p, weights, X = rng.normal(size=5000), rng.random(5000) + 0.1, rng.normal(size=(5000, 2))
    r = RowsIn(None, 0.2, 0.0, 0.8, 300)
    places = projections.find_near(p, r)
    kept, expected = projections.thin(places, p[places], weights[places], r)
    collector = projections.RowCollector(r)
    for part in np.array_split(places, 40):
        collector.add(X[part], part, p[part], weights[part])
    found, found_weights = collector.finish()
    np.testing.assert_array_equal(found, X[places[kept]])
    np.testing.assert_array_equal(found_weights, expected)
