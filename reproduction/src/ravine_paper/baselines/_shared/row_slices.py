"""Slices of rows, to bound the memory of intermediate results."""

from __future__ import annotations

from collections.abc import Iterator

__all__ = ["BLOCK", "split_into_blocks"]

# Numbers in a block.
BLOCK = 1 << 21


def split_into_blocks(n_rows: int, row_size: int, block: int = BLOCK) -> Iterator[slice]:
    """Yield slices of rows that together hold at most ``block`` numbers, ``row_size`` for each row."""
    step = max(1, block // row_size)
    for start in range(0, n_rows, step):
        yield slice(start, min(n_rows, start + step))
