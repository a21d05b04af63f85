"""Validation by several ranks: each does its share of the sentences, and all get all of the results."""

from collections.abc import Mapping
from itertools import chain
from typing import TypeVar

import torch

_T = TypeVar("_T")


def rank_of_all() -> tuple[int, int]:
    """This rank, and how many there are."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def in_order(local: Mapping[int, _T]) -> list[_T]:
    """The results of all ranks, in the order of the sentences.

    Args:
        local: those of this rank, by the number of the sentence.
    """
    world_size = rank_of_all()[1]
    shares: list[Mapping[int, _T]] = [local]
    if world_size > 1:
        shares = [{} for _ in range(world_size)]
        torch.distributed.all_gather_object(shares, local)
    return [result for _, result in sorted(chain.from_iterable(share.items() for share in shares), key=lambda e: e[0])]
