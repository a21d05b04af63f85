"""Take a running Trainer back to an earlier state of its run, with half the learning rate.

Weights, moments of the optimizer and averages are those of the earlier state. All else goes on from where the run is:
the count of steps, the batches of the epoch, dropout and the clock. So metrics have one row a step, and the batches
that led into trouble do not come again in the same state. What was learned in between is lost, and its steps count.
"""

from typing import Any

from seq2seq.training.callbacks.averaging import ExponentialAverage
from seq2seq.training.module import TranslationModule


def go_back(module: TranslationModule, ema: ExponentialAverage | None, state: dict[str, Any]) -> None:
    """state: the content of a checkpoint of this run, the same on all ranks."""
    module.trainer.strategy.load_model_state_dict(state)
    module.trainer.strategy.load_optimizer_state_dict(state)
    if scale := state.get("precision"):  # of fp16, near 0 after many skipped steps
        module.trainer.precision_plugin.load_state_dict(scale)
    if ema is not None:
        averages = state["callbacks"].get(ema.state_key)  # none, if it was switched on later
        ema.go_back(averages["weights"] if averages else dict(module.model.named_parameters()))
    module.n_rollbacks += 1
    module.n_skipped_in_a_row = 0
