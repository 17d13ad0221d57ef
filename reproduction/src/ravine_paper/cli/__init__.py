"""The command `ravine-paper`."""

from ravine.cli import run_command

__all__ = ["main"]


def main() -> None:
    """Run the command."""
    run_command("ravine_paper.cli.app:app")
