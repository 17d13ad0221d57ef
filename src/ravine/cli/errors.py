"""What goes wrong, in one line that says what to do: the one place that turns errors into words and exit codes."""

from __future__ import annotations

import errno
import traceback
from typing import Any

import click

__all__ = ["DataError", "PoliteCommand", "in_one_line"]

INTERRUPTED = 130


class DataError(click.ClickException):
    """Something about the data or the files; the message says what to do."""

    def show(self, file: Any = None) -> None:
        """Print the message."""
        click.echo(f"Error: {self.format_message()}", file=file, err=file is None)


class PoliteCommand(click.Command):
    """A command whose errors are one line, unless --debug is given; Ctrl-C ends it with the exit code 130."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            click.echo("Stopped: nothing was written.", err=True)
            ctx.exit(INTERRUPTED)
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
