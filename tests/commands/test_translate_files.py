"""The files that the command line reads and writes."""

import gzip
import json
import os
import sys
from pathlib import Path

import pytest

from seq2seq.cli import front_door
from tests.commands.learned_text import GREEDY, LEARNED, REFERENCES, SOURCES, read, write
from tests.devices import device, needs_devices
from tests.translating import SENTENCES, TEXT, Cli, Stream, run_cli

needs_attributes = pytest.mark.skipif(not hasattr(os, "setxattr"), reason="only Linux has attributes of files")


@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_files_are_plain_or_compressed_by_their_names(cli: Cli, tmp_path: Path, suffix: str) -> None:
    source, target = tmp_path / f"in.fr{suffix}", tmp_path / f"out.en{suffix}"
    source.write_bytes(gzip.compress(TEXT.encode()) if suffix else TEXT.encode())
    status, out, err = cli("--input", source, "--output", target, *GREEDY)
    assert (status, out) == (0, ""), err
    data = target.read_bytes()
    text = gzip.decompress(data) if suffix else data
    assert text.decode().split("\n")[:-1] == cli.lines(TEXT, *GREEDY)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, target.name])


@needs_attributes
def test_what_is_complete_is_not_translated_again(trained: Cli, tmp_path: Path) -> None:
    source, target = write(tmp_path / "in", SOURCES[:4]), tmp_path / "out"
    files = ("--input", source, "--output", target, "--reference", write(tmp_path / "ref", REFERENCES[:4]))
    status, _, scores = trained(*files)
    assert status == 0
    before = target.stat()
    status, _, err = trained(*files)
    assert status == 0
    done, _, again = err.partition("\n")
    assert done == f"{target} is this translation already, and complete; remove it to translate again"
    assert "bleu  " in again and scores.endswith(again)
    assert (target.stat().st_mtime_ns, target.stat().st_ino) == (before.st_mtime_ns, before.st_ino)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in", "out", "ref"]


@needs_devices
def test_devices_are_written_to_and_not_replaced(cli: Cli, trained: Cli, tmp_path: Path) -> None:
    null, full = device(tmp_path, "null"), device(tmp_path, "full")
    reference = write(tmp_path / "ref", REFERENCES)
    status, _, err = trained("--output", null, "--reference", reference, stdin=LEARNED)
    assert status == 0, err
    assert null.is_char_device()
    assert "\nbleu  " in err  # of what cannot be read again
    status, _, err = cli("--output", full, *GREEDY, stdin=TEXT)
    assert status == 2
    assert f"error: cannot write {full}: No space left on device" in err


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("missing/out.en", "no directory {tmp}/missing; create it first"),
        ("folder", "is a directory, a disk or a socket; name a file"),
        ("in.fr", "would overwrite --input; choose another name"),
        ("folder/../in.fr", "would overwrite --input"),
        ("x" * 242, "File name too long: "),  # beside it lie names of 14 characters more
    ],
)
def test_outputs_that_cannot_be_are_refused_before_the_model_is_read(tmp_path: Path, output: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "in.fr").write_text(TEXT)
    status, out, err = run_cli("--model", "no model", "--input", tmp_path / "in.fr", "--output", tmp_path / output)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message.format(tmp=tmp_path) in err
    assert (tmp_path / "in.fr").read_text() == TEXT


@pytest.mark.parametrize("option", ["--reference", "--compare", "--prefix", "--score"])
def test_no_file_that_is_read_is_overwritten(cli: Cli, tmp_path: Path, option: str) -> None:
    source, other = write(tmp_path / "in", SENTENCES), write(tmp_path / "other", SENTENCES)
    more = ("--reference", source) if option == "--compare" else ()
    message = cli.refusal("--input", source, option, other, "--output", other, *more)
    assert message == f"error: --output {other} would overwrite {option}; choose another name\n"
    assert read(other) == SENTENCES


def test_write_protected_outputs_are_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out.en").touch(mode=0o444)
    monkeypatch.setattr(os, "access", lambda path, mode: bool(path.stat().st_mode & 0o222))  # root may write everywhere
    assert "is write-protected; choose another name" in cli.refusal("--output", tmp_path / "out.en")


def test_closed_streams_are_named_with_what_to_give_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, option in (("stdout", "--output"), ("stdin", "--input")):  # stdin is looked at first
        errors = Stream()
        monkeypatch.setattr(sys, "stderr", errors)
        monkeypatch.setattr(sys, name, None)
        with pytest.raises(SystemExit, match="2"):
            front_door("translate", ["--model", "no model"])
        assert errors.written().startswith(f"error: {name} is closed; open it or give {option} FILE")


@pytest.mark.parametrize("option", ["--input", "--reference", "--compare", "--prefix", "--score", "--terms"])
def test_missing_files_and_directories_are_refused(tmp_path: Path, option: str) -> None:
    here = write(tmp_path / "here", SENTENCES)
    more = ("--reference", here) if option == "--compare" else ()
    status, _, err = run_cli("--model", "no model", *more, option, tmp_path / "in.fr")
    assert (status, err) == (2, f"error: {option} {tmp_path}/in.fr: no such file\n")
    status, _, err = run_cli("--model", "no model", *more, option, tmp_path)
    assert (status, err) == (2, f"error: {option} {tmp_path}: is a directory; name a file\n")


def test_text_that_is_not_utf_8_is_refused_or_replaced(cli: Cli, tmp_path: Path) -> None:
    data = "Un chat.\nUn café.\nOui !\n".encode("latin-1")
    source, target = tmp_path / "in.fr", tmp_path / "out.en"
    source.write_bytes(data)
    message = "error: {}:2: byte 7 of the line (0xe9) is not UTF-8"
    assert message.format(source) in cli.refusal("--input", source, "--output", target)
    assert list(tmp_path.iterdir()) == [source]
    refused = cli.refusal("--output", target, "--errors", "strict", stdin=data)
    assert message.format("stdin") in refused
    assert "kept" not in refused  # of a block that is cut off
    assert not target.exists()
    for files, stdin in ((("--input", source), b""), ((), data)):
        status, out, err = cli(*files, "--errors", "replace", "--json", *GREEDY, stdin=stdin)
        assert status == 0, err
        assert [json.loads(line)["source"] for line in out.split("\n")[:-1]] == ["Un chat.", "Un caf\ufffd.", "Oui !"]
        assert "\n1 lines of input were not UTF-8; U+FFFD stands for what could not be read\n" in err


def test_damaged_input_leaves_no_output(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.fr.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    message = cli.refusal("--input", tmp_path / "in.fr.gz", "--output", tmp_path / "out.en")
    assert "in.fr.gz: damaged or cut off" in message
    assert [path.name for path in tmp_path.iterdir()] == ["in.fr.gz"]
