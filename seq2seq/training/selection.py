"""Which weights of a run are the best, by `trainer.monitor` on valid, and which it keeps, tests and ends with.

At its end it chooses among the last, best and averaged weights. Until then it keeps, beside its state, the best ones,
the latest ones for their average, and one every n steps.

What is kept is a model: to translate with, to average, to plot, to fine-tune. A third of the size of a state. With an
exponential average of the weights, that is what is kept; only what is averaged at the end are the weights as they are.
Keeping more changes nothing else of a run: neither its weights nor what it chooses at the end.

All processes keep, since the weights may be split among them. The first one writes.
"""

import dataclasses
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from seq2seq.artifacts.checkpoint import read_checkpoint, write_model
from seq2seq.artifacts.run_directory import RunDirectory, Selection
from seq2seq.config import RunConfig, TrainerConfig
from seq2seq.config.trainer import FALLING
from seq2seq.corpus.test_sets import TestSet, all_test_sets
from seq2seq.dataset.prepare import Prepared
from seq2seq.errors import CheckpointError, command
from seq2seq.evaluation.scores import (
    ROBUSTNESS_METRICS,
    TEST_METRICS,
    VALID_METRICS,
    Interval,
    Scoring,
    report,
    without_minus_zero,
)
from seq2seq.model.transformer import Transformer
from seq2seq.training.averaging import ExponentialAverage
from seq2seq.training.module import TranslationModule
from seq2seq.training.sharded import Weights, whole_weights
from seq2seq.training.validation import Validation, references_of

