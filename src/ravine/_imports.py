"""Names of packages that are imported when they are first used (PEP 562)."""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # so that the command starts, and receives interrupts, before typing is imported
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Any

__all__ = ["attach_names"]


def attach_names(
    package: str, names: Mapping[str, Sequence[str]], *more: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return ``__all__``, ``__getattr__`` and ``__dir__`` of a package, given the public names of its modules.

    ``more`` are further names that ``dir`` lists.
    """
    homes = {name: home for home, listed in names.items() for name in listed}

    def get_name(name: str) -> Any:
        if name not in homes:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    return sorted(homes), get_name, lambda: sorted([*homes, *more])
