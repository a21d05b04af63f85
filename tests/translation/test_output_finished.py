"""What --resume does with a file that is complete."""

import json
import os
import shutil
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.errors import TranslationError
from seq2seq.translation.resumable import AlreadyTranslated
from tests.translation.eleven_lines import LINES, SETTINGS, SUFFIXES, WHOLE, interrupted, names, text, translate

ANEW = "leave out --resume to translate it again, or choose another --output"


@pytest.fixture(autouse=True)
def state(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where records go that no attribute can hold."""
    folder = tmp_path_factory.mktemp("state")
    monkeypatch.setenv("XDG_STATE_HOME", str(folder))
    return folder


# On Linux, no attribute holds this much, on any file system. So its record is a file.
LARGE = {**SETTINGS, "models": ["0" * 70_000]}


@pytest.mark.parametrize("suffix", SUFFIXES)
@pytest.mark.parametrize("fingerprint", [SETTINGS, LARGE], ids=["attribute", "file"])
def test_the_same_again_is_already_done(tmp_path: Path, suffix: str, fingerprint: dict[str, Any]) -> None:
    path = tmp_path / f"out.en{suffix}"
    interrupted(path, 8, fingerprint=fingerprint)
    translate(path, resume=True, fingerprint=fingerprint)
    before = path.stat()
    with pytest.raises(AlreadyTranslated, match=rf"^nothing to resume: {path} is complete; leave out --resume to tr"):
        translate(path, resume=True, fingerprint=fingerprint)
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    assert names(tmp_path) == [path.name]
    translate(path, fingerprint=fingerprint)
    assert text(path) == WHOLE


@pytest.mark.parametrize("fingerprint", [SETTINGS, LARGE], ids=["attribute", "file"])
def test_other_settings_are_named(tmp_path: Path, fingerprint: dict[str, Any]) -> None:
    path = tmp_path / "out.en"
    translate(path, fingerprint=fingerprint)
    with pytest.raises(TranslationError) as caught:
        translate(path, resume=True, fingerprint={**fingerprint, "beam_size": 5})
    assert str(caught.value) == (
        f"{path} was translated with other settings: beam_size was 4 and is now 5. Ask for the same, or {ANEW}"
    )
    assert path.read_bytes() == WHOLE and names(tmp_path) == ["out.en"]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["another", *LINES[1:]], "lines 1 to 11 of the input are not those whose translations are in {path}; give"),
        ([*LINES[:10], ""], "lines 1 to 11 of the input are not those whose translations are in {path}; give"),
        (LINES[:10], "the input has 10 lines, and {path} holds the translations of 11; give the same input, or"),
        ([], "the input has 0 lines, and {path} holds the translations of 11; give the same input, or "),
        ([*LINES, ""], "the input has more than the 11 lines whose translations are in {path}; "),
    ],
)
def test_another_input_is_refused(tmp_path: Path, lines: list[str], message: str) -> None:
    path = tmp_path / "out.en"
    translate(path)
    with pytest.raises(TranslationError) as caught:
        translate(path, resume=True, lines=lines)
    assert str(caught.value).startswith(message.format(path=path))
    assert str(caught.value).endswith(ANEW)
    assert not isinstance(caught.value, AlreadyTranslated)
    assert path.read_bytes() == WHOLE and names(tmp_path) == ["out.en"]


def test_an_input_without_lines_can_be_done_too(tmp_path: Path) -> None:
    translate(tmp_path / "out.en", lines=[])
    with pytest.raises(AlreadyTranslated):
        translate(tmp_path / "out.en", resume=True, lines=[])
    with pytest.raises(TranslationError, match="the input has more than the 0 lines"):
        translate(tmp_path / "out.en", resume=True)


@pytest.mark.parametrize("fingerprint", [SETTINGS, LARGE], ids=["attribute", "file"])
@pytest.mark.parametrize("edit", [lambda data: data + b"\n", lambda data: b"z" + data[1:], lambda data: b""])
def test_a_file_that_was_edited_is_noticed(tmp_path: Path, edit: Any, fingerprint: dict[str, Any]) -> None:
    path = tmp_path / "out.en"
    translate(path, fingerprint=fingerprint)
    status = path.stat()
    edited = edit(path.read_bytes())
    path.write_bytes(edited)
    os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # not the time gives it away
    with pytest.raises(TranslationError, match=rf"^{path} was changed after it was translated; {ANEW}$"):
        translate(path, resume=True, fingerprint=fingerprint)
    assert path.read_bytes() == edited


def test_a_file_of_unknown_origin_is_not_taken_for_done(tmp_path: Path) -> None:
    path = tmp_path / "out.en"
    path.write_bytes(WHOLE)
    message = rf"^{path} exists, but there is no record of how it was made \(.*\), so --resume cannot tell .*; {ANEW}$"
    with pytest.raises(TranslationError, match=message):
        translate(path, resume=True)
    assert path.read_bytes() == WHOLE and names(tmp_path) == ["out.en"]
    translate(path)
    shutil.copyfile(path, tmp_path / "copy.en")
    with pytest.raises(TranslationError, match="there is no record"):
        translate(tmp_path / "copy.en", resume=True)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs attributes of files")
@pytest.mark.parametrize("record", [b"", b"{}", b"[1]", b"null", b'{"format": 1}', b"\xff"])
def test_a_record_that_cannot_be_read_is_none(tmp_path: Path, record: bytes) -> None:
    path = tmp_path / "out.en"
    translate(path)
    os.setxattr(path, "user.seq2seq.translation", record)
    with pytest.raises(TranslationError, match="there is no record"):
        translate(path, resume=True)


def test_a_record_of_another_version_is_none(tmp_path: Path, state: Path) -> None:
    path = tmp_path / "out.en"
    translate(path, fingerprint=LARGE)
    (index,) = state.rglob("*.json")
    content = json.loads(index.read_text())
    assert content["path"] == str(path)
    content["record"]["format"] = 3
    index.write_text(json.dumps(content))
    with pytest.raises(TranslationError, match="there is no record"):
        translate(path, resume=True, fingerprint=LARGE)


@pytest.mark.skipif(not hasattr(os, "setxattr"), reason="needs attributes of files")
def test_a_renamed_file_is_still_known(tmp_path: Path) -> None:
    translate(tmp_path / "out.en")
    (tmp_path / "out.en").rename(tmp_path / "final.en")
    with pytest.raises(AlreadyTranslated):
        translate(tmp_path / "final.en", resume=True)


def test_without_any_place_for_a_record_the_translation_is_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    translate(tmp_path / "out.en", fingerprint=LARGE)
    assert (tmp_path / "out.en").read_bytes() == WHOLE
    with pytest.raises(TranslationError, match="there is no record"):
        translate(tmp_path / "out.en", resume=True, fingerprint=LARGE)


# --- lines that go with the input ---

PREFIXES = [f"Anfang {i % 4}" for i in range(11)]


@settings(max_examples=30)
@given(stop=st.integers(3, 10), changed=st.integers(0, 10), is_complete=st.booleans())
def test_changed_prefixes_are_noticed_where_they_were_used(
    tmp_path_factory: pytest.TempPathFactory, stop: int, changed: int, is_complete: bool
) -> None:
    path = tmp_path_factory.mktemp("prefixes") / "out.en"
    if is_complete:
        translate(path, parallel=PREFIXES)
    else:
        interrupted(path, stop, parallel=PREFIXES)
    n_done = 11 if is_complete else stop // 3 * 3
    others = [*PREFIXES[:changed], "Ende", *PREFIXES[changed + 1 :]]
    if changed < n_done:
        with pytest.raises(TranslationError, match=rf"^lines 1 to {n_done} of --prefix are not those .*; give the sa"):
            translate(path, resume=True, parallel=others)
        with pytest.raises(TranslationError, match=rf"^--prefix has {changed} lines, and .* translations of {n_done}"):
            translate(path, resume=True, parallel=PREFIXES[:changed])
    with pytest.raises(AlreadyTranslated) if is_complete else nullcontext():
        assert translate(path, resume=True, parallel=PREFIXES if changed < n_done else others) == n_done
    assert path.read_bytes() == WHOLE
