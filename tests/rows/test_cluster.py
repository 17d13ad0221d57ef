"""Fits on a Dask cluster: results of the array, blocks that stay on their workers, few rounds, lost workers."""

import gc
import os
import signal
import time

import numpy as np
import pytest
from sklearn.base import clone

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, MinimumDensityTree, PathSettings
from ravine.rows import ValuesIn, cluster
from ravine.rows.cluster import ClusterRows, ClusterSample
from ravine.rows.workers import rounds
from ravine.rows.workers.rounds import ClusterError
from ravine.rows.workers.worker import StaleState, WorkerRows, merge_answers, open_worker, run_commands
from support.marks import slow
from support.simulate import mixture, two_clusters

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

N, CHUNKS = 3000, ((400, 0, 1100, 3, 997, 500), (4,))


@pytest.fixture(scope="module")
def client():
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        yield client


@pytest.fixture(autouse=True)
def no_garbage_of_earlier_tests():
    """Collect arrays of the tests themselves before a test, not during it: a fit must free its own without this."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


@pytest.fixture
def remote(monkeypatch):
    """Let no subsample be small enough to be fetched."""
    monkeypatch.setattr(cluster, "TAKE_BYTES", 0)
    monkeypatch.setattr("ravine.rows.base.SMALL_BYTES", 0)


@pytest.fixture
def closed(monkeypatch):
    """Return the rows that fits have closed."""
    seen, close = [], ClusterRows.close

    def close_and_note(self):
        close(self)
        seen.append(self)

    monkeypatch.setattr(ClusterRows, "close", close_and_note)
    return seen


@pytest.fixture(scope="module")
def rows():
    return mixture(N, 4, seed=1)[0]


def quick(**options):
    mdh = MinimumDensityHyperplane(n_init=2, subsample=300, path=PathSettings(n_alpha=3), random_state=0)
    return mdh.set_params(**options)


def on_workers(rows, client, chunks=CHUNKS):
    X = client.persist(da.from_array(rows, chunks=chunks))
    distributed.wait(X)
    return X


def left_behind(client, but=()):
    """Return the names of tasks that the scheduler still has, after it had time to drop them."""
    known = {future.key for X in but for future in distributed.futures_of(X)}
    for _ in range(100):
        names = client.run_on_scheduler(lambda dask_scheduler: list(dask_scheduler.tasks))
        left = [name for name in names if name not in known]
        if not left:
            break
        time.sleep(0.1)
    return left


# ------------------------------------------------------------------------------------------------- the fit


def test_fit_is_that_of_the_array_and_blocks_stay_where_they_are(client, rows, remote, closed):
    X = on_workers(rows, client)
    before = client.who_has(distributed.futures_of(X))
    model, other = quick().fit(rows), quick().fit(X)
    assert client.who_has(distributed.futures_of(X)) == before
    assert isinstance(other.labels_, da.Array)
    np.testing.assert_array_equal(other.labels_.compute(), model.labels_)
    assert other.density_ == pytest.approx(model.density_, rel=1e-9)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-6)
    assert 0 < closed[-1].n_rounds < 150
    assert 0 < closed[-1].bytes_sent < 1e6
    assert not left_behind(client, [X])


def test_weights_and_rows_of_no_weight(client, rows, remote, rng):
    w = rng.integers(0, 3, N).astype(float)
    model, other = (quick().fit(data, sample_weight=w) for data in (rows, on_workers(rows, client)))
    np.testing.assert_array_equal(other.labels_.compute(), model.labels_)
    assert other.density_ == pytest.approx(model.density_, rel=1e-9)


def test_methods_are_lazy(client, rows):
    X = da.from_array(rows, chunks=CHUNKS)
    model = quick().fit(X)
    for method in ("predict", "decision_function", "transform"):
        lazy = getattr(model, method)(X)
        assert isinstance(lazy, da.Array)
        np.testing.assert_array_equal(lazy.compute(), getattr(model, method)(rows))
    bad = rows.copy()
    bad[2000, 1] = np.nan
    assert "ravine" in lazy.name
    with pytest.raises(ValueError, match=r"row 497.*block 4.*feature 1"):
        model.predict(da.from_array(bad, chunks=CHUNKS)).compute()


def test_data_frame(client, rows):
    frame = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X = frame.from_pandas(pandas.DataFrame(rows, columns=list("abcd")), npartitions=3)
    other = quick().fit(X)
    np.testing.assert_array_equal(other.labels_.compute(), quick().fit(rows).labels_)
    assert other.feature_names_in_.tolist() == list("abcd")


@pytest.mark.slow
@pytest.mark.parametrize("chunks", [(1000, 2), (N, 4)])
def test_any_chunks_will_do(client, rows, chunks, remote):
    other = quick().fit(da.from_array(rows.astype(np.float32), chunks=chunks))
    np.testing.assert_array_equal(other.labels_.compute(), quick().fit(rows.astype(np.float32)).labels_)


def test_tree(client, rows, remote, closed):
    X = on_workers(rows, client)
    hyperplane = MinimumDensityHyperplane(n_init=1, subsample=300, path=PathSettings(n_alpha=2))
    model, other = (MinimumDensityTree(2, hyperplane=hyperplane, random_state=0).fit(data) for data in (rows, X))
    np.testing.assert_array_equal(other.labels_, model.labels_)
    np.testing.assert_array_equal(other.predict(X).compute(), model.labels_)
    assert not left_behind(client, [X])


def test_classifier(client, closed):
    X, truth = two_clusters(2000, 4)
    y = np.where(np.arange(2000) < 20, truth, -1)
    model, other = (MinimumDensityClassifier().fit(data, y) for data in (X, on_workers(X, client, (700, 4))))
    np.testing.assert_array_equal(other.transduction_, model.transduction_)
    lazy = other.predict_proba(da.from_array(X, chunks=(700, 4)))
    np.testing.assert_allclose(lazy.compute(), model.predict_proba(X), atol=1e-6)


@pytest.mark.slow
def test_classifier_whose_rows_stay_on_the_cluster(client, remote, closed):
    X, truth = two_clusters(2000, 4)
    y = np.where(np.arange(2000) < 20, truth, -1)
    hyperplane = MinimumDensityHyperplane(subsample=300)
    estimator = MinimumDensityClassifier(hyperplane=hyperplane, random_state=0)
    model, other = (clone(estimator).fit(data, y) for data in (X, on_workers(X, client, (700, 4))))
    np.testing.assert_array_equal(other.transduction_, model.transduction_)
    np.testing.assert_allclose(other.coef_, model.coef_, atol=1e-6)


# ------------------------------------------------------------------------------------------------- trouble


def test_state_sent_to_another_process_is_stale(rows):
    import pickle

    part = WorkerRows("now", [rows], ["block 0"])
    nothing = pickle.dumps([])
    assert isinstance(pickle.loads(run_commands(pickle.loads(pickle.dumps(part)), ("now", 0), nothing)), StaleState)
    assert isinstance(pickle.loads(run_commands(part, ("later", 0), nothing)), StaleState)
    assert pickle.loads(run_commands(part, ("now", 0), nothing)) == []


def test_replaced_worker_reports_missed_rounds(rows):
    import pickle

    nothing, described = pickle.dumps([]), [("block 0", rows.shape)]
    part = open_worker("now", described, rows)
    for k in range(2):
        assert pickle.loads(run_commands(part, ("now", k), nothing)) == []
    again = open_worker("now", described, rows)  # Dask runs the task again, with the same token
    assert isinstance(pickle.loads(run_commands(again, ("now", 2), nothing)), StaleState)


def test_an_interrupted_fit_leaves_nothing_behind(client, rows, remote):
    X = on_workers(rows, client)

    def stop(step):
        raise KeyboardInterrupt

    model = quick(callback=stop)
    with pytest.raises(KeyboardInterrupt):
        model.fit(X)
    assert not hasattr(model, "hyperplane_")
    assert not left_behind(client, [X])


@pytest.mark.parametrize("n_killed", [1, *slow(2)])
def test_workers_killed_in_mid_fit_change_nothing(client, rows, remote, n_killed):
    """Blocks are made again, the state is restored and the round is repeated.

    If all workers are killed there is none for a while, until their nannies have started new ones.
    """
    client.wait_for_workers(2)
    expected, X = quick().fit(rows), on_workers(rows, client)
    pids, steps = client.run(os.getpid), []

    def kill(step):
        steps.append(step)
        if len(steps) == 4:
            for pid in list(pids.values())[:n_killed]:
                os.kill(pid, signal.SIGKILL)

    other = quick(callback=kill).fit(X)
    assert len(steps) > 4
    np.testing.assert_array_equal(other.labels_.compute(), expected.labels_)
    assert other.density_ == pytest.approx(expected.density_, rel=1e-9)
    np.testing.assert_allclose(other.coef_, expected.coef_, atol=1e-6)
    client.wait_for_workers(2)


@pytest.mark.slow
def test_worker_killed_during_its_reply_changes_nothing(client, rows, remote, monkeypatch):
    """The task is bound to its worker, so no other worker would make the reply."""
    client.wait_for_workers(2)
    expected, X = quick().fit(rows), on_workers(rows, client)
    pids, gather, rounds = client.run(os.getpid), client.gather, []

    def gather_later(futures):
        rounds.append(futures)
        if len(rounds) == 5:
            distributed.wait(futures)
            os.kill(next(iter(pids.values())), signal.SIGKILL)
            time.sleep(0.5)
        return gather(futures)

    monkeypatch.setattr(client, "gather", gather_later)
    other = quick().fit(X)
    assert len(rounds) > 5
    np.testing.assert_allclose(other.coef_, expected.coef_, atol=1e-6)
    client.wait_for_workers(2)


def test_a_fit_gives_up_when_no_worker_comes_back(rows, remote, monkeypatch):
    monkeypatch.setattr(rounds, "COMEBACK", 1.0)
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        X = on_workers(rows, client)

        def lose(step):
            local.scale(0)
            while client.nthreads():
                time.sleep(0.05)

        with pytest.raises(ClusterError, match="no workers"):
            quick(callback=lose).fit(X)


@pytest.mark.parametrize("closing", [False, True])
def test_blocks_cancelled_or_a_client_closed_in_mid_fit_are_named(rows, remote, closing):
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        X = on_workers(rows, client)
        with pytest.raises(ClusterError, match="client is closed" if closing else r"block 0 of X is cancelled"):
            quick(callback=lambda _: client.close() if closing else client.cancel(X)).fit(X)


@pytest.mark.slow
def test_blocks_that_cannot_be_made_again_end_with_an_error(rows, remote):
    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        futures = client.scatter([rows[:1000], rows[1000:]], broadcast=False)
        X = da.concatenate([da.from_delayed(f, (n, 4), float) for f, n in zip(futures, (1000, 2000), strict=True)])
        X = client.persist(X)
        distributed.wait(X)
        pids, steps = client.run(os.getpid), []

        def kill(step):
            steps.append(step)
            if len(steps) == 2:
                for pid in pids.values():
                    os.kill(pid, signal.SIGKILL)

        with pytest.raises(ClusterError, match="scattered"):
            quick(callback=kill).fit(X)


# ------------------------------------------------------------------------------------------------- bad input


def test_bad_input_is_named(client, rows):
    X = da.from_array(rows, chunks=CHUNKS)
    with pytest.raises(ValueError, match=r"unknown lengths.*compute_chunk_sizes"):
        quick().fit(X[X[:, 0] > 0])
    bad = rows.copy()
    bad[1600, 2] = np.nan
    with pytest.raises(ValueError, match=r"NaN.*row 97.*block 4.*feature 2"):
        quick().fit(da.from_array(bad, chunks=CHUNKS))
    with pytest.raises(ValueError, match="shape"):
        quick().fit(da.from_array(rows[:0], chunks=(1, 4)))
    with pytest.raises(ValueError, match="2D"):
        quick().fit(da.from_array(rows[:, 0], chunks=100))
    with pytest.raises(ValueError, match="features"):
        quick().fit(rows).predict(X[:, :2])
    assert not left_behind(client)


def test_a_block_that_cannot_be_computed_is_named(client, rows):
    def fail(block):
        if len(block) == 997:
            raise RuntimeError("no such file")
        return block

    with pytest.raises(ClusterError, match=r"block 4 .*no such file"):
        quick().fit(da.from_array(rows, chunks=CHUNKS).map_blocks(fail, meta=np.empty((0, 4))))


@pytest.mark.parametrize("shape", [(900, 4), (1000, 3)])
def test_block_of_a_shape_unlike_its_array_is_named(client, rows, shape):
    lie = dask.delayed(lambda: np.zeros(shape))()
    X = da.concatenate([da.from_array(rows[:1000], chunks=1000), da.from_delayed(lie, (1000, 4), float)])
    with pytest.raises(ValueError, match=r"block 1 .*\(1000, 4\)"):
        quick().fit(X)


def test_a_block_of_another_length_is_named_by_predict(client, rows):
    lie = dask.delayed(lambda: np.zeros((900, 4)))()
    X = da.concatenate([da.from_array(rows[:1000], chunks=1000), da.from_delayed(lie, (1000, 4), float)])
    with pytest.raises(ValueError, match=r"block 1 .* 900 .* 1000"):
        quick().fit(rows).predict(X).compute()


@pytest.mark.parametrize("dtype", ["str", "category", "datetime64[ns]", "Int64"])
def test_column_of_a_frame_without_numbers_is_named(client, dtype):
    frame = pytest.importorskip("dask.dataframe")
    pandas = pytest.importorskip("pandas")
    X = pandas.DataFrame({"a": [1.0, 2.0, 3.0], "b": pandas.Series([1, 2, 3]).astype(dtype)})
    with pytest.raises(ValueError, match=r"column 'b'"):
        quick().fit(frame.from_pandas(X, npartitions=2))


@pytest.mark.parametrize("X", [np.zeros((3, 2)), da.zeros(3)], ids=["array", "one dimension"])
def test_rows_other_than_dask_arrays_are_refused(X):
    with pytest.raises(TypeError, match="ClusterRows"):
        ClusterRows(X)


@pytest.mark.parametrize("wrapped", [False, True])
def test_text_is_refused_before_anything_is_computed(client, wrapped):
    X = da.from_array(np.array([["a", "b"], ["c", "d"]]), chunks=(1, 2))
    with pytest.raises(ValueError, match="numbers"):
        quick().fit(ClusterRows(X, client) if wrapped else X)


def test_blocks_of_different_types_keep_their_digits(client):
    X = np.array([[1e8 + 1.0, 2.0], [0.5, 1.0]])
    mixed = da.concatenate([da.from_array(X[:1].astype(np.float32), chunks=1), da.from_array(X, chunks=2)])
    source = ClusterRows(mixed, client)
    np.testing.assert_array_equal(source.take(np.array([1, 2])), X)
    source.close()


def test_a_closed_client_is_refused(rows, monkeypatch):
    closed = distributed.Client(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
    closed.close()
    with pytest.raises(ClusterError, match="closed"):
        quick().fit(ClusterRows(da.from_array(rows, chunks=CHUNKS), closed))

    def raise_error():
        raise ValueError("No global client found")

    monkeypatch.setattr(distributed, "get_client", raise_error)
    with pytest.raises(ClusterError, match="client"):
        quick().fit(da.from_array(rows, chunks=CHUNKS))


@pytest.mark.slow
def test_a_real_worker_without_ravine_is_named(rows):
    def hide():
        import importlib.metadata

        def version(name):
            raise importlib.metadata.PackageNotFoundError(name)

        importlib.metadata.version = version

    options = {"n_workers": 1, "threads_per_worker": 1, "dashboard_address": None}
    with distributed.LocalCluster(**options) as local, distributed.Client(local) as client:
        client.run(hide)
        with pytest.raises(ClusterError, match=r"not installed .*tcp://"):
            quick().fit(ClusterRows(da.from_array(rows, chunks=CHUNKS), client))


def test_workers_without_ravine_are_named(client, monkeypatch):
    class Without:
        status, found = "running", ModuleNotFoundError("ravine")

        def nthreads(self):
            return {"tcp://10.0.0.7:4000": 1}

        def run(self, function, *arguments, on_error):
            return {"tcp://10.0.0.7:4000": self.found}

    with pytest.raises(ClusterError, match=r"not installed .*tcp://10.0.0.7:4000"):
        rounds.check_client(Without())
    monkeypatch.setattr(Without, "found", "0.0.1")
    with pytest.raises(ClusterError, match=r"tcp://10.0.0.7:4000 .*0.0.1"):
        rounds.check_client(Without())


def test_sums_of_the_sample_are_those_of_the_array(client, rows, remote):
    from ravine.rows import DenseSample

    source = ClusterRows(on_workers(rows, client), client)
    try:
        sample, dense = ClusterSample(source, None, None), DenseSample(rows)
        np.testing.assert_allclose(sample.moments().covariance, dense.moments().covariance, atol=1e-12)
        np.testing.assert_allclose(sample.origin, dense.origin, atol=1e-12)
        np.testing.assert_allclose(sample.fourth_moments(np.eye(4)), dense.fourth_moments(np.eye(4)), rtol=1e-10)
        np.testing.assert_array_equal(sample.skewness_signs(np.eye(4)), dense.skewness_signs(np.eye(4)))
        chosen = np.array([2999, 0, 5, 1502])
        np.testing.assert_array_equal(source.take(chosen), rows[chosen])
        np.testing.assert_allclose(sample.fetch(chosen), dense.fetch(chosen), atol=1e-12)
    finally:
        source.close()


@pytest.mark.parametrize("weighted", [False, True])
def test_values_of_several_workers_are_sorted(weighted, rng):
    parts = [np.sort(rng.standard_normal(n)) for n in (5, 0, 3)]
    answers = [(part, 10.0 * part if weighted else None) for part in parts]
    values, weights = merge_answers(ValuesIn(None, 0.0, -9.0, 9.0), answers, None)
    np.testing.assert_array_equal(values, np.sort(np.concatenate(parts)))
    assert weights is None if not weighted else np.array_equal(weights, 10.0 * values)
