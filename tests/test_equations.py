"""docs/equations.md: every function that it names exists and cites the number of its equation."""

import inspect
import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[1] / "docs" / "equations.md"
ROWS = re.findall(
    r"^\| (\(\d+\)|(?:Lemma|Proposition|Theorem) \d+) \|.*\| (.*) \|$", PAGE.read_text("utf-8"), re.MULTILINE
)
NAMED = [(number, path) for number, cell in ROWS for path in re.findall(r"`(ravine[\w.]*)`", cell)]


def find(path):
    """Import an object by its dotted path."""
    parts = path.split(".")
    for length in range(len(parts), 0, -1):
        try:
            found = import_module(".".join(parts[:length]))
        except ModuleNotFoundError:
            continue
        for name in parts[length:]:
            found = getattr(found, name)
        return found.fget if isinstance(found, property) else found
    raise ModuleNotFoundError(path)


def test_every_equation_and_result_is_listed():
    numbers = [number for number, _ in ROWS]
    assert numbers[:30] == [f"({i})" for i in range(1, 31)]
    assert [number.split()[1] for number in numbers[30:]] == [str(i) for i in range(1, len(numbers) - 29)]


@pytest.mark.parametrize(("number", "path"), NAMED)
def test_function_exists_and_cites_the_number(number, path):
    source = inspect.getsource(find(path))
    assert re.search(rf"eqs?\. [^.]*{re.escape(number)}" if number.startswith("(") else rf"\b{number}\b", source)
