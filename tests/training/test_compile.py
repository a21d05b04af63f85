"""`trainer.compile`: batches come in many shapes, and each must not cost a compilation."""

import random
from dataclasses import replace
from typing import Any

import pytest
import torch

from seq2seq.config import ModelConfig
from seq2seq.model.transformer import Transformer
from seq2seq.model.variants import self_attention


@pytest.mark.slow  # importing the compiler takes most of it
@pytest.mark.parametrize(
    "changes",
    [
        {"positions": "rotary", "n_kv_heads": 1, "d_value": 10, "bias": True, "norm_type": "rms", "window": 3},
        pytest.param({"window": 3, "attention": "additive", "hard_attention": True}, marks=pytest.mark.nightly),
    ],
    ids=str,
)
def test_a_few_compilations_serve_batches_of_all_shapes(changes: dict[str, Any], monkeypatch) -> None:
    from torch._dynamo.testing import CompileCounter

    compiler = CompileCounter()
    # Without dropout, so that the logits can be compared.
    sizes = ModelConfig(d_model=32, n_heads=2, d_ff=64, n_encoder_layers=1, n_decoder_layers=1, dropout=0.0)
    model = Transformer(replace(sizes, **changes), 100)
    monkeypatch.setattr(self_attention, "SHORT", 0)  # a window is always computed in blocks
    plain = Transformer(model.config, 100)
    plain.load_state_dict(model.state_dict())
    for half in (model.encoder, model.decoder):
        half.compile(backend=compiler, dynamic=True)
    shapes = random.Random(1)
    compiled = []
    for _ in range(6):
        n_pairs, n_src, n_tgt = (shapes.randint(2, 30) for _ in range(3))
        src, tgt = torch.randint(4, 100, (n_pairs, n_src)), torch.randint(4, 100, (n_pairs, n_tgt))
        logits = model(src, tgt)
        torch.testing.assert_close(logits, plain(src, tgt))
        logits.sum().backward()
        compiled.append(compiler.frame_count)
    assert compiled[-1] == compiled[2]  # nothing new in the last 3 batches
    assert 0 < compiled[-1] <= 6
