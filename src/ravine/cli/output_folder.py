"""Output folder: all results of a run appear together, or none."""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from ravine.cli.errors import CommandError, announce
from ravine.cli.killed_runs import lock_stage
from ravine.cli.signals import defer_signals

__all__ = ["check_output_folder", "get_default_folder", "stage_results"]

ADVICE = "Choose another folder with --out."


def get_default_folder(source: str) -> Path:
    """Return the folder named after the input, in the current folder."""
    name = "stdin" if source == "-" else Path(source).name
    for suffix in (".gz", ".csv", ".tsv", ".txt", ".parquet", ".feather", ".arrow", ".npy"):
        name = name.removesuffix(suffix)
    return Path(f"{name}-ravine")


def check_output_folder(folder: Path, results: Sequence[str], force: bool) -> None:
    """Raise an error if results cannot be written to a folder, or would overwrite others.

    Parameters
    ----------
    folder : Path
    results : sequence of str
        Glob patterns of result files in the folder.
    force : bool
        Whether existing results may be replaced.
    """
    above = next((parent for parent in folder.absolute().parents if parent.exists()), None)
    if above is not None and not above.is_dir():
        raise CommandError(f"{str(folder)!r} cannot be created: {above.name!r} is a file. {ADVICE}")
    if folder.exists() and not folder.is_dir():
        raise CommandError(f"{str(folder)!r} is a file, not a folder. {ADVICE}")
    for below in sorted({Path(name).parent.name for name in results} - {""}):
        if (folder / below).exists() and not (folder / below).is_dir():
            raise CommandError(f"{str(folder / below)!r} is a file, but the figures need a folder there. {ADVICE}")
    existing = _find_results(folder, results)
    if existing and not force:
        raise CommandError(
            f"{str(folder)!r} already contains {existing[0]}: use --force to replace the results, or choose another "
            "folder with --out."
        )


@contextmanager
def stage_results(folder: Path, results: Sequence[str]) -> Iterator[Path]:
    """Provide a hidden folder whose files are moved to ``folder`` when the block ends without an error.

    The hidden folder is created inside ``folder`` if that exists, since the folder above may be on another disk or
    read-only. Old results are moved aside before new ones are moved in, and back if anything fails. Signals wait until
    this is done. Other files are not touched.

    Parameters
    ----------
    folder : Path
        Created with its parents if it does not exist.
    results : sequence of str
        Glob patterns of the results of an earlier run; all of them are removed.
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
                if exists:
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
