"""Functions: valley test, bandwidth path, stationarity, projected density and scores."""

from __future__ import annotations

import numpy as np

from fuzz.targets.estimators import write_labels
from fuzz.targets.rows import choose, write_rows

__all__ = ["write_function"]

CALLS = [
    """
from ravine import minimum_density_hyperplane
plane = minimum_density_hyperplane(X, random_state=0)
assert np.isfinite(plane.normal).all()
assert abs(np.linalg.norm(plane.normal) - 1.0) < 1e-9
assert plane.on_positive_side(X).shape == ({n},)
assert isinstance(str(plane.report()), str)
""",
    """
from ravine import valley_test
result = valley_test(X, random_state=0, method={method!r})
assert 0.0 <= result.pvalue <= 1.0, result.pvalue
repr(result)
""",
    """
from ravine import MinimumDensityHyperplane
from ravine_paper import bandwidth_path
path = bandwidth_path(X, n_bandwidths=3, hyperplane=MinimumDensityHyperplane(n_init=1), random_state=0)
assert all(step.labels.shape == ({n},) for step in path.steps)
assert not any(np.isnan(step.margin) for step in path.steps)
""",
    """
from ravine import MinimumDensityHyperplane
from ravine_paper import bandwidth_path
path = bandwidth_path(X, y=y, n_bandwidths=3, hyperplane=MinimumDensityHyperplane(n_init=1), random_state=0)
assert all(step.labels.shape == ({n},) for step in path.steps)
""",
    """
from ravine import MinimumDensityHyperplane
from ravine_paper import stationarity
model = MinimumDensityHyperplane(n_init=1, random_state=0).fit(X)
if model.hyperplane_.splits:
    result = stationarity(model, X)
    assert result.norm >= 0.0, result
""",
    """
from ravine import ProjectedDensity
density = ProjectedDensity(X[:, 0], {bandwidth})
values = density(density.points())
assert (values >= 0.0).all(), "NaN or negative density"
assert not np.isnan(density.log(density.points())).any()
assert np.isfinite(density.modes()).all()
assert np.isfinite(density.minima()).all()
""",
    """
from ravine_paper.metrics import binary_v_measure, success_ratio
given = rng.integers(0, 3, {n})
assert 0.0 <= success_ratio(y, given % 2) <= 1.0
assert 0.0 <= binary_v_measure(y, given % 2) <= 1.0
""",
    """
from ravine import MixedScaler
features = MixedScaler(missing={missing!r}, handle_unknown="other").fit(X).transform(X)
assert features.shape[0] == {n}
assert not np.isinf(features).any()
""",
    """
from ravine import MultipleImputer
completions = MultipleImputer(2, random_state=0).fit(X).impute(X)
assert completions.shape[:2] == (2, {n})
assert np.isfinite(completions).all()
""",
    """
from ravine_paper.baselines import neighbour_graph
graph = neighbour_graph(X, {k})
assert graph.shape == ({n}, {n})
assert np.isfinite(graph.data).all()
""",
]


def write_function(rng: np.random.Generator) -> str:
    """Write a script that calls one function and checks its result."""
    call = choose(rng, CALLS)
    rows = write_rows(rng, plain="ProjectedDensity" in call)
    call = call.format(
        n=rows.n_rows,
        k=int(rng.integers(0, 8)),
        method=choose(rng, ["pooled", "exact"]),
        missing=choose(rng, ["error", "median", "keep"]),
        bandwidth=choose(rng, ["1.0", "0.01", "1e-12", "1e-300", "1e300", "abs(X[0, 0]) / 10", "0.0"]),
    )
    labels = write_labels(rng, rows.n_rows) if "y" in call else ""
    return rows.text + labels + call
