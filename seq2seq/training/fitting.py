"""Does a batch fit into memory? Tried without a trace in the run.

`batch.max_tokens=auto` is the largest budget whose batches fit on a GPU. Whatever the budget, the batch that needs the
most is tried before the first step.
"""

import gc
import logging
from collections.abc import Iterator

import pytorch_lightning as pl
import torch
from pytorch_lightning.plugins.precision import DoublePrecision, HalfPrecision, MixedPrecision, Precision
from pytorch_lightning.utilities.seed import isolate_rng

from seq2seq.config import RunConfig
from seq2seq.dataset.batches import Batch, Shape
from seq2seq.errors import RunError
from seq2seq.hardware import give_back_freed_memory
from seq2seq.memory import available_memory, is_out_of_memory, limited_memory
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.averaging import ExponentialAverage
from seq2seq.training.data import TranslationData
from seq2seq.training.module import TranslationModule
from seq2seq.training.ranks import Ranks
from seq2seq.training.sharded import split_by
from seq2seq.training.trainer import Machine
from seq2seq.vocabulary import EOS

# A CPU gains no speed from larger batches, and a model learns less from each pair in them. A GPU does gain.
MOST_ON_CPU, MOST_ON_GPU = 8192, 65_536
_NEVER = 1 << 30  # as a divisor: not even a single pair fits
SPARE = 1.25  # Batches of many shapes leave holes in the memory that no single batch shows (docs/performance.md)

log = logging.getLogger(__name__)


def fitting_max_tokens(config: RunConfig, tokenizer: Tokenizer, machine: Machine, ranks: Ranks) -> int:
    """What a CPU trains well; of GPUs the largest number of tokens that fits on all of them, with a quarter to spare.

    Raises:
        RunError: not even one sentence fits.
    """
    longest = longest_sentence(config)
    if machine.accelerator == "cpu":
        found = max(MOST_ON_CPU, longest)
    else:
        found = _found_on_device(config, tokenizer, machine, ranks)
    if ranks.world_size > 1:
        least = torch.tensor(found)
        torch.distributed.all_reduce(least, op=torch.distributed.ReduceOp.MIN)
        found = int(least)
    if not found:
        raise RunError(
            f"batch.max_tokens=auto: not even one sentence of data.max_sentence_tokens={longest - 2} fits into memory; "
            "lower it, or use a smaller model"
        )
    log.info("batch.max_tokens=auto is %s here", f"{found:,}")
    return found


def _found_on_device(config: RunConfig, tokenizer: Tokenizer, machine: Machine, ranks: Ranks) -> int:
    """0 if nothing fits. The model that was tried is gone afterwards, and with it the memory that it had."""
    module = new_module(config, tokenizer, machine, ranks.environment.local_rank())
    n_bytes = sum(p.nbytes for p in module.parameters())
    n_reserved = missing_state(module.configure_optimizers())
    n_reserved += n_bytes * (config.batch.accumulate > 1)  # the gradient of earlier micro-batches
    n_reserved += n_bytes * (ranks.world_size > 1)  # what is exchanged
    n_reserved += sum(4 * p.numel() for p in module.parameters()) * (config.trainer.ema_decay > 0)
    longest, precision = longest_sentence(config), _precision(machine)
    candidates = _candidates(MOST_ON_GPU, longest)
    found = next((n for n in candidates if fits(module, beyond_budget(n, longest), precision, n_reserved)), 0)
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


