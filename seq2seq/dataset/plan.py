"""The plan of an epoch: which rows are trained on together, in which order, on which rank.

A *row* is one reading of a pair; `seq2seq/dataset/epoch.py` says which rows an epoch has. The plan is a pure function
of (lengths, seed, epoch, token budget, ranks). Every row is in exactly one micro-batch, and every rank gets the same
number of them. A position in the plan is one number. So a checkpoint saves only the number of steps that are done, and
resuming is arithmetic.

A plan has 4 bytes a row. To make one takes about 10 bytes a row, lengths of one byte included.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from heapq import heappush, heapreplace
from typing import Any, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from seq2seq.errors import ConfigError

# Halves the number of batch sizes. A CPU compiles its products for each size; a GPU is fastest with multiples of 8.
PAIRS_AT_A_TIME = 8
BLOCK = 1_000_000  # rows to work on at a time, where that takes many bytes a row

Indices = npt.NDArray[np.signedinteger[Any]]


class Lengths(Protocol):
    """How many tokens pairs have, without eos."""

    @property
    def src_lengths(self) -> npt.NDArray[Any]: ...
    @property
    def tgt_lengths(self) -> npt.NDArray[Any]: ...


class Rows(NamedTuple):
    """The rows of one micro-batch."""

    numbers: Indices  # in the epoch
    max_src: int  # tokens of the longest source as planned, without eos; no row may have more
    max_tgt: int


@dataclass(frozen=True)
class Plan:
    """The micro-batches of an epoch in order, or some of them."""

    rows: Indices  # all rows of the epoch; those of a batch are neighbours
    spans: Indices  # (batches, 2): where the rows of each batch begin and end
    longest: Indices  # (batches, 2): tokens of the longest source and target of each batch, without eos

    def __len__(self) -> int:
        return len(self.spans)

    def __getitem__(self, batches: slice) -> "Plan":
        return Plan(self.rows, self.spans[batches], self.longest[batches])

    def __iter__(self) -> Iterator[Rows]:
        for (begin, end), (src, tgt) in zip(self.spans.tolist(), self.longest.tolist(), strict=True):
            yield Rows(self.rows[begin:end], src, tgt)


def plan_epoch(
    src_lengths: npt.NDArray[Any],
    tgt_lengths: npt.NDArray[Any],
    *,
    max_tokens: int,
    seed: int,
    epoch: int,
    world_size: int = 1,
    n_batches: int = 0,
    reserve: bool = False,
) -> Plan:
    """The micro-batches of one epoch. Rank r trains on every `world_size`-th of them, starting with number r.

    Rows are shuffled, sorted by length, and cut where rows x longest side (with eos) would pass `max_tokens`. Then
    batches are shuffled in groups of `world_size` neighbours, so that the ranks of one step have about the same work.
    How many batches are needed depends on the sorted lengths alone.

    Args:
        n_batches: if fewer are needed, the largest are halved until there are so many; a multiple of `world_size`.
        reserve: halve so many that an epoch with other draws of the same kind will hardly need more.
    Raises:
        ConfigError: fewer pairs than ranks, or a pair longer than `max_tokens`.
    """
    n_rows = len(src_lengths)
    if n_rows < world_size:
        raise ConfigError(f"{n_rows} training pairs cannot feed {world_size} processes; lower trainer.devices")
    longest = int(max(src_lengths.max(), tgt_lengths.max())) + 1
    if longest > max_tokens:
        raise ConfigError(f"batch.max_tokens={max_tokens} cannot hold a sentence of {longest} tokens; raise it")
    rng = np.random.default_rng((seed, epoch))
    rows = np.arange(n_rows, dtype=index_type(n_rows))
    rng.shuffle(rows)
    src, tgt = narrow(src_lengths), narrow(tgt_lengths)
    _sort_by_length(rows, src, tgt)
    src, tgt = src[rows], tgt[rows]
    bounds = _cut(np.maximum(src, tgt), max_tokens)
    n_needed = -(-(len(bounds) - 1) // world_size) * world_size
    if n_needed > n_rows:
        raise ConfigError(
            f"{n_rows} batches of one pair do not share out over {world_size} processes; lower trainer.devices or use "
            "more training text"
        )
    if reserve:
        # The sum of the lengths of n rows, each drawn by itself, differs by a share of about 1 / sqrt(n) or less.
        spare = world_size + int(2 * n_needed / math.sqrt(n_rows))
        n_batches = min(n_needed + spare, n_rows) // world_size * world_size
    bounds = _split(bounds, max(n_needed, n_batches))
    sides = np.stack([np.maximum.reduceat(side, bounds[:-1]) for side in (src, tgt)], axis=1)
    groups = rng.permutation((len(bounds) - 1) // world_size)
    batches = (groups[:, None] * world_size + np.arange(world_size)).ravel()
    spans = np.stack([bounds[batches], bounds[batches + 1]], axis=1)
    return Plan(rows, spans.astype(rows.dtype), sides[batches].astype(rows.dtype))


def shared_out(plan: Plan, world_size: int, n_in_step: int) -> Plan:
    """The same optimizer steps, for a number of ranks that the plan was not made for.

    Only the last step of an epoch may have a number of micro-batches that does not share out. Its largest ones are
    halved then: the step has the same pairs. A half counts as long as the whole.

    Args:
        n_in_step: micro-batches in an optimizer step, over all ranks; a multiple of `world_size`.
    Raises:
        ConfigError: too few pairs are left in that step.
    """
    n_whole = len(plan) - len(plan) % n_in_step
    ends, longest = plan.spans[n_whole:].tolist(), plan.longest[n_whole:].tolist()
    while len(ends) % world_size:
        begin, end = largest = max(ends, key=lambda span: span[1] - span[0])
        if end - begin == 1:
            raise ConfigError(
                f"the last step of an epoch has {len(ends)} pairs, which {world_size} processes cannot share; resume "
                "with fewer"
            )
        middle, place = (begin + end) // 2, ends.index(largest)
        ends[place : place + 1] = [[begin, middle], [middle, end]]
        longest.insert(place, longest[place])
    spans, sides = (
        np.concatenate([all_of[:n_whole], np.array(rest, all_of.dtype).reshape(-1, 2)])
        for all_of, rest in ((plan.spans, ends), (plan.longest, longest))
    )
    return Plan(plan.rows, spans, sides)


def _sort_by_length(rows: Indices, src: npt.NDArray[Any], tgt: npt.NDArray[Any]) -> None:
    """Sort all rows by target length, then by source length, in place. Source lengths rise and fall in turn.

    A batch may span two target lengths. If source lengths rose for both, the batch would hold the longest sources of
    one target length and the shortest of the next.
    """
    sort_by(rows, np.where(tgt & 1, src.max(initial=0) - src, src), tgt)


def sort_by(rows: Indices, minor: npt.NDArray[Any], major: npt.NDArray[Any]) -> None:
    """Sort rows, in place, by one number of each and then by another one; equal ones keep their order.

    It takes as much memory as the rows, and little more.
    """
    other = np.empty_like(rows)
    _sort(rows, minor, other)
    _sort(other, major, rows)


def _sort(rows: Indices, keys: npt.NDArray[Any], out: Indices) -> None:
    """Write the rows to `out` in the order of their keys. Equal ones keep their order.

    Args:
        keys: of each row, narrow.
    """
    n_keys = int(keys.max(initial=0)) + 1
    counts = sum((np.bincount(keys[block], minlength=n_keys) for block in blocks(len(keys))), np.zeros(n_keys, int))
    nexts = np.cumsum(counts) - counts  # where the next row of each key goes
    for block in blocks(len(rows)):
        of_block = keys[rows[block]]
        # numpy sorts numbers of one or two bytes by counting them. That is six times as fast as comparing wider ones.
        order = np.argsort(of_block, kind="stable")
        counts = np.bincount(of_block, minlength=n_keys)
        places = np.repeat(nexts - np.cumsum(counts) + counts, counts)
        places += np.arange(len(places))
        out[places] = rows[block][order]
        nexts += counts


def blocks(n: int) -> Iterator[slice]:
    """All of `n` rows, a few at a time."""
    return (slice(begin, min(begin + BLOCK, n)) for begin in range(0, n, BLOCK))


def index_type(n: int) -> npt.DTypeLike:
    """For indices of `n` things."""
    return np.int32 if n <= np.iinfo(np.int32).max else np.int64


def narrow(lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers, each in as few bytes as the largest one needs."""
    return lengths.astype(np.min_scalar_type(int(lengths.max(initial=0))), copy=False)


