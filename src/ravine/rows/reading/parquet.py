"""Rows of Parquet files: numbers, matched by the names of their columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ravine.rows.reading.chunks import Chunk, FileStamp
from ravine.rows.reading.frames import Columns

__all__ = ["split_parquet"]

# Columns of a row group are read together up to this size, so that a large group is not in memory twice.
COLUMN_BYTES = 1 << 25


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
