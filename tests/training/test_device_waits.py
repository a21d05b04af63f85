"""What a training step asks of its device, where the device is no CPU: torch's device `meta` has shapes and no values.

Whoever asks it for a value, as a host does that waits for its GPU, gets an error. So it stands for a GPU here.
"""

from collections import Counter
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from seq2seq.config import DataConfig, ModelConfig, OptimConfig, RunConfig
from seq2seq.dataset.batches import Batch
from seq2seq.model.transformer import Transformer
from seq2seq.training import loss as loss_module
from seq2seq.training.loss import smoothed_cross_entropy
from seq2seq.training.module import TranslationModule

SIZES = ModelConfig(d_model=12, n_heads=3, d_ff=20, n_encoder_layers=2, n_decoder_layers=1)
META = torch.device("meta")


class Operations(TorchDispatchMode):
    """Counts what torch computes."""

    def __init__(self) -> None:
        super().__init__()
        self.names: Counter[str] = Counter()

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        self.names[func.overloadpacket.__name__] += 1
        return func(*args, **(kwargs or {}))


@pytest.fixture(autouse=True)
def no_autocast(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch has none for `meta`, and refuses the question."""
    monkeypatch.setattr(torch, "is_autocast_enabled", lambda device_type: False)


def step(changes: dict[str, Any], n_tokens: int | None) -> Counter[str]:
    model = Transformer(replace(SIZES, **changes), vocab_size=31).to(META)
    src, tgt = torch.ones(6, 7, dtype=torch.int64, device=META), torch.ones(6, 5, dtype=torch.int64, device=META)
    with Operations() as operations:
        hidden = model.decode(tgt, model.encode(src), src)
        smoothed_cross_entropy(hidden, model.embeddings.output, tgt, 0.1, n_tokens).smoothed.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    return operations.names


@pytest.mark.parametrize(
    "changes", [{"positions": "rotary", "word_dropout": 0.1}, {"n_kv_heads": 1, "norm": "post"}, {"window": 3}], ids=str
)
def test_a_step_does_not_wait_for_its_device(changes: dict[str, Any]) -> None:
    assert step(changes, n_tokens=23)["mm"] > 0


def test_the_step_of_a_run_does_not_wait_either() -> None:
    tokenizer: Any = SimpleNamespace(vocab_size=31)
    config = RunConfig(data=DataConfig(), model=SIZES, optim=OptimConfig())
    module = TranslationModule(config, tokenizer, total_steps=0).to(META)
    ids = torch.ones(6, 5, dtype=torch.int64, device=META)
    module.loss(Batch(ids, ids, ids, 23)).smoothed.backward()
    assert all(p.grad is not None for p in module.parameters())


def test_a_number_of_tokens_that_nobody_knows_is_asked_for() -> None:
    """So the test above can fail."""
    with pytest.raises((NotImplementedError, RuntimeError), match="meta"):
        step({}, n_tokens=None)


def test_a_gpu_has_more_logits_at_a_time_than_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loss_module, "CHUNK", 2)
    monkeypatch.setattr(loss_module, "CHUNK_ON_GPU", 4)
    assert step({}, n_tokens=23)["exp_"] == 6
    hidden, weight = torch.randn(6, 5, 12), torch.randn(31, 12)
    with Operations() as on_cpu:
        smoothed_cross_entropy(hidden, weight, torch.ones(6, 5, dtype=torch.int64), 0.1, 23)
    assert on_cpu.names["exp_"] == 12


def test_a_decoder_attends_to_its_past_without_a_mask(monkeypatch: pytest.MonkeyPatch) -> None:
    """Flash kernels take no mask. The other two kinds of attention have one, which hides padding."""
    fused, calls = F.scaled_dot_product_attention, Counter[str]()

    def recorded(q: Tensor, k: Tensor, v: Tensor, **options: Any) -> Tensor:
        kind = "causal" if options.get("is_causal") else "masked" if "attn_mask" in options else "open"
        calls[kind] += 1
        return fused(q, k, v, **options)

    monkeypatch.setattr(F, "scaled_dot_product_attention", recorded)
    step({}, n_tokens=23)
    assert calls == {"masked": 3, "causal": 1}  # two encoder layers and one to the source; one decoder layer
