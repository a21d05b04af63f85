"""Two processes that train one model: real ones, started by the command that a user would type."""

import json
import os
from functools import partial
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
from seq2seq.training.muon import MuonWithAdamW, parameters_of
from seq2seq.training.schedule import learning_rate
from seq2seq.training.validation import Validation, translate_store
from seq2seq.vocabulary import PAD
from tests.training.tiny_runs import arguments, checkpoint, command, tiny_config

VALIDATED = "recent-00000002.ckpt"  # of the first validation, after the second step
# For the second process, 57 of the 60 minutes that it may take are over from the beginning.
CLOCKS_APART = """
import os
from pytorch_lightning.callbacks import Timer
from seq2seq.cli import front_door

if os.environ.get("LOCAL_RANK") == "1":
    time_elapsed = Timer.time_elapsed
    Timer.time_elapsed = lambda self, stage="train": time_elapsed(self, stage) + 57 * 60
front_door("train")
"""


def optimizer_of(model, optim):
    matrices, others = parameters_of(model) if optim.optimizer == "muon" else ([], model.parameters())
    adamw = torch.optim.AdamW(others, betas=(optim.beta1, optim.beta2), eps=optim.eps, weight_decay=0.0)
    dtype = torch.bfloat16 if multiplies_bf16("cpu") else torch.float32
    return MuonWithAdamW(matrices, adamw, lr=optim.lr, dtype=dtype) if matrices else adamw


def plain_loop(config, n_ranks, n_steps):
    """The same training in one process and a page of torch: weights after `n_steps`, and nats per token of each."""
    prepared, optim = prepare(config), config.optim
    store = prepared.train
    torch.manual_seed(config.seed)
    model = Transformer(config.model, prepared.tokenizer.vocab_size)
    optimizer = optimizer_of(model, optim)
    plan = plan_epoch(
        store.src_lengths,
        store.tgt_lengths,
        max_tokens=config.batch.max_tokens,
        seed=config.seed,
        epoch=0,
        world_size=n_ranks,
    )
    nlls = []
    for step in range(n_steps):
        n_micro = n_ranks * config.batch.accumulate
        batches = [
            collate([store.src(i) for i in rows.pairs], [store.tgt(i) for i in rows.pairs], 0)
            for rows in plan[step * n_micro : (step + 1) * n_micro]
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


@pytest.mark.slow
@pytest.mark.skipif(not hasattr(os, "fork"), reason="gloo on this system is not tested")
@pytest.mark.parametrize(("optimizer", "atol"), [("adamw", 1e-5), ("muon", 5e-5)])  # a step of Muon is rounded to bf16
def test_two_processes_train_the_model_that_one_would(corpus, tmp_path, optimizer, atol):
    changes = {
        "optim.optimizer": optimizer,
        "trainer.devices": 2,
        "trainer.strategy": "ddp",
        "trainer.max_epochs": 0,
        "trainer.max_steps": 3,
        "batch.max_tokens": 120,
        "batch.accumulate": 2,
        "model.dropout": 0.0,
        "model.positions": "rotary",
        "optim.eps": 1e-3,  # a larger one makes the scale of gradients matter more
        "trainer.val_every_n_steps": 2,
        "trainer.max_time": "00:01:00:00",
        "optim.schedule": "linear",
    }
    run_dir = tmp_path / "run"
    script = tmp_path / "train.py"
    script.write_text(CLOCKS_APART)
    done = command(*arguments(corpus, run_dir, changes), script=script, timeout=240, is_fresh=True)
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr  # also of the second process, which has nothing to do at the end
    trained = checkpoint(run_dir)
    expected, nlls = plain_loop(tiny_config(corpus, run_dir, changes), n_ranks=2, n_steps=3)
    for name, weight in expected.items():
        torch.testing.assert_close(trained["state_dict"][f"model.{name}"], weight, rtol=1e-4, atol=atol)
    position = trained["position"]
    assert (position["epoch"], position["done"], position["world_size"]) == (0, 6, 2)
    assert json.loads((run_dir / "scores.json").read_text()).keys() == {"test"}
    losses = [each for each in RunDirectory(run_dir).metrics() if each.name == "train/loss"]
    assert [each.step for each in losses] == [0, 1, 2]
    assert [each.value for each in losses] == pytest.approx(nlls, rel=1e-4)  # of both processes
    assert done.stderr.count("translate with:") == 1
    assert_measured_as_by_one(tiny_config(corpus, run_dir, changes))


def assert_measured_as_by_one(config):
    """Each of the two processes had half of valid and test. This process has all, and weights that they saved."""
    run, prepared = RunDirectory(Path(config.run_dir)), prepare(config)
    model = Transformer(config.model, prepared.tokenizer.vocab_size)

    def load(name):
        weights = checkpoint(run.path, name)["state_dict"]
        model.load_state_dict({key.removeprefix("model."): weight for key, weight in weights.items()})
        return model

    logged = {each.name.removeprefix("valid/"): each.value for each in run.metrics() if each.step == 1}
    for name, value in Validation(prepared.valid, prepared.tokenizer, config).while_training(load(VALIDATED)).items():
        assert logged[name] == pytest.approx(value, rel=1e-4), name
    hypotheses = translate_store(load("model.ckpt").eval(), prepared.tests["test"], prepared.tokenizer, config.decoding)
    assert len(set(hypotheses)) > 3  # otherwise their order would hardly matter
    assert run.hypotheses("test") == hypotheses
