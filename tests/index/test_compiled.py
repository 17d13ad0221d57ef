"""The compiled stages against the generators, which are their slow and readable twins."""

import signal
import subprocess
import sys
import time

import numpy as np
import pytest

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane, PathSettings
from ravine._kernels import StopFlag
from ravine.density import BalancePenalty
from ravine.index import (
    ClusteringIndex,
    CompiledClusteringIndex,
    CompiledSemiSupervisedIndex,
    LabelledRows,
    LabelPenalty,
    SemiSupervisedIndex,
)
from ravine.optimise import OPTIMISERS, Memory, minimise_on_sphere
from ravine.rows import DenseSample, as_rows, open_pool
from ravine.search import drive
from ravine.search.space import WorkingSpace
from support.simulate import mixture, two_clusters


def heavy_tails(rng):
    return rng.standard_t(1.5, (400, 5))


def repeated(rng):
    return np.repeat(rng.integers(0, 5, (60, 3)), 7, axis=0).astype(float)


def several_valleys(rng):
    return np.repeat([-40.0, 0.0, 25.0, 70.0], 15)[:, None] + rng.standard_normal((60, 3))


ROWS = {
    "clusters": lambda rng: two_clusters(300, 4)[0],
    "one column": lambda rng: two_clusters(300, 4)[0][:, :1],
    "three columns": lambda rng: two_clusters(300, 3)[0],
    "ten columns": lambda rng: mixture(500, 10)[0],
    "one Gaussian": lambda rng: rng.standard_normal((300, 6)),
    "deep valley": lambda rng: two_clusters(300, 5, separation=60.0)[0],
    "several valleys": several_valleys,
    "float32": lambda rng: two_clusters(300, 7)[0].astype(np.float32),
    "columns adjacent": lambda rng: np.asfortranarray(two_clusters(300, 7)[0]),
    "far away": lambda rng: two_clusters(300, 4)[0] + 1e9,
    "tiny": lambda rng: two_clusters(300, 4)[0] * 1e-150,
    "heavy tails": heavy_tails,
    "repeated rows": repeated,
    "few rows": lambda rng: rng.standard_normal((7, 3)),
}
BANDWIDTHS = {"usual": 1.0, "small": 0.1, "too small for bins": 2e-3, "large": 20.0}


def make_sample(name, weighted, rng):
    X = ROWS[name](rng)
    return DenseSample(X, rng.integers(1, 4, len(X)).astype(float) if weighted else None)


def make_labels(sample, rng):
    indices = rng.permutation(sample.n_rows)[: min(12, sample.n_rows)]
    rows = sample.fetch(indices).astype(float)
    signs = np.where(rows[:, 0] > np.median(rows[:, 0]), 1.0, -1.0)
    signs[0] *= -1.0  # one mistake
    return LabelledRows(rows, signs, np.ones(len(rows)))


def make_twins(sample, h, alpha, labelled=None, epsilon=1.0 - 1e-6):
    """The index of generators, and the compiled one."""
    arguments = sample, sample.moments(), h, BalancePenalty(epsilon=epsilon), alpha
    if labelled is None:
        return ClusteringIndex(*arguments), CompiledClusteringIndex(*arguments)
    options = {"labelled": labelled, "label_penalty": LabelPenalty(), "reference": h, "gamma": 0.5}
    return SemiSupervisedIndex(*arguments, **options), CompiledSemiSupervisedIndex(*arguments, **options)


def usual_bandwidth(sample):
    variance = np.linalg.eigvalsh(sample.moments().covariance)[-1]
    return 0.9 * np.sqrt(variance) * sample.total**-0.2


def run_both(sample, twins, v, max_iter=6, **options):
    """Results of one stage of both, and their memories."""
    slow, fast = twins
    memories = Memory(), Memory()
    of_slow = minimise_on_sphere(slow, v, max_iter=max_iter, tolerance=1e-9, memory=memories[0], **options)
    of_fast = fast.minimise(v, max_iter=max_iter, tolerance=1e-9, memory=memories[1], **options)
    return [drive(sample, [generator])[0] for generator in (of_slow, of_fast)], memories


