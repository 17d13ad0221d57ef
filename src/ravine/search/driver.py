"""Driver of a search: advances many generators in lock-step, with one batch of questions per round."""

from __future__ import annotations

from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar, cast

from ravine._kernels import check_stop_flag
from ravine.optimise import Questions
from ravine.rows import Sample

__all__ = ["drive"]

T = TypeVar("T")


def drive(sample: Sample, generators: Sequence[Questions[T]], pool: ThreadPoolExecutor | None = None) -> list[T]:
    """Run generators to their ends and return their results.

    Each round collects one question from every generator, lets the sample answer all of them in one pass over the rows,
    and sends the answers back. Generators of compiled indices ask nothing: they run to their ends in the first round,
    each on a thread of the ``pool`` if there is one.
    """
    results: list[T | None] = [None] * len(generators)

    def advance(i: int, answer: object) -> Any:
        try:
            return generators[i].send(answer)
        except StopIteration as stop:
            results[i] = stop.value
            return None

    waiting: dict[int, object] = dict.fromkeys(range(len(generators)))
    while waiting:
        check_stop_flag()
        questions = list((pool.map if pool else map)(advance, waiting.keys(), waiting.values()))
        asked = {i: question for i, question in zip(waiting, questions, strict=True) if question is not None}
        waiting = dict(zip(asked, sample.answer(list(asked.values())), strict=True)) if asked else {}
        pool = None
    return cast("list[T]", results)
