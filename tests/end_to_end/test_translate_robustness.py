"""Whatever comes in, as many lines go out; whatever stops it, what was done is kept."""

import errno
import itertools
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from seq2seq.commands import translate
from seq2seq.corpus.reader import decode_lines, read_lines
from seq2seq.translation import stream
from tests.translating import (
    SENTENCES,
    SMALL_WINDOWS,
    TEXT,
    Cli,
    model_content,
    sentences,
    start,
    trained_content,
    write_run,
)
from tests.translation.test_output import device, needs_devices

FEW_TOKENS = ("--beam-size", 1, "--max-length", 0, 2)
SOURCES, REFERENCES = (list(sides) for sides in zip(*sentences(23, seed=3), strict=True))
any_text = st.text(st.characters(exclude_categories=["Cs"]), max_size=30)
needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"), model_content())


@pytest.fixture(scope="module")
def cli(run_dir: Path) -> Cli:
    return Cli(run_dir)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Cli:
    return Cli(write_run(tmp_path_factory.mktemp("trained"), trained_content()))


@pytest.fixture
def small_windows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Windows of three lines, each brought to disk at once."""
    monkeypatch.setattr(translate, "_CONFIRM_EVERY_S", -1.0)
    monkeypatch.setattr(stream, "WINDOWS", (3,))


# --- lines out equal lines in ---


def n_lines(data: bytes) -> int:
    return data.count(b"\n") + (not data.endswith(b"\n") and data != b"")


@settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=any_text)
@example(text="a\u2028b\x0bc\x0cd\x85e\x1cf\x00g\nh\ri")
@example(text="\n\n")
@example(text="\ufeff\n\ufeff")
def test_as_many_lines_come_out_as_line_feeds_say(cli: Cli, text: str) -> None:
    lines = cli.lines(text, *FEW_TOKENS)
    assert len(lines) == n_lines(text.encode())
    assert all(len(line.splitlines()) <= 1 for line in lines)


@settings(max_examples=15, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.binary(max_size=20))
@example(data=b"\xff\n\xfe\xff\n\xe2\x80")
def test_as_many_lines_come_out_whatever_the_bytes(cli: Cli, data: bytes) -> None:
    lines = cli.lines(data, *FEW_TOKENS, "--errors", "replace")
    assert len(lines) == n_lines(data)


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(texts=st.lists(any_text.map(lambda text: text.replace("\n", "")), max_size=5))
def test_json_gives_each_line_back(cli: Cli, texts: list[str]) -> None:
    lines = cli.lines("".join(f"{text}\n" for text in texts), *FEW_TOKENS, "--json")
    expected = [text.removesuffix("\r") for text in texts]
    if expected:
        expected[0] = texts[0].removeprefix("\ufeff").removesuffix("\r")
    assert [json.loads(line)["source"] for line in lines] == expected


STRANGE = {
    "empty": b"",
    "one line feed": b"\n",
    "blank lines": b"\n\n\n",
    "only spaces": " \n\t \n\u3000\u00a0\n".encode(),
    "crlf": TEXT.replace("\n", "\r\n").encode(),
    "cr alone": b"Un chat.\rOui !\r",
    "nul": b"Un\x00chat\n\x00\nOui !\n",
    "byte order mark": b"\xef\xbb\xbf" + TEXT.encode(),
    "byte order mark alone": b"\xef\xbb\xbf",
    "line separators": "Un\u2028chat\nUn\u0085chat\nUn\x0bchat\nUn\x0cchat\nUn\x1cchat\x1d\x1e\nUn\u2029\n".encode(),
    "no last line end": TEXT.removesuffix("\n").encode(),
    "scripts": "ཨོཾ་མ་ཎི་པདྨེ་ཧཱུྃ།\nتحية\n漢字かな交じり文。\nᚠᛇᚻ\nკარტული\n\U00012000\U00013000\n".encode(),
    "emoji": "😀👩‍👩‍👧‍👦🏳️‍🌈\n👍🏿 Oui ! 🇫🇷\n".encode(),
    "marks": ("e" + "\u0301" * 300 + "\n\u202eabc\n\ufffe\uffff\n").encode(),
    "special ids": b"<s> </s> <pad> <unk>\n<0x0A>\n\xe2\x96\x81\n",
    "invisible": "\u200b\n\x01\n\ufeff\nUn\u00adchat\n".encode(),
    "tabs": b"Un\tchat\t\n\t\n",
    "10,000 words": b"mot " * 10_000 + b"\nOui !\n",
    "10,000 sentences": b"Un chat dort. " * 10_000 + b"\n",
    "a word of 20,000 letters": b"x" * 20_000 + b"\nOui !\n",
}


@pytest.mark.parametrize("name", STRANGE)
def test_lines_out_equal_lines_in(cli: Cli, tmp_path: Path, name: str) -> None:
    data = STRANGE[name]
    (tmp_path / "in").write_bytes(data)
    expected = cli.lines(data, "--beam-size", 1, "--max-length", 0, 1)
    assert len(expected) == n_lines(data)
    assert all(len(line.splitlines()) <= 1 for line in expected)
    sources = list(read_lines(tmp_path / "in"))
    assert [not line for line in expected if not line.strip()] == [True] * sum(not line.strip() for line in expected)
    assert all(not line for source, line in zip(sources, expected, strict=True) if not source.strip())
    options = ("--beam-size", 1, "--max-length", 0, 1, "--json")
    status, out, err = cli("--input", tmp_path / "in", "--output", tmp_path / "out", *options)
    assert (status, out) == (0, ""), err
    records = [json.loads(line) for line in (tmp_path / "out").read_text(encoding="utf-8").split("\n")[:-1]]
    assert [record["source"] for record in records] == sources
    assert [record["translation"] for record in records] == expected


def test_a_line_of_a_megabyte_is_one_line(cli: Cli) -> None:
    line = "Le chien court. " * (1 << 16)
    (only, oui) = cli.lines(f"{line}\nOui !\n", "--beam-size", 1, "--max-length", 0, 1)
    assert only
    assert [oui] == cli.lines("Oui !", "--beam-size", 1, "--max-length", 0, 1)


def test_blank_lines_crlf_and_marks_change_no_other_line(trained: Cli) -> None:
    plain = trained.lines("".join(f"{line}\n" for line in SOURCES[:3]))
    text = f"\ufeff{SOURCES[0]}\r\n\r\n \t\n{SOURCES[1]}\n\n{SOURCES[2]}"
    assert trained.lines(text) == [plain[0], "", "", plain[1], "", plain[2]]


def test_an_error_names_the_line(cli: Cli, tmp_path: Path) -> None:
    data = TEXT.encode() * 100 + b"Un caf\xe9.\n" + TEXT.encode()
    message = cli.refusal(*FEW_TOKENS, stdin=data)
    assert message.startswith("error: stdin:401: byte 7 of the line (0xe9) is not UTF-8; convert the text")
    (tmp_path / "in").write_bytes(b"\xff\xfe" + "Oui\n".encode("utf-16-le"))
    assert "iconv -f UTF-16" in cli.refusal("--input", tmp_path / "in")


# --- interrupted, and continued ---


class Interrupting:
    """Stdin that ends in an interruption after so many lines."""

    def __init__(self, lines: list[str], stop: Callable[[], object]) -> None:
        self.lines = lines
        self.stop = stop

    def __iter__(self) -> Iterator[bytes]:
        yield from (f"{line}\n".encode() for line in self.lines)
        self.stop()


def interrupt() -> None:
    raise KeyboardInterrupt


def interrupted(
    cli: Cli, lines: list[str], *options: object, stop: Callable[[], object] = interrupt
) -> tuple[int, str]:
    """Exit status and stderr of a translation from stdin that is stopped when it asks for more than these lines."""

    def input_lines(args: Any, replaced: list[int]) -> Iterator[str]:
        stream: Any = Interrupting(lines, stop)
        return decode_lines(stream, "stdin", args.errors, replaced.append)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(translate, "_input_lines", input_lines)
        status, out, err = cli(*options)
    assert out == ""
    return status, err


FORMS: list[tuple[object, ...]] = [(), ("--n-best", 2), ("--json",), ("--sample", "--n-best", 2, "--seed", 3)]


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize("suffix", ["", ".gz"])
@pytest.mark.parametrize("form", FORMS, ids=str)
def test_a_resumed_file_is_that_of_an_unbroken_run(
    trained: Cli, tmp_path: Path, form: tuple[object, ...], suffix: str
) -> None:
    text = "".join(f"{line}\n" for line in SOURCES)
    prefixes = tmp_path / "prefixes"
    prefixes.write_text("".join(f"{line.split()[0]}\n" if i % 3 else "\n" for i, line in enumerate(REFERENCES)))
    whole, target = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    options = (*form, "--prefix", prefixes)
    assert trained(*options, "--output", whole, stdin=text)[0] == 0
    n_kept = []
    for n_given in (14, 22):
        status, err = interrupted(trained, SOURCES[:n_given], *options, "--output", target, "--resume")
        assert status == 130
        (kept,) = re.findall(
            r"^(\d+) translated lines are kept in .*out\S*\.partial; continue with --resume$", err, re.M
        )
        n_kept.append(int(kept))
        assert err.endswith("\ninterrupted\n")
        assert not target.exists()
    assert n_kept == [6, 15]  # two windows are always ahead
    status, _, err = trained(*options, "--output", target, "--resume", stdin=text)
    assert status == 0
    assert "translated 8 lines" in err and "after 15 of an earlier run" in err
    assert list(read_lines(target)) == list(read_lines(whole))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([whole.name, target.name, prefixes.name])


@pytest.mark.usefixtures("small_windows")
@settings(max_examples=8, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(stops=st.lists(st.integers(0, 23), max_size=3))
def test_it_makes_no_difference_where_it_was_interrupted(
    trained: Cli, tmp_path_factory: pytest.TempPathFactory, stops: list[int]
) -> None:
    folder = tmp_path_factory.mktemp("stops")
    lines = ["", *SOURCES[:10], " ", *SOURCES[10:20]]
    text = "".join(f"{line}\n" for line in lines)
    for stop in sorted(stops):
        status, err = interrupted(trained, lines[:stop], "--output", folder / "out", "--resume")
        assert status == 130 or (status == 0 and stop >= len(lines)), err
    status, _, err = trained("--output", folder / "out", "--resume", stdin=text)
    assert status == 0, err
    assert (folder / "out").read_text().split("\n")[:-1] == trained.lines(text)


@pytest.mark.usefixtures("small_windows")
def test_scores_of_a_resumed_run_are_of_all_lines(trained: Cli, tmp_path: Path) -> None:
    text = "".join(f"{line}\n" for line in SOURCES)
    reference, target = tmp_path / "ref", tmp_path / "out"
    reference.write_text("".join(f"{line}\n" for line in REFERENCES))
    unbroken = trained("--reference", reference, "--quiet", stdin=text)[2]
    assert unbroken.count("\n") == 3
    options = ("--output", target, "--resume", "--reference", reference, "--quiet")
    assert interrupted(trained, SOURCES[:20], *options)[0] == 130
    assert trained(*options, stdin=text)[2] == unbroken


@pytest.mark.usefixtures("small_windows")
def test_scoring_is_resumed_too(trained: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, target = tmp_path / "given", tmp_path / "out"
    sources, references = SOURCES * 50, REFERENCES * 50  # checkpoints come after 1000 lines
    given.write_text("".join(f"{line}\n" for line in references))
    text = "".join(f"{line}\n" for line in sources)
    status, err = interrupted(trained, sources[:1100], "--score", given, "--output", target)
    assert status == 130
    assert "1000 translated lines are kept" in err
    status, _, err = trained("--score", given, "--output", target, "--resume", stdin=text)
    assert status == 0, err
    assert target.read_text().split("\n")[:-1] == pytest.approx(trained.lines(text, "--score", given))
    # A line that cannot be scored has its number in the whole text.
    given.write_text("".join(f"{line}\n" for line in [*references[:1110], "", *references[1111:]]))
    (target).unlink()
    assert interrupted(trained, sources[:1100], "--score", given, "--output", target)[0] == 130
    assert "line 1111: one of source" in trained("--score", given, "--output", target, "--resume", stdin=text)[2]


@pytest.fixture
def broken_off(trained: Cli, tmp_path: Path, small_windows: None) -> Path:
    """The output of a translation of which six lines are done."""
    assert interrupted(trained, SOURCES[:12], "--output", tmp_path / "out")[0] == 130
    return tmp_path / "out"


def test_without_resume_what_is_there_is_kept(trained: Cli, broken_off: Path) -> None:
    message = trained.refusal("--output", broken_off, stdin=TEXT)
    assert "out.partial holds 6 translated lines of an interrupted translation: continue it with --resume" in message
    assert len((broken_off.parent / "out.partial").read_text().split("\n")) >= 7


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (("--beam-size", 2), "beam_size was 3 and is now 2"),
        (("--n-best", 1), 'form was "line" and is now "n-best"'),
        (("--n-best", 2), "n_best was 1 and is now 2"),
        (("--json",), 'form was "line" and is now "json"'),
        (("--alignment",), "alignment was false and is now true"),
        (("--typography", "fr"), 'typography was null and is now "fr"'),
        (("--tag", "z"), 'tag was "" and is now "z"'),
        (("--errors", "replace"), 'errors was "strict" and is now "replace"'),
        (("--alpha", 0.5), "alpha was 1.0 and is now 0.5"),
        (("--length-normalization", "gnmt"), 'normalization was "length" and is now "gnmt"'),
        (("--max-length", 1, 2), "max_length_a was 1.5 and is now 1.0; max_length_b was 10 and is now 2"),
        (("--min-length", 0, 2), "min_length_b was 0 and is now 2"),
        (("--no-repeat-ngram", 3), "no_repeat_ngram was 0 and is now 3"),
        (("--repetition-penalty", 2), "repetition_penalty was 1.0 and is now 2.0"),
        (("--sample",), "sampling was false and is now true"),
        (("--precision", "bfloat16"), 'precision was "float32" and is now "bfloat16"'),
        (("--prefix", "PREFIX"), "prefix was null and is now "),
        (("--score", "PREFIX"), "score was null and is now "),
    ],
    ids=lambda value: str(value[0]) if isinstance(value, tuple) else "",
)
def test_other_settings_are_refused_by_name(
    trained: Cli, broken_off: Path, tmp_path: Path, options: tuple[object, ...], key: str
) -> None:
    prefixes = tmp_path / "prefixes"
    prefixes.write_text("\n" * len(SOURCES))
    options = tuple(prefixes if option == "PREFIX" else option for option in options)
    text = "".join(f"{line}\n" for line in SOURCES)
    message = trained.refusal("--output", broken_off, "--resume", *options, stdin=text)
    assert "out.partial was begun with other settings: " in message
    assert key in message
    assert "remove " in message


def test_another_model_or_text_is_refused(trained: Cli, run_dir: Path, broken_off: Path) -> None:
    options = ("--output", broken_off, "--resume")
    assert "begun with other settings: " in (message := Cli(run_dir).refusal(*options, stdin=TEXT))
    assert 'model was ["' in message
    changed = [SOURCES[0], "Ba bi.", *SOURCES[2:]]
    text = "".join(f"{line}\n" for line in changed)
    assert "lines 1 to 6 of the input are not those whose translations are in" in trained.refusal(*options, stdin=text)
    assert "the input has 2 lines" in trained.refusal(*options, stdin="\n".join(SOURCES[:2]))


def test_what_makes_no_difference_may_change(trained: Cli, broken_off: Path) -> None:
    text = "".join(f"{line}\n" for line in SOURCES)
    options = ("--max-batch-tokens", 50, "--workers", 2, "--threads", 2, "--quiet")
    assert trained("--output", broken_off, "--resume", *options, stdin=text)[0] == 0
    assert broken_off.read_text().split("\n")[:-1] == trained.lines(text)


@pytest.mark.usefixtures("small_windows")
def test_an_error_in_the_text_keeps_what_was_done(trained: Cli, tmp_path: Path) -> None:
    text = "".join(f"{line}\n" for line in SOURCES).encode()
    status, _, err = trained("--output", tmp_path / "out", stdin=text + b"\xff\n")
    assert status == 2
    assert "stdin:24: byte 1" in err
    status, _, err = trained("--output", tmp_path / "out", "--resume", stdin=text)
    assert status == 0
    assert re.search("after [1-9][0-9]* of an earlier run", err)
    assert (tmp_path / "out").read_text().split("\n")[:-1] == trained.lines(text)


@needs_signals
def test_sigterm_ends_in_order_and_gives_the_handler_back(trained: Cli, tmp_path: Path, small_windows: None) -> None:
    before = signal.getsignal(signal.SIGTERM)

    def stop() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    status, err = interrupted(trained, SOURCES[:12], "--output", tmp_path / "out", stop=stop)
    assert status == 143
    assert "6 translated lines are kept" in err
    assert signal.getsignal(signal.SIGTERM) == before


@pytest.mark.usefixtures("small_windows")
def test_where_nothing_is_done_nothing_is_left(trained: Cli, tmp_path: Path) -> None:
    status, err = interrupted(trained, SOURCES[:2], "--output", tmp_path / "out")
    assert (status, err) == (130, "interrupted\n")
    assert not list(tmp_path.iterdir())


def wait_for(condition: Callable[[], bool], process: subprocess.Popen[bytes], limit_s: float = 90) -> None:
    end_s = time.monotonic() + limit_s
    while not condition():
        assert process.poll() is None and time.monotonic() < end_s, process.communicate()
        time.sleep(0.05)


@needs_signals
@pytest.mark.parametrize(
    ("signum", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)]
)
def test_a_process_that_is_stopped_can_be_resumed(
    trained: Cli, tmp_path: Path, signum: signal.Signals, status: int
) -> None:
    target = tmp_path / "out"
    process = start(*trained.defaults, "--output", target, code=SMALL_WINDOWS, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in SOURCES[:14]).encode())  # and no end of it
    process.stdin.flush()

    def n_done() -> int:
        sidecar = tmp_path / "out.partial.json"
        return int(json.loads(sidecar.read_text())["n_lines"]) if sidecar.exists() else 0

    wait_for(lambda: n_done() == 6, process)
    process.send_signal(signum)
    _, err = process.communicate()
    assert process.returncode == status
    assert b"Traceback" not in err
    assert (b"6 translated lines are kept in" in err) == (signum != signal.SIGKILL)
    assert not target.exists()
    text = "".join(f"{line}\n" for line in SOURCES)
    assert "after 6 of an earlier run" in trained("--output", target, "--resume", stdin=text)[2]
    assert target.read_text().split("\n")[:-1] == trained.lines(text)


# --- outputs that fail ---


def test_the_reader_of_stdout_may_leave(trained: Cli) -> None:
    """As `| head -1` does: the process ends quietly, and does not finish the search that nobody reads."""
    process = start(*trained.defaults, "--quiet", code=SMALL_WINDOWS, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    assert process.stdin is not None and process.stdout is not None
    process.stdin.write("".join(f"{line}\n" for line in SOURCES[:12]).encode())
    process.stdin.flush()
    first = process.stdout.readline()
    process.stdout.close()
    process.stdout = None
    _, err = process.communicate("".join(f"{line}\n" for line in SOURCES[12:] * 9).encode())
    assert first.decode() == trained.lines(SOURCES[0])[0] + "\n"
    assert (process.returncode, err) == (141, b"")


class Failing:
    """What stdout is to a program whose reader is gone, or whose disk is full, after so many lines."""

    def __init__(self, n_lines: int, error: OSError) -> None:
        self.buffer = self
        self.n_lines = n_lines
        self.error = error

    def write(self, data: bytes) -> int:
        self.n_lines -= 1
        if self.n_lines < 0:
            raise self.error
        return len(data)

    def flush(self) -> None:
        pass

    def isatty(self) -> bool:
        return False


@pytest.mark.usefixtures("small_windows")
@pytest.mark.parametrize(
    ("error", "status", "message"),
    [
        (BrokenPipeError(errno.EPIPE, "Broken pipe"), 141, ""),
        (OSError(errno.ENOSPC, "No space left on device"), 2, "error: cannot write stdout: No space left on device\n"),
    ],
)
def test_an_output_that_fails_ends_the_search(
    run_dir: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    error: OSError,
    status: int,
    message: str,
) -> None:
    from seq2seq.translation.engines.pytorch import PyTorchEngine

    searched: list[int] = []
    decode = PyTorchEngine.decode

    def slow(self: PyTorchEngine, sentences: Any, config: Any) -> Any:
        searched.extend(sentence.number for sentence in sentences)
        time.sleep(0.2)
        return decode(self, sentences, config)

    monkeypatch.setattr(PyTorchEngine, "decode", slow)
    monkeypatch.setattr(sys, "stdout", Failing(1, error))
    source = run_dir / "in"
    source.write_text(TEXT * 9)
    n_threads = threading.active_count()
    with pytest.raises(SystemExit) as stopped:
        translate.main([*map(str, Cli(run_dir).defaults), "--quiet", "--max-batch-tokens", "1", "--input", str(source)])
    assert stopped.value.code == status
    assert capsys.readouterr().err == message
    assert threading.active_count() == n_threads
    assert len(searched) < 8  # nine lines were handed to the search


@needs_devices
def test_a_full_disk_is_an_error_with_its_name(cli: Cli, tmp_path: Path) -> None:
    full = device(tmp_path, "full")
    status, out, err = cli("--output", full, *FEW_TOKENS, stdin=TEXT)
    assert (status, out) == (2, "")
    assert err.endswith(f"error: cannot write {full}: No space left on device\n")
    assert full.is_char_device()


def test_a_disk_that_fills_up_keeps_what_was_confirmed(
    trained: Cli, tmp_path: Path, small_windows: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    from seq2seq.translation.output import ResumableFile

    text = "".join(f"{line}\n" for line in SOURCES)
    write, calls = ResumableFile.write, itertools.count()

    def fills_up(self: ResumableFile, source: str, record: bytes) -> None:
        if next(calls) == 8:
            self._file.close()
            self._file = Path("/dev/full").open("r+b", buffering=0)  # noqa: SIM115
        write(self, source, record)

    if not Path("/dev/full").exists():
        pytest.skip("needs /dev/full")
    with monkeypatch.context() as patch:
        patch.setattr(ResumableFile, "write", fills_up)
        status, _, err = trained("--output", tmp_path / "out", stdin=text)
    assert status == 2
    assert "No space left on device; 6 translated lines are kept in" in err
    assert trained("--output", tmp_path / "out", "--resume", stdin=text)[0] == 0
    assert (tmp_path / "out").read_text().split("\n")[:-1] == trained.lines(text)


def test_a_pipe_as_output_gets_all_and_its_scores(trained: Cli, tmp_path: Path) -> None:
    if not hasattr(os, "mkfifo"):
        pytest.skip("needs named pipes")
    os.mkfifo(tmp_path / "pipe")
    got: list[bytes] = []
    reader = threading.Thread(target=lambda: got.append((tmp_path / "pipe").read_bytes()), daemon=True)
    reader.start()
    reference = tmp_path / "ref"
    reference.write_text("".join(f"{line}\n" for line in REFERENCES))
    text = "".join(f"{line}\n" for line in SOURCES)
    status, _, err = trained("--output", tmp_path / "pipe", "--reference", reference, stdin=text)
    reader.join(10)
    assert status == 0, err
    assert "\nbleu  " in err
    assert got[0].decode().split("\n")[:-1] == trained.lines(text)


# --- as a process among others ---


def test_a_person_at_a_terminal_gets_each_line_at_once(cli: Cli) -> None:
    pty = pytest.importorskip("pty")
    keyboard, terminal = pty.openpty()
    process = start(*cli.defaults, "--beam-size", 1, stdin=terminal, stdout=subprocess.PIPE)
    os.close(terminal)
    assert process.stdout is not None
    for sentence in SENTENCES[:2]:
        os.write(keyboard, f"{sentence}\n".encode())
        assert process.stdout.readline().decode() == cli.lines(sentence, "--beam-size", 1)[0] + "\n"  # before the end
    os.write(keyboard, b"\n\x04")
    out, err = process.communicate()
    os.close(keyboard)
    assert (process.returncode, out) == (0, b"\n"), err
    assert b"translated 3 lines" in err
