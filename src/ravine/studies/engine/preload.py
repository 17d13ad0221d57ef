"""Imports shared by the processes of a study, made once in the fork server."""

from ravine.estimators import MinimumDensityClassifier, MinimumDensityHyperplane  # noqa: F401
