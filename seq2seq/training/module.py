"""The LightningModule: one training step, one validation, one optimizer.

Shapes: B pairs, S source tokens, T target tokens, D d_model
"""

import math
from collections.abc import Callable
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn

from seq2seq.artifacts.checkpoint import description_of
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.config import OptimConfig, RunConfig, TrainerConfig
from seq2seq.dataset.batches import Batch
from seq2seq.dataset.seen import SeenText
from seq2seq.hardware import multiplies_bf16
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.loss import Loss, smoothed_cross_entropy
from seq2seq.training.muon import MuonWithAdamW, parameters_of
from seq2seq.training.position import step_is_complete, time_spent
from seq2seq.training.r_drop import consistent_cross_entropy
from seq2seq.training.schedule import learning_rate


class TranslationModule(pl.LightningModule):
    """A Transformer, its loss, and the optimizer that trains it.

    Args:
        total_steps: optimizer steps of the whole run, at whose end decaying schedules end; 0 if only time limits it.
        validate: called with the model after each pass over the validation batches; returns the metrics of
            decoding (`bleu`, `chrf`). `seq2seq/training/validation.py` has it.
        lengths: of the training text, for the checkpoints.
    """

    def __init__(
        self,
        config: RunConfig,
        tokenizer: Tokenizer,
        total_steps: int,
        validate: Callable[[Transformer], dict[str, float]],
        lengths: SeenText | None = None,
    ) -> None:
        super().__init__()
        self.config, self.tokenizer = config, tokenizer
        self.total_steps, self.validate, self.lengths = total_steps, validate, lengths
        self.model = Transformer(config.model, tokenizer.vocab_size)
        self.wandb_id = ""  # of the run that a resumed one continues
        self.step_nll, self.n_step_tokens = torch.zeros(()), torch.zeros(())  # of the micro-batches so far
        self.valid_sums = torch.zeros(3, dtype=torch.float64)

    def loss(self, batch: Batch, label_smoothing: float) -> Loss:
        return smoothed_cross_entropy(self._hidden(batch), self.model.embeddings.output, batch.tgt_out, label_smoothing)

    def _hidden(self, batch: Batch) -> Tensor:
        return self.model.decode(batch.tgt_in, self.model.encode(batch.src), batch.src)  # (B, T, D)

    def _consistent_loss(self, batch: Batch) -> Loss:
        """R-Drop: each pair twice in one batch, with another dropout."""
        twice = batch._replace(src=batch.src.repeat(2, 1), tgt_in=batch.tgt_in.repeat(2, 1))
        hidden = self._hidden(twice)  # (2B, T, D)
        optim = self.config.optim
        return consistent_cross_entropy(
            hidden, self.model.embeddings.output, batch.tgt_out, optim.label_smoothing, optim.r_drop
        )

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Dropout is a function of the position, so a resumed run draws what an unbroken one would have drawn.
        position = self.trainer.fit_loop.total_batch_idx
        torch.manual_seed(self.config.seed * 1_000_003 + position * 4099 + self.global_rank)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        optim = self.config.optim  # the loss: sums over target tokens, pad left out
        loss = self._consistent_loss(batch) if optim.r_drop else self.loss(batch, optim.label_smoothing)
        self._log_loss(loss)
        # The tokens of the whole optimizer step: all ranks, all micro-batches. Lightning divides the loss by the number
        # of both, so the product below undoes that.
        n_step_tokens = batch.n_step_tokens.clone()
        if self.trainer.world_size > 1:
            torch.distributed.all_reduce(n_step_tokens)
        return loss.smoothed / n_step_tokens * self.trainer.world_size * self.trainer.accumulate_grad_batches

    def _log_loss(self, loss: Loss) -> None:
        """Log one number for each optimizer step: nats per token over its micro-batches on this rank."""
        self.step_nll = self.step_nll.to(self.device) + loss.nll
        self.n_step_tokens = self.n_step_tokens.to(self.device) + loss.n_tokens
        if step_is_complete(self.trainer):
            self.log("train/loss", self.step_nll / self.n_step_tokens)
            self.step_nll, self.n_step_tokens = torch.zeros_like(self.step_nll), torch.zeros_like(self.n_step_tokens)

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        limit = self.config.optim.clip_norm or math.inf
        self.log("train/grad_norm", nn.utils.clip_grad_norm_(self.parameters(), limit))
        self.log("train/lr", optimizer.param_groups[0]["lr"])

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        optim = self.config.optim
        optimizer = self._optimizer(optim)
        schedule = torch.optim.lr_scheduler.LambdaLR(
            optimizer, lambda done: learning_rate(done + 1, optim, self.total_steps, self._time_spent()) / optim.lr
        )
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _optimizer(self, optim: OptimConfig) -> torch.optim.Optimizer:
        is_muon = optim.optimizer == "muon"
        matrices, others = parameters_of(self.model) if is_muon else ([], list(self.model.parameters()))
        adamw = torch.optim.AdamW(
            _decay_matrices_only(others, optim.weight_decay),
            lr=optim.lr,
            betas=(optim.beta1, optim.beta2),
            eps=optim.eps,
            # With fp16, gradients must be unscaled before they are clipped; a fused optimizer does it afterwards.
            fused=self.device.type in ("cpu", "cuda") and self.config.trainer.precision != "16-mixed",
        )
        if not is_muon:
            return adamw
        return MuonWithAdamW(
            matrices,
            adamw,
            lr=optim.lr,
            momentum=optim.momentum,
            weight_decay=optim.weight_decay,
            dtype=torch.bfloat16 if multiplies_bf16(self.device.type) else torch.float32,
        )

    def _time_spent(self) -> float:
        """The share of the time limit that is over, by the clock of the first rank.

        If each rank went by its own clock, their learning rates would differ, and their weights would drift apart.
        """
        if not self.config.trainer.max_seconds:
            return 0.0
        return self.trainer.strategy.broadcast(time_spent(self.trainer, self.config.trainer.max_seconds))

    def on_validation_epoch_start(self) -> None:
        self.valid_sums = torch.zeros(3, dtype=torch.float64)

    def validation_step(self, batch: Batch, batch_idx: int) -> None:
        loss = self.loss(batch, label_smoothing=0.0)
        self.valid_sums += torch.stack([loss.nll, loss.n_correct, loss.n_tokens]).cpu().double()

    def on_validation_epoch_end(self) -> None:
        sums = self.valid_sums.to(self.device, torch.float32 if self.device.type == "mps" else torch.float64)
        if self.trainer.world_size > 1:
            torch.distributed.all_reduce(sums)
        nll, n_correct, n_tokens = sums.tolist()
        metrics = {
            "loss": nll / n_tokens,  # nats per token, without label smoothing
            "perplexity": math.exp(min(nll / n_tokens, 100.0)),
            "accuracy": n_correct / n_tokens,
            **self.validate(self.model),
        }
        self.log_dict({f"valid/{name}": value for name, value in metrics.items()}, rank_zero_only=False)

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint.update(description_of(SavedModel.of(self.config, self.tokenizer, {}, self.lengths)))
        checkpoint["wandb_id"] = self.wandb_id

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.wandb_id = checkpoint["wandb_id"]


def _decay_matrices_only(parameters: list[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups in which only matrices decay: a norm's gain or a bias has no reason to be near 0."""
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]


def trainable_steps(config: TrainerConfig, steps_per_epoch: int) -> int:
    """Optimizer steps that the limits of a run allow; 0 if only time limits it."""
    return min((limit for limit in (config.max_steps, config.max_epochs * steps_per_epoch) if limit), default=0)
