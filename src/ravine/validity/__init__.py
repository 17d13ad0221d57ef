"""Evidence that a split is real."""

from ravine.validity.results import TEST_METHODS, Evidence, HalfTest, Tally, ValleyTest
from ravine.validity.valley_test import run_valley_test

__all__ = ["TEST_METHODS", "Evidence", "HalfTest", "Tally", "ValleyTest", "run_valley_test"]
