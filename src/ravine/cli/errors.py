"""What goes wrong, in one line that says what to do: the one place that turns errors into words and exit codes."""

from __future__ import annotations

import errno
import signal
import threading
import traceback
import unicodedata
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NoReturn

import click

__all__ = ["INTERRUPTED", "STOPPED", "DataError", "PoliteCommand", "Terminated", "in_one_line", "visible"]

INTERRUPTED = 130
STOPPED = "Stopped: nothing was written."
# Sent by a system that shuts down, or when the terminal is closed.
ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class DataError(click.ClickException):
    """Something about the data or the files; the message says what to do."""

    def show(self, file: Any = None) -> None:
        """Print the message."""
        click.echo(f"Error: {visible(self.format_message())}", file=file, err=file is None)


class Terminated(BaseException):
    """The process was asked to end, by a signal.

    Parameters
    ----------
    number : int
        Of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class PoliteCommand(click.Command):
    """A command whose errors are one line, unless --debug is given; Ctrl-C ends it with the exit code 130.

    Other requests to end are answered in the same way, with 128 plus the number of the signal, so that what is
    half-written is removed.
    """

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            with _ending_by_exception():
                return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo(STOPPED, err=True)
            ctx.exit(INTERRUPTED)
        except Terminated as error:
            click.echo(STOPPED, err=True)
            ctx.exit(128 + error.number)
        except (click.ClickException, click.exceptions.Exit, click.Abort):
            if ctx.params.get("debug"):
                traceback.print_exc()
            raise
        except Exception as error:
            if isinstance(error, OSError) and error.errno == errno.EPIPE:
                raise
            if ctx.params.get("debug"):
                traceback.print_exc()
            raise DataError(in_one_line(error)) from error


@contextmanager
def _ending_by_exception() -> Iterator[None]:
    """Turn signals to end into an exception, unless someone else attends to them."""

    def end(number: int, frame: Any) -> NoReturn:
        raise Terminated(number)

    mine = threading.current_thread() is threading.main_thread()  # others must not set handlers
    changed = [number for number in ENDING if mine and signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def visible(text: object) -> str:
    """Text in one line; line breaks, escapes and other control characters are written out, as in Python."""
    return "".join(
        c.encode("unicode_escape").decode() if unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") else c
        for c in str(text)
    )


def in_one_line(error: BaseException) -> str:
    """An error as people like to read it."""
    if isinstance(error, OSError) and error.errno is not None:
        return _of_the_system(error)
    if isinstance(error, MemoryError):
        return "there is not enough memory: use fewer rows, or a machine with more."
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name!r} is missing: run  pip install 'ravine[app]'"
    text = " ".join(str(error).split())
    if isinstance(error, ValueError | TypeError) and text:
        return text
    return f"unexpected {type(error).__name__}: {text or 'no message'} (--debug shows where)."


def _of_the_system(error: OSError) -> str:
    what = repr(str(error.filename)) if error.filename is not None else "a file"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            return "the disk is full: free some space, or choose another folder with --out. Nothing was written."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"{what} must not be read or written: change its permissions, or choose another place."
        case errno.ENOENT:
            return f"{what} does not exist: check its name."
        case errno.EISDIR | errno.ENOTDIR:
            return f"{what} is not what it should be ({error.strerror}): check its name."
        case _:
            return f"{what}: {error.strerror}."
