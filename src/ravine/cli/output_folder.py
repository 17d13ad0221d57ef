"""Output folder: all results of a run appear together, or none, and what killed runs left is removed."""

from __future__ import annotations

import os
import re
import secrets
import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ravine._files import find_obstacle
from ravine.cli.errors import CommandError, announce, defer_signals

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None  # type: ignore[assignment]

ADVICE = "Choose another folder with --out."
STAGE = re.compile(r"\.ravine-[0-9a-f]{12}")
LOCK, UNLOCKED = "lock", "unlocked"
CONTENT = {"new", "old", LOCK, UNLOCKED}
# Without a lock, a folder is that of a killed run if it is older than this.
SECONDS = 86_400.0


def get_default_folder(source: str) -> Path:
    """Return the folder named after the input, in the current folder."""
    name = "stdin" if source == "-" else Path(source).name
    for suffix in (".gz", ".csv", ".tsv", ".txt", ".parquet", ".feather", ".xlsx", ".jsonl", ".json", ".arrow", ".npy"):
        name = name.removesuffix(suffix)
    return Path(f"{name}-ravine")


def check_output_folder(folder: Path, results: Sequence[str], force: bool, source: str) -> None:
    """Raise an error if results cannot be written to a folder, or would replace others or the input.

    Parameters
    ----------
    folder : Path
    results : sequence of str
        Glob patterns of result files in the folder.
    force : bool
        Whether existing results may be replaced.
    source : str
        File of the input, which is never replaced, or "-".
    """
    above = next((parent for parent in folder.absolute().parents if parent.exists()), None)
    if above is not None and not above.is_dir():
        raise CommandError(f"{str(folder)!r} cannot be created: {above.name!r} is a file. {ADVICE}")
    if os.path.lexists(folder) and not folder.is_dir():
        raise CommandError(f"{str(folder)!r} is {find_obstacle(folder) or 'a file'}, not a folder. {ADVICE}")
    for below in sorted({Path(name).parent.name for name in results} - {""}):
        if (folder / below).exists() and not (folder / below).is_dir():
            raise CommandError(f"{str(folder / below)!r} is a file, but the figures need a folder there. {ADVICE}")
    existing = _find_results(folder, results)
    for path in (folder / name for name in existing):
        if find_obstacle(path):
            raise CommandError(f"{str(path)!r} is {find_obstacle(path)}, not a file: it is not replaced. {ADVICE}")
        if os.path.exists(source) and os.path.samefile(path, source):
            raise CommandError(f"{str(path)!r} is the input of this run, which is not replaced. {ADVICE}")
    if existing and not force:
        raise CommandError(
            f"{str(folder)!r} already contains {existing[0]}: use --force to replace the results, or choose another "
            "folder with --out."
        )


@contextmanager
def stage_results(folder: Path, results: Sequence[str], force: bool, source: str) -> Iterator[Path]:
    """Provide a hidden folder whose files are moved to ``folder`` when the block ends without an error.

    The folder is checked again at the end, since another run may have written to it meanwhile.

    The hidden folder is created inside ``folder`` if that exists, since the folder above may be on another disk or
    read-only. Old results are moved aside before new ones are moved in, and back if anything fails. Signals wait until
    this is done. Other files are not touched.

    Parameters
    ----------
    folder : Path
        Created with its parents if it does not exist.
    results : sequence of str
        Glob patterns of the results of an earlier run; all of them are removed.
    force, source
        Those of `check_output_folder`.
    """
    exists, parents = folder.is_dir(), folder.absolute().parents
    missing = [parent for parent in parents if not parent.exists()]
    stage = (folder.absolute() if exists else parents[0]) / f".ravine-{secrets.token_hex(6)}"
    new, old = stage / "new", stage / "old"
    with ExitStack() as deferral:
        try:
            _make_stage(folder, new)
            with lock_stage(stage):
                yield new
                # From here to the end: a signal must find either the old results or the new ones.
                deferral.enter_context(defer_signals())
                check_output_folder(folder, results, force, source)
                if folder.exists():
                    _exchange(folder, new, old, _find_results(folder, results))
                else:
                    os.rename(new, folder)
                announce(f"the results in {str(folder)!r} are complete")
        except BaseException:
            with defer_signals():
                if not _find_results(old, results):  # old results that could not be moved back are kept
                    shutil.rmtree(stage, ignore_errors=True)
                _remove_empty(missing)
            raise
        shutil.rmtree(stage, ignore_errors=True)


def _make_stage(folder: Path, new: Path) -> None:
    try:
        folder.absolute().parent.mkdir(parents=True, exist_ok=True)
        new.mkdir(parents=True)
    except OSError as error:
        reason = (error.strerror or "unknown error").lower()
        raise CommandError(f"{str(folder)!r} cannot be written: {reason}. {ADVICE}") from error


def _remove_empty(folders: Sequence[Path]) -> None:
    for folder in folders:  # deepest first
        try:
            folder.rmdir()
        except OSError:
            return


def _find_results(folder: Path, results: Sequence[str]) -> list[str]:
    return [str(path.relative_to(folder)) for name in results for path in sorted(folder.glob(name))]


def _exchange(folder: Path, new: Path, old: Path, outdated: Sequence[str]) -> None:
    """Move outdated files to ``old`` and new ones to ``folder``; undo all moves if one fails."""
    moves = [(folder / name, old / name) for name in outdated]
    moves += [(path, folder / path.relative_to(new)) for path in sorted(new.rglob("*")) if path.is_file()]
    done: list[tuple[Path, Path]] = []
    created: list[Path] = []
    try:
        for source, target in moves:
            if not target.parent.exists():
                target.parent.mkdir(parents=True)
                created.append(target.parent)
            done.append((source, target))
            os.rename(source, target)
    except BaseException:
        for source, target in reversed(done):
            if not os.path.lexists(source):  # the last move may have failed
                with suppress(OSError):
                    os.rename(target, source)
        for path in reversed(created):
            with suppress(OSError):
                path.rmdir()
        raise
    for below in {(folder / name).parent for name in outdated} - {folder}:
        with suppress(OSError):  # not empty
            below.rmdir()


# ----------------------------------------------------------------------------------------------- killed runs

# Every run locks its hidden folder; the lock of a dead process is free.


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
