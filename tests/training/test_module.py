import copy
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import pytorch_lightning as pl
import torch
import torch.nn.functional as F
from pytorch_lightning.strategies import SingleDeviceStrategy
from torch import nn

from seq2seq.config import BatchConfig, ModelConfig, OptimConfig, RunConfig
from seq2seq.dataset.batches import BatchLoader
from seq2seq.training.averaging import ExponentialAverage
from seq2seq.training.metrics import Counters
from seq2seq.training.module import TranslationModule
from seq2seq.training.optimizer import MuonWithAdamW, learning_rate
from seq2seq.training.validation import teacher_forced
from seq2seq.vocabulary import PAD
from tests.dataset.epochs import micro_batches

V = 17


class Pairs:
    """Random sentences of given lengths."""

    def __init__(self, lengths):
        rng = np.random.default_rng(0)
        self.sentences = [(rng.integers(4, V, n), rng.integers(4, V, n)) for n in lengths]
        self.src_lengths = self.tgt_lengths = np.array(lengths)

    def __len__(self):
        return len(self.sentences)

    def src(self, index):
        return self.sentences[index][0]

    def tgt(self, index):
        return self.sentences[index][1]


PAIRS = Pairs([3] * 16 + [9] * 16)


def make_module(batch=None, dropout=0.0, **optim):
    settings: dict[str, Any] = {"schedule": "constant", "warmup_steps": 0, "clip_norm": 0.0} | optim
    config = RunConfig(
        batch=batch or BatchConfig(max_tokens=320),
        model=ModelConfig(d_model=12, n_heads=3, d_ff=20, n_encoder_layers=1, n_decoder_layers=1, dropout=dropout),
        optim=OptimConfig(**settings),
    )
    torch.manual_seed(0)
    tokenizer = SimpleNamespace(vocab_size=V, proto=b"", fingerprint="")
    return TranslationModule(config, tokenizer, total_steps=10)  # type: ignore[arg-type]


def fit(module, steps, *callbacks, precision="32-true"):
    trainer = pl.Trainer(
        accelerator="cpu",
        precision=precision,
        max_steps=steps,
        logger=False,
        callbacks=list(callbacks),
        enable_checkpointing=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        num_sanity_val_steps=0,
        log_every_n_steps=1,
    )
    trainer.fit(module, BatchLoader(PAIRS, module.config.batch, seed=0))
    return trainer


class Record(pl.Callback):
    """What the metrics and the weights were after each step."""

    def __init__(self):
        self.metrics, self.weights = [], []

    def on_train_batch_end(self, trainer, pl_module, *args):
        self.metrics.append({name: float(value) for name, value in pl_module.of_step.items()})
        self.weights.append(copy.deepcopy(pl_module.state_dict()))


# eps=1 makes the first Adam step lr * g / (|g| + 1): unlike with a small eps, the scale of the gradient matters.
@pytest.mark.parametrize(
    "batch",
    [
        BatchConfig(max_tokens=80, accumulate=3),  # 16 short pairs, 8 long, 8 long
        BatchConfig(max_tokens=80, accumulate=4),  # the last step of an epoch has fewer
        BatchConfig(max_tokens=40, accumulate=6),
    ],
    ids=["16+8+8", "16+8+8+nothing", "6-micro-batches"],
)
def test_a_step_is_the_same_in_one_batch_or_in_several(batch):
    whole = make_module(lr=1.0, eps=1.0)
    parts = make_module(batch=batch, lr=1.0, eps=1.0)
    start = copy.deepcopy(whole.state_dict())
    assert len(BatchLoader(PAIRS, whole.config.batch, seed=0)) == 1
    (step,) = BatchLoader(PAIRS, batch, seed=0)
    assert len(step.micro_batches) == {80: 3, 40: 6}[batch.max_tokens]
    fit(whole, 1, precision="64-true")
    fit(parts, 1, precision="64-true")
    moved = max(float((whole.state_dict()[name] - weight).abs().max()) for name, weight in start.items())
    assert moved > 1e-3
    for name, weight in whole.state_dict().items():
        torch.testing.assert_close(parts.state_dict()[name], weight, rtol=0, atol=1e-6 * moved)


def test_the_loss_of_a_step_is_the_mean_over_its_tokens():
    module = make_module(batch=BatchConfig(max_tokens=80, accumulate=3), label_smoothing=0.2)
    (step,) = BatchLoader(PAIRS, module.config.batch, seed=0)
    batches = step.micro_batches
    logits = [module.model(batch.src, batch.tgt_in).flatten(0, 1) for batch in batches]
    targets = torch.cat([batch.tgt_out.flatten() for batch in batches])
    expected = F.cross_entropy(torch.cat(logits), targets, ignore_index=PAD).item()
    record = Record()
    fit(module, 1, record)
    assert record.metrics[-1]["train/loss"] == pytest.approx(expected, rel=1e-5)


