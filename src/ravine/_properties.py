"""Properties that are computed once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Generic, TypeVar, overload

__all__ = ["lazy_property"]

T = TypeVar("T")


class lazy_property(Generic[T]):  # used as a decorator
    """Property that is computed at its first use and stored in the instance, without a lock.

    `functools.cached_property` holds a lock for all instances before Python 3.12. A child process that is forked while
    another thread holds it would wait for it without end. Here threads that use the property at the same time may
    compute it several times, so it must depend on the instance alone.

    Parameters
    ----------
    function : callable
        Computes the value from the instance.
    """

    def __init__(self, function: Callable[[Any], T]) -> None:
        self.function = function
        self.__doc__ = function.__doc__

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    @overload
    def __get__(self, instance: None, owner: type) -> lazy_property[T]: ...

    @overload
    def __get__(self, instance: object, owner: type) -> T: ...

    def __get__(self, instance: object | None, owner: type) -> lazy_property[T] | T:
        if instance is None:
            return self
        # Later uses find the value in the instance, before this descriptor of the class. All get the first one stored.
        value: T = instance.__dict__.setdefault(self.name, self.function(instance))
        return value
