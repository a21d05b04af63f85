"""The section `trainer`."""

from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import at_least, one_of


@dataclass(kw_only=True)
class TrainerConfig:
    """Where and how long to train, how often to look, and what to keep."""

    accelerator: str = "auto"  # `auto`: a GPU if there is one
    devices: int = 0  # how many; 0: all GPUs, or one CPU process
    n_nodes: int = 1  # machines
    strategy: str = "auto"  # any name that Lightning knows; ddp is tested, those that share out the weights are not
    precision: str = "auto"  # `auto`: bf16-mixed where the hardware multiplies bf16 natively, else 32-true
    threads: int = 0  # CPU threads for the products; 0: as torch decides
    max_epochs: int = 0  # 0: no limit
    max_steps: int = 0  # optimizer steps; 0: no limit
    max_time: str = ""  # DD:HH:MM:SS of training and validation; the final selection and the test scores come after it
    val_every_n_steps: int = 0  # 0: at the end of each epoch
    log_every_n_steps: int = 10  # of the training metrics
    valid_sentences: int = 0  # decode only so many sentences of valid while training, evenly spread; 0: all
    monitor: str = "valid/bleu"  # what is best: higher, except for names with `loss` or `perplexity`
    patience: int = 0  # stop after so many validations without a better monitor; 0: never
    average_last: int = 5  # the last so many validations' weights are averaged at the end; 0: none
    ema_decay: float = 0.0  # exponential moving average of the weights, a candidate at the end; 0: off
    compile: bool = False  # torch.compile the model; worth its warm-up on GPUs
    progress: bool = True  # the progress bar

    def problems(self) -> Iterator[str]:
        yield from one_of(
            "trainer", self, precision=("auto", "32-true", "bf16-mixed", "16-mixed", "bf16-true", "64-true")
        )
        yield from one_of("trainer", self, accelerator=("auto", "cpu", "gpu", "cuda", "mps"))
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
            average_last=0,
        )
        if not 0 <= self.ema_decay < 1:
            yield f"trainer.ema_decay={self.ema_decay} is not in [0, 1)"
        if not (self.max_epochs or self.max_steps or self.max_time):
            yield "nothing ends this run; set trainer.max_epochs, trainer.max_steps or trainer.max_time"
        if self.max_time and not _is_duration(self.max_time):
            yield f"trainer.max_time={self.max_time!r} is not a duration; write DD:HH:MM:SS, such as 00:01:30:00"

    @property
    def max_seconds(self) -> int:
        """`max_time`; 0 for none."""
        if not self.max_time:
            return 0
        days, hours, minutes, seconds = map(int, self.max_time.split(":"))
        return ((days * 24 + hours) * 60 + minutes) * 60 + seconds


def _is_duration(text: str) -> bool:
    parts = text.split(":")
    return len(parts) == 4 and all(part.isdigit() for part in parts)
