"""What translations lose without each head, each sublayer and each layer of a model, one at a time.

Shapes: B sentences, S source tokens, K hypotheses a sentence, D d_model, V vocabulary
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from functools import partial

import torch
from torch import Tensor

from seq2seq.config import RunConfig
from seq2seq.decoding import plan_batches
from seq2seq.decoding.search import pad_sources, search
from seq2seq.evaluation.scores import Scoring, check_before_work, corpus_scores, difference_interval
from seq2seq.inspection.attention_modules import attention_modules
from seq2seq.model import masks
from seq2seq.model.ablation import sublayers, without_head, without_layer, without_sublayer
from seq2seq.model.cache import DecoderState
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
        stack: encoder or decoder.
        switched_off: how to switch it off for a while.
    """

    kind: str
    name: str
    stack: str
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
    losses: list[Loss] = field(default_factory=list)

    def of(self, kind: str) -> dict[str, Loss]:
        """The losses of all heads, sublayers or layers, by name."""
        return {loss.name: loss for loss in self.losses if loss.kind == kind}


def parts(model: Transformer) -> list[Part]:
    """All heads, then all sublayers, then all layers."""
    heads = [
        Part(
            "head",
            f"{kind} {number}.{head + 1}",
            "encoder" if kind == "encoder" else "decoder",
            partial(without_head, attention, head),
        )
        for kind, layers in attention_modules(model).items()
        for number, attention in enumerate(layers, start=1)
        for head in range(attention.n_heads)
    ]
    stacks = {"encoder": model.encoder.layers, "decoder": model.decoder.layers}
    numbered = [(stack, n, layer) for stack, layers in stacks.items() for n, layer in enumerate(layers, start=1)]
    return [
        *heads,
        *(
            Part("sublayer", f"{stack} {number} {name}", stack, partial(without_sublayer, sublayer))
            for stack, number, layer in numbered
            for name, sublayer in sublayers(layer).items()  # type: ignore[arg-type]  # layers of both kinds
        ),
        *(
            Part("layer", f"{stack} {number}", stack, partial(without_layer, layer))  # type: ignore[arg-type]
            for stack, number, layer in numbered
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

    A batch is encoded once for all parts of the decoder. Only the texts of all translations are kept in memory.

    Args:
        sources: token ids without bos and eos, each short enough for the model.
        config: how the run decodes, and how its translations are scored.
        tell: called now and then with what is done and how long the rest will take.
    """
    check_before_work(config.evaluation.tokenize)
    whole, *others = [Part("", "", "decoder", nullcontext), *parts(model)]
    texts: dict[Part, list[str]] = {part: [""] * len(sources) for part in (whole, *others)}
    begin, batches = time.monotonic(), list(plan_batches([len(source) for source in sources], config.decoding))
    for n_done, batch in enumerate(batches):
        for number, part in enumerate(texts):
            share = (n_done + number / len(texts)) / len(batches)
            tell(f"ablation: {_progress(share, time.monotonic() - begin)}")
            if part is whole:
                src = pad_sources([sources[i] for i in batch], model.config.max_length).to(_device(model))
                with torch.inference_mode():
                    encoded = _Encoded(model, model.encode(src))
            with torch.inference_mode(), part.switched_off():
                reader = encoded if part.stack == "decoder" else _Encoded(model, model.encode(src))
                found = search(reader, src, config.decoding, model.config.max_length, numbers=batch)
            decoded = tokenizer.target.decode([best.tokens for best, *_ in found])
            for i, text in zip(batch, decoded, strict=True):
                texts[part][i] = text
    seconds = time.monotonic() - begin
    tell("ablation: scoring")
    return _scored(texts.pop(whole), texts, references, config, seconds)


def _scored(
    plain: list[str],
    texts: dict[Part, list[str]],
    references: Sequence[Sequence[str]],
    config: RunConfig,
    seconds: float,
) -> Ablation:
    known = [list(each) for each in references]
    scores = corpus_scores(plain, known, scoring=Scoring.of(config))
    bleu, chrf = scores["bleu"].score, scores["chrf"].score
    return Ablation(
        n_sentences=len(plain),
        bleu=bleu,
        chrf=chrf,
        signatures={name: score.signature for name, score in scores.items()},
        seconds=seconds,
        losses=list(_losses(plain, texts, known, config, bleu, chrf)),
    )


def _losses(
    plain: list[str],
    texts: dict[Part, list[str]],
    references: list[list[str]],
    config: RunConfig,
    bleu: float,
    chrf: float,
) -> Iterator[Loss]:
    scoring = Scoring.of(config)
    for part, without in texts.items():
        scores = corpus_scores(without, references, scoring=scoring)
        low, high = difference_interval(without, plain, references, _N_SAMPLES, scoring)
        yield Loss(part.kind, part.name, bleu - scores["bleu"].score, chrf - scores["chrf"].score, low, high)


@dataclass(frozen=True)
class _Encoded:
    """A model whose encoder has read the batch already; see `NextTokenScores`."""

    model: Transformer
    memory: Tensor  # (B, S, D)

    def start(self, src: Tensor, max_length: int) -> DecoderState:
        return self.model.decoder.start(self.memory, masks.additive(masks.may_attend_to(src)))

    def step(self, state: DecoderState, tokens: Tensor) -> tuple[Tensor, DecoderState]:
        return self.model.step(state, tokens)

    def reorder(self, state: DecoderState, parents: Tensor) -> DecoderState:
        return self.model.reorder(state, parents)

    def select(self, state: DecoderState, sentences: Tensor) -> DecoderState:
        return self.model.select(state, sentences)


def _device(model: Transformer) -> torch.device:
    return next(model.parameters()).device


def _progress(share: float, seconds: float) -> str:
    if not share:
        return "0%"
    return f"{share:.0%}, {seconds:.0f} s of about {seconds / share:.0f} s"
