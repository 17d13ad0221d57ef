"""Answers of the workers of a cluster: what each sends, and what they add up to."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine._typing import Array
from ravine.rows.array import DenseSample
from ravine.rows.questions import AngleDerivative, Gradient, Histogram, LogSum, Request, RowsIn, ValuesIn
from ravine.rows.sample import Sample, sum_arrays

__all__ = ["merge_answers", "pack_answer"]


def pack_answer(answer: Any) -> Any:
    """Return an answer in the form in which it is sent: of a sample, the rows in working units and their weights."""
    if not isinstance(answer, DenseSample):
        return answer
    return answer.fetch(np.arange(answer.n_rows)).astype(np.float32), answer.weights


def merge_answers(r: Request, answers: list[Any], whole: Sample) -> Any:
    """Merge the answers of all workers to a request about the rows of a sample."""
    if isinstance(r, Histogram | Gradient):
        return sum_arrays(answers)
    if isinstance(r, LogSum):
        return float(np.logaddexp.reduce(np.array(answers)))
    if isinstance(r, AngleDerivative):
        return float(sum(answers))
    if isinstance(r, ValuesIn):
        values = np.concatenate([v for v, _ in answers])
        order = np.argsort(values, kind="stable")
        weights = None if answers[0][1] is None else np.concatenate([w for _, w in answers])[order]
        return values[order], weights
    return _join_rows(answers, whole) if isinstance(r, RowsIn) else None


def _join_rows(parts: list[tuple[NDArray[Any], Array | None]], whole: Sample) -> DenseSample:
    """Make one sample, in single precision, of the rows near a hyperplane that each worker has sent."""
    is_weighted = any(w is not None for _, w in parts)
    weights = np.concatenate([np.ones(len(rows)) if w is None else w for rows, w in parts]) if is_weighted else None
    centred = np.concatenate([rows for rows, _ in parts]) * np.float64(whole.unit)
    slab = DenseSample(centred, weights, origin=np.zeros(whole.n_features), unit=whole.unit)
    slab.measure_against(whole)
    return slab
