"""Types, shapes and layouts that the kernels accept and reject; inputs that they do not modify."""

import numpy as np
import pytest

from ravine import _kernels


def good_calls():
    """Return valid arguments of every kernel: name -> (function, list of arguments)."""
    r = np.random.default_rng(3)
    X, p, q, w, v = r.random((6, 4)), r.random(6), r.random(6), r.random(6), r.random(4)
    moments, points = np.zeros((82, 8)), np.linspace(0.0, 1.0, 5)
    _kernels.bin(p, None, 1.0, 0.0, None, -8.0, 0.25, moments)
    coefficients = np.ascontiguousarray(moments[1:-1].T)
    order = np.argsort(p)
    return {
        "project": (_kernels.project, [X, v, v[None].copy(), [np.zeros(6)]]),
        "pull_back": (_kernels.pull_back, [X, v, p, w, 0.5, 0.5, 1.0, 2.0, np.zeros(4)]),
        "rotate": (_kernels.rotate, [p.copy(), q, 0.8, 0.6]),
        "bin": (_kernels.bin, [p, q, 0.8, 0.6, w, -8.0, 0.25, moments]),
        "evaluate": (_kernels.evaluate, [coefficients, -8.0, 1.0, points]),
        "evaluate_sorted": (_kernels.evaluate_sorted, [p[order], w, w.sum(), 0.5, points]),
        "log_sum": (_kernels.log_sum, [p, q, 0.8, 0.6, w, 0.5, 0.5]),
        "along": (_kernels.along, [p, q, 0.8, 0.6, w, 0.5, 0.5, 1.0, 2.0]),
        "minimise": (_kernels.minimise, [coefficients, -8.0, 1.0, 0.0, 1.0, 60.0, 0.999, 0.01, 1e-9, 1000]),
        "minimise_sorted": (
            _kernels.minimise_sorted,
            [p[order], w, w.sum(), 0.5, 0.0, 1.0, 1.0, 60.0, 0.999, 0.01, 1e-10, 1000],
        ),
        "sweep_cuts": (_kernels.sweep_cuts, [X, np.array([[0, 1], [2, 3]]), 1]),
        "measure_contact": (_kernels.measure_contact, [X, 3, 2, 4]),
    }


OUTPUTS = {("project", 3), ("pull_back", 8), ("rotate", 0), ("bin", 7)}
ARRAYS = [
    (name, i)
    for name, (_, arguments) in good_calls().items()
    for i, a in enumerate(arguments)
    if np.ndim(a) > 0 and np.asarray(a).dtype.kind == "f"
]


def call_with(name, position, change):
    function, arguments = good_calls()[name]
    old = arguments[position]
    arguments[position] = [change(old[0])] if isinstance(old, list) else change(old)
    return function(*arguments)


def test_valid_calls_work():
    for function, arguments in good_calls().values():
        function(*arguments)


WRONG_TYPE = {
    "int": lambda x: x.astype(np.int64),
    "float16": lambda x: x.astype(np.float16),
    "complex": lambda x: x.astype(complex),
    "big endian": lambda x: x.astype(">f8"),
    "list": lambda x: x.tolist(),
    "one dimension more": lambda x: x[None],
}


@pytest.mark.parametrize("wrong", WRONG_TYPE)
@pytest.mark.parametrize(("name", "position"), ARRAYS)
def test_wrong_type_raises_instead_of_copying(name, position, wrong):
    with pytest.raises(TypeError):
        call_with(name, position, WRONG_TYPE[wrong])


@pytest.mark.parametrize(("name", "position"), [a for a in ARRAYS if a not in {("project", 0), ("pull_back", 0)}])
def test_float32_and_strided_vectors_raise(name, position):
    with pytest.raises(TypeError):
        call_with(name, position, lambda x: x.astype(np.float32))
    with pytest.raises(TypeError):
        call_with(name, position, lambda x: np.repeat(x, 2, axis=-1)[..., ::2])


@pytest.mark.parametrize("name", ["project", "pull_back"])
def test_rows_without_contiguous_axis_raise(name):
    with pytest.raises(ValueError, match="adjacent"):
        call_with(name, 0, lambda x: np.repeat(np.repeat(x, 2, axis=0), 2, axis=1)[::2, ::2])


@pytest.mark.parametrize(
    ("name", "position"),
    [
        *[("project", i) for i in range(4)],
        *[("pull_back", i) for i in (0, 1, 2, 3, 8)],
        *[(name, i) for name in ("rotate", "bin", "along", "log_sum") for i in (0, 1)],
        *[("bin", 4), ("along", 4), ("log_sum", 4), ("evaluate_sorted", 0), ("evaluate_sorted", 1)],
        *[("minimise_sorted", 0), ("minimise_sorted", 1)],
    ],
)
def test_inconsistent_lengths_raise(name, position):
    with pytest.raises(ValueError, match=r"must have|must be"):
        call_with(name, position, lambda x: np.ascontiguousarray(x[..., :-1]))


@pytest.mark.parametrize(
    ("name", "position", "change"),
    [
        ("project", 3, lambda x: np.zeros(7)),
        ("bin", 7, lambda m: np.zeros((2, 8))),
        ("bin", 7, lambda m: np.zeros((82, 7))),
        ("evaluate", 0, lambda c: np.ascontiguousarray(c[:7])),
        ("evaluate", 0, lambda c: np.ascontiguousarray(c[:, :-1])),
        ("minimise", 0, lambda c: np.ascontiguousarray(c[:, :-1])),
    ],
)
def test_invalid_shapes_raise(name, position, change):
    with pytest.raises(ValueError, match=r"must have|must be"):
        call_with(name, position, change)


def test_bins_without_width_raise():
    function, arguments = good_calls()["bin"]
    arguments[6] = 0.0
    with pytest.raises(ValueError, match="width"):
        function(*arguments)


@pytest.mark.parametrize(("name", "position"), [a for a in ARRAYS if a not in OUTPUTS])
def test_read_only_inputs_are_accepted_and_not_modified(name, position):
    function, arguments = good_calls()[name]
    before = arguments[position].copy()
    arguments[position].flags.writeable = False
    function(*arguments)
    np.testing.assert_array_equal(arguments[position], before)
    arguments[position].flags.writeable = True
    function(*arguments)
    np.testing.assert_array_equal(arguments[position], before)


@pytest.mark.parametrize(("name", "position"), sorted(OUTPUTS))
def test_read_only_outputs_raise(name, position):
    def read_only(x):
        x = x.copy()
        x.flags.writeable = False
        return x

    with pytest.raises(TypeError):
        call_with(name, position, read_only)


@pytest.mark.parametrize(("h", "a", "c"), [(1.0, np.nan, 1.0), (1.0, -1.0, np.inf), (1.0, 1.0, 0.0), (0.0, 0.0, 1.0)])
def test_minimisation_over_an_invalid_interval_raises(h, a, c):
    penalty = (60.0, 1.0, 0.01, 1e-9, 1000)
    with pytest.raises(ValueError, match="finite"):
        _kernels.minimise_sorted(np.zeros(9), None, 9.0, h, a, c, 1.0, *penalty)
    with pytest.raises(ValueError, match="finite"):
        _kernels.minimise(np.zeros((8, 64)), -8.0, h, a, c, *penalty)
