"""The LightningDataModule: the training text as batches of this rank."""

import logging
from functools import cached_property

import pytorch_lightning as pl

from seq2seq.config import RunConfig
from seq2seq.dataset.augmentation import Augmentation, Growth, Growths
from seq2seq.dataset.batches import BatchLoader, PairReader, Position, Shape
from seq2seq.dataset.growth import measure_growths, measure_sampling
from seq2seq.dataset.mixture import Copies, Mixture, copies
from seq2seq.dataset.pair_readers import Disguised, SampledSegmentation, TagDropout
from seq2seq.dataset.plan import Slots
from seq2seq.dataset.prepare import Prepared
from seq2seq.dataset.room import Roomier
from seq2seq.segmentation import RandomSegmentation
from seq2seq.training.ranks import Ranks
from seq2seq.training.trial import largest

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
            ConfigError: the run began with a number of processes whose steps these cannot share.
        """
        ranks, train = self._ranks, self.prepared.train
        n_slots = sum(c.n_pairs(n) for c, n in zip(self._copies, train.n_pairs_of_sources, strict=True))
        slots, read_pair = self._reading()
        loader = BatchLoader(
            train,
            self.config.batch,
            seed=self.config.seed,
            rank=ranks.rank,
            world_size=ranks.world_size,
            start=self._start,
            slots=slots,
            n_slots=n_slots,
            read_pair=read_pair,
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

    @cached_property
    def _copies(self) -> list[Copies]:
        """Of each source."""
        data = self.config.data
        return copies(self.prepared.train.n_pairs_of_sources, data.temperature, data.weights)

    @cached_property
    def _growths(self) -> Growths:
        """In disguise."""
        return measure_growths(self.prepared.train, self.prepared.tokenizer, self.config.data.augment.shares)

    @cached_property
    def _sampling_growth(self) -> tuple[Growth, Growth]:
        return measure_sampling(self.prepared.train, self._segment)

    @property
    def _segment(self) -> RandomSegmentation:
        return RandomSegmentation(self.prepared.tokenizer, self.config.tokenizer.subword_regularization)

    def _reading(self) -> tuple[Slots | None, PairReader | None]:
        """The places of an epoch, and what reads their pairs."""
        data, seed, rate = self.config.data, self.config.seed, self.config.tokenizer.subword_regularization
        train, tokenizer, shares = self.prepared.train, self.prepared.tokenizer, data.augment.shares
        longest = min(self.config.model.max_length, self.config.batch.max_tokens) - 1  # one more token ends a side
        n_pairs = train.n_pairs_of_sources
        slots: Slots = Mixture(train, n_pairs, self._copies, seed)
        augmentation = sampling = None
        if shares:
            slots = augmentation = Augmentation(slots, shares, self._growths, longest, seed)
        if rate:
            slots = Roomier(slots, self._sampling_growth, longest)
            sampling = SampledSegmentation(train, self._segment, slots, seed)
        read_pair: PairReader | None = sampling
        if augmentation is not None:
            read_pair = Disguised(train, tokenizer, augmentation, seed, sampling)
        if tokenizer.tags and data.tag_dropout:
            read_pair = TagDropout(train, tokenizer, data.tag_dropout, seed, read_pair)
        is_mixed = any(c.n_pairs(n) != n for c, n in zip(self._copies, n_pairs, strict=True))
        return slots if is_mixed or shares or rate else None, read_pair
