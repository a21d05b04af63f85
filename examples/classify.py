"""Say which label a text has, with the encoder of a translation model:

    python examples/classify.py RUN kinds/train.tsv kinds/valid.tsv kinds/test.tsv
    python examples/classify.py RUN kinds/train.tsv kinds/valid.tsv kinds/test.tsv --encoder frozen \
        --predict input.fr > labels.txt

Each line of the three files has a text, a tab and its label. The accuracy and the confusion matrix of the test set go
to stderr, the labels of `--predict` to stdout, a line for each. See docs/classification.md.

Shapes: B texts, S tokens, D width of the encoder, C labels
"""

import argparse
import copy
import random
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.corpus.reader import read_lines
from seq2seq.dataset.batches import pad
from seq2seq.errors import CorpusError, UserError
from seq2seq.model.masks import is_pad
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.vocabulary import EOS

BATCH = 64  # texts
RATES = {"fresh": 1e-3, "frozen": 1e-2, "tuned": 3e-4}  # a linear layer alone learns with larger steps


class Example(NamedTuple):
    ids: list[int]
    label: int


class Classifier(nn.Module):
    """The mean of an encoder's vectors, and a linear layer."""

    def __init__(self, encoder: Transformer, n_labels: int, is_frozen: bool) -> None:
        super().__init__()
        self.encoder, self.is_frozen = encoder.requires_grad_(not is_frozen), is_frozen
        self.to_labels = nn.Linear(encoder.config.d_memory, n_labels)

    def forward(self, src: Tensor) -> Tensor:
        """src (B, S), each ending with eos. Logits (B, C)."""
        vectors = self.encoder.encode(src)  # (B, S, D)
        is_token = ~is_pad(src)[..., None]  # (B, S, 1)
        return self.to_labels((vectors * is_token).sum(1) / is_token.sum(1))

    def train(self, mode: bool = True) -> "Classifier":
        """A frozen encoder has no dropout: its vectors are those of the translation model."""
        super().train(mode)
        self.encoder.train(mode and not self.is_frozen)
        return self


def read_labelled(path: Path) -> list[tuple[str, str]]:
    """
    Raises:
        CorpusError: the file cannot be read, or a line has no text or no label.
    """
    pairs = []
    for number, line in enumerate(read_lines(path), start=1):
        text, _, label = line.rpartition("\t")
        if not text.strip() or not label.strip():
            raise CorpusError(f"{path}, line {number}: has no text, tab and label; mend or delete it")
        pairs.append((text, label.strip()))
    if not pairs:
        raise CorpusError(f"{path}: is empty; give a file with a text, a tab and a label on each line")
    return pairs


def read_examples(path: Path, labels: Sequence[str], tokenizer: Tokenizer, longest: int) -> list[Example]:
    """The texts of a file. One that has more tokens than the encoder takes is cut.

    Raises:
        CorpusError: as `read_labelled`, or there is a label that the training text does not have.
    """
    pairs = read_labelled(path)
    for number, (_, label) in enumerate(pairs, start=1):
        if label not in labels:
            raise CorpusError(f"{path}, line {number}: training has no label {label!r}; delete the line")
    ids = tokenizer.encode([text for text, _ in pairs])
    return [Example(each[:longest], labels.index(label)) for each, (_, label) in zip(ids, pairs, strict=True)]


def batches(of: Sequence[Example]) -> Iterator[tuple[Tensor, Tensor]]:
    """Sources (B, S) and labels (B,), in order."""
    for start in range(0, len(of), BATCH):
        some = of[start : start + BATCH]
        yield pad([each.ids for each in some], end=EOS), torch.tensor([each.label for each in some])


@torch.inference_mode()
def predicted(model: Classifier, of: Sequence[Example]) -> list[int]:
    """The number of the label of each text."""
    model.eval()
    order = sorted(range(len(of)), key=lambda i: len(of[i].ids))  # little padding
    found = [label for src, _ in batches([of[i] for i in order]) for label in model(src).argmax(-1).tolist()]
    return [label for _, label in sorted(zip(order, found, strict=True))]


def accuracy(of: Sequence[Example], found: Sequence[int]) -> float:
    return sum(each.label == label for each, label in zip(of, found, strict=True)) / len(of)


def confusion(of: Sequence[Example], found: Sequence[int], labels: Sequence[str]) -> str:
    """A row for each true label, a column for each label that was found."""
    counts = torch.zeros(len(labels), len(labels), dtype=torch.int64)
    for each, label in zip(of, found, strict=True):
        counts[each.label, label] += 1
    width = max(5, *map(len, labels))
    rows = [("", *labels), *((label, *row) for label, row in zip(labels, counts.tolist(), strict=True))]
    return "\n".join("  ".join(f"{cell:>{width}}" for cell in row) for row in rows)


def train(model: Classifier, text: Sequence[Example], valid: Sequence[Example], rate: float, n_epochs: int) -> None:
    """Ends with the weights of the epoch whose accuracy on `valid` is highest."""
    encoder = [p for p in model.encoder.parameters() if p.requires_grad]
    layer = {
        "params": list(model.to_labels.parameters()),
        "lr": RATES["frozen"],
    }  # it begins from nothing
    optimizer = torch.optim.AdamW([layer, {"params": encoder, "lr": rate}])
    best, weights = -1.0, model.state_dict()
    for epoch in range(1, n_epochs + 1):
        model.train()
        alike = sorted(random.sample(text, len(text)), key=lambda each: len(each.ids))  # little padding
        of_epoch = list(batches(alike))
        for src, labels in random.sample(of_epoch, len(of_epoch)):
            optimizer.zero_grad()
            F.cross_entropy(model(src), labels).backward()
            optimizer.step()
        found = accuracy(valid, predicted(model, valid))
        print(f"epoch {epoch}: accuracy of valid {found:.3f}", file=sys.stderr)
        if found > best:
            best, weights = found, copy.deepcopy(model.state_dict())
    model.load_state_dict(weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a translation model: a run, a checkpoint or a model directory")
    parser.add_argument("files", nargs=3, type=Path, metavar=("TRAIN", "VALID", "TEST"), help="text, tab, label")
    parser.add_argument("--encoder", choices=RATES, default="tuned", help="fresh has only the sizes of the model's")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--predict", type=Path, metavar="FILE", help="texts to label, one on each line")
    args = parser.parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)

    trained = TrainedModel.read(args.model)
    tokenizer, sizes = trained.tokenizer, trained.config.model
    labels = sorted({label for _, label in read_labelled(args.files[0])})
    longest = sizes.max_length - 1  # and eos
    lines = list(read_lines(args.predict)) if args.predict else []
    text, valid, test = (read_examples(file, labels, tokenizer, longest) for file in args.files)
    encoder = Transformer(sizes, tokenizer.vocab_size) if args.encoder == "fresh" else trained.build()
    model = Classifier(encoder, len(labels), is_frozen=args.encoder == "frozen")
    train(model, text, valid, RATES[args.encoder], args.epochs)
    found = predicted(model, test)
    print(f"test: accuracy {accuracy(test, found):.3f}", confusion(test, found, labels), sep="\n", file=sys.stderr)
    if lines:
        asked = [Example(ids[:longest], label=0) for ids in tokenizer.encode(lines)]
        for line, number in zip(lines, predicted(model, asked), strict=True):
            print(labels[number] if line.strip() else "")


if __name__ == "__main__":
    try:
        main()
    except UserError as error:
        print(f"error: {error}", file=sys.stderr)
        sys.exit(2)
