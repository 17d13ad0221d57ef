"""Words on standard error, results on standard output, and a bar with the time left on a terminal."""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import click

from ravine.cli.errors import visible

__all__ = ["Move", "Voice"]

# Moves the bar: what is done, of how much (None if that is not known), and a word about it.
Move = Callable[[int, int | None, str], None]


class Voice:
    """What the command says while it works.

    Parameters
    ----------
    quiet : bool
        Say nothing but errors.
    as_json : bool
        The result goes to standard output as JSON.
    """

    def __init__(self, quiet: bool = False, as_json: bool = False) -> None:
        self.quiet = quiet
        self.as_json = as_json
        self.notes: list[str] = []
        self.seconds: dict[str, float] = {}

    def say(self, text: str) -> None:
        """A remark on how the data were read and used; it is kept for the summary."""
        self.notes.append(text)
        self.tell(visible(text))

    def tell(self, text: str) -> None:
        """Words for the moment."""
        if not self.quiet:
            click.echo(text, err=True)

    def result(self, summary: dict[str, Any]) -> None:
        """The summary, for machines."""
        if self.as_json:
            click.echo(json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1, default=str))

    @contextmanager
    def working(self, what: str) -> Iterator[Move]:
        """Time a piece of work; its warnings become remarks. On a terminal a bar shows how long it will take."""
        start = time.perf_counter()
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always", UserWarning)
            with self._bar(what) as move:
                yield move
        self.seconds[what] = self.seconds.get(what, 0.0) + time.perf_counter() - start
        texts = (" ".join(str(w.message).split()) for w in caught if issubclass(w.category, UserWarning))
        for text in dict.fromkeys(texts):
            self.say(f"note: {text}")

    @contextmanager
    def _bar(self, what: str) -> Iterator[Move]:
        if self.quiet or not sys.stderr.isatty():
            yield lambda done, total, word: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn, TimeRemainingColumn

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn())
        left = (TextColumn("left"), TimeRemainingColumn())
        with Progress(*columns, *left, console=Console(stderr=True), transient=True) as bar:
            task = bar.add_task(what, total=None)

            def move(done: int, total: int | None, word: str) -> None:
                most = None if total is None else max(total, done + 1)
                bar.update(task, completed=done, total=most, description=f"{what} {word}".strip())

            yield move
