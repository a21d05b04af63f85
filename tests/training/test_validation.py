"""Two processes that validate together find what one finds."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import torch

from seq2seq.config.decoding import DecodingConfig
from seq2seq.config.model import ModelConfig
from seq2seq.model.transformer import Transformer
from seq2seq.training.validation import Domains, spread, teacher_forced, translate_store
from tests.training.two_ranks import in_two_processes, needs_gloo

pytestmark = needs_gloo

V = 19


class Pairs:
    """Random sentences of 1 to 11 tokens, none as long as the one before it."""

    def __init__(self) -> None:
        lengths = [5, 2, 11, 3, 8, 1, 7]
        rng = np.random.default_rng(0)
        self.sentences = [rng.integers(4, V, n) for n in lengths]
        self.src_lengths = self.tgt_lengths = np.array(lengths)

    def __len__(self) -> int:
        return len(self.sentences)

    def src(self, index: int) -> Any:
        return self.sentences[index]

    def tgt(self, index: int) -> Any:
        return self.sentences[index][::-1]


class Subset(Pairs):
    def __init__(self, members: list[int]) -> None:
        super().__init__()
        self.sentences = [self.sentences[i] for i in members]
        self.src_lengths = self.tgt_lengths = self.src_lengths[members]


@pytest.fixture
def model() -> Transformer:
    torch.manual_seed(0)
    config = ModelConfig(
        d_model=12, n_heads=3, d_ff=20, n_encoder_layers=1, n_decoder_layers=1, max_length=24, dropout=0.0
    )
    return Transformer(config, V).eval()


def test_the_loss_of_valid_is_that_of_all_processes(model: Transformer, tmp_path: Path) -> None:
    domains = Domains(["odd", "even"], np.array([1, 0, 1, 0, 1, 0, 0]))
    expected, of_domains = teacher_forced(model, Pairs(), max_tokens=24, domains=domains)
    for name, n in {"odd": 4, "even": 3}.items():
        pairs: Any = Subset([i for i in range(7) if domains.name(i) == name])
        assert len(pairs) == n
        assert of_domains[name] == pytest.approx(teacher_forced(model, pairs, max_tokens=24)[0], rel=1e-5)
    for found, found_of_domains in in_two_processes(
        lambda rank: teacher_forced(model, Pairs(), max_tokens=24, domains=domains), tmp_path
    ):
        assert found == pytest.approx(expected, rel=1e-6)
        for name, metrics in of_domains.items():
            assert found_of_domains[name] == pytest.approx(metrics, rel=1e-6)


@pytest.mark.parametrize("n_sentences", [0, 5])
def test_translations_of_all_processes_come_in_the_order_of_their_sources(
    model: Transformer, tmp_path: Path, n_sentences: int
) -> None:
    n_searched = 0

    def decode(found: list[list[int]]) -> list[str]:
        nonlocal n_searched
        n_searched += len(found)
        return [" ".join(map(str, ids)) for ids in found]

    def translations() -> list[str]:
        pairs: Any = Pairs()
        tokenizer: Any = SimpleNamespace(target=SimpleNamespace(decode=decode))
        return translate_store(model, pairs, tokenizer, DecodingConfig(beam_size=1), n_sentences)

    expected = translations()
    n_all = n_sentences or len(Pairs())
    assert len(expected) == n_searched == len(spread(len(Pairs()), n_sentences)) == n_all
    assert len(set(expected)) == n_all
    n_searched = 0
    found = in_two_processes(lambda rank: (translations(), n_searched), tmp_path)
    assert [texts for texts, _ in found] == [expected, expected]
    assert [n for _, n in found] == [-(-n_all // 2), n_all // 2]
