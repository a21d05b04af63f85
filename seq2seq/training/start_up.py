"""Start a second sooner: import Lightning without work that no run needs (benchmarks/start_up.py measures it)."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def quick_imports() -> Iterator[None]:
    """Import torch, Lightning and what uses them inside this block.

    Imports make hundreds of thousands of objects that stay. Searching them for garbage again and again takes half a
    second, so the block pauses the search, and then keeps these objects out of all later ones.
    """
    if "pytorch_lightning" in sys.modules:  # a later job of a sweep: what the one before left is garbage
        yield
        return
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        with _without_matplotlib():
            yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()


@contextmanager
def _without_matplotlib() -> Iterator[None]:
    """Keep torchmetrics, which Lightning imports, from importing matplotlib for plots that nobody draws.

    torchmetrics asks a `RequirementCache` whether matplotlib is there; in this block the answer is no, and stays so
    for torchmetrics. Everybody else can import matplotlib at any time.
    """
    from lightning_utilities.core.imports import RequirementCache  # a package of Lightning's own

    is_met = RequirementCache.__bool__

    def is_met_and_wanted(requirement: RequirementCache) -> bool:
        if requirement.requirement == "matplotlib":
            requirement.available, requirement.message = False, "training imports torchmetrics without matplotlib"
        return is_met(requirement)

    RequirementCache.__bool__ = is_met_and_wanted  # type: ignore[assignment, method-assign]
    try:
        yield
    finally:
        RequirementCache.__bool__ = is_met  # type: ignore[method-assign]
