"""What translations lose without each head, each sublayer and each layer of a model, one at a time."""

import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial

from seq2seq.config import RunConfig
from seq2seq.decoding.search import decode_ids
from seq2seq.evaluation.scores import (
    Scoring,
    check_before_work,
    corpus_scores,
    difference_interval,
    resampled,
    scorer_of,
)
from seq2seq.inspection.torch_model import attention_modules
from seq2seq.model.ablation import sublayers, without_head, without_layer, without_sublayer
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer

Tell = Callable[[str], None]
_N_SAMPLES = 300  # of the bootstrap: with 1,000, as elsewhere, the intervals would take longer than the translations


@dataclass(frozen=True)
class Part:
    """What can be switched off.

    Attributes:
        kind: head, sublayer or layer.
        name: such as "cross 3.2", the second head of the third layer; both are counted from 1.
        switched_off: how to switch it off for a while.
    """

    kind: str
    name: str
    switched_off: Callable[[], AbstractContextManager[None]]


@dataclass(frozen=True)
class Loss:
    """What one part is worth.

    Attributes:
        bleu, chrf: what the translations lose without it; below 0 if they are better without it.
        bleu_low, bleu_high: between which two numbers the loss of BLEU lies in 95% of bootstrap resamples.
    """

    kind: str
    name: str
    bleu: float
    chrf: float
    bleu_low: float
    bleu_high: float


@dataclass(frozen=True)
class Ablation:
    """The losses of all parts.

    Attributes:
        bleu, chrf: of the whole model on these sentences, with their signatures.
        seconds: how long the translations took.
    """

    n_sentences: int
    bleu: float
    chrf: float
    signatures: dict[str, str]
    seconds: float
    losses: list[Loss]

    def of(self, kind: str) -> dict[str, Loss]:
        """The losses of all heads, sublayers or layers, by name."""
        return {loss.name: loss for loss in self.losses if loss.kind == kind}


def parts(model: Transformer) -> list[Part]:
    """All heads, then all sublayers, then all layers."""
    heads = [
        Part("head", f"{kind} {number}.{head + 1}", partial(without_head, attention, head))
        for kind, layers in attention_modules(model).items()
        for number, attention in enumerate(layers, start=1)
        for head in range(attention.n_heads)
    ]
    stacks = {"encoder": model.encoder.layers, "decoder": model.decoder.layers}
    layers = {f"{stack} {n}": layer for stack, found in stacks.items() for n, layer in enumerate(found, start=1)}
    return [
        *heads,
        *(
            Part("sublayer", f"{name} {part}", partial(without_sublayer, sublayer))
            for name, layer in layers.items()
            for part, sublayer in sublayers(layer).items()  # type: ignore[arg-type]  # layers of both kinds
        ),
        *(
            Part("layer", name, partial(without_layer, layer))  # type: ignore[arg-type]
            for name, layer in layers.items()
        ),
    ]


def ablate(
    model: Transformer,
    sources: Sequence[Sequence[int]],
    references: Sequence[Sequence[str]],
    tokenizer: Tokenizer,
    config: RunConfig,
    tell: Tell,
) -> Ablation:
    """Translate with the whole model, and without each of its parts.

    Args:
        sources: token ids without bos and eos, each short enough for the model.
        references: all of each sentence.
        config: how the run decodes, and how its translations are scored.
        tell: called now and then with what is done and how long the rest will take.
    """
    check_before_work(config.evaluation.tokenize)
    begin, device = time.monotonic(), next(model.parameters()).device
    all_parts = [Part("", "", nullcontext), *parts(model)]
    texts = []
    for number, part in enumerate(all_parts):
        tell(f"ablation: {_progress(number / len(all_parts), time.monotonic() - begin)}")
        with part.switched_off():
            found = decode_ids(model, sources, config.decoding, device, model.config.max_length)
        texts.append(tokenizer.target.decode([best.tokens for best, *_ in found]))
    seconds = time.monotonic() - begin
    tell("ablation: scoring")
    scoring, plain = Scoring.of(config), texts[0]
    whole = corpus_scores(plain, references, scoring=scoring)
    bleu, chrf = whole["bleu"].score, whole["chrf"].score
    on_resamples, *others = resampled(scorer_of("bleu", references, scoring), texts, _N_SAMPLES)
    losses = []
    for part, text, other in zip(all_parts[1:], texts[1:], others, strict=True):
        scores = corpus_scores(text, references, scoring=scoring)
        low, high = difference_interval(other, on_resamples)
        losses.append(Loss(part.kind, part.name, bleu - scores["bleu"].score, chrf - scores["chrf"].score, low, high))
    signatures = {name: score.signature for name, score in whole.items()}
    return Ablation(len(plain), bleu, chrf, signatures, seconds, losses)


def _progress(share: float, seconds: float) -> str:
    if not share:
        return "0%"
    return f"{share:.0%}, {seconds:.0f} s of about {seconds / share:.0f} s"
