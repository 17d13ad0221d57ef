"""What is wrong with a model file, as its reader sees it."""

from __future__ import annotations

__all__ = ["ModelFileError"]


class ModelFileError(ValueError):
    """A file is no model, is damaged, or was made by a newer version; the message says what to do."""
