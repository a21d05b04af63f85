"""Which weights a run keeps beside its state: the best ones, the latest ones for their average, one every n steps.

What is kept is a model: to translate with, to average, to plot, to fine-tune. A third of the size of a state. With an
exponential average of the weights, that is what is kept; only what is averaged at the end are the weights as they are.
Keeping more changes nothing else of a run: neither its weights nor what it chooses at the end.

All processes call these functions, since the weights may be split among them. The first one writes.
"""

from collections.abc import Mapping

from seq2seq.artifacts.checkpoint import write_model
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import TrainerConfig
from seq2seq.training.callbacks.averaging import ExponentialAverage
from seq2seq.training.module import TranslationModule
from seq2seq.training.selector import Selector
from seq2seq.training.sharded import Weights, whole_weights


def keep_validated(
    run: RunDirectory,
    module: TranslationModule,
    ema: ExponentialAverage | None,
    step: int,
    metrics: Mapping[str, float],
    selector: Selector,
) -> None:
    """Keep the weights that were validated last, if they are among the best, and those to average at the end.

    Args:
        metrics: of this validation, which `selector` has seen.
    """
    config, is_best = module.config.trainer, step in selector.best_steps
    watched = _watched(module, ema) if is_best else {}
    own = whole_weights(module.model) if config.average_last else {}
    if module.global_rank:
        return
    if is_best:
        file = run.best_at(step) if config.keep_best > 1 else run.best
        write_model(module.saved(watched), file, step, metrics=dict(metrics), provenance=module.provenance)
        if step == selector.best_steps[0] and file != run.best:
            run.let_be_best(file)
    if config.average_last:
        write_model(module.saved(own), run.recent_at(step), step, provenance=module.provenance)
    _remove_others(run, config, selector)


def is_kept(config: TrainerConfig, step: int) -> bool:
    """Whether a step is one of every n whose weights stay."""
    return config.keep_every_n_steps > 0 and step % config.keep_every_n_steps == 0


def keep_every_n_steps(run: RunDirectory, module: TranslationModule, ema: ExponentialAverage | None, step: int) -> None:
    """Keep the weights of this step if it is one of every n."""
    if is_kept(module.config.trainer, step):
        weights = _watched(module, ema)
        if module.global_rank == 0:
            write_model(module.saved(weights), run.kept_at(step), step, provenance=module.provenance)


def _remove_others(run: RunDirectory, config: TrainerConfig, selector: Selector) -> None:
    best = {run.best_at(step) for step in selector.best_steps} if config.keep_best > 1 else set()
    old = set(run.recent()) - set(run.recent(config.average_last))
    for file in (set(run.all_best()) - best) | old:
        file.unlink(missing_ok=True)


def _watched(module: TranslationModule, ema: ExponentialAverage | None) -> Weights:
    """The weights that are validated, whole."""
    weights = whole_weights(module.model)
    return weights | ema.whole_weights() if ema else weights
