"""The LightningModule: one training step and one optimizer. `training/milestones.py` validates.

Shapes: B pairs, S source tokens, T target tokens, D d_model
"""

import logging
import math
from collections.abc import Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import pytorch_lightning as pl
import torch
from pytorch_lightning.core.optimizer import LightningOptimizer
from pytorch_lightning.strategies import ParallelStrategy
from torch import Tensor, nn

from seq2seq.artifacts.checkpoint import description_of
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import RunConfig
from seq2seq.dataset.batches import Batch, Step
from seq2seq.dataset.prepare import Prepared
from seq2seq.dataset.seen import SeenText
from seq2seq.hardware import multiplies_bf16
from seq2seq.model.decoder import Decoder
from seq2seq.model.encoder import Encoder
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.loss import Loss, loss_function, smoothed_cross_entropy
from seq2seq.training.optimizer import ENDING, MuonWithAdamW, Replanned, joined, learning_rate, parameters_of
from seq2seq.training.pieces import Pieces
from seq2seq.training.sharded import split_by, whole
from seq2seq.training.teacher import Teacher

RATE_AFTER_ROLLBACK = 0.5  # of the planned learning rate; a power of 2 loses no bit

log = logging.getLogger(__name__)


class TranslationModule(pl.LightningModule):
    """A Transformer that learns to translate, its loss, and the optimizer that trains it.

    Args:
        total_steps: optimizer steps of the whole run, at whose end decaying schedules end; 0 if only time limits it.
        seen: what the training text is like, for the checkpoints.
    """

    def __init__(self, config: RunConfig, tokenizer: Tokenizer, total_steps: int, seen: SeenText | None = None) -> None:
        super().__init__()
        self.config, self.tokenizer = config, tokenizer
        self.total_steps, self.seen = total_steps, seen
        self.automatic_optimization = False  # `training_step` is a whole step of the optimizer
        self.model = Transformer(config.model, tokenizer.vocab_size)
        self.teacher = Teacher.read(config.teacher, tokenizer, config) if config.teacher else None
        self.n_steps = 0  # of the optimizer, in all starts of the run; all that is due at a step goes by this count
        self.has_begun = False  # whether the first step of this start comes next, or has been done
        self.time_spent = 0.0  # the share of the run's time limit that is over, the same on all ranks
        self.replanned: Replanned | None = None
        self.n_skipped, self.n_skipped_in_a_row = 0, 0  # steps whose gradient was not finite
        self.n_rollbacks = 0  # how often the run went back to an earlier state (training/divergence.py)
        self.n_step_tokens: int | Tensor = 0  # target tokens of the latest step, on all ranks
        self.of_step: dict[str, Any] = {}  # metrics of the latest step, which training/metrics.py logs
        self.pieces = Pieces(self.loss, self._add_gradient, self.model)
        self.wandb_id = ""  # of the run that a resumed one continues
        self.provenance: dict[str, Any] = {}  # where the run comes from, for the checkpoints

    def forward(self, batch: Batch) -> Loss:
        """For who calls DDP, which stands around this module."""
        return self.loss(batch)

    def loss(self, batch: Batch) -> Loss:
        """What training minimises."""
        hidden = self.model.decode(batch.tgt_in, self.model.encode(batch.src), batch.src)  # (B, T, D)
        optim = self.config.optim
        inputs = *self.model.factors(hidden), batch.tgt_out, optim.label_smoothing, batch.n_tgt_tokens
        if self.teacher:
            return smoothed_cross_entropy(*inputs, self.teacher.factors(batch), optim.teacher_share)
        return loss_function(optim.loss)(*inputs)

    def saved(self, weights: Mapping[str, Tensor]) -> SavedModel:
        """What is stored of the model, with these weights."""
        return SavedModel.of(self.config, self.tokenizer, weights, self.seen)

    def training_step(self, step: Step, _: int) -> None:
        """One step of the optimizer, by the mean loss over the target tokens of all micro-batches on all ranks."""
        optimizer = self.optimizers()
        assert isinstance(optimizer, LightningOptimizer)
        self.zero_grad(set_to_none=True)
        self.n_step_tokens = self._sum_over_ranks(step.n_tgt_tokens)
        # NLL, correct tokens and all tokens. Of bf16-true, the default type has two digits.
        sums = torch.zeros(3, dtype=torch.float32, device=self.device)
        for number, batch in enumerate(step.micro_batches, start=1):
            self._seed_dropout(number)
            loss = self._loss_with_gradient(batch, is_last=number == len(step.micro_batches))
            sums += torch.stack([loss.nll, loss.n_correct, loss.n_tokens])
        self.n_steps += 1
        for group in optimizer.param_groups:
            group["lr"] = self.rate(self.n_steps)
        nll, n_correct, n_tokens = self._sum_over_ranks(sums)
        self.of_step = {"train/loss": nll / n_tokens, "train/accuracy": n_correct / n_tokens}
        with self._exactly():
            optimizer.step()  # asks `on_before_optimizer_step` to clip the gradient

    def _loss_with_gradient(self, batch: Batch, is_last: bool) -> Loss:
        """Add the gradient of a micro-batch. With that of the last one, the ranks exchange what they have."""
        if split_by(self.trainer):  # the ranks talk in each pass, so none of them can do it in pieces
            loss = self.loss(batch)
        elif self.trainer.world_size > 1 and is_last:
            loss = self.pieces.loss_to_exchange(batch)
        else:
            return self.pieces.add_gradient(batch)
        self._add_gradient(loss.smoothed, exchange=True)
        return loss._replace(smoothed=loss.smoothed.detach())

    def _add_gradient(self, smoothed: Tensor, exchange: bool = False) -> None:
        with nullcontext() if exchange else self._alone(), self._exactly():
            self.manual_backward(self._share(smoothed))

    def _alone(self) -> AbstractContextManager[None]:
        """In this block, ranks exchange no gradients."""
        strategy = self.trainer.strategy
        return strategy.block_backward_sync() if isinstance(strategy, ParallelStrategy) else nullcontext()

    def _share(self, smoothed: Tensor) -> Tensor:
        """What a sum over target tokens adds to the mean over a whole step: all micro-batches, all ranks.

        DDP takes the mean over the ranks, so the product undoes that.
        """
        return smoothed / self.n_step_tokens * self.trainer.world_size

    def _sum_over_ranks(self, number: Any) -> Any:
        if self.trainer.world_size > 1:
            number = torch.as_tensor(number, device=self.device)
            torch.distributed.all_reduce(number)
        return number

    def _seed_dropout(self, number: int) -> None:
        """Dropout is a function of step, micro-batch and rank, so a resumed run draws what an unbroken one draws."""
        position = self.n_steps * 4099 + (number - 1) * 1_000_033
        torch.manual_seed(self.config.seed * 1_000_003 + position + self.global_rank)

    def _exactly(self) -> torch.autocast:
        """Lightning calls `training_step` where products are rounded to half precision; in this block they are not."""
        return torch.autocast(self.device.type, enabled=False)

    def on_before_optimizer_step(self, optimizer: torch.optim.Optimizer) -> None:
        """Clip the gradient, or skip the step if it is not finite."""
        limit = self.config.optim.clip_norm or math.inf
        norm = whole(nn.utils.clip_grad_norm_(self.parameters(), limit))
        # Both are of all ranks, which decide alike. This waits for a GPU, as the step after it would.
        norm, loss = torch.stack([norm.float(), self.of_step["train/loss"].float()]).tolist()
        if math.isfinite(norm):
            self.n_skipped_in_a_row = 0
        else:
            self.n_skipped, self.n_skipped_in_a_row = self.n_skipped + 1, self.n_skipped_in_a_row + 1
            self.zero_grad(set_to_none=True)  # without gradients, the optimizer leaves weights and moments alone
            log.warning("step %s is skipped: its gradient is not finite", f"{self.n_steps:,}")
        self.of_step |= {"train/loss": loss, "train/grad_norm": norm, "train/lr": optimizer.param_groups[0]["lr"]}
        counts = {
            "skipped_steps": self.n_skipped,
            "rollbacks": self.n_rollbacks,
            "halved_batches": self.pieces.n_halved,
        }
        self.of_step |= {f"train/{name}": n for name, n in counts.items() if n}

    def rate(self, step: int) -> float:
        """The learning rate of a step, counted from 1."""
        planned = learning_rate(step, self.config.optim, self.total_steps, self.time_spent)
        return joined(planned, step, self.replanned, self.config.optim) * self.lowered

    @property
    def lowered(self) -> float:
        """What the planned learning rate is multiplied by."""
        return RATE_AFTER_ROLLBACK**self.n_rollbacks

    def configure_optimizers(self) -> torch.optim.Optimizer:
        optim = self.config.optim
        options: dict[str, Any] = {
            "lr": optim.lr,
            "betas": (optim.beta1, optim.beta2),
            "eps": optim.eps,
            # With fp16, gradients must be unscaled before they are clipped; a fused optimizer does it afterwards.
            "fused": self.device.type in ("cpu", "cuda") and self.config.trainer.precision != "16-mixed",
        }
        if optim.optimizer != "muon":
            trained = [p for p in self.model.parameters() if p.requires_grad]
            return torch.optim.AdamW(_decay_matrices_only(trained, optim.weight_decay), **options)
        matrices, others = parameters_of(self.model)
        muon = {"momentum": optim.momentum, "weight_decay": optim.weight_decay}
        return MuonWithAdamW(
            [{"params": weights} | muon for weights in matrices] + _decay_matrices_only(others, optim.weight_decay),
            dtype=torch.bfloat16 if multiplies_bf16(self.device.type) else torch.float32,
            **options,
        )

    def begin(self) -> None:
        """Before the first step of a start, when all of a saved state has been taken.

        Raises:
            ValueError: the moments of the optimizer are of other weights.
        """
        optimizer = self.optimizers()
        assert isinstance(optimizer, LightningOptimizer)
        for parameter, state in optimizer.state.items():
            moments = (value for value in state.values() if isinstance(value, Tensor) and value.dim())
            if any(moment.shape != parameter.shape for moment in moments):
                raise ValueError("the moments of the optimizer are of other weights")
        self.has_begun = True

    def on_save_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        checkpoint.update(description_of(self.saved({})))
        del checkpoint["loops"], checkpoint["epoch"]  # Lightning's own counts, which are of this start alone
        checkpoint["global_step"] = self.n_steps
        checkpoint["wandb_id"] = self.wandb_id
        checkpoint["provenance"] = self.provenance
        checkpoint["skipped"] = [self.n_skipped, self.n_skipped_in_a_row]
        checkpoint["rollbacks"] = self.n_rollbacks
        checkpoint["halved_batches"] = self.pieces.n_halved
        checkpoint["horizon"] = self._horizon()
        checkpoint["next_rate"] = self.rate(self.n_steps + 1)
        checkpoint["replanned"] = list(self.replanned) if self.replanned else None
        checkpoint["precision"] = self.trainer.precision_plugin.state_dict()

    def on_load_checkpoint(self, checkpoint: dict[str, Any]) -> None:
        self.n_steps = checkpoint["global_step"]
        self.n_skipped, self.n_skipped_in_a_row = map(_natural, checkpoint["skipped"])
        self.n_rollbacks = _natural(checkpoint["rollbacks"])
        self.pieces.n_halved = _natural(checkpoint["halved_batches"])
        if before := checkpoint["replanned"]:
            step, rate = before
            self.replanned = Replanned(_natural(step), float(rate))
        if checkpoint["horizon"] != self._horizon():
            rate = float(checkpoint["next_rate"])
            self.replanned = Replanned(self.n_steps + 1, rate / self.lowered)
            log.info(
                "the learning rate is planned anew from step %s on, and goes there from %.2g", f"{self.n_steps:,}", rate
            )

    def _horizon(self) -> dict[str, Any]:
        """What decides the learning rate of a step, as far as a resumed run may change it."""
        optim = self.config.optim
        ends = optim.schedule in ENDING
        end = [self.total_steps, self.config.trainer.max_seconds, optim.final_lr] if ends else []
        return {"schedule": optim.schedule, "end": end}


