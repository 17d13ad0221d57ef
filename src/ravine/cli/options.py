"""Options that several commands share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar, TypeVar

import click

__all__ = [
    "COMMON",
    "FEATURES",
    "READING",
    "RESULTS",
    "ClusterCount",
    "Sign",
    "default_folder",
    "options",
    "thread_count",
]

# From here on threads are worth their trouble.
MANY_ROWS = 20_000

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]

MISSING = click.Choice(["error", "drop", "impute-median"])


class Sign(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """One character; a tab may be written as ``tab`` or with a backslash, as shells pass it on."""

    name = "SIGN"
    words: ClassVar[dict[str, str]] = {
        "tab": "\t",
        "\\t": "\t",
        "space": " ",
        "comma": ",",
        "semicolon": ";",
        "bar": "|",
    }

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Read the value."""
        sign = self.words.get(str(value).lower(), str(value))
        if len(sign) != 1 or not sign.isascii() or sign in '"\r\n\0':
            self.fail(f"{value!r} is not one sign such as ; or , or | (tab or \\t for a tab).", param, ctx)
        return sign


READING: tuple[Option, ...] = (
    click.option(
        "--delimiter", type=Sign(), default=None, metavar="SIGN", help="Sign between cells; tab is one.  [found out]"
    ),
    click.option("--header/--no-header", default=None, help="Whether the first line holds names.  [found out]"),
    click.option("--encoding", default=None, help="Encoding of a text file.  [UTF-8, or as its mark says]"),
    click.option(
        "--decimal", type=click.Choice([".", ","]), default=".", show_default=True, help="Decimal sign of a text file."
    ),
)
FEATURES: tuple[Option, ...] = (
    click.option("--drop", multiple=True, metavar="COLUMN", help="Leave a column out; may be repeated."),
    click.option("--key", default=None, metavar="COLUMN", help="Column that names the rows.  [the number of the row]"),
    click.option(
        "--scale",
        type=click.Choice(["standard", "robust", "none"]),
        default="standard",
        show_default=True,
        help="Divide columns by their standard deviation, by their quartiles, or by nothing.",
    ),
    click.option(
        "--encode",
        type=click.Choice(["error", "one-hot"]),
        default="error",
        show_default=True,
        help="Columns of text: refuse them, or make a feature of zeros and ones of each category.",
    ),
    click.option(
        "--missing",
        type=MISSING,
        default="error",
        show_default=True,
        help="Missing cells: refuse them, leave their rows out, or fill in the median (of text: the commonest).",
    ),
)
RESULTS: tuple[Option, ...] = (
    click.option(
        "--out", type=click.Path(), default=None, metavar="DIR", help="Folder of the results; - prints the labels."
    ),
    click.option("--force", is_flag=True, help="Replace results that are there already."),
    click.option("--no-figures", is_flag=True, help="Neither figures nor report."),
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="For what is random."),
    click.option("--jobs", type=int, default=None, help="Threads; -1 is one for each core.  [1, with many rows -1]"),
)
COMMON: tuple[Option, ...] = (
    click.option("--quiet", "-q", is_flag=True, help="Say nothing but errors."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON on standard output."),
    click.option("--debug", is_flag=True, help="Show where an error comes from."),
)


def options(*groups: tuple[Option, ...]) -> Callable[[Command], Command]:
    """Add groups of options to a command, in their order."""

    def add(command: Command) -> Command:
        for group in reversed(groups):
            for option in reversed(group):
                command = option(command)
        return command

    return add


class ClusterCount(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """A number of clusters, or "auto"."""

    name = "K|auto"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Read the value."""
        if value == "auto" or isinstance(value, int):
            return value  # type: ignore[no-any-return]
        try:
            number = int(value)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"{value!r} is neither 'auto' nor a number of clusters (1 or more).", param, ctx)
        return number


def thread_count(jobs: int | None, n_rows: int) -> int:
    """Threads: as told, or one if there is little to do."""
    return jobs if jobs is not None else -1 if n_rows >= MANY_ROWS else 1


def default_folder(source: str) -> Path:
    """Where results go if nothing is said: beside the work, named after the input."""
    name = "stdin" if source == "-" else Path(source).name
    for suffix in (".gz", ".csv", ".tsv", ".txt", ".parquet", ".feather", ".arrow", ".npy"):
        name = name.removesuffix(suffix)
    return Path(f"{name}-ravine")
