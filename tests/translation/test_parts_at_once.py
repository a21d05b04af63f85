"""Parts of one output that several commands want at once."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from seq2seq.errors import TranslationError
from seq2seq.exit_status import exit_status
from seq2seq.translation.blocks import Block, cut
from seq2seq.translation.forms.piece import Piece
from seq2seq.translation.parts import Parts, open_parts
from seq2seq.translation.watch import Counts


def blocks(*lines: str) -> Iterator[Block | None]:
    return cut(((Piece.of_line(line, number), "") for number, line in enumerate(lines, 1)), size=1)


def make(parts: Parts, *lines: str) -> None:
    for block in parts.unmade(blocks(*lines)):
        assert block is not None
        parts.put(block, "made\n", Counts())


def test_a_command_for_another_text_does_not_take_the_output_for_its_own(tmp_path: Path) -> None:
    output = tmp_path / "out.en"
    with open_parts(output, {}) as late:
        with open_parts(output, {}) as first:
            make(late, "un", "deux")
            make(first, "trois")
            first.join()
        with pytest.raises(TranslationError, match="of another text"):
            late.join()
    assert output.read_text() == "made\n"
    assert list(tmp_path.iterdir()) == [output]


def test_a_block_of_another_text_is_not_kept_when_the_output_is_joined(tmp_path: Path) -> None:
    output = tmp_path / "out.en"
    with open_parts(output, {}) as late:
        block = next(late.unmade(blocks("un", "deux")))
        assert block is not None
        with open_parts(output, {}) as first:
            make(first, "trois")
            first.join()
        with pytest.raises(TranslationError, match="of another text"):
            late.put(block, "one\n", Counts())
    assert list(tmp_path.iterdir()) == [output]


def test_a_command_that_reads_on_while_the_output_is_joined_leaves_no_folder(tmp_path: Path) -> None:
    output = tmp_path / "out.en"

    def read(first: Parts) -> Iterator[Block | None]:
        yield from blocks("un")
        first.join()

    with open_parts(output, {}) as late:
        with open_parts(output, {}) as first:
            make(first, "un")
            assert list(late.unmade(read(first))) == []
        assert late.join() is None
    assert list(tmp_path.iterdir()) == [output]


def test_other_settings_do_not_go_on(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    def begin(beam_size: int) -> None:
        with open_parts(tmp_path / "out.en", {"beam_size": beam_size}) as parts:
            make(parts, "un")

    begin(2)
    assert exit_status(lambda: begin(3)) == 2
    said = capsys.readouterr().err
    assert "beam_size was 2 and is now 3" in said and "goes on" not in said
