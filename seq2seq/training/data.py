"""The LightningDataModule: the training text as batches of this rank."""

from collections.abc import Mapping
from functools import cached_property

import pytorch_lightning as pl

from seq2seq.config import RunConfig
from seq2seq.dataset.augmentation import Augmentation
from seq2seq.dataset.batches import BatchLoader, PairReader, Shape
from seq2seq.dataset.growth import measure_growths, measure_sampling
from seq2seq.dataset.mixture import Mixture
from seq2seq.dataset.pair_readers import Disguised, SampledSegmentation, TagDropout
from seq2seq.dataset.plan import Slots
from seq2seq.dataset.plan_ahead import Plans, is_large
from seq2seq.dataset.prepare import Prepared
from seq2seq.dataset.room import Roomier
from seq2seq.segmentation import RandomSegmentation
from seq2seq.training.ranks import Ranks
from seq2seq.training.shared_plans import SharedPlans


class TranslationData(pl.LightningDataModule):
    """Batches of the training text, by the plan."""

    def __init__(
        self,
        config: RunConfig,
        prepared: Prepared,
        position: Mapping[str, int] | None = None,
        ranks: Ranks | None = None,
    ) -> None:
        """
        Args:
            position: after which batch to begin, as a checkpoint has it; None: with the first one.
            ranks: all processes that share the batches; None: this one has all of them.
        """
        super().__init__()
        self.config, self.prepared = config, prepared
        self._start, self._ranks = position, ranks or Ranks()

    @cached_property
    def loader(self) -> BatchLoader:
        """The batches of this rank.

        Raises:
            ConfigError: the position is one of another number of processes.
        """
        ranks, train, (slots, read_pair) = self._ranks, self.prepared.train, self._slots_and_reader()
        is_shared = ranks.world_size > 1 and is_large(len(train))

        def share(plans: Plans) -> Plans:
            return SharedPlans(plans, ranks) if is_shared else plans

        loader = BatchLoader(
            train,
            self.config.batch,
            seed=self.config.seed,
            rank=ranks.rank,
            world_size=ranks.world_size,
            read_pair=read_pair,
            slots=slots,
            share=share,
        )
        if self._start:
            loader.load_state_dict(self._start)
        return loader

    @property
    def position(self) -> dict[str, int]:
        """After which batch a run goes on that stops here."""
        return self.loader.state_dict()

    @property
    def shapes(self) -> list[Shape]:
        """Of each micro-batch of this rank in an epoch."""
        return self.loader.shapes()

    def train_dataloader(self) -> BatchLoader:
        return self.loader

    def _slots_and_reader(self) -> tuple[Slots | None, PairReader | None]:
        """The places of an epoch, and what reads their pairs; None: each pair once, and as it is stored."""
        data, seed, rate = self.config.data, self.config.seed, self.config.tokenizer.subword_regularization
        train, tokenizer, shares = self.prepared.train, self.prepared.tokenizer, data.augment.shares
        longest = min(self.config.model.max_length, self.config.batch.max_tokens) - 1  # one more token ends a side
        slots: Slots = Mixture(train, train.n_pairs_of_sources, data.temperature, seed)
        augmentation = sampling = None
        if shares:
            growths = measure_growths(train, tokenizer, shares)
            slots = augmentation = Augmentation(slots, shares, growths, longest, seed)
        if rate:
            segment = RandomSegmentation(tokenizer, rate)
            slots = Roomier(slots, measure_sampling(train, segment), longest)
            sampling = SampledSegmentation(train, segment, slots, seed)
        read_pair: PairReader | None = sampling
        if augmentation is not None:
            read_pair = Disguised(train, tokenizer, augmentation, seed, sampling)
        if tokenizer.tags and data.tag_dropout:
            read_pair = TagDropout(train, tokenizer, data.tag_dropout, seed, read_pair)
        is_mixed = data.temperature != 1 and len(train.n_pairs_of_sources) > 1
        return slots if is_mixed or shares or rate else None, read_pair
