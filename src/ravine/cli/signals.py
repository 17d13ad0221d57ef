"""Signals that end the command. They are received once, deferred where results are moved, and never lost."""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["Terminated", "defer_signals", "get_received", "raise_received", "receive_signals"]

# SIGTERM is sent when the system shuts down, SIGHUP when the terminal is closed.
SIGNALS = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
# Wait before a lost signal is sent again, so that the callback that lost it has returned.
SECONDS = 0.01


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


def get_received() -> int | None:
    """Return the number of the first signal that the command has received, or None."""
    return _Process.received


def raise_received() -> None:
    """Raise the exception of the first signal that the command has received, if any."""
    if _Process.received is not None:
        raise KeyboardInterrupt if _Process.received == signal.SIGINT else Terminated(_Process.received)


@contextmanager
def receive_signals() -> Iterator[None]:
    """Turn signals into exceptions while the block runs, unless they are ignored or already handled.

    Python drops an exception that a handler raises inside a weakref callback, a finaliser or a callback of C code. Such
    a signal is sent again. If other code catches the exception, it is raised again at the end of the block.
    """
    if not _is_main_thread():
        yield
        return
    if _Process.receives:
        yield
        raise_received()
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
    raise_received()


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
            raise_received()


def _handle(number: int, frame: Any) -> None:
    if _Process.received is None:
        _Process.received = number
    if not _Process.deferrals:
        raise_received()


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
