"""The section `logger`."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from seq2seq.config.checks import at_least, one_of


@dataclass(kw_only=True)
class LoggerConfig:
    """Where metrics go, besides `metrics.csv` that each run writes."""

    wandb: bool = True  # track in Weights & Biases
    tensorboard: bool = False  # write TensorBoard events
    wandb_mode: str = "auto"  # online, offline, disabled; auto: what WANDB_MODE says, else online with credentials
    wandb_project: str = ""  # W&B project; empty: what WANDB_PROJECT says, else seq2seq
    wandb_entity: str = ""  # W&B user or team; empty: your default one
    wandb_group: str = ""  # W&B group; empty: what WANDB_RUN_GROUP says, else the experiment, or the sweep
    wandb_name: str = ""  # name of the W&B run; empty: WANDB_NAME, else the experiment, its changes, and the date
    wandb_notes: str = ""  # a text about the run, for people
    wandb_tags: list[str] = field(default_factory=list)  # W&B tags
    upload_model: bool = False  # give W&B the tokenizer, and at the end the model directory of the chosen weights
    x_axis: str = "step"  # of charts in W&B: step (optimizer steps), tokens (target tokens), hours (of training)
    text: bool = True  # whether trackers get sentences of the corpus, their translations and pictures of them
    n_samples: int = 50  # validation sentences whose translations are logged at each validation; 0: as text=false

    @property
    def shows_text(self) -> bool:
        """Whether anything of the corpus goes to a tracker."""
        return self.text and self.n_samples > 0 and (self.wandb or self.tensorboard)

    def problems(self) -> Iterator[str]:
        yield from one_of("logger", self, wandb_mode=("auto", "online", "offline", "disabled"))
        yield from one_of("logger", self, x_axis=("step", "tokens", "hours"))
        yield from at_least("logger", self, n_samples=0)
