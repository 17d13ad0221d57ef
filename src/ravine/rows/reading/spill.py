"""Vectors in temporary files instead of memory."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["check_spill_folder", "spilled"]


def check_spill_folder(folder: Any) -> None:
    """Refuse a folder in which no file can be made."""
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"spill must be the path of a folder, got {folder!r}.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"spill={os.fspath(folder)!r} is no folder: make it first, or give another one.")
    try:
        tempfile.TemporaryFile(dir=os.fspath(folder)).close()
    except OSError as error:
        raise type(error)(
            error.errno, f"no file can be made in spill={os.fspath(folder)!r} ({error.strerror}): give another folder"
        ) from error


def spilled(n: int, dtype: str, folder: Any) -> NDArray[Any]:
    """Room for n numbers in a file that has no name and goes away with the array."""
    size = max(n, 1) * np.dtype(dtype).itemsize
    with tempfile.TemporaryFile(dir=folder) as file:  # the map keeps what the file holds until it is dropped
        _reserve(file.fileno(), size, folder)
        return np.asarray(np.memmap(file, dtype, "w+", shape=(max(n, 1),)))[:n]


def _reserve(file: int, size: int, folder: Any) -> None:
    """Take the room on the disk now: writing to a map of a file on a full disk would end the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):  # not known to this kind of disk
            return
        raise OSError(
            error.errno,
            f"there is no room for {size / 1e6:.1f} MB of projections in spill={os.fspath(folder)!r} "
            f"({os.strerror(error.errno or 0)}): make room, give another folder, or use state='float32'",
        ) from error
