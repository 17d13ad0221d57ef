"""Any numbers and any settings give a sound answer or an error that explains; nothing ends the process."""

import subprocess
import sys
import warnings

import hypothesis.extra.numpy as hnp
import numpy as np
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.exceptions import ConvergenceWarning

from ravine import MinimumDensityHyperplane, NoSplitWarning, PathSettings
from support.simulate import two_clusters


def fit_strictly(mdh, X, weights=None):
    """Fit with every warning an error, but for the two that are answers."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", NoSplitWarning)
        warnings.simplefilter("ignore", ConvergenceWarning)
        return mdh.fit(X, sample_weight=weights)


def assert_sound(mdh, X, weights=None):
    labels, distances = mdh.predict(X), mdh.decision_function(X)
    assert_array_equal(labels, mdh.labels_)
    assert_array_equal(labels, distances > 0)
    assert np.isfinite(mdh.coef_).all()
    assert_allclose(np.linalg.norm(mdh.coef_), 1.0, rtol=1e-9)
    assert mdh.relative_depth_ >= 0
    assert mdh.density_ >= 0 if mdh.hyperplane_.splits else np.isnan(mdh.density_)
    if not mdh.hyperplane_.splits:
        assert_array_equal(labels, 0)
        assert mdh.relative_depth_ == 0
        return
    assert not np.isnan(distances).any()
    assert 0 < mdh.bandwidth_ < np.inf
    assert mdh.relative_depth_ > 0
    counted = labels if weights is None else labels[weights > 0]
    assert set(counted) == {0, 1}


# ----------------------------------------------------------------------------------------------- rows and weights


def numbers_of(dtype):
    """Finite elements of every kind, with the special ones made likely."""
    if np.dtype(dtype).kind != "f":
        return hnp.from_dtype(np.dtype(dtype))
    info = np.finfo(dtype)
    special = [0.0, -0.0, 1.0, -1.0, info.tiny, -info.tiny, info.smallest_subnormal, info.eps, info.max, -info.max]
    width = 8 * np.dtype(dtype).itemsize
    return st.one_of(
        st.floats(-100, 100, width=width).map(lambda x: round(x, 1)),
        st.floats(width=width, allow_nan=False, allow_infinity=False),
        st.sampled_from(special).map(float),
    )


@st.composite
def any_rows(draw):
    dtype = draw(st.sampled_from(["f8", "f4", "f2", ">f8", "i8", "i2", "u1", "?"]))
    shape = draw(st.tuples(st.integers(1, 30), st.integers(1, 6)))
    X = draw(hnp.arrays(dtype, shape, elements=numbers_of(dtype), fill=st.nothing() if draw(st.booleans()) else None))
    if draw(st.booleans()):
        X = X[draw(st.lists(st.integers(0, len(X) - 1), min_size=1, max_size=30))]  # duplicates
    if draw(st.booleans()):
        X[:, draw(st.integers(0, X.shape[1] - 1))] = X[0, 0]  # a constant column
    return np.asfortranarray(X) if draw(st.booleans()) else X


@st.composite
def rows_and_weights(draw):
    X = draw(any_rows())
    elements = draw(st.sampled_from([st.sampled_from([0.0, 1.0, 2.0]), st.floats(1e-6, 1e6)]))
    weights = draw(st.one_of(st.none(), hnp.arrays(np.float64, len(X), elements=elements)))
    return X, weights


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=rows_and_weights(), select=st.sampled_from(["last", "deepest"]), polish=st.booleans())
def test_any_numbers_give_a_sound_answer_or_a_clear_error(data, select, polish):
    X, weights = data
    mdh = MinimumDensityHyperplane(n_init=3, random_state=0, path=PathSettings(n_alpha=4, select=select, polish=polish))
    refusal = None
    try:
        fit_strictly(mdh, X, weights)
    except (ValueError, TypeError) as error:
        refusal = error
    if refusal is None:
        assert_sound(mdh, X, weights)
    else:
        assert not isinstance(refusal, np.linalg.LinAlgError)
        assert any(word in str(refusal) for word in ("X ", "sample_weight")), str(refusal)


# ----------------------------------------------------------------------------------------------- settings

ROWS = two_clusters(60, 3)[0]


@settings(max_examples=60, deadline=None)
@given(
    bandwidth=st.one_of(st.just("silverman"), st.floats(0.05, 10.0)),
    alphas=st.tuples(st.floats(0.0, 10.0), st.floats(1e-3, 10.0)).map(sorted),
    n_alpha=st.integers(1, 4),
    max_iter=st.integers(1, 8),
    eta=st.floats(1e-4, 0.1),
    epsilon=st.floats(0.2, 1.0),
    tol=st.one_of(st.just(0.0), st.floats(1e-12, 1.0)),
    init=st.one_of(st.sampled_from(["auto", "pca", "random"]), st.just([[1.0, 2.0, 3.0]])),
    subsample=st.one_of(st.none(), st.just("auto"), st.integers(2, 70)),
    select=st.sampled_from(["last", "deepest"]),
    polish=st.booleans(),
)
def test_any_settings_give_a_sound_answer(alphas, bandwidth, init, subsample, **parameters):
    path = PathSettings(alpha_min=alphas[0], **parameters)
    search = {"init": init, "n_init": 2, "alpha_max": alphas[1], "subsample": subsample, "path": path}
    mdh = MinimumDensityHyperplane(bandwidth, **search, random_state=0)
    assert_sound(fit_strictly(mdh, ROWS), ROWS)


# ----------------------------------------------------------------------------------------------- the process lives on


# Run one after the other in one process, which prints the name of each before it starts.
EXTREME = """
import numpy as np
from ravine import MinimumDensityHyperplane, _kernels

def fit(scale, weight):
    rows = np.random.default_rng(0).normal(size=(60, 3)).round(3)
    rows[:20] += 5.0
    try:
        MinimumDensityHyperplane().fit(scale * rows, sample_weight=np.full(60, weight))
    except ValueError as error:
        assert not isinstance(error, np.linalg.LinAlgError)

nan, inf = np.full(9, np.nan), np.array([np.inf, -np.inf])
cases = {
    "subnormal": lambda: fit(1e-310, 1.0),
    "least subnormal": lambda: fit(1e-320, 1.0),
    "nearly largest": lambda: fit(1.1e306, 1.0),
    "largest": lambda: fit(1.7e307, 1.0),
    "subnormal weights": lambda: fit(1.0, 1e-320),
    "large weights": lambda: fit(1.0, 1e300),
    "bin NaN": lambda: _kernels.bin(nan, None, 1.0, 0.0, None, 0.0, 1.0, np.zeros((6, 8))),
    "bin infinity": lambda: _kernels.bin(inf, None, 1.0, 0.0, None, 0.0, 1.0, np.zeros((6, 8))),
    "minimise NaN": lambda: _kernels.minimise_sorted(
        nan, None, 9.0, 1.0, -1.0, 1.0, 1.0, 60.0, 1.0, 0.01, 1e-10, 1000
    ),
}
for name, case in cases.items():
    print(name, flush=True)
    case()
print("done")
"""


def test_extreme_numbers_do_not_end_the_process():
    command = [sys.executable, "-W", "ignore", "-c", EXTREME]
    run = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
    last = run.stdout.splitlines()[-1:]
    assert (run.returncode, last) == (0, ["done"]), f"return code {run.returncode} after {last}: {run.stderr}"
