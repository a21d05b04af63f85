"""The section `logger`."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from seq2seq.config.checks import at_least, one_of


@dataclass(kw_only=True)
class LoggerConfig:
    """Where metrics go, besides `metrics.csv` that each run writes."""

    wandb: bool = True  # track in Weights & Biases
    tensorboard: bool = False  # write TensorBoard events
    wandb_mode: str = "auto"  # auto, online, offline, disabled; `auto`: online with credentials, otherwise offline
    wandb_project: str = "seq2seq"  # W&B project
    wandb_entity: str = ""  # W&B user or team; empty: your default one
    wandb_group: str = ""  # W&B group; empty: the name of the experiment, or of the sweep
    wandb_tags: list[str] = field(default_factory=list)  # W&B tags
    n_samples: int = 20  # validation sentences whose translations are logged at each validation

    def problems(self) -> Iterator[str]:
        yield from one_of("logger", self, wandb_mode=("auto", "online", "offline", "disabled"))
        yield from at_least("logger", self, n_samples=0)
