"""Files that are written completely or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["find_obstacle", "replace_file", "write_text"]

KINDS = {stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket"}


def find_obstacle(path: str | os.PathLike[str]) -> str:
    """Return the kind of what is at a path and is never replaced, such as "a pipe"; empty for a file or nothing."""
    if not os.path.lexists(path) or os.path.isfile(path):
        return ""
    if not os.path.exists(path):
        return "a broken link"
    return KINDS.get(stat.S_IFMT(os.stat(path).st_mode), "a device")


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a temporary file that replaces ``path`` when the block ends without an error.

    Parameters
    ----------
    path : path-like
        File to replace. It stays unchanged if anything fails, such as a full disk or an interruption. Devices, pipes
        and broken links are refused.

    Yields
    ------
    Path
        Temporary file in the same folder, with the same suffix.
    """
    path = Path(path)
    if not path.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, os.strerror(errno.ENOENT), str(path.parent))
    obstacle = find_obstacle(path)
    if obstacle:
        number = errno.EISDIR if path.is_dir() else errno.EEXIST
        raise OSError(number, f"it is {obstacle}, not a file", str(path))
    # The name is known before the file exists, so that an interruption at any moment removes it.
    temporary = path.with_name(f".{path.stem[:40]}-{secrets.token_hex(6)}{path.suffix}")
    try:
        os.close(os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        yield temporary
        with temporary.open("rb+") as written:  # the content must be on the disk before the old file is gone
            os.fsync(written.fileno())
        temporary.chmod(0o666 & ~_read_umask())
        temporary.replace(path)
    except BaseException:
        with suppress(OSError):
            temporary.unlink()
        raise


def _read_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, completely or not at all."""
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
