"""Files that are written completely or not at all."""

from __future__ import annotations

import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["replace_file", "write_json", "write_text"]


@contextmanager
def replace_file(path: str | os.PathLike[str]) -> Iterator[Path]:
    """Provide a temporary file, in the same folder, that replaces ``path`` if the block ends without an error."""
    path = Path(path)
    temporary = path.with_name(f".{path.stem[:40]}-{secrets.token_hex(6)}{path.suffix}")
    try:
        yield temporary
        with temporary.open("rb+") as written:  # the content must be on the disk before the old file is gone
            os.fsync(written.fileno())
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def write_text(path: str | os.PathLike[str], text: str) -> None:
    """Write a text file, completely or not at all."""
    with replace_file(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: str | os.PathLike[str], value: Any) -> None:
    """Write a JSON file, completely or not at all; NaN and infinities are rejected."""
    write_text(path, json.dumps(value, indent=1, ensure_ascii=False, allow_nan=False) + "\n")
