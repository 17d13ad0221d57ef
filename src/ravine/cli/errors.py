"""Errors of the command: the one place that turns exceptions into messages and exit codes."""

from __future__ import annotations

import errno
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, NoReturn

import click

from ravine.cli.streams import cut_middle, escape

__all__ = [
    "Command", "CommandError", "CommandGroup", "Terminated", "announce", "defer_signals", "describe_error",
    "translate_errors",
]  # fmt: skip

INTERRUPTED = 130
STOPPED = "Stopped: nothing was written."
# Key of the state of the results in the context of the command.
STATE = "ravine.state"
# Sent when the system shuts down, or when the terminal is closed.
ENDING_SIGNALS = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


class CommandError(click.ClickException):
    """Error with exit code 1; the message is one line that states what to do."""

    def show(self, file: Any = None) -> None:
        """Print the message."""
        click.echo(f"Error: {cut_middle(escape(self.format_message()))}", file=file, err=file is None)


class Terminated(BaseException):
    """Raised when a signal asks the process to end.

    Parameters
    ----------
    number : int
        Number of the signal.
    """

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


class Command(click.Command):
    """Command whose errors are one line, with a traceback only for --debug.

    Parameters
    ----------
    *args : object
        Positional arguments of `click.Command`.
    stopped : str
        Message when the command is interrupted.
    **kwargs : object
        Keyword arguments of `click.Command`.
    """

    def __init__(self, *args: Any, stopped: str = STOPPED, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.stopped = stopped

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command."""
        with translate_errors(self.stopped, debug=ctx.params.get("debug")):
            _check_standard_output(ctx.params)
            return super().invoke(ctx)


def _check_standard_output(options: Mapping[str, Any]) -> None:
    """Raise an error if the results go to a standard output that is closed."""
    if sys.stdout is None and (options.get("as_json") or options.get("out", "-") == "-"):
        raise CommandError("standard output is closed, but the results go there: redirect it to a file.")


class CommandGroup(click.Group):
    """Group of such commands."""

    command_class = Command


@contextmanager
def translate_errors(stopped: str = STOPPED, *, debug: bool | None = None) -> Iterator[None]:
    """Turn exceptions into one-line errors with exit code 1.

    Ctrl-C ends the command with exit code 130, other signals with 128 plus their number; incomplete files are removed
    on the way.

    Parameters
    ----------
    stopped : str
        Message for Ctrl-C and signals, unless the command has announced a state of its results.
    debug : bool, optional
        Whether to print a traceback before the message; None if the command has no option for it.
    """
    try:
        with _raise_on_signals():
            yield
    except (KeyboardInterrupt, Terminated) as error:
        state = _get_state()
        click.echo(f"Stopped: {state}." if state else stopped, err=True)
        raise click.exceptions.Exit(128 + error.number if isinstance(error, Terminated) else INTERRUPTED) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            raise
        if debug:
            traceback.print_exc()
        if isinstance(error, click.ClickException | click.exceptions.Exit | click.Abort):
            raise
        hint = "" if debug is None else " (use --debug for a traceback)"
        raise CommandError(describe_error(error, hint)) from error


def announce(state: str) -> None:
    """Announce the state of the results, which messages about signals and full disks report from now on."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[STATE] = escape(state)


def _get_state() -> str | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(STATE)


@contextmanager
def defer_signals() -> Iterator[None]:
    """Let Ctrl-C and signals take effect only after the block, which must be short."""
    received: list[int] = []
    is_main = threading.current_thread() is threading.main_thread()
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, *ENDING_SIGNALS) if is_main}
    # Ignored signals stay ignored; those without a handler of Python cannot be restored.
    handlers = {number: handler for number, handler in handlers.items() if handler not in (None, signal.SIG_IGN)}
    try:
        for number in handlers:
            signal.signal(number, lambda number, _: received.append(number))
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


@contextmanager
def _raise_on_signals() -> Iterator[None]:
    """Turn signals that end the process into exceptions, unless they are already handled."""

    def end(number: int, frame: Any) -> NoReturn:
        raise Terminated(number)

    is_main = threading.current_thread() is threading.main_thread()  # only this thread may set handlers
    changed = [number for number in ENDING_SIGNALS if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in changed:
        signal.signal(number, end)
    try:
        yield
    finally:
        for number in changed:
            signal.signal(number, signal.SIG_DFL)


def describe_error(error: BaseException, hint: str = "") -> str:
    """Return a message for the user in one line; the hint follows an unexpected error."""
    text = " ".join(str(error).split())
    # Exceptions of this package, and errors of its checks, are written for the user.
    if text and type(error).__module__.split(".")[0] == "ravine":
        return text
    if isinstance(error, OSError) and error.errno is not None:
        return _describe_os_error(error)
    if isinstance(error, MemoryError):
        return "out of memory: use fewer rows, or a machine with more memory."
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name!r} is not installed: run  pip install 'ravine[app]'"
    if isinstance(error, ValueError | TypeError | ImportError) and text:
        return text
    return f"unexpected {type(error).__name__}: {text or 'no message'}{hint}."


def _describe_os_error(error: OSError) -> str:
    file = repr(str(error.filename)) if error.filename is not None else "a file"
    match error.errno:
        case errno.ENOSPC | errno.EDQUOT:
            state = _get_state() or "nothing was written"
            advice = "free some space, or choose another folder with --out"
            return f"the disk is full: {advice}. {state[0].upper()}{state[1:]}."
        case errno.EACCES | errno.EPERM | errno.EROFS:
            return f"permission denied: {file}. Change its permissions, or choose another place."
        case errno.ENOENT:
            return f"{file} does not exist: check the name."
        case errno.EISDIR | errno.ENOTDIR:
            return f"{file} cannot be opened ({error.strerror}): check the name."
        case _:
            return f"{file}: {error.strerror}."
