"""Output of the command: messages on standard error, results on standard output, progress on a terminal."""

from __future__ import annotations

import json
import sys
import time
import unicodedata
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from ravine.cli.options import name_options

# Receives the number of completed steps, their total (None if unknown) and a short remark.
ShowProgress = Callable[[int, int | None, str], None]
# Length of a line above which its middle is left out.
LONGEST_LINE = 2000

# Control characters, surrogates, separators of lines and paragraphs, and invisible characters such as those that turn
# the direction of the text.
HIDDEN = ("Cc", "Cs", "Zl", "Zp", "Cf")
# Invisible characters that are part of words in some scripts, and of emoji.
JOINERS = "\u200c\u200d"


class Console:
    """Messages, results and progress of a command.

    Parameters
    ----------
    quiet : bool
        Print nothing but errors.
    as_json : bool
        Print the result as JSON to standard output.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        self.notes: list[str] = []
        self.seconds: dict[str, float] = {}

    def report(self, text: str) -> None:
        """Print a remark about how the data are read and used, and keep it for the summary."""
        self.notes.append(text)
        self.print(escape(text))

    def print(self, text: str) -> None:
        """Print a message; very long lines are cut."""
        if not self.quiet:
            click.echo("\n".join(map(cut_middle, text.split("\n"))), err=True)

    def print_json(self, summary: dict[str, Any]) -> None:
        """Print the summary to standard output if --json was given."""
        if self.as_json:
            click.echo(escape_json(json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1, default=str)))

    @contextmanager
    def step(self, name: str) -> Iterator[ShowProgress]:
        """Time a step of the work, show its progress on a terminal, and report its warnings."""
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            with self._progress_bar(name) as show_progress:
                yield show_progress
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
        texts = (name_options(" ".join(str(w.message).split())) for w in caught if issubclass(w.category, UserWarning))
        for text in dict.fromkeys(texts):
            self.report(f"note: {text}")

    @contextmanager
    def _progress_bar(self, name: str) -> Iterator[ShowProgress]:
        if self.quiet or not sys.stderr.isatty():
            yield lambda done, total, remark: None
            return
        from rich.console import Console as Terminal
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        remaining = (TextColumn("left"), TimeRemainingColumn())
        with Progress(*columns, *remaining, console=Terminal(stderr=True), transient=True) as bar:
            task = bar.add_task(name, total=None)

            def show_progress(done: int, total: int | None, remark: str) -> None:
                end = None if total is None else max(total, done)
                bar.update(task, completed=done, total=end, description=f"{name} {remark}".strip())

            yield show_progress
            bar.update(task, completed=1, total=1)  # the number of steps may have been an estimate


# ----------------------------------------------------------------------------------------------- text


def escape(text: object) -> str:
    """Return text in one line; line breaks and other control characters are escaped as in Python."""
    return "".join(c.encode("unicode_escape").decode() if _is_hidden(c) else c for c in str(text))


def cut_middle(text: str) -> str:
    """Return text without its middle if it is very long, such as one that quotes a name of thousands of letters."""
    if len(text) <= LONGEST_LINE:
        return text
    return f"{text[: LONGEST_LINE // 2]} ... {text[-LONGEST_LINE // 4 :]}"


def escape_json(text: str) -> str:
    """Return JSON with invisible characters escaped; line breaks between its values stay."""
    return "".join(json.dumps(c)[1:-1] if _is_hidden(c) and c != "\n" else c for c in text)


def _is_hidden(character: str) -> bool:
    return unicodedata.category(character) in HIDDEN and character not in JOINERS
