"""``ravine data``: the paper's data sets on the command line."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from ravine.datasets import Card

__all__ = ["data"]


@contextmanager
def _one_sentence() -> Iterator[None]:
    """Errors of data sets as the command's message, without a traceback."""
    from ravine.datasets import DatasetError

    try:
        yield
    except DatasetError as error:
        raise click.ClickException(str(error)) from error


@click.group()
def data() -> None:
    """The paper's data sets: what they are, where they are, fetching them."""


@data.command("list")
@click.option("--json", "as_json", is_flag=True, help="Print all cards as JSON.")
def list_(as_json: bool) -> None:
    """List the data sets and where they would be read from."""
    from ravine.datasets import DatasetError, describe, list_datasets
    from ravine.datasets.loading import place

    cards = []
    for name in list_datasets():
        try:
            cards.append((describe(name), place(name)))
        except DatasetError as error:  # a listing needs no data
            cards.append((describe(name), ("missing", str(error))))
    if as_json:
        click.echo(json.dumps([{**card.to_dict(), "where": where, "place": path} for card, (where, path) in cards]))
        return
    heads = ("name", "rows", "columns", "classes", "where", "title")
    rows = [
        (card.name, str(card.n), str(card.d), str(len(card.classes)), where, card.title) for card, (where, _) in cards
    ]
    if sys.stdout.isatty():
        _rich_table(heads, rows)
    else:
        for row in (heads, *rows):
            click.echo("\t".join(row))


def _rich_table(heads: tuple[str, ...], rows: Sequence[tuple[str, ...]]) -> None:
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
    from ravine.datasets import describe

    with _one_sentence():
        card = describe(name)
    click.echo(json.dumps(card.to_dict()) if as_json else _wrapped(card))


def _wrapped(card: Card) -> str:
    import shutil
    import textwrap

    width = min(100, shutil.get_terminal_size().columns)
    blank = " " * 14
    lines = [
        textwrap.fill(text, width, initial_indent=f"{head:<14}", subsequent_indent=blank, break_long_words=False)
        for head, text in card.rows()
    ]
    return "\n".join(lines)


@data.command()
@click.argument("names", nargs=-1, required=True, metavar="NAME...")
@click.option(
    "--folder",
    type=click.Path(file_okay=False),
    help="Write NAME.csv.gz there, for RAVINE_DATA. Without it, downloads stay in the cache.",
)
def fetch(names: tuple[str, ...], folder: str | None) -> None:
    """Load the data sets NAME... and check them; "all" means every one.

    What the folder of RAVINE_DATA and the cache lack is downloaded from the original archives. If one fails, the others
    are fetched nevertheless.
    """
    from ravine.datasets import DatasetError, describe, list_datasets, load, write_csv

    with _one_sentence():
        chosen = list_datasets() if "all" in names else tuple(dict.fromkeys(names))
        for name in chosen:
            describe(name)
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
            click.echo(f"{name}: {n} rows, {d} columns, checked, {place}")
    if failed:
        raise click.ClickException(f"{len(failed)} of {len(chosen)} data sets could not be loaded: {', '.join(failed)}")


@data.command()
@click.option("--json", "as_json", is_flag=True, help="Print them as JSON.")
def path(as_json: bool) -> None:
    """Show the folder of RAVINE_DATA and the cache."""
    from ravine.datasets import cache_folder

    places = {"folder": os.environ.get("RAVINE_DATA") or None, "cache": str(cache_folder())}
    if as_json:
        click.echo(json.dumps(places))
        return
    click.echo(f"folder (RAVINE_DATA)   {places['folder'] or 'not set'}")
    click.echo(f"cache (RAVINE_CACHE)   {places['cache']}")
