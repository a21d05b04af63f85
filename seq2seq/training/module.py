"""The LightningModule: one training step and one optimizer. `training/callbacks/milestones.py` validates.

Shapes: B pairs, S source tokens, T target tokens, D d_model
"""

import logging
import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.utilities.types import OptimizerLRSchedulerConfig
from torch import Tensor, nn

from seq2seq.artifacts.checkpoint import description_of
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.config import RunConfig
from seq2seq.dataset.batches import Batch
from seq2seq.dataset.seen import SeenText
from seq2seq.hardware import multiplies_bf16
from seq2seq.model.source_encoder import SourceEncoder
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.loss import Loss, smoothed_cross_entropy
from seq2seq.training.muon import MuonWithAdamW, parameters_of
from seq2seq.training.pieces import Pieces
from seq2seq.training.position import step_is_complete, time_spent
from seq2seq.training.schedule import ENDING, Replanned, joined, learning_rate
from seq2seq.training.sharded import split_by, whole
from seq2seq.vocabulary import EOS

RATE_AFTER_ROLLBACK = 0.5  # of the planned learning rate; a power of 2 loses no bit

log = logging.getLogger(__name__)


class TrainingModule(pl.LightningModule, ABC):
    """A model, its loss, and the optimizer that trains it: all of a step that does not depend on what is learned.

    Args:
        total_steps: optimizer steps of the whole run, at whose end decaying schedules end; 0 if only time limits it.
        seen: what the training text is like, for the checkpoints.
    """

    def __init__(
        self,
        config: RunConfig,
        tokenizer: Tokenizer,
        model: SourceEncoder,
        total_steps: int,
        seen: SeenText | None = None,
    ) -> None:
        super().__init__()
        self.config, self.tokenizer = config, tokenizer
        self.total_steps, self.seen = total_steps, seen
        self.replanned: Replanned | None = None
        self.model = model
        self.wandb_id = ""  # of the run that a resumed one continues
        self.provenance: dict[str, Any] = {}  # where the run comes from, for the checkpoints
        self.n_skipped, self.n_skipped_in_a_row = 0, 0  # steps whose gradient was not finite
        self.n_rollbacks = 0  # how often the run went back to an earlier state (training/rollback.py)
        self.of_step: dict[str, Any] = {}  # metrics of the latest optimizer step, which callbacks/step_metrics.py logs
        self.n_tokens_of_all = torch.zeros((), dtype=torch.int64)  # target tokens of the optimizer step, on all ranks
        self.pieces = Pieces(self.training_loss, self._backward, self.model)
        self.step_sums = torch.zeros(3)  # nll, correct tokens and all tokens of the micro-batches so far
        self.clock = -1, 0.0  # steps done, and the share of the time limit that was over then

    @property
    @abstractmethod
    def n_classes(self) -> int:
        """Among how many a target is chosen."""

    @abstractmethod
    def training_loss(self, batch: Batch) -> Loss:
        """What training minimises."""

    @abstractmethod
    def random_targets(self, n_pairs: int, n_tgt: int) -> Tensor:
        """Targets (B, T) of a batch that stands in for another of its size."""

    def forward(self, batch: Batch) -> Loss:
        """For who calls DDP, which stands around this module."""
        return self.training_loss(batch)

    def saved(self, weights: Mapping[str, Tensor]) -> SavedModel:
        """What is stored of the model, with these weights."""
        return SavedModel.of(self.config, self.tokenizer, weights, self.seen)

    def on_train_batch_start(self, batch: Batch, batch_idx: int) -> None:
        # Dropout is a function of the position, so a resumed run draws what an unbroken one would have drawn.
        position = self.trainer.fit_loop.total_batch_idx
        torch.manual_seed(self.config.seed * 1_000_003 + position * 4099 + self.global_rank)
        if batch_idx % self.trainer.accumulate_grad_batches == 0:
            self.zero_grad(set_to_none=True)

    def optimizer_zero_grad(self, epoch: int, batch_idx: int, optimizer: torch.optim.Optimizer) -> None:
        """Lightning calls this after `training_step`, which has a part of the gradient by then."""

    def training_step(self, batch: Batch, batch_idx: int) -> Tensor:
        self.n_tokens_of_all = batch.n_step_tokens.clone()
        if self.trainer.world_size > 1:
            torch.distributed.all_reduce(self.n_tokens_of_all)
        if split_by(self.trainer):  # the processes talk in each pass, so none of them can do it in pieces
            loss = self.training_loss(batch)
        elif self.trainer.world_size > 1 and step_is_complete(self.trainer):
            loss = self.pieces.loss_to_exchange(batch)
        else:
            loss = self.pieces.add_gradient(batch)
            loss.smoothed.requires_grad_()  # all is done, but Lightning does a backward pass
        self._note_loss(loss)
        return self._share(loss.smoothed) * self.trainer.accumulate_grad_batches  # by which Lightning divides it

    def _share(self, smoothed: Tensor) -> Tensor:
        """What a sum over target tokens adds to the mean over a whole optimizer step: all micro-batches, all ranks.

        Lightning takes the mean over the ranks, so the product undoes that.
        """
        return smoothed / self.n_tokens_of_all * self.trainer.world_size

    def _backward(self, smoothed: Tensor) -> None:
        """As Lightning does it, outside of the context in which it calls `training_step`."""
        with torch.autocast(self.device.type, enabled=False):
            self.trainer.precision_plugin.pre_backward(self._share(smoothed), self).backward()

    def _note_loss(self, loss: Loss) -> None:
        """For each optimizer step, nats per token and accuracy over its micro-batches on all ranks."""
        self.step_sums = self.step_sums.to(self.device) + torch.stack([loss.nll, loss.n_correct, loss.n_tokens])
        if step_is_complete(self.trainer):
            sums, self.step_sums = self.step_sums, torch.zeros_like(self.step_sums)
            if self.trainer.world_size > 1:
                torch.distributed.all_reduce(sums)
            self.of_step["train/loss"], self.of_step["train/accuracy"] = sums[:2] / sums[2]

    def configure_gradient_clipping(
        self,
        optimizer: torch.optim.Optimizer,
        gradient_clip_val: float | None = None,
        gradient_clip_algorithm: str | None = None,
    ) -> None:
        limit = self.config.optim.clip_norm or math.inf
        found = whole(nn.utils.clip_grad_norm_(self.parameters(), limit))
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
        if self.pieces.n_halved:
            self.of_step["train/halved_batches"] = self.pieces.n_halved

    def configure_optimizers(self) -> OptimizerLRSchedulerConfig:
        optim = self.config.optim
        optimizer = self.new_optimizer()
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

    def new_optimizer(self) -> torch.optim.Optimizer:
        optim = self.config.optim
        is_muon = optim.optimizer == "muon"
        trained = [p for p in self.model.parameters() if p.requires_grad]
        matrices, others = parameters_of(self.model) if is_muon else ([], trained)
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
        checkpoint.update(description_of(self.saved({})))
        checkpoint["wandb_id"] = self.wandb_id
        checkpoint["provenance"] = self.provenance
        checkpoint["skipped"] = [self.n_skipped, self.n_skipped_in_a_row]
        checkpoint["rollbacks"] = self.n_rollbacks
        checkpoint["halved_batches"] = self.pieces.n_halved
        checkpoint["horizon"] = self._horizon()
        checkpoint["replanned"] = list(self.replanned) if self.replanned else None

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.wandb_id = checkpoint["wandb_id"]
        self.n_skipped, self.n_skipped_in_a_row = checkpoint.get("skipped", (0, 0))
        self.n_rollbacks = checkpoint.get("rollbacks", 0)
        self.pieces.n_halved = checkpoint.get("halved_batches", 0)
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