def assert_same_stage(sample, twins, v, max_iter=6, tolerance=1e-10, **options):
    (expected, found), memories = run_both(sample, twins, v, max_iter, **options)
    slow, fast = twins
    assert found.value == pytest.approx(expected.value, rel=tolerance, abs=tolerance)
    assert np.allclose(found.v, expected.v, atol=1e-6)
    assert fast.minima.b == pytest.approx(slow.minima.b, abs=1e-6 * slow.bandwidth + 1e-9)
    assert (found.n_iter, found.n_trials) == (expected.n_iter, expected.n_trials)
    assert (found.converged, found.stalled) == (expected.converged, expected.stalled)
    assert (fast.n_evaluations, fast.n_tied) == (slow.n_evaluations, slow.n_tied)
    assert fast.certified == slow.certified
    assert len(memories[1]) == len(memories[0])
    descriptions = [drive(sample, [index.describe()])[0] for index in twins]
    assert descriptions[1].log_density == pytest.approx(descriptions[0].log_density, rel=1e-9, abs=1e-9)
    assert descriptions[1].log_depth == pytest.approx(descriptions[0].log_depth, rel=1e-6, abs=1e-6)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("bandwidth", BANDWIDTHS)
@pytest.mark.parametrize("name", ROWS)
def test_a_stage_equals_that_of_the_generators(name, bandwidth, weighted, rng):
    sample = make_sample(name, weighted, rng)
    h = BANDWIDTHS[bandwidth] * usual_bandwidth(sample)
    v = np.linalg.eigh(sample.moments().covariance)[1][:, -1]
    # A tiny bandwidth makes the index a function with kinks, on which rounding errors grow from step to step.
    max_iter = 1 if bandwidth == "too small for bins" else 3
    for alpha in (0.01, 0.9):
        assert_same_stage(sample, make_twins(sample, h, alpha), v, max_iter)


@pytest.mark.parametrize("epsilon", [1.0, 1.0 - 1e-6, 0.5])
@pytest.mark.parametrize("name", ROWS)
def test_a_stage_with_labels_equals_that_of_the_generators(name, epsilon, rng):
    sample = make_sample(name, weighted=False, rng=rng)
    h, labelled = usual_bandwidth(sample), make_labels(sample, rng)
    v = np.linalg.eigh(sample.moments().covariance)[1][:, -1]
    # Rounding errors, which depend on the instruction set, grow a hundredfold from step to step.
    assert_same_stage(sample, make_twins(sample, h, 0.9, labelled, epsilon), v, max_iter=2, tolerance=1e-9)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("name", ROWS)
def test_a_larger_interval_leads_to_the_same_minimum(name, labels, rng):
    sample = make_sample(name, weighted=False, rng=rng)
    labelled = make_labels(sample, rng) if labels else None
    twins = make_twins(sample, usual_bandwidth(sample), 0.3, labelled)
    v = np.linalg.eigh(sample.moments().covariance)[1][:, -1]
    for index in twins:
        drive(sample, [index.begin(v)])
    for alpha in (0.5, 0.9, 1.5):
        stays = [drive(sample, [index.adjust(alpha, index.gamma)])[0] for index in twins]
        assert stays[0] == stays[1]
        assert twins[1].minima.log_index == pytest.approx(twins[0].minima.log_index, rel=1e-9, abs=1e-9)
        assert twins[1].minima.b == pytest.approx(twins[0].minima.b, abs=1e-6 * twins[0].bandwidth)


