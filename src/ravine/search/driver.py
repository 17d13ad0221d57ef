"""Advance many askers in lock-step: one batch of questions per round."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TypeVar, cast

from ravine.optimise import Asking
from ravine.rows import Sample

__all__ = ["drive"]

T = TypeVar("T")


def drive(sample: Sample, askers: Sequence[Asking[T]]) -> list[T]:
    """Run generators to their ends; each round puts the questions of all of them to the sample together."""
    results: list[T | None] = [None] * len(askers)
    waiting: dict[int, object] = dict.fromkeys(range(len(askers)))
    while waiting:
        asked = {}
        for i, answer in waiting.items():
            try:
                asked[i] = askers[i].send(answer)
            except StopIteration as stop:
                results[i] = stop.value
        waiting = dict(zip(asked, sample.answer(list(asked.values())), strict=True)) if asked else {}
    return cast("list[T]", results)
