"""Tests of whether a split is real."""
