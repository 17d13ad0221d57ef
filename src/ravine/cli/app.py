"""The group of commands; each command imports what it needs when it runs."""

from __future__ import annotations

from importlib.metadata import version

import click

from ravine.cli.data import data
from ravine.cli.reproduce import reproduce

__all__ = ["app"]


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(version("ravine"), prog_name="ravine")
def app() -> None:
    """Minimum density hyperplanes: find the low-density ravines between clusters."""


app.add_command(data)
app.add_command(reproduce)
