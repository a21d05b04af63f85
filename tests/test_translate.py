"""The command line that translates files and streams."""

import bz2
import gzip
import io
import lzma
import os
import pickle
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
import zstandard
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seq2seq import translate
from seq2seq.checkpoint import write_checkpoint
from tests.test_translator import SENTENCES, model_content

ROOT = Path(__file__).resolve().parent.parent
GREEDY = ("--beam-size", "1")
TEXT = "".join(f"{sentence}\n" for sentence in SENTENCES)
Cli = Callable[..., tuple[int, str, str]]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("run")
    write_checkpoint(model_content(), folder / "checkpoints" / "model.ckpt")
    return folder


class Stream(io.TextIOWrapper):
    """Stdin, stdout or stderr in memory."""

    def __init__(self, data: bytes = b"", is_terminal: bool = False) -> None:
        super().__init__(io.BytesIO(data), encoding="utf-8", newline="\n")
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal

    def written(self) -> str:
        self.flush()
        assert isinstance(self.buffer, io.BytesIO)
        return self.buffer.getvalue().decode()


def run_cli(*arguments: object, stdin: str | bytes = "", on_terminal: bool = False) -> tuple[int, str, str]:
    """Exit status, stdout and stderr of translate.py, in this process."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    streams = Stream(data), Stream(), Stream(is_terminal=on_terminal)
    with pytest.MonkeyPatch.context() as patch:
        for name, stream in zip(("stdin", "stdout", "stderr"), streams, strict=True):
            patch.setattr(sys, name, stream)
        try:
            translate.main([str(argument) for argument in arguments])
            status = 0
        except SystemExit as stop:
            status = stop.code if isinstance(stop.code, int) else 1
    return status, streams[1].written(), streams[2].written()


@pytest.fixture
def cli(run_dir: Path) -> Cli:
    def run(*arguments: object, stdin: str | bytes = "", on_terminal: bool = False) -> tuple[int, str, str]:
        defaults = ("--model", run_dir, "--device", "cpu", "--precision", "float32")
        return run_cli(*defaults, *arguments, stdin=stdin, on_terminal=on_terminal)

    return run


def translated(cli: Cli, text: str | bytes, *options: object) -> list[str]:
    """The lines that come out for a text on stdin."""
    status, out, err = cli(*options, stdin=text)
    assert status == 0, err
    assert out.endswith("\n") or not out
    return out.split("\n")[:-1]


def start(*arguments: object, **options: object) -> subprocess.Popen[bytes]:
    """translate.py as a process of its own."""
    command = [sys.executable, ROOT / "translate.py", *map(str, arguments)]
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, **options)  # type: ignore[call-overload]


# --- one line out for each line in ---


def test_lines_come_out_in_order_whatever_the_batches(cli: Cli) -> None:
    lines = translated(cli, TEXT * 2)
    assert len(lines) == 8
    assert lines[:4] == lines[4:]
    assert translated(cli, TEXT * 2, "--batch-tokens", 1) == lines
    assert translated(cli, "\n".join(SENTENCES[::-1])) == lines[3::-1]


def test_blank_lines_crlf_and_a_missing_last_line_end(cli: Cli) -> None:
    cat, gare = translated(cli, f"{SENTENCES[0]}\n{SENTENCES[3]}\n", *GREEDY)
    text = f"\n{SENTENCES[0]}\r\n \t\r\n\r\n{SENTENCES[3]}"
    assert translated(cli, text, *GREEDY) == ["", cat, "", "", gare]
    assert translated(cli, "") == []
    assert translated(cli, "\n") == [""]


def test_a_byte_order_mark_is_no_text(cli: Cli) -> None:
    assert translated(cli, b"\xef\xbb\xbf" + TEXT.encode(), *GREEDY) == translated(cli, TEXT, *GREEDY)


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.text(st.characters(exclude_categories=["Cs"]), max_size=30))
@example(text="a\u2028b\x0bc\x0cd\x85e\x1cf\x00g\nh\ri")
def test_as_many_lines_come_out_as_line_feeds_say(cli: Cli, text: str) -> None:
    n_lines = text.count("\n") + (not text.endswith("\n") and text != "")
    lines = translated(cli, text, *GREEDY)
    assert len(lines) == n_lines
    assert all(len(line.splitlines()) <= 1 for line in lines)


def test_n_best_lists_are_tables(cli: Cli) -> None:
    best = translated(cli, f"{SENTENCES[0]}\n\n{SENTENCES[1]}\n")
    rows = [line.split("\t") for line in translated(cli, f"{SENTENCES[0]}\n\n{SENTENCES[1]}\n", "--n-best", 2)]
    assert [(number, rank) for number, rank, _, _ in rows] == [
        ("1", "1"), ("1", "2"), ("2", "1"), ("3", "1"), ("3", "2")
    ]  # fmt: skip
    assert [text for _, rank, _, text in rows if rank == "1"] == best
    assert rows[2][2:] == ["0.0000", ""]
    assert float(rows[0][2]) >= float(rows[1][2])
    assert len(translated(cli, TEXT, "--n-best", 1)[0].split("\t")) == 4


def test_options_of_the_search_reach_it(cli: Cli) -> None:
    scores = {
        options: translated(cli, TEXT, "--n-best", 1, *options)
        for options in (
            (),
            GREEDY,
            ("--length-normalization", "none"),
            ("--length-normalization", "gnmt"),
            ("--length-normalization", "gnmt", "--alpha", "0.3"),
        )
    }
    assert len({tuple(lines) for lines in scores.values()}) == len(scores)


# --- files ---


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
    assert text.decode().split("\n")[:-1] == translated(cli, TEXT, *GREEDY)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, target.name])


def test_an_output_replaces_what_was_there_and_leaves_links_links(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "old.en").write_text("old\n")
    (tmp_path / "link.en").symlink_to(tmp_path / "old.en")
    assert cli("--output", tmp_path / "link.en", *GREEDY, stdin=TEXT)[0] == 0
    assert (tmp_path / "link.en").is_symlink()
    assert (tmp_path / "old.en").read_text().count("\n") == 4


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_devices_are_written_to_and_not_replaced(cli: Cli) -> None:
    assert cli("--output", "/dev/null", *GREEDY, stdin=TEXT)[0] == 0
    assert Path("/dev/null").is_char_device()
    status, _, err = cli("--output", "/dev/full", *GREEDY, stdin=TEXT)
    assert status == 2
    assert "error: cannot write /dev/full: No space left on device" in err


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("missing/out.en", "no directory {tmp}/missing; create it first"),
        ("folder", "is a directory; name a file in it"),
        ("in.fr", "would overwrite --input; choose another name"),
        ("folder/../in.fr", "would overwrite --input"),
        ("ref.en", "would overwrite --reference"),
        ("x" * 300, "File name too long: "),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_the_model_is_read(tmp_path: Path, output: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("in.fr", "ref.en"):
        (tmp_path / name).write_text(TEXT)
    files = ("--input", tmp_path / "in.fr", "--reference", tmp_path / "ref.en")
    status, out, err = run_cli("--model", "no model", *files, "--output", tmp_path / output)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message.format(tmp=tmp_path) in err
    assert (tmp_path / "in.fr").read_text() == TEXT


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may write everywhere")
def test_write_protected_outputs_are_refused(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "out.en").touch(mode=0o444)
    assert "is write-protected" in cli("--output", tmp_path / "out.en")[2]


def test_closed_streams_are_named_with_what_to_give_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, option in (("stdout", "--output"), ("stdin", "--input")):  # stdin is looked at first
        errors = Stream()
        monkeypatch.setattr(sys, "stderr", errors)
        monkeypatch.setattr(sys, name, None)
        with pytest.raises(SystemExit, match="2"):
            translate.main(["--model", "no model"])
        assert errors.written().startswith(f"error: {name} is closed; open it or give {option} FILE")


@pytest.mark.parametrize("option", ["--input", "--reference"])
def test_missing_files_and_directories_are_refused(tmp_path: Path, option: str) -> None:
    status, _, err = run_cli("--model", "no model", option, tmp_path / "in.fr")
    assert (status, err) == (2, f"error: {option} {tmp_path}/in.fr: no such file\n")
    status, _, err = run_cli("--model", "no model", option, tmp_path)
    assert (status, err) == (2, f"error: {option} {tmp_path}: is a directory; name a file\n")


def test_text_that_is_not_utf_8_is_refused_with_its_line(cli: Cli, tmp_path: Path) -> None:
    data = "Un chat.\nUn café.\n".encode("latin-1")
    source, target = tmp_path / "in.fr", tmp_path / "out.en"
    source.write_bytes(data)
    status, _, err = cli("--input", source, "--output", target)
    assert status == 2
    assert f"error: {source}:2: byte 7 of the line (0xe9) is not UTF-8" in err
    assert not target.exists()
    status, _, err = cli("--output", target, stdin=data)
    assert status == 2
    assert "error: stdin:2: byte 7 of the line (0xe9) is not UTF-8" in err
    assert list(tmp_path.iterdir()) == [source]


def test_damaged_input_leaves_no_output(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.fr.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    status, _, err = cli("--input", tmp_path / "in.fr.gz", "--output", tmp_path / "out.en")
    assert status == 2
    assert "in.fr.gz: damaged or cut off" in err
    assert [path.name for path in tmp_path.iterdir()] == ["in.fr.gz"]


def test_lines_beyond_the_model_are_refused_before_any_is_translated(cli: Cli, tmp_path: Path) -> None:
    text = f"{TEXT}{'Où est la gare ? ' * 30}\n"
    (tmp_path / "in.fr").write_text(text, encoding="utf-8")
    for files, stdin in ((("--input", tmp_path / "in.fr"), ""), ((), text)):
        status, out, err = cli(*files, stdin=stdin)
        assert (status, out) == (2, "")
        assert re.match(r"error: line 5 has \d+ tokens, and this model reads at most 59; split the line", err)


# --- models that are refused ---


class Malicious:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_what_is_no_model_is_refused_and_not_executed(run_dir: Path, tmp_path: Path) -> None:
    whole = (run_dir / "checkpoints" / "model.ckpt").read_bytes()
    trap = tmp_path / "executed"
    (tmp_path / "text.ckpt").write_text("no model")
    (tmp_path / "half.ckpt").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "pickle.ckpt").write_bytes(pickle.dumps(Malicious(trap)))
    write_checkpoint({"config": Malicious(trap)}, tmp_path / "code.ckpt")
    write_checkpoint({"state_dict": {}}, tmp_path / "other.ckpt")
    write_checkpoint(model_content(tokenizer_sha256="0" * 64), tmp_path / "mixed.ckpt")
    (tmp_path / "run").mkdir()
    for name, message in {
        "missing": "no such run directory or checkpoint",
        "run": "holds no checkpoint",
        "text.ckpt": "not a checkpoint",
        "half.ckpt": "not a checkpoint, or not a whole one",
        "pickle.ckpt": "not a checkpoint",
        "code.ckpt": "not a checkpoint",
        "other.ckpt": "has no config, tokenizer, tokenizer_sha256, so this project did not write it",
        "mixed.ckpt": "is not the one that the model was trained with",
    }.items():
        status, out, err = run_cli("--model", tmp_path / name, stdin=TEXT)
        assert (status, out) == (2, ""), name
        assert err.startswith(f"error: {tmp_path / name}: ")
        assert message in err
    assert not trap.exists()


# --- options ---


@pytest.mark.parametrize(
    "arguments",
    [("--beam-size", "0"), ("--n-best", "x"), ("--alpha", "-1"), ("--alpha", "nan"), ("--device", "abacus")],
)
def test_values_that_cannot_work_are_refused(cli: Cli, arguments: tuple[str, str]) -> None:
    status, _, err = cli(*arguments)
    assert status == 2
    assert f"argument {arguments[0]}: invalid" in err


def test_a_list_longer_than_the_beam_is_refused(cli: Cli) -> None:
    status, _, err = cli("--n-best", "4")  # the checkpoint's beam is 3
    assert (status, err) == (2, "error: --n-best 4 is more than a beam of 3 holds; add --beam-size 4\n")


def test_threads_are_torch_s(cli: Cli) -> None:
    import torch

    before = torch.get_num_threads()
    try:
        assert cli("--threads", before + 1)[0] == 0
        assert torch.get_num_threads() == before + 1
    finally:
        torch.set_num_threads(before)


# --- scores and reports ---


def test_scores_against_a_reference_have_signatures(cli: Cli, tmp_path: Path) -> None:
    reference = tmp_path / "ref.en"
    reference.write_text("".join(f"{line}\n" for line in translated(cli, TEXT)), encoding="utf-8")
    status, out, err = cli("--reference", reference, "--quiet", stdin=TEXT)
    assert (status, out) == (0, reference.read_text(encoding="utf-8"))
    bleu, chrf, ter = err.splitlines()
    assert re.match(r"bleu [\d.]+  nrefs:1\|case:mixed\|eff:no\|tok:13a\|", bleu)
    assert chrf.startswith("chrf 100.00  nrefs:1|")
    assert ter.startswith("ter 0.00  nrefs:1|")


def test_a_reference_of_another_length_is_refused(cli: Cli, tmp_path: Path) -> None:
    source, reference, target = tmp_path / "in.fr", tmp_path / "ref.en", tmp_path / "out.en"
    source.write_text(TEXT, encoding="utf-8")
    reference.write_text("one\ntwo\n")
    message = "error: --reference has 2 lines and the input 4;"
    status, out, err = cli("--input", source, "--reference", reference)
    assert (status, out) == (2, "")
    assert err.startswith(message)
    # The length of a stream is known at its end only; what was translated by then is kept.
    status, out, err = cli("--output", target, "--reference", reference, stdin=TEXT)
    assert status == 2
    assert message in err
    assert target.read_text().count("\n") == 4


def test_the_report_counts_lines_and_warnings(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(translate, "MAX_SHOWN_WARNINGS", 2)
    long = "é" * 25  # two byte pieces each
    status, _, err = cli(*GREEDY, stdin=f"{long}\n" * 3)
    assert status == 0
    assert re.search(r"^warning: line 1: \d+ tokens are more than the 40 ", err)
    assert err.count("warning: line ") == 2
    assert "further warnings are counted, but not shown" in err
    assert re.search(r"translated 3 lines in [\d.]+ s \([\d.]+ lines/s\), [3-9] warnings\n$", err)
    assert cli(*GREEDY, "--quiet", stdin=f"{long}\n")[2] == ""


def test_progress_is_shown_to_terminals_only(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(10_000))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    (tmp_path / "in.fr").write_text(TEXT, encoding="utf-8")
    arguments = ("--input", tmp_path / "in.fr", "--batch-tokens", 1)
    assert "\r2 of 4 lines, 1.0 lines/s" in cli(*arguments, on_terminal=True)[2]
    assert "\r2 lines, 1.0 lines/s" in cli("--batch-tokens", 1, stdin=TEXT, on_terminal=True)[2]
    assert "\r" not in cli(*arguments)[2]
    assert cli(*arguments, "--quiet", on_terminal=True)[2].count("\r") == 0


# --- as a process among others ---


def test_help_and_mistyped_options_do_not_wait_for_torch() -> None:
    code = """
