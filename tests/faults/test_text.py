"""As many lines come out as go in, and as many sentences, whatever the text."""

import random
import sys
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.faults.programs import Program
from tests.translating import sentences

SPACES = [character for character in map(chr, range(sys.maxunicode)) if character.isspace() and character != "\n"]
# Each of these ends a line for some program, and is a space in a translation.
LINE_ENDS = "\r\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029"


def translated(model: Path, folder: Path, text: str, *options: str) -> list[str]:
    """The lines that a process writes to stdout."""
    (folder / "in").write_text(text, encoding="utf-8", newline="")
    with (
        (folder / "out").open("wb") as out,
        Program("--model", model, "--input", folder / "in", *options, stdout=out) as program,
    ):
        assert program.status() == 0, program.told
    written = (folder / "out").read_bytes().decode()
    assert written.endswith("\n")
    return written.removesuffix("\n").split("\n")


def test_a_paragraph_is_its_sentences_with_the_white_space_between_them(trained_run: Path, tmp_path: Path) -> None:
    """Lines of 1 to 40 sentences. Sentences alone, pairs and triples of them go through the same process."""
    drawn = random.Random(8)
    alone = [source for source, _ in sentences(90, seed=4) if 3 <= len(source.split()) <= 5]
    paragraphs = [drawn.choices(range(len(alone)), k=k) for k in [1, 40, *(drawn.randint(1, 40) for _ in range(28))]]
    spaces = ["".join(drawn.choices(SPACES, k=drawn.choice([1, 1, 2, 3]))) for _ in range(40)]
    spaces[: len(SPACES)] = SPACES
    pairs, triples = ([list(range(i, i + n)) for i in range(0, len(alone) - n + 1, n)] for n in (2, 3))
    texts = [*alone]
    between = [[" "] * 3 for _ in [*pairs, *triples]] + [drawn.sample(spaces, k=40) for _ in paragraphs]
    for indices, white in zip([*pairs, *triples, *paragraphs], between, strict=True):
        texts.append(joined([alone[i] for i in indices], white))
    out = translated(trained_run, tmp_path, "".join(f"{text}\n" for text in texts))
    assert len(out) == len(texts)
    as_spaces = str.maketrans(dict.fromkeys(LINE_ENDS, " "))
    for line, indices, white in zip(out[len(alone) :], [*pairs, *triples, *paragraphs], between, strict=True):
        assert line == joined([out[i] for i in indices], [each.translate(as_spaces) for each in white])
        assert line.count(".") == len(indices)


def joined(texts: list[str], white: list[str]) -> str:
    return "".join(f"{space}{text}" for space, text in zip(["", *white], texts, strict=False))


@st.composite
def hostile_lines(draw: st.DrawFn) -> bytes:
    """Some lines of any bytes or of any text, often long by repeating a few of them."""
    unit = draw(st.binary(min_size=1, max_size=40) | st.text(min_size=1, max_size=12).map(encoded))
    return unit * draw(st.sampled_from([1, 2, 7, 100]))


def encoded(text: str) -> bytes:
    return text.encode(errors="surrogatepass")


def test_hostile_bytes_cost_and_add_no_line(trained_run: Path) -> None:
    """A process that goes on living gets them, and answers each time with as many lines, and then as it always does."""
    quick = ("--errors", "replace", "--beam-size", 1, "--max-length", 0, 3, "--buffer", 0.01, "--quiet")
    with Program("--model", trained_run, *quick) as program:
        program.give("Ba be.\n")
        assert program.line() == "Bas Bes."

        @settings(max_examples=15)
        @given(data=hostile_lines())
        @example(data=b"\xff\xfe\x00\r\r\x1a\x04\x03")
        @example(data=encoded("\u2028\x85\x0b\x0c\x1c\ufeff" * 7))
        def check(data: bytes) -> None:
            program.give(data + b"\nBa be.\n")
            for _ in range(data.count(b"\n") + 1):
                assert len(program.line().splitlines()) <= 1
            assert program.line() == "Bas Bes."

        check()
        assert program.end() == (0, "")


def test_lines_of_a_megabyte_are_lines(random_run: Path, tmp_path: Path) -> None:
    drawn = random.Random(7)
    noise = bytes(drawn.choices([byte for byte in range(256) if byte != 10], k=1 << 16))
    (tmp_path / "in").write_bytes(b"".join(line + b"\n" for line in (b"\xff" * (1 << 20), b" \t" * (1 << 19), noise)))
    quick = ("--errors", "replace", "--beam-size", 1, "--max-length", 0, 1)
    with Program("--model", random_run, "--input", tmp_path / "in", *quick) as program:
        status, out = program.end()
    assert (status, out.count("\n")) == (0, 3), program.told
    assert "2 lines of input were not UTF-8" in program.told
