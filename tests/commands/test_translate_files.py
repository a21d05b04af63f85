"""The files that the command line reads and writes."""

import bz2
import gzip
import json
import lzma
import os
import re
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard

from seq2seq.cli import front_door
from tests.commands.learned_text import GREEDY, LEARNED, REFERENCES, SOURCES, read, write
from tests.devices import device, needs_devices
from tests.translating import SENTENCES, TEXT, Cli, Stream, run_cli


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_files_are_plain_or_compressed_by_their_names(cli: Cli, tmp_path: Path, suffix: str) -> None:
    pack: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".bz2": bz2.compress,
        ".zst": zstandard.compress,
    }
    unpack: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.decompress,
        ".xz": lzma.decompress,
        ".bz2": bz2.decompress,
    }
    source, target = tmp_path / f"in.fr{suffix}", tmp_path / f"out.en{suffix}"
    source.write_bytes(pack.get(suffix, bytes)(TEXT.encode()))
    status, out, err = cli("--input", source, "--output", target, *GREEDY)
    assert (status, out) == (0, ""), err
    data = target.read_bytes()
    text = (
        zstandard.ZstdDecompressor().stream_reader(data).read() if suffix == ".zst" else unpack.get(suffix, bytes)(data)
    )
    assert text.decode().split("\n")[:-1] == cli.lines(TEXT, *GREEDY)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, target.name])


def test_an_output_replaces_what_was_there_and_leaves_links_links(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "old.en").write_text("old\n")
    (tmp_path / "link.en").symlink_to(tmp_path / "old.en")
    assert cli("--output", tmp_path / "link.en", *GREEDY, stdin=TEXT)[0] == 0
    assert (tmp_path / "link.en").is_symlink()
    assert read(tmp_path / "old.en") == cli.lines(TEXT, *GREEDY)


def test_what_is_complete_is_not_translated_again(trained: Cli, tmp_path: Path, translations: list[str]) -> None:
    source, target = write(tmp_path / "in", SOURCES), tmp_path / "out"
    files = ("--input", source, "--output", target, "--resume")
    assert trained(*files)[0] == 0  # begins where there is nothing
    assert read(target) == translations
    before = target.stat()
    status, out, err = trained(*files, "--reference", write(tmp_path / "ref", REFERENCES))
    assert (status, out) == (0, "")
    assert f"nothing to resume: {target} is complete" in err
    assert re.search(r"^bleu  ", err, re.MULTILINE)
    assert (target.stat().st_mtime_ns, target.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


def test_what_is_complete_is_not_taken_for_another_translation(trained: Cli, tmp_path: Path) -> None:
    source, target = write(tmp_path / "in", SOURCES[:4]), tmp_path / "out"
    options = ("--output", target, "--resume", "--reference", write(tmp_path / "ref", REFERENCES[:4]))
    assert trained("--input", source, *options)[0] == 0
    before = read(target)
    other = write(tmp_path / "other", [*SOURCES[:3], SOURCES[5]])
    for changed, message in (
        (("--input", other), f"lines 1 to 4 of the input are not those whose translations are in {target}; give the"),
        (("--input", source, "--beam-size", 2), f"{target} was translated with other settings: beam_size was 3 and is"),
        (("--input", source, "--prefix", source), "other settings: prefix was false and is now true. Ask for the"),
    ):
        error = trained.refusal(*changed, *options)
        assert message in error and "bleu" not in error
        assert "leave out --resume to translate it again, or choose another --output\n" in error
    target.write_text("edited\n")
    assert f"{target} was changed after it was translated" in trained.refusal("--input", source, *options)
    target.unlink()
    write(target, before)
    assert f"{target} exists, but there is no record" in trained.refusal("--input", source, *options)


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="needs named pipes")
@pytest.mark.parametrize("option", ["--prefix", "--score"])
def test_lines_from_a_pipe_are_compared_too(trained: Cli, tmp_path: Path, option: str) -> None:
    source, target, pipe = write(tmp_path / "in", SOURCES[:4]), tmp_path / "out", tmp_path / "pipe"
    os.mkfifo(pipe)

    def run(lines: list[str]) -> tuple[int, str, str]:
        threading.Thread(target=write, args=(pipe, lines), daemon=True).start()
        return trained("--input", source, option, pipe, "--output", target, "--resume")

    lines = [line.split()[0] for line in REFERENCES[:4]]
    assert run(lines)[0] == 0
    assert "nothing to resume" in run(lines)[2]
    status, _, err = run([*lines[:2], "Bas", lines[3]])
    assert (status, f"error: lines 1 to 4 of {option} are not those whose" in err) == (2, True)


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
    assert "cannot be resumed" in cli.refusal("--output", null, "--resume", stdin=TEXT)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("missing/out.en", "no directory {tmp}/missing; create it first"),
        ("folder", "is a directory; name a file in it"),
        ("in.fr", "would overwrite --input; choose another name"),
        ("folder/../in.fr", "would overwrite --input"),
        ("ref.en", "would overwrite --reference"),
        ("model.ckpt", "would overwrite --model"),
        ("x" * 300, "File name too long: "),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_the_model_is_read(tmp_path: Path, output: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("in.fr", "ref.en", "model.ckpt"):
        (tmp_path / name).write_text(TEXT)
    files = ("--input", tmp_path / "in.fr", "--reference", tmp_path / "ref.en")
    status, out, err = run_cli("--model", tmp_path / "model.ckpt", *files, "--output", tmp_path / output)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message.format(tmp=tmp_path) in err
    assert {(tmp_path / name).read_text() for name in ("in.fr", "ref.en", "model.ckpt")} == {TEXT}


@pytest.mark.parametrize("option", ["--compare", "--prefix", "--score"])
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


@pytest.mark.parametrize("option", ["--input", "--reference", "--compare", "--prefix", "--score"])
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
    assert "\n1 translated lines are kept in" in refused  # a stream cannot be read before the work begins
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
