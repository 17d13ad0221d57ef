"""Which columns of a table are used and how, decided aloud: nothing is left out or filled in silently."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ravine.cli.errors import DataError
from ravine.cli.sniff import ABSENT, is_number

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from ravine.models import Preparation

__all__ = ["Choices", "Prepared", "check_finite", "check_names", "labels_of", "named", "plain_columns", "prepare"]

# A column with more categories than this is no category.
MOST_CATEGORIES = 50
# What pandas calls an index without a name when it writes a data frame.
INDEX = re.compile(r"__index_level_\d+__")
DECIMAL_COMMA = re.compile(r"\s*[+-]?\d*,\d+([eE][+-]?\d+)?\s*")
Say = Callable[[str], None]


@dataclass(frozen=True)
class Choices:
    """What the user said about columns.

    Attributes
    ----------
    drop : tuple of str
    key, label : str or None
        Columns that name and label the rows; they are no features.
    encode : {"error", "one-hot"}
        What is done with columns of text.
    missing : {"error", "drop", "impute-median"}
    scale : {"standard", "robust", "none"}
    """

    drop: tuple[str, ...] = ()
    key: str | None = None
    label: str | None = None
    encode: str = "error"
    missing: str = "error"
    scale: str = "standard"


@dataclass(frozen=True)
class Prepared:
    """A table as an estimator sees it.

    Attributes
    ----------
    X : ndarray of shape (n_kept, n_features)
    kept : ndarray of bool of shape (n,) or None
        The rows that are used; None for all.
    preparation : Preparation
    """

    X: NDArray[Any]
    kept: NDArray[np.bool_] | None
    preparation: Preparation


def prepare(table: Any, choices: Choices, say: Say) -> Prepared:
    """Features of a table, or an error that names the columns in the way."""
    from ravine.models import Preparation

    columns, categories = _features(table, choices, say)
    plan = Preparation(columns, categories, choices.missing, choices.scale)
    raw = plan.matrix(plain_columns(table, columns))
    check_finite(raw, plan.feature_names)
    kept = _kept(raw, plan, say)
    if kept is not None:
        raw = raw[kept]
    plan = plan.fitted(raw)
    constant = [name for j, name in enumerate(plan.feature_names) if (raw[:, j] == raw[0, j]).all()]
    X = plan.finish(raw)
    if len(constant) == len(plan.feature_names):
        raise DataError("every row is the same: there is nothing to separate.")
    if constant:
        say(f"{named(constant)} {'has' if len(constant) == 1 else 'have'} one value only and cannot separate anything")
    how = {"standard": "standardised: mean 0, standard deviation 1", "robust": "scaled by median and quartiles"}
    say(f"{len(plan.feature_names)} features, {how.get(choices.scale, 'used as they are (--scale none)')}")
    return Prepared(X, kept, plan)


def check_names(table: Any, choices: Choices) -> Choices:
    """The same choices with every name found in the table; ``--drop a,b`` is taken apart if there is no such column."""
    there = table.column_names

    def known(name: str, option: str) -> str:
        if name not in there:
            near = get_close_matches(name, there, 1)
            hint = f" Did you mean {near[0]!r}?" if near else f" The columns are {named(there)}."
            raise DataError(f"{option} {name}: there is no such column.{hint}")
        return name

    dropped: list[str] = []
    for given in choices.drop:
        parts = given.split(",")
        dropped += [given] if given in there or len(parts) == 1 else parts
    for name in dropped:
        known(name, "--drop")
    if choices.key is not None:
        known(choices.key, "--key")
    if choices.label is not None:
        known(choices.label, "--label-column")
        if choices.label == choices.key:
            raise DataError(f"--key and --label-column are the same column, {choices.label!r}: give two.")
    return Choices(tuple(dropped), choices.key, choices.label, choices.encode, choices.missing, choices.scale)


def labels_of(table: Any, column: str, say: Say, *, learned: bool) -> NDArray[Any]:
    """The cells of a column of labels, None where they are empty: integers if all are, else text.

    Parameters
    ----------
    table : pyarrow.Table
    column : str
    say : callable
    learned : bool
        Whether something is learned from the labels; then -1, which could mean that there is none, is refused.
    """
    import numpy as np

    cells = [None if _empty(cell) else cell for cell in _undictionary(table[column]).to_pylist()]
    there = [cell for cell in cells if cell is not None]
    # A column of integers with gaps is often stored as one of floats.
    whole = all(type(cell) is int or (isinstance(cell, float) and cell.is_integer()) for cell in there)
    cells = [None if cell is None else int(cell) if whole else str(cell) for cell in cells]
    if learned and any(cell is not None and str(cell).strip() in ("-1", "-1.0") for cell in cells):
        raise DataError(
            f"column {column!r} holds -1, which could mean a class or that there is no label: leave cells without a "
            "label empty, or give the class another name."
        )
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    say(f"labels in {column!r}: {len(there)} of {len(cells)} rows have one, {len(cells) - len(there)} cells are empty")
    return values


def named(names: Sequence[str], most: int = 8) -> str:
    """Some names in words."""
    return ", ".join(map(repr, names[:most])) + (f" and {len(names) - most} more" if len(names) > most else "")


def _empty(cell: Any) -> bool:
    """Whether a cell of a pyarrow column has no value, or a text that stands for none."""
    return cell is None or cell != cell or (isinstance(cell, str) and cell.strip() in ABSENT)


# ----------------------------------------------------------------------------------------------- kinds of columns


def _features(table: Any, choices: Choices, say: Say) -> tuple[tuple[str, ...], dict[str, tuple[str, ...]]]:
    """The columns that are used, with the categories of those of text."""
    types = import_module("pyarrow").types
    set_aside = {*choices.drop, choices.key, choices.label}
    indices = [name for name in table.column_names if INDEX.fullmatch(name) and name not in set_aside]
    if indices:
        say(f"{named(indices)}: the index of a data frame, left out (--key {indices[0]} to keep it beside the results)")
    columns = [name for name in table.column_names if name not in {*set_aside, *indices}]
    texts, others, empty, truths = [], {}, [], []
    for name in columns:
        kind = table.schema.field(name).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        if types.is_null(kind) or table[name].null_count == table.num_rows:
            empty.append(name)
        elif types.is_boolean(kind):
            truths.append(name)
        elif _is_text(kind):
            texts.append(name)
        elif not (types.is_integer(kind) or types.is_floating(kind) or types.is_decimal(kind)):
            others[name] = "dates or times" if types.is_temporal(kind) else str(kind)
    if empty:
        raise DataError(f"{named(empty)}: no cell has a value. Leave out with {_dropping(empty)}.")
    if others or (texts and choices.encode == "error"):
        _refuse(table, texts, others, columns)
    if not columns:
        raise DataError("no column is left to cluster by: drop fewer of them.")
    if truths:
        say(f"{named(truths)}: true and false are 1 and 0")
    _warn_of_counters(table, columns, say)
    return tuple(columns), {name: _categories(table, name, say) for name in texts}


def _refuse(table: Any, texts: list[str], others: dict[str, str], columns: list[str]) -> None:
    example = {name: _example(table[name].to_pylist()) for name in texts[:3]}
    parts = [f"{name!r} (text such as {text[:30]!r})" for name, text in example.items()]
    parts += [f"{name!r} (text)" for name in texts[3:8]]
    parts += [f"{name!r} ({kind})" for name, kind in list(others.items())[:5]]
    bad = [*texts, *others]
    rest = len(bad) - len(parts)
    whole = "no column holds numbers: " if len(bad) == len(columns) else ""
    advice = f"Leave out with {_dropping(bad)}" if not whole else "Turn them into numbers first"
    if texts and not others:
        advice += ", or count categories as zeros and ones with --encode one-hot"
    commas = [name for name in texts if _has_decimal_commas(table[name])]
    if commas:
        advice = f"If the commas in {named(commas, 3)} are decimal signs, give --decimal ,  Otherwise: {advice}"
    raise DataError(
        f"{whole}{', '.join(parts)}{f' and {rest} more' if rest > 0 else ''} "
        f"{'is' if len(bad) == 1 else 'are'} not numbers. {advice}; a column that names or labels the rows is given by "
        "--key or --label-column."
    )


def _has_decimal_commas(column: Any) -> bool:
    """Whether all cells are numbers, some of them with a decimal comma."""
    cells = [str(cell) for cell in _undictionary(column).unique().to_pylist() if not _empty(cell)]
    return all(map(is_number, cells)) and any(DECIMAL_COMMA.fullmatch(cell) for cell in cells)


def _example(cells: list[Any]) -> str:
    """A cell that is no number, if there is one."""
    there = [str(cell) for cell in cells if not _empty(cell)]
    return next((cell for cell in there if not is_number(cell)), there[0] if there else "")


def _dropping(names: Sequence[str]) -> str:
    import shlex

    words = " ".join(f"--drop {shlex.quote(name)}" for name in names[:5])
    return words + (" ..." if len(names) > 5 else "")


def _categories(table: Any, name: str, say: Say) -> tuple[str, ...]:
    found = sorted({str(v) for v in _undictionary(table[name]).unique().to_pylist() if not _empty(v)})
    if len(found) > MOST_CATEGORIES:
        raise DataError(
            f"column {name!r} has {len(found)} different texts, too many for --encode one-hot (at most "
            f"{MOST_CATEGORIES}): leave it out with {_dropping([name])}, or give it as --key."
        )
    if not found:
        raise DataError(f"{name!r}: no cell has a value. Leave out with {_dropping([name])}.")
    say(f"{name!r} has {len(found)} categories, each a feature of zeros and ones: {named(found, 5)}")
    return tuple(found)


def _warn_of_counters(table: Any, columns: Sequence[str], say: Say) -> None:
    """A column that counts the rows is seldom meant to be a feature."""
    import numpy as np

    pa = import_module("pyarrow")
    for name in columns:
        if pa.types.is_integer(table.schema.field(name).type) and not table[name].null_count and table.num_rows > 2:
            values = np.asarray(table[name])
            if (np.diff(values[:1000]) == 1).all() and (np.diff(values) == 1).all():
                say(f"warning: {name!r} counts the rows and is used as a feature; --key {name} if it only numbers them")


def _is_text(kind: Any) -> bool:
    types = import_module("pyarrow").types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _undictionary(column: Any) -> Any:
    pa = import_module("pyarrow")
    return column.cast(column.type.value_type) if pa.types.is_dictionary(column.type) else column


def plain_columns(table: Any, columns: Sequence[str]) -> dict[str, Any]:
    """Columns whose cells are numbers, truth values or text, None or NaN where they are absent."""
    import numpy as np

    plain: dict[str, Any] = {}
    for name in columns:
        column = _undictionary(table[name])
        if _is_text(column.type):
            cells = np.empty(len(column), dtype=object)
            cells[:] = [None if _empty(cell) else cell for cell in column.to_pylist()]
            plain[name] = cells
        else:
            plain[name] = column
    return plain


# ----------------------------------------------------------------------------------------------- cells


def check_finite(raw: NDArray[Any], names: Sequence[str]) -> None:
    """Refuse infinite values."""
    import numpy as np

    if np.isfinite(raw.sum()):  # then no value is infinite, nor missing
        return
    for j, name in enumerate(names):
        if np.isinf(raw[:, j]).any():
            row = int(np.flatnonzero(np.isinf(raw[:, j]))[0]) + 1
            raise DataError(f"column {name!r} holds an infinite value (row {row}): correct it, or empty that cell.")


def _kept(raw: NDArray[Any], plan: Preparation, say: Say) -> NDArray[np.bool_] | None:
    """The rows that are used, by what is to be done with missing cells; None for all."""
    import numpy as np

    from ravine.models.preparation import listed

    gaps = plan.missing_counts(raw)
    if not gaps:
        return None
    if plan.missing == "error":
        raise DataError(
            f"missing cells: {listed(gaps)}. Give --missing drop to leave such rows out, or --missing impute-median to "
            "fill them with the median of the column (or --drop a column with many)."
        )
    kept: NDArray[np.bool_] = ~np.isnan(raw).any(axis=1)
    if plan.missing == "impute-median":
        of_text = ", of text with the commonest category" if plan.categories else ""
        say(f"missing cells filled with the median of their column{of_text}: {listed(gaps)}")
        return None
    say(f"{int((~kept).sum())} of {len(kept)} rows have missing cells and get no cluster: {listed(gaps)}")
    if kept.sum() < 2:
        raise DataError("every row has a missing cell: give --missing impute-median, or --drop the emptiest columns.")
    return kept
