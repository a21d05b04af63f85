"""A translation that was interrupted: the same command goes on with it, to the same bytes."""

import os
import re
import shutil
import signal
import sys
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.parts import folder_of
from seq2seq.translation.request import TranslationRequest
from tests.end_to_end.learned_text import REFERENCES, SOURCES
from tests.faults.programs import Program, n_kept
from tests.processes import until
from tests.translating import Cli

TEXT = "".join(f"{line}\n" for line in SOURCES)
SMALL_BLOCKS = ("--max-batch-tokens", 1)  # each line is a batch, and a block has one to three


def interrupt() -> None:
    raise KeyboardInterrupt


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in").write_text(TEXT)
    return tmp_path / "in"


def interrupted(
    cli: Callable[..., tuple[int, str, str]], n_lines: int, *options: object, stop: Callable[[], object] = interrupt
) -> tuple[int, str]:
    """Exit status and stderr of a translation that is stopped when it asks for more than so many lines."""
    pieces = TranslationRequest.pieces

    def some(request: TranslationRequest, replaced: set[int]) -> Iterator[Piece]:
        yield from islice(pieces(request, replaced), n_lines)
        stop()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TranslationRequest, "pieces", some)
        status, out, err = cli(*SMALL_BLOCKS, *options)
    assert out == ""
    return status, err


def again(cli: Cli, *options: object, stdin: str = "") -> str:
    """What the same command says, which now comes to its end."""
    status, out, err = cli(*SMALL_BLOCKS, *options, stdin=stdin)
    assert (status, out) == (0, ""), err
    return err


def n_lines_kept(err: str, output: Path) -> int:
    n_blocks = len(list(folder_of(output).glob("[0-9]*-*")))
    assert f"{n_blocks} finished blocks are kept in {output}.parts; the same command goes on\n" in err
    return n_kept(output)


@pytest.mark.parametrize(
    ("form", "suffix"),
    [(("--json",), ".gz"), (("--sample", "--n-best", 2, "--seed", 3), ".zst")],
    ids=str,
)
def test_the_same_command_goes_on_to_the_same_bytes(
    trained: Cli, tmp_path: Path, source: Path, form: tuple[object, ...], suffix: str
) -> None:
    prefixes = tmp_path / "prefixes"
    prefixes.write_text("".join(f"{line.split()[0]}\n" if i % 3 else "\n" for i, line in enumerate(REFERENCES)))
    whole, target = tmp_path / f"whole{suffix}", tmp_path / f"out{suffix}"
    options = (*form, "--input", source, "--prefix", prefixes, "--output")
    again(trained, *options, whole)
    counts = []
    for n_given in (14, 22):
        status, err = interrupted(trained, n_given, *options, target)
        assert status == 130 and err.endswith("\ninterrupted\n")
        counts.append(n_lines_kept(err, target))
        assert not target.exists()
    assert 7 <= counts[0] <= 14 < counts[1] <= 22  # two batches are ahead, and a block may miss a line
    said = again(trained, *options, target)
    n_left = len(SOURCES) - counts[1]
    assert re.search(
        rf"^translated {n_left} lines in .*; {counts[1]} more by other processes or an earlier", said, re.M
    )
    assert target.read_bytes() == whole.read_bytes()
    assert {path.name for path in tmp_path.iterdir()} == {source.name, whole.name, target.name, prefixes.name}


def test_scores_of_a_resumed_run_are_of_all_lines(trained: Cli, tmp_path: Path, source: Path) -> None:
    reference, target = tmp_path / "ref", tmp_path / "out"
    reference.write_text("".join(f"{line}\n" for line in REFERENCES))
    options = ("--input", source, "--reference", reference, "--quiet")
    unbroken = trained(*options)[2]
    assert unbroken.count("\n") == 3
    assert interrupted(trained, 20, *options, "--output", target)[0] == 130
    assert again(trained, *options, "--output", target) == unbroken


