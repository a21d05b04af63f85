"""`batch.max_tokens=auto`: the largest budget whose batches fit into memory."""

import base64
import gc
import json
import logging
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from itertools import takewhile
from typing import Any

import torch
from pytorch_lightning.plugins.precision import DoublePrecision, HalfPrecision, MixedPrecision, Precision

from seq2seq.config import RunConfig
from seq2seq.errors import RunError
from seq2seq.memory import available_memory
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.module import TranslationModule
from seq2seq.training.ranks import Ranks
from seq2seq.training.trainer import Machine
from seq2seq.training.trial import fits, missing_state, roomy

# A CPU gains no speed from larger batches, and a model learns less from each pair in them. A GPU does gain.
MOST_ON_CPU, MOST_ON_GPU = 8192, 65_536

log = logging.getLogger(__name__)


def fitting_max_tokens(config: RunConfig, tokenizer: Tokenizer, machine: Machine, ranks: Ranks) -> int:
    """The largest number of tokens that fits in all processes, with a quarter to spare.

    Raises:
        RunError: not even one sentence fits.
    """
    if machine.accelerator == "cpu":
        room = available_memory()
        ranks.meet("fitting")  # all processes of a machine know what is available before one of them takes it
        room = room and room // (ranks.n_on_machine or config.trainer.devices or 1)
        found = _found_in_own_process(
            Question(asdict(config), machine.precision, MOST_ON_CPU, room, ranks.world_size), tokenizer
        )
    else:
        found = _found_on_device(config, tokenizer, machine, ranks)
    if ranks.world_size > 1:
        least = torch.tensor(found)
        torch.distributed.all_reduce(least, op=torch.distributed.ReduceOp.MIN)
        found = int(least)
    longest = longest_sentence(config)
    if not found:
        raise RunError(
            f"batch.max_tokens=auto: not even one sentence of data.max_sentence_tokens={longest - 2} fits into memory; "
            "lower it, or use a smaller model"
        )
    log.info("batch.max_tokens=auto is %s here", f"{found:,}")
    return found


@dataclass(frozen=True)
class Question:
    """What a process is asked that tries batches in place of another one."""

    config: Mapping[str, Any]
    precision: str
    most: int  # the largest number of tokens to try
    room: int | None  # bytes that it may take
    world_size: int


def _found_in_own_process(question: Question, tokenizer: Tokenizer) -> int:
    """0 if nothing fits.

    In a process of its own, because oneDNN may be broken for good where memory ran out while it compiled a product, and
    because memory that this process has freed and keeps would count as taken.
    """
    asked = asdict(question) | {"tokenizer": base64.b64encode(tokenizer.proto).decode()}
    done = subprocess.run(
        [sys.executable, "-m", "seq2seq.training.fitting_process"],
        input=json.dumps(asked),
        env=os.environ | {"PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
        capture_output=True,
        text=True,
        start_new_session=True,  # Ctrl-C is for this process, which then kills that one
    )
    if done.returncode > 0:
        raise RuntimeError(f"trying batch.max_tokens failed:\n{done.stderr}")
    return max(map(int, done.stdout.split()), default=0)  # killed, too: what was printed before did fit


def _found_on_device(config: RunConfig, tokenizer: Tokenizer, machine: Machine, ranks: Ranks) -> int:
    """0 if nothing fits. The model that was tried is gone afterwards, and with it the memory that it had."""
    module = new_module(config, tokenizer, machine, ranks.environment.local_rank())
    found = max(fitting(module, config, machine, MOST_ON_GPU, ranks.world_size), default=0)
    del module
    gc.collect()  # a module and what adds up its gradients know each other
    if machine.accelerator == "cuda":
        torch.cuda.empty_cache()
    return found


def new_module(config: RunConfig, tokenizer: Tokenizer, machine: Machine, local_rank: int = 0) -> TranslationModule:
    """A model with the shape, the type and the place of a run's."""
    device = torch.device("cuda", local_rank) if machine.accelerator == "cuda" else torch.device(machine.accelerator)
    module = _precision(machine).convert_module(TranslationModule(config, tokenizer, total_steps=0)).to(device)
    assert isinstance(module, TranslationModule)
    return module


def fitting(
    module: TranslationModule, config: RunConfig, machine: Machine, most: int, world_size: int
) -> Iterator[int]:
    """The numbers of tokens that fit, from few to `most` until one does not fit: after that nothing could be tried."""
    n_weights = sum(p.numel() for p in module.parameters())
    n_bytes = sum(p.nbytes for p in module.parameters())
    n_reserved = missing_state(module.new_optimizer())
    n_reserved += n_bytes * (config.batch.accumulate > 1)  # the gradient of earlier micro-batches
    n_reserved += n_bytes * (world_size > 1)  # what is exchanged
    n_reserved += 4 * n_weights * (config.trainer.ema_decay > 0)
    longest, precision = longest_sentence(config), _precision(machine)
    return takewhile(
        lambda n: fits(module, roomy(n, longest), precision, n_reserved), reversed(list(_candidates(most, longest)))
    )


def longest_sentence(config: RunConfig) -> int:
    """Tokens of the longest sentence that a run may meet."""
    return config.data.max_sentence_tokens + 2  # a tag and eos


def _candidates(most: int, least: int) -> Iterator[int]:
    """From `most` down, each a third or a quarter less than the one before; at last `least`."""
    while most > least:
        yield most
        if most * 3 // 4 > least:
            yield most * 3 // 4
        most //= 2
    yield least


def _precision(machine: Machine) -> Precision:
    """As Lightning's Trainer will have it."""
    if machine.precision in ("bf16-mixed", "16-mixed"):
        return MixedPrecision(machine.precision, machine.accelerator)  # type: ignore[arg-type]
    if machine.precision == "bf16-true":
        return HalfPrecision("bf16-true")
    return DoublePrecision() if machine.precision == "64-true" else Precision()
