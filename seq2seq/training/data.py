"""The LightningDataModule: prepared corpora as batches of this rank."""

import random
from collections.abc import Sequence

import numpy as np
import pytorch_lightning as pl
from torch.utils.data import DataLoader

from seq2seq.config import RunConfig
from seq2seq.dataset.batches import Batch, BatchLoader, PairReader, Pairs, collate, plan_epoch
from seq2seq.dataset.mixture import Indices, Mixture
from seq2seq.dataset.prepare import Prepared
from seq2seq.dataset.store import PairStore
from seq2seq.errors import ConfigError
from seq2seq.tokenizer import Tokenizer


class SampledSegmentation:
    """Subword regularisation: each epoch segments each sentence anew, as a function of (seed, epoch, sentence).

    Batches are planned by the best segmentation's lengths; sampled ones are longer, by about the rate of sampling. One
    that would not fit into the model gives way to the best.
    """

    def __init__(self, store: PairStore, tokenizer: Tokenizer, alpha: float, seed: int, max_length: int) -> None:
        self.store, self.tokenizer, self.alpha, self.seed, self.max_length = store, tokenizer, alpha, seed, max_length

    def __call__(self, index: int, epoch: int) -> tuple[Sequence[int], Sequence[int]]:
        seed = _seed(self.seed, epoch, index) * 2
        best_src = self.store.src(index).tolist()
        sampled = self.tokenizer.sample(self.store.src_text(index), seed, self.alpha)
        src = _tag(best_src, self.tokenizer) + sampled
        tgt = self.tokenizer.sample(self.store.tgt_text(index), seed + 1, self.alpha)
        if max(len(src), len(tgt)) >= self.max_length:  # one more token begins or ends them
            return best_src, self.store.tgt(index).tolist()
        return src, tgt


class TagDropout:
    """Leaves out the tag of a share of the sources, as a function of (seed, epoch, sentence).

    So a model learns to translate a text whose kind is not said, too.
    """

    def __init__(
        self, store: PairStore, tokenizer: Tokenizer, share: float, seed: int, read_pair: PairReader | None = None
    ) -> None:
        """read_pair: gives the segmentations; None for those of the store."""
        self.store, self.tokenizer, self.share, self.seed, self.read_pair = store, tokenizer, share, seed, read_pair

    def __call__(self, index: int, epoch: int) -> tuple[Sequence[int], Sequence[int]]:
        if self.read_pair is not None:
            src, tgt = self.read_pair(index, epoch)
        else:
            src, tgt = self.store.src(index).tolist(), self.store.tgt(index).tolist()
        if _tag(src, self.tokenizer) and random.Random(_seed(self.seed, epoch, index)).random() < self.share:
            src = src[1:]
        return src, tgt


def _tag(src: Sequence[int], tokenizer: Tokenizer) -> list[int]:
    """What a source begins with: the id of a tag, or none."""
    return [src[0]] if src[0] in tokenizer.tags.values() else []


def _seed(seed: int, epoch: int, index: int) -> int:
    return (seed * 1_000_003 + epoch) * 1_000_003 + index


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
        """None where each pair is read as it is stored."""
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
        """None where each pair stands in an epoch once."""
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


def valid_batches(pairs: Pairs, max_tokens: int, rank: int, world_size: int) -> DataLoader[Batch]:
    """Every pair once, over all ranks; unlike in training, a rank may get a batch more than another.

    Raises:
        ConfigError: fewer pairs than ranks; Lightning cannot validate nothing.
    """
    if len(pairs) < world_size:
        raise ConfigError(f"{len(pairs)} validation pairs cannot feed {world_size} processes; lower trainer.devices")
    longest = int(max(pairs.src_lengths.max(), pairs.tgt_lengths.max())) + 1
    plan = plan_epoch(pairs.src_lengths, pairs.tgt_lengths, max_tokens=max(max_tokens, longest), seed=0, epoch=0)
    if len(plan) < world_size:
        plan = np.array_split(np.concatenate(plan), world_size)

    def batch_of(rows: list[Indices]) -> Batch:
        src, tgt = ([side(int(i)) for i in rows[0]] for side in (pairs.src, pairs.tgt))
        return collate(src, tgt, sum(len(row) + 1 for row in tgt))

    share = plan[rank::world_size]
    return DataLoader(share, batch_size=1, collate_fn=batch_of, num_workers=0)  # type: ignore[arg-type]
