"""The command `ravine`. Its dependencies are installed by the extra ``app``.

`run_command`, `CommandError`, `CommandGroup` and `OutputPath` serve other commands that are built on ravine.
"""

from __future__ import annotations

import os
import sys
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
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
    _replace_closed_streams()
    module, name = place.split(":")
    try:
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


def _replace_closed_streams() -> None:
    """Open the null device in place of closed standard streams, so that no file of the run takes their numbers.

    Messages are then lost. Standard input and output stay None: whoever needs them reports it.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            os.open(os.devnull, os.O_RDWR)
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115
