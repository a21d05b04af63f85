"""The LightningDataModule: prepared corpora as batches of this rank."""

import pytorch_lightning as pl
from torch.utils.data import DataLoader

from seq2seq.config import RunConfig
from seq2seq.dataset.augmentation import Augmentation
from seq2seq.dataset.batches import Batch, BatchLoader, PairReader, valid_batches
from seq2seq.dataset.growth import measure_growths
from seq2seq.dataset.mixture import Mixture
from seq2seq.dataset.pair_readers import Disguised, SampledSegmentation, TagDropout
from seq2seq.dataset.prepare import Prepared


class TranslationData(pl.LightningDataModule):
    """Batches of the prepared corpora: training by the plan, validation in length order."""

    def __init__(self, config: RunConfig, prepared: Prepared) -> None:
        super().__init__()
        self.config, self.prepared = config, prepared

    def train_dataloader(self) -> BatchLoader:
        trainer, slots = self.trainer, self._slots()
        return BatchLoader(
            self.prepared.train,
            self.config.batch,
            seed=self.config.seed,
            rank=trainer.global_rank if trainer else 0,
            world_size=trainer.world_size if trainer else 1,
            read_pair=self._pair_reader(slots),
            slots=slots,
        )

    def _slots(self) -> Mixture | Augmentation | None:
        """None: an epoch has each pair once, as it is stored."""
        data, train = self.config.data, self.prepared.train
        shares = data.augment.shares
        is_mixed = data.temperature != 1 and len(train.n_pairs_of_sources) > 1
        if not is_mixed and not shares:
            return None
        mixture = Mixture(
            train.src_lengths, train.tgt_lengths, train.n_pairs_of_sources, data.temperature, seed=self.config.seed
        )
        if not shares:
            return mixture
        growths = measure_growths(train, self.prepared.tokenizer, shares)
        longest = min(self.config.model.max_length, self.config.batch.max_tokens) - 1  # one more token ends a side
        return Augmentation(mixture, shares, growths, longest, seed=self.config.seed)

    def _pair_reader(self, slots: Mixture | Augmentation | None) -> PairReader | None:
        """None: each pair is read as it is stored."""
        config, train, tokenizer = self.config, self.prepared.train, self.prepared.tokenizer
        read_pair: PairReader | None = None
        if config.tokenizer.subword_regularization:
            read_pair = SampledSegmentation(
                train, tokenizer, config.tokenizer.subword_regularization, config.seed, config.model.max_length
            )
        if isinstance(slots, Augmentation):
            read_pair = Disguised(train, tokenizer, slots, config.seed, read_pair)
        if tokenizer.tags and config.data.tag_dropout:
            read_pair = TagDropout(train, tokenizer, config.data.tag_dropout, config.seed, read_pair)
        return read_pair

    def val_dataloader(self) -> DataLoader[Batch]:
        trainer = self.trainer
        assert trainer is not None
        return valid_batches(self.prepared.valid, self.config.batch.max_tokens, trainer.global_rank, trainer.world_size)
