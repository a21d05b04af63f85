"""What the pages of the documentation hold, for the tests that compare it with the code."""

import re
from collections.abc import Iterator
from pathlib import Path

from tests.places import ROOT


def pages() -> list[Path]:
    """Every page of the documentation."""
    found = [
        *ROOT.glob("*.md"),
        *ROOT.glob("docs/**/*.md"),
        *ROOT.glob("data/*/README.md"),
        *ROOT.glob("benchmarks/*.md"),
    ]
    assert len(found) > 5
    return found


def code_lines(page: Path) -> Iterator[str]:
    """The lines of the indented code blocks of a page, each with its continuations."""
    text = re.sub(r"\\\n\s*", "", page.read_text())
    for block in re.findall(r"^(?: {4}.*\n?)+", text, re.M):
        yield from (line.strip().removeprefix("$ ") for line in block.splitlines())


def fenced(page: Path, language: str) -> list[str]:
    """The fenced code blocks of a page in one language."""
    return re.findall(rf"^```{language}\n(.*?)^```$", page.read_text(), re.M | re.S)


def write_preset(folder: Path) -> Path:
    """The preset that docs/configuration.md shows, in the folder that it names there, of which this is the path."""
    (preset,) = [block for block in fenced(ROOT / "docs/configuration.md", "yaml") if "name: mine" in block]
    file = folder / "presets/experiment/mine.yaml"
    file.parent.mkdir(parents=True)
    file.write_text(preset)
    return folder / "presets"


def write_experiment(folder: Path) -> None:
    """The three files of an experiment outside the checkout that docs/python.md shows."""
    page = ROOT / "docs/python.md"
    (loss,) = [block for block in fenced(page, "python") if "LOSSES[" in block]
    (script,) = [block for block in fenced(page, "python") if "__main__" in block]
    (preset,) = fenced(page, "yaml")
    for name, text in {"mine.py": loss, "experiment.py": script, "presets/experiment/focal.yaml": preset}.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
