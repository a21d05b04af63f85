"""The optimizer steps of a rank as batches of tensors, in the order of the plan.

Shapes: B pairs, S source tokens, T target tokens
"""

import signal
import time
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

from seq2seq.config import BatchConfig
from seq2seq.dataset.epoch import Copies, Epoch
from seq2seq.dataset.plan import Indices, Lengths, Plan, Rows, plan_epoch, shared_out
from seq2seq.errors import ConfigError
from seq2seq.vocabulary import BOS, EOS, PAD

# A worker gets the same SIGTERM as the run. It lives on for so long, so that the run can finish its step and save.
WORKER_GRACE_S = 60
VERSION = 2  # of the draws of an epoch (dataset/epoch.py, dataset/pair_reader.py): raise it when they change


class Batch(NamedTuple):
    """One micro-batch, padded with `pad`."""

    src: Tensor  # (B, S) int64, each row ending with eos
    tgt_in: Tensor  # (B, T) int64, each row beginning with bos
    tgt_out: Tensor  # (B, T) int64, each row ending with eos
    n_tgt_tokens: int  # known without asking a GPU


class Step(NamedTuple):
    """What one rank reads for one optimizer step."""

    micro_batches: list[Batch]  # `batch.accumulate` of them; the last step of an epoch may have fewer

    @property
    def n_tgt_tokens(self) -> int:
        return sum(batch.n_tgt_tokens for batch in self.micro_batches)


class Position(NamedTuple):
    """Where a run is in its batches, for a checkpoint."""

    n_done: int  # steps
    steps_per_epoch: int  # 0: nobody knows yet
    world_size: int
    planned_for: int  # the number of ranks with which the run began, whose plan it keeps
    version: int = VERSION  # of what the draws of an epoch are


class Shape(NamedTuple):
    """The size of a micro-batch; the tensors of a `Batch` may be smaller, if pairs do not grow as planned."""

    n_pairs: int
    n_src: int  # tokens of its longest source, with eos
    n_tgt: int


class Reader(Protocol):
    """Reads rows, possibly in another way in each epoch; `seq2seq/dataset/pair_reader.py` is one."""

    def read(self, rows: Rows, epoch: int) -> tuple[Sequence[Any], Sequence[Any]]: ...  # sources and targets


class Pairs(Lengths, Protocol):
    """Encoded parallel text: what a plan and its batches read."""

    def __len__(self) -> int: ...
    def src(self, index: int) -> npt.NDArray[Any]: ...
    def tgt(self, index: int) -> npt.NDArray[Any]: ...


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


def collate(src: Sequence[Any], tgt: Sequence[Any]) -> Batch:
    """Pad the pairs of one micro-batch, and add bos and eos."""
    n_tgt_tokens = sum(map(len, tgt)) + len(tgt)  # and an eos each
    return Batch(pad(src, end=EOS), pad(tgt, begin=BOS), pad(tgt, end=EOS), n_tgt_tokens)


class _AsStored:
    """Reads rows as their pairs are stored."""

    def __init__(self, pairs: Pairs, epoch: Epoch) -> None:
        self.pairs, self.epoch = pairs, epoch

    def read(self, rows: Rows, epoch: int) -> tuple[list[Any], list[Any]]:
        pairs = self.epoch.pairs(rows.numbers, epoch)
        return [self.pairs.src(i) for i in pairs], [self.pairs.tgt(i) for i in pairs]


class _Steps(Dataset[Step]):
    """The optimizer steps of one epoch, by their rows."""

    def __init__(self, reader: Reader, draw: int) -> None:
        self.reader, self.draw = reader, draw

    def __getitem__(self, step: Sequence[Rows]) -> Step:
        return Step([collate(*self.reader.read(rows, self.draw)) for rows in step])


def _unchanged(step: Any) -> Any:
    return step


