"""Helpers that several baselines use."""
