"""The group of commands; each is imported when it is asked for, and imports what it needs when it runs."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import click

__all__ = ["COMMANDS", "LazyGroup", "app"]

# Where each command lives, in the order in which they are listed. Their modules import nothing heavy.
COMMANDS = {
    "cluster": "ravine.cli.cluster:cluster",
    "classify": "ravine.cli.classify:classify",
    "predict": "ravine.cli.predict:predict",
    "describe": "ravine.cli.describe:describe",
    "demo": "ravine.cli.demo:demo",
    "reproduce": "ravine.cli.reproduce:reproduce",
    "data": "ravine.cli.data:data",
}


class LazyGroup(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names of the commands."""
        return [*COMMANDS, *(name for name in super().list_commands(ctx) if name not in COMMANDS)]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return super().get_command(ctx, cmd_name)
        module, name = COMMANDS[cmd_name].split(":")
        command: Any = getattr(import_module(module), name)
        return command  # type: ignore[no-any-return]


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("ravine"), prog_name="ravine")
def app() -> None:
    """Minimum density hyperplanes: find the low-density ravines between clusters."""
