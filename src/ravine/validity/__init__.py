"""Evidence that a split is real."""

from ravine.validity.valley_test import HalfTest, ValleyTest, run_valley_test

__all__ = ["HalfTest", "ValleyTest", "run_valley_test"]
