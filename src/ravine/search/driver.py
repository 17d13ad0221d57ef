"""Driver of a search: advances many generators in lock-step, with one batch of questions per round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from ravine.optimise import Questions
from ravine.rows import Sample

__all__ = ["drive"]

T = TypeVar("T")


def drive(sample: Sample, generators: Sequence[Questions[T]]) -> list[T]:
    """Run generators to their ends and return their results.

    Each round collects one question from every generator, lets the sample answer all of them in one pass over the rows,
    and sends the answers back.
    """
    results: list[T | None] = [None] * len(generators)
    waiting: dict[int, object] = dict.fromkeys(range(len(generators)))
    while waiting:
        asked = {}
        for i, answer in waiting.items():
            try:
                asked[i] = generators[i].send(answer)
            except StopIteration as stop:
                results[i] = stop.value
        waiting = dict(zip(asked, sample.answer(list(asked.values())), strict=True)) if asked else {}
    return cast("list[T]", results)
