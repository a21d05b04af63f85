"""`python -m seq2seq corpus augment`: what it writes, and what it refuses."""

import gzip
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from seq2seq.cli import main
from seq2seq.corpus.augmentation import AUGMENTATIONS
from tests.places import ROOT
from tests.translating import Stream

SAMPLE = ROOT / "data/sample"


@pytest.fixture
def augmented(monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    """What the command writes to stdout."""

    def run(*words: object, stdin: bytes = b"") -> str:
        stdout = Stream()
        monkeypatch.setattr(sys, "stdin", Stream(stdin))
        monkeypatch.setattr(sys, "stdout", stdout)
        main(["corpus", "augment", *map(str, words)])
        return stdout.written()

    return run


def refused(capsys: pytest.CaptureFixture[str], *words: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["corpus", "augment", *map(str, words)])
    assert stopped.value.code == 2
    out, err = capsys.readouterr()
    assert not out
    return err


def written(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.fixture
def pair(tmp_path: Path) -> tuple[Path, Path]:
    src = written(tmp_path / "a.fr", "L'été arrive.\n\nÇa va, Léa ?\n")
    return src, written(tmp_path / "a.en", "Summer comes.\n\nAll well, Léa?\n")


def test_stdin_becomes_stdout_in_the_order_of_the_kinds(augmented: Callable[..., str]) -> None:
    assert augmented("-", "--as", "upper,accents,stop,join", stdin="l'été.\nÇa va ?\n".encode()) == "L'ETE CA VA ?\n"
    assert augmented("-", "--as", "join,upper,accents,stop", stdin="l'été.\nÇa va.\n".encode()) == "L'ETE. CA VA\n"
    first, again, other = (augmented(SAMPLE / "test.fr", "--as", "typos", "--seed", seed) for seed in (1, 1, 2))
    assert first == again != other


def test_each_translation_gets_a_file_with_a_line_for_each_line(tmp_path: Path, pair: tuple[Path, Path]) -> None:
    outputs = [tmp_path / "new/b.fr", tmp_path / "new/b.en"]
    main(["corpus", "augment", *map(str, pair), "--as", "upper", "--output", *map(str, outputs)])
    assert outputs[0].read_text(encoding="utf-8") == "L'ÉTÉ ARRIVE.\n\nÇA VA, LÉA ?\n"
    assert outputs[1].read_text(encoding="utf-8") == "SUMMER COMES.\n\nALL WELL, LÉA?\n"


def test_compressed_files_and_windows_line_ends_are_read(tmp_path: Path, augmented: Callable[..., str]) -> None:
    packed = gzip.compress("\ufeffL'été.\r\nIl dort.\r\n".encode())
    (tmp_path / "a.fr.gz").write_bytes(packed)
    assert augmented(tmp_path / "a.fr.gz", "--as", "lower") == "l'été.\nil dort.\n"
    assert augmented("-", "--as", "lower", stdin=packed) == "l'été.\nil dort.\n"


def test_the_list_has_every_kind_with_its_reason(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stopped:
        main(["corpus", "augment", "--list"])
    assert not stopped.value.code
    rows = [line.split(maxsplit=1) for line in capsys.readouterr().out.splitlines()]
    assert rows == [[name, augmentation.reason] for name, augmentation in AUGMENTATIONS.items()]


@pytest.mark.parametrize("words", [["--as", "typo"], ["--as", "upper, typo"], ["--as", ""]])
def test_an_unknown_kind_is_refused_with_the_list(
    words: list[str], pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    message = refused(capsys, pair[0], *words)
    assert message.startswith("error: there is no augmentation '")
    assert all(name in message for name in AUGMENTATIONS)


def test_files_that_do_not_fit_are_refused_and_nothing_is_written(
    tmp_path: Path, pair: tuple[Path, Path], capsys: pytest.CaptureFixture[str]
) -> None:
    src, tgt = pair
    short, bad = written(tmp_path / "short.en", "Summer comes.\n"), tmp_path / "bad.en"
    bad.write_bytes(b"Summer.\n\n\xff\n")
    outputs = tmp_path / "x.fr", tmp_path / "x.en"
    before = sorted(tmp_path.iterdir())
    cases: list[tuple[list[object], str]] = [
        ([src, short, "--output", *outputs], f"{src} has 3 lines but {short} has 1"),
        ([src, bad, "--output", *outputs], f"{bad}:3: byte 1 of the line (0xff) is not UTF-8"),
        ([src, tmp_path / "none.en", "--output", *outputs], f"cannot read {tmp_path / 'none.en'}"),
        ([src, tmp_path, "--output", *outputs], f"cannot read {tmp_path}: Is a directory"),
        ([src, tgt], "--output names 0 files for 2"),
        ([src, tgt, "--output", outputs[0]], "--output names 1 files for 2"),
        ([src, "--output", *outputs], "--output names 2 files for 1"),
        ([src, tgt, "--output", outputs[0], outputs[0]], "twice"),
        (["-", "-", "--output", *outputs], "stdin (-) stands for two files"),
    ]
    for words, expected in cases:
        message = refused(capsys, *words, "--as", "upper")
        assert message.startswith("error: ") and expected in message
        assert sorted(tmp_path.iterdir()) == before


def test_a_large_file_takes_no_more_memory_than_a_small_one(tmp_path: Path) -> None:
    """Python's own memory, to the byte: what the allocator and the libraries take is another matter."""
    text = (SAMPLE / "test.fr").read_bytes()
    peaks = []
    for n_copies in (1, 1, 30):  # the first time also takes what is kept for later calls
        (tmp_path / "in.fr").write_bytes(text * n_copies)
        tracemalloc.start()
        main(
            ["corpus", "augment", str(tmp_path / "in.fr"), "--as", "join3,upper", "--output", str(tmp_path / "out.fr")]
        )
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[2] < 2 * peaks[1] < len(text) * 30
