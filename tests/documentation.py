"""What the pages of the documentation hold, for the tests that compare it with the code."""

import dataclasses
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

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


def keys(section: Any, prefix: str = "") -> Iterator[tuple[str, object]]:
    """Every dotted configuration key of a section, with its default."""
    for name, default in dataclasses.asdict(section()).items():
        field_type = section.__dataclass_fields__[name].type
        if dataclasses.is_dataclass(field_type):
            yield from keys(field_type, f"{prefix}{name}.")
        else:
            yield prefix + name, default
