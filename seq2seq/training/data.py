"""The LightningDataModule: prepared corpora as batches of this rank."""

import pytorch_lightning as pl
from torch.utils.data import DataLoader

from seq2seq.config import RunConfig
from seq2seq.dataset.batches import Batch, BatchLoader, PairReader, valid_batches
from seq2seq.dataset.mixture import Mixture
from seq2seq.dataset.pair_readers import SampledSegmentation, TagDropout
from seq2seq.dataset.prepare import Prepared


class TranslationData(pl.LightningDataModule):
    """Batches of the prepared corpora: training by the plan, validation in length order."""

    def __init__(self, config: RunConfig, prepared: Prepared) -> None:
        super().__init__()
        self.config, self.prepared = config, prepared

    def train_dataloader(self) -> BatchLoader:
        train, trainer = self.prepared.train, self.trainer
        return BatchLoader(
            train,
            self.config.batch,
            seed=self.config.seed,
            rank=trainer.global_rank if trainer else 0,
            world_size=trainer.world_size if trainer else 1,
            read_pair=self._pair_reader(),
            mixture=self._mixture(),
        )

    def _pair_reader(self) -> PairReader | None:
        """None: each pair is read as it is stored."""
        config, train, tokenizer = self.config, self.prepared.train, self.prepared.tokenizer
        read_pair: PairReader | None = None
        if config.tokenizer.subword_regularization:
            read_pair = SampledSegmentation(
                train, tokenizer, config.tokenizer.subword_regularization, config.seed, config.model.max_length
            )
        if tokenizer.tags and config.data.tag_dropout:
            read_pair = TagDropout(train, tokenizer, config.data.tag_dropout, config.seed, read_pair)
        return read_pair

    def _mixture(self) -> Mixture | None:
        """None: an epoch has each pair once."""
        train, temperature = self.prepared.train, self.config.data.temperature
        if temperature == 1 or len(train.n_pairs_of_sources) == 1:
            return None
        return Mixture(
            train.src_lengths, train.tgt_lengths, train.n_pairs_of_sources, temperature, seed=self.config.seed
        )

    def val_dataloader(self) -> DataLoader[Batch]:
        trainer = self.trainer
        assert trainer is not None
        return valid_batches(self.prepared.valid, self.config.batch.max_tokens, trainer.global_rank, trainer.world_size)
