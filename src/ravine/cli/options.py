"""Options that several commands share, and the messages of estimators in their words."""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar

import click

# From this number of rows on, threads pay off.
MANY_ROWS = 20_000
# Limit on the size of a table, in gigabytes: a default of `ravine.tables.ReadOptions`, which is imported later.
MAX_SIZE = 2.0

Command = TypeVar("Command", bound=Callable[..., Any])
Option = Callable[[Any], Any]

MISSING = click.Choice(["error", "drop", "impute-median", "multiple"])


class Delimiter(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    r"""Single character; a tab may be written as ``tab`` or ``\t``."""

    name = "CHAR"
    names: ClassVar[dict[str, str]] = {
        "tab": "\t",
        "\\t": "\t",
        "space": " ",
        "comma": ",",
        "semicolon": ";",
        "bar": "|",
    }

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        """Convert a name or a character to the character."""
        character = self.names.get(str(value).lower(), str(value))
        if len(character) != 1 or not character.isascii() or character in '"\r\n\0':
            self.fail(f"{value!r} is not a single character such as ; or , or | (write tab for a tab).", param, ctx)
        return character


class ClusterCount(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Number of clusters, "auto" or "shown"."""

    name = "K|auto|shown"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | str:
        """Convert the text to an integer, or keep a word."""
        if value in ("auto", "shown") or isinstance(value, int):
            return value  # type: ignore[no-any-return]
        try:
            number = int(value)
        except ValueError:
            number = 0
        if number < 1:
            self.fail(f"{value!r} is not 'auto', 'shown' or a number of clusters (1 or more).", param, ctx)
        return number


class Share(click.ParamType):  # type: ignore[type-arg, unused-ignore]
    """Share of the rows, or one of a few words; whole numbers of rows may be allowed, too."""

    def __init__(self, *words: str, allows_numbers: bool = False, most: float = 1.0) -> None:
        self.words, self.allows_numbers, self.most = words, allows_numbers, most
        self.name = "|".join([*(["N"] if allows_numbers else []), "SHARE", *words])

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int | float | str:
        """Convert the text to a number, or keep a word."""
        if value in self.words or isinstance(value, int | float):
            return value  # type: ignore[no-any-return]
        try:
            number = int(value) if self.allows_numbers and value.isdecimal() else float(value)
        except ValueError:
            number = 0.0
        if not (0.0 < number < self.most or (isinstance(number, int) and number > 0)):
            allowed = [f"a share between 0 and {self.most:g}", *map(repr, self.words)]
            allowed = ["a number of rows", *allowed] if self.allows_numbers else allowed
            self.fail(f"{value!r} is not {' or '.join(allowed)}.", param, ctx)
        return number


class OutputPath(click.Path):
    """Path of a folder or file to write, which cannot be empty: that would be the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Refuse an empty text."""
        if value == "":
            self.fail("the name is empty: give a name, or leave the option out.", param, ctx)
        return super().convert(value, param, ctx)


READING: tuple[Option, ...] = (
    click.option(
        "--delimiter",
        type=Delimiter(),
        default=None,
        metavar="CHAR",
        help="Delimiter of a text file, such as ; or tab.  [default: detected]",
    ),
    click.option(
        "--header/--no-header", default=None, help="Whether the first line holds column names.  [default: detected]"
    ),
    click.option(
        "--encoding", default=None, help="Encoding of a text file.  [default: UTF-8, or from its byte order mark]"
    ),
    click.option(
        "--decimal",
        type=click.Choice([".", ","]),
        default=None,
        help="Decimal separator.  [default: detected]",
    ),
    click.option(
        "--thousands",
        type=click.Choice([",", ".", "'", " "]),
        default=None,
        help="Separator of groups of three digits.  [default: detected]",
    ),
    click.option(
        "--na",
        multiple=True,
        metavar="TEXT",
        help="Text that stands for a missing cell, besides NA, NaN, null and the like; may be repeated.",
    ),
    click.option(
        "--max-size",
        type=click.FloatRange(0.0, min_open=True),
        default=MAX_SIZE,
        show_default=True,
        metavar="GB",
        help="Refuse compressed tables that are larger than this once they are unpacked, and more columns than fit.",
    ),
)
FEATURES: tuple[Option, ...] = (
    click.option("--drop", multiple=True, metavar="COLUMN", help="Column to leave out; may be repeated."),
    click.option(
        "--key", default=None, metavar="COLUMN", help="Column that identifies the rows.  [default: row number]"
    ),
    click.option(
        "--scale",
        type=click.Choice(["standard", "robust", "none"]),
        default="standard",
        show_default=True,
        help="Scale the features by mean and standard deviation, by median and quartiles, or not at all.",
    ),
    click.option(
        "--normalize",
        type=click.Choice(["none", "l2"]),
        default="none",
        show_default=True,
        help="Divide each row by its Euclidean length before the features are scaled: for embeddings and word counts.",
    ),
    click.option(
        "--encode",
        type=click.Choice(["error", "one-hot", "famd"]),
        default="error",
        show_default=True,
        help="Text columns: stop with an error, or turn each category into a feature of zeros and ones; famd divides "
        "these by the root of the category's share and groups rare categories.",
    ),
    click.option(
        "--missing",
        type=MISSING,
        default="error",
        show_default=True,
        help="Missing cells: stop with an error, drop their rows, fill in the median (the most frequent category of "
        "text), or fill them several times with values of similar rows (only for cluster).",
    ),
    click.option(
        "--auto",
        is_flag=True,
        help="Choose --drop, --encode and --missing so that the table can be used, and report each choice.",
    ),
)
SPREADSHEET: Option = click.option(
    "--spreadsheet",
    is_flag=True,
    help="Write an apostrophe before text in the labels that a spreadsheet would take for a formula.",
)
MEMBERSHIPS: Option = click.option(
    "--memberships", is_flag=True, help="Add the membership of each row in its cluster to the labels."
)
RESULTS: tuple[Option, ...] = (
    click.option(
        "--out",
        type=OutputPath(),
        default=None,
        metavar="DIR",
        help="Folder for the results; - prints the labels instead.  [default: NAME-ravine]",
    ),
    click.option("--force", is_flag=True, help="Replace existing results."),
    click.option("--no-figures", is_flag=True, help="Write neither figures nor report."),
    SPREADSHEET,
    click.option("--seed", type=click.IntRange(0), default=0, show_default=True, help="Random seed."),
    click.option(
        "--jobs",
        type=int,
        default=None,
        help=f"Number of threads; -1 uses all cores.  [default: 1, from {MANY_ROWS} rows on -1]",
    ),
)
COMMON: tuple[Option, ...] = (
    click.option("--quiet", "-q", is_flag=True, help="Print nothing but errors."),
    click.option("--json", "as_json", is_flag=True, help="Print the result as JSON to standard output."),
    click.option("--debug", is_flag=True, help="Print a traceback for errors."),
)


def add_options(*groups: tuple[Option, ...]) -> Callable[[Command], Command]:
    """Return a decorator that adds groups of options to a command, in this order."""

    def add(command: Command) -> Command:
        for group in reversed(groups):
            for option in reversed(group):
                command = option(command)
        return command

    return add


@dataclass(frozen=True)
class FitOptions:
    """Values of the options in FEATURES, RESULTS, READING and COMMON; see their help texts."""

    drop: tuple[str, ...] = ()
    key: str | None = None
    scale: str = "standard"
    normalize: str = "none"
    encode: str = "error"
    missing: str = "error"
    auto: bool = False
    out: str | None = None
    force: bool = False
    no_figures: bool = False
    spreadsheet: bool = False
    seed: int = 0
    jobs: int | None = None
    delimiter: str | None = None
    header: bool | None = None
    encoding: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    na: tuple[str, ...] = ()
    max_size: float = MAX_SIZE
    quiet: bool = False
    as_json: bool = False
    debug: bool = False

    def count_threads(self, n_rows: int) -> int:
        """Return the chosen number of threads, by default one unless there are many rows."""
        return self.jobs if self.jobs is not None else -1 if n_rows >= MANY_ROWS else 1


# ----------------------------------------------------------------------------------------------- messages


# Options by the parameters of estimators and tables.
OPTIONS = {
    "n_clusters": "--clusters",
    "min_cluster_size": "--min-cluster-size",
    "max_cluster_size": "--max-cluster-size",
    "contamination": "--outliers",
}
# Whole phrases come first, then parameters with and without a value.
PHRASES: tuple[tuple[str, str], ...] = (
    (r" of X \(n_samples=\d+\)", ""),
    (r"fewer than n_clusters=(\d+)", r"fewer than --clusters \1"),
    (r"min_cluster_size=(\S+) rows each", r"\1 rows each (--min-cluster-size)"),
    (r"Give n_clusters a number, or use the exact test\.", "Set --clusters to a number."),
    (r"Unlabelled rows are marked by -1, or by None or NaN", "Empty cells mark unlabelled rows"),
    (r"See violated_constraints_", "The summary lists all as violated_constraints"),
    (r"^(y|labels) ", "the column of --label-column "),
    (r"\bX has\b", "the table has"),
)


def name_options(text: str) -> str:
    """Return a message of an estimator with the options of the command instead of parameters."""
    for pattern, words in PHRASES:
        text = re.sub(pattern, words, text)
    for name, option in OPTIONS.items():
        text = re.sub(rf"\b{name}=(['\"]?)([\w.]+)\1", rf"{option} \2", text)
        text = text if "_" not in name else re.sub(rf"\b{name}\b", option, text)  # "shape" is also a word
    return text


def format_choices(choices: Mapping[str, Any], separator: str = " ") -> str:
    """Return choices about a table as options of the command."""
    words = []
    for name, value in choices.items():
        option = "label-column" if name == "label" else name.replace("_", "-")
        if isinstance(value, bool):
            words += [f"--{option}" if value else f"--no-{option}"]
        else:
            words += [f"--{option} {shlex.quote(one)}" for one in ([value] if isinstance(value, str) else value)]
    return separator.join(words)


def add_advice(text: str, choices: Mapping[str, Any]) -> str:
    """Return a message about a table with the options that it is about, or that make the table usable."""
    given = {name: value for name, value in choices.items() if name != "auto"}
    if "auto" in choices:
        return f"{text} Add  {format_choices(given)}  or let --auto choose the same."
    return f"{text.removesuffix('.')} ({format_choices(given, ', ')})." if given else text
