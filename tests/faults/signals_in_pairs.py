"""Pairs of signals to translations, in a state or at random moments.

Each translation must end in order, with an output that is whole or not there, and leave no process behind. The same
command must finish what it has kept to the same bytes, also after SIGKILL, and leave nothing beside them.
"""

import os
import random
import re
import signal
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from tests.faults.programs import Program, n_kept
from tests.processes import descendants, lives, until
from tests.translating import sentences

_TRACES = ("Traceback", "Exception ignored", "worker process", "Fatal Python error", "Error in sys.excepthook")


class Pairs:
    """Translations of one text with one model.

    Attributes:
        options: of each of them.
        text: what goes in.
        half: the first half of its lines.
        whole: what comes out if nothing interrupts them.
        usual_s: how long they take then.
        n_resumed: how many of those that were interrupted had kept lines.
    """

    def __init__(self, folder: Path, model: Path, n_lines: int) -> None:
        text = folder / "text"
        text.write_text("".join(f"{source}\n" for source, _ in sentences(n_lines)))
        self.model, self.text = model, text.read_bytes()
        self.half = self.text[: self.text.index(b"\n", len(self.text) // 2) + 1]
        self.options = ("--model", model, "--max-batch-tokens", 40, "--input", text)  # blocks of some dozen lines
        self.n_resumed = 0
        begin_s = time.monotonic()
        fault = self._finish(folder / "whole", "--quiet")
        assert not fault, fault
        self.usual_s = time.monotonic() - begin_s
        self.whole = (folder / "whole").read_bytes()

    def fault(self, folder: Path, drawn: random.Random) -> str:
        """Translate, interrupt that at two random moments, go on; and say what is wrong, or nothing."""
        kinds = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL]
        signals = drawn.choices(kinds, weights=[4, 4, 1, 3], k=2)
        delay_s = drawn.uniform(0, 1.1 * self.usual_s)
        pause_s = drawn.uniform(0, 1.2) ** 3
        send = drawn.choice([os.kill, os.killpg])  # a terminal and a batch system send signals to a whole group
        folder.mkdir()
        with Program(*self.options, "--output", folder / "out", frees_memory=True) as program:
            until(lambda: program.handles_signals or program.has_ended)
            time.sleep(delay_s)
            fault = self._interrupted(program, folder, signals, send, pause_s)
        first, second = (signum.name for signum in signals)
        moment = f"{first} after {delay_s:.3f} s, {second} after {pause_s:.3f} s, {send.__name__}"
        return fault and f"{moment}: {fault}"

    def fault_once(self, state: Callable[[Program, Path], object], folder: Path, *signals: signal.Signals) -> str:
        """Translate half of the text, and interrupt that twice when a state is reached; go on as above.

        Args:
            state: of the program, which waits for more text, and of its output.
        """
        folder.mkdir()
        with Program(*self.options[:-2], "--output", folder / "out", frees_memory=True) as program:
            program.give(self.half)
            until(lambda: state(program, folder / "out"))
            return self._interrupted(program, folder, signals, os.killpg, 0.0)

    def _interrupted(
        self,
        program: Program,
        folder: Path,
        signals: Sequence[signal.Signals],
        send: Callable[[int, int], None],
        pause_s: float,
    ) -> str:
        for signum, wait_s in zip(signals, (pause_s, 0.0), strict=True):
            program.workers |= descendants(program.id)
            if program.has_ended:
                break
            with suppress(ProcessLookupError):  # it ended in this moment
                send(program.id, signum)
            program.ends_within(wait_s)
        return _end_of(program, signals, folder / "out") or self._left(folder)

    def _left(self, folder: Path) -> str:
        """What is wrong with the files that were left, and with what they become."""
        names = [path.name for path in folder.iterdir()]
        if known := [name for name in names if re.fullmatch(r"out|\.?out\.parts(\.joined)?|\.out\.\w{8}\.tmp", name)]:
            self.n_resumed += n_kept(folder / "out") > 0
            if fault := self._finish(folder / "out", "--quiet"):
                return f"the same command: {fault}"
            names = [*set(names).difference(known), *(path.name for path in folder.iterdir() if path.name != "out")]
            if (folder / "out").read_bytes() != self.whole:
                return "the output is not that of an unbroken run"
        return (names and f"it left {', '.join(names)}") or ""

    def _finish(self, output: Path, option: str) -> str:
        with Program(*self.options, "--output", output, option) as program:
            return "" if program.status() == 0 else program.told


def _end_of(program: Program, signals: Sequence[signal.Signals], output: Path) -> str:
    """What is wrong with how it ended."""
    status = program.status()
    first, second = signals
    expected = [0, 128 + first, 128 + second, -second]  # the last: it came when Python itself ended
    if output.exists() or first == signal.SIGKILL:
        expected.append(-first)
    if status not in expected:
        return f"status {status}: {program.told}"
    if any(trace in program.told for trace in _TRACES):
        return program.told
    until(lambda: not any(map(lives, program.workers)))
    return ""