class TranslationModule(TrainingModule):
    """A Transformer that learns to translate; arguments as `TrainingModule`."""

    model: Transformer

    def __init__(self, config: RunConfig, tokenizer: Tokenizer, total_steps: int, seen: SeenText | None = None) -> None:
        super().__init__(config, tokenizer, Transformer(config.model, tokenizer.vocab_size), total_steps, seen)

    @property
    def n_classes(self) -> int:
        return self.tokenizer.vocab_size

    def loss(self, batch: Batch, label_smoothing: float) -> Loss:
        return smoothed_cross_entropy(
            self._hidden(batch), self.model.embeddings.output, batch.tgt_out, label_smoothing, batch.n_tgt_tokens
        )

    def training_loss(self, batch: Batch) -> Loss:
        return self.loss(batch, self.config.optim.label_smoothing)

    def random_targets(self, n_pairs: int, n_tgt: int) -> Tensor:
        return torch.randint(EOS + 1, self.tokenizer.vocab_size, (n_pairs, n_tgt), device=self.device)

    def _hidden(self, batch: Batch) -> Tensor:
        return self.model.decode(batch.tgt_in, self.model.encode(batch.src), batch.src)  # (B, T, D)


def _decay_matrices_only(parameters: list[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups in which only matrices decay: a norm's gain or a bias has no reason to be near 0."""
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]
