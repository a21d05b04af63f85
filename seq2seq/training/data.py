"""The text of a run: made ready once on each machine for all its processes, then batches of this rank."""

import logging
import pickle
import time
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import cached_property
from typing import Any

import pytorch_lightning as pl

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import ModelConfig, RunConfig
from seq2seq.dataset.batches import BatchLoader, Position, Shape
from seq2seq.dataset.epoch import Epoch, copies
from seq2seq.dataset.pair_reader import PairReader, measured
from seq2seq.dataset.prepare import Prepared, prepare
from seq2seq.errors import ConfigError, RunError
from seq2seq.segmentation import RandomSegmentation
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.ranks import Ranks

NETWORK_DELAY_S = 3.0  # until a file that one machine wrote is seen by another, on a file system that they share

log = logging.getLogger(__name__)


class TranslationData(pl.LightningDataModule):
    """Batches of the training text, by the plan."""

    def __init__(
        self,
        config: RunConfig,
        prepared: Prepared,
        start: Position | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        """
        Args:
            start: where a resumed run goes on, as its checkpoint has it.
            ranks: all processes that share the batches; None: this one has all of them.
        """
        super().__init__()
        self.config, self.prepared = config, prepared
        self._start, self._ranks = start, ranks or Ranks()

    @cached_property
    def loader(self) -> BatchLoader:
        """The batches of this rank.

        Raises:
            ConfigError: the run began with a number of processes whose steps these cannot share, or with a version
                that read its text in another way.
        """
        ranks = self._ranks
        epoch, reader = self._reading()
        loader = BatchLoader(
            self.prepared.train,
            self.config.batch,
            seed=self.config.seed,
            rank=ranks.rank,
            world_size=ranks.world_size,
            start=self._start,
            epoch=epoch,
            reader=reader,
        )
        if self._start and self._start.world_size != ranks.world_size:
            log.info(
                "goes on with %d processes instead of %d; each does %d micro-batches a step, so that the steps are the "
                "same but for rounding and the draws of dropout",
                *(ranks.world_size, self._start.world_size, loader.accumulate),
            )
        return loader

    @property
    def steps_per_epoch(self) -> int:
        return len(self.loader)

    @property
    def epoch(self) -> int:
        """Of the latest step, counted from 0."""
        return max(self.loader.n_done - 1, 0) // self.steps_per_epoch

    @property
    def total_steps(self) -> int:
        """Optimizer steps that the limits of the run allow; 0 if only time limits it."""
        trainer = self.config.trainer
        return min(filter(None, (trainer.max_steps, trainer.max_epochs * self.steps_per_epoch)), default=0)

    @cached_property
    def largest(self) -> Shape:
        """The micro-batch of this rank that needs the most memory."""
        return largest(self.loader.shapes(self.loader.n_done // self.steps_per_epoch), self.config.model)

    def train_dataloader(self) -> BatchLoader:
        return self.loader

    def _reading(self) -> tuple[Epoch, PairReader | None]:
        """What an epoch reads, and how; None: as it is stored."""
        data, seed, rate = self.config.data, self.config.seed, self.config.tokenizer.subword_regularization
        train, tokenizer = self.prepared.train, self.prepared.tokenizer
        n_pairs = train.manifest.n_pairs_of_sources
        longest = min(self.config.model.max_length, self.config.batch.max_tokens) - 1  # one more token ends a side
        segment = RandomSegmentation(tokenizer, rate) if rate else None
        draws = measured(train, tokenizer, data.augment.shares, segment, longest)
        epoch = Epoch(train, n_pairs, copies(n_pairs, data.temperature, data.weights), seed, draws)
        tag_dropout = data.tag_dropout if tokenizer.tags else 0.0
        if draws.shares or segment or tag_dropout:
            return epoch, PairReader(train, tokenizer, epoch, seed, segment=segment, tag_dropout=tag_dropout)
        return epoch, None


def largest(shapes: Iterable[Shape], model: ModelConfig) -> Shape:
    """The shape that needs the most memory."""
    return max(shapes, key=lambda shape: _n_kept(shape, model))


def _n_kept(shape: Shape, model: ModelConfig) -> int:
    """About how many numbers a forward pass keeps for the backward pass. Only good for comparing shapes."""
    n_pairs, n_src, n_tgt = shape

    def of_token(width: int) -> int:
        return 10 * width + 2 * model.d_ff

    of_pair = model.n_heads * (model.d_k if model.attention == "additive" else 1)
    encoder = n_src * of_token(model.d_memory) + of_pair * n_src * n_src
    cross = model.d_model * (6 * n_tgt + 2 * n_src)
    decoder = n_tgt * of_token(model.d_model) + cross + of_pair * n_tgt * (n_src + n_tgt)
    return n_pairs * (model.n_encoder_layers * encoder + model.n_decoder_layers * decoder)


def prepare_together(
    config: RunConfig, run: RunDirectory, run_id: str, tokenizer: Tokenizer | None, ranks: Ranks
) -> Prepared:
    """What the run needs of its text. The first process of each machine makes it; the others only open it.

    Raises:
        ConfigError: the run began with other text.
        RunError: a machine does not see the directory of the run, or another process told an error.
        CorpusError, TokenizerError: see `prepare`.
    """
    see_run(run, run_id, ranks.machine)
    ranks.meet("seen")
    name = f"prepared on machine {ranks.machine}"
    if ranks.is_first_on_machine:
        prepared = prepare(config, tokenizer)
        ranks.tell(name, pickle.dumps(prepared))
    else:
        prepared = pickle.loads(ranks.hear(name))
    if ranks.is_first:
        remember(run, prepared.report)
    ranks.meet("prepared")
    return prepared


def see_run(run: RunDirectory, run_id: str, machine: int) -> None:
    """
    Raises:
        RunError: the directory that this machine sees is not the one of the run.
    """
    end = time.monotonic() + NETWORK_DELAY_S
    while (found := run.identity()) is None or found.id != run_id:
        if time.monotonic() > end:
            state = "nothing there" if found is None else "another run there"
            raise RunError(
                f"machine {machine} of this run finds {state}: {run.path.absolute()}; put run_dir where all machines "
                "see it under this name"
            )
        time.sleep(0.1)


def remember(run: RunDirectory, report: Mapping[str, Any]) -> None:
    """Keep the digests of text and tokenizer with the identity of the run.

    Args:
        report: the data report.
    Raises:
        ConfigError: the run began with other text.
    """
    identity = run.identity()
    assert identity is not None  # the run has been claimed
    corpus = {split: list(_files(found).values()) for split, found in report["splits"].items()}
    for split in ("train", "valid"):
        if identity.corpus.get(split, corpus[split]) != corpus[split]:
            files = ", ".join(_files(report["splits"][split]))
            raise ConfigError(
                f"{run.path} began with other text in {split} than there is now in {files}; restore the files, or "
                f"train on the new ones with finetune={run.path}"
            )
    run.write_identity(replace(identity, corpus=corpus, tokenizer=report["tokenizer"]["fingerprint"]))


def _files(split: Mapping[str, Any]) -> dict[str, str]:
    """The digests of all files that decide the pairs of a split: with `data.drop_overlap`, those of all splits."""
    return {**split["files"], **split.get("without", {})}
