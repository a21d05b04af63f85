"""`hours=H`: what to train from this text in so many hours on this machine, as plain keys.

    text      is read once: pairs, characters, lines that are the same on both sides
    subwords  by the number of pairs
    model     the widest one that still sees enough tokens in the time; a few steps of each are timed here
    batch     half as large where there is time for few steps
    dropout   by how often an epoch is repeated

Keys that the command sets, and those in the presets that it names, stay as they are. docs/recipes.md has the rules, and
says what they rest on.
"""

import copy
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import timedelta
from itertools import chain
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config.command import AUTO, Composed, path_word
from seq2seq.corpus.reader import read_pairs
from seq2seq.dataset.prepare import find_all
from seq2seq.errors import ConfigError, TokenizerError, command
from seq2seq.training.composed import checked, keys_set_by
from seq2seq.training.estimate import Estimate, estimate
from seq2seq.training.trainer import n_ranks, set_up_machine

SHARE_OF_TRAINING = 0.5, 0.93  # of the hours, at least and at most; selection and tests come after it
TRANSLATING = 4  # times as long as training takes a token to be translated: 2.5 in short sentences, 4.4 in long ones
TRIED_PAIRS, TRIED_HOURS = 580_187, 1  # at most, by docs/experiments.md
MOST_EPOCHS = 100  # after which a model has learned the pairs by heart
SECONDS_A_VALIDATION = 200  # of training between two
FEW_PAIRS = 2_000
FEW_STEPS = 2_000  # of 4,096 tokens; then twice as many of half the size are better
# Subwords, for at most so many pairs.
SUBWORDS = ((5_000, 2_000), (15_000, 4_000), (100_000, 8_000), (3_000_000, 16_000), (float("inf"), 32_000))
# Dropout, for at most so many epochs.
DROPOUT = ((8, 0.0), (16, 0.1), (24, 0.2), (40, 0.25), (float("inf"), 0.3))
Value = int | float | str
Values = dict[str, Value]

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Size:
    """Of a model, with the least text with which it is better than a narrower one."""

    d_model: int
    n_heads: int
    n_layers: int  # of the encoder, and of the decoder
    lr: float  # for Muon
    least_pairs: int = 0
    least_tokens: float = 0  # target tokens that it sees in training, counted as often as it sees them

    @property
    def values(self) -> Values:
        return {
            "model.d_model": self.d_model,
            "model.n_heads": self.n_heads,
            "model.d_ff": 4 * self.d_model,
            "model.n_encoder_layers": self.n_layers,
            "model.n_decoder_layers": self.n_layers,
            "optim.lr": self.lr,
        }


SIZES = (Size(128, 4, 4, 1e-2), Size(256, 4, 4, 6e-3, 50_000, 40e6), Size(512, 8, 6, 3e-3, 300_000, 1e9))


@dataclass(frozen=True)
class Text:
    """What is known of training text before a tokenizer has read it."""

    n_pairs: int
    n_equal: int  # pairs with the same text on both sides
    n_characters: int  # different ones

    @classmethod
    def of(cls, pairs: Iterable[tuple[str, str]]) -> "Text":
        n_pairs = n_equal = 0
        characters: set[str] = set()
        for src, tgt in pairs:
            n_pairs += 1
            n_equal += src == tgt
            characters.update(src, tgt)
        return cls(n_pairs, n_equal, len(characters))

    @property
    def vocab_size(self) -> int:
        """As many words as a model sees often enough, with room for the 256 bytes and all characters."""
        return max(int(_up_to(SUBWORDS, self.n_pairs)), 500 + 2 * self.n_characters)


@dataclass(frozen=True)
class Recipe:
    """Keys with their values, and why they have them."""

    values: Values
    reasons: list[str]