def test_training_agrees_with_a_plain_loop():
    module = make_module(lr=0.01, warmup_steps=2, schedule="linear", clip_norm=0.1, weight_decay=0.3, eps=1e-6)
    module.config.batch.max_tokens = 80
    model = copy.deepcopy(module.model)
    matrices = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    optimizer = torch.optim.AdamW([{"params": matrices, "weight_decay": 0.3}, {"params": others, "weight_decay": 0}])
    norms: list[float] = []
    rates: list[float] = []
    loader = BatchLoader(PAIRS, module.config.batch, seed=0)
    while len(norms) < 5:
        for batch in micro_batches(loader):
            rates.append(learning_rate(len(norms) + 1, module.config.optim, 10))
            for group in optimizer.param_groups:
                group |= {"lr": rates[-1], "betas": (0.9, 0.98), "eps": 1e-6}
            logits = model(batch.src, batch.tgt_in).flatten(0, 1)
            loss = F.cross_entropy(logits, batch.tgt_out.flatten(), ignore_index=PAD, label_smoothing=0.1)
            optimizer.zero_grad()
            loss.backward()
            norms.append(float(nn.utils.clip_grad_norm_(model.parameters(), 0.1)))
            optimizer.step()
            if len(norms) == 5:
                break
    record = Record()
    fit(module, 5, record)
    assert [m["train/grad_norm"] for m in record.metrics] == pytest.approx(norms, rel=1e-4)
    assert min(norms) > 0.1  # so that clipping mattered
    assert [m["train/lr"] for m in record.metrics] == pytest.approx(rates)
    for name, weight in model.state_dict().items():
        torch.testing.assert_close(module.model.state_dict()[name], weight, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("name", ["adamw", "muon"])
def test_only_matrices_decay(name):
    module = make_module(weight_decay=0.25, optimizer=name)
    optimizer = module.configure_optimizers()
    assert isinstance(optimizer, MuonWithAdamW if name == "muon" else torch.optim.AdamW)
    decay = {id(p): group["weight_decay"] for group in optimizer.param_groups for p in group["params"]}
    assert len(decay) == len(list(module.parameters()))
    names = {name: decay[id(p)] for name, p in module.model.named_parameters()}
    assert all(value == 0 for name, value in names.items() if name.endswith("bias") or "norm" in name)
    assert sum(value == 0.25 for value in names.values()) >= 10
    assert names["embeddings.tables.shared"] == 0.25


def test_half_precision_scales_outside_the_optimizer():
    module = make_module()
    fused = {}
    for precision in ("bf16-mixed", "16-mixed"):
        module.config.trainer.precision = precision
        fused[precision] = module.configure_optimizers().defaults["fused"]
    assert fused == {"bf16-mixed": True, "16-mixed": False}


def test_random_numbers_depend_on_the_seed_the_position_and_the_rank_alone():
    def drawn(seed=1, n_steps=3, number=1, rank=0):
        module = make_module()
        module.config.seed, module.n_steps = seed, n_steps
        module._trainer = SimpleNamespace(global_rank=rank)
        module._seed_dropout(number)
        return torch.rand(3).tolist()

    assert drawn() == drawn()
    others = drawn(), drawn(seed=2), drawn(n_steps=4), drawn(number=2), drawn(rank=1)
    assert len({tuple(each) for each in others}) == 5


def test_validation_measures_every_token_of_valid_once():
    model = make_module(label_smoothing=0.3).model.eval()
    pairs = Pairs([2, 7, 5, 5, 1, 11])
    logits, targets = [], []
    for index in range(len(pairs)):  # one by one, without padding
        src = torch.tensor([[*pairs.src(index), 3]])
        tgt = torch.tensor([2, *pairs.tgt(index), 3])
        logits.append(model(src, tgt[None, :-1])[0])
        targets.append(tgt[1:])
    expected = F.cross_entropy(torch.cat(logits), torch.cat(targets)).item()
    accuracy = (torch.cat(logits).argmax(-1) == torch.cat(targets)).float().mean().item()
    for max_tokens in (24, 400):
        found, _ = teacher_forced(model, pairs, max_tokens)
        assert found["loss"] == pytest.approx(expected, rel=1e-5)
        assert found["perplexity"] == pytest.approx(np.exp(expected), rel=1e-4)
        assert found["accuracy"] == pytest.approx(accuracy)


def test_the_exponential_average_is_its_recursion():
    module = make_module(batch=BatchConfig(max_tokens=80, accumulate=2), lr=0.05)
    average, record = ExponentialAverage(0.5), Record()
    expected = copy.deepcopy(module.state_dict())
    fit(module, 7, record, average)
    assert len(record.weights) == 7
    for n, weights in enumerate(record.weights, start=1):
        decay = min(0.5, (1 + n) / (10 + n))
        expected = {name: decay * expected[name] + (1 - decay) * weights[name] for name in expected}
    assert {f"model.{name}" for name in average.weights} == expected.keys()
    for name, weight in average.weights.items():
        torch.testing.assert_close(weight, expected[f"model.{name}"])


def test_ranks_go_by_the_clock_of_the_first_one_and_talk_of_it_once_a_step(monkeypatch) -> None:
    """And so does the rate of each group of parameters."""
    module = make_module(schedule="linear", optimizer="muon", lr=1.0)
    module.config.trainer.max_time, module.total_steps = "00:00:00:10", 0
    clock = iter([0.1, 0.25, 0.5])  # that of another process
    monkeypatch.setattr(
        SingleDeviceStrategy, "broadcast", lambda self, own, src=0: next(clock) if isinstance(own, float) else own
    )
    rates = []

    class Rates(pl.Callback):
        def on_before_optimizer_step(self, trainer, pl_module, optimizer):
            rates.append([group["lr"] for group in optimizer.param_groups])

    fit(module, 2, Counters(None), Rates())  # type: ignore[arg-type]
    assert len(rates[0]) > 2
    assert rates == [pytest.approx([left] * len(rates[0])) for left in (0.9, 0.75)]
    assert module.time_spent == 0.5 and next(clock, None) is None
