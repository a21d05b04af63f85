"""Subtitles and tables: all but the texts comes out as it was, also after an interruption."""

import gzip
import re
from pathlib import Path

from tests.end_to_end.learned_text import SOURCES
from tests.translating import Cli


def srt(texts: list[str]) -> str:
    return "".join(f"{n}\r\n00:00:{n:02},000 --> 00:00:{n:02},500\r\n{text}\r\n\r\n" for n, text in enumerate(texts))


def test_compressed_subtitles_of_windows_keep_every_other_byte(trained: Cli, tmp_path: Path) -> None:
    source, target = tmp_path / "film.fr.srt.gz", tmp_path / "film.en.srt.gz"
    mark = b"\xef\xbb\xbf"
    source.write_bytes(gzip.compress(mark + srt(SOURCES).encode()))
    status, out, err = trained("--input", source, "--output", target)
    assert (status, out) == (0, ""), err
    expected = srt(trained.lines("\n".join(SOURCES)))
    assert gzip.decompress(target.read_bytes()) == mark + expected.encode()


def test_tags_that_are_left_out_are_a_warning_with_the_line_of_the_text(trained: Cli) -> None:
    text = srt([SOURCES[0], SOURCES[1].replace(" ", " <i>", 1) + "</i>"])
    status, out, err = trained("--form", "srt", stdin=text)
    assert (status, out) == (0, srt(trained.lines("\n".join(SOURCES[:2]))))
    assert "warning: line 7: The tags <i> </i> are left out" in err
    assert "1 tags" in err


def test_interrupted_subtitles_are_continued_to_the_same_result(trained: Cli, tmp_path: Path) -> None:
    text = srt(SOURCES)
    whole, target = tmp_path / "film.srt", tmp_path / "out.srt"
    whole.write_bytes(text.encode())
    options = ("--form", "srt", "--output", target, "--max-batch-tokens", 1)
    status, _, err = trained(*options, stdin=text.encode()[:-40] + b"\xff")
    assert status == 2 and not target.exists()
    assert "finished blocks are kept in" in err
    status, out, err = trained(*options, "--input", whole)
    assert (status, out) == (0, ""), err
    assert re.search(r"; [78]\d more by other processes or an earlier run", err)
    assert target.read_bytes().decode() == srt(trained.lines("\n".join(SOURCES)))
