from collections.abc import Sequence
from typing import Any

from numpy.typing import NDArray

from ravine._typing import Array

MOMENTS: int
BINS_PER_BANDWIDTH: int
REACH: float
MAX_BINS: int
MAX_BINS_PER_ROW: float
MARGIN: float
DEEP: float
BINNED_TOLERANCE: float
BINNED_BUDGET: int
SORTED_TOLERANCE: float
SORTED_BUDGET: int
MAX_NODES: int
TOUCHING: float
SUFFICIENT_DECREASE: float
CURVATURE: float
MAX_TRIALS: int
FIRST_ANGLE: float
LARGEST_ANGLE: float

def instruction_set() -> str: ...
def project(X: NDArray[Any], center: Array, directions: Array, out: Sequence[Array]) -> None: ...
def pull_back(
    X: NDArray[Any], center: Array, p: Array, w: Array | None,
    h: float, b: float, log_sum: float, reach: float, out: Array,
) -> None: ...  # fmt: skip
def rotate(p: Array, q: Array, c: float, s: float) -> None: ...
def bin(
    p: Array, q: Array | None, c: float, s: float, w: Array | None, lo: float, width: float, moments: Array
) -> None: ...
def evaluate(coefficients: Array, lo: float, h: float, points: Array) -> Array: ...
def evaluate_sorted(p: Array, w: Array | None, total: float, h: float, points: Array) -> Array: ...
def log_sum(p: Array, q: Array | None, c: float, s: float, w: Array | None, h: float, b: float) -> float: ...
def along(
    p: Array, q: Array, c: float, s: float, w: Array | None, h: float, b: float, log_sum: float, reach: float
) -> float: ...
def minimise(
    coefficients: Array, lo: float, h: float, a: float, c: float,
    k: float, epsilon: float, eta: float, tolerance: float, budget: int,
) -> tuple[Array, bool, int]: ...  # fmt: skip
def minimise_sorted(
    p: Array, w: Array | None, total: float, h: float, a: float, c: float, spacing: float,
    k: float, epsilon: float, eta: float, tolerance: float, budget: int,
) -> tuple[Array, bool, int]: ...  # fmt: skip

class Hinges:
    def __init__(
        self, right: Array, right_weights: Array, left: Array, left_weights: Array, power: float, h: float
    ) -> None: ...
    def evaluate(self, b: float) -> tuple[float, float, float]: ...
    def sublevel(self, level: float) -> tuple[float, float]: ...

def minimise_with(
    coefficients: Array, lo: float, h: float, a: float, c: float, hinges: Hinges, tolerance: float, budget: int
) -> tuple[Array, bool, int]: ...
def minimise_sorted_with(
    p: Array, w: Array | None, total: float, h: float, a: float, c: float, spacing: float,
    hinges: Hinges, tolerance: float, budget: int,
) -> tuple[Array, bool, int]: ...  # fmt: skip
def sweep_cuts(projections: Array, edges: NDArray[Any], fewest: int) -> tuple[float, int, float]: ...
def fit_means(X: Array, random: Array, n_trials: int, max_steps: int, labels: NDArray[Any]) -> float: ...
def fit_mixture(
    X: Array, k: int, tied: bool, ridge: float, max_steps: int, tolerance: float, labels: NDArray[Any]
) -> bool: ...
def measure_contact(X: Array, first: int, few: int, many: int) -> Array: ...

class StopFlag:
    def __init__(self) -> None: ...
    def watch(self) -> None: ...
    def set(self) -> None: ...

def check_stop_flag() -> None: ...
def end_other_threads() -> None: ...

class Index:
    alpha: float
    gamma: float
    exact: bool
    offsets: tuple[float, float]
    @property
    def n_evaluations(self) -> int: ...
    @property
    def n_tied(self) -> int: ...
    @property
    def certified(self) -> bool: ...
    @property
    def minima(self) -> tuple[Array, bool, int]: ...
    @property
    def has_normal(self) -> bool: ...
    def __init__(
        self, X: NDArray[Any], origin: Array, unit: float, weights: Array | None, covariance: Array,
        p: Array, q: Array, total: float, lightest: float, h: float, k: float, epsilon: float, eta: float,
    ) -> None: ...  # fmt: skip
    def set_labels(self, rows: Array, signs: Array, costs: Array, margin: float) -> None: ...
    def forget(self) -> None: ...
    def begin(self, v: Array) -> tuple[float, Array, Array]: ...
    def minimise(
        self,
        v: Array,
        max_iter: int,
        tolerance: float,
        largest_angle: float,
        pairs: Array,
        upper: Array,
        products: Array,
        size: int,
        count: int,
    ) -> tuple[Array, float, Array, int, int, bool, bool, int, Array]: ...
    def adjust(self) -> bool: ...
    def describe(self, depth: bool) -> tuple[float, float]: ...
