"""Start sooner: import Lightning without searching it for garbage (benchmarks/start_up.py measures it)."""

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
        yield
        gc.freeze()
    finally:
        if was_enabled:
            gc.enable()
