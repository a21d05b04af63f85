"""Labels for texts, with a classifier that was trained."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

import torch

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import TrainerConfig
from seq2seq.hardware import accelerator_of, multiplies_bf16, speed_up_cpu
from seq2seq.model.classifier import Classifier
from seq2seq.model.labels import label_log_probs
from seq2seq.tokenizer import Tokenizer

BLOCK = 1000  # texts that are read before they are classified: enough to make batches of texts of like length
MAX_TOKENS = 8192  # of a batch


@dataclass(frozen=True)
class Labelled:
    """A text and its label.

    Attributes:
        label: the most probable one; empty for a blank text.
        probabilities: of all labels, the most probable one first; none for a blank text.
        is_cut: whether the text is longer than the model takes, so that only its beginning was read.
    """

    text: str
    label: str
    probabilities: dict[str, float]
    is_cut: bool = False


class TextClassifier:
    """A classifier that is ready to use; `seq2seq.load_classifier` makes one."""

    def __init__(
        self, model: Classifier, tokenizer: Tokenizer, labels: Sequence[str], device: torch.device, bf16: bool
    ) -> None:
        self.model, self.tokenizer, self.labels = model.to(device).eval(), tokenizer, list(labels)
        self.device, self.bf16 = device, bf16

    @classmethod
    def load(
        cls, path: str | Path, *, device: str = "auto", precision: str = "auto", threads: int = 0
    ) -> "TextClassifier":
        """Arguments and errors as `seq2seq.load_classifier`."""
        trained = TrainedModel.read(path)
        accelerator = accelerator_of(TrainerConfig(accelerator=device))
        if accelerator == "cpu":
            speed_up_cpu()
            if threads:
                torch.set_num_threads(threads)
        bf16 = precision == "bfloat16" or (precision == "auto" and multiplies_bf16(accelerator))
        return cls(trained.build_classifier(), trained.tokenizer, trained.saved.labels, torch.device(accelerator), bf16)

    def classify(self, texts: Sequence[str]) -> list[Labelled]:
        """The label of each text, in order."""
        if isinstance(texts, str):
            raise TypeError("texts is one string; pass a list with a string for each text")
        longest = self.model.config.max_length - 1  # eos ends a text
        ids = self.tokenizer.encode(texts)
        places = [i for i, text in enumerate(texts) if text.strip() and ids[i]]
        log_probs = label_log_probs(self.model, [ids[i][:longest] for i in places], MAX_TOKENS, self.bf16)
        found = [Labelled(text, "", {}) for text in texts]
        for i, probabilities in zip(places, log_probs.exp().tolist(), strict=True):
            named = sorted(zip(self.labels, probabilities, strict=True), key=lambda each: -each[1])
            found[i] = Labelled(texts[i], named[0][0], dict(named), is_cut=len(ids[i]) > longest)
        return found

    def stream(self, texts: Iterable[str]) -> Iterator[Labelled]:
        """As `classify`, for any number of texts in bounded memory."""
        texts = iter(texts)
        while block := list(islice(texts, BLOCK)):
            yield from self.classify(block)