def _natural(value: Any) -> int:
    if not isinstance(value, int) or not 0 <= value < 2**40:
        raise ValueError(f"{value!r} is no count")
    return value


def _decay_matrices_only(parameters: list[nn.Parameter], weight_decay: float) -> list[dict[str, Any]]:
    """Parameter groups in which only matrices decay: a norm's gain or a bias has no reason to be near 0."""
    return [
        {"params": [p for p in parameters if p.dim() > 1], "weight_decay": weight_decay},
        {"params": [p for p in parameters if p.dim() <= 1], "weight_decay": 0.0},
    ]


def new_module(
    config: RunConfig, prepared: Prepared, total_steps: int, start: TrainedModel | None = None
) -> TranslationModule:
    """The module of a run; with the weights of `start`, if there is one.

    Of more layers than the run has, it gets the first, the last and some between (Shleifer and Rush 2020).
    """
    module = TranslationModule(config, prepared.tokenizer, total_steps, prepared.seen)
    if start:
        log.info("starting from the weights of %s", start.path)
        model = start.build()
        _keep_layers(model.encoder, config.model.n_encoder_layers)
        _keep_layers(model.decoder, config.model.n_decoder_layers)
        module.model.load_state_dict(model.state_dict())
    if config.trainer.compile:
        # Not the model as a whole: training calls its halves, and the loss works on hidden states.
        module.model.encoder.compile(dynamic=True)
        module.model.decoder.compile(dynamic=True)
    return module


def _keep_layers(half: Encoder | Decoder, n: int) -> None:
    """Keep so many of its layers, from the first to the last; one is the first."""
    kept = [half.layers[k * (len(half.layers) - 1) // max(1, n - 1)] for k in range(n)]
    half.layers = nn.ModuleList(kept)  # type: ignore[assignment]  # as in `Encoder`
