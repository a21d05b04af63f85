"""What a validation of a classifier measures: loss, accuracy and macro F1, by all ranks together."""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from seq2seq.config import RunConfig
from seq2seq.corpus.test_sets import TestSet
from seq2seq.dataset.labels import Labels
from seq2seq.dataset.store import PairStore
from seq2seq.evaluation.labels import Counts, confusion, label_report, label_scores
from seq2seq.evaluation.scores import Interval
from seq2seq.model.classifier import Classifier
from seq2seq.model.labels import label_log_probs
from seq2seq.training.domains import spread
from seq2seq.training.sharing import in_order, rank_of_all


class LabelSample(NamedTuple):
    """A sentence of valid, and what the latest validation made of it."""

    line: int  # of valid, counted from 1
    text: str
    label: str
    prediction: str
    probability: float  # of the prediction


class LabelValidation:
    """Measures a classifier; see `Measuring`."""

    def __init__(self, store: PairStore, labels: Sequence[str], config: RunConfig, bf16: bool = False) -> None:
        self.store, self.labels, self.config, self.bf16 = store, labels, config, bf16
        self.hypotheses: list[str] = []
        self.of_domains: dict[str, dict[str, float]] = {}
        self._log_probs = torch.zeros(0)

    def while_training(self, model: Classifier) -> dict[str, float]:
        """Loss (nats per sentence), accuracy and macro F1."""
        self._log_probs = log_probs = self._of(model, self.store)
        truth = Labels.of_store(self.store)
        self.hypotheses = self._names(log_probs)
        scores = label_scores(self._confusion(self.hypotheses, self.store))
        loss = -float(log_probs[torch.arange(len(truth)), torch.from_numpy(truth)].double().mean())
        return {"loss": loss} | {name: float(scores[name]) for name in ("accuracy", "macro_f1")}

    def of_all(self, model: Classifier) -> dict[str, float]:
        """The same: a validation is quick, and always of all sentences."""
        return self.while_training(model)

    def describe(self, metrics: Mapping[str, float]) -> str:
        return f"accuracy {metrics['accuracy']:.3f}, macro F1 {metrics['macro_f1']:.3f}"

    def outputs(self, model: Classifier, store: PairStore) -> list[str]:
        """The most probable label of each sentence, on every rank."""
        return self._names(self._of(model, store))

    def scores_of_valid(self, hypotheses: list[str]) -> dict[str, Interval]:
        """Accuracy and macro F1, and those of each label, with intervals."""
        return label_report(self._confusion(hypotheses, self.store), self.labels)

    def scores_of_test(self, hypotheses: list[str], store: PairStore, test: TestSet) -> dict[str, Interval]:
        return label_report(self._confusion(hypotheses, store), self.labels)

    def samples(self, n: int) -> list[LabelSample]:
        """`n` sentences of valid, always the same, with what the latest validation made of them."""
        places = spread(len(self.store), n) if n else []
        return [
            LabelSample(
                i + 1,
                self.store.src_text(i),
                self.store.tgt_text(i),
                self.hypotheses[i],
                float(self._log_probs[i].max().exp()),
            )
            for i in places
        ]

    def _of(self, model: Classifier, store: PairStore) -> Tensor:
        """Log-probabilities of the labels of all sentences; each rank computes its share."""
        rank, world_size = rank_of_all()
        indices = range(rank, len(store), world_size)
        found = label_log_probs(
            model, [store.src(i).tolist() for i in indices], self.config.batch.max_tokens, self.bf16
        )
        return torch.tensor(in_order(dict(zip(indices, found.tolist(), strict=True))))

    def _names(self, log_probs: Tensor) -> list[str]:
        return [self.labels[number] for number in log_probs.argmax(-1).tolist()]

    def _confusion(self, hypotheses: Sequence[str], store: PairStore) -> Counts:
        return confusion([store.tgt_text(i) for i in range(len(store))], hypotheses, self.labels)