class WorstBatch(pl.Callback):
    """Ends a run at once, before its first step, whose batches will not fit into memory.

    Each rank tries the largest batch of its own plan, and all end if one of them cannot do it. On a CPU the kernel
    refuses memory that it does not have, for as long as the trial lasts. Where it cannot, as on macOS, there is none.

    It comes before the callbacks that measure time.
    """

    def __init__(self, config: RunConfig, data: TranslationData, ema: ExponentialAverage | None) -> None:
        """ema: may take memory of its own later."""
        self.config, self.data, self.ema = config, data, ema

    def on_train_start(self, trainer: pl.Trainer, pl_module: pl.LightningModule) -> None:
        assert isinstance(pl_module, TranslationModule)
        available, is_cpu = available_memory(), pl_module.device.type == "cpu"
        if (is_cpu and available is None) or split_by(trainer):  # a trial that fails would leave the others waiting
            return
        shape = self.data.largest
        trainer.strategy.barrier()  # all ranks of a machine know what is available before one of them takes it
        with limited_memory(available // trainer.num_devices if is_cpu and available is not None else None):
            divisor = self._divisor(pl_module, shape, trainer)
        if trainer.world_size > 1:
            worst = torch.tensor(divisor, device=pl_module.device)
            torch.distributed.all_reduce(worst, op=torch.distributed.ReduceOp.MAX)
            divisor = int(worst)
        if divisor > 1:
            raise RunError(self._sentence(shape, divisor, is_new=pl_module.n_steps == 0))

    def _divisor(self, module: TranslationModule, shape: Shape, trainer: pl.Trainer) -> int:
        """By how much batch.max_tokens has to be divided to fit: 1, 2, 4, ..."""
        n_reserved = missing_state(trainer.optimizers[0])
        if self.data.loader.accumulate > 1:  # then the gradient of earlier micro-batches is there, too
            n_reserved += sum(p.nbytes for p in module.parameters())
        if self.ema and not self.ema.weights:
            n_reserved += sum(4 * p.numel() for p in module.model.parameters())
        divisor, longest = 1, max(shape.n_src, shape.n_tgt)
        while shape.n_pairs:
            if fits(module, shape, trainer.precision_plugin, n_reserved):
                return divisor
            divisor *= 2
            shape = beyond_budget(self.config.batch.max_tokens // divisor, longest)
        return _NEVER

    def _sentence(self, shape: Shape, divisor: int, *, is_new: bool) -> str:
        batch, longest = self.config.batch, self.config.data.max_sentence_tokens
        what = (
            f"batch.max_tokens={batch.max_tokens} needs more memory than there is for a batch of {shape.n_pairs} pairs "
            f"with {shape.n_src} source and {shape.n_tgt} target tokens"
        )
        if batch.max_tokens // divisor < longest + 2:  # a tag and eos
            return (
                f"{what}, and a smaller one cannot hold data.max_sentence_tokens={longest}; lower both, or use a "
                "smaller model"
            )
        keys = f"batch.max_tokens={batch.max_tokens // divisor} batch.accumulate={batch.accumulate * divisor}"
        anew = "" if is_new else f" in a new run with finetune={self.config.run_dir}"
        return f"{what}; end other programs, or use {keys}{anew}, whose steps are of the same size"


def beyond_budget(max_tokens: int, longest: int) -> Shape:
    """A batch that is larger than any that a budget allows: if it fits, the budget does, with something to spare.

    Args:
        longest: tokens of the longest sentence, with eos.
    """
    return Shape(int(SPARE * max_tokens) // longest, longest, longest)


def fits(module: TranslationModule, shape: Shape, precision: Precision, n_reserved: int = 0) -> bool:
    """Whether forward and backward of a batch of this shape fit into memory. Changes nothing that the run knows of.

    Args:
        n_reserved: bytes that the run needs besides, and has not taken yet.
    """
    is_fitting = True
    with isolate_rng(include_cuda=module.device.type == "cuda"):
        try:
            _forward_and_backward(module, shape, precision, n_reserved)
        except (RuntimeError, MemoryError) as error:
            if not is_out_of_memory(error):
                raise
            is_fitting = False
    module.zero_grad(set_to_none=True)
    if module.device.type == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()  # a metric of the run
    elif not is_fitting:
        give_back_freed_memory()
    return is_fitting


def _forward_and_backward(module: TranslationModule, shape: Shape, precision: Precision, n_reserved: int) -> None:
    reserved = torch.empty(n_reserved, dtype=torch.uint8, device=module.device)
    with precision.forward_context():
        loss = module.loss(stand_in(shape, module))
    loss.smoothed.backward()
    del reserved  # it was there until now


def stand_in(shape: Shape, module: TranslationModule) -> Batch:
    """A batch of this shape. Which tokens it has makes no difference for the memory."""
    src, tgt = (
        torch.randint(EOS + 1, module.tokenizer.vocab_size, (shape.n_pairs, n), device=module.device)
        for n in (shape.n_src, shape.n_tgt)
    )
    return Batch(src, tgt, tgt, tgt.numel())


def missing_state(optimizer: torch.optim.Optimizer) -> int:
    """Bytes of the moments that an optimizer will take at its first step; of Adam two numbers a weight, of Muon one."""
    return sum(
        p.nbytes * (1 if "momentum" in group else 2)
        for group in optimizer.param_groups
        for p in group["params"]
        if p not in optimizer.state
    )
