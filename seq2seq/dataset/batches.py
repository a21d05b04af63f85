"""The plan of an epoch: which pairs are trained on together, in which order, on which rank. And a batch as tensors.

The plan is a pure function of (lengths, seed, epoch, token budget, ranks). Every pair is in exactly one micro-batch,
and every rank gets the same number of them. A position in the plan is one number. So a checkpoint saves only (epoch,
batches done), and resuming is arithmetic. The plan is made of slots: the pairs themselves, or places that
`seq2seq/dataset/mixture.py` (a temperature) and `seq2seq/dataset/augmentation.py` (disguises) fill with pairs.

Shapes: B pairs, S source tokens, T target tokens
"""

import signal
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from seq2seq.config import BatchConfig
from seq2seq.dataset.mixture import Indices
from seq2seq.errors import ConfigError
from seq2seq.vocabulary import BOS, EOS, PAD

# Halves the number of batch sizes. A CPU compiles its products for each size; a GPU is fastest with multiples of 8.
PAIRS_AT_A_TIME = 8
# A worker gets the same SIGTERM as the run. It lives on for so long, so that the run can finish its step and save.
WORKER_GRACE_S = 60


class Batch(NamedTuple):
    """One micro-batch, padded with `pad`."""

    src: Tensor  # (B, S) int64, each row ending with eos
    tgt_in: Tensor  # (B, T) int64, each row beginning with bos
    tgt_out: Tensor  # (B, T) int64, each row ending with eos
    n_step_tokens: Tensor  # () int64: target tokens in all micro-batches of this rank's optimizer step
    n_tgt_tokens: int  # target tokens of this micro-batch, known without asking a GPU


class Pairs(Protocol):
    """Encoded parallel text: what a plan and its batches read."""

    def __len__(self) -> int: ...
    @property
    def src_lengths(self) -> npt.NDArray[Any]: ...  # tokens without eos
    @property
    def tgt_lengths(self) -> npt.NDArray[Any]: ...
    def src(self, index: int) -> npt.NDArray[Any]: ...
    def tgt(self, index: int) -> npt.NDArray[Any]: ...


class Slots(Protocol):
    """Places in an epoch. Each one holds a pair, and may hold another one in the next epoch."""

    @property
    def src_lengths(self) -> npt.NDArray[Any]: ...  # tokens that the source in a slot has at most, without eos
    @property
    def tgt_lengths(self) -> npt.NDArray[Any]: ...
    def pairs(self, epoch: int) -> Indices: ...  # the pair in each slot


class Rows(NamedTuple):
    """The rows of one micro-batch."""

    slots: Indices
    pairs: Indices  # in these slots


class PairReader(Protocol):
    """Reads a pair, possibly in another way in each epoch; `seq2seq/dataset/pair_readers.py` has the ways."""

    def __call__(self, index: int, epoch: int, slot: int) -> tuple[Sequence[int], Sequence[int]]: ...


