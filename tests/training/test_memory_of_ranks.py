"""What the processes of a machine hold of a large text: only the one that plans has memory for its pairs."""

import sys
import tracemalloc
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from torch.distributed import FileStore  # type: ignore[attr-defined]

from seq2seq.dataset.plan_ahead import LARGE
from seq2seq.dataset.store import PairStore
from seq2seq.training.data import TranslationData
from seq2seq.training.ranks import OwnProcesses, Ranks
from tests.training.tiny_runs import tiny_config
from tests.training.two_ranks import in_two_processes

N = LARGE


@pytest.fixture(scope="module")
def large_store(tmp_path_factory: pytest.TempPathFactory) -> PairStore:
    """A million pairs of one to three tokens a side, in two sources."""
    folder, rng = tmp_path_factory.mktemp("store"), np.random.default_rng(0)
    for side in ("src", "tgt"):
        offsets = np.cumsum([0, *rng.integers(1, 4, N)])
        offsets.astype("<i8").tofile(folder / f"{side}.offsets.bin")
        np.full(offsets[-1], 5, "<u2").tofile(folder / f"{side}.ids.bin")
    for name in ("src", "pair"):
        (folder / f"{name}.hashes.bin").touch()
    n_pairs = [N - N // 5, N // 5]
    return PairStore(folder, {"n_pairs": N, "id_type": "<u2", "files": {}, "n_pairs_of_sources": n_pairs})


@pytest.mark.skipif(sys.platform != "linux", reason="memory without a name")
@pytest.mark.parametrize("temperature", [1.0, 5.0])
def test_the_memory_of_a_process_that_plans_nothing_does_not_grow_with_the_pairs(
    large_store: PairStore, tmp_path: Path, temperature: float
) -> None:
    """It looks for its largest batch, and begins two epochs."""
    keys = {"data.train": ["large", "small"], "data.temperature": temperature, "batch.max_tokens": 5000}
    config = tiny_config(tmp_path, tmp_path / "run", keys)
    prepared: Any = SimpleNamespace(train=large_store, tokenizer=SimpleNamespace(tags={}))

    def peak_of(rank: int) -> int:
        ranks = Ranks(rank, 2, OwnProcesses(local_rank=rank), FileStore(str(tmp_path / "words"), 2))
        tracemalloc.start()
        data = TranslationData(config, prepared, ranks=ranks)
        assert data.largest.n_pairs > 1000 and data.steps_per_epoch
        for epoch in range(2):
            assert next(iter(data.loader)).n_tgt_tokens > 1000
            data.loader.n_done = (epoch + 1) * data.steps_per_epoch
        return tracemalloc.get_traced_memory()[1]

    planning, other = in_two_processes(peak_of, tmp_path)
    assert other < N  # less than a byte a pair; the lengths of both sides take two
    assert planning > 8 * N
