"""Take a running Trainer back to an earlier state of its run, with half the learning rate.

Weights, moments of the optimizer and averages are those of the earlier state. All else goes on from where the run is:
the count of steps, the batches of the epoch, dropout and the clock. So metrics have one row a step, and the batches
that led into trouble do not come again in the same state. What was learned in between is lost, and its steps count.
"""

from typing import Any

import pytorch_lightning as pl
from torch.optim.lr_scheduler import LambdaLR

from seq2seq.training.callbacks.averaging import ExponentialAverage
from seq2seq.training.module import TrainingModule


def go_back(trainer: pl.Trainer, module: TrainingModule, ema: ExponentialAverage | None, state: dict[str, Any]) -> None:
    """state: the content of a checkpoint of this run, the same on all ranks."""
    trainer.strategy.load_model_state_dict(state)
    trainer.strategy.load_optimizer_state_dict(state)
    precision = trainer.precision_plugin
    if (name := type(precision).__qualname__) in state:  # of fp16, whose scale is near 0 after many skipped steps
        precision.load_state_dict(state[name])
    if ema is not None:
        averages = state["callbacks"].get(ema.state_key)  # none, if it was switched on later
        ema.go_back(averages["weights"] if averages else dict(module.model.named_parameters()))
    module.n_rollbacks += 1
    module.n_skipped_in_a_row = 0
    _plan_next_step(trainer)


def _plan_next_step(trainer: pl.Trainer) -> None:
    """Set the learning rate of the next step, which was planned before the run went back."""
    (optimizer,), (config,) = trainer.optimizers, trainer.lr_scheduler_configs
    schedule = config.scheduler
    assert isinstance(schedule, LambdaLR)
    rates = [
        base * share(schedule.last_epoch) for base, share in zip(schedule.base_lrs, schedule.lr_lambdas, strict=True)
    ]
    for group, rate in zip(optimizer.param_groups, rates, strict=True):
        group["lr"] = rate
    schedule.load_state_dict(schedule.state_dict() | {"_last_lr": rates})
