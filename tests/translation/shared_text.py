"""A text to share, and translate.py as one of several processes."""

import gzip
import os
from collections.abc import Sequence
from pathlib import Path

from tests.processes import Warm
from tests.translating import Cli, sentences

# A block has a few lines then, and there are a dozen of them.
SMALL_BLOCKS = ("--max-batch-tokens", 4)
# What may end a line, and what may not; blank lines; lines of several sentences.
SOURCES = [src for src, _ in sentences(40)]
TEXT = "\n".join([*SOURCES[:9], "", *SOURCES[9:30], " ", "", "Ba be\u2028fo.\r", *SOURCES[30:], "Ba. Fo fu."]) + "\n"


def write(path: Path, text: str = TEXT) -> Path:
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


def by_one(cli: Cli, *options: object, output: Path) -> bytes:
    """What a single process writes."""
    status, _, err = cli(*options, "--output", output)
    assert status == 0, err
    return output.read_bytes()


def ranks(
    cli: Cli, n: int, *options: object, log: Path, of: Sequence[int] | None = None, wait_at: int = -1
) -> list[Warm]:
    """Processes of one job, which have begun. What they print is added to `log`.

    Args:
        of: which of them to start; without it, all.
        wait_at: the number of a batch at which each of them waits for a file `go` beside `log`.
    """
    started = []
    for rank in range(n) if of is None else of:
        variables = {"RANK": str(rank), "LOCAL_RANK": str(rank), "WORLD_SIZE": str(n), "OMP_NUM_THREADS": "1"}
        words = [Path(__file__).with_name("rank.py"), wait_at, log.parent, *cli.defaults, *options]
        with log.open("ab") as stream:
            env = os.environ | variables
            started.append(Warm([str(word) for word in words], env=env, stdout=stream, stderr=stream))
    return started


def ended(processes: Sequence[Warm], timeout_s: float = 60) -> list[int]:
    """Their exit statuses; minus the number of the signal that killed one."""
    return [process.wait(timeout_s) for process in processes]
