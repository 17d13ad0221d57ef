"""`ravine-paper data`: the data sets of the paper."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

import click

from ravine.cli import CommandError, CommandGroup

if TYPE_CHECKING:
    from ravine_paper.datasets import Card

__all__ = ["data"]


@click.group(cls=CommandGroup)
def data() -> None:
    """List, describe and download the data sets of the paper."""


@data.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print all cards as JSON.")
def list_(as_json: bool) -> None:
    """List the data sets and where each is read from."""
    from ravine_paper.datasets import DatasetError, describe, list_datasets
    from ravine_paper.datasets.loading import locate

    cards = []
    for name in list_datasets():
        try:
            cards.append((describe(name), locate(name)))
        except DatasetError as error:  # listing works without data
            cards.append((describe(name), ("missing", str(error))))
    if as_json:
        click.echo(json.dumps([{**card.to_dict(), "where": where, "place": path} for card, (where, path) in cards]))
        return
    heads = ("name", "rows", "columns", "classes", "where", "title")
    rows = [
        (card.name, str(card.n), str(card.d), str(len(card.classes)), where, card.title) for card, (where, _) in cards
    ]
    if sys.stdout.isatty():
        _print_table(heads, rows)
    else:
        for row in (heads, *rows):
            click.echo("\t".join(row))


def _print_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
    from rich.console import Console
    from rich.table import Table

    table = Table(title="Data sets of the paper")
    for head in heads:
        table.add_column(head, justify="right" if head in {"rows", "columns", "classes"} else "left")
    for row in rows:
        table.add_row(*row)
    Console().print(table)


@data.command("describe")
@click.argument("name")
@click.option("--json", "as_json", is_flag=True, help="Print the card as JSON.")
def describe_(name: str, as_json: bool) -> None:
    """Show the card of the data set NAME."""
    from ravine_paper.datasets import describe

    card = describe(name)
    click.echo(json.dumps(card.to_dict()) if as_json else _format_card(card))


def _format_card(card: Card) -> str:
    import shutil
    import textwrap

    width = min(100, shutil.get_terminal_size().columns)
    blank = " " * 14
    lines = [
        textwrap.fill(text, width, initial_indent=f"{head:<14}", subsequent_indent=blank, break_long_words=False)
        for head, text in card.rows()
    ]
    return "\n".join(lines)


@data.command(stopped="Stopped. Data sets that were fetched completely are kept.")
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--folder",
    type=click.Path(file_okay=False),
    help="Folder in which to write NAME.csv.gz, for use as RAVINE_DATA.  [default: keep downloads in the cache]",
)
def fetch(names: tuple[str, ...], folder: str | None) -> None:
    """Load and check the data sets NAME... ("all" for every one).

    Data sets that are neither in the folder of RAVINE_DATA nor in the cache are downloaded from the original archives.
    If one fails, the others are still fetched.
    """
    from ravine_paper.datasets import DatasetError, describe, list_datasets, load, write_csv

    chosen = list_datasets() if "all" in names else tuple(dict.fromkeys(names))
    for name in chosen:
        describe(name)  # unknown names are an error before anything is downloaded
    failed = []
    for name in chosen:
        try:
            dataset = load(name)
            place = str(write_csv(dataset, folder)) if folder else dataset.origin
        except DatasetError as error:
            failed.append(name)
            click.echo(f"{name}: {error}", err=True)
        else:
            n, d = dataset.data.shape
            click.echo(f"{name}: {n} x {d}, checked, {place}")
    if failed:
        raise CommandError(f"{len(failed)} of {len(chosen)} data sets could not be loaded: {', '.join(failed)}")


@data.command()
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def path(as_json: bool) -> None:
    """Show the folder of RAVINE_DATA and the cache."""
    from ravine_paper.datasets import cache_folder

    places = {"folder": os.environ.get("RAVINE_DATA") or None, "cache": str(cache_folder())}
    if as_json:
        click.echo(json.dumps(places))
        return
    click.echo(f"folder (RAVINE_DATA)   {places['folder'] or 'not set'}")
    click.echo(f"cache (RAVINE_CACHE)   {places['cache']}")
