"""What the optimiser needs of a function on the sphere, as generators.

Every method is a generator: it yields whatever questions its answers depend on, and its return value is the answer. An
objective that can answer by itself yields nothing. So the optimiser, too, is a generator; a driver advances many of
them in lock-step and answers their questions together, and `run` is enough where there is nothing to answer.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeVar

import numpy as np

from ravine._typing import Array

__all__ = ["FunctionObjective", "SphereObjective", "run"]

T = TypeVar("T")
Asking = Generator[Any, Any, T]


class SphereObjective(Protocol):
    """A function on the unit sphere with its restriction to great circles."""

    def begin(self, v: Array) -> Asking[tuple[float, Array]]:
        """Go to v: value and gradient (any gradient in the ambient space)."""

    def line(self, u: Array) -> Asking[None]:
        """Face along the great circle cos t·v + sin t·u, u a unit tangent."""

    def trial(self, t: float) -> Asking[float]:
        """Value at the angle t of the circle."""

    def slope(self, t: float) -> Asking[float]:
        """Derivative by the angle at t, the last trial."""

    def accept(self, t: float, v: Array) -> Asking[Array]:
        """Go to ``v = cos t·v + sin t·u``, t the last trial: gradient there."""


class FunctionObjective:
    """A plain function and its gradient as an objective.

    Parameters
    ----------
    function, gradient : callable
        Of a unit vector. The gradient need not be tangent.
    """

    def __init__(self, function: Callable[[Array], float], gradient: Callable[[Array], Array]) -> None:
        self.function = function
        self.gradient = gradient
        self.n_trials = 0

    def begin(self, v: Array) -> Asking[tuple[float, Array]]:
        """Value and gradient at v."""
        self.v = v
        return float(self.function(v)), self.gradient(v)
        yield

    def line(self, u: Array) -> Asking[None]:
        """Face along u."""
        self.u = u
        return
        yield

    def trial(self, t: float) -> Asking[float]:
        """Value at the angle t."""
        self.n_trials += 1
        return float(self.function(np.cos(t) * self.v + np.sin(t) * self.u))
        yield

    def slope(self, t: float) -> Asking[float]:
        """Derivative by the angle at t."""
        gradient = self.gradient(np.cos(t) * self.v + np.sin(t) * self.u)
        return float(gradient @ (np.cos(t) * self.u - np.sin(t) * self.v))
        yield

    def accept(self, t: float, v: Array) -> Asking[Array]:
        """Gradient at the new point."""
        self.v = v
        return self.gradient(v)
        yield


def run(asking: Asking[T]) -> T:
    """The result of a generator that asks nothing."""
    try:
        question = next(asking)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise RuntimeError(f"nobody is here to answer {question!r}")
