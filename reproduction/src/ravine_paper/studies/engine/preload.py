"""Imports shared by the processes of a study, made once in the fork server."""

from ravine import MinimumDensityClassifier, MinimumDensityHyperplane  # noqa: F401
