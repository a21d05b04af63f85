"""What all contenders of train_speed.py share: what they train, and how their steps are counted.

Each peer's script runs in an environment of its own, so this module needs nothing but Python.
"""

import argparse
import json
import resource
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PAD, UNK, BOS, EOS = range(4)  # the project's special ids, the same in every vocabulary


@dataclass(kw_only=True)
class Job:
    """What train_speed.py asks for.

    Attributes:
        precision: fp32, or bf16 for mixed precision.
        warmup: steps before the measured ones, at least 1.
        config: our configuration, for the peers to do as we do.
        folder: has the training text for the peers: see `pieces` and `vocabulary`.
        synthetic: of our own training: random pairs of so many tokens a side in place of text; 0: text.
    """

    precision: str
    steps: int
    warmup: int
    config: dict[str, Any]
    folder: str
    synthetic: int = 0

    @classmethod
    def from_arguments(cls, doc: str | None) -> "Job":
        """The one argument of a script whose docstring is `doc`."""
        parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
        parser.add_argument("job", help="JSON object, written by benchmarks/train_speed.py")
        return cls(**json.loads(parser.parse_args().job))

    @property
    def model(self) -> dict[str, Any]:
        return self.config["model"]

    @property
    def optim(self) -> dict[str, Any]:
        return self.config["optim"]

    @property
    def seed(self) -> int:
        return self.config["seed"]

    @property
    def max_tokens(self) -> int:
        """The size of a batch. Each contender has its own rule for what that means."""
        return self.config["batch"]["max_tokens"]

    @property
    def device(self) -> str:
        """cpu or cuda."""
        return self.config["trainer"]["accelerator"]

    @property
    def threads(self) -> int:
        """0: as torch decides."""
        return self.config["trainer"]["threads"]

    def pieces(self, side: str) -> Path:
        """The training text of `src` or `tgt`: a sentence a line, with spaces between its pieces."""
        return Path(self.folder) / f"train.{side}"

    def vocabulary(self) -> list[str]:
        """The piece of each id; the first four are the special ones."""
        return _lines(Path(self.folder) / "vocabulary")

    def ids(self) -> list[tuple[list[int], list[int]]]:
        """The pairs of the training text, each side ending with eos."""
        ids = {piece: id_ for id_, piece in enumerate(self.vocabulary())}
        src, tgt = (
            [[*(ids[piece] for piece in line.split(" ")), EOS] for line in _lines(self.pieces(side))]
            for side in ("src", "tgt")
        )
        return list(zip(src, tgt, strict=True))


def _lines(file: Path) -> list[str]:
    """Lines end at LF only."""
    return file.read_text(encoding="utf-8").split("\n")[:-1]


class Done(Exception):
    """Raised when all steps are measured. It leaves a toolkit's own training loop."""


class Meter:
    """Counts tokens and time of the steps after the warm-up.

    A target token is a position that enters the loss: a piece or eos. A source token is a position that the encoder
    reads. Slots are these and the padding.
    """

    def __init__(self, job: Job) -> None:
        self.warmup, self.steps = job.warmup, job.steps
        self.n_done = 0
        self.counts = dict.fromkeys(("src", "tgt", "src_slots", "tgt_slots", "sentences"), 0)
        self.began = self.cpu_began_s = 0.0

    def count(self, src: Any, tgt: Any) -> None:
        """Add a batch of the step that is under way: tensors (sentences, slots), True where a slot holds a token."""
        if self.n_done >= self.warmup:
            self.counts["sentences"] += len(tgt)
            for side, is_token in {"src": src, "tgt": tgt}.items():
                self.counts[side] += int(is_token.sum())
                self.counts[f"{side}_slots"] += is_token.numel()

    def end_step(self) -> None:
        """Say that the optimizer took a step. The clock runs from the last step of the warm-up to the last step."""
        self.n_done += 1
        if self.n_done == self.warmup:
            self.began, self.cpu_began_s = time.perf_counter(), time.process_time()
        if self.is_done:
            self.elapsed_s = time.perf_counter() - self.began
            self.cpu_s = time.process_time() - self.cpu_began_s

    @property
    def is_done(self) -> bool:
        return self.n_done == self.warmup + self.steps

    def report(self, **more: Any) -> str:
        """What was measured, and `more`, as one line of JSON."""
        n = self.counts
        peak_kib = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return json.dumps(
            {
                "tgt_per_s": n["tgt"] / self.elapsed_s,
                "src_per_s": n["src"] / self.elapsed_s,
                "sentences_per_s": n["sentences"] / self.elapsed_s,
                "padding": 1 - (n["src"] + n["tgt"]) / (n["src_slots"] + n["tgt_slots"]),
                "peak_gb": peak_kib * 1024 / 1e9,
                "cores": self.cpu_s / self.elapsed_s,
                "elapsed_s": self.elapsed_s,
                "a_step": {name: count / self.steps for name, count in n.items()},
                **more,
            }
        )