def test_scoring_is_resumed_too(trained: Cli, tmp_path: Path, source: Path) -> None:
    given, target = tmp_path / "given", tmp_path / "out"
    given.write_text("".join(f"{line}\n" for line in [*REFERENCES[:20], "", *REFERENCES[21:]]))
    options = ("--input", source, "--score", given)
    status, err = interrupted(trained, 14, *options, "--output", target)
    assert status == 130 and n_lines_kept(err, target) > 2
    assert "line 21: one side is blank" in again(trained, *options, "--output", target)  # in the whole text
    assert target.read_text().split("\n")[:-1] == pytest.approx(trained.lines("", *SMALL_BLOCKS, *options), nan_ok=True)


@pytest.fixture
def broken_off(trained: Cli, tmp_path: Path, source: Path) -> tuple[object, ...]:
    """The options of a translation of which some lines are done."""
    options = ("--input", source, "--output", tmp_path / "out")
    assert interrupted(trained, 8, *options)[0] == 130
    return options


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
    (("--max-batch-tokens", 2), "max_batch_tokens was 1 and is now 2"),  # which decides the blocks
    (("--precision", "bfloat16"), 'precision was "float32" and is now "bfloat16"'),
    (("--attention", "hard"), 'attention was null and is now "hard"'),
    (("--document",), 'input_form was "lines" and is now "'),
    (("--terms", "TERMS"), 'terms was "" and is now "'),
    (("--prefix", "PREFIX"), "prefix was false and is now true"),
    (("--score", "PREFIX"), "score was false and is now true"),
]


def test_other_settings_are_refused_by_name(
    trained: Cli, run_dir: Path, broken_off: tuple[object, ...], tmp_path: Path
) -> None:
    files = {"PREFIX": tmp_path / "prefixes", "TERMS": tmp_path / "terms"}
    (tmp_path / "prefixes").write_text("\n" * len(SOURCES))
    (tmp_path / "terms").write_text("ba\tGas\n")
    for options, change in OTHER_SETTINGS:
        given = [files.get(str(option), option) for option in options]
        message = trained.refusal(*SMALL_BLOCKS, *broken_off, *given)
        assert f"{tmp_path}/out.parts was begun with other settings: " in message
        assert change in message
        assert "Give the same, or remove it to start anew\n" in message
    message = Cli(run_dir).refusal(*SMALL_BLOCKS, *broken_off)
    assert 'model was ["' in message
    models = Cli(run_dir, run_dir)
    shutil.rmtree(tmp_path / "out.parts")
    assert interrupted(models, 8, *broken_off, "--weights", 1, 2)[0] == 130
    message = models.refusal(*SMALL_BLOCKS, *broken_off, "--weights", 2, 1)
    assert "with other settings: weights was [1.0, 2.0] and is now [2.0, 1.0]" in message


def test_what_makes_no_difference_may_change(trained: Cli, broken_off: tuple[object, ...], tmp_path: Path) -> None:
    again(trained, *broken_off, "--workers", 2, "--threads", 2, "--quiet")
    assert (tmp_path / "out").read_text().split("\n")[:-1] == trained.lines(TEXT)


@pytest.mark.skipif(sys.platform == "win32", reason="Windows has no signals to send")
@pytest.mark.parametrize(("signum", "status"), [(signal.SIGTERM, 143), (signal.SIGKILL, -signal.SIGKILL)])
def test_text_from_a_pipe_is_given_again_to_a_process_that_was_stopped(
    trained: Cli, tmp_path: Path, signum: signal.Signals, status: int
) -> None:
    target = tmp_path / "out"
    with Program(*trained.defaults, *SMALL_BLOCKS, "--output", target) as program:
        program.give("".join(f"{line}\n" for line in SOURCES[:14]))  # and no end of it
        until(lambda: n_kept(target) > 4)  # two batches are ahead, and the last block waits for more
        os.kill(program.id, signum)
        assert program.status() == status
        assert "Traceback" not in program.told
    n_lines = n_kept(target)
    if signum != signal.SIGKILL:
        assert n_lines_kept(program.told, target) == n_lines
    assert not target.exists()
    assert f"; {n_lines} more by other processes or an earlier run" in again(trained, "--output", target, stdin=TEXT)
    assert target.read_text().split("\n")[:-1] == trained.lines(TEXT)
