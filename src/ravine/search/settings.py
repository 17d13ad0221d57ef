"""Settings of a search, checked once and kept in one typed object."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any, Literal

import numpy as np

from ravine._properties import lazy_property
from ravine._typing import Array
from ravine.checks import check_choice, check_number
from ravine.density import BalancePenalty, compute_silverman_bandwidth
from ravine.hyperplane import PathStep
from ravine.index import LabelPenalty, ProjectionIndex
from ravine.rows import Moments, Sample
from ravine.search.label_fit import NAMED_STARTS, parse_component

# Principal axes beyond the starts, among which a search in very many features looks for unusual directions.
EXTRA_AXES = 4
# Fewest principal axes for a search with labels in very many features.
FEWEST_AXES = 10
# Number of rows in the first subsample, by default.
SUBSAMPLE = 10_000
INITS = ("auto", "axes", "pca", "random")
# Starts of a search with labels, by default.
LABEL_STARTS = ("pc1", "pc2", "svm")
LABEL_INITS = "one or several of 'svm', 'lda', 'means', 'pc1', 'pc2', ..."

Callback = Callable[[PathStep], object]
# Makes an index from a sample, the moments of all rows, a bandwidth in working units, and the settings.
NewIndex = Callable[[Sample, Moments, float, "SearchSettings"], ProjectionIndex]
# In standard deviations of the data. Below it, the rounding of projections is no longer negligible.
SMALLEST_BANDWIDTH = 1e-11
# Above it, the density has no structure left.
LARGEST_BANDWIDTH = 1e8
# In the units of X. Fractions of a smaller bandwidth vanish.
SMALLEST_NUMBER = 1e-322

BandwidthRule = str | float | Callable[[float, float], float]


@dataclass(frozen=True)
class LabelSettings:
    """Settings of a search with labels.

    Attributes
    ----------
    method : {"relative", "paper"}
        Whether the hyperplane of the labels moves to fewer rows (`find_safe_separator`), or MDP² searches for one.
    bandwidth_factor : float
        Ratio of the bandwidth h to that of the rule, h0.
    C : float or None
        Inverse regularisation of the hyperplane of the labels; None if they choose it.
    density_weight : float
        Weight λ of the relative density.
    penalty : LabelPenalty
        Penalty of labels in MDP².
    start_C : float
        C of the SVM that suggests a start.
    """

    method: Literal["relative", "paper"] = "paper"
    bandwidth_factor: float = 1.0
    C: float | None = None
    density_weight: float = 4.0
    penalty: LabelPenalty = field(default_factory=LabelPenalty)
    start_C: float = 1.0


@dataclass(frozen=True)
class SearchSettings:
    """Settings of MDP².

    Attributes
    ----------
    bandwidth : "silverman", float or callable
    init : str, tuple of str or ndarray of shape (k, d)
        Name of a set of starts, names of starts that labels suggest, or directions in the space of X.
    n_init : int
        Number of starts, if ``init`` is one name.
    alpha_min, alpha_max, n_alpha : float, float, int
        Equally spaced, increasing half-widths of F(v).
    max_iter : int
        Optimiser iterations for each alpha.
    gammas : tuple of float
        Increasing weights of the labels: alpha grows at the first, the others follow at the largest alpha.
    select : {"last", "deepest", "final"}
        Which hyperplane of a path is kept: of those that separate two modes the last (the paper's rule for clustering)
        or the one of largest relative depth; or, with labels, the one at the end.
    every_start : bool
        Whether to follow paths from every start, or only from the one where the index is lowest.
    polish : bool
        Whether the hyperplane that is kept is then optimised to convergence.
    polish_iter : int
        Largest number of iterations of that optimisation.
    tolerance : float
        Expected relative decrease of φ below which an optimisation has converged.
    optimiser : str
        One of `OPTIMISERS`.
    penalty : BalancePenalty
    subsample : int or None
        Number of rows in the first subsample; None for no subsamples.
    n_threads : int
    callback : callable, optional
        Called with a `PathStep` after every stage of every start.
    labels : LabelSettings
    new_index : callable, optional
        Makes the index to minimise, instead of that of the paper; see `ProjectionIndex`.
    """

    bandwidth: BandwidthRule = "silverman"
    init: str | tuple[str, ...] | Array = "auto"
    n_init: int = 6
    alpha_min: float = 0.01
    alpha_max: float = 1.5
    n_alpha: int = 12
    max_iter: int = 8
    gammas: tuple[float, ...] = (0.0,)
    select: Literal["last", "deepest", "final"] = "deepest"
    every_start: bool = True
    polish: bool = True
    polish_iter: int = 200
    tolerance: float = 1e-6
    optimiser: str = "lbfgs"
    penalty: BalancePenalty = field(default_factory=BalancePenalty)
    subsample: int | None = None
    n_threads: int = 1
    callback: Callback | None = None
    labels: LabelSettings = field(default_factory=LabelSettings)
    new_index: NewIndex | None = None

    @property
    def n_axes(self) -> int:
        """Number of principal axes to compute where there are very many features."""
        if isinstance(self.init, tuple):
            return max(FEWEST_AXES, *(parse_component(name) or 0 for name in self.init))
        return self.n_init + EXTRA_AXES if self.select != "final" else FEWEST_AXES

    @lazy_property
    def alphas(self) -> list[float]:
        """Values of alpha on the way to the largest one."""
        if self.n_alpha == 1:
            return [self.alpha_max]
        return [*np.linspace(self.alpha_min, self.alpha_max, self.n_alpha).tolist()[:-1], self.alpha_max]

    def check_init(self, n_features: int) -> SearchSettings:
        """Return the settings with ``init`` checked against the number of features."""
        if isinstance(self.init, str):
            check_choice("init", self.init, INITS)
            return self
        return replace(self, init=_check_directions(self.init, f"one of {', '.join(map(repr, INITS))}", n_features))


def make_settings(
    hyperplane: Any, path: Any, *, n_threads: int = 1, callback: Callback | None = None
) -> SearchSettings:
    """Return the settings of a search without labels from the parameters of estimators, which are valid.

    ``init`` is checked later, by `SearchSettings.check_init`, since it depends on the number of features.

    Parameters
    ----------
    hyperplane : MinimumDensityHyperplane
    path : PathSettings
    n_threads : int
    callback : callable, optional
    """
    return SearchSettings(
        **_convert(hyperplane, path),
        init=hyperplane.init,
        n_init=int(hyperplane.n_init),
        select=path.select,
        n_threads=n_threads,
        callback=callback,
    )


def make_label_settings(
    hyperplane: Any, path: Any, labels: LabelSettings, *, gamma: Any, n_features: int, n_threads: int = 1
) -> SearchSettings:
    """Return the settings of a search with labels from the parameters of estimators, which are valid.

    Parameters
    ----------
    hyperplane : MinimumDensityHyperplane
    path : PathSettings
    labels : LabelSettings
    gamma : float or sequence of float
    n_features : int
    n_threads : int
    """
    is_default = isinstance(hyperplane.init, str) and hyperplane.init == "auto"
    return SearchSettings(
        **_convert(hyperplane, path),
        init=_check_label_starts(LABEL_STARTS if is_default else hyperplane.init, n_features),
        gammas=_check_increasing("gamma", gamma, high=1e100),
        select="final",
        every_start=False,
        n_threads=n_threads,
        callback=hyperplane.callback,
        labels=labels,
    )


def _convert(hyperplane: Any, path: Any) -> dict[str, Any]:
    """Return the settings that searches with and without labels share."""
    largest = float(hyperplane.alpha_max)
    return {
        "bandwidth": hyperplane.bandwidth,
        "alpha_min": check_number("alpha_min", path.alpha_min, low=0.0, high=largest, high_name="alpha_max"),
        "alpha_max": largest,
        "n_alpha": int(path.n_alpha),
        "max_iter": int(path.max_iter),
        "polish": bool(path.polish),
        "tolerance": float(path.tol),
        "optimiser": path.optimiser,
        "penalty": BalancePenalty(float(path.eta), float(path.epsilon)),
        "subsample": resolve_subsample(hyperplane.subsample),
    }


def check_penalty(eta: Any, epsilon: Any) -> BalancePenalty:
    """Return the balance penalty."""
    return BalancePenalty(
        check_number("eta", eta, low=0.0, open_low=True),
        check_number("epsilon", epsilon, low=0.0, high=1.0, open_low=True),
    )


def _check_directions(init: Any, names: str, n_features: int) -> Array:
    """Return directions given by the user as rows; ``names`` lists the other values that init may have."""
    allowed = f"init must be {names} or finite directions of shape (k, {n_features})"
    if not np.iterable(init) or not list(init):
        raise ValueError(f"{allowed}, got {init!r}.")
    try:
        directions = np.array(init, dtype=np.float64, ndmin=2)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{allowed}, got {init!r} ({error}).") from error
    if directions.ndim != 2 or directions.shape[1] != n_features:
        raise ValueError(f"{allowed}, got an array of shape {directions.shape}.")
    if not np.isfinite(directions).all():
        raise ValueError(f"{allowed}, got NaN or infinity.")
    return directions


def _check_label_starts(init: Any, n_features: int) -> tuple[str, ...] | Array:
    given = [init] if isinstance(init, str) else init.tolist() if isinstance(init, np.ndarray) else init
    if not isinstance(given, list | tuple) or not any(isinstance(name, str) for name in given):
        return _check_directions(init, LABEL_INITS, n_features)
    for name in given:
        if name not in NAMED_STARTS and (not isinstance(name, str) or parse_component(name) is None):
            raise ValueError(f"init must be {LABEL_INITS}, got {name!r}.")
    if all((parse_component(name) or 0) > n_features for name in given):
        raise ValueError(f"init is {init!r}, but X has only {n_features} features.")
    return tuple(given)


def _check_increasing(name: str, given: Any, *, high: float) -> tuple[float, ...]:
    """Return one positive number, or several in increasing order, as a tuple."""
    allowed = f"{name} must be a positive number (at most {high:g}) or several in increasing order, got {given!r}"
    try:
        values = list(given) if np.iterable(given) and not isinstance(given, str) else [given]
        checked = tuple(check_number(name, value, low=0.0, high=high, open_low=True) for value in values)
    except (TypeError, ValueError) as error:
        raise type(error)(f"{allowed}.") from error
    if not checked or any(later <= earlier for earlier, later in pairwise(checked)):
        raise ValueError(f"{allowed}.")
    return checked


def resolve_subsample(subsample: int | str | None) -> int | None:
    """Return the number of rows in the first subsample; None for no subsamples."""
    if subsample is None:
        return None
    return SUBSAMPLE if isinstance(subsample, str) else int(subsample)


# ----------------------------------------------------------------------------------------------- bandwidth


def check_bandwidth(rule: Any) -> BandwidthRule:
    """Return a rule's name, a positive number or a callable."""
    if rule is None or (isinstance(rule, str) and rule != "silverman"):
        raise ValueError(f"bandwidth must be 'silverman', a positive number or a callable, got {rule!r}.")
    if not isinstance(rule, str) and not callable(rule):
        check_number("bandwidth", rule, low=0.0, open_low=True)
    return rule  # type: ignore[no-any-return]


def check_representable(name: str, bandwidth: float, pc1_std: float) -> None:
    """Raise an error if a bandwidth is so small that fractions of it vanish."""
    if bandwidth < SMALLEST_NUMBER:
        raise ValueError(
            f"X has a standard deviation of {pc1_std:g}, and {name} is {bandwidth:g}, too near the smallest number "
            "that can be represented: multiply X by a large number."
        )


def resolve_bandwidth(rule: BandwidthRule, n: float, pc1_std: float) -> float:
    """Return the bandwidth of a rule, number or callable.

    Parameters
    ----------
    rule : "silverman", positive number or callable
        ``"silverman"`` is the paper's ``0.9 * pc1_std * n**(-1/5)``; a callable is called with ``(n, pc1_std)``.
    n : float
        Sum of the weights.
    pc1_std : float
        Standard deviation along the first principal component, in the units of the data.
    """
    if rule == "silverman":
        given: object = compute_silverman_bandwidth(pc1_std, n)
        name = f"the bandwidth 'silverman' for a total weight of {n:g}"
    elif callable(rule):
        given, name = rule(n, pc1_std), "the bandwidth returned by the callable"
    else:
        given, name = rule, "bandwidth"
    bandwidth = float(given) if isinstance(given, numbers.Real) else math.nan
    if rule == "silverman" or bandwidth > 0.0:
        check_representable(name, bandwidth, pc1_std)
    if not (math.isfinite(bandwidth) and bandwidth > 0.0):
        raise ValueError(f"{name} must be a positive number, got {given!r}.")
    if bandwidth < SMALLEST_BANDWIDTH * pc1_std:
        raise ValueError(
            f"{name} is {bandwidth:g}, less than {SMALLEST_BANDWIDTH:g} of the data's standard deviation "
            f"({pc1_std:g}): too small to tell rows apart."
        )
    if bandwidth > LARGEST_BANDWIDTH * pc1_std > 0.0:
        raise ValueError(
            f"{name} is {bandwidth:g}, more than {LARGEST_BANDWIDTH:g} standard deviations of the data ({pc1_std:g}): "
            "it would smooth away all structure."
        )
    return bandwidth
