"""Downloads by pooch from a local server, with damaged files, failures and a full cache."""

import builtins
import hashlib
import os
import socket
from dataclasses import replace

import numpy as np
import pytest

from ravine_paper.datasets import (
    CorruptDatasetError,
    DatasetError,
    DownloadError,
    Member,
    MissingDownloaderError,
    Source,
    UnreadableDatasetError,
    cache_folder,
    fingerprint,
    load,
)
from ravine_paper.datasets import download as module
from ravine_paper.datasets.catalogue import CARDS
from ravine_paper.datasets.parsers import parse_files
from support.archive_files import serve_files, zip_files

pooch = pytest.importorskip("pooch")

WINE = b"1,14.23,1.71,2.43,15.6,127,2.8,3.06,.28,2.29,5.64,1.04,3.92,1065\n3" + b",1" * 13 + b"\n2" + b",7" * 13 + b"\n"
DATA, TARGET, NAMES = parse_files("wine", {"wine.data": WINE})
ZIP = zip_files({"Index": b"nothing", "wine.data": WINE, "wine.names": b"text"})


def sha256(content):
    return hashlib.sha256(content).hexdigest()


@pytest.fixture(autouse=True)
def clean(monkeypatch, tmp_path):
    monkeypatch.delenv("RAVINE_DATA", raising=False)
    monkeypatch.setenv("RAVINE_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(module, "RETRIES", 0)
    monkeypatch.setattr(module, "TIMEOUT_SECONDS", 5)
    for variable in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(variable, raising=False)


@pytest.fixture
def card(monkeypatch):
    """Return a function that registers a small data set as wine, with the given sources."""

    def put(*sources, **changes):
        content = {"classes": {"1": 1, "2": 1, "3": 1}, "fingerprint": fingerprint(DATA, TARGET), **changes}
        toy = replace(CARDS["wine"], n=3, sources=sources, **content)
        monkeypatch.setitem(CARDS, "wine", toy)
        return toy

    return put


def cached_files():
    return sorted(name for _, _, names in os.walk(cache_folder()) for name in names)


def test_archive_is_downloaded_once_and_kept(card):
    with serve_files({"a/wine+set.zip": ZIP}) as (url, asked):
        card(Source(url + "a/wine+set.zip", sha256(ZIP), (Member("wine.data", (sha256(WINE),)),)))
        dataset = load("wine")
        assert np.array_equal(dataset.data, DATA)
        assert dataset.target.tolist() == ["1", "3", "2"]
        assert dataset.feature_names == NAMES
        assert dataset.checked
        assert dataset.origin == url + "a/wine+set.zip"
        assert cached_files() == ["wine_set.zip"]
        assert np.array_equal(load("wine").data, DATA)
        assert len(asked) == 1
    assert np.array_equal(load("wine", download=False).data, DATA)  # without a server


def test_plain_file_needs_no_zip(card):
    with serve_files({"wine.data": WINE}) as (url, _):
        card(Source(url + "wine.data", sha256(WINE)))
        assert np.array_equal(load("wine").data, DATA)


@pytest.mark.parametrize("folder", ["", "Some Folder/", "a/b/"])
def test_members_are_found_in_folders_and_nested_archives(card, folder):
    inner = zip_files({"__MACOSX/wine.data": b"x", "not-wine.data": b"x", folder + "wine.data": WINE})
    for content in (inner, zip_files({"inner.zip": inner, "readme.txt": b"x"})):
        with serve_files({"w.zip": content}) as (url, _):
            card(Source(url + "w.zip", None, (Member("wine.data"),)))
            assert np.array_equal(load("wine").data, DATA)
        module.remove_cached(CARDS["wine"])


@pytest.mark.parametrize("pinned", [True, False])
@pytest.mark.parametrize("damage", [ZIP[:-40], ZIP[:60], b"", b"<html>moved</html>", ZIP.replace(b"14.23", b"14.24")])
def test_damaged_cache_is_replaced(card, pinned, damage):
    with serve_files({"w.zip": ZIP}) as (url, asked):
        card(Source(url + "w.zip", sha256(ZIP) if pinned else None, (Member("wine.data"),)))
        load("wine")
        path = cache_folder() / "archives" / "wine" / "w.zip"
        path.write_bytes(damage)
        with pytest.raises(CorruptDatasetError, match=r"w\.zip"):
            load("wine", download=False)
        assert path.read_bytes() == damage
        assert np.array_equal(load("wine").data, DATA)
        assert path.read_bytes() == ZIP
        assert len(asked) == 2


def test_file_with_wrong_hash_is_rejected_and_not_kept(card):
    with serve_files({"w.zip": ZIP}) as (url, _):
        card(Source(url + "w.zip", "0" * 64, (Member("wine.data"),)))
        with pytest.raises(CorruptDatasetError, match="SHA-256"):
            load("wine")
    assert cached_files() == []


def test_member_with_wrong_hash_is_rejected_and_not_kept(card):
    with serve_files({"w.zip": ZIP}) as (url, _):
        card(Source(url + "w.zip", None, (Member("wine.data", ("0" * 64, "1" * 64)),)))
        with pytest.raises(CorruptDatasetError, match=r"wine\.data.*SHA-256"):
            load("wine")
    assert cached_files() == []


def test_wrong_content_is_rejected_and_not_kept(card):
    with serve_files({"w.zip": zip_files({"wine.data": WINE.replace(b"1065", b"1066")})}) as (url, _):
        card(Source(url + "w.zip", None, (Member("wine.data"),)))
        with pytest.raises(CorruptDatasetError, match="order"):
            load("wine")
        assert cached_files() == []
        assert load("wine", check=False).data[0, -1] == 1066


def test_archive_without_the_file_is_rejected(card):
    with serve_files({"w.zip": zip_files({"other.data": WINE})}) as (url, _):
        card(Source(url + "w.zip", None, (Member("wine.data"),)))
        with pytest.raises(CorruptDatasetError, match=r"w\.zip.*wine\.data"):
            load("wine")


@pytest.mark.parametrize("status", [403, 404, 500, 503])
def test_status_of_the_server_is_reported(card, status):
    with serve_files({"w.zip": status}) as (url, _):
        card(Source(url + "w.zip", None, (Member("wine.data"),)))
        with pytest.raises(DownloadError, match=f"{status} .*RAVINE_DATA") as raised:
            load("wine")
    assert "\n" not in str(raised.value)
    assert isinstance(raised.value, OSError)
    assert cached_files() == []


def test_broken_connection_leaves_nothing(card):
    with serve_files({"w.zip": ("cut", ZIP)}) as (url, _):
        card(Source(url + "w.zip", None, (Member("wine.data"),)))
        with pytest.raises(DatasetError, match=r"w\.zip"):
            load("wine")
    assert cached_files() == []


def test_missing_connection_is_reported(card):
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/w.zip"
        card(Source(url, None, (Member("wine.data"),)))
        with pytest.raises(DownloadError, match=r"connection .*RAVINE_DATA") as raised:
            load("wine")
    assert "\n" not in str(raised.value)


def test_silent_server_times_out(card, monkeypatch):
    monkeypatch.setattr(module, "TIMEOUT_SECONDS", 0.2)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        card(Source(f"http://127.0.0.1:{silent.getsockname()[1]}/w.zip", None, (Member("wine.data"),)))
        with pytest.raises(DownloadError, match=r"0\.2 seconds"):
            load("wine")


def test_second_of_two_files_may_fail(card):
    files = {"s1.txt": b"1 2\n"}
    with serve_files(files) as (url, asked):
        card(Source(url + "s1.txt"), Source(url + "s1.labels0.gz"))
        with pytest.raises(DownloadError, match=r"s1\.labels0\.gz.*404"):
            load("wine")
        assert cached_files() == ["s1.txt"]
        with pytest.raises(DownloadError):
            load("wine")
        assert [path for path in asked if "s1.txt" in path] == ["/s1.txt"]  # a cached file is not downloaded again


@pytest.mark.parametrize("error", [OSError(28, "No space left on device"), PermissionError(13, "Permission denied")])
def test_unwritable_cache_is_reported(card, monkeypatch, error):
    def deny(*_, **__):
        raise error

    with serve_files({"w.zip": ZIP}) as (url, _):
        card(Source(url + "w.zip", None, (Member("wine.data"),)))
        monkeypatch.setattr(pooch.core.shutil, "move", deny)
        kind, message = (
            (UnreadableDatasetError, "set RAVINE_CACHE")
            if isinstance(error, PermissionError)
            else (DownloadError, "No space left on device")
        )
        with pytest.raises(kind, match=message):
            load("wine")
    assert cached_files() == []


def test_cache_that_is_a_file_is_reported(card, tmp_path, monkeypatch):
    (tmp_path / "file").write_text("x")
    monkeypatch.setenv("RAVINE_CACHE", str(tmp_path / "file"))
    card(Source("http://127.0.0.1:9/w.zip", None, (Member("wine.data"),)))
    with pytest.raises(DatasetError, match="file"):
        load("wine")


def test_missing_pooch_is_reported_with_the_command(card, monkeypatch, tmp_path):
    card(Source("http://127.0.0.1:9/w.zip", None, (Member("wine.data"),)))
    importing = builtins.__import__

    def without(name, *args, **kwargs):
        if name == "pooch":
            raise ModuleNotFoundError("No module named 'pooch'", name="pooch")
        return importing(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(MissingDownloaderError, match="pooch") as raised:
        load("wine")
    assert isinstance(raised.value, ModuleNotFoundError)
    monkeypatch.delenv("RAVINE_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "ravine"


def test_log_level_of_pooch_is_restored(card, capfd):
    level = pooch.get_logger().level
    with serve_files({"w.zip": ZIP}) as (url, _):
        card(Source(url + "w.zip", None, (Member("wine.data"),)))
        load("wine")
    assert pooch.get_logger().level == level
    assert capfd.readouterr() == ("", "")


def test_failed_downloads_are_retried(card, monkeypatch):
    monkeypatch.setattr(module, "RETRIES", 1)
    monkeypatch.setattr(pooch.core.time, "sleep", lambda _: None)
    answers = {"w.zip": 503}
    with serve_files(answers) as (url, asked):
        card(Source(url + "w.zip", None, (Member("wine.data"),)))
        with pytest.raises(DownloadError):
            load("wine")
        assert len(asked) == 2
