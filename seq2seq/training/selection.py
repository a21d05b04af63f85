"""The end of a run: choose among the best, last and averaged weights on valid, and test the winner."""

import dataclasses
import json
import logging
from collections.abc import Iterator, Sequence
from itertools import zip_longest
from pathlib import Path

from seq2seq.artifacts.checkpoint import (
    BEST,
    SELECTED,
    atomic_write,
    bytes_to_tensor,
    read_checkpoint,
    write_checkpoint,
)
from seq2seq.config import RunConfig
from seq2seq.dataset.prepare import Prepared
from seq2seq.evaluation.scores import TEST_METRICS, Interval, report
from seq2seq.training.callbacks.averaging import ExponentialAverage, Weights, average_checkpoints
from seq2seq.training.module import TranslationModule
from seq2seq.training.validation import score_store, translate_store

log = logging.getLogger(__name__)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a finished run has to say."""

    selected: str  # which weights won
    valid: dict[str, dict[str, float]]  # candidate: its scores on valid
    tests: dict[str, dict[str, Interval]]  # test set: metric: score


def finish_run(
    module: TranslationModule,
    prepared: Prepared,
    config: RunConfig,
    run_dir: Path,
    step: int,
    ema: ExponentialAverage | None,
    *,
    bf16: bool,
    is_first_rank: bool,
) -> Outcome:
    """Score every candidate on valid, keep the winner as `model.ckpt`, test it, and write what came out.

    All ranks decode their share; the first one writes.
    """
    model = module.model
    valid: dict[str, dict[str, float]] = {}
    winner: tuple[float, str, Weights] | None = None
    for name, weights in candidates(module, run_dir / "checkpoints", step, ema, config.trainer.average_last):
        module.load_state_dict(weights)
        scores, _ = score_store(model, prepared.valid, prepared.tokenizer, config.decoding, bf16=bf16)
        valid[name] = {metric: round(score.score, 4) for metric, score in scores.items()}
        log.info("valid BLEU %.2f, chrF %.2f: %s", scores["bleu"].score, scores["chrf"].score, name)
        if winner is None or scores["bleu"].score > winner[0]:
            winner = scores["bleu"].score, name, {key: w.detach().clone() for key, w in weights.items()}
    assert winner is not None  # the last weights are always a candidate
    _, selected, weights = winner
    module.load_state_dict(weights)
    if is_first_rank:
        _save_model(module, config, prepared, run_dir, selected, valid, step)
    model.eval()
    tests = {}
    for name, store in prepared.tests.items():
        hypotheses = translate_store(model, store, prepared.tokenizer, config.decoding, bf16=bf16)
        references = [store.references(i) for i in range(len(store))]
        if is_first_rank:
            _write_lines(run_dir / "hypotheses" / f"{name}.{config.data.tgt_lang}", hypotheses)
            for number, of_each in enumerate(zip_longest(*references, fillvalue="")):
                further = f".{number}" if number else ""
                _write_lines(run_dir / "references" / f"{name}.{config.data.tgt_lang}{further}", of_each)
        tests[name] = report(hypotheses, references, TEST_METRICS, language=config.data.tgt_lang)
    outcome = Outcome(selected, valid, tests)
    if is_first_rank:
        _write_json(run_dir / "scores.json", {name: _plain(scores) for name, scores in tests.items()})
        _write_json(run_dir / "selection.json", {"selected": selected, "step": step, "valid": valid})
    return outcome


def candidates(
    module: TranslationModule, folder: Path, step: int, ema: ExponentialAverage | None, n_recent: int
) -> Iterator[tuple[str, Weights]]:
    """Name and weights of all that could be kept, one at a time."""
    last = {name: w.detach().clone() for name, w in module.state_dict().items()}
    yield f"last (step {step})", last
    if (best := folder / BEST).is_file():
        content = read_checkpoint(best)
        if content["global_step"] != step:
            yield f"best (step {content['global_step']})", content["state_dict"]
    # A run that was killed may have left one more behind.
    recent = sorted(folder.glob("recent-*.ckpt"))[-n_recent:] if n_recent else []
    if len(recent) > 1:
        yield f"average of the last {len(recent)} validations", average_checkpoints(recent)
    if ema is not None and ema.weights:
        yield f"exponential average ({ema.decay:g})", last | ema.weights


def _save_model(
    module: TranslationModule,
    config: RunConfig,
    prepared: Prepared,
    run_dir: Path,
    selected: str,
    valid: dict[str, dict[str, float]],
    step: int,
) -> None:
    content = {
        "state_dict": module.state_dict(),
        "config": dataclasses.asdict(config),
        "tokenizer": bytes_to_tensor(prepared.tokenizer.proto),
        "tokenizer_sha256": prepared.tokenizer.fingerprint,
        "selected": selected,
        "valid": valid,
        "global_step": step,
    }
    write_checkpoint(content, run_dir / "checkpoints" / SELECTED)


def _plain(scores: dict[str, Interval]) -> dict[str, dict[str, float | str]]:
    return {
        name: {
            "score": round(found.score, 4),
            "mean": round(found.mean, 4),
            "half_width": round(found.half_width, 4),
            "signature": found.signature,
        }
        for name, found in scores.items()
    }


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    with atomic_write(path) as file:
        file.write("".join(f"{line}\n" for line in lines).encode())


def _write_json(path: Path, content: object) -> None:
    with atomic_write(path) as file:
        file.write((json.dumps(content, indent=2, ensure_ascii=False) + "\n").encode())


def summary(config: RunConfig, outcome: Outcome, run_dir: Path, report: str) -> str:
    """One screen that says what the run was, what won, what it scored and what to do next."""
    lines = [f"{config.name}: {config.data.name}, {config.data.src_lang} to {config.data.tgt_lang}, seed {config.seed}"]
    lines += ["", report.rstrip(), "", "valid, decoded as in the test:"]
    for name, scores in outcome.valid.items():
        mark = "*" if name == outcome.selected else " "
        lines.append(f" {mark} BLEU {scores['bleu']:6.2f}  chrF {scores['chrf']:6.2f}  {name}")
    for name, found in outcome.tests.items():
        lines += ["", f"test set {name}:"]
        lines += [
            f"   {metric:15} {score.score:6.2f} ± {score.half_width:.2f}  {score.signature}"
            for metric, score in found.items()
        ]
    lines += ["", f"translate with:  python translate.py --model {run_dir} --input FILE --output FILE"]
    return "\n".join(lines) + "\n"
