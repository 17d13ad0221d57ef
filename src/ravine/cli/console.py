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
        self._bar: Any = None

    def report(self, text: str) -> None:
        """Print a remark about how the data are read and used, and keep it for the summary."""
        self.notes.append(text)
        self.print(escape(text))

    def print(self, text: str) -> None:
        """Print a message; very long lines are cut."""
        if self.quiet:
            return
        text = "\n".join(map(cut_middle, text.split("\n")))
        if self._bar is None:
            click.echo(text, err=True)
        else:  # above the bar, which the terminal would otherwise join with the message
            self._bar.console.print(text, markup=False, highlight=False, emoji=False, soft_wrap=True)

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
        from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, TextColumn, TimeElapsedColumn
        from rich.text import Text

        class TimeLeft(ProgressColumn):
            def render(self, task: Any) -> Text:
                left = estimate_time_left(task.completed, task.total, task.fields["since"], task.elapsed or 0.0)
                return Text("" if left is None else f"{format_seconds(left)} left")

        columns = (SpinnerColumn(), TextColumn("{task.description}"), BarColumn(), TimeElapsedColumn(), TimeLeft())
        with Progress(*columns, console=Terminal(stderr=True), transient=True) as bar:
            task = bar.add_task(name, total=None, since=0.0)

            def show_progress(done: int, total: int | None, remark: str) -> None:
                end, now = None if total is None else max(total, done), bar.tasks[0].elapsed
                bar.update(task, completed=done, total=end, description=f"{name} {remark}".strip(), since=now)

            self._bar = bar
            try:
                yield show_progress
            finally:
                self._bar = None
            bar.update(task, completed=1, total=1)  # the number of steps may have been an estimate


def estimate_time_left(done: float, total: float | None, since: float, now: float) -> float | None:
    """Estimate the seconds left of steps of equal length; None before the end of the first.

    The estimate counts down, and rises only while a step takes longer than those before.

    Parameters
    ----------
    done : float
        Number of steps that have ended.
    total : float or None
        Number of all steps; None if it is unknown.
    since, now : float
        Time of the end of the last step, and the present time, in seconds since the start.
    """
    if total is None or done <= 0.0:
        return None
    return max(since * total / done - now, now * (total - done - 1.0) / (done + 1.0), 0.0)


def format_seconds(seconds: float) -> str:
    """Format a time as minutes and seconds, with hours if there are any."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02d}" if minutes < 60 else f"{minutes // 60}:{minutes % 60:02d}:{rest:02d}"


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
