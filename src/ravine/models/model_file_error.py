"""The error of files that are not models."""

from __future__ import annotations

__all__ = ["CHECK_NAME", "ModelFileError"]

CHECK_NAME = "Check the name of the file."


class ModelFileError(ValueError):
    """Raised when a file is not a model, is damaged, or was written by a newer version of ravine.

    Parameters
    ----------
    problem : str
        Problem with the file.
    advice : str, default="Get a new copy of the file, or save the model again."
        Advice to the user.
    """

    def __init__(self, problem: str, advice: str = "Get a new copy of the file, or save the model again.") -> None:
        super().__init__(problem)
        self.advice = advice
