"""Ends of a command: the one place that turns exceptions and signals into messages and exit codes."""

from __future__ import annotations

import difflib
import errno
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import click

from ravine.cli.console import cut_middle, escape
from ravine.cli.options import add_advice, name_options

STOPPED = "Stopped: nothing was written."
# Key of the state of the results in the context of the command.
STATE = "ravine.state"
# SIGTERM is sent when the system shuts down, SIGHUP when the terminal is closed.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# Wait before a lost signal is sent again, so that the callback that lost it has returned.
SECONDS = 0.01


class CommandError(click.ClickException):
    """Error with exit code 1; the message is one line that states what to do."""

    def show(self, file: Any = None) -> None:
        """Print the message."""
        click.echo(f"Error: {cut_middle(escape(self.format_message()))}", file=file, err=file is None)


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
    """Group of such commands; a mistyped name is answered with the nearest one."""

    command_class = Command

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command of the first argument."""
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError as error:
            near = difflib.get_close_matches(args[0], self.list_commands(ctx), n=1)
            if not near:
                raise
            raise click.UsageError(f"{error.message.rstrip('.')}: did you mean {near[0]!r}?", ctx) from error


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
        with _receive_signals():
            yield
    except (KeyboardInterrupt, Terminated) as error:
        raise _stop(stopped, error.number if isinstance(error, Terminated) else signal.SIGINT) from None
    except Exception as error:
        if isinstance(error, OSError) and error.errno == errno.EPIPE:
            raise
        if debug:
            traceback.print_exc()
        if isinstance(error, click.exceptions.Exit):
            raise
        number = _Process.received
        if number is not None:  # the error is a consequence: Python 3.11 wraps exceptions of __set_name__, for example
            raise _stop(stopped, number) from None
        if isinstance(error, click.ClickException | click.Abort):
            raise
        hint = "" if debug is None else " (use --debug for a traceback)"
        raise CommandError(describe_error(error, hint)) from error


def _stop(stopped: str, number: int) -> click.exceptions.Exit:
    """Report that a signal ends the command, and return the exception with its exit code."""
    state = _get_state()
    click.echo(f"Stopped: {state}." if state else stopped, err=True)
    return click.exceptions.Exit(128 + number)


def announce(state: str) -> None:
    """Announce the state of the results, which messages about signals and full disks report from now on."""
    context = click.get_current_context(silent=True)
    if context is not None:
        context.meta[STATE] = escape(state)


def _get_state() -> str | None:
    context = click.get_current_context(silent=True)
    return None if context is None else context.meta.get(STATE)


def describe_error(error: BaseException, hint: str = "") -> str:
    """Return a message for the user in one line; the hint follows an unexpected error."""
    text = " ".join(str(error).split())
    # Exceptions of ravine, and of packages ravine_* built on it, are written for the user.
    if text and type(error).__module__.split(".")[0].split("_")[0] == "ravine":
        return add_advice(text, getattr(error, "choices", {}))
    if isinstance(error, OSError) and error.errno is not None:
        return _describe_os_error(error)
    if isinstance(error, MemoryError):
        return "out of memory: use fewer rows, or a machine with more memory."
    if isinstance(error, ModuleNotFoundError):
        return f"the package {error.name!r} is not installed: run  pip install 'ravine[app]'"
    if isinstance(error, ValueError | TypeError) and text:
        return name_options(text)
    if isinstance(error, ImportError) and text:
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
        case errno.EISDIR | errno.ENOTDIR | errno.EEXIST:
            return f"{file} cannot be opened ({error.strerror}): check the name."
        case _:
            return f"{file}: {error.strerror}."


# ----------------------------------------------------------------------------------------------- signals

# Signals are received once, deferred where results are moved, and never lost.


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


class _Process:
    """State of the signals of this process. Only its main thread handles signals.

    Attributes
    ----------
    receives : bool
        Whether the handlers of this module are set.
    received : int or None
        Number of the first signal.
    deferrals : int
        Number of blocks that a signal cannot interrupt now.
    """

    receives = False
    received: int | None = None
    deferrals = 0


def _raise_received() -> None:
    """Raise the exception of the first signal that the command has received, if any."""
    if _Process.received is not None:
        raise KeyboardInterrupt if _Process.received == signal.SIGINT else Terminated(_Process.received)


@contextmanager
def _receive_signals() -> Iterator[None]:
    """Turn signals into exceptions while the block runs, unless they are ignored or already handled.

    Python drops an exception that a handler raises inside a weakref callback, a finaliser or a callback of C code. Such
    a signal is sent again. If other code catches the exception, it is raised again at the end of the block.
    """
    if not _is_main_thread():
        yield
        return
    if _Process.receives:
        yield
        _raise_received()
        return
    handlers = {number: signal.getsignal(number) for number in SIGNALS}
    defaults = (signal.SIG_DFL, signal.default_int_handler)
    handlers = {number: handler for number, handler in handlers.items() if handler in defaults}
    report = sys.unraisablehook
    _Process.receives, _Process.received, _Process.deferrals = True, None, 0
    try:
        sys.unraisablehook = _make_hook(report)
        for number in handlers:
            signal.signal(number, _handle)
        yield
    finally:
        _Process.deferrals += 1
        for number, handler in handlers.items():
            signal.signal(number, handler)
        sys.unraisablehook = report
        _Process.receives, _Process.deferrals = False, 0
    _raise_received()


@contextmanager
def defer_signals() -> Iterator[None]:
    """Let signals take effect only after the block, which must be short."""
    if not _is_main_thread():
        yield
        return
    _Process.deferrals += 1
    try:
        yield
    finally:
        _Process.deferrals -= 1
        if not _Process.deferrals and _Process.receives:
            _raise_received()


def _handle(number: int, frame: Any) -> None:
    if _Process.received is None:
        _Process.received = number
    if not _Process.deferrals:
        _raise_received()


def _make_hook(report: Callable[[Any], Any]) -> Callable[[Any], None]:
    """Make a hook for exceptions that Python drops: it sends signals again and reports the others."""

    def hook(dropped: Any) -> None:
        number = _Process.received
        if number is None or not issubclass(dropped.exc_type, KeyboardInterrupt | Terminated):
            report(dropped)
            return
        _Process.deferrals += 1  # an exception of the hook itself would be dropped, too
        try:
            threading.Thread(target=_send_again, args=(number,), daemon=True).start()
        finally:
            _Process.deferrals -= 1

    return hook


def _send_again(number: int) -> None:
    """Send a signal to the main thread from another one; it interrupts a system call, too, except on Windows."""
    time.sleep(SECONDS)
    if not _Process.receives:
        return
    if hasattr(signal, "pthread_kill"):
        signal.pthread_kill(threading.main_thread().ident or 0, number)
    else:
        signal.raise_signal(number)


def _is_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()
