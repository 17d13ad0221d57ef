"""Files that are either written whole or not at all."""

from __future__ import annotations

import json
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

__all__ = ["replacing", "write_json", "write_text"]


@contextmanager
def replacing(path: str | os.PathLike[str]) -> Iterator[Path]:
    """A temporary file beside ``path`` that takes its place when the block ends without an error.

    Parameters
    ----------
    path : path-like
        What is there stays as it is until then, and also if anything fails: a full disk, an interruption.

    Yields
    ------
    Path
        The temporary file, with the same suffix.
    """
    path = Path(path)
    handle, name = tempfile.mkstemp(prefix=f".{path.stem[:40]}-", suffix=path.suffix, dir=path.parent)
    os.close(handle)
    part = Path(name)
    try:
        yield part
        with part.open("rb+") as written:  # on the disk before it takes the place of something
            os.fsync(written.fileno())
        part.chmod(0o666 & ~_umask())
        part.replace(path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as part:
        part.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a JSON file, whole or not at all; NaN and infinities are refused."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
