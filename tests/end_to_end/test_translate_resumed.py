"""A translation that was interrupted is continued, to the same result."""

import json
import os
import re
import signal
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from seq2seq.cli import front_door
from seq2seq.corpus.reader import decode_lines, read_lines
from seq2seq.translation.request import TranslationRequest
from tests.end_to_end.learned_text import REFERENCES, SOURCES
from tests.faults.programs import Program
from tests.processes import until
from tests.translating import TEXT, Cli


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


@pytest.mark.usefixtures("confirmed_at_once")
@pytest.mark.parametrize(
    ("form", "suffix"),
    [((), ""), (("--json",), ".gz"), (("--sample", "--n-best", 2, "--seed", 3), ".gz")],
    ids=str,
)
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
def test_scoring_is_resumed_too(trained: Cli, tmp_path: Path) -> None:
    given, target = tmp_path / "given", tmp_path / "out"
    given.write_text("".join(f"{line}\n" for line in REFERENCES))
    text = "".join(f"{line}\n" for line in SOURCES)
    status, err = interrupted(trained, SOURCES[:14], "--score", given, "--output", target)
    assert status == 130
    assert re.search(r"^1[234] translated lines are kept", err, re.MULTILINE)
    status, _, err = trained("--score", given, "--output", target, "--resume", stdin=text)
    assert status == 0, err
    assert target.read_text().split("\n")[:-1] == pytest.approx(trained.lines(text, "--score", given))
    # A line that cannot be scored has its number in the whole text.
    given.write_text("".join(f"{line}\n" for line in [*REFERENCES[:20], "", *REFERENCES[21:]]))
    target.unlink()
    assert interrupted(trained, SOURCES[:14], "--score", given, "--output", target)[0] == 130
    assert "line 21: one side is blank" in trained("--score", given, "--output", target, "--resume", stdin=text)[2]


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


OTHER_SETTINGS: list[tuple[tuple[object, ...], str]] = [
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
]


def test_other_settings_are_refused_by_name(trained: Cli, broken_off: Path, tmp_path: Path) -> None:
    prefixes = tmp_path / "prefixes"
    prefixes.write_text("\n" * len(SOURCES))
    text = "".join(f"{line}\n" for line in SOURCES)
    for options, key in OTHER_SETTINGS:
        options = tuple(prefixes if option == "PREFIX" else option for option in options)
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
@pytest.mark.parametrize("error", [ValueError("a defect"), OSError(5, "Input/output error")], ids=repr)
def test_any_error_says_what_is_kept(
    trained: Cli, tmp_path: Path, error: Exception, capsys: pytest.CaptureFixture[str]
) -> None:
    def input_lines(request: TranslationRequest, replaced: list[int]) -> Iterator[str]:
        yield from SOURCES[:14]
        raise error

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TranslationRequest, "input_lines", input_lines)
        with pytest.raises((ValueError, SystemExit)):  # the first ends in a traceback
            front_door("translate", [*map(str, trained.defaults), "--output", str(tmp_path / "out")])
    kept = rf"^(\d+) translated lines are kept in {tmp_path}/out.partial; continue with --resume$"
    (n_kept,) = re.findall(kept, capsys.readouterr().err, re.MULTILINE)
    assert int(n_kept) > 0
    text = "".join(f"{line}\n" for line in SOURCES)
    assert f"after {n_kept} of an earlier run" in trained("--output", tmp_path / "out", "--resume", stdin=text)[2]


@pytest.mark.usefixtures("confirmed_at_once")
def test_where_nothing_is_done_nothing_is_left(trained: Cli, tmp_path: Path) -> None:
    status, err = interrupted(trained, [], "--output", tmp_path / "out")
    assert (status, err) == (130, "interrupted\n")
    assert not list(tmp_path.iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")
@pytest.mark.parametrize(("signum", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)])
def test_a_process_that_is_stopped_can_be_resumed(
    trained: Cli, tmp_path: Path, signum: signal.Signals, status: int
) -> None:
    target, sidecar = tmp_path / "out", tmp_path / "out.partial.json"
    with Program(*trained.defaults, "--output", target) as program:
        program.give("".join(f"{line}\n" for line in SOURCES[:14]))  # and no end of it
        until(lambda: sidecar.exists() and json.loads(sidecar.read_text())["n_lines"] == 14)
        os.kill(program.id, signum)
        assert program.status() == status
        assert "Traceback" not in program.told
        assert ("14 translated lines are kept in" in program.told) == (signum != signal.SIGKILL)
    assert not target.exists()
    text = "".join(f"{line}\n" for line in SOURCES)
    assert "after 14 of an earlier run" in trained("--output", target, "--resume", stdin=text)[2]
    assert target.read_text().split("\n")[:-1] == trained.lines(text)
