"""Files are written whole or not at all."""

import errno
import os

import pytest

from ravine import _files
from ravine._files import find_obstacle, replace_file, write_text


def full_disk(*args, **kwargs):
    raise OSError(errno.ENOSPC, "No space left on device", "x")


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "a.txt"
    write_text(path, "old")
    monkeypatch.setattr(_files.os, "fsync", full_disk)
    with pytest.raises(OSError, match="No space"):
        write_text(path, "new")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interruption_leaves_the_old_file(tmp_path, error):
    path = tmp_path / "a.txt"
    write_text(path, "old")

    def interrupted():
        with replace_file(path) as part:
            part.write_text("half")
            raise error

    with pytest.raises(error):
        interrupted()
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["a.txt"]


def test_files_have_the_usual_rights(tmp_path):
    (tmp_path / "usual").write_text("")
    write_text(tmp_path / "ours", "")
    assert (tmp_path / "ours").stat().st_mode == (tmp_path / "usual").stat().st_mode


def test_errors_name_the_folder_not_the_temporary_file(tmp_path):
    with pytest.raises(IsADirectoryError) as caught:
        write_text(tmp_path, "x")
    assert caught.value.filename == str(tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        write_text(tmp_path / "missing" / "a.txt", "x")
    assert caught.value.filename == str(tmp_path / "missing")


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs POSIX")
def test_only_files_are_replaced(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "missing" / "a.txt")
    controller, device = os.openpty()
    for path, kind in (
        (tmp_path / "pipe", "a pipe"),
        (tmp_path / "link", "a broken link"),
        (os.ttyname(device), "a device"),
    ):
        assert find_obstacle(path) == kind
        with pytest.raises(OSError, match=f"{kind}, not a file") as caught:
            write_text(path, "x")
        assert caught.value.filename == str(path)
    os.close(controller)
    os.close(device)
    (tmp_path / "a.txt").write_text("old")
    (tmp_path / "good").symlink_to(tmp_path / "a.txt")
    assert [find_obstacle(tmp_path / name) for name in ("a.txt", "good", "new")] == ["", "", ""]
    assert find_obstacle(tmp_path) == "a folder"
