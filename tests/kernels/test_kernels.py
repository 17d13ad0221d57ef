"""Kernels compared with NumPy."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy.special import logsumexp

from ravine import _kernels
from ravine.density import BinnedDensity, Window
from support import reference as ref

EPS = np.finfo(float).eps
# Bounds of the errors of the binned density (as documented) and of its derivatives, as fractions of the kernel's peak.
VALUE_BOUND, SLOPE_BOUND, CURVATURE_BOUND = 3.5e-10, 3 * 3.5e-10, 10 * 3.5e-10
# Sizes around multiples of the number of lanes (4) and of the chunk size (256).
SIZES = [1, 3, 4, 5, 255, 256, 257, 600]

LAYOUTS = {
    "C": lambda x: np.ascontiguousarray(x),
    "F": lambda x: np.asfortranarray(x),
    "every second row": lambda x: np.ascontiguousarray(np.repeat(x, 2, axis=0))[::2],
    "rows backwards": lambda x: np.ascontiguousarray(x[::-1])[::-1],
    "some columns of C": lambda x: np.ascontiguousarray(np.pad(x, ((0, 0), (1, 2))))[:, 1 : 1 + x.shape[1]],
    "some rows of F": lambda x: np.asfortranarray(np.pad(x, ((1, 2), (0, 0))))[1 : 1 + x.shape[0]],
}


def in_layout(layout, x):
    view = LAYOUTS[layout](x)
    np.testing.assert_array_equal(view, x)
    return view


def projected(X, center, directions):
    out = [np.full(len(X), np.nan) for _ in directions]
    _kernels.project(X, center, directions, out)
    return np.array(out)


# ------------------------------------------------------------------------------------------------- project


@pytest.mark.parametrize("d", range(1, 10))
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_projection_is_exact_for_every_layout_and_size(dtype, layout, d, rng):
    for n in SIZES:
        center = 1e8 * rng.standard_normal(d)
        X = in_layout(layout, (center + rng.standard_normal((n, d))).astype(dtype))
        directions = rng.standard_normal((3, d))
        centred = X.astype(np.longdouble) - center
        magnitude = np.abs(directions) @ np.abs(centred).T
        error = np.abs(projected(X, center, directions) - directions.astype(np.longdouble) @ centred.T)
        assert (error <= (d + 1) * EPS * magnitude).all(), (n, error.max())


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_projection_of_no_rows_is_empty(dtype, layout):
    X = in_layout(layout, np.empty((0, 3), dtype=dtype))
    assert projected(X, np.zeros(3), np.ones((2, 3))).shape == (2, 0)


@pytest.mark.parametrize("layout", ["C", "every second row", "some columns of C"])
@pytest.mark.parametrize("d", [1, 3, 4, 7, 12])
def test_projection_does_not_depend_on_position_of_the_row(layout, d, rng):
    X = in_layout(layout, rng.standard_normal((523, d)))
    center, directions = rng.standard_normal(d), rng.standard_normal((2, d))
    whole = projected(X, center, directions)
    for part in (slice(1, 2), slice(3, 8), slice(1, 400), slice(255, 523)):
        np.testing.assert_array_equal(projected(in_layout(layout, X[part]), center, directions), whole[:, part])


# ------------------------------------------------------------------------------------------------- binned density

LO, N_BINS = -8.0, 4 * 36  # serves points in [0, 20] for h = 1


def binned(p, h, points, w=None, *, lo=LO, n_bins=N_BINS):
    """Return value, slope and curvature at points (in units of h) as rows, and the moments."""
    moments = np.zeros((n_bins + 2, _kernels.MOMENTS))
    window = Window(lo * h, h / _kernels.BINS_PER_BANDWIDTH, n_bins)
    _kernels.bin(p, None, 1.0, 0.0, w, window.lo, window.width, moments)
    return BinnedDensity(moments, window, h, ref.weights_of(p, w).sum()).evaluate(points), moments


def assert_within_bounds(got, p, points, w=None):
    """Compute value, slope and curvature for p and points in units of h."""
    slope, curvature = ref.derivatives(p, 1.0, points, w)
    expected = np.array([ref.density(p, 1.0, points, w), slope, curvature]) / np.exp(ref.log_peak(1.0))
    error = np.abs(got - expected).max(axis=1)
    assert error[0] <= VALUE_BOUND
    assert error[1] <= SLOPE_BOUND
    assert error[2] <= CURVATURE_BOUND


EDGES = np.arange(0.0, 20.0, 0.25)
ADVERSARIAL = {
    "at bin edges": EDGES,
    "just below bin edges": np.nextafter(EDGES, -np.inf),
    "at bin centres": EDGES + 0.125,
    "all equal at an edge": np.full(37, 7.25),
    "all equal just below an edge": np.full(37, np.nextafter(7.25, 0.0)),
    "one row": np.array([np.nextafter(3.0, 0.0)]),
    "one far outlier": np.append(np.linspace(1.0, 5.0, 50), 1e9),
    "far outside on both sides": np.array([-1e140, -1e12, -20.0, 3.0, 40.0, 1e15, 1e140]),
    "uniform": np.random.default_rng(1).uniform(-10.0, 30.0, 2000),
    "two clusters": np.random.default_rng(2).normal([4.0, 14.0], [1.0, 0.1], (500, 2)).ravel(),
}


@pytest.mark.parametrize("h", [1e-150, 2.0**-20, 1.0, 3.7, 1e150])
@pytest.mark.parametrize("name", ADVERSARIAL)
def test_binned_density_error_is_below_bound(name, h):
    p = ADVERSARIAL[name]
    points = np.concatenate([EDGES, np.linspace(0.0, 20.0, 403), p[np.abs(p - 10.0) < 10.0][:50]])
    assert_within_bounds(binned(p * h, h, points * h)[0], p, points)


@pytest.mark.parametrize("name", ADVERSARIAL)
def test_weighted_binned_density_error_is_below_bound(name, rng):
    p, points = ADVERSARIAL[name], np.linspace(0.0, 20.0, 301)
    w = rng.exponential(size=len(p)) * (rng.random(len(p)) < 0.7)
    w[0] = 2.5
    assert_within_bounds(binned(p, 1.0, points, w)[0], p, points, w)


def test_binned_density_bound_is_nearly_reached_at_bin_edges():
    """Shows that the tests above cover the points with the largest error."""
    points = np.linspace(0.0, 20.0, 4001)
    got, _ = binned(np.full(3, 7.25), 1.0, points)
    error = np.abs(got[0] - np.exp(-0.5 * (points - 7.25) ** 2)).max()
    assert 1e-10 < error <= VALUE_BOUND


def test_density_far_from_all_bins_is_zero():
    got, _ = binned(np.array([5.0]), 1.0, np.array([-1e300, -100.0, 200.0, 1e300]))
    np.testing.assert_array_equal(got, 0.0)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_outside_the_window_fall_into_outer_bins_only(weighted, rng):
    p = rng.uniform(-40.0, 60.0, 777)
    w = rng.random(777) if weighted else None
    _, moments = binned(p, 1.0, np.zeros(1), w)
    mass, hi = ref.weights_of(p, w), LO + N_BINS / 4
    expected = [mass[p < LO].sum(), mass[(p >= LO) & (p < hi)].sum(), mass[p >= hi].sum()]
    np.testing.assert_allclose([moments[0, 0], moments[1:-1, 0].sum(), moments[-1, 0]], expected, rtol=1e-13)


def test_binning_adds_to_the_moments_it_is_given(rng):
    p = rng.uniform(0.0, 10.0, 500)
    whole, parts = np.zeros((2, 42, 8))
    _kernels.bin(p, None, 1.0, 0.0, None, 0.0, 0.25, whole)
    for part in (p[:123], p[123:]):
        _kernels.bin(part, None, 1.0, 0.0, None, 0.0, 0.25, parts)
    np.testing.assert_allclose(parts, whole, rtol=1e-13, atol=1e-13)


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("weighted", [False, True])
def test_fused_binning_equals_binning_of_the_combination(weighted, n, rng):
    p, q = rng.normal(10.0, 4.0, (2, n))
    w = rng.random(n) + 0.1 if weighted else None
    c, s = np.cos(0.4), np.sin(0.4)
    fused = np.zeros((N_BINS + 2, _kernels.MOMENTS))
    _kernels.bin(p, q, c, s, w, LO, 0.25, fused)
    _, combined = binned(c * p + s * q, 1.0, np.zeros(1), w)
    np.testing.assert_allclose(fused, combined, atol=1e-11)


def test_nan_projections_do_not_corrupt_memory():
    script = (
        "import numpy as np; from ravine import _kernels\n"
        "_kernels.bin(np.full(9, np.nan), None, 1.0, 0.0, None, 0.0, 1.0, np.zeros((6, 8)))"
    )
    assert subprocess.run([sys.executable, "-c", script], check=False).returncode == 0


# ------------------------------------------------------------------------------------------------- exact sums


def problem(rng, n, d, weighted, depth=0.0):
    """Draw rows, projections p and q, weights, h and b in a gap that is `depth` bandwidths wide on either side."""
    X = rng.standard_normal((n, d))
    p, q = X @ rng.standard_normal(d), X @ rng.standard_normal(d)
    h = 0.7
    p = p + np.where(p > 0.0, depth, -depth) * h
    w = None
    if weighted:
        w = rng.exponential(size=n) * (rng.random(n) < 0.8)
        w[:1] = 1.0
    return X, p, q, w, h


def log_sum_of(x, w, h, b):
    return logsumexp(-0.5 * ((x - b) / h) ** 2, b=ref.weights_of(x, w))


def shares(x, w, h, b):
    """Return the log of the sum of kernels at b and the share of each row."""
    log_sum, w = log_sum_of(x, w, h, b), ref.weights_of(x, w)
    share = np.zeros(len(x))
    share[w > 0.0] = w[w > 0.0] * np.exp(-0.5 * ((x[w > 0.0] - b) / h) ** 2 - log_sum)
    return log_sum, share


@pytest.mark.parametrize("depth", [0.0, 10.0, 40.0, 1e3, 1e6])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_log_sum_is_exact_at_any_depth(n, weighted, depth, rng):
    _, p, q, w, h = problem(rng, n, 2, weighted, depth)
    for b in (0.0, 0.3, -2.0):
        expected = log_sum_of(p, w, h, b)
        assert _kernels.log_sum(p, None, 1.0, 0.0, w, h, b) == pytest.approx(expected, rel=4 * EPS, abs=1e-13)
        expected = log_sum_of(0.8 * p + 0.6 * q, w, h, b)
        assert _kernels.log_sum(p, q, 0.8, 0.6, w, h, b) == pytest.approx(expected, rel=4 * EPS, abs=1e-13)


@pytest.mark.parametrize(("p", "w"), [([], None), ([1.0, 2.0], [0.0, 0.0])])
def test_log_sum_without_rows_is_minus_infinity(p, w):
    w = None if w is None else np.array(w)
    assert _kernels.log_sum(np.array(p), None, 1.0, 0.0, w, 1.0, 0.0) == -np.inf


@pytest.mark.parametrize("depth", [0.0, 8.0, 40.0, 300.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("n", SIZES)
def test_sorted_density_is_exact_at_any_depth(n, weighted, depth, rng):
    _, p, _, w, h = problem(rng, n, 2, weighted, depth)
    kept = ref.weights_of(p, w) > 0.0
    order = np.argsort(p[kept])
    p, w = p[kept][order], None if w is None else w[kept][order]
    points = np.concatenate([rng.uniform(p[0] - 5.0, p[-1] + 5.0, 40), p[:5]])
    log_value, slope, curvature = _kernels.evaluate_sorted(p, w, ref.weights_of(p, w).sum(), h, points)
    np.testing.assert_allclose(log_value, ref.log_density(p, h, points, w) - ref.log_peak(h), rtol=4 * EPS, atol=1e-13)
    expected_slope, expected_curvature = ref.log_derivatives(p, h, points, w)
    # Rounding of u^2 / 2 in the exponent shifts the shares of the rows by this fraction.
    largest = np.abs((points[:, None] - p) / h).min(axis=1) + 10.0
    np.testing.assert_array_less(np.abs(slope - expected_slope), 1e-13 + 4 * EPS * largest**3)
    np.testing.assert_array_less(np.abs(curvature - expected_curvature), 1e-13 + 8 * EPS * largest**4)


@pytest.mark.parametrize("depth", [0.0, 5.0, 40.0, 100.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("reach", [1.5, 1e3])
def test_derivative_along_a_circle_matches_its_formula(reach, weighted, depth, rng):
    for n in SIZES:
        _, p, q, w, h = problem(rng, n, 2, weighted, depth)
        for c, s in ((1.0, 0.0), (0.8, 0.6)):
            x = c * p + s * q
            log_sum, share = shares(x, w, h, 0.2)
            terms = np.where(np.abs(x - 0.2) <= reach, share * (0.2 - x) / h * (c * q - s * p) / h, 0.0)
            got = _kernels.along(p, q, c, s, w, h, 0.2, log_sum, reach)
            # The rounding error of u^2 / 2 in the exponent is a relative error of the share.
            tolerance = (1e-13 + 4 * EPS * (depth + 10.0) ** 2) * np.abs(terms).sum()
            assert got == pytest.approx(terms.sum(), rel=0.0, abs=tolerance), n


@pytest.mark.parametrize("depth", [0.0, 40.0])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pull_back_matches_its_formula(dtype, layout, weighted, depth, rng):
    for n in SIZES:
        for d in (1, 3, 4, 7, 9, 13, 18):
            rows, p, _, w, h = problem(rng, n, d, weighted, depth)
            X, center = in_layout(layout, rows.astype(dtype)), rng.standard_normal(d)
            log_sum, share = shares(p, w, h, 0.2)
            for reach in (1.5, 1e3):
                terms = np.where(np.abs(p - 0.2) <= reach, share * (0.2 - p) / h**2, 0.0)[:, None] * (X - center)
                start = rng.standard_normal(d)
                out = start.copy()
                _kernels.pull_back(X, center, p, w, h, 0.2, log_sum, reach, out)
                tolerance = 1e-12 * (np.abs(terms).sum(axis=0) + np.abs(start))
                np.testing.assert_array_less(np.abs(out - start - terms.sum(axis=0)), tolerance + EPS)


def test_exponential_is_exact_to_two_units_in_last_place(rng):
    """One row at distance 1 from b contributes exactly exp(-1/2 - log_sum)."""
    exponents = np.round(rng.uniform(-700.0, 700.0, 5000) * 2.0**30) / 2.0**30  # no other rounding errors
    got = np.zeros(len(exponents))
    for i, x in enumerate(exponents):
        _kernels.pull_back(np.ones((1, 1)), np.zeros(1), np.zeros(1), None, 1.0, 1.0, -0.5 - x, 2.0, got[i : i + 1])
    expected = np.exp(exponents.astype(np.longdouble))
    assert np.abs(got / expected - 1.0).max() <= 2 * EPS


@pytest.mark.parametrize("depth", [37.6, 37.7, 38.0, 60.0])
def test_rows_of_weight_zero_in_a_deep_valley_do_not_count(depth):
    p, w, q = np.array([-depth, 0.0, depth]), np.array([1.0, 0.0, 1.0]), np.array([0.3, 0.5, 0.2])
    log_sum = _kernels.log_sum(p, None, 1.0, 0.0, w, 1.0, 0.0)
    out = np.zeros(1)
    _kernels.pull_back(q[:, None].copy(), np.zeros(1), p, w, 1.0, 0.0, log_sum, 1e3, out)
    assert out[0] == pytest.approx(0.5 * depth * (0.3 - 0.2), rel=1e-12)
    assert _kernels.along(p, q, 1.0, 0.0, w, 1.0, 0.0, log_sum, 1e3) == pytest.approx(out[0], rel=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_rotate_combines_in_place(n, rng):
    p, q = rng.standard_normal((2, n))
    expected = 0.8 * p + 0.6 * q
    _kernels.rotate(p, q, 0.8, 0.6)
    np.testing.assert_allclose(p, expected, rtol=4 * EPS, atol=4 * EPS)


# ------------------------------------------------------------------------------------------------- instruction sets


def workload():
    """Return the results of every kernel on fixed data as a dictionary of arrays."""
    r = np.random.default_rng(5)
    results = {}
    for n in (5, 700):
        for dtype in (np.float32, np.float64):
            X, w = r.normal(3.0, 2.0, (n, 7)).astype(dtype), r.random(n)
            center, directions = X.mean(axis=0, dtype=float), r.standard_normal((2, 7))
            for order in "CF":
                rows, out = np.asarray(X, order=order), np.zeros(7)
                p, q = projected(rows, center, directions)
                log_sum = _kernels.log_sum(p, q, 0.8, 0.6, w, 0.5, 30.0)
                _kernels.pull_back(rows, center, p, w, 2.0, 0.5, 1.0, 5.0, out)
                along = _kernels.along(p, q, 0.8, 0.6, w, 2.0, 0.5, 1.0, 5.0)
                values, moments = binned(p, 1.0, np.linspace(0.0, 20.0, 101), w)
                at = _kernels.evaluate_sorted(np.sort(p), None, float(n), 1.0, np.linspace(-40.0, 40.0, 101))
                kept = {"p": p, "q": q, "log_sum": log_sum, "out": out, "along": along, "values": values, "at": at}
                kept["mass"] = moments[:, 0]
                rotated = p.copy()
                _kernels.rotate(rotated, q, 0.8, 0.6)
                kept["rotated"] = rotated
                results |= {f"{name} {n} {dtype.__name__} {order}": np.asarray(x) for name, x in kept.items()}
    return results


def test_portable_kernels_give_the_same_results(tmp_path):
    script = (
        "import sys, numpy as np; from test_kernels import _kernels, workload\n"
        "np.savez(sys.argv[1], name=_kernels.instruction_set(), **workload())"
    )
    target = tmp_path / "baseline.npz"
    places = [str(Path(__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    environment = os.environ | {"RAVINE_KERNELS": "baseline", "PYTHONPATH": os.pathsep.join(filter(None, places))}
    subprocess.run([sys.executable, "-c", script, target], check=True, cwd=Path(__file__).parent, env=environment)
    with np.load(target) as baseline:
        assert baseline["name"] == "baseline"
        for name, expected in workload().items():
            scale = np.abs(expected).max()
            np.testing.assert_allclose(baseline[name], expected, rtol=1e-13, atol=1e-13 * scale, err_msg=name)


def test_unknown_instruction_sets_are_refused():
    for name, message in (("fast", "RAVINE_KERNELS is 'fast'"), ("AVX2", "set it to 'baseline' or 'v3'")):
        command = [sys.executable, "-c", "from ravine import _kernels"]
        run = subprocess.run(command, env=os.environ | {"RAVINE_KERNELS": name}, capture_output=True, text=True)
        assert run.returncode == 1
        assert message in run.stderr.splitlines()[-1]
