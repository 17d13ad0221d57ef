"""Memory that reading a file may take, counted before it is allocated."""

from __future__ import annotations

from ravine.models.model_file_error import ModelFileError

__all__ = ["Budget"]


class Budget:
    """Memory that reading a file may take.

    Parameters
    ----------
    max_bytes : int
    """

    def __init__(self, max_bytes: int) -> None:
        self.max_bytes = max_bytes
        self.spent = 0

    def spend(self, n_bytes: int) -> None:
        """Count memory that is about to be allocated; raise an error if it exceeds the limit."""
        self.spent += n_bytes
        if self.spent > self.max_bytes:
            raise ModelFileError(
                f"reading it takes at least {self.spent / 1e6:.0f} MB, more than max_bytes={self.max_bytes}",
                "If you trust the file, pass a larger max_bytes to load.",
            )
