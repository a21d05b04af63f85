"""The LightningModule: one training step and one optimizer. `training/callbacks/milestones.py` validates.

Shapes: B pairs, S source tokens, T target tokens, D d_model
"""

import logging
import math
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
from seq2seq.training.schedule import ENDING, Replanned, joined, learning_rate

RATE_AFTER_ROLLBACK = 0.5  # of the planned learning rate; a power of 2 loses no bit

log = logging.getLogger(__name__)


class TranslationModule(pl.LightningModule):
    """A Transformer, its loss, and the optimizer that trains it.

    Args:
        total_steps: optimizer steps of the whole run, at whose end decaying schedules end; 0 if only time limits it.
        seen: what the training text is like, for the checkpoints.
    """

    def __init__(
        self,
        config: RunConfig,
        tokenizer: Tokenizer,
        total_steps: int,
        seen: SeenText | None = None,
    ) -> None:
        super().__init__()
        self.config, self.tokenizer = config, tokenizer
        self.total_steps, self.seen = total_steps, seen
        self.replanned: Replanned | None = None
        self.model = Transformer(config.model, tokenizer.vocab_size)
        self.wandb_id = ""  # of the run that a resumed one continues
        self.n_skipped, self.n_skipped_in_a_row = 0, 0  # steps whose gradient was not finite
        self.n_rollbacks = 0  # how often the run went back to an earlier state (training/rollback.py)
        self.of_step: dict[str, Any] = {}  # metrics of the latest optimizer step, which callbacks/step_metrics.py logs
        self.step_nll, self.n_step_tokens = torch.zeros(()), torch.zeros(())  # of the micro-batches so far
        self.clock = -1, 0.0  # steps done, and the share of the time limit that was over then

    def loss(self, batch: Batch, label_smoothing: float) -> Loss:
        return smoothed_cross_entropy(
            self._hidden(batch), self.model.embeddings.output, batch.tgt_out, label_smoothing, batch.n_tgt_tokens
        )

    def _hidden(self, batch: Batch) -> Tensor:
        return self.model.decode(batch.tgt_in, self.model.encode(batch.src), batch.src)  # (B, T, D)

    def _consistent_loss(self, batch: Batch) -> Loss:
        """R-Drop: each pair twice in one batch, with another dropout."""
        twice = batch._replace(src=batch.src.repeat(2, 1), tgt_in=batch.tgt_in.repeat(2, 1))
        hidden = self._hidden(twice)  # (2B, T, D)
        optim = self.config.optim
        return consistent_cross_entropy(
            hidden, self.model.embeddings.output, batch.tgt_out, optim.label_smoothing, optim.r_drop, batch.n_tgt_tokens
        )

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Dropout is a function of the position, so a resumed run draws what an unbroken one would have drawn.
        position = self.trainer.fit_loop.total_batch_idx
        torch.manual_seed(self.config.seed * 1_000_003 + position * 4099 + self.global_rank)

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        optim = self.config.optim  # the loss: sums over target tokens, pad left out
        loss = self._consistent_loss(batch) if optim.r_drop else self.loss(batch, optim.label_smoothing)
        # The tokens of the whole optimizer step: all ranks, all micro-batches. Lightning divides the loss by the number
        # of both, so the product below undoes that. float32 counts without error up to 16 million.
        sums = torch.stack([batch.n_step_tokens.float(), loss.nll.float(), loss.n_tokens.float()])
        if self.trainer.world_size > 1:
            torch.distributed.all_reduce(sums)
        n_step_tokens, nll, n_tokens = sums
        self._note_loss(nll, n_tokens)
        return loss.smoothed / n_step_tokens * self.trainer.world_size * self.trainer.accumulate_grad_batches

    def _note_loss(self, nll: Tensor, n_tokens: Tensor) -> None:
        """One number for each optimizer step: nats per token over its micro-batches on all ranks."""
        self.step_nll = self.step_nll.to(self.device) + nll
        self.n_step_tokens = self.n_step_tokens.to(self.device) + n_tokens
        if step_is_complete(self.trainer):
            self.of_step["train/loss"] = self.step_nll / self.n_step_tokens
            self.step_nll, self.n_step_tokens = torch.zeros_like(self.step_nll), torch.zeros_like(self.n_step_tokens)

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        limit = self.config.optim.clip_norm or math.inf
        found = nn.utils.clip_grad_norm_(self.parameters(), limit)
        # Both are of all ranks, which decide alike. This waits for a GPU, as the step after it would.
        norm, loss = torch.stack([found.float(), self.of_step["train/loss"].float()]).tolist()
        if math.isfinite(norm):
            self.n_skipped_in_a_row = 0
        else:
            self.n_skipped, self.n_skipped_in_a_row = self.n_skipped + 1, self.n_skipped_in_a_row + 1
            self.zero_grad(set_to_none=True)  # without gradients, the optimizer leaves weights and moments alone
            log.warning("step %s is skipped: its gradient is not finite", f"{self.trainer.global_step + 1:,}")
        self.of_step |= {"train/loss": loss, "train/grad_norm": norm}
        self.of_step["train/lr"] = optimizer.param_groups[0]["lr"]
        if self.n_skipped:
            self.of_step["train/skipped_steps"] = self.n_skipped
        if self.n_rollbacks:
            self.of_step["train/rollbacks"] = self.n_rollbacks

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        optim = self.config.optim
        optimizer = self._optimizer(optim)
        schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: self._rate(done + 1) / optim.lr)
        return {"optimizer": optimizer, "lr_scheduler": {"scheduler": schedule, "interval": "step"}}

    def _rate(self, step: int) -> float:
        """The learning rate of an optimizer step, counted from 1."""
        planned = learning_rate(step, self.config.optim, self.total_steps, self._time_spent(step - 1))
        return joined(planned, step, self.replanned, self.config.optim) * self.lowered

    @property
    def lowered(self) -> float:
        """What the planned learning rate is multiplied by."""
        return RATE_AFTER_ROLLBACK**self.n_rollbacks

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

    def _time_spent(self, done: int) -> float:
        """The share of the time limit that is over after `done` steps, by the clock of the first rank.

        If each rank went by its own clock, their learning rates would differ, and their weights would drift apart. The
        schedule asks for each group of parameters, and the ranks talk once a step.
        """
        if not self.config.trainer.max_seconds:
            return 0.0
        if self.clock[0] != done:
            spent = time_spent(self.trainer, self.config.trainer.max_seconds)
            if self.trainer.world_size > 1:
                shared = torch.tensor(spent, device=self.trainer.strategy.root_device)
                torch.distributed.broadcast(shared, src=0)
                spent = float(shared)
            self.clock = done, spent
        return self.clock[1]

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint.update(description_of(SavedModel.of(self.config, self.tokenizer, {}, self.seen)))
        checkpoint["wandb_id"] = self.wandb_id
        checkpoint["skipped"] = [self.n_skipped, self.n_skipped_in_a_row]
        checkpoint["rollbacks"] = self.n_rollbacks
        checkpoint["horizon"] = self._horizon()
        checkpoint["replanned"] = list(self.replanned) if self.replanned else None

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.wandb_id = checkpoint["wandb_id"]
        self.n_skipped, self.n_skipped_in_a_row = checkpoint.get("skipped", (0, 0))
        self.n_rollbacks = checkpoint.get("rollbacks", 0)
        if before := checkpoint.get("replanned"):
            self.replanned = Replanned(*before)
        if checkpoint.get("horizon", self._horizon()) != self._horizon():
            step, rate = checkpoint["global_step"], checkpoint["lr_schedulers"][0]["_last_lr"][0]
            self.replanned = Replanned(step + 1, rate / self.lowered)  # of the next step, which is fixed already
            log.info("the learning rate is planned anew from step %s on, and goes there from %.2g", f"{step:,}", rate)

    def _horizon(self) -> dict[str, Any]:
        """What decides the learning rate of a step, as far as a resumed run may change it."""
        optim = self.config.optim
        ends = optim.schedule in ENDING
        end = [self.total_steps, self.config.trainer.max_seconds, optim.final_lr] if ends else []
        return {"schedule": optim.schedule, "end": end}


def _decay_matrices_only(parameters: list[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups in which only matrices decay: a norm's gain or a bias has no reason to be near 0."""
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]


def trainable_steps(config: TrainerConfig, steps_per_epoch: int) -> int:
    """Optimizer steps that the limits of a run allow; 0 if only time limits it."""
    return min((limit for limit in (config.max_steps, config.max_epochs * steps_per_epoch) if limit), default=0)
