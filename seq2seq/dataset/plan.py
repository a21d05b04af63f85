"""The plan of an epoch: which pairs are trained on together, in which order, on which rank.

The plan is a pure function of (lengths, seed, epoch, token budget, ranks). Every pair is in exactly one micro-batch,
and every rank gets the same number of them. A position in the plan is one number. So a checkpoint saves only (epoch,
batches done), and resuming is arithmetic. The plan is made of slots: the pairs themselves, or places that
`seq2seq/dataset/mixture.py` (a temperature) and `seq2seq/dataset/augmentation.py` (disguises) fill with pairs.

A plan has 4 bytes a slot, and 4 more where slots are not the pairs themselves. To make one takes about 15 bytes a slot.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from seq2seq.errors import ConfigError

# Halves the number of batch sizes. A CPU compiles its products for each size; a GPU is fastest with multiples of 8.
PAIRS_AT_A_TIME = 8
PART = 10_000_000  # pairs to sort at a time

Indices = npt.NDArray[np.signedinteger[Any]]


class Lengths(Protocol):
    """How many tokens pairs have, or may have, without eos."""

    @property
    def src_lengths(self) -> npt.NDArray[Any]: ...
    @property
    def tgt_lengths(self) -> npt.NDArray[Any]: ...


class Slots(Lengths, Protocol):
    """Places in an epoch. Each one holds a pair, and may hold another one in the next epoch."""

    def pairs(self, epoch: int) -> Indices: ...  # the pair in each slot


class Rows(NamedTuple):
    """The rows of one micro-batch."""

    slots: Indices
    pairs: Indices  # in these slots


class Plan(Sequence[Rows]):
    """The micro-batches of an epoch in order, or some of them."""

    def __init__(self, slots: Indices, pairs: Indices, spans: Indices) -> None:
        """
        Args:
            slots: those of a batch are neighbours.
            pairs: in these slots.
            spans: (batches, 2): where the slots of each batch begin and end.
        """
        self.slots, self.pairs, self.spans = slots, pairs, spans

    def __len__(self) -> int:
        return len(self.spans)

    @overload
    def __getitem__(self, batch: int) -> Rows: ...
    @overload
    def __getitem__(self, batch: slice) -> "Plan": ...
    def __getitem__(self, batch: int | slice) -> "Rows | Plan":
        if isinstance(batch, slice):
            return Plan(self.slots, self.pairs, self.spans[batch])
        begin, end = self.spans[batch]
        return Rows(self.slots[begin:end], self.pairs[begin:end])

    def __iter__(self) -> Iterator[Rows]:
        return (self[batch] for batch in range(len(self)))


def plan_epoch(
    src_lengths: npt.NDArray[Any],
    tgt_lengths: npt.NDArray[Any],
    pairs: Indices | None = None,
    /,
    *,
    max_tokens: int,
    seed: int,
    epoch: int,
    world_size: int = 1,
) -> Plan:
    """The micro-batches of one epoch. Rank r trains on every `world_size`-th of them, starting with number r.

    Slots are shuffled, sorted by length, and cut where slots x longest side (with eos) would pass `max_tokens`. Then
    batches are shuffled in groups of `world_size` neighbours, so that the ranks of one step have about the same work.
    The sorted lengths are the same in each epoch, and so is the number of batches.

    Args:
        pairs: the pair in each slot; None: the pairs are the slots.
    Raises:
        ConfigError: fewer pairs than ranks, or a pair longer than `max_tokens`.
    """
    n_slots = len(src_lengths)
    if n_slots < world_size:
        raise ConfigError(f"{n_slots} training pairs cannot feed {world_size} processes; lower trainer.devices")
    longest = int(max(src_lengths.max(), tgt_lengths.max())) + 1
    if longest > max_tokens:
        raise ConfigError(f"batch.max_tokens={max_tokens} cannot hold a sentence of {longest} tokens; raise it")
    rng = np.random.default_rng((seed, epoch))
    slots = np.arange(n_slots, dtype=index_type(n_slots))
    rng.shuffle(slots)
    slots = by_length(slots, src_lengths, tgt_lengths)
    bounds = _cut(narrow(np.maximum(src_lengths, tgt_lengths))[slots], max_tokens)
    bounds = _split_until_even(bounds, world_size)
    groups = rng.permutation((len(bounds) - 1) // world_size)
    batches = (groups[:, None] * world_size + np.arange(world_size)).ravel()
    spans = np.stack([bounds[batches], bounds[batches + 1]], axis=1)
    return Plan(slots, slots if pairs is None else pairs[slots], spans.astype(slots.dtype))


def shared_out(plan: Plan, world_size: int, n_in_step: int) -> Plan:
    """The same optimizer steps, for a number of ranks that the plan was not made for.

    Only the last step of an epoch may have a number of micro-batches that does not share out. Its largest ones are
    halved then: the step has the same pairs.

    Args:
        n_in_step: micro-batches in an optimizer step, over all ranks; a multiple of `world_size`.
    Raises:
        ConfigError: too few pairs are left in that step.
    """
    n_whole = len(plan) - len(plan) % n_in_step
    ends = plan.spans[n_whole:].tolist()
    while len(ends) % world_size:
        begin, end = largest = max(ends, key=lambda span: span[1] - span[0])
        if end - begin == 1:
            raise ConfigError(
                f"the last step of an epoch has {len(ends)} pairs, which {world_size} processes cannot share; resume "
                "with fewer"
            )
        middle, place = (begin + end) // 2, ends.index(largest)
        ends[place : place + 1] = [[begin, middle], [middle, end]]
    rest = np.array(ends, plan.spans.dtype).reshape(-1, 2)
    return Plan(plan.slots, plan.pairs, np.concatenate([plan.spans[:n_whole], rest]))


def by_length(members: Indices, src_lengths: npt.NDArray[Any], tgt_lengths: npt.NDArray[Any]) -> Indices:
    """Sort by target length, then by source length. Source lengths rise and fall in turn.

    A batch may span two target lengths. If source lengths rose for both, the batch would hold the longest sources of
    one target length and the shortest of the next.
    """
    # numpy sorts numbers of one or two bytes by counting them. That is six times as fast as comparing wider ones.
    src, tgt = (narrow(lengths)[members] for lengths in (src_lengths, tgt_lengths))
    np.subtract(src.max(initial=0), src, out=src, where=tgt % 2 == 1)
    ordered = np.empty_like(members)
    begin = 0
    for shortest, longest in _ranges(tgt):
        is_in = (tgt >= shortest) & (tgt <= longest)
        part = members[is_in]
        ordered[begin : begin + len(part)] = part[np.lexsort((src[is_in], tgt[is_in]))]
        begin += len(part)
    return ordered


def _ranges(lengths: npt.NDArray[Any]) -> list[tuple[int, int]]:
    """All lengths in a few ranges, from short to long, each of about `PART` of them.

    A sort takes 16 bytes for each number that it sorts. So a large plan is sorted range by range.
    """
    shares = np.arange(1, -(-len(lengths) // PART)) * PART / len(lengths)
    some = lengths[:: len(lengths) // 10_000 + 1]
    ends = np.unique(np.quantile(some, shares, method="lower")).tolist() if len(shares) else []
    return [*zip([0, *(end + 1 for end in ends)], [*ends, int(lengths.max(initial=0))], strict=True)]


def index_type(n: int) -> npt.DTypeLike:
    """For indices of `n` things."""
    return np.int32 if n <= np.iinfo(np.int32).max else np.int64


def narrow(lengths: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """The same numbers, each in as few bytes as the largest one needs."""
    return lengths.astype(np.min_scalar_type(int(lengths.max(initial=0))))


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
            room_end = start + max_tokens // longest
            if room_end < ends[run]:
                end = max(end, room_end)  # if no row of this run fits, the batch still has those before
                break
            end = ends[run]
            run += 1
        n_rows = end - start
        if PAIRS_AT_A_TIME**2 <= n_rows < len(lengths) - start:  # so a batch loses at most an eighth
            n_rows -= n_rows % PAIRS_AT_A_TIME
        bounds.append(start + n_rows)
    return np.array(bounds)


def _split_until_even(bounds: Indices, world_size: int) -> Indices:
    """Halve the batches with the most pairs until all ranks get the same number of batches."""
    while (n_batches := len(bounds) - 1) % world_size:
        sizes = np.diff(bounds)
        largest = int(sizes.argmax())
        if sizes[largest] == 1:
            raise ConfigError(
                f"{n_batches} batches of one pair do not share out over {world_size} processes; "
                "lower trainer.devices or use more training text"
            )
        bounds = np.insert(bounds, largest + 1, bounds[largest] + sizes[largest] // 2)
    return bounds
