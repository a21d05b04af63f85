"""The section `trainer`."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import at_least, not_too_many, one_of
from seq2seq.config.on_resume import horizon, runtime, start

FSDP = "fsdp"
FALLING = ("valid/loss", "valid/perplexity")  # the metrics of `monitor` of which less is better


@dataclass(kw_only=True)
class TrainerConfig:
    """Where and how long to train, how often to validate, and which weights to keep."""

    accelerator: str = runtime("auto")  # auto, cpu, gpu, cuda, mps; `auto`: a GPU if there is one
    devices: int = start(0)  # on each machine; 0: all GPUs, or one CPU process
    n_nodes: int = start(1)  # machines
    strategy: str = runtime("auto")  # auto, ddp: each process has all weights; fsdp: they are split among them
    precision: str = start("auto")  # `auto`: bf16-mixed where the hardware has bf16 arithmetic, otherwise 32-true
    threads: int = runtime(0)  # CPU threads for matrix products; 0: torch decides
    max_epochs: int = horizon(0)  # 0: no limit
    max_steps: int = horizon(0)  # optimizer steps; 0: no limit
    max_time: str = horizon("")  # DD:HH:MM:SS of training and validation; final selection and test come after it
    val_every_n_steps: int = horizon(0)  # optimizer steps between two validations; 0: validate after each epoch
    log_every_n_steps: int = runtime(10)  # optimizer steps between two logs of the training metrics
    valid_sentences: int = horizon(0)  # sentences to translate in a validation, spread over all of valid; 0: all
    monitor: str = horizon("valid/bleu")  # says which weights are best: for patience, for best.ckpt and at the end
    patience: int = horizon(0)  # stop after so many validations without a better one; 0: never
    keep_best: int = horizon(1)  # how many of the best validations' weights stay; beside best.ckpt, as best-STEP.ckpt
    keep_every_n_steps: int = horizon(0)  # optimizer steps between two weights that stay, as step-STEP.ckpt; 0: none
    max_rollbacks: int = horizon(3)  # how often a run that diverges goes back and halves its learning rate; 0: never
    average_last: int = horizon(5)  # how many of the last validations' weights are averaged at the end; 0: none
    ema_decay: float = horizon(0.0)  # of an exponential average of the weights, validated in their place; 0: off
    compile: bool = runtime(False)  # torch.compile the model; on GPUs the gain is worth the warm-up
    progress: bool = runtime(True)  # show the progress bar

    def problems(self) -> Iterator[str]:
        yield from one_of(
            "trainer", self, precision=("auto", "32-true", "bf16-mixed", "16-mixed", "bf16-true", "64-true")
        )
        yield from one_of("trainer", self, accelerator=("auto", "cpu", "gpu", "cuda", "mps"))
        yield from one_of("trainer", self, strategy=("auto", "ddp", FSDP))
        yield from one_of(
            "trainer",
            self,
            monitor=("valid/bleu", "valid/chrf", "valid/loss", "valid/perplexity", "valid/accuracy"),
        )
        yield from at_least(
            "trainer",
            self,
            devices=0,
            n_nodes=1,
            threads=0,
            max_epochs=0,
            max_steps=0,
            val_every_n_steps=0,
            log_every_n_steps=1,
            valid_sentences=0,
            patience=0,
            keep_best=1,
            keep_every_n_steps=0,
            max_rollbacks=0,
            average_last=0,
        )
        yield from not_too_many("trainer", self, "devices", "threads")
        if self.strategy == FSDP:
            yield from self._problems_of_splitting()
        if not 0 <= self.ema_decay < 1:
            yield f"trainer.ema_decay={self.ema_decay} is not in [0, 1)"
        if not (self.max_epochs or self.max_steps or self.max_time):
            yield "nothing ends this run; set trainer.max_epochs, trainer.max_steps or trainer.max_time"
        if self.max_time and not _is_duration(self.max_time):
            yield f"trainer.max_time={self.max_time!r} is not a duration; write DD:HH:MM:SS, such as 00:01:30:00"

    def _problems_of_splitting(self) -> Iterator[str]:
        if self.precision == "16-mixed":
            yield f"trainer.precision=16-mixed does not work with trainer.strategy={FSDP}; use bf16-mixed"
        if self.compile:
            yield f"trainer.compile=true does not work with trainer.strategy={FSDP}; leave one of them out"
        if self.accelerator == "mps":
            yield f"trainer.accelerator=mps has nothing to split with trainer.strategy={FSDP}; use auto"

    @property
    def max_seconds(self) -> int:
        """`max_time`; 0 for none."""
        if not self.max_time:
            return 0
        days, hours, minutes, seconds = map(int, self.max_time.split(":"))
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _is_duration(text: str) -> bool:
    return bool(re.fullmatch(r"[0-9]+(:[0-9]+){3}", text) and re.search("[1-9]", text))
