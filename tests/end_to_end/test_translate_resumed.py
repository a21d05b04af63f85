"""A translation that was interrupted is continued, to the same result."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.cli import front_door
from seq2seq.corpus.reader import decode_lines, read_lines
from seq2seq.translation.request import TranslationRequest
from tests.end_to_end.learned_text import REFERENCES, SOURCES
from tests.translating import TEXT, Cli, start

pytestmark = pytest.mark.slow

needs_signals = pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")


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

    def input_lines(request: TranslationRequest, replaced: list[int]) -> Iterator[str]:
        stream: Any = Interrupting(lines, stop)
        return decode_lines(stream, "stdin", request.errors, replaced.append)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TranslationRequest, "input_lines", input_lines)
        status, out, err = cli(*options)
    assert out == ""
    return status, err


FORMS: list[tuple[object, ...]] = [(), ("--n-best", 2), ("--json",), ("--sample", "--n-best", 2, "--seed", 3)]


@pytest.mark.usefixtures("confirmed_at_once")
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
    assert 12 <= n_kept[0] <= 14 and 20 <= n_kept[1] <= 22  # two lines are always ahead
    status, _, err = trained(*options, "--output", target, "--resume", stdin=text)
    assert status == 0
    assert f"translated {len(SOURCES) - n_kept[1]} lines" in err and f"after {n_kept[1]} of an earlier run" in err
    assert list(read_lines(target)) == list(read_lines(whole))
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([whole.name, target.name, prefixes.name])


@pytest.mark.usefixtures("confirmed_at_once")
@settings(max_examples=8)
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


@pytest.mark.usefixtures("confirmed_at_once")
def test_scores_of_a_resumed_run_are_of_all_lines(trained: Cli, tmp_path: Path) -> None:
    text = "".join(f"{line}\n" for line in SOURCES)
    reference, target = tmp_path / "ref", tmp_path / "out"
    reference.write_text("".join(f"{line}\n" for line in REFERENCES))
    unbroken = trained("--reference", reference, "--quiet", stdin=text)[2]
    assert unbroken.count("\n") == 3
    options = ("--output", target, "--resume", "--reference", reference, "--quiet")
    assert interrupted(trained, SOURCES[:20], *options)[0] == 130
    assert trained(*options, stdin=text)[2] == unbroken


@pytest.mark.usefixtures("confirmed_at_once")
def test_scoring_is_resumed_too(trained: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    given, target = tmp_path / "given", tmp_path / "out"
    sources, references = SOURCES * 3, REFERENCES * 3
    given.write_text("".join(f"{line}\n" for line in references))
    text = "".join(f"{line}\n" for line in sources)
    status, err = interrupted(trained, sources[:50], "--score", given, "--output", target)
    assert status == 130
    assert re.search(r"^(48|49|50) translated lines are kept", err, re.MULTILINE)
    status, _, err = trained("--score", given, "--output", target, "--resume", stdin=text)
    assert status == 0, err
    assert target.read_text().split("\n")[:-1] == pytest.approx(trained.lines(text, "--score", given))
    # A line that cannot be scored has its number in the whole text.
    given.write_text("".join(f"{line}\n" for line in [*references[:60], "", *references[61:]]))
    target.unlink()
    assert interrupted(trained, sources[:50], "--score", given, "--output", target)[0] == 130
    assert "line 61: one side is blank" in trained("--score", given, "--output", target, "--resume", stdin=text)[2]


@pytest.fixture
def broken_off(trained: Cli, tmp_path: Path, confirmed_at_once: None) -> Path:
    """The output of a translation of which six to eight lines are done."""
    assert interrupted(trained, SOURCES[:8], "--output", tmp_path / "out")[0] == 130
    return tmp_path / "out"


def test_without_resume_what_is_there_is_kept(trained: Cli, broken_off: Path) -> None:
    message = trained.refusal("--output", broken_off, stdin=TEXT)
    assert re.search(
        "out.partial holds [678] translated lines of an interrupted translation: continue it with --resume", message
    )
    assert len((broken_off.parent / "out.partial").read_text().split("\n")) >= 7


@pytest.mark.parametrize(
    ("options", "key"),
    [
        (("--beam-size", 2), "beam_size was 3 and is now 2"),
        (("--n-best", 1), 'form was "line" and is now "n-best"'),
        (("--n-best", 2), "n_best was 1 and is now 2"),
        (("--json",), 'form was "line" and is now "json"'),
        (("--alignment",), "alignment was false and is now true"),
        (("--typography", "fr"), 'typography was "" and is now "fr"'),
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
        (("--prefix", "PREFIX"), "prefix was false and is now true"),
        (("--score", "PREFIX"), "score was false and is now true"),
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
    message = trained.refusal(*options, stdin=text)
    assert re.search("lines 1 to [678] of the input are not those whose translations are in", message)
    assert "the input has 2 lines" in trained.refusal(*options, stdin="\n".join(SOURCES[:2]))


def test_what_makes_no_difference_may_change(trained: Cli, broken_off: Path) -> None:
    text = "".join(f"{line}\n" for line in SOURCES)
    options = ("--max-batch-tokens", 50, "--workers", 2, "--threads", 2, "--quiet")
    assert trained("--output", broken_off, "--resume", *options, stdin=text)[0] == 0
    assert broken_off.read_text().split("\n")[:-1] == trained.lines(text)


@pytest.mark.usefixtures("confirmed_at_once")
def test_an_error_in_the_text_keeps_what_was_done(trained: Cli, tmp_path: Path) -> None:
    text = "".join(f"{line}\n" for line in SOURCES).encode()
    status, _, err = trained("--output", tmp_path / "out", stdin=text + b"\xff\n")
    assert status == 2
    assert re.search(
        r"stdin:24: byte 1 .*\n[1-9]\d* translated lines are kept in .*out.partial; continue with --resume\n$", err
    )
    status, _, err = trained("--output", tmp_path / "out", "--resume", stdin=text)
    assert status == 0
    assert re.search("after [1-9][0-9]* of an earlier run", err)
    assert (tmp_path / "out").read_text().split("\n")[:-1] == trained.lines(text)


@pytest.mark.usefixtures("confirmed_at_once")
@pytest.mark.parametrize("error", [ValueError("a defect"), MemoryError(), OSError(5, "Input/output error")], ids=repr)
def test_any_error_says_what_is_kept(
    trained: Cli, tmp_path: Path, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def input_lines(request: TranslationRequest, replaced: list[int]) -> Iterator[str]:
        yield from SOURCES[:14]
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TranslationRequest, "input_lines", input_lines)
        with pytest.raises((ValueError, MemoryError, SystemExit)):  # the first two end in a traceback
            front_door("translate", [*map(str, trained.defaults), "--output", str(tmp_path / "out")])
    kept = rf"^(\d+) translated lines are kept in {tmp_path}/out.partial; continue with --resume$"
    (n_kept,) = re.findall(kept, capsys.readouterr().err, re.MULTILINE)
    assert int(n_kept) > 0
    text = "".join(f"{line}\n" for line in SOURCES)
    assert f"after {n_kept} of an earlier run" in trained("--output", tmp_path / "out", "--resume", stdin=text)[2]


@needs_signals
def test_sigterm_ends_in_order(trained: Cli, tmp_path: Path, confirmed_at_once: None, own_signals: None) -> None:
    def stop() -> None:
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(5)

    status, err = interrupted(trained, SOURCES[:12], "--output", tmp_path / "out", stop=stop)
    assert status == 143
    assert re.search(r"^1[012] translated lines are kept", err, re.MULTILINE)


@pytest.mark.usefixtures("confirmed_at_once")
def test_where_nothing_is_done_nothing_is_left(trained: Cli, tmp_path: Path) -> None:
    status, err = interrupted(trained, [], "--output", tmp_path / "out")
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
    process = start(*trained.defaults, "--output", target, stdin=subprocess.PIPE)
    assert process.stdin is not None
    process.stdin.write("".join(f"{line}\n" for line in SOURCES[:14]).encode())  # and no end of it
    process.stdin.flush()

    def n_done() -> int:
        sidecar = tmp_path / "out.partial.json"
        return int(json.loads(sidecar.read_text())["n_lines"]) if sidecar.exists() else 0

    wait_for(lambda: n_done() == 14, process)
    process.send_signal(signum)
    _, err = process.communicate()
    assert process.returncode == status
    assert b"Traceback" not in err
    assert (b"14 translated lines are kept in" in err) == (signum != signal.SIGKILL)
    assert not target.exists()
    text = "".join(f"{line}\n" for line in SOURCES)
    assert "after 14 of an earlier run" in trained("--output", target, "--resume", stdin=text)[2]
    assert target.read_text().split("\n")[:-1] == trained.lines(text)
