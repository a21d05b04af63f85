"""The LightningDataModule: prepared corpora as batches of this rank."""

from collections.abc import Sequence

import numpy as np
import pytorch_lightning as pl
from torch.utils.data import DataLoader

from seq2seq.batches import Batch, BatchLoader, Indices, Pairs, collate, plan_epoch
from seq2seq.config import RunConfig
from seq2seq.errors import ConfigError
from seq2seq.prepare import Prepared
from seq2seq.store import PairStore
from seq2seq.tokenizer import Tokenizer


class SampledSegmentation:
    """Subword regularisation: each epoch segments each sentence anew, as a function of (seed, epoch, sentence).

    Batches are planned by the best segmentation's lengths; sampled ones are longer, by about the rate of sampling. One
    that would not fit into the model gives way to the best.
    """

    def __init__(self, store: PairStore, tokenizer: Tokenizer, alpha: float, seed: int, max_length: int) -> None:
        self.store, self.tokenizer, self.alpha, self.seed, self.max_length = store, tokenizer, alpha, seed, max_length

    def __call__(self, index: int, epoch: int) -> tuple[Sequence[int], Sequence[int]]:
        seed = ((self.seed * 1_000_003 + epoch) * 1_000_003 + index) * 2
        src = self.tokenizer.sample(self.store.src_text(index), seed, self.alpha)
        tgt = self.tokenizer.sample(self.store.tgt_text(index), seed + 1, self.alpha)
        if max(len(src), len(tgt)) >= self.max_length:  # one more token begins or ends them
            return self.store.src(index).tolist(), self.store.tgt(index).tolist()
        return src, tgt


class TranslationData(pl.LightningDataModule):
    """Batches of the prepared corpora: training by the plan, validation in length order."""

    def __init__(self, config: RunConfig, prepared: Prepared) -> None:
        super().__init__()
        self.config, self.prepared = config, prepared

    def train_dataloader(self) -> BatchLoader:
        sampling = self.config.tokenizer.sampling
        train, trainer = self.prepared.train, self.trainer
        sampler = SampledSegmentation(
            train, self.prepared.tokenizer, sampling, self.config.seed, self.config.model.max_length
        )
        return BatchLoader(
            train,
            self.config.batch,
            seed=self.config.seed,
            rank=trainer.global_rank if trainer else 0,
            world_size=trainer.world_size if trainer else 1,
            sampler=sampler if sampling else None,
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
