"""A folder of results that appears at once, complete, or not at all."""

from __future__ import annotations

import errno
import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from ravine.cli.errors import DataError

__all__ = ["check_free", "staged"]


def check_free(folder: Path, results: Sequence[str], force: bool) -> None:
    """Refuse to overwrite results, unless told to.

    Parameters
    ----------
    folder : Path
    results : sequence of str
        Names of files in it, perhaps with stars.
    force : bool
        Results that are there may be replaced.
    """
    above = next((parent for parent in folder.absolute().parents if parent.exists()), None)
    if above is not None and not above.is_dir():
        raise DataError(f"{str(folder)!r} cannot be made, since {above.name!r} is a file: give another --out.")
    if folder.exists() and not folder.is_dir():
        raise DataError(f"{str(folder)!r} is a file, not a folder: give another --out.")
    for below in sorted({Path(name).parent.name for name in results} - {""}):
        if (folder / below).exists() and not (folder / below).is_dir():
            raise DataError(f"{str(folder / below)!r} is a file, but figures go there: move it, or give another --out.")
    there = _present(folder, results)
    if there and not force:
        raise DataError(
            f"{str(folder)!r} holds {there[0]} already: give --force to replace the results there, or another --out."
        )


@contextmanager
def staged(folder: Path, results: Sequence[str]) -> Iterator[Path]:
    """A new hidden folder whose files take their places in ``folder`` when the block ends without an error.

    A folder that exists is worked in, since what is above it may be another disk or must not be written. Old results
    are moved aside before new ones are moved in, and back again if anything fails; other files are left alone.

    Parameters
    ----------
    folder : Path
        May exist; else it is made, with its parents.
    results : sequence of str
        Names of the results of an earlier run, perhaps with stars: none of them survives the new ones.
    """
    exists, parents = folder.is_dir(), folder.absolute().parents
    made = [parent for parent in parents if not parent.exists()]
    stage = (folder.absolute() if exists else parents[0]) / f".ravine-{secrets.token_hex(6)}"
    new, old = stage / "new", stage / "old"
    try:
        try:
            parents[0].mkdir(parents=True, exist_ok=True)
            new.mkdir(parents=True)
        except OSError as error:
            raise DataError(_not_writable(folder, error)) from error
        yield new
        if exists:
            _exchange(folder, new, old, _present(folder, results))
        else:
            os.rename(new, folder)
    except BaseException:
        if not _present(old, results):  # else it could not be put back, and must not be lost
            shutil.rmtree(stage, ignore_errors=True)
        for parent in made:  # deepest first; only what is empty
            try:
                parent.rmdir()
            except OSError:
                break
        raise
    shutil.rmtree(stage, ignore_errors=True)


def _present(folder: Path, results: Sequence[str]) -> list[str]:
    """The results that are in a folder."""
    return [str(path.relative_to(folder)) for name in results for path in sorted(folder.glob(name))]


def _exchange(folder: Path, new: Path, old: Path, outdated: Sequence[str]) -> None:
    """Move outdated files to ``old`` and new ones to ``folder``, or leave all as it was."""
    moves = [(folder / name, old / name) for name in outdated]
    moves += [(path, folder / path.relative_to(new)) for path in sorted(new.rglob("*")) if path.is_file()]
    done: list[tuple[Path, Path]] = []
    made: list[Path] = []
    try:
        for source, target in moves:
            if not target.parent.exists():
                target.parent.mkdir(parents=True)
                made.append(target.parent)
            done.append((source, target))
            os.rename(source, target)
    except BaseException:
        for source, target in reversed(done):
            if not os.path.lexists(source):  # the last one may not have been moved
                with suppress(OSError):
                    os.rename(target, source)
        for path in reversed(made):
            with suppress(OSError):
                path.rmdir()
        raise
    for below in {(folder / name).parent for name in outdated} - {folder}:
        with suppress(OSError):  # other files are in it
            below.rmdir()


def _not_writable(folder: Path, error: OSError) -> str:
    """Why there can be no results in a folder, in the user's words."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{str(folder)!r} cannot be written, since the disk is full: free some space, or give another --out."
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return f"{str(folder)!r} must not be written: change its permissions, or give another --out."
    return f"{str(folder)!r} cannot be written ({error.strerror}): give another --out."
