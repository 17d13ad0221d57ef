"""A folder of results that appears at once, complete, or not at all."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ravine.cli.errors import DataError

__all__ = ["check_free", "staged"]


def check_free(folder: Path, names: Sequence[str], force: bool) -> None:
    """Refuse to overwrite results, unless told to."""
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{str(folder)!r} is a file, not a folder: give another --out.")
    there = [name for name in names if (folder / name).exists()]
    if there and not force:
        raise DataError(
            f"{str(folder)!r} holds {there[0]} already: give --force to replace the results there, or another --out."
        )


@contextmanager
def staged(folder: Path) -> Iterator[Path]:
    """A new folder beside ``folder`` whose files take their places there when the block ends without an error.

    Parameters
    ----------
    folder : Path
        May exist; its parents are made. What is in it stays as it is if anything fails.
    """
    made = [parent for parent in folder.absolute().parents if not parent.exists()]
    folder.absolute().parent.mkdir(parents=True, exist_ok=True)
    stage = folder.absolute().parent / f".{folder.name}-{secrets.token_hex(6)}"
    try:
        stage.mkdir()
        yield stage
        if folder.is_dir():
            for path in sorted(p for p in stage.rglob("*") if p.is_file()):
                target = folder / path.relative_to(stage)
                target.parent.mkdir(parents=True, exist_ok=True)
                os.replace(path, target)
            shutil.rmtree(stage)
        else:
            os.rename(stage, folder)
    except BaseException:
        shutil.rmtree(stage, ignore_errors=True)
        for parent in made:  # deepest first; only what is empty
            try:
                parent.rmdir()
            except OSError:
                break
        raise
