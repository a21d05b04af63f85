"""`python -m seq2seq encode`: files of vectors, pictures, neighbours."""

import io
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import seq2seq
from seq2seq.cli import main
from seq2seq.inspection import encoding
from seq2seq.inspection.vectors import line_vectors
from tests.translating import Stream, write_run
from tests.translation.engines.models import random_model, run_content

LINES = ["Ba do.", "", "Fe ki ba."]
Run = Callable[..., bytes]


@pytest.fixture
def encode(random_run: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """What the command writes to stdout; its input is `LINES`."""

    def run(*arguments: object, is_terminal: bool = False) -> bytes:
        text = "".join(f"{line}\n" for line in LINES).encode()
        streams = {"stdin": Stream(text), "stdout": Stream(is_terminal=is_terminal)}
        for name, stream in streams.items():
            monkeypatch.setattr(sys, name, stream)
        options = ("--model", random_run, "--device", "cpu", "--precision", "float32")
        main(["encode", *map(str, (*options, *arguments))])
        streams["stdout"].flush()
        written: bytes = streams["stdout"].buffer.getvalue()  # type: ignore[attr-defined]
        return written

    return run


@pytest.fixture
def refused(encode: Run, capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: object, **options: bool) -> str:
        with pytest.raises(SystemExit) as end:
            encode(*arguments, **options)
        assert end.value.code == 2
        return capsys.readouterr().err

    return run


def test_vectors_are_as_wide_as_the_encoder(encode: Run, tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", run_content(random_model(d_encoder=18, embeddings="decoder")))
    with np.load(io.BytesIO(encode("--model", run))) as found:
        assert found["vectors"].shape == (3, 18)


def test_stdin_to_stdout_has_a_row_for_each_line(
    encode: Run, random_run: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with np.load(io.BytesIO(encode())) as found:
        vectors, lines = found["vectors"], found["line"]
    translator = seq2seq.load(random_run, device="cpu", precision="float32", workers=1)
    expected = np.concatenate([each.vectors for each in line_vectors(translator, LINES)])
    np.testing.assert_allclose(vectors, expected, atol=1e-5)
    assert lines.tolist() == [0, 1, 2]
    assert capsys.readouterr().err == "3 vectors\n"


def test_units_layers_and_types_are_chosen(encode: Run, tmp_path: Path) -> None:
    file = tmp_path / "words.npz"
    assert encode("--unit", "word", "--layer", 0, "--pool", "max", "--float16", "--output", file) == b""
    with np.load(file) as found:
        assert (found["vectors"].dtype, found["vectors"].shape) == (np.float16, (5, 32))
        assert found["line"].tolist() == [0, 0, 2, 2, 2]
        assert found["place"].tolist() == [0, 1, 0, 1, 2]
    text = tmp_path / "text"
    text.write_text("Un chat.\n")
    encode("--input", text, "--output", tmp_path / "lines.npy")
    assert np.load(tmp_path / "lines.npy", mmap_mode="r").shape == (1, 32)


def test_neighbours_of_a_word_are_printed_with_what_stands_around_them(encode: Run) -> None:
    shown = encode("--nearest", "Ki ba.", "--word", "BA", "--neighbours", 2).decode().splitlines()
    assert len(shown) == 2
    words = {"1: [Ba] do.", "1: Ba [do.]", "3: [Fe] ki ba.", "3: Fe [ki] ba.", "3: Fe ki [ba.]"}
    assert {line.split("  line ")[1] for line in shown} < words
    cosines = [float(line.split()[0]) for line in shown]
    assert cosines == sorted(cosines, reverse=True)


def test_long_lines_are_shown_in_part() -> None:
    line = "a b c d e f g h i"
    assert encoding.around(line, 4) == "… b c d [e] f g h …"
    assert encoding.around(line, 0) == "[a] b c d …"
    assert encoding.around("医生每天早上看见面包。", 4) == "… 生每天[早]上看见 …"


def test_pictures_have_the_words_or_the_lines(encode: Run, tmp_path: Path) -> None:
    file = tmp_path / "ba.svg"
    assert encode("--word", "ba", "--picture", file).decode() == f"{file}: 2 points\n"
    drawn = file.read_text()
    assert "[Ba] do." in drawn and "Fe ki [ba.]" in drawn and "of the variance" in drawn
    assert encode("--picture", file).decode() == f"{file}: 3 points\n"
    assert "Fe ki ba." in file.read_text()


def test_what_makes_no_sense_is_refused(
    refused: Callable[..., str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    picture = ("--picture", tmp_path / "a.png")
    assert "vectors are numbers, not text for a terminal" in refused(is_terminal=True)
    assert "its ending must be one of npz, npy" in refused("--output", tmp_path / "v.txt")
    assert "has no room for which line a word is of" in refused("--unit", "word", "--output", tmp_path / "v.npy")
    assert "are three results; ask for one" in refused(*picture, "--nearest", "a", "--word", "a")
    assert "its ending must be one of png, svg, pdf" in refused("--picture", tmp_path / "a.txt")
    assert "--nearest needs --word" in refused("--nearest", "Ba do.")
    assert "--word is for --picture and --nearest" in refused("--word", "ba")
    assert "--word is one word" in refused("--word", "ba do", *picture)
    assert "--word is one word" in refused("--word", "ba", "--unit", "piece", *picture)
    assert "'Ba do.' has no word 'zu'" in refused("--nearest", "Ba do.", "--word", "zu")
    assert "there is nothing to draw: no line has the word 'zu'" in refused("--word", "zu", *picture)
    assert "layer=2: the encoder has 1 layers" in refused("--layer", 2)
    monkeypatch.setattr(encoding, "_MOST_POINTS", 2)
    assert "a picture of more than 2 points cannot be read" in refused(*picture)
