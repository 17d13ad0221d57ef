"""Reading of chunks while others are computed with: order, buffers, errors, threads."""

import io
import threading
import time

import numpy as np
import pytest

from ravine.rows.reading.chunks import Chunk
from ravine.rows.reading.reader import ChunkReader, ReadTask


def reading_threads():
    return [t for t in threading.enumerate() if t.name.startswith("ravine-reader")]


def chunks(n=23, rows=5, in_turn=False, seen=None):
    """Make chunks that read into the buffer they get, each with its own delay."""
    waits = np.random.default_rng(0).uniform(0.0, 0.004, n)

    def read(buffer, k):
        if seen is not None:
            seen.append(k)
        time.sleep(waits[k])
        block = np.empty((rows, 2)) if in_turn else buffer[: rows * 16].view(float).reshape(rows, 2)
        block[:] = k
        return block

    return [
        Chunk(
            rows,
            lambda buffer, k=k: read(buffer, k),
            f"block {k}",
            0,
            2,
            np.dtype(float),
            buffered=not in_turn,
            new_iterator=io.BytesIO if in_turn else None,  # anything that can be closed
        )
        for k in range(n)
    ]


def tasks(given):
    return [ReadTask(chunk, None, 5 * k) for k, chunk in enumerate(given)]


@pytest.mark.parametrize("in_turn", [False, True])
def test_results_are_in_order_and_blocks_are_their_own(in_turn):
    def check(block, place):
        first = block[0, 0]
        time.sleep(0.001)
        assert (block == first).all()  # no other read overwrites it
        return first, place

    found = list(ChunkReader().map(check, tasks(chunks(in_turn=in_turn))))
    assert found == [(k, 5 * k) for k in range(23)]
    assert not reading_threads()


def test_chunks_that_must_be_read_in_turn_are():
    seen = []
    list(ChunkReader().map(lambda block, _: None, tasks(chunks(in_turn=True, seen=seen))))
    assert seen == sorted(seen)


def test_two_threads_compute():
    names = set(ChunkReader().map(lambda *_: threading.get_ident(), tasks(chunks())))
    assert len(names) == 2
    assert threading.get_ident() not in names


def test_error_of_the_function_propagates_and_ends_the_threads():
    def fail(block, place):
        if place == 50:
            raise KeyError("error of the function")
        return place

    found = ChunkReader().map(fail, tasks(chunks()))
    with pytest.raises(KeyError, match="error of the function"):
        list(found)
    assert not reading_threads()


def test_a_caller_that_stops_early_leaves_no_threads_and_no_work():
    seen = []
    found = ChunkReader().map(lambda block, place: place, tasks(chunks(n=200, seen=seen)))
    assert next(found) == 0
    found.close()
    assert not reading_threads()
    assert len(seen) < 100


def test_bytes_are_counted_by_all_threads():
    reader = ChunkReader()
    list(reader.map(lambda *_: None, tasks(chunks())))
    assert reader.bytes_read == 23 * 5 * 2 * 8
