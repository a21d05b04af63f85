"""`batch.max_tokens=auto`: the largest budget whose batches fit into memory."""

import logging
from collections.abc import Iterator

import torch
from pytorch_lightning.plugins.precision import DoublePrecision, HalfPrecision, MixedPrecision, Precision

from seq2seq.config import RunConfig
from seq2seq.errors import RunError
from seq2seq.memory import available_memory, limited_memory
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
    room = available_memory() if machine.accelerator == "cpu" else None
    ranks.meet("fitting")  # all processes of a machine know what is available before one of them takes it
    with limited_memory(room and room // (config.trainer.devices or 1)):
        found = _largest(config, tokenizer, machine, ranks)
    if ranks.world_size > 1:
        least = torch.tensor(found)
        torch.distributed.all_reduce(least, op=torch.distributed.ReduceOp.MIN)
        found = int(least)
    longest = _longest(config)
    if not found:
        raise RunError(
            f"batch.max_tokens=auto: not even one sentence of data.max_sentence_tokens={longest - 2} fits into memory; "
            "lower it, or use a smaller model"
        )
    log.info("batch.max_tokens=auto is %s here", f"{found:,}")
    return found


def _largest(config: RunConfig, tokenizer: Tokenizer, machine: Machine, ranks: Ranks) -> int:
    """0 if nothing fits."""
    device = torch.device(machine.accelerator)
    if machine.accelerator == "cuda":
        device = torch.device("cuda", ranks.environment.local_rank())
    precision = _precision(machine)
    module = precision.convert_module(TranslationModule(config, tokenizer, total_steps=0)).to(device)
    assert isinstance(module, TranslationModule)
    n_weights = sum(p.numel() for p in module.parameters())
    n_bytes = sum(p.nbytes for p in module.parameters())
    n_reserved = missing_state(module.new_optimizer())
    n_reserved += n_bytes * (config.batch.accumulate > 1)  # the gradient of earlier micro-batches
    n_reserved += n_bytes * (ranks.world_size > 1)  # what is exchanged
    n_reserved += 4 * n_weights * (config.trainer.ema_decay > 0)
    most = MOST_ON_CPU if machine.accelerator == "cpu" else MOST_ON_GPU
    longest = _longest(config)
    return next((n for n in _candidates(most, longest) if fits(module, roomy(n, longest), precision, n_reserved)), 0)


def _longest(config: RunConfig) -> int:
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
