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
    upload_model: bool = False  # at the end, give W&B the model directory of the chosen weights
    x_axis: str = "step"  # of charts in W&B: step (optimizer steps), tokens (target tokens), hours (of training)
    text: bool = False  # give W&B sentences of the corpus, their translations and pictures, as TensorBoard gets
    n_samples: int = 50  # validation sentences that TensorBoard and W&B get at each validation; 0: no text at all

    @property
    def shows_text(self) -> bool:
        """Whether a tracker gets sentences: TensorBoard, which stays here, or W&B if it may."""
        return self.n_samples > 0 and (self.tensorboard or (self.wandb and self.text))

    def problems(self) -> Iterator[str]:
        yield from one_of("logger", self, wandb_mode=("auto", "online", "offline", "disabled"))
        yield from one_of("logger", self, x_axis=("step", "tokens", "hours"))
        yield from at_least("logger", self, n_samples=0)