def with_recipe(job: Composed, words: Sequence[str] = (), n_processes: int = 0) -> tuple[Composed, list[str]]:
    """A job with `hours` as one with plain keys, and the words of its command likewise. Says what was chosen, and why.

    One that goes on with a run has the keys of that run.

    Args:
        n_processes: that share the run, where somebody has started them; 0: as the configuration says.
    Raises:
        ConfigError: `hours` cannot stand beside what else the command says.
        CorpusError, TokenizerError, RunError: see `estimate`.
    """
    if job.cfg.resume == AUTO and RunDirectory(Path(job.cfg.run_dir)).has_checkpoints:
        resumed = Composed(_updated(job, {"resume": job.cfg.run_dir}).cfg, _of_any_run(job.overrides))
        return resumed, [*_of_any_run(words), path_word("resume", job.cfg.run_dir)]
    check_hours(job)
    began, given = time.monotonic(), set(keys_set_by(job.overrides))

    def is_free(key: str) -> bool:
        return given.isdisjoint((key, key.partition(".")[0]))

    def settled(values: Values) -> Values:
        return {key: value if is_free(key) else OmegaConf.select(job.cfg, key) for key, value in values.items()}

    log.info("hours=%g: preparing the text and timing some steps, to choose what to train", job.cfg.hours)
    config = checked(_updated(job, {}))
    n = n_processes or n_ranks(config.trainer, set_up_machine(config.trainer))

    def measure(values: Values) -> Estimate:
        one: Values = {"trainer.devices": 1, "trainer.n_nodes": 1, "trainer.strategy": "auto"}
        try:
            found = estimate(checked(_updated(job, values | one)))
        except TokenizerError as error:
            if is_free("tokenizer.vocab_size"):
                raise
            raise ConfigError(str(error)) from error
        return replace(found, tokens_per_s=found.tokens_per_s * n, steps_per_epoch=max(found.steps_per_epoch // n, 1))

    text = Text.of(chain.from_iterable(map(read_pairs, find_all(config.data)["train"])))
    sizes: Sequence[Size] = SIZES
    if not is_free("model.d_model"):
        narrower = [size for size in SIZES if size.d_model <= config.model.d_model]
        sizes = [replace([*SIZES[:1], *narrower][-1], least_pairs=0, least_tokens=0)]
    with _quiet():
        recipe = choose(text, job.cfg.hours, sizes, measure, settled, lambda: time.monotonic() - began)
    values = {key: value for key, value in recipe.values.items() if is_free(key)}
    chosen = [f"{key}={value}" for key, value in values.items()]
    same = command("train", *_of_any_run(words or job.overrides), *chosen)
    for line in [*recipe.reasons, "the same as plain keys:", f"    {same}"]:
        log.info("%s", line)
    return _updated(job, values), [*(word for word in words if not word.startswith("hours=")), *chosen]


def choose(
    text: Text,
    hours: float,
    sizes: Sequence[Size],
    measure: Callable[[Values], Estimate],
    settled: Callable[[Values], Values],
    spent: Callable[[], float],
) -> Recipe:
    """What to train in so many hours.

    Args:
        sizes: of the models to choose from, from narrow to wide.
        measure: does some steps with these values.
        settled: the values, with those that the command sets in their place.
        spent: seconds of the hours that have passed.
    """

    def seconds_after(found: Estimate) -> float:
        return TRANSLATING * found.n_translated / found.tokens_per_s

    def seconds_of_training(found: Estimate) -> float:
        least, most = (share * hours * 3600 for share in SHARE_OF_TRAINING)
        return min(max(hours * 3600 - seconds_after(found) - spent(), least), most)

    def n_epochs_of(found: Estimate) -> float:
        """As many as there is time for, and as the command lets it train."""
        limits = found.config.trainer
        seconds = min(seconds_of_training(found), limits.max_seconds or math.inf)
        n_steps = min(seconds / found.seconds_per_step, limits.max_steps or math.inf)
        return min(n_steps / found.steps_per_epoch, values["trainer.max_epochs"] or math.inf)

    def sized(size: Size) -> Values:
        found = values | settled(size.values)
        if values["optim.optimizer"] != "muon":  # which the rates are for
            del found["optim.lr"]
        return found

    values: dict[str, Any] = settled(
        {
            "tokenizer.vocab_size": text.vocab_size,
            "model.positions": "rotary",
            "batch.max_tokens": 4096,
            "optim.optimizer": "muon",
            "optim.schedule": "cosine",
            "optim.weight_decay": 0.3,
            "trainer.max_epochs": MOST_EPOCHS,
            "trainer.patience": 0,
            "trainer.valid_sentences": 200,
            "trainer.average_last": 0,
        }
    )
    size, found, too_wide = sizes[0], _measured(sized(sizes[0]), measure), ""
    for wider in sizes[1:]:
        if text.n_pairs < wider.least_pairs:
            break
        least_speed = wider.least_tokens / seconds_of_training(found)
        # A wider model is slower, so most are not measured.
        if found.tokens_per_s < least_speed or (
            (slower := _measured(sized(wider), measure)).tokens_per_s < least_speed
        ):
            too_wide = f"; {wider.d_model} needs {wider.least_tokens / 1e6:,.0f} million to be better"
            break
        size, found = wider, slower
    smaller = settled({"batch.max_tokens": 2048})
    if n_epochs_of(found) * found.steps_per_epoch < FEW_STEPS and not smaller.items() <= values.items():
        values |= smaller
        found = _measured(sized(size), measure)
    n_epochs, epoch_s = n_epochs_of(found), found.seconds_per_step * found.steps_per_epoch
    n_steps = n_epochs * found.steps_per_epoch
    n_validations = min(max(n_epochs * epoch_s / SECONDS_A_VALIDATION, 4), 15)
    values = sized(size) | settled(
        {
            "trainer.max_time": _duration(seconds_of_training(found)),
            "tokenizer.vocab_size": found.config.tokenizer.vocab_size,
            "model.dropout": _up_to(DROPOUT, n_epochs),
            "optim.warmup_steps": max(min(200, round(n_steps / 10)), 1),
            "trainer.val_every_n_steps": max(round(n_steps / n_validations), 1),
            "trainer.ema_decay": 0.999 if n_steps > 1500 else 0.99,
        }
    )
    n_seen = found.tokens_per_s * n_epochs * epoch_s
    reasons = [
        f"text: {text.n_pairs:,} pairs, so tokenizer.vocab_size={values['tokenizer.vocab_size']}",
        f"speed: {found.tokens_per_s:,.0f} target tokens a second",
        f"model: model.d_model={found.config.model.d_model} sees {n_seen:,.0f} target tokens{too_wide}",
        f"epochs: {n_epochs:.3g}, each {_readable(epoch_s)}, so model.dropout={values['model.dropout']}",
        f"time: {_readable(n_epochs * epoch_s)} of training, {n_steps:,.0f} steps of {found.config.batch.max_tokens} "
        f"tokens; then about {_readable(after := seconds_after(found))} of selection and tests",
    ]
    if n_epochs * epoch_s + after + spent() > 1.01 * hours * 3600:
        reasons.append(
            f"expect: more than {hours:g} hours, since the text takes long to prepare, or valid and the test sets to "
            "translate; shorter ones leave more for training"
        )
    if text.n_pairs > TRIED_PAIRS or hours > TRIED_HOURS:
        reasons.append(
            f"expect: an extrapolation; no more than {TRIED_PAIRS:,} pairs and {TRIED_HOURS} hour were tried "
            "(docs/experiments.md)"
        )
    return Recipe(values, reasons + _expectations(text, n_epochs, epoch_s))


def _expectations(text: Text, n_epochs: float, epoch_s: float) -> list[str]:
    """What to expect of text for which no choice is good."""
    found: list[str] = []
    if 2 * text.n_equal > text.n_pairs:
        found.append(
            f"expect: a model that copies, since {text.n_equal:,} of {text.n_pairs:,} pairs have the same text on both "
            "sides; give the other language for one of them"
        )
    if text.n_pairs < FEW_PAIRS:
        found.append(
            f"expect: a model that knows these {text.n_pairs:,} pairs and little else; mix in other text of these "
            "languages, or continue a model (docs/recipes.md)"
        )
    if n_epochs < 1:
        found.append(
            f"expect: little, since {n_epochs:.0%} of the text is seen, and once; an epoch takes {_readable(epoch_s)}"
        )
    if n_epochs == MOST_EPOCHS:
        found.append(
            f"expect: no more from more time; after {MOST_EPOCHS} epochs a model has learned the text by heart"
        )
    return found


def _measured(values: Values, measure: Callable[[Values], Estimate]) -> Estimate:
    """An estimate, with as many subwords as the text has."""
    while True:
        try:
            return measure(values)
        except TokenizerError:
            fewer = int(values["tokenizer.vocab_size"]) * 9 // 10
            if fewer < 261:  # which the 256 bytes and the special ids take
                raise
            values = values | {"tokenizer.vocab_size": fewer}


@contextmanager
def _quiet() -> Iterator[None]:
    """In this block nothing is told of preparation: the run tells it again."""
    logger = logging.getLogger("seq2seq")
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)


def check_hours(job: Composed) -> None:
    """Refuse hours that are none, or that stand beside a choice of their own.

    Raises:
        ConfigError: with a sentence for it.
    """
    hours = job.cfg.hours
    if not 0 < hours <= 24 * 365:
        raise ConfigError(f"hours={hours} is not a number of hours above 0, such as hours=2 or hours=0.25")
    for key, why in (
        ("experiment", "a recipe has what hours= chooses"),
        ("finetune", "the model to start from has what hours= chooses"),
        ("teacher", "it has the subwords that hours= chooses"),
        ("resume", "the run has what hours= chooses"),
    ):
        if any(word.startswith(f"{key}=") and word != f"resume={AUTO}" for word in job.overrides):
            limit = f"trainer.max_time={_duration(hours * 3600)}"
            raise ConfigError(f"{key}= and hours= exclude each other: {why}; to limit the time, set {limit}")


def _of_any_run(words: Sequence[str]) -> list[str]:
    """Those of a command that name neither the time nor the run."""
    return [word for word in words if not word.startswith(("hours=", "run_dir=", "resume="))]


def _readable(seconds: float) -> str:
    return str(timedelta(seconds=round(seconds)))


def _duration(seconds: float) -> str:
    minutes, seconds = divmod(max(round(seconds), 1), 60)
    return f"{minutes // 1440:02}:{minutes // 60 % 24:02}:{minutes % 60:02}:{seconds:02}"


def _updated(job: Composed, values: Values) -> Composed:
    """The job with other values, and without `hours`."""
    cfg = copy.deepcopy(job.cfg)
    for key, value in {"hours": 0.0, **values}.items():
        OmegaConf.update(cfg, key, value)
    return replace(job, cfg=cfg)


def _up_to(rows: Sequence[tuple[float, float]], n: float) -> float:
    return next(value for most, value in rows if n <= most)
