"""A whole run: its sections, and the checks that span several of them."""

import dataclasses
from collections.abc import Iterator
from dataclasses import dataclass, field

from seq2seq import plugins
from seq2seq.config.batch import BatchConfig
from seq2seq.config.checks import built_in_or_added, names_a_file
from seq2seq.config.data import DataConfig
from seq2seq.config.decoding import DecodingConfig
from seq2seq.config.evaluation import EvaluationConfig
from seq2seq.config.logger import LoggerConfig
from seq2seq.config.model import ATTENTIONS, POSITIONS, ModelConfig
from seq2seq.config.on_resume import HORIZON, RUNTIME, runtime, section, start
from seq2seq.config.optim import LOSSES, OptimConfig
from seq2seq.config.tokenizer import TokenizerConfig
from seq2seq.config.trainer import FSDP, TrainerConfig
from seq2seq.errors import ConfigError


@dataclass(kw_only=True)
class RunConfig:
    """All of one training run."""

    name: str = runtime("default")  # of the experiment
    seed: int = 1  # of weights, batches, dropout and sampling
    run_dir: str = runtime("", is_local=True)  # the directory that the run writes to
    hours: float = start(0.0)  # choose model, subwords, dropout and schedule for so many hours here; 0: as the keys say
    resume: str = runtime("", is_local=True)  # a run to continue; `auto`: the one in run_dir, if there is one
    plugins: list[str] = section(list, RUNTIME)  # modules to import, which add losses, positions or attentions
    finetune: str = start("", is_local=True)  # a trained model to start from: a path, hf:PATH or wandb:...
    teacher: str = start("", is_local=True)  # a trained model whose probabilities the run learns, too, and its subwords
    data: DataConfig = field(default_factory=DataConfig)
    tokenizer: TokenizerConfig = field(default_factory=TokenizerConfig)
    batch: BatchConfig = field(default_factory=BatchConfig)
    model: ModelConfig = field(default_factory=ModelConfig)
    optim: OptimConfig = field(default_factory=OptimConfig)
    trainer: TrainerConfig = field(default_factory=TrainerConfig)
    decoding: DecodingConfig = section(DecodingConfig, HORIZON)
    evaluation: EvaluationConfig = section(EvaluationConfig, HORIZON)
    logger: LoggerConfig = section(LoggerConfig, RUNTIME, is_local=True)

    def problems(self) -> Iterator[str]:
        if not 0 <= self.seed < 2**32:
            yield f"seed={self.seed} is not in [0, 2^32)"
        yield from names_a_file("name", self.name)
        yield from self._problems_of_plugins()
        for item in dataclasses.fields(self):
            if dataclasses.is_dataclass(item.type):
                yield from getattr(self, item.name).problems()
        n_more, ends = (2, "two more tokens tag and end") if self._has_tags else (1, "one more token ends")
        if self.data.max_sentence_tokens + n_more > self.model.max_length:
            yield (
                f"data.max_sentence_tokens={self.data.max_sentence_tokens} lets in sentences beyond model.max_length="
                f"{self.model.max_length} ({ends} a sentence); lower the first or raise the second"
            )
        if not self.batch.is_auto and self.batch.max_tokens < self.data.max_sentence_tokens + n_more:
            yield (
                f"batch.max_tokens={self.batch.max_tokens} cannot hold one sentence of data.max_sentence_tokens="
                f"{self.data.max_sentence_tokens} ({ends} it); raise the first or lower the second"
            )
        if self.batch.is_auto and self.trainer.strategy == FSDP:
            yield f"batch.max_tokens=auto tries a whole model, and trainer.strategy={FSDP} splits it; give a number"

    def _problems_of_plugins(self) -> Iterator[str]:
        wrong = [name for name in map(str, self.plugins) if not all(map(str.isidentifier, name.split(".")))]
        yield from (f"plugins: {name[:60]!r} is no name of a module, such as mine or mine.losses" for name in wrong)
        if not wrong:
            model = self.model
            yield from built_in_or_added("model.positions", model.positions, POSITIONS, plugins.POSITIONS, self.plugins)
            yield from built_in_or_added(
                "model.attention", model.attention, ATTENTIONS, plugins.ATTENTIONS, self.plugins
            )

    def problems_of_training(self) -> Iterator[str]:
        """What is wrong only if the model is to be trained: others may translate with it without that."""
        yield from built_in_or_added("optim.loss", self.optim.loss, LOSSES, plugins.LOSSES, self.plugins)
        if self.teacher and self.optim.loss not in LOSSES:
            yield f"optim.loss={self.optim.loss} knows no teacher; leave teacher= or the loss out"
        yield from self.data.clean.problems_of_training()
        if not (self.finetune or self.teacher):
            yield from self.data.problems_of_training()

    @property
    def _has_tags(self) -> bool:
        try:
            return bool(self.data.tags)
        except ConfigError:  # a source of another form, which the section reports
            return False
