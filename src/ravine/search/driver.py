"""Driver of a search: advances many generators in lock-step, with one batch of questions per round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, cast

from ravine.optimise import Questions
from ravine.rows import Sample

__all__ = ["drive"]

T = TypeVar("T")


def drive(sample: Sample, generators: Sequence[Questions[T]]) -> list[T]:
    """Run generators to their ends and return their results.

    Each round collects one question from every generator, lets the sample answer all of them in one pass over the rows,
    and sends the answers back. Generators of compiled indices ask nothing: they run to their ends in the first round,
    on the threads of the sample if it has any.
    """
    results: list[T | None] = [None] * len(generators)

    def advance(i: int, answer: object) -> Any:
        try:
            return generators[i].send(answer)
        except StopIteration as stop:
            results[i] = stop.value
            return None

    pool = sample.stage_pool if len(generators) > 1 else None
    waiting: dict[int, object] = dict.fromkeys(range(len(generators)))
    while waiting:
        questions = list((pool.map if pool else map)(advance, waiting.keys(), waiting.values()))
        asked = {i: question for i, question in zip(waiting, questions, strict=True) if question is not None}
        waiting = dict(zip(asked, sample.answer(list(asked.values())), strict=True)) if asked else {}
        pool = None
    return cast("list[T]", results)
