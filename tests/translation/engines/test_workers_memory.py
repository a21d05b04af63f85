"""Batches that do not fit into memory are done in halves, whatever a worker does with them."""

import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import torch

from seq2seq.config import DecodingConfig, ModelConfig
from seq2seq.decoding import Hypothesis
from seq2seq.errors import TranslationError
from seq2seq.memory import is_out_of_memory
from seq2seq.model.transformer import Transformer
from seq2seq.translation.engines import Engine, Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.engines.workers import Workers
from tests.places import ROOT


def search_shortly(engine: Engine, sentences: list[Sentence]) -> list[list[Hypothesis]]:
    return engine.decode(sentences, DecodingConfig(beam_size=5, max_length_a=0.0, max_length_b=2))


def score(engine: Engine, sentences: list[Sentence]) -> list[list[float]]:
    sources = [sentence.source for sentence in sentences]
    return engine.score(sources, sources)


def attend(engine: Engine, sentences: list[Sentence]) -> list[float]:
    sources = [sentence.source for sentence in sentences]
    return [float(weights.sum()) for weights in engine.attention(sources, sources)]


def fill(engine: Engine, n_bytes: list[int]) -> list[int]:
    return [len(torch.ones(n, dtype=torch.uint8)) for n in n_bytes]


def short_of_memory() -> None:
    """Fill the memory that this process may use, with a model whose many logits need much of it."""
    import resource

    torch.manual_seed(1)
    config = ModelConfig(d_model=8, n_heads=1, d_ff=16, n_encoder_layers=1, n_decoder_layers=1, max_length=20)
    large = PyTorchEngine([Transformer(config, 20_000)], torch.device("cpu"), "float32", 2, 1, forks=True)
    sentences = [Sentence([4 + 20 * i + j for j in range(1 + i % 7)], number=i) for i in range(900)]
    works: list[Callable[..., Any]] = [search_shortly, score, attend]
    expected = [work(large, sentences) for work in works]
    # Threads share one heap, which then has holes: they need more memory.
    for forks, extra in ((False, 320 << 20), (True, 160 << 20)):
        large.forks = forks
        n_pages = int(Path("/proc/self/statm").read_text().split()[0])
        limit = n_pages * os.sysconf("SC_PAGE_SIZE") + extra
        resource.setrlimit(resource.RLIMIT_AS, (limit, resource.RLIM_INFINITY))
        for work in works[:2]:
            with pytest.raises(RuntimeError) as caught:
                work(large, sentences)
            assert is_out_of_memory(caught.value)
        said: list[str] = []
        with closing(Workers(large, said.append)) as workers:
            for work, results in zip(works, expected, strict=True):
                found = workers.submit(work, sentences).result()
                if work is search_shortly:
                    assert [[h.tokens for h in hs] for hs in found] == [[h.tokens for h in hs] for hs in results]
                else:
                    torch.testing.assert_close(found, results)
            with pytest.raises(TranslationError, match=r"^a sentence alone needs more memory than .*1000000000"):
                workers.submit(fill, [1, 2, 3, 10**9, 4]).result()
        (message,) = said
        assert message.startswith("warning: memory ran out for a batch, which is done again in halves; use fewer worke")


@pytest.mark.nightly
@pytest.mark.skipif(sys.platform != "linux", reason="needs RLIMIT_AS")
def test_a_search_that_does_not_fit_into_memory_is_done_in_halves() -> None:
    program = "from tests.translation.engines.test_workers_memory import short_of_memory; short_of_memory()"
    env = os.environ | {"MALLOC_ARENA_MAX": "1"}  # a thread's own heap would reserve addresses, which the limit counts
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, env=env, capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
