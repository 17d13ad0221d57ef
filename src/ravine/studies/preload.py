"""Imports that every process of a study needs, made once."""

import ravine.estimators  # noqa: F401