@pytest.mark.parametrize("labels", [False, True])
@pytest.mark.parametrize("factor", [0.1, 0.01, 2e-3])
@pytest.mark.parametrize("compiled", [False, True])
def test_few_rows_and_a_tiny_bandwidth_use_exact_sums(compiled, factor, labels, rng):
    """The minimum over b is that of exact sums, by bins (0.1) or at once (less)."""
    X = rng.standard_normal((13, 5))
    X[-1, 0] = 1e3
    sample = DenseSample(X)
    h = factor * usual_bandwidth(sample)
    for v in np.eye(5):
        minima = []
        for exact in (False, True):
            labelled = make_labels(sample, np.random.default_rng(0)) if labels else None
            index = make_twins(sample, h, 0.9, labelled)[compiled]
            index.exact = exact
            drive(sample, [index.begin(v)])
            minima.append(index.minima)
        assert minima[0].log_index == pytest.approx(minima[1].log_index, rel=1e-8, abs=1e-8)
        if factor == 2e-3 and v[0] == 1.0 and not labels:  # 500 bins per row
            assert (minima[0].b, minima[0].log_index) == (minima[1].b, minima[1].log_index)


@pytest.mark.parametrize("largest_angle", [1e-3, 0.05, 0.3])
def test_both_stop_at_the_same_largest_angle(largest_angle, rng):
    sample = make_sample("ten columns", weighted=False, rng=rng)
    v = np.linalg.eigh(sample.moments().covariance)[1][:, -1]
    twins = make_twins(sample, usual_bandwidth(sample), 0.9)
    assert_same_stage(sample, twins, v, max_iter=3, largest_angle=largest_angle)


def test_a_restricted_offset_is_the_same_for_both(rng):
    sample = make_sample("clusters", weighted=False, rng=rng)
    twins = make_twins(sample, usual_bandwidth(sample), 1.5)
    v = np.linalg.eigh(sample.moments().covariance)[1][:, -1]
    for index in twins:
        index.offsets = (0.2, 0.4)
    assert_same_stage(sample, twins, v, max_iter=2)
    assert 0.19 <= twins[1].minima.b <= 0.41


def test_generators_and_compiled_stages_can_alternate(rng):
    sample = make_sample("clusters", weighted=True, rng=rng)
    labelled = make_labels(sample, rng)
    slow, fast = make_twins(sample, usual_bandwidth(sample), 0.9, labelled)
    v = np.eye(4)[1]
    for index, alternate in ((slow, False), (fast, True)):
        drive(sample, [minimise_on_sphere(index, v, max_iter=2, tolerance=1e-9)])
        following = (
            index.minimise(index._v, max_iter=2, tolerance=1e-9, memory=Memory())
            if alternate
            else minimise_on_sphere(index, index._v, max_iter=2, tolerance=1e-9)
        )
        drive(sample, [following])
    gradients = [drive(sample, [index.gradients()])[0] for index in (slow, fast)]
    assert np.allclose(gradients[1], gradients[0], rtol=1e-6, atol=1e-8)
    assert fast.n_evaluations == slow.n_evaluations


@pytest.fixture
def without_compiled_stages(monkeypatch):
    """Return a function that switches the compiled stages off."""
    return lambda: monkeypatch.setattr("ravine.rows.array.MOST_STAGE_ROWS", 0)


@pytest.mark.parametrize("name", ["clusters", "ten columns", "one Gaussian", "deep valley", "float32", "few rows"])
def test_fits_equal_those_of_the_generators(name, rng, without_compiled_stages):
    X = ROWS[name](rng)
    fast = MinimumDensityHyperplane(random_state=0).fit(X)
    without_compiled_stages()
    slow = MinimumDensityHyperplane(random_state=0).fit(X)
    assert np.array_equal(fast.labels_, slow.labels_)
    assert fast.density_ == pytest.approx(slow.density_, rel=1e-6)
    assert len(fast.path_) == len(slow.path_)


def test_a_classifier_equals_that_of_the_generators(rng, without_compiled_stages):
    X, y = two_clusters(300, 6, separation=3.0)
    y = np.where(rng.random(len(y)) < 0.1, y, -1)
    fast = MinimumDensityClassifier(random_state=0).fit(X, y)
    without_compiled_stages()
    slow = MinimumDensityClassifier(random_state=0).fit(X, y)
    assert np.array_equal(fast.predict(X), slow.predict(X))


