"""Marks of parameters."""

import pytest

__all__ = ["slow"]


def slow(*values):
    """Return values of a parameter that only `make test-all` tries: the quick tests prove the property by others."""
    return [pytest.param(value, marks=pytest.mark.slow) for value in values]