def _outlive_the_signal(worker: int) -> None:
    """Terminals and batch systems signal all processes of a run. The run needs its workers to stop cleanly."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, lambda *_: signal.alarm(WORKER_GRACE_S))


class BatchLoader:
    """The optimizer steps of one rank, epoch after epoch, from any step of a run on.

    Each epoch has the same number of steps, whatever the number of ranks that share them, so the number of steps that
    are done says where a run is. This is no DataLoader: with one, Lightning restarts a resumed epoch from its first
    batch (Lightning issue 19764).
    """

    def __init__(
        self,
        pairs: Pairs,
        config: BatchConfig,
        *,
        seed: int,
        rank: int = 0,
        world_size: int = 1,
        start: Position | None = None,
        epoch: Epoch | None = None,
        reader: Reader | None = None,
    ) -> None:
        """
        Args:
            start: of a resumed run.
            epoch: what an epoch reads; None: each pair once.
            reader: None: as pairs are stored.
        Raises:
            ConfigError: these ranks cannot share the steps, or an older version drew the epochs of this run.
        """
        self.pairs, self.config, self.seed = pairs, config, seed
        self.epoch = epoch or Epoch(pairs, [len(pairs)], [Copies(1, 0)], seed)
        self.reader = reader or _AsStored(pairs, self.epoch)
        start = start or Position(0, 0, world_size, world_size)
        if start.version != VERSION and (reader or self.epoch.lengths_differ):
            raise ConfigError(
                "this run began with another version, which draws other batches from text that is augmented, segmented "
                "at random, or read in part; go on with that version, or start from its weights with finetune=RUN"
            )
        self.n_done, self._steps_per_epoch = start.n_done, start.steps_per_epoch
        self.rank, self.world_size, self.planned_for = rank, world_size, start.planned_for
        self.accumulate = accumulate_for(config, self.planned_for, world_size)
        self.waited_s = 0.0  # how long training has waited for batches
        self._n_batches = 0  # micro-batches of each epoch, over all ranks; 0: not known yet
        self._planned: tuple[int, int, Plan] | None = None  # of an epoch and a draw

    @property
    def position(self) -> Position:
        return Position(self.n_done, len(self), self.world_size, self.planned_for)

    def _plan_of(self, epoch: int) -> tuple[int, Plan]:
        """The share of this rank, and the epoch from which the draws of its rows are."""
        if self._planned is None or self._planned[0] != epoch:
            self._planned = None  # its memory is free for the next one
            draw, plan = self._make_plan(epoch)
            plan = shared_out(plan, self.world_size, self.world_size * self.accumulate)
            self._planned = epoch, draw, plan[self.rank :: self.world_size]
        return self._planned[1:]

    def _make_plan(self, epoch: int) -> tuple[int, Plan]:
        """A plan with as many batches as the first epoch has, whatever is drawn, and the epoch of its draws.

        An epoch whose draws need more batches than that, which is very rare, has those of the first epoch once more.
        """
        differ = self.epoch.lengths_differ
        if differ and epoch and not self._n_batches:
            self._make_plan(0)
        for draw in (epoch, 0):
            plan = plan_epoch(
                *self.epoch.lengths(draw),
                max_tokens=self.config.max_tokens,
                seed=self.seed,
                epoch=epoch,
                world_size=self.planned_for,
                n_batches=self._n_batches,
                reserve=differ and draw == 0,
            )
            if draw == 0 or not differ or len(plan) == self._n_batches:
                break
        self._n_batches = len(plan)
        return draw, plan

    def shapes(self, epoch: int) -> list[Shape]:
        """Of each micro-batch of this rank in an epoch."""
        _, plan = self._plan_of(epoch)
        sizes = (plan.spans[:, 1] - plan.spans[:, 0]).tolist()
        return [Shape(n, n_src + 1, n_tgt + 1) for n, (n_src, n_tgt) in zip(sizes, plan.longest.tolist(), strict=True)]

    def rows(self, epoch: int, number: int) -> list[Rows]:
        """The micro-batches of a step of an epoch, both counted from 0."""
        first = number * self.accumulate
        return list(self._plan_of(epoch)[1][first : first + self.accumulate])

    def read(self, epoch: int, rows: Sequence[Rows]) -> Step:
        """These micro-batches as tensors."""
        return _Steps(self.reader, self._plan_of(epoch)[0])[rows]

    def __len__(self) -> int:
        """The steps of an epoch."""
        self._steps_per_epoch = self._steps_per_epoch or -(-len(self._plan_of(0)[1]) // self.accumulate)
        return self._steps_per_epoch

    def __iter__(self) -> Iterator[Step]:
        """The rest of this epoch. The iteration after its end is the next epoch."""
        steps = self._rest_of_epoch()
        while True:
            began = time.perf_counter()
            step = next(steps, None)
            self.waited_s += time.perf_counter() - began
            if step is None:
                return
            self.n_done += 1
            yield step

    def _rest_of_epoch(self) -> Iterator[Step]:
        epoch, first = divmod(self.n_done, len(self))
        (draw, plan), accumulate = self._plan_of(epoch), self.accumulate
        if (n_steps := -(-len(plan) // accumulate)) != len(self):
            raise ConfigError(
                f"an epoch of this run had {len(self):,} steps, and has {n_steps:,} now; resume with the text and the "
                "settings that it had"
            )
        loader = DataLoader(
            _Steps(self.reader, draw),
            batch_size=None,
            sampler=(list(plan[i : i + accumulate]) for i in range(first * accumulate, len(plan), accumulate)),
            num_workers=self.config.n_workers,
            collate_fn=_unchanged,
            worker_init_fn=_outlive_the_signal,
            # Otherwise each iteration would draw from the global generator, and change all later draws.
            generator=torch.Generator().manual_seed(0),
        )
        yield from loader


def accumulate_for(config: BatchConfig, planned_for: int, world_size: int) -> int:
    """The micro-batches that each rank does in an optimizer step, so that all ranks do as many as the plan has.

    Args:
        planned_for: the number of ranks with which the run began.
    Raises:
        ConfigError: the ranks cannot share a step.
    """
    n_in_step = planned_for * config.accumulate
    if n_in_step % world_size:
        possible = ", ".join(str(n) for n in range(1, n_in_step + 1) if n_in_step % n == 0)
        raise ConfigError(
            f"each step of this run has {n_in_step} micro-batches, since {planned_for} processes began it with "
            f"batch.accumulate={config.accumulate}, and {world_size} processes cannot share them; resume with "
            f"trainer.devices and trainer.n_nodes that make one of: {possible}"
        )
    return n_in_step // world_size


def valid_batches(pairs: Pairs, max_tokens: int, rank: int, world_size: int) -> Iterator[tuple[Indices, Batch]]:
    """Every pair once, over all ranks: batches, and which pairs are in each.

    Unlike in training, a rank may get one batch more than another.

    Raises:
        ConfigError: fewer pairs than ranks. Lightning cannot validate without pairs.
    """
    if len(pairs) < world_size:
        raise ConfigError(f"{len(pairs)} validation pairs cannot feed {world_size} processes; lower trainer.devices")
    longest = int(max(pairs.src_lengths.max(), pairs.tgt_lengths.max())) + 1
    plan = plan_epoch(pairs.src_lengths, pairs.tgt_lengths, max_tokens=max(max_tokens, longest), seed=0, epoch=0)
    batches = [rows.numbers for rows in plan]
    if len(batches) < world_size:
        batches = np.array_split(np.concatenate(batches), world_size)
    return (
        (indices, collate(*([side(int(i)) for i in indices] for side in (pairs.src, pairs.tgt))))
        for indices in batches[rank::world_size]
    )