import sys
from seq2seq.translate import main
try:
    main()
finally:
    assert "torch" not in sys.modules
"""
    for argument, status in (("--help", 0), ("--modle", 2)):
        done = subprocess.run([sys.executable, "-c", code, argument], cwd=ROOT, capture_output=True)
        assert done.returncode == status, done.stderr


def test_a_process_translates_stdin_to_stdout(cli: Cli, run_dir: Path) -> None:
    options = ("--device", "cpu", "--precision", "float32")
    process = start("--model", run_dir, *options, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    out, err = process.communicate(TEXT.encode())
    assert process.returncode == 0, err
    assert out.decode().split("\n")[:-1] == translated(cli, TEXT)
    assert b"translated 4 lines" in err


def test_a_closed_stdout_ends_the_process_quietly(run_dir: Path) -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    process = start("--model", run_dir, "--quiet", stdin=subprocess.PIPE, stdout=write_end)
    os.close(write_end)
    _, err = process.communicate(TEXT.encode())
    assert (process.returncode, err) == (141, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")
@pytest.mark.parametrize(("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_process_leaves_no_file(
    run_dir: Path, tmp_path: Path, signum: signal.Signals, status: int
) -> None:
    process = start("--model", run_dir, "--output", tmp_path / "out.en", stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write(TEXT.encode())  # and no end of it
    process.stdin.flush()
    deadline_s = time.monotonic() + 60
    while not list(tmp_path.iterdir()) and time.monotonic() < deadline_s:
        time.sleep(0.05)
    assert [path.suffix for path in tmp_path.iterdir()] == [".tmp"]
    process.send_signal(signum)
    _, err = process.communicate()
    assert process.returncode == status
    assert b"Traceback" not in err
    assert not list(tmp_path.iterdir())


def test_a_person_at_a_terminal_gets_each_line_at_once(run_dir: Path) -> None:
    pty = pytest.importorskip("pty")
    keyboard, terminal = pty.openpty()
    process = start("--model", run_dir, *GREEDY, stdin=terminal, stdout=subprocess.PIPE)
    os.close(terminal)
    assert process.stdout is not None
    os.write(keyboard, f"{SENTENCES[0]}\n".encode())
    assert process.stdout.readline().endswith(b"\n")  # before the end of the input
    os.write(keyboard, b"\n\x04")
    out, err = process.communicate()
    os.close(keyboard)
    assert (process.returncode, out) == (0, b"\n"), err
