"""Columns of a table: what can be used, what is refused, and the choices that help."""

import numpy as np
import pytest

pa = pytest.importorskip("pyarrow")

from ravine.tables import ColumnChoices, TableError, apply_remedy, read_labels, resolve_columns  # noqa: E402
from ravine.tables.columns import choose_features, find_remedy, list_kind, list_missing  # noqa: E402
from ravine.tables.read import make_frame  # noqa: E402

N = 40


def ignore(text):
    """Ignore a remark."""


def make_table(**columns):
    numbers = {"a": np.arange(N) ** 0.5, "b": np.arange(N) % 7}
    return make_frame(pa.table(numbers | columns))[0]


def test_numbers_and_booleans_are_features():
    table = make_table(flag=np.arange(N) % 2 == 0, k=pa.array([1, None] * (N // 2)))
    assert choose_features(table, ColumnChoices(), ignore) == (["a", "b", "flag", "k"], [])


def test_chosen_columns_are_not_features():
    table = make_table(y=["u", "v"] * (N // 2), key=list(range(N)))
    choices = resolve_columns(table, ColumnChoices(drop=("b",), key="key", label="y"))
    assert choose_features(table, choices, ignore) == (["a"], [])


@pytest.mark.parametrize(
    ("choices", "named"),
    [
        (ColumnChoices(drop=("aa",)), {"drop": "aa"}),
        (ColumnChoices(key="zz"), {"key": "zz"}),
        (ColumnChoices(label="zz"), {"label": "zz"}),
        (ColumnChoices(key="a", label="a"), {"key": "a", "label": "a"}),
    ],
)
def test_columns_that_do_not_exist_are_named(choices, named):
    with pytest.raises(TableError) as info:
        resolve_columns(make_table(), choices)
    assert info.value.choices == named


def test_entries_of_drop_are_split_unless_a_column_has_their_name():
    table = make_table(**{"a,b": [1.0] * N})
    assert resolve_columns(table, ColumnChoices(drop=("a,b",))).drop == ("a,b",)
    assert resolve_columns(make_table(), ColumnChoices(drop=("a,b",))).drop == ("a", "b")


MESSY = {
    "id": list(range(100, 100 + N)),
    "level": list(range(N - 1, -1, -1)),
    "note": [f"text {k}" for k in range(N)],
    "same": ["x"] * N,
    "day": pa.array([0] * N, pa.time32("s")),
    "none": pa.nulls(N),
    "few": pa.array([1.5] * 5 + [None] * (N - 5)),
    "kind": ["u", "v"] * (N // 2),
    "gaps": pa.array([None, *([2.5, 1.5] * N)[: N - 1]]),
}


def test_remedy_names_every_column_that_cannot_be_used():
    drop, kept, changes = find_remedy(make_table(**MESSY), ColumnChoices())
    assert list(drop) == ["id", "note", "same", "day", "none", "few"]
    assert (list_kind(kept, "text"), list_missing(kept)) == (["kind"], ["gaps"])
    assert changes == {
        "drop": tuple(drop),
        "encode": "famd",
        "missing": "multiple",
    }


def test_one_error_names_all_problems_and_the_remedy():
    with pytest.raises(TableError) as info:
        choose_features(make_table(**MESSY), ColumnChoices(), ignore)
    for name in ("note", "same", "day", "none", "kind", "gaps"):
        assert repr(name) in str(info.value)
    assert info.value.choices["auto"] is True
    assert info.value.choices["encode"] == "famd"


def test_remedy_can_be_applied():
    reported = []
    table, choices, changes = apply_remedy(make_table(**MESSY), ColumnChoices(), reported.append)
    assert choose_features(table, choices, ignore) == (["a", "b", "level", "kind", "gaps"], ["kind"])
    assert len(reported) == len(changes["drop"]) + 2
    _, choices, changes = apply_remedy(make_table(), ColumnChoices(), ignore)
    assert (choices, changes) == (ColumnChoices(), {})


def test_texts_of_two_meanings_need_a_decision():
    table = make_table(p=["1,234", "2,345"] * (N // 2))
    assert list_kind(find_remedy(table, ColumnChoices())[1], "unclear") == ["p"]
    for use in (apply_remedy, choose_features):
        with pytest.raises(TableError, match=r"'p'.*'1,234'") as info:
            use(table, ColumnChoices(encode="famd"), ignore)
        assert info.value.choices["decimal"] == (".", ",")


@pytest.mark.parametrize(
    ("cells", "named"),
    [
        ([-1, 0] * (N // 2), "-1"),
        ([f"{k}.5" for k in range(N)], "0.5"),
        ([f"row {k}" for k in range(N)], "row 0"),
    ],
)
def test_labels_that_are_not_classes_are_refused(cells, named):
    table = make_table(y=cells)
    with pytest.raises(TableError, match=f"'y'.*{named}"):
        read_labels(table, "y", ignore, learn=True)
    assert len(read_labels(table, "y", ignore, learn=False)) == N


def test_labels_are_integers_or_text_and_none_where_empty():
    table = make_table(y=pa.array([1.0, 2.0, None, 1.0] * (N // 4)), z=["u", "NA", " ", "v"] * (N // 4))
    assert read_labels(table, "y", ignore, learn=True).tolist()[:4] == [1, 2, None, 1]
    assert read_labels(table, "z", ignore, learn=True).tolist()[:4] == ["u", None, None, "v"]


@pytest.mark.parametrize(
    ("encode", "cells"),
    [("one-hot", [f"{k}x" for k in range(60)]), ("famd", ["x"] * 60), ("famd", [f"{k}x" for k in range(60)])],
)
def test_texts_that_are_not_categories_are_refused(encode, cells):
    table = make_frame(pa.table({"a": np.arange(60.0), "kind": cells}))[0]
    with pytest.raises(TableError, match="'kind'") as info:
        choose_features(table, ColumnChoices(encode=encode), ignore)
    assert info.value.choices == {"drop": ("kind",), "auto": True}
    table, choices, _ = apply_remedy(table, ColumnChoices(encode=encode), ignore)
    assert choose_features(table, choices, ignore) == (["a"], [])
