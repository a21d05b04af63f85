"""The plan of an epoch: which pairs are trained on together, in which order, on which rank.

The plan is a pure function of (lengths, seed, epoch, token budget, ranks). Every pair is in exactly one micro-batch,
and every rank gets the same number of them. A position in the plan is one number. So a checkpoint saves only the number
of steps that are done, and resuming is arithmetic. The plan is made of slots: the pairs themselves, or places that
`seq2seq/dataset/mixture.py` (a temperature) and `seq2seq/dataset/augmentation.py` (augmentations) fill with pairs.

A plan has 4 bytes a slot, and 4 more where pairs are read in a way that depends on their slot. To make one takes about
10 bytes a slot, lengths of one byte included.
"""

from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple, Protocol, overload

import numpy as np
import numpy.typing as npt

from seq2seq.errors import ConfigError

# Halves the number of batch sizes. A CPU compiles its products for each size; a GPU is fastest with multiples of 8.
PAIRS_AT_A_TIME = 8
BLOCK = 1_000_000  # slots to work on at a time, where that takes many bytes a slot

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

    slots: Indices  # the pairs, where nothing depends on the slot
    pairs: Indices  # in these slots


class Plan(Sequence[Rows]):
    """The micro-batches of an epoch in order, or some of them."""

    def __init__(self, slots: Indices, pairs: Indices, spans: Indices, longest: Indices) -> None:
        """
        Args:
            slots: those of a batch are neighbours.
            pairs: in these slots.
            spans: (batches, 2): where the slots of each batch begin and end.
            longest: (batches, 2): tokens of the longest source and target of each batch, without eos.
        """
        self.slots, self.pairs, self.spans, self.longest = slots, pairs, spans, longest

    def __len__(self) -> int:
        return len(self.spans)

    @overload
    def __getitem__(self, batch: int) -> Rows: ...
    @overload
    def __getitem__(self, batch: slice) -> "Plan": ...
    def __getitem__(self, batch: int | slice) -> "Rows | Plan":
        if isinstance(batch, slice):
            return Plan(self.slots, self.pairs, self.spans[batch], self.longest[batch])
        begin, end = self.spans[batch]
        return Rows(self.slots[begin:end], self.pairs[begin:end])

    def __iter__(self) -> Iterator[Rows]:
        return (self[batch] for batch in range(len(self)))

    def with_pairs(self, pairs: Indices) -> "Plan":
        """The same slots; `pairs` has the pair in each of them."""
        return Plan(self.slots, pairs[self.slots], self.spans, self.longest)

    def with_pairs_alone(self, pairs: Indices) -> "Plan":
        """As `with_pairs`, in half the memory: these pairs take the place of the slots, and this plan is used up."""
        slots = self.slots.astype(np.promote_types(self.slots.dtype, pairs.dtype), copy=False)
        for block in blocks(len(slots)):
            slots[block] = pairs[slots[block]]
        return Plan(slots, slots, self.spans, self.longest)


def plan_epoch(
    src_lengths: npt.NDArray[Any],
    tgt_lengths: npt.NDArray[Any],
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
    src, tgt = narrow(src_lengths), narrow(tgt_lengths)
    sort_by_length(slots, src, tgt)
    src, tgt = src[slots], tgt[slots]
    bounds = _cut(np.maximum(src, tgt), max_tokens)
    bounds = _split_until_even(bounds, world_size)
    sides = np.stack([np.maximum.reduceat(side, bounds[:-1]) for side in (src, tgt)], axis=1)
    groups = rng.permutation((len(bounds) - 1) // world_size)
    batches = (groups[:, None] * world_size + np.arange(world_size)).ravel()
    spans = np.stack([bounds[batches], bounds[batches + 1]], axis=1)
    return Plan(slots, slots, spans.astype(slots.dtype), sides[batches].astype(slots.dtype))


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
    return Plan(plan.slots, plan.pairs, spans, sides)


def sort_by_length(slots: Indices, src_lengths: npt.NDArray[Any], tgt_lengths: npt.NDArray[Any]) -> None:
    """Sort all slots by target length, then by source length, in place. Source lengths rise and fall in turn.

    A batch may span two target lengths. If source lengths rose for both, the batch would hold the longest sources of
    one target length and the shortest of the next.
    """
    tgt, src = narrow(tgt_lengths), narrow(src_lengths)
    sort_by(slots, np.where(tgt & 1, src.max(initial=0) - src, src), tgt)


def sort_by(slots: Indices, minor: npt.NDArray[Any], major: npt.NDArray[Any]) -> None:
    """Sort slots, in place, by one number of each and then by another one; equal ones keep their order.

    It takes as much memory as the slots, and little more.
    """
    other = np.empty_like(slots)
    _sort(slots, minor, other)
    _sort(other, major, slots)


def _sort(slots: Indices, keys: npt.NDArray[Any], out: Indices) -> None:
    """Write the slots to `out` in the order of their keys. Equal ones keep their order.

    Args:
        keys: of each slot, narrow.
    """
    n_keys = int(keys.max(initial=0)) + 1
    counts = sum((np.bincount(keys[block], minlength=n_keys) for block in blocks(len(keys))), np.zeros(n_keys, int))
    nexts = np.cumsum(counts) - counts  # where the next slot of each key goes
    for block in blocks(len(slots)):
        of_block = keys[slots[block]]
        # numpy sorts numbers of one or two bytes by counting them. That is six times as fast as comparing wider ones.
        order = np.argsort(of_block, kind="stable")
        counts = np.bincount(of_block, minlength=n_keys)
        places = np.repeat(nexts - np.cumsum(counts) + counts, counts)
        places += np.arange(len(places))
        out[places] = slots[block][order]
        nexts += counts


def blocks(n: int) -> Iterator[slice]:
    """All of `n` slots, a few at a time."""
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
