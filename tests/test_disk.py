"""Files are written whole or not at all, and never through a link that leads out of the current folder."""

from __future__ import annotations

import errno
import os
import stat
import threading
from pathlib import Path
from typing import Any

import pytest

from gotlang import disk
from gotlang.disk import Draft, open_own, real_path, replace_file


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The current folder, next to another user's."""
    (tmp_path / "here").mkdir()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "victim").write_text("precious")
    monkeypatch.chdir(tmp_path / "here")
    return tmp_path / "here"


def test_a_file_comes_with_its_folder_and_keeps_its_permissions(folder: Path) -> None:
    replace_file("new/x.json", b"1")
    assert (folder / "new" / "x.json").read_bytes() == b"1"
    os.chmod("new/x.json", 0o600)
    replace_file("new/x.json", b"2")
    assert (folder / "new" / "x.json").read_bytes() == b"2"
    assert stat.S_IMODE(os.stat("new/x.json").st_mode) == 0o600
    assert os.listdir("new") == ["x.json"]


def test_a_new_file_has_the_permissions_of_the_umask() -> None:
    before = os.umask(0o027)
    try:
        replace_file("x", b"")
    finally:
        os.umask(before)
    assert stat.S_IMODE(os.stat("x").st_mode) == 0o640


@pytest.mark.parametrize("step", ["open_file", "write", "sync", "rename"])
def test_a_step_that_fails_leaves_the_old_file_and_nothing_else(
    step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    replace_file("x", b"old")

    def full(*_: Any) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(disk, step, full)
    with pytest.raises(OSError, match="No space left"):
        replace_file("x", b"new")
    assert Path("x").read_bytes() == b"old"
    assert os.listdir() == ["x"]


def test_a_write_that_takes_a_part_is_continued(monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(disk, "write", lambda file, content: real(file, content[:3]))
    replace_file("x", b"0123456789")
    assert Path("x").read_bytes() == b"0123456789"


@pytest.mark.parametrize("path", ["link", "folder/x", "folder/deep/x", "dangling", "near/../folder/x"])
def test_a_link_out_of_the_current_folder_is_refused(folder: Path, path: str) -> None:
    (folder / "link").symlink_to("../other/victim")
    (folder / "folder").symlink_to(folder.parent / "other")
    (folder / "dangling").symlink_to(folder.parent / "other" / "new")
    (folder / "near").mkdir()
    for act in (lambda: replace_file(path, b"gone"), lambda: open_own(path), lambda: Draft(path)):
        with pytest.raises(OSError, match="a link leads out of the current folder, to /"):
            act()
    assert {p.name: p.read_text() for p in (folder.parent / "other").iterdir()} == {"victim": "precious"}


def test_a_link_inside_is_followed(folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "x").write_text("old")
    (folder / "x").symlink_to("real/x")
    (folder / "to").symlink_to("real")
    replace_file("x", b"new")
    replace_file("to/y", b"new")
    assert (folder / "x").is_symlink()
    assert [(folder / "real" / name).read_text() for name in "xy"] == ["new", "new"]


def test_where_the_user_points_elsewhere_links_are_the_users(folder: Path) -> None:
    (folder.parent / "elsewhere").symlink_to("other")
    replace_file("../elsewhere/x", b"1")
    replace_file(folder.parent / "elsewhere" / "y", b"2")
    assert sorted(os.listdir(folder.parent / "other")) == ["victim", "x", "y"]


def test_pipes_and_devices_are_written_as_they_are() -> None:
    replace_file("/dev/null", b"x")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    os.mkfifo("pipe")
    read: list[bytes] = []
    reader = threading.Thread(target=lambda: read.append(Path("pipe").read_bytes()))
    reader.start()
    replace_file("pipe", b"through")
    reader.join(10)
    assert read == [b"through"]


@pytest.mark.parametrize("name", ["a\0b", "a\ud800"])
def test_a_name_that_no_file_can_have_is_an_error_of_the_system(name: str) -> None:
    for act in (replace_file, lambda path, _: real_path(path)):
        with pytest.raises(OSError, match="no file can have such a name"):
            act(name, b"")


def test_a_draft_that_is_kept_early_can_be_read_while_it_grows() -> None:
    replace_file("x", b"old")
    with Draft("x") as draft:
        draft.keep()
        draft.write(b"a")
        assert Path("x").read_bytes() == b"a"
        draft.write(b"b")
    assert Path("x").read_bytes() == b"ab"
