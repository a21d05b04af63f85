"""A training in one process and a page of torch, to compare runs with."""

from functools import partial
from itertools import count, islice
from pathlib import Path

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.dataset.batches import collate
from seq2seq.dataset.plan import plan_epoch
from seq2seq.dataset.prepare import prepare
from seq2seq.hardware import multiplies_bf16
from seq2seq.model.transformer import Transformer
from seq2seq.training.optimizer import MuonWithAdamW, learning_rate, parameters_of
from seq2seq.training.validation import Validation, translate_store
from seq2seq.vocabulary import PAD
from tests.training.tiny_runs import checkpoint


def optimizer_of(model, optim):
    options = {"lr": optim.lr, "betas": (optim.beta1, optim.beta2), "eps": optim.eps, "weight_decay": 0.0}
    if optim.optimizer != "muon":
        return torch.optim.AdamW(model.parameters(), **options)
    matrices, others = parameters_of(model)
    groups = [{"params": weights, "momentum": optim.momentum} for weights in matrices]
    dtype = torch.bfloat16 if multiplies_bf16("cpu") else torch.float32
    return MuonWithAdamW([*groups, {"params": others}], dtype=dtype, **options)


def steps_of(store, config, n_ranks):
    """The micro-batches of each optimizer step, epoch after epoch."""
    n_micro = n_ranks * config.batch.accumulate
    for epoch in count():
        plan = plan_epoch(
            store.src_lengths,
            store.tgt_lengths,
            max_tokens=config.batch.max_tokens,
            seed=config.seed,
            epoch=epoch,
            world_size=n_ranks,
        )
        for start in range(0, len(plan), n_micro):
            yield plan[start : start + n_micro]


def plain_loop(config, n_ranks, n_steps):
    """Weights after `n_steps`, and nats per token of each."""
    prepared, optim = prepare(config), config.optim
    store = prepared.train
    torch.manual_seed(config.seed)
    model = Transformer(config.model, prepared.tokenizer.vocab_size)
    optimizer = optimizer_of(model, optim)
    nlls = []
    for step, planned in enumerate(islice(steps_of(store, config, n_ranks), n_steps)):
        batches = [
            collate([store.src(i) for i in rows.numbers], [store.tgt(i) for i in rows.numbers]) for rows in planned
        ]
        loss_of = partial(F.cross_entropy, ignore_index=PAD, reduction="sum")
        outputs = [(model(b.src, b.tgt_in).flatten(0, 1), b.tgt_out.flatten()) for b in batches]
        losses = [loss_of(*output, label_smoothing=optim.label_smoothing) for output in outputs]
        n_tokens = sum(int((batch.tgt_out != PAD).sum()) for batch in batches)
        nlls.append(sum(loss_of(*output).item() for output in outputs) / n_tokens)
        optimizer.zero_grad()
        (torch.stack(losses).sum() / n_tokens).backward()
        nn.utils.clip_grad_norm_(model.parameters(), optim.clip_norm)
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step + 1, optim, 0)
        optimizer.step()
    return model.state_dict(), nlls


def assert_measured_as_by_one(config, validated, step):
    """Each process of the run had a share of valid and test. This process has all.

    Args:
        validated: the weights that the run had validated after this step.
    """
    run, prepared = RunDirectory(Path(config.run_dir)), prepare(config)
    model = Transformer(config.model, prepared.tokenizer.vocab_size)

    def load(weights):
        model.load_state_dict({name.removeprefix("model."): weight for name, weight in weights.items()})
        return model

    logged = {each.name.removeprefix("valid/"): each.value for each in run.metrics() if each.step == step}
    for name, value in Validation(prepared.valid, prepared.tokenizer, config).while_training(load(validated)).items():
        assert logged[name] == pytest.approx(value, rel=1e-4), name
    model = load(checkpoint(run.path, "model.ckpt")["state_dict"]).eval()
    hypotheses = translate_store(model, prepared.tests["test"], prepared.tokenizer, config.decoding)
    assert len(set(hypotheses)) > 1  # otherwise their order would hardly matter
    assert run.hypotheses("test") == hypotheses
