"""The group of commands. Each is imported when it is used, so that ``ravine --help`` is fast."""

from __future__ import annotations

from importlib import import_module
from importlib.metadata import version
from typing import Any

import click

from ravine.cli.errors import CommandGroup, translate_errors

# Commands in the order of the help page, with the place of each. Their modules import nothing heavy.
COMMANDS = {
    "cluster": "ravine.cli.cluster:cluster",
    "classify": "ravine.cli.classify:classify",
    "predict": "ravine.cli.predict:predict",
    "describe": "ravine.cli.describe:describe",
    "demo": "ravine.cli.demo:demo",
}


class LazyGroup(CommandGroup):
    """Group whose commands are imported on demand."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in COMMANDS:
            return None
        module, name = COMMANDS[cmd_name].split(":")
        return getattr(import_module(module), name)  # type: ignore[no-any-return]

    def invoke(self, ctx: click.Context) -> Any:
        """Import and run a command; Ctrl-C and signals end it with their exit codes during the import, too."""
        with translate_errors():
            return super().invoke(ctx)


@click.group(
    cls=LazyGroup,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
    epilog=(
        "\b\nExamples:\n"
        "  ravine demo\n"
        "  ravine cluster data.csv\n"
        "  ravine predict data-ravine/model.ravine new.csv > labels.csv\n\n"
        "Run 'ravine COMMAND --help' for the options of a command."
    ),
)
@click.version_option(version("ravine"), prog_name="ravine")
def app() -> None:
    """Minimum density hyperplanes: find the low-density ravines between clusters."""