def plan_epoch(
    src_lengths: npt.NDArray[Any],
    tgt_lengths: npt.NDArray[Any],
    *,
    max_tokens: int,
    seed: int,
    epoch: int,
    world_size: int = 1,
) -> list[Indices]:
    """The micro-batches of one epoch, in order. Rank r trains on every `world_size`-th of them, starting with number r.

    Pairs are shuffled, sorted by length, and cut where pairs x longest side (with eos) would pass `max_tokens`. Then
    batches are shuffled in groups of `world_size` neighbours, so that the ranks of one step have about the same work.
    The sorted lengths are the same in each epoch, and so is the number of batches.

    Raises:
        ConfigError: fewer pairs than ranks, or a pair longer than `max_tokens`.
    """
    n_pairs = len(src_lengths)
    if n_pairs < world_size:
        raise ConfigError(f"{n_pairs} training pairs cannot feed {world_size} processes; lower trainer.devices")
    longest = int(max(src_lengths.max(), tgt_lengths.max())) + 1
    if longest > max_tokens:
        raise ConfigError(f"batch.max_tokens={max_tokens} cannot hold a sentence of {longest} tokens; raise it")
    rng = np.random.default_rng((seed, epoch))
    order = by_length(rng.permutation(n_pairs), src_lengths, tgt_lengths)
    batches = _cut(order, np.maximum(src_lengths[order], tgt_lengths[order]) + 1, max_tokens)
    _split_until_even(batches, world_size)
    groups = rng.permutation(len(batches) // world_size)
    return [batches[group * world_size + rank] for group in groups for rank in range(world_size)]


def by_length(members: Indices, src_lengths: npt.NDArray[Any], tgt_lengths: npt.NDArray[Any]) -> Indices:
    """Sort by target length, then by source length. Source lengths rise and fall in turn.

    A batch may span two target lengths. If source lengths rose for both, the batch would hold the longest sources of
    one target length and the shortest of the next.
    """
    src, tgt = src_lengths[members].astype(np.int64), tgt_lengths[members].astype(np.int64)
    return members[np.lexsort((np.where(tgt % 2, -src, src), tgt))]


def _cut(members: Indices, lengths: npt.NDArray[Any], max_tokens: int) -> list[Indices]:
    """Cut into batches as large as pairs x longest <= max_tokens allows. Large batches have a multiple of 8 pairs."""
    batches, start = [], 0
    while start < len(members):
        window = lengths[start : start + max_tokens // int(lengths[start])]
        cost = np.maximum.accumulate(window) * np.arange(1, len(window) + 1)
        n_rows = int(np.searchsorted(cost, max_tokens, side="right"))
        if PAIRS_AT_A_TIME**2 <= n_rows < len(members) - start:  # so a batch loses at most an eighth
            n_rows -= n_rows % PAIRS_AT_A_TIME
        batches.append(members[start : start + n_rows])
        start += n_rows
    return batches


def _split_until_even(batches: list[Indices], world_size: int) -> None:
    """Halve the batches with the most pairs, in place, until all ranks get the same number of batches."""
    while len(batches) % world_size:
        largest = max(range(len(batches)), key=lambda i: len(batches[i]))
        rows = batches[largest]
        if len(rows) == 1:
            raise ConfigError(
                f"{len(batches)} batches of one pair do not share out over {world_size} processes; "
                "lower trainer.devices or use more training text"
            )
        batches[largest : largest + 1] = [rows[: len(rows) // 2], rows[len(rows) // 2 :]]


def pad(rows: Sequence[Sequence[int] | npt.NDArray[Any]], begin: int | None = None, end: int | None = None) -> Tensor:
    """Rows of ids as one (rows, longest) int64 tensor; `begin` and `end` are ids to put before and after each row."""
    first, extra = int(begin is not None), int(begin is not None) + int(end is not None)
    lengths = [len(row) for row in rows]
    out = np.full((len(rows), max(lengths) + extra), PAD, dtype=np.int64)
    for line, row, length in zip(out, rows, lengths, strict=True):
        line[first : first + length] = row
        if end is not None:
            line[first + length] = end
    if begin is not None:
        out[:, 0] = begin
    return torch.from_numpy(out)


def collate(src: Sequence[Any], tgt: Sequence[Any], n_step_tokens: int) -> Batch:
    """Pad the pairs of one micro-batch, and add bos and eos."""
    n_tgt_tokens = sum(map(len, tgt)) + len(tgt)  # and an eos each
    return Batch(pad(src, end=EOS), pad(tgt, begin=BOS), pad(tgt, end=EOS), torch.tensor(n_step_tokens), n_tgt_tokens)


class _Steps(Dataset[list[Batch]]):
    """The optimizer steps of one rank in one epoch. Each step is a list of micro-batches."""

    def __init__(
        self, pairs: Pairs, plan: list[Rows], accumulate: int, epoch: int, read_pair: PairReader | None
    ) -> None:
        self.pairs, self.plan, self.accumulate = pairs, plan, accumulate
        self.epoch, self.read_pair = epoch, read_pair

    def __getitem__(self, step: int) -> list[Batch]:
        batches = self.plan[step * self.accumulate : (step + 1) * self.accumulate]
        sentences = [self._read(rows) for rows in batches]
        n_tokens = sum(len(row) + 1 for _, tgt in sentences for row in tgt)  # + eos
        return [collate(src, tgt, n_tokens) for src, tgt in sentences]

    def _read(self, rows: Rows) -> tuple[list[Any], list[Any]]:
        if self.read_pair is None:
            return [self.pairs.src(i) for i in rows.pairs], [self.pairs.tgt(i) for i in rows.pairs]
        pairs = [self.read_pair(int(i), self.epoch, int(slot)) for i, slot in zip(rows.pairs, rows.slots, strict=True)]
        return [src for src, _ in pairs], [tgt for _, tgt in pairs]


def _outlive_the_signal(worker: int) -> None:
    """Terminals and batch systems signal all processes of a run. The run needs its workers to stop cleanly."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if hasattr(signal, "alarm"):  # Windows has none, and no signals to groups
        signal.signal(signal.SIGTERM, lambda *_: signal.alarm(WORKER_GRACE_S))


class BatchLoader:
    """The micro-batches of one rank, epoch after epoch, with a position that can be saved and restored.

    Lightning finds `state_dict` and `load_state_dict`, and keeps the position in its checkpoints. This is no
    DataLoader: with one, Lightning restarts a resumed epoch from its first batch (Lightning issue 19764).
    """

    def __init__(
        self,
        pairs: Pairs,
        config: BatchConfig,
        *,
        seed: int,
        rank: int = 0,
        world_size: int = 1,
        read_pair: PairReader | None = None,
        slots: Slots | None = None,
    ) -> None:
        """slots: None if an epoch has each pair once, as it is stored."""
        self.pairs, self.config, self.seed, self.read_pair, self.slots = pairs, config, seed, read_pair, slots
        self.rank, self.world_size = rank, world_size
        self.epoch, self.done = 0, 0
        self._planned: tuple[int, list[Rows]] | None = None

    @property
    def plan(self) -> list[Rows]:
        """This rank's micro-batches of the current epoch."""
        if self._planned is None or self._planned[0] != self.epoch:
            slots = self.slots or self.pairs
            batches = plan_epoch(
                slots.src_lengths,
                slots.tgt_lengths,
                max_tokens=self.config.max_tokens,
                seed=self.seed,
                epoch=self.epoch,
                world_size=self.world_size,
            )
            share = batches[self.rank :: self.world_size]
            pairs = self.slots.pairs(self.epoch) if self.slots else None
            self._planned = self.epoch, [Rows(rows, rows if pairs is None else pairs[rows]) for rows in share]
        return self._planned[1]

    def __len__(self) -> int:
        return len(self.plan)

    def __iter__(self) -> Iterator[Batch]:
        """The rest of this epoch. The iteration after its end is the next epoch."""
        if self.done >= len(self.plan):
            self.epoch, self.done = self.epoch + 1, 0
        accumulate = self.config.accumulate
        steps = _Steps(self.pairs, self.plan, accumulate, self.epoch, self.read_pair)
        n_steps = -(-len(self.plan) // accumulate)
        loader = DataLoader(
            steps,
            batch_size=None,
            sampler=range(self.done // accumulate, n_steps),
            num_workers=self.config.n_workers,
            collate_fn=list,
            worker_init_fn=_outlive_the_signal,
            # Otherwise each iteration would draw from the global generator, and change all later draws.
            generator=torch.Generator().manual_seed(0),
        )
        skip = self.done % accumulate  # batches of a step that was not complete when the position was saved
        for step in loader:
            for batch in step[skip:]:
                self.done += 1
                yield batch
            skip = 0

    def state_dict(self) -> dict[str, int]:
        """The epoch, the batches of it that are done, of how many, and the ranks that share the plan."""
        return {"epoch": self.epoch, "done": self.done, "of": len(self.plan), "world_size": self.world_size}

    def load_state_dict(self, state: Mapping[str, int]) -> None:
        """Continue after the last batch before `state_dict`.

        Raises:
            ConfigError: the position was saved with another number of processes, so it means other batches.
        """
        if state["world_size"] != self.world_size:
            raise ConfigError(
                f"this run was trained by {state['world_size']} processes and cannot continue exactly with "
                f"{self.world_size}; resume with the same trainer.devices and trainer.n_nodes"
            )
        self.epoch, self.done = state["epoch"], state["done"]


def valid_batches(pairs: Pairs, max_tokens: int, rank: int, world_size: int) -> DataLoader[Batch]:
    """Every pair once, over all ranks. Unlike in training, a rank may get one batch more than another.

    Raises:
        ConfigError: fewer pairs than ranks. Lightning cannot validate without pairs.
    """
    if len(pairs) < world_size:
        raise ConfigError(f"{len(pairs)} validation pairs cannot feed {world_size} processes; lower trainer.devices")
    longest = int(max(pairs.src_lengths.max(), pairs.tgt_lengths.max())) + 1
    plan = plan_epoch(pairs.src_lengths, pairs.tgt_lengths, max_tokens=max(max_tokens, longest), seed=0, epoch=0)
    if len(plan) < world_size:
        plan = np.array_split(np.concatenate(plan), world_size)

    def to_batch(indices: list[Indices]) -> Batch:
        src, tgt = ([side(int(i)) for i in indices[0]] for side in (pairs.src, pairs.tgt))
        return collate(src, tgt, sum(len(row) + 1 for row in tgt))

    share = plan[rank::world_size]
    return DataLoader(share, batch_size=1, collate_fn=to_batch, num_workers=0)  # type: ignore[arg-type]
