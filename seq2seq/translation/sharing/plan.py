"""The parts of a text that processes share, and the folder that they lie in until they are joined.

    out.en.parts/
      plan.json           how the text is cut, with which model and options it is translated (`Plan`)
      00001, 00002, ...   what the parts became; with the ending of the output if that is compressed
      00001.json          the record of a part that is whole
      00003.partial*      a part that a process is making, see `resumable.py`
      process-1           held by process 1 as long as it lives; shard-3-of-8 likewise
      process-1.lines     how many lines process 1 has done so far
      process-1.json      what process 1 counted, when it is done

A part is a run of whole blocks (`blocks.py`), so a process that has nothing of its text but the part makes of it what
any other makes. A plan is a function of the text, the model and the options: not of the processes, whose number may
change between two runs.
"""

import dataclasses
import hashlib
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from seq2seq.corpus.sources import COMPRESSIONS
from seq2seq.errors import TranslationError
from seq2seq.files import is_sealed, sealed, write_json
from seq2seq.translation.blocks import Placed
from seq2seq.translation.finished import read_record
from seq2seq.translation.resumable import FORMAT, Progress, beside, json_values

U = TypeVar("U")

FOLDER = ".parts"
# The first parts have one block each, then their size doubles: 6,000 parts are enough for 20 GB.
_SMALL_PARTS = 2048
_DOUBLED_EVERY = 512


@dataclass(frozen=True)
class Part:
    """Consecutive units of the input: lines, or pieces of another form.

    Attributes:
        source_sha256, parallel_sha256: as in `resumable.Progress`.
    """

    n_units: int
    source_sha256: str
    parallel_sha256: str


@dataclass(frozen=True, kw_only=True)
class Plan:
    """How a text is shared.

    Attributes:
        fingerprint: of all parts, see `open_output`.
        block_size: characters of a block.
        n_blocks: of the whole text.
        n_texts: of the whole text, about.
        whole: the text as one part.
        command: what the first process was started with.
        n_shards: into how many shards the command was divided; 0: the processes are of one job.
    """

    fingerprint: dict[str, Any]
    block_size: int
    n_blocks: int
    n_texts: int
    parts: tuple[Part, ...]
    whole: Part
    command: str
    n_shards: int
    format: int = FORMAT


class Folder:
    """The folder with the parts of one output."""

    def __init__(self, output: Path) -> None:
        self.output = output
        self.path = beside(output, FOLDER)
        self._suffix = output.suffix if output.suffix in COMPRESSIONS else ""

    def part(self, index: int) -> Path:
        """The file that a part becomes."""
        return self.path / f"{index + 1:05d}{self._suffix}"

    def process(self, rank: int) -> Path:
        """The file that a process holds."""
        return self.path / f"process-{rank}"

    def settings(self, fingerprint: Mapping[str, Any]) -> dict[str, Any]:
        """What the fingerprint of a part will be."""
        return json_values({**fingerprint, "compression": self._suffix})

    def write_plan(self, plan: Plan) -> None:
        write_json(self._plan, sealed(dataclasses.asdict(plan)))

    def read_plan(self) -> Plan | None:
        """The plan; None if there is none.

        Raises:
            TranslationError: it is damaged, or of another version.
        """
        try:
            content = json.loads(self._plan.read_bytes())
            if not isinstance(content, dict) or not is_sealed(content):
                raise ValueError
            del content["sha256"]
            parts = tuple(Part(**part) for part in content.pop("parts"))
            plan = Plan(**content | {"parts": parts, "whole": Part(**content["whole"])})
        except FileNotFoundError:
            return None
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise TranslationError(f"{self._plan} is damaged; {self.to_start_anew}") from error
        if plan.format != FORMAT:
            raise TranslationError(f"{self._plan} was written by another version; {self.to_start_anew}")
        return plan

    def fault(self, plan: Plan, index: int) -> str:
        """Why a part is not whole; empty if it is. Its content is not read."""
        path, part = self.part(index), plan.parts[index]
        if not path.exists():
            return "is not finished" if beside(path, ".partial").exists() else "is missing"
        try:
            record = Progress(**read_record(path, is_beside=True))
        except TypeError:
            return "has no record of how it was made"
        if record.format != FORMAT or record.fingerprint != plan.fingerprint:
            return "was made with other settings"
        if (record.source_sha256, record.parallel_sha256) != (part.source_sha256, part.parallel_sha256):
            return "is the translation of other text"
        return "" if path.stat().st_size == record.n_bytes else "was changed after it was translated"

    def faults(self, plan: Plan) -> dict[int, str]:
        """The parts that are not whole, and why."""
        return {index: fault for index in range(len(plan.parts)) if (fault := self.fault(plan, index))}

    @property
    def to_start_anew(self) -> str:
        return f"remove {self.path} to start anew"

    @property
    def _plan(self) -> Path:
        return self.path / "plan.json"


def cut(
    units: Iterable[Placed[U]], source: Callable[[U], str], parallel: Iterator[str] | None = None
) -> tuple[tuple[Part, ...], Part, int, int]:
    """Read a text once, and cut it into parts, each a run of whole blocks.

    Args:
        source: the text of a unit.
        parallel: a line for each unit, if there is such a file.
    Returns:
        The parts, at least one; the text as one part; the number of its blocks; about how many texts it has.
    """
    parts: list[Part] = []
    whole, part = _Digests(), _Digests()
    n_blocks = n_inside = n_texts = 0
    for unit in units:
        line = source(unit.unit).encode() + b"\n"
        other = b"" if parallel is None else next(parallel, "").encode() + b"\n"
        for digests in (whole, part):
            digests.add(line, other)
        n_texts = unit.first_text + 1
        n_blocks = unit.block + 1
        n_inside += unit.ends_block
        if n_inside == _n_blocks_of(len(parts)):
            parts.append(part.finished())
            part, n_inside = _Digests(), 0
    if part.n_units or not parts:
        parts.append(part.finished())
    return tuple(parts), whole.finished(), n_blocks, n_texts


def _n_blocks_of(index: int) -> int:
    """How many blocks a part has. Of a long text the later ones have more, so that memory hardly grows with it."""
    return 1 << max(0, (index - _SMALL_PARTS) // _DOUBLED_EVERY + 1)


class _Digests:
    """Of the lines of a part and those that go with them."""

    def __init__(self) -> None:
        self._source, self._parallel = hashlib.sha256(), hashlib.sha256()
        self.n_units = 0

    def add(self, line: bytes, other: bytes) -> None:
        self._source.update(line)
        self._parallel.update(other)
        self.n_units += 1

    def finished(self) -> Part:
        return Part(self.n_units, self._source.hexdigest(), self._parallel.hexdigest())
