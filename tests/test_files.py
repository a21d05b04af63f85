"""Files and folders that are whole or not there at all."""

import json
import os
import stat
from pathlib import Path

import pytest

from seq2seq.files import atomic_directory, atomic_file, write_json


def test_a_failed_write_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def fail() -> None:
        with atomic_file(path) as file:
            file.write(b"half of the n")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert path.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [path]


def test_readers_see_the_old_file_until_the_new_one_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(b"old")
    with atomic_file(path) as file:
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"
    assert path.read_bytes() == b"new"
    assert list(tmp_path.iterdir()) == [path]


def test_files_get_the_permissions_of_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        with atomic_file(tmp_path / "file") as file:
            file.write(b"x")
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "file").stat().st_mode) == 0o640


def test_the_folders_on_the_way_are_made(tmp_path: Path) -> None:
    write_json(tmp_path / "a" / "b.json", {"é": [1]})
    assert (tmp_path / "a" / "b.json").read_text(encoding="utf-8").endswith("}\n")
    assert json.loads((tmp_path / "a" / "b.json").read_text(encoding="utf-8")) == {"é": [1]}


def test_a_folder_has_no_name_before_it_is_whole(tmp_path: Path) -> None:
    with atomic_directory(tmp_path / "a" / "folder") as building:
        (building / "sub").mkdir()
        (building / "sub" / "file").write_text("x")
        assert building.parent == tmp_path / "a"
        assert not (tmp_path / "a" / "folder").exists()
    assert (tmp_path / "a" / "folder" / "sub" / "file").read_text() == "x"
    assert list((tmp_path / "a").iterdir()) == [tmp_path / "a" / "folder"]


def fill(path: Path, text: str, replace: bool, fails: bool = False) -> None:
    with atomic_directory(path, replace=replace) as building:
        (building / "file").write_text(text)
        if fails:
            raise KeyboardInterrupt


@pytest.mark.parametrize("replace", [False, True])
def test_a_folder_that_failed_leaves_nothing_and_spoils_nothing(tmp_path: Path, replace: bool) -> None:
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "folder", "half", replace, fails=True)
    assert list(tmp_path.iterdir()) == []
    fill(tmp_path / "folder", "old", replace)
    with pytest.raises(KeyboardInterrupt):
        fill(tmp_path / "folder", "half", replace, fails=True)
    assert [path.read_text() for path in tmp_path.rglob("*") if path.is_file()] == ["old"]


def test_a_folder_is_replaced_only_if_asked_for(tmp_path: Path) -> None:
    fill(tmp_path / "folder", "old", replace=False)
    with pytest.raises(OSError, match="not empty"):
        fill(tmp_path / "folder", "new", replace=False)
    assert (tmp_path / "folder" / "file").read_text() == "old"
    fill(tmp_path / "folder", "new", replace=True)
    assert (tmp_path / "folder" / "file").read_text() == "new"
    assert list(tmp_path.iterdir()) == [tmp_path / "folder"]


def test_folders_get_the_permissions_of_the_umask(tmp_path: Path) -> None:
    old = os.umask(0o027)
    try:
        fill(tmp_path / "folder", "x", replace=False)
    finally:
        os.umask(old)
    assert stat.S_IMODE((tmp_path / "folder").stat().st_mode) == 0o750