def _cut(lengths: npt.NDArray[Any], max_tokens: int) -> Indices:
    """Cut into batches as large as pairs x longest <= max_tokens allows. Large batches have a multiple of 8 pairs.

    Args:
        lengths: of the longer side of each pair, without eos, in the order in which they are cut.
    Returns:
        0 and the end of each batch.
    """
    # Neighbours of one length are a run. There are far fewer runs than pairs.
    ends = [*(np.flatnonzero(lengths[1:] != lengths[:-1]) + 1).tolist(), len(lengths)]
    with_eos = [int(lengths[end - 1]) + 1 for end in ends]
    bounds, first = [0], 0
    while (start := bounds[-1]) < len(lengths):
        while ends[first] <= start:
            first += 1
        run, longest, end = first, 0, start
        while run < len(ends):
            longest = max(longest, with_eos[run])
            budget_end = start + max_tokens // longest
            if budget_end < ends[run]:
                end = max(end, budget_end)  # if no row of this run fits, the batch still has those before
                break
            end = ends[run]
            run += 1
        n_rows = end - start
        if PAIRS_AT_A_TIME**2 <= n_rows < len(lengths) - start:  # so a batch loses at most an eighth
            n_rows -= n_rows % PAIRS_AT_A_TIME
        bounds.append(start + n_rows)
    return np.array(bounds)


def _split(bounds: Indices, n_batches: int) -> Indices:
    """Halve the batch with the most pairs until there are so many."""
    n_more, sizes = n_batches - (len(bounds) - 1), np.diff(bounds)
    largest = np.argsort(-sizes, kind="stable")[:n_more]  # no other is halved
    heap = [(-int(sizes[i]), int(bounds[i])) for i in largest]  # the first of the largest comes first
    middles = []
    for _ in range(n_more):
        minus_size, begin = heap[0]
        half = -minus_size // 2
        heapreplace(heap, (-half, begin))
        heappush(heap, (minus_size + half, begin + half))
        middles.append(begin + half)
    return np.sort(np.append(bounds, middles).astype(bounds.dtype))
