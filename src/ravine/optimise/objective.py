"""Functions on the sphere as the optimisers see them.

Every method is a generator: it yields the questions that it needs answered, and returns its result. An objective that
can compute everything itself yields nothing. Hence the optimisers are generators, too: a driver advances many of them
in lock-step and answers their questions together. `run` is sufficient if there are no questions.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Generator
from typing import Any, Protocol, TypeVar

import numpy as np

from ravine._typing import Array

T = TypeVar("T")
# Generator that yields questions, receives their answers and returns a T.
Questions = Generator[Any, Any, T]


class SphereObjective(Protocol):
    """Function on the unit sphere with its restriction to great circles."""

    def begin(self, v: Array) -> Questions[tuple[float, Array]]:
        """Move to v; return the value and the gradient in the ambient space there."""

    def set_tangent(self, u: Array) -> Questions[None]:
        """Choose the great circle cos t·v + sin t·u, for a unit tangent u."""

    def evaluate(self, t: float) -> Questions[float]:
        """Return the value at the angle t of the circle."""

    def differentiate(self, t: float) -> Questions[float]:
        """Return the derivative with respect to the angle at t, the angle evaluated last."""

    def accept(self, t: float, v: Array) -> Questions[Array]:
        """Move to ``v = cos t·v + sin t·u``, t the angle evaluated last; return the gradient there."""


class FunctionObjective:
    """Objective made from a Python function and its gradient.

    Parameters
    ----------
    function, gradient : callable
        Functions of a unit vector. The gradient need not be tangent.
    """

    def __init__(self, function: Callable[[Array], float], gradient: Callable[[Array], Array]) -> None:
        self.function = function
        self.gradient = gradient
        self.n_trials = 0

    def begin(self, v: Array) -> Questions[tuple[float, Array]]:
        """Move to v; return the value and the gradient."""
        self.v = v
        return float(self.function(v)), self.gradient(v)
        yield

    def set_tangent(self, u: Array) -> Questions[None]:
        """Choose the great circle through v with the tangent u."""
        self.u = u
        return
        yield

    def evaluate(self, t: float) -> Questions[float]:
        """Return the value at the angle t."""
        self.n_trials += 1
        return float(self.function(np.cos(t) * self.v + np.sin(t) * self.u))
        yield

    def differentiate(self, t: float) -> Questions[float]:
        """Return the derivative with respect to the angle at t."""
        gradient = self.gradient(np.cos(t) * self.v + np.sin(t) * self.u)
        return float(gradient @ (np.cos(t) * self.u - np.sin(t) * self.v))
        yield

    def accept(self, t: float, v: Array) -> Questions[Array]:
        """Move to v; return the gradient."""
        self.v = v
        return self.gradient(v)
        yield


class TiltedObjective:
    """Objective plus a linear function of the unit vector, which changes the gradient by a constant.

    Parameters
    ----------
    change : ndarray of shape (d,)
        Change of the gradient.
    """

    def __init__(self, objective: SphereObjective, change: Array) -> None:
        self.objective, self.change = objective, change

    def begin(self, v: Array) -> Questions[tuple[float, Array]]:
        """Move to v; return the value and the gradient."""
        value, gradient = yield from self.objective.begin(v)
        self._on_v = float(self.change @ v)
        return value + self._on_v, gradient + self.change

    def set_tangent(self, u: Array) -> Questions[None]:
        """Choose the great circle through v with the tangent u."""
        self._on_u = float(self.change @ u)
        return self.objective.set_tangent(u)

    def evaluate(self, t: float) -> Questions[float]:
        """Return the value at the angle t."""
        value = yield from self.objective.evaluate(t)
        return value + math.cos(t) * self._on_v + math.sin(t) * self._on_u

    def differentiate(self, t: float) -> Questions[float]:
        """Return the derivative with respect to the angle at t."""
        slope = yield from self.objective.differentiate(t)
        return slope + math.cos(t) * self._on_u - math.sin(t) * self._on_v

    def accept(self, t: float, v: Array) -> Questions[Array]:
        """Move to v; return the gradient."""
        gradient = yield from self.objective.accept(t, v)
        self._on_v = float(self.change @ v)
        return gradient + self.change


def run(questions: Questions[T]) -> T:
    """Return the result of a generator that yields no questions."""
    try:
        question = next(questions)
    except StopIteration as stop:
        result: T = stop.value
        return result
    raise RuntimeError(f"run cannot answer questions, got {question!r}: use a driver.")
