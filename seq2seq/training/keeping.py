"""Which weights a run keeps beside its state: the best ones, the latest ones for their average, one every n steps.

What is kept is a model: to translate with, to average, to plot, to fine-tune. A third of the size of a state. With an
exponential average of the weights, that is what is kept; only what is averaged at the end are the weights as they are.
Keeping more changes nothing else of a run: neither its weights nor what it chooses at the end.
"""

from collections.abc import Mapping

from seq2seq.artifacts.checkpoint import write_model
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import TrainerConfig
from seq2seq.training.callbacks.averaging import ExponentialAverage, Weights
from seq2seq.training.module import TrainingModule
from seq2seq.training.selector import Selector


def keep_validated(
    run: RunDirectory,
    module: TrainingModule,
    ema: ExponentialAverage | None,
    step: int,
    metrics: Mapping[str, float],
    selector: Selector,
) -> None:
    """Keep the weights that were validated last, if they are among the best, and those to average at the end.

    Args:
        metrics: of this validation, which `selector` has seen.
    """
    config = module.config.trainer
    if step in selector.best_steps:
        is_best = step == selector.best_steps[0]
        file = run.best_at(step) if config.keep_best > 1 else run.best
        more = {"metrics": dict(metrics), "provenance": module.provenance}
        write_model(module.saved(_watched(module, ema)), file, step, **more)
        if is_best and file != run.best:
            run.let_be_best(file)
    if config.average_last:
        weights = module.model.state_dict()
        write_model(module.saved(weights), run.recent_at(step), step, provenance=module.provenance)
    _remove_others(run, config, selector)


def is_kept(config: TrainerConfig, step: int) -> bool:
    """Whether a step is one of every n whose weights stay."""
    return config.keep_every_n_steps > 0 and step % config.keep_every_n_steps == 0


def keep_every_n_steps(run: RunDirectory, module: TrainingModule, ema: ExponentialAverage | None, step: int) -> None:
    """Keep the weights of this step if it is one of every n."""
    if is_kept(module.config.trainer, step):
        weights = _watched(module, ema)
        write_model(module.saved(weights), run.kept_at(step), step, provenance=module.provenance)


def _remove_others(run: RunDirectory, config: TrainerConfig, selector: Selector) -> None:
    best = {run.best_at(step) for step in selector.best_steps} if config.keep_best > 1 else set()
    old = set(run.recent()) - set(run.recent(config.average_last))
    for file in (set(run.all_best()) - best) | old:
        file.unlink(missing_ok=True)


def _watched(module: TrainingModule, ema: ExponentialAverage | None) -> Weights:
    """The weights that are validated."""
    weights = module.model.state_dict()
    return weights | ema.weights if ema else weights