Goodness = tuple[float, float]

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What came out of a finished run."""

    run_dir: Path = dataclasses.field(compare=False)
    selected: str  # which weights won
    valid: dict[str, dict[str, float]]  # candidate: its scores on valid
    tests: dict[str, dict[str, Interval]]  # test set: metric: score; empty but in the first process


def finish_run(
    module: TranslationModule,
    prepared: Prepared,
    run: RunDirectory,
    validation: Validation,
    ema: ExponentialAverage | None,
) -> Outcome:
    """Score every candidate on valid, keep the winner as `model.ckpt`, test it, and write what came out.

    Each rank decodes its share; the first one scores the tests and writes.
    """
    model, config, step, is_first_rank = module.model, module.config, module.n_steps, module.global_rank == 0
    valid: dict[str, dict[str, float]] = {}
    winner: tuple[Goodness, str, Weights, list[str]] | None = None
    for name, weights in candidates(model, run, step, ema, config.trainer.average_last):
        model.load_state_dict(weights)
        metrics = validation.of_all(model)
        valid[name] = {metric: round(score, 4) for metric, score in metrics.items()}
        log.info("valid BLEU %.2f, chrF %.2f: %s", metrics["bleu"], metrics["chrf"], name)
        found = goodness(config.trainer.monitor, metrics)
        if winner is None or found > winner[0]:
            copy = {key: w.detach().clone() for key, w in weights.items()}
            winner = found, name, copy, validation.hypotheses
    assert winner is not None  # the last weights are always a candidate
    _, selected, weights, on_valid = winner
    model.load_state_dict(weights)
    if is_first_rank:
        run.forget_end()
        write_model(
            module.saved(weights), run.selected, step, selected=selected, valid=valid, provenance=module.provenance
        )
    model.eval()
    tests, test_sets = {}, all_test_sets(config.data)
    for former in set(run.tests()) - set(test_sets) if is_first_rank else ():
        run.forget_test(former)  # of an earlier start: other weights made its translations
    for name, test in test_sets.items():
        store = prepared.tests[name]
        hypotheses = validation.outputs(model, store)
        if not is_first_rank:
            continue  # its intervals take long
        references = references_of(store)
        run.write_test(name, config.data.tgt_lang, hypotheses, references)
        run.write_sources(name, config.data.src_lang, [store.src_text(i) for i in range(len(store))])
        metrics_of_test = ROBUSTNESS_METRICS if test.clean else TEST_METRICS
        scoring = Scoring.of(config, ignore_case=test.ignores_case)
        tests[name] = report(hypotheses, references, metrics_of_test, scoring=scoring)
    if is_first_rank:
        run.write_scores(tests)
        known = references_of(validation.store)
        intervals = report(on_valid, known, VALID_METRICS, scoring=Scoring.of(config))
        run.write_selection(Selection(selected, step, valid, intervals, model.n_parameters))
    return Outcome(run.path, selected, valid, tests)


def candidates(
    model: Transformer, run: RunDirectory, step: int, ema: ExponentialAverage | None, n_recent: int
) -> Iterator[tuple[str, Weights]]:
    """Name and weights of each candidate, one at a time: what validations have seen, and the average of the last ones.

    With `ema`, validations have seen its weights, so the last and the best ones are exponential averages.
    """
    last = {name: w.detach().clone() for name, w in model.state_dict().items()}
    kind = f", averaged with {ema.decay:g}" if ema else ""
    yield f"last (step {step}{kind})", last | ema.weights if ema else last
    if run.best.is_file() and _is_whole(run.best):
        best = read_checkpoint(run.best)
        if best.step != step:
            yield f"best (step {best.step}{kind})", dict(best.model.weights)
    recent = [file for file in run.recent(n_recent) if _is_whole(file)] if n_recent else []
    if len(recent) > 1:
        yield f"average of the last {len(recent)} validations", average_checkpoints(recent)


def _is_whole(file: Path) -> bool:
    """Whether a checkpoint can be read. If not, a warning says why: the run still has other candidates."""
    try:
        read_checkpoint(file)
    except CheckpointError as error:
        log.warning("left out of the selection: %s", error)
        return False
    return True


def average_checkpoints(paths: Sequence[Path]) -> Weights:
    """The mean of the weights of checkpoints, in float32; weights that are tied stay equal, and so do frozen ones."""
    total: Weights = {}
    first: dict[str, Tensor] = {}
    moved: set[str] = set()
    for path in sorted(paths):  # in a fixed order, so that averaging twice gives the same bits
        for name, weight in read_checkpoint(path).model.weights.items():
            total[name] = total[name] + weight.float() if name in total else weight.float().clone()
            if not torch.equal(first.setdefault(name, weight), weight):
                moved.add(name)
    return {name: weight / len(paths) if name in moved else first[name].float() for name, weight in total.items()}


def summary(config: RunConfig, outcome: Outcome, ending: str, run_dir: Path, report: str) -> str:
    """One screen that says what the run was, why it ended, what won, what it scored and what to do next."""
    lines = [f"{config.name}: {config.data.name}, {config.data.src_lang} to {config.data.tgt_lang}, seed {config.seed}"]
    lines[0] += f"; training ended {ending}"
    lines += ["", report.rstrip(), "", "valid, decoded as in the test:"]
    monitor = config.trainer.monitor.removeprefix("valid/")
    for name, scores in outcome.valid.items():
        mark = "*" if name == outcome.selected else " "
        decisive = "" if monitor in VALID_METRICS else f"{monitor} {scores[monitor]:.4f}  "
        lines.append(f" {mark} BLEU {scores['bleu']:6.2f}  chrF {scores['chrf']:6.2f}  {decisive}{name}")
    sets = all_test_sets(config.data)
    for name in [name for name, test in sets.items() if not test.clean]:
        lines += ["", f"test set {name}:"]
        lines += [
            f"   {metric:15} {score.score:6.2f} ± {score.half_width:.2f}  {score.signature}"
            for metric, score in outcome.tests[name].items()
        ]
        augmented = {each: test for each, test in sets.items() if test.clean == name}
        lines += _robustness(name, augmented, outcome.tests) if augmented else []
    lines += ["", f"translate with:  {command('translate', '--model', run_dir, '--input', 'FILE', '--output', 'FILE')}"]
    lines += [
        f"look inside with:  {command('attention', '--model', run_dir, '--src', 'TEXT', '--output', 'page.html')}"
    ]
    return "\n".join(lines) + "\n"


def _robustness(
    clean: str, augmented: Mapping[str, TestSet], scores: Mapping[str, Mapping[str, Interval]]
) -> list[str]:
    """A row for each augmentation of a test set: its BLEU, and what the augmentation costs."""
    lines = [f"   {'with augmentation':15} {'BLEU':>6} {'change':>7}"]
    for name, test in augmented.items():
        bleu = scores[name]["bleu"].score
        note = "  without case" if test.ignores_case else ""
        change = without_minus_zero(bleu - scores[clean]["bleu"].score)
        lines.append(f"   {name.removeprefix(f'{clean}/'):15} {bleu:6.2f} {change:+7.2f}{note}")
    return lines


def goodness(monitor: str, metrics: Mapping[str, float]) -> Goodness:
    """What is larger for better weights: by the monitor, and of equal ones by the loss. What is no number is worst.

    Args:
        monitor: `trainer.monitor`, such as valid/bleu.
        metrics: of a validation, by their names without `valid/`.
    """
    value, loss = metrics[monitor.removeprefix("valid/")], metrics["loss"]
    by_loss = -math.inf if math.isnan(loss) else -loss
    if math.isnan(value):
        return -math.inf, by_loss
    return (-value if monitor in FALLING else value), by_loss


class Selector:
    """The best validations of a run so far, and how many have followed the best one."""

    def __init__(self, monitor: str, n_best: int = 1) -> None:
        """n_best: how many to remember."""
        self.monitor, self.n_best = monitor, n_best
        self.ranking: list[tuple[Goodness, int]] = []  # and step, the best one first; of equal ones the older
        self.n_since = 0
        self.n_alike = 0  # validations from the first one on in which the monitor had one value

    @property
    def best_steps(self) -> list[int]:
        """Optimizer steps of the best validations, the best one first."""
        return [step for _, step in self.ranking]

    def see(self, step: int, metrics: Mapping[str, float]) -> None:
        """Take a validation into account.

        A monitor that has never moved, such as a BLEU of 0, says nothing, and uses up no patience.
        """
        found = goodness(self.monitor, metrics)
        is_alike = len(self.ranking) == 0 or (self.n_alike > 0 and found[0] == self.ranking[0][0][0])
        self.n_alike = self.n_alike + 1 if is_alike and found[0] > -math.inf else 0
        is_best = found[0] > -math.inf and (not self.ranking or found > self.ranking[0][0])
        if found[0] > -math.inf:
            ranking = sorted([*self.ranking, (found, step)], key=lambda each: each[0], reverse=True)
            self.ranking = ranking[: self.n_best]
        self.n_since = 0 if is_best or self.n_alike else self.n_since + 1

    def has_lost_patience(self, patience: int) -> bool:
        """Whether `patience` validations in a row were no better than the best one; 0: never."""
        return 0 < patience <= self.n_since

    def state_dict(self) -> dict[str, Any]:
        ranking = [[*found, step] for found, step in self.ranking]
        return {"ranking": ranking, "n_since": self.n_since, "n_alike": self.n_alike}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        ranking = [((float(value), float(by_loss)), int(step)) for value, by_loss, step in state["ranking"]]
        self.ranking, self.n_since, self.n_alike = ranking[: self.n_best], int(state["n_since"]), int(state["n_alike"])


def keep_validated(
    run: RunDirectory,
    module: TranslationModule,
    ema: ExponentialAverage | None,
    metrics: Mapping[str, float],
    selector: Selector,
) -> None:
    """Keep the weights that were validated last, if they are among the best, and those to average at the end.

    Args:
        metrics: of this validation, which `selector` has seen.
    """
    config, step = module.config.trainer, module.n_steps
    is_best = step in selector.best_steps
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


def keep_every_n_steps(run: RunDirectory, module: TranslationModule, ema: ExponentialAverage | None) -> None:
    """Keep the weights of the latest step if it is one of every n."""
    step = module.n_steps
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
