"""Several engines with the same model share the batches."""

import threading
from collections.abc import Sequence

import numpy as np
import pytest
import torch

from seq2seq.config import DecodingConfig
from seq2seq.decoding.hypothesis import Hypothesis
from seq2seq.translation.engines.protocol import Engine, Sentence
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.engines.replicas import Replicas
from seq2seq.translation.engines.workers import Workers
from tests.translation.engines.models import random_model

pytestmark = pytest.mark.slow

BEAM = DecodingConfig(beam_size=3, max_length_a=1.0, max_length_b=5)
SENTENCES = [Sentence([4 + (7 * i + j) % 300 for j in range(1 + i % 9)], number=i) for i in range(8)]


def one_engine(n_workers: int = 1) -> PyTorchEngine:
    return PyTorchEngine([random_model(seed=3, end_bonus=3.0)], torch.device("cpu"), "float32", n_workers, 1)


class Meeting(PyTorchEngine):
    """An engine that searches only when as many others do so at the same time; no other may come in."""

    def __init__(self, barrier: threading.Barrier, n_workers: int) -> None:
        super().__init__([random_model(seed=3, end_bonus=3.0)], torch.device("cpu"), "float32", n_workers, 1)
        self.barrier = barrier
        self.n_inside, self.most_inside, self.n_calls = 0, 0, 0

    def decode(
        self, sentences: Sequence[Sentence], config: DecodingConfig, *, token_scores: bool = False
    ) -> list[list[Hypothesis]]:
        self.n_calls += 1
        self.n_inside += 1
        self.most_inside = max(self.most_inside, self.n_inside)
        self.barrier.wait(60)
        found = super().decode(sentences, config)
        self.n_inside -= 1
        return found


def search(engine: Engine, sentences: list[Sentence]) -> list[list[Hypothesis]]:
    return engine.decode(sentences, BEAM)


def test_batches_are_searched_on_all_devices_at_the_same_time() -> None:
    n_workers = 2
    barrier = threading.Barrier(2 * n_workers)
    engines = [Meeting(barrier, n_workers) for _ in range(2)]
    replicas = Replicas(engines)
    assert (replicas.n_workers, replicas.forks) == (2 * n_workers, False)
    with Workers(replicas) as workers:
        tasks = [workers.submit(search, [sentence]) for sentence in SENTENCES]
        found = [task.result()[0] for task in tasks]
    assert found == [one_engine().decode([sentence], BEAM)[0] for sentence in SENTENCES]
    assert [engine.most_inside for engine in engines] == [n_workers, n_workers]
    assert sum(engine.n_calls for engine in engines) == len(SENTENCES)


def test_scores_and_attention_are_those_of_one_engine() -> None:
    replicas, one = Replicas([one_engine(), one_engine()]), one_engine()
    sources = [list(sentence.source) for sentence in SENTENCES]
    assert replicas.score(sources, sources) == one.score(sources, sources)
    for found, expected in zip(replicas.attention(sources, sources), one.attention(sources, sources), strict=True):
        np.testing.assert_array_equal(found, expected)
    heads = zip(replicas.head_weights(sources, sources), one.head_weights(sources, sources), strict=True)
    for in_replicas, in_one in heads:
        for found, expected in zip(in_replicas, in_one, strict=True):
            np.testing.assert_array_equal(found, expected)
    assert (replicas.precision, replicas.max_length) == (one.precision, one.max_length)
