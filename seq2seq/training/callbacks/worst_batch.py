"""The batch that needs the most memory is tried before the first step."""

import pytorch_lightning as pl
import torch

from seq2seq.config import RunConfig
from seq2seq.dataset.batches import Shape
from seq2seq.errors import RunError
from seq2seq.memory import available_memory, limited_memory
from seq2seq.training.callbacks.averaging import ExponentialAverage
from seq2seq.training.data import TranslationData
from seq2seq.training.module import TranslationModule
from seq2seq.training.sharded import split_by
from seq2seq.training.trial import fits, missing_state, roomy

_NEVER = 1 << 30  # as a divisor: not even a single pair fits


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
        room, is_cpu = available_memory(), pl_module.device.type == "cpu"
        if (is_cpu and room is None) or split_by(trainer):  # a trial that fails would leave the others waiting
            return
        shape = self.data.largest
        trainer.strategy.barrier()  # all ranks of a machine know what is available before one of them takes it
        with limited_memory(room // trainer.num_devices if is_cpu and room is not None else None):
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
            shape = roomy(self.config.batch.max_tokens // divisor, longest)
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
        if is_new:
            return f"{what}; use {keys}, whose steps are of the same size"
        return (
            f"{what}; end other programs and resume again, or start a new run from these weights with "
            f"finetune={self.config.run_dir} {keys}"
        )
