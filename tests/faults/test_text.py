"""As many lines come out as go in, and as many sentences, whatever the text."""

import random
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.faults.programs import Program


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
