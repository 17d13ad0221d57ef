"""The command `ravine`. Its dependencies are installed by the extra ``app``.

`run_command`, `CommandError`, `CommandGroup` and `OutputPath` serve other commands that are built on ravine.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module

TYPE_CHECKING = False  # typing is imported later, so that an interrupt finds `run_command`
if TYPE_CHECKING:
    from typing import Any

    from ravine.cli.errors import CommandError, CommandGroup
    from ravine.cli.options import OutputPath

__all__ = ["CommandError", "CommandGroup", "OutputPath", "main", "run_command"]

_HOMES = {
    "CommandError": "ravine.cli.errors",
    "CommandGroup": "ravine.cli.errors",
    "OutputPath": "ravine.cli.options",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'ravine.cli' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)


def main() -> None:
    """Run the command `ravine`."""
    run_command("ravine.cli.app:app")


def run_command(place: str) -> None:
    """Import and run a click command, given as "module:name"; if a dependency is missing, state how to install it."""
    try:
        _replace_closed_streams()
        module, name = place.split(":")
        command = getattr(import_module(module), name)
    except (KeyboardInterrupt, RuntimeError) as error:
        # Python 3.11 turns an interrupt inside the creation of a class into a RuntimeError.
        if not isinstance(error, KeyboardInterrupt) and not isinstance(error.__cause__, KeyboardInterrupt):
            raise
        sys.stderr.write("Stopped: nothing was written.\n")
        sys.exit(130)
    except ModuleNotFoundError as error:
        if (error.name or "").split(".")[0] not in {"click", "rich"}:
            raise
        sys.exit(f"The ravine command needs the package {error.name!r}: run  pip install 'ravine[app]'")
    command()


class _Messages:
    """Standard error whose messages are lost if it is broken or full, so that the work is done all the same."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        """Write a message, if that is possible."""
        try:
            self._stream.write(text)
            self._stream.flush()
        except OSError:
            self._stream = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
        return len(text)

    def flush(self) -> None:
        """Do nothing: every message is written at once."""


def _replace_closed_streams() -> None:
    """Open the null device in place of closed standard streams, so that no file of the run takes their numbers.

    Messages are then lost, as they are if standard error is broken. Standard input and output stay None: whoever needs
    them reports it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
    if not isinstance(sys.stderr, _Messages):
        sys.stderr = _Messages(sys.stderr)
