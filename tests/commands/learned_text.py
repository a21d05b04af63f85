"""What the trained model can translate, and lines in files."""

from collections.abc import Iterable
from pathlib import Path

from tests.translating import sentences

GREEDY = ("--beam-size", "1")
PAIRS = sentences(12)
SOURCES, REFERENCES = (list(sides) for sides in zip(*PAIRS, strict=True))
LEARNED = "".join(f"{line}\n" for line in SOURCES)


def write(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]
