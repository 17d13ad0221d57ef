"""The exception of this package."""

from __future__ import annotations

__all__ = ["TableError"]


class TableError(ValueError):
    """Raised when a table cannot be read or used; the message states what to do."""
