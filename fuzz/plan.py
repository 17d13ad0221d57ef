"""Plan of a run: the script of an input depends on the seed and its number alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from fuzz.targets.baselines import write_baseline
from fuzz.targets.estimators import write_estimator
from fuzz.targets.functions import write_function
from fuzz.targets.model_bytes import write_model_bytes
from fuzz.targets.model_values import write_model_values
from fuzz.targets.relations import write_relation
from fuzz.targets.signals import write_signal
from fuzz.targets.tables import write_table

__all__ = ["TARGETS", "Input", "make_input"]

# Target -> function that writes a script, and its share of the inputs. Signals need whole processes.
TARGETS: dict[str, tuple[Callable[[np.random.Generator], str], float]] = {
    "estimators": (write_estimator, 0.25),
    "relations": (write_relation, 0.06),
    "functions": (write_function, 0.1),
    "baselines": (write_baseline, 0.17),
    "model-bytes": (write_model_bytes, 0.16),
    "model-values": (write_model_values, 0.15),
    "tables": (write_table, 0.1),
    "signals": (write_signal, 0.01),
}


@dataclass(frozen=True)
class Input:
    """One input: its number, its target and the script that runs it."""

    number: int
    target: str
    script: str


def make_input(seed: int, number: int, only: str | None = None) -> Input:
    """Write an input of a run.

    Parameters
    ----------
    seed : int
        Seed of the run.
    number : int
        Number of the input in the run.
    only : str, optional
        Target of all inputs; by default each input has a random one.
    """
    rng = np.random.default_rng([seed, number])
    names = list(TARGETS)
    target = str(rng.choice(names, p=[TARGETS[name][1] for name in names]))
    target = only or target
    return Input(number, target, TARGETS[target][0](rng))
