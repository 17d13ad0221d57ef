"""Vectors in temporary files instead of memory."""

from __future__ import annotations

import errno
import os
import tempfile
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["allocate_in_file", "check_spill_folder"]


def check_spill_folder(folder: Any) -> None:
    """Raise an error if no file can be made in a folder."""
    if not isinstance(folder, str | os.PathLike):
        raise TypeError(f"spill must be the path of a folder, got {folder!r}.")
    if not os.path.isdir(folder):
        raise FileNotFoundError(f"spill={os.fspath(folder)!r} is not a folder: make it first, or give another one.")
    try:
        tempfile.TemporaryFile(dir=os.fspath(folder)).close()
    except OSError as error:
        raise type(error)(
            error.errno, f"no file can be made in spill={os.fspath(folder)!r} ({error.strerror}): give another folder"
        ) from error


def allocate_in_file(n: int, dtype: str, folder: Any) -> NDArray[Any]:
    """Allocate n numbers in a file without a name, which is deleted with the array."""
    size = max(n, 1) * np.dtype(dtype).itemsize
    with tempfile.TemporaryFile(dir=folder) as file:  # the map keeps the content until it is dropped
        _reserve(file.fileno(), size, folder)
        return np.asarray(np.memmap(file, dtype, "w+", shape=(max(n, 1),)))[:n]


def _reserve(file: int, size: int, folder: Any) -> None:
    """Reserve the space on the disk now: to write to a map on a full disk would kill the process."""
    if not hasattr(os, "posix_fallocate"):
        return
    try:
        os.posix_fallocate(file, 0, size)
    except OSError as error:
        if error.errno in (errno.EINVAL, errno.EOPNOTSUPP):  # this file system cannot reserve space
            return
        raise OSError(
            error.errno,
            f"there is no space for {size / 1e6:.1f} MB of projections in spill={os.fspath(folder)!r} "
            f"({os.strerror(error.errno or 0)}): free some, give another folder, or use state='float32'",
        ) from error
