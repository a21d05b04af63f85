"""Attention weights for those who ask: for pictures and word alignments."""

import sys
import threading
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

import torch
from torch import Tensor, nn

Weights = dict[nn.Module, Tensor]

# One entry for each thread that records. It is not a `threading.local`, because compiled code would not notice that its
# value changed (torch 2.13).
_open_recordings: dict[int, Weights] = {}


@contextmanager
def recorded_weights() -> Iterator[Weights]:
    """While open, each attention module leaves its latest weights (B, H, T, S) in the dict.

    Only calls from this thread are recorded. Other threads can run the model meanwhile, or record calls of their own.
    A recording inside another one has all calls until it ends.
    """
    thread = threading.get_ident()
    outer = _open_recordings.get(thread)
    weights = _open_recordings[thread] = {}
    try:
        yield weights
    finally:
        if outer is None:
            del _open_recordings[thread]
        else:
            _open_recordings[thread] = outer


def open_recording() -> Weights | None:
    """Where this thread's weights go; None if nobody asked for them."""
    return _open_recordings.get(threading.get_ident()) if _open_recordings else None


def uncompiled() -> AbstractContextManager[object]:
    """Compiled code would be compiled anew to record. To import the compiler only to switch it off takes seconds."""
    return torch.compiler.set_stance("force_eager") if "torch._dynamo" in sys.modules else nullcontext()
