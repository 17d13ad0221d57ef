"""``ravine-paper data`` on the command line."""

import json

import numpy as np
import pytest

click_testing = pytest.importorskip("click.testing")

from ravine_paper.cli.data import data  # noqa: E402
from ravine_paper.datasets import list_datasets, load  # noqa: E402
from ravine_paper.datasets.catalogue import CARDS  # noqa: E402
from ravine_paper.datasets.content import fingerprint  # noqa: E402


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    monkeypatch.delenv("RAVINE_DATA", raising=False)
    monkeypatch.setenv("RAVINE_CACHE", str(tmp_path / "cache"))


def run(*words):
    return click_testing.CliRunner().invoke(data, list(words))


def put_toy(monkeypatch, folder, name="wine"):
    from dataclasses import replace

    folder.mkdir(exist_ok=True)
    (folder / f"{name}.csv").write_text("p,label\n1,a\n2,b\n")
    print_of = fingerprint(np.array([[1.0], [2.0]]), np.array(["a", "b"]))
    monkeypatch.setitem(CARDS, name, replace(CARDS[name], n=2, d=1, classes={"a": 1, "b": 1}, fingerprint=print_of))
    monkeypatch.setenv("RAVINE_DATA", str(folder))


def test_list_names_every_set(tmp_path, monkeypatch):
    put_toy(monkeypatch, tmp_path)
    result = run("list")
    assert result.exit_code == 0
    table = [line.split("\t") for line in result.output.splitlines()]
    assert [row[0] for row in table] == ["name", *list_datasets()]
    assert {row[0]: row[4] for row in table[1:]} == {n: "folder" if n == "wine" else "archive" for n in list_datasets()}


def test_list_as_json():
    cards = json.loads(run("list", "--json").output)
    assert [card["name"] for card in cards] == list(list_datasets())
    assert cards[0]["classes"] == {"0": 762, "1": 610}
    assert cards[0]["where"] == "archive"


def test_list_on_a_terminal_is_a_table(monkeypatch, capsys):
    import sys

    from ravine_paper.cli.data import list_

    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    list_.callback(as_json=False)
    assert "Data sets" in capsys.readouterr().out


def test_describe_shows_the_card():
    result = run("describe", "optidigits")
    assert result.exit_code == 0
    assert "doi:10.24432/C50P49" in result.output
    assert max(map(len, result.output.splitlines())) <= 120
    assert json.loads(run("describe", "optidigits", "--json").output)["n"] == 5620


def test_an_unknown_name_is_one_line():
    for command in ("describe", "fetch"):
        result = run(command, "wnie")
        assert result.exit_code == 1
        assert "'wnie'" in result.output
    assert "'wine'?" in result.output
    assert len(result.output.splitlines()) == 1


def test_fetch_writes_the_sets_into_a_folder(tmp_path, monkeypatch):
    put_toy(monkeypatch, tmp_path / "from")
    result = run("fetch", "wine", "wine", "--folder", str(tmp_path / "to"))
    assert result.exit_code == 0
    assert result.output.count("wine: 2 x 1, checked") == 1
    assert load("wine", tmp_path / "to").data.tolist() == [[1], [2]]


def test_fetch_goes_on_after_a_failure(tmp_path, monkeypatch):
    put_toy(monkeypatch, tmp_path)
    (tmp_path / "seeds.csv").write_text("broken")
    result = run("fetch", "seeds", "wine")
    assert result.exit_code == 1
    assert "seeds.csv" in result.output
    assert "wine: 2 x 1" in result.output
    assert "1 of 2 " in result.output


def test_a_missing_folder_is_one_line(tmp_path, monkeypatch):
    monkeypatch.setenv("RAVINE_DATA", str(tmp_path / "gone"))
    result = run("fetch", "wine")
    assert result.exit_code == 1
    assert "RAVINE_DATA=" in result.output


def test_listing_needs_no_data(tmp_path, monkeypatch):
    monkeypatch.setenv("RAVINE_DATA", str(tmp_path / "gone"))
    result = run("list")
    assert result.exit_code == 0
    assert result.output.count("\tmissing\t") == 15


def test_path_shows_both_places(tmp_path, monkeypatch):
    assert "not set" in run("path").output
    monkeypatch.setenv("RAVINE_DATA", "/some/where")
    assert json.loads(run("path", "--json").output) == {"folder": "/some/where", "cache": str(tmp_path / "cache")}
