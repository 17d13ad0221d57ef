"""Imports shared by the processes of a study, made once in the fork server."""

import ravine.estimators  # noqa: F401