def test_more_columns_than_rows_run_compiled_in_the_row_space(rng, without_compiled_stages):
    X = rng.standard_normal((30, 80))
    X[:12, 0] += 30.0
    assert WorkingSpace.of(as_rows(X)).sample.stage_rows is not None
    fast = MinimumDensityHyperplane(random_state=0).fit(X)
    without_compiled_stages()
    slow = MinimumDensityHyperplane(random_state=0).fit(X)
    assert np.array_equal(fast.labels_, slow.labels_)


class LongStage:
    """A stage of some seconds: many rows and columns, and a tolerance that is never reached."""

    def __init__(self, rng):
        self.sample = DenseSample(rng.standard_normal((50_000, 200)))
        self.index = make_twins(self.sample, 0.03, 0.9)[1]

    def run(self):
        options = {"max_iter": 100_000, "tolerance": -1.0, "memory": Memory()}
        drive(self.sample, [self.index.minimise(np.eye(200)[0], **options)])


def test_a_signal_ends_a_long_stage(rng):
    stage = LongStage(rng)

    def interrupt(*_):
        raise KeyboardInterrupt("from the handler")

    before = signal.signal(signal.SIGALRM, interrupt)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(KeyboardInterrupt, match="from the handler"):
            stage.run()
        assert not stage.index._kernel.has_normal  # ended inside: a stage that ends by itself keeps its normal
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


def test_an_exception_ends_long_stages_on_threads(rng):
    stage, futures = LongStage(rng), []

    def fail_beside_it():
        with open_pool(2) as pool:
            futures.append(pool.submit(stage.run))
            while not futures[0].running():
                time.sleep(0.01)
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_beside_it()
    assert isinstance(futures[0].exception(), KeyboardInterrupt)


def test_threads_may_end_after_the_interpreter():
    """A thread releases the flag that stops its searches only after it was joined."""
    script = (
        "import numpy as np; from ravine import MinimumDensityTree; rng = np.random.default_rng(0); "
        "X = rng.normal(size=(500, 4)) + 5.0 * rng.integers(0, 3, (500, 1)); "
        "MinimumDensityTree(3, random_state=0, n_jobs=2).fit(X)"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_kernel_refuses_arrays_of_wrong_sizes(rng):
    sample = make_sample("clusters", weighted=False, rng=rng)
    kernel = make_twins(sample, 0.1, 0.9)[1]._kernel
    with pytest.raises(ValueError, match="columns"):
        kernel.begin(np.zeros(3))
    with pytest.raises(ValueError, match="memory"):
        kernel.minimise(np.eye(4)[0], 1, 1e-9, np.pi, np.empty(8), np.empty(400), np.empty(400), 20, 0)
    with pytest.raises(ValueError, match="sign"):
        kernel.set_labels(np.zeros((2, 4)), np.ones(3), np.ones(2), 1.0)


@pytest.mark.parametrize("optimiser", ["lbfgs", "generators"])
def test_the_order_of_steps_does_not_depend_on_threads(optimiser, rng, monkeypatch):
    monkeypatch.setitem(OPTIMISERS, "generators", minimise_on_sphere)
    X = ROWS["ten columns"](rng).repeat(4, axis=0)
    options = {"n_init": 3, "path": PathSettings(n_alpha=3, optimiser=optimiser), "random_state": 0}
    orders = [[s.start for s in MinimumDensityHyperplane(n_jobs=n, **options).fit(X).path_] for n in (1, 2)]
    assert orders[0] == orders[1]


def test_a_callback_sees_every_step_as_it_is_made(rng):
    seen = []

    def stop_after_two(step):
        seen.append(step)
        if len(seen) == 2:
            raise ZeroDivisionError

    X = ROWS["ten columns"](rng).repeat(4, axis=0)
    with pytest.raises(ZeroDivisionError):
        MinimumDensityHyperplane(n_jobs=2, callback=stop_after_two).fit(X)
    assert len(seen) == 2


def test_an_exception_in_a_node_stops_the_searches_of_others():
    flag = StopFlag()
    with pytest.raises(ZeroDivisionError), open_pool(2, flag), open_pool(2, flag):
        raise ZeroDivisionError
    flag.watch()
    try:
        with pytest.raises(KeyboardInterrupt):
            drive(None, [iter(())])
    finally:
        StopFlag().watch()
