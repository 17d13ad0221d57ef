"""Hidden folders of runs that were killed. Every run locks its own; the lock of a dead process is free."""

from __future__ import annotations

import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

__all__ = ["lock_stage", "remove_killed_runs"]

STAGE = re.compile(r"\.ravine-[0-9a-f]{12}")
LOCK, UNLOCKED = "lock", "unlocked"
CONTENT = {"new", "old", LOCK, UNLOCKED}
# Without a lock, a folder is that of a killed run if it is older than this.
SECONDS = 86_400.0


@contextmanager
def lock_stage(stage: Path) -> Iterator[None]:
    """Lock the hidden folder of this run while the block runs, if the system and the disk support it."""
    with ExitStack() as stack:
        with suppress(OSError):
            if fcntl is not None:
                stream = stack.enter_context((stage / UNLOCKED).open("w"))
                fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
                os.replace(stage / UNLOCKED, stage / LOCK)  # others see it only once it is locked
        yield


def remove_killed_runs(folder: Path) -> list[str]:
    """Remove the hidden folders that killed runs left in a folder and next to it; return messages about them.

    A folder with earlier results, which the run had moved aside, is kept.
    """
    messages = []
    for place in (folder.absolute(), folder.absolute().parent):
        for stage in sorted(place.glob(".ravine-*")) if place.is_dir() else ():
            if not _is_left(stage):
                continue
            if any(path.is_file() for path in (stage / "old").rglob("*")):
                messages.append(
                    f"{str(stage)!r} holds earlier results that a killed run had moved aside: move them back from its "
                    "folder 'old', or delete it."
                )
                continue
            shutil.rmtree(stage, ignore_errors=True)
            if not stage.exists():
                messages.append(f"removed {str(stage)!r}, which a killed run had left")
    return messages


def _is_left(stage: Path) -> bool:
    """Return whether a path is the hidden folder of a run whose process has ended."""
    try:
        if not STAGE.fullmatch(stage.name) or stage.is_symlink() or not {p.name for p in stage.iterdir()} <= CONTENT:
            return False
        lock = stage / LOCK
        if fcntl is None or not lock.exists():
            return time.time() - stage.stat().st_mtime > SECONDS
        if lock.is_symlink() or not lock.is_file():  # a pipe would block
            return False
        with lock.open() as stream:
            fcntl.flock(stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:  # locked, not a folder, not readable, or removed by another run
        return False
    return True
