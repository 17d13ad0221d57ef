"""The command `ravine`. Its dependencies are installed by the extra ``app``."""

from __future__ import annotations

import sys

from ravine.cli.streams import replace_closed_streams

__all__ = ["main"]


def main() -> None:
    """Run the command; if a dependency is missing, state how to install it."""
    replace_closed_streams()
    try:
        from ravine.cli.app import app
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
    app()
