"""Files of rows: .npy and .parquet."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import (
    Chunk,
    Columns,
    FileStamp,
    check_dtype,
    check_shape,
    count_chunk_rows,
    split_array,
)

# Columns of a row group are read together up to this size, so that a large group is not in memory twice.
COLUMN_BYTES = 1 << 25


def split_npy(path: Path) -> Iterator[Chunk]:
    """Split a .npy file into chunks."""
    file = FileStamp.of(path)
    try:
        mapped = np.lib.format.open_memmap(path, mode="r")
    except (ValueError, EOFError) as error:
        raise ValueError(f"{path} cannot be read as a .npy file of numbers: {error}") from error
    yield from split_map(mapped, path.name, file)


def split_map(block: np.memmap[Any, Any], name: str, file: FileStamp | None = None) -> Iterator[Chunk]:
    """Split a memory map into chunks that are read from its file, so that no pages count as memory of this process."""
    check_shape(block.shape, name)
    check_dtype(block.dtype, name)
    path = block.filename
    if file is None and path is not None and os.path.exists(path):
        file = FileStamp.of(path)
        if not _holds_map(file, block):
            file = None  # another file has this name now, but the mapped one is still readable
    plain = block.flags.c_contiguous and block.mode != "c" and not block.dtype.hasobject
    whole = not isinstance(block.base, np.memmap)  # a slice of a map does not tell where in the file it starts
    if file is None or not (plain and whole):
        yield from split_array(block, name, file)
    else:
        yield from _split_bytes(file, block.offset, block.shape, block.dtype, name)


def _holds_map(file: FileStamp, block: np.memmap[Any, Any]) -> bool:
    """Return whether some rows of a file are those of a memory map."""
    width = block.shape[1] * block.itemsize
    if not (block.flags.c_contiguous and len(block)) or isinstance(block.base, np.memmap):
        return True
    if file.size < block.offset + len(block) * width:
        return True  # truncated: access to the map beyond its end would kill the process
    with open(file.path, "rb") as opened:
        for row in {0, len(block) // 2, len(block) - 1}:
            opened.seek(block.offset + row * width)
            if opened.read(width) != block[row].tobytes():
                return False
    return True


def _split_bytes(
    file: FileStamp, offset: int, shape: tuple[int, ...], dtype: np.dtype[Any], name: str
) -> Iterator[Chunk]:
    path = file.path
    n, d = shape
    width = d * dtype.itemsize
    step = count_chunk_rows(d, dtype.itemsize)

    def read(buffer: Any, first: int, count: int) -> NDArray[Any]:
        flat: NDArray[Any] = np.empty(count * d, dtype) if buffer is None else buffer[: count * width].view(dtype)
        with open(path, "rb", buffering=0) as opened:
            _fill(flat, opened, offset + first * width, path)
        return flat.reshape(count, d)

    def read_some(indices: NDArray[np.intp], first: int) -> NDArray[Any]:
        out = np.empty((len(indices), d), dtype)
        with open(path, "rb", buffering=0) as opened:
            for k, row in enumerate(indices.tolist()):
                _fill(out[k], opened, offset + (first + row) * width, path)
        return out

    for first in range(0, max(1, n), step):
        count = min(step, n - first)
        yield Chunk(
            count,
            lambda buffer, first=first, count=count: read(buffer, first, count),  # type: ignore[misc]
            name, first, d, dtype,
            read_some=lambda indices, first=first: read_some(indices, first),  # type: ignore[misc]
            buffered=True,
            file=file,
        )  # fmt: skip


def _fill(out: NDArray[Any], opened: Any, start: int, path: str) -> None:
    """Read an array from a position in a file; one call may return fewer bytes than requested."""
    opened.seek(start)
    left = memoryview(out.data).cast("B")
    while len(left):
        got = opened.readinto(left)
        if not got:
            raise OSError(f"{path} is shorter than its header says: it may be truncated.")
        left = left[got:]


def split_parquet(path: Path, columns: Columns) -> Iterator[Chunk]:
    """Make one chunk of each row group; columns are in the order of the first file."""
    try:
        import pyarrow  # type: ignore[import-untyped]
        import pyarrow.parquet  # type: ignore[import-untyped]
    except ImportError as error:
        raise ImportError(f"to read {path.name} install pyarrow, e.g. with `pip install 'ravine[app]'`.") from error
    file = FileStamp.of(path)
    try:
        with pyarrow.parquet.ParquetFile(file.path) as opened:
            meta, schema = opened.metadata, opened.schema_arrow
    except (pyarrow.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read as a Parquet file: {error}") from error
    kept = _drop_index(schema)
    names = columns.match(kept.names, path.name, kept.empty_table())
    categories = _find_categories(schema)
    for name in names:
        if name in categories:
            _refuse("categories", name, path.name)
        _check_type(kept.field(name).type, name, path.name)

    def read(_: Any, group: int) -> NDArray[Any]:
        count = meta.row_group(group).num_rows
        rows = np.empty((count, len(names)))
        step = max(1, COLUMN_BYTES // (8 * max(count, 1)))
        try:
            with pyarrow.parquet.ParquetFile(file.path, metadata=meta) as opened:
                for first in range(0, len(names), step):
                    table = opened.read_row_group(group, columns=names[first : first + step])
                    for k, name in enumerate(names[first : first + step], first):
                        rows[:, k] = table.column(name).to_numpy()
        except (pyarrow.ArrowException, OSError) as error:
            raise ValueError(f"row group {group} of {path} cannot be read: {error}") from error
        return rows

    first, float64 = 0, np.dtype(np.float64)
    for group in range(meta.num_row_groups):
        count = meta.row_group(group).num_rows
        yield Chunk(
            count,
            lambda _, group=group: read(_, group),  # type: ignore[misc]
            path.name, first, len(names), float64,
            file=file,
        )  # fmt: skip
        first += count


def _drop_index(schema: Any) -> Any:
    """Return the schema without the columns in which pandas stores the index of a data frame."""
    index = {name for name in (schema.pandas_metadata or {}).get("index_columns", []) if isinstance(name, str)}
    for k in reversed(range(len(schema))):
        if schema.field(k).name in index:
            schema = schema.remove(k)
    return schema


def _find_categories(schema: Any) -> set[Any]:
    """Find the columns that were categories in pandas; categories of numbers are stored as numbers."""
    described = (schema.pandas_metadata or {}).get("columns", [])
    return {column.get("name") for column in described if column.get("pandas_type") == "categorical"}


def _check_type(kind: Any, name: str, file: str) -> None:
    from pyarrow import types

    if types.is_temporal(kind):
        raise TypeError(
            f"{file}: column {name!r} holds dates or durations ({kind}): turn them into numbers first, for "
            "example days since a date, or leave the column out."
        )
    numbers = (types.is_integer, types.is_floating, types.is_boolean, types.is_decimal, types.is_null)
    if not any(is_number(kind) for is_number in numbers):
        _refuse(str(kind), name, file)


def _refuse(kind: str, name: str, file: str) -> None:
    raise ValueError(
        f"{file}: column {name!r} does not hold numbers but {kind}: encode it as numbers, or leave it out."
    )
