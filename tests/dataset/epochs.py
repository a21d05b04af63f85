"""What a loader reads in one epoch."""

from collections.abc import Sequence

from seq2seq.dataset.batches import Batch, BatchLoader, Position
from seq2seq.dataset.plan import Rows


def micro_batches(loader: BatchLoader) -> list[Batch]:
    """Those of the rest of this epoch, in order."""
    return [batch for step in loader for batch in step.micro_batches]


def planned(loader: BatchLoader, epoch: int = 0) -> list[Rows]:
    """What the micro-batches of an epoch read."""
    return [rows for number in range(len(loader)) for rows in loader.rows(epoch, number)]


def pairs_in(loader: BatchLoader, epoch: int = 0) -> list[int]:
    """The pairs that this rank reads in an epoch, in order."""
    return [int(pair) for rows in planned(loader, epoch) for pair in loader.epoch.pairs(rows.numbers, epoch)]


def sides(batches: Sequence[Batch]) -> list[list[list[int]]]:
    """The tensors of micro-batches, to compare them."""
    return [[side.tolist() for side in batch[:3]] for batch in batches]


def start_after(n_done: int, world_size: int = 1, planned_for: int = 1) -> Position:
    """Where a run is after so many steps."""
    return Position(n_done, 0, world_size, planned_for)
