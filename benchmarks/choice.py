"""Which hyperplane of a search to return: the deepest, or the one with the most evidence for its size.

    python benchmarks/choice.py [--seeds 2]

Simulated mixtures are fitted from two sets of starts: six starts without screening (four principal and two unusual
directions) and the defaults. Of all hyperplanes of each search, the rules choose the deepest and the one with the
largest z = min(z_L, z_R), which counts the rows of the valley and of its two neighbours (`measure_evidence`). Prints
means over all problems: success ratio by the true components, log-depth and z on as many new rows (0 if these have no
valley there), share of the smaller side, and how often it has less than 2 % of the rows.
"""

from __future__ import annotations

import argparse
import itertools
import math
import warnings
from collections.abc import Iterator

import numpy as np

from mixtures import simulate_hard_mixture, simulate_mixture
from ravine import Hyperplane, MinimumDensityHyperplane
from ravine.density import measure_evidence
from ravine_paper.metrics import success_ratio
from starts import FAMILIES, FIRST, SIZES, propose_starts

Problem = tuple[str, np.ndarray, np.ndarray]


def simulate_problems(n_seeds: int) -> Iterator[Problem]:
    """Return kind, rows and components; half of the rows are to fit, half are new."""
    for seed in range(n_seeds):
        for i, ((n, d), (_, options)) in enumerate(itertools.product(SIZES, FAMILIES.items())):
            if int(options.get("nuisance", 0)) < d - 1:  # type: ignore[call-overload]
                yield "mixtures", *simulate_mixture(2 * n, d, **options, seed=5000 + 100 * seed + i)  # type: ignore[arg-type]
    for seed in range(20 * n_seeds):
        yield "hard mixtures", *simulate_hard_mixture(seed)


def measure_z(plane: Hyperplane, X: np.ndarray) -> float:
    """Return the evidence on the weaker side of a hyperplane."""
    return float(min(measure_evidence(X @ plane.normal, plane.bandwidth, plane.offset)))


def choose(mdh: MinimumDensityHyperplane, X: np.ndarray) -> dict[str, Hyperplane]:
    """Return the hyperplane that each rule chooses."""
    planes = [step.hyperplane for step in mdh.path_ if step.valid]
    if not planes:
        return {}
    z = [measure_z(plane, X) for plane in planes]
    return {"deepest": mdh.hyperplane_, "largest z": planes[int(np.argmax(z))]}


def measure_depth(plane: Hyperplane, X: np.ndarray) -> float:
    """Return log(1 + relative depth) of a hyperplane on new rows: the lower adjacent mode over the density on it."""
    p = X @ plane.normal
    grid = plane.offset + plane.bandwidth * np.arange(-40, 41) / 2.0
    density = np.exp(-0.5 * ((grid[:, None] - p) / plane.bandwidth) ** 2).sum(axis=1)
    low = max(float(density[40]), 1e-300)
    return math.log(max(min(density[:40].max(), density[41:].max()) / low, 1.0))


def measure(plane: Hyperplane | None, X: np.ndarray, y: np.ndarray, new: np.ndarray) -> list[float]:
    if plane is None:
        return [0.0, 0.0, 0.0, 0.0, 0.0]
    side = X @ plane.normal > plane.offset
    share = float(min(side.mean(), 1.0 - side.mean()))
    success = success_ratio(y, side.astype(int)) if share > 0.0 else 0.0
    return [success, measure_depth(plane, new), max(measure_z(plane, new), 0.0), share, float(share < 0.02)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=2)
    warnings.simplefilter("ignore")
    results: dict[tuple[str, str, str], list[list[float]]] = {}
    for kind, X, y in simulate_problems(parser.parse_args().seeds):
        fitted, new = X[::2], X[1::2]
        for starts, settings in (("six starts", {"init": propose_starts(fitted)[FIRST]}), ("defaults", {})):
            chosen = choose(MinimumDensityHyperplane(random_state=0, **settings).fit(fitted), fitted)  # type: ignore[arg-type]
            for rule in ("deepest", "largest z"):
                numbers = measure(chosen.get(rule), fitted, y[::2], new)
                results.setdefault((kind, starts, rule), []).append(numbers)
    print("| problems | starts | rule | success ratio | new log-depth | new z | smaller side | stragglers |")
    print("|---|---|---|---|---|---|---|---|")
    for (kind, starts, rule), rows in results.items():
        print(
            f"| {kind} ({len(rows)}) | {starts} | {rule} | "
            + " | ".join(f"{m:.3f}" for m in np.mean(rows, axis=0))
            + " |"
        )


if __name__ == "__main__":
    main()
