"""A translation that was interrupted: the same command goes on with it, to the same bytes."""

import re
import shutil
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

import pytest

from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.parts import folder_of
from seq2seq.translation.request import TranslationRequest
from tests.end_to_end.learned_text import REFERENCES, SOURCES
from tests.faults.programs import n_kept
from tests.translating import Cli

TEXT = "".join(f"{line}\n" for line in SOURCES)
SMALL_BLOCKS = ("--max-batch-tokens", 1)  # each line is a batch, and a block has one to three


@pytest.fixture
def source(tmp_path: Path) -> Path:
    (tmp_path / "in").write_text(TEXT)
    return tmp_path / "in"


def interrupted(cli: Callable[..., tuple[int, str, str]], n_lines: int, *options: object) -> tuple[int, str]:
    """Exit status and stderr of a translation that is stopped when it asks for more than so many lines."""
    pieces = TranslationRequest.pieces

    def some(request: TranslationRequest, on_replaced: Callable[[int], None] | None = None) -> Iterator[Piece]:
        yield from islice(pieces(request, on_replaced), n_lines)
        raise KeyboardInterrupt

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


def test_the_same_command_goes_on_to_the_same_bytes(trained: Cli, tmp_path: Path, source: Path) -> None:
    prefixes = tmp_path / "prefixes"
    prefixes.write_text("".join(f"{line.split()[0]}\n" if i % 3 else "\n" for i, line in enumerate(REFERENCES)))
    whole, target = tmp_path / "whole.gz", tmp_path / "out.gz"
    options = ("--sample", "--n-best", 2, "--seed", 3, "--input", source, "--prefix", prefixes, "--output")
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


@pytest.fixture
def broken_off(trained: Cli, tmp_path: Path, source: Path) -> tuple[object, ...]:
    """The options of a translation of which some lines are done."""
    options = ("--input", source, "--output", tmp_path / "out")
    assert interrupted(trained, 8, *options)[0] == 130
    return options


# One of the search, one of what is written, and each that stands alone.
OTHER_SETTINGS: list[tuple[tuple[object, ...], str]] = [
    (("--beam-size", 2), "beam_size was 3 and is now 2"),
    (("--json",), 'form was "line" and is now "json"'),
    (("--alignment",), "alignment was false and is now true"),
    (("--errors", "replace"), 'errors was "strict" and is now "replace"'),
    (("--precision", "bfloat16"), 'precision was "float32" and is now "bfloat16"'),
    (("--attention", "hard"), 'attention was null and is now "hard"'),
    (("--document",), 'input_form was "lines" and is now "'),
    (("--terms", "TERMS"), 'terms was "" and is now "'),
    (("--prefix", "PREFIX"), "prefix was false and is now true"),
    (("--score", "PREFIX"), "score was false and is now true"),
]


def test_other_settings_are_refused_by_name(
    trained: Cli, random_run: Path, broken_off: tuple[object, ...], tmp_path: Path
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
    message = Cli(random_run).refusal(*SMALL_BLOCKS, *broken_off)
    assert 'model was ["' in message
    models = Cli(random_run, random_run)
    shutil.rmtree(tmp_path / "out.parts")
    assert interrupted(models, 8, *broken_off, "--weights", 1, 2)[0] == 130
    message = models.refusal(*SMALL_BLOCKS, *broken_off, "--weights", 2, 1)
    assert "with other settings: weights was [1.0, 2.0] and is now [2.0, 1.0]" in message


def test_what_makes_no_difference_may_change(trained: Cli, broken_off: tuple[object, ...], tmp_path: Path) -> None:
    again(trained, *broken_off, "--workers", 2, "--threads", 2, "--quiet")
    assert (tmp_path / "out").read_text().split("\n")[:-1] == trained.lines(TEXT)
