"""What the exercises share: the model of `make demo`, and how well it translates."""

from dataclasses import replace
from pathlib import Path

import torch

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.dataset.batches import pad
from seq2seq.decoding.search import search
from seq2seq.evaluation.scores import corpus_scores
from seq2seq.vocabulary import EOS

RUN = Path("runs/demo")
SENTENCES = 200  # of the 500 of the test set, to spare time

trained = TrainedModel.read(RUN)
model = trained.build().eval()
tokenizer = trained.tokenizer
sources, references = (
    Path(f"data/sample/test.{language}").read_text(encoding="utf-8").splitlines()[:SENTENCES]
    for language in ("fr", "en")
)


@torch.no_grad()
def translations(beam_size: int = 1) -> list[str]:
    """Of the sources, in batches of sentences of like length."""
    config = replace(trained.config.decoding, beam_size=beam_size)
    ids = tokenizer.encode(sources)
    order = sorted(range(len(ids)), key=lambda i: len(ids[i]))
    found = [""] * len(ids)
    for start in range(0, len(order), 50):
        places = order[start : start + 50]
        src = pad([ids[i] for i in places], end=EOS)
        best = [hypotheses[0].tokens for hypotheses in search(model, src, config, max_length=60)]
        for place, text in zip(places, tokenizer.decode(best), strict=True):
            found[place] = text
    return found


def bleu(beam_size: int = 1) -> float:
    return corpus_scores(translations(beam_size), references, ("bleu",))["bleu"].score
