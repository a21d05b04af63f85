"""The LightningModule of a classifier: cross-entropy over the labels.

Shapes: B sentences, C labels
"""

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor

from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.config import RunConfig
from seq2seq.dataset.batches import Batch
from seq2seq.dataset.labels import FIRST_LABEL
from seq2seq.dataset.seen import SeenText
from seq2seq.model.classifier import Classifier
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.loss import Loss
from seq2seq.training.module import TrainingModule

TOKENS_OF_TARGET = 2  # the label and eos, which the plan and the batches count


class ClassificationModule(TrainingModule):
    """A classifier and its loss, as a sum over sentences.

    Args:
        class_weights: how much the sentences of each label count, (C,); None: all the same.
    """

    model: Classifier
    class_weights: Tensor | None

    def __init__(
        self,
        config: RunConfig,
        tokenizer: Tokenizer,
        labels: Sequence[str],
        total_steps: int,
        seen: SeenText | None = None,
        class_weights: Tensor | None = None,
    ) -> None:
        model = Classifier(config.model, config.classify, tokenizer.vocab_size, len(labels))
        super().__init__(config, tokenizer, model, total_steps, seen)
        self.labels = labels
        self.register_buffer("class_weights", class_weights, persistent=False)

    @property
    def n_classes(self) -> int:
        return len(self.labels)

    def training_loss(self, batch: Batch) -> Loss:
        """With class weights and label smoothing, if they are on. Of a weighted class, all parts count more."""
        logits, labels = self.model(batch.src), label_numbers(batch)
        smoothed = F.cross_entropy(
            logits, labels, self.class_weights, reduction="sum", label_smoothing=self.config.optim.label_smoothing
        )
        nll = F.cross_entropy(logits.detach(), labels, reduction="sum")
        n_correct = (logits.argmax(-1) == labels).sum()
        return Loss(smoothed, nll, torch.full((), len(labels), device=logits.device), n_correct)

    def random_targets(self, n_pairs: int, n_tgt: int) -> Tensor:
        return torch.randint(FIRST_LABEL, FIRST_LABEL + self.n_classes, (n_pairs, n_tgt), device=self.device)

    def saved(self, weights: Mapping[str, Tensor]) -> SavedModel:
        return SavedModel.of(self.config, self.tokenizer, weights, self.seen, self.labels)

    def _share(self, smoothed: Tensor) -> Tensor:
        """The mean over the sentences of a step, not over its target tokens."""
        return super()._share(smoothed) * TOKENS_OF_TARGET


def label_numbers(batch: Batch) -> Tensor:
    """The number of the label of each sentence, (B,). A target is a label and eos, (B, 2)."""
    return batch.tgt_out[:, 0] - FIRST_LABEL


def balanced(counts: Sequence[int]) -> Tensor:
    """Weights by which each label counts the same in all of the training text: n / (C * n of the label).

    Their mean over the sentences is 1, so the size of a step stays as it was.
    """
    n = torch.tensor(counts, dtype=torch.float32)
    return n.sum() / (len(n) * n.clamp(min=1))
