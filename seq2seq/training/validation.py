"""What a validation measures: the loss of the references, and BLEU and chrF of real decoding, by all ranks together.

It does so for each kind of text, and notes where the model looks in the source while it writes a sentence
(cross-attention). Each rank does its share of the sentences, and all get all of the results.

Shapes: B sentences, L layers, H n_heads, T target tokens, S source tokens
"""

import math
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import NamedTuple, TypeVar

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from seq2seq.config import RunConfig, SourceSpec
from seq2seq.config.decoding import DecodingConfig
from seq2seq.config.sources import SourceFiles
from seq2seq.dataset.batches import Pairs, collate, valid_batches
from seq2seq.dataset.store import PairStore
from seq2seq.decoding.search import decode_ids
from seq2seq.evaluation.scores import VALID_METRICS, Score, Scoring, corpus_scores
from seq2seq.evaluation.sentences import sentence_chrf
from seq2seq.masking import masked
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.loss import smoothed_cross_entropy

N_ATTENTION_MAPS = 3
# Tokens of the longer side, with eos. A picture of the first length is easy to read, and one of the second can be read.
READABLE, LONGEST = 24, 60
_T = TypeVar("_T")


@dataclass(frozen=True)
class Domains:
    """The domain of each pair of a split: the tag of its source, or else the source itself."""

    names: list[str]  # in the order of the sources
    numbers: NDArray[np.int64]  # for each pair, which of the names is its own

    @classmethod
    def of(cls, sources: Sequence[SourceSpec], n_pairs: Sequence[int]) -> "Domains":
        """n_pairs: of each source, one after the other. Sources with the same tag are one domain."""
        stems = Counter(source.stem for source in sources if not source.tag)
        of_sources = [source.tag or (source.stem if stems[source.stem] == 1 else _path(source)) for source in sources]
        names = list(dict.fromkeys(of_sources))
        return cls(names, np.repeat([names.index(name) for name in of_sources], n_pairs))

    def name(self, pair: int) -> str:
        return self.names[self.numbers[pair]]

    def places(self, pairs: Sequence[int] | NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """For each domain, where its pairs stand among these."""
        numbers = self.numbers[np.asarray(pairs, dtype=np.int64)]
        return [np.flatnonzero(numbers == number) for number in range(len(self.names))]

    def choose(self, pairs: Sequence[int], n: int) -> list[int]:
        """Places of `n` of these pairs, ascending: equally many of each domain that has so many, at equal distances."""
        parts = sorted(self.places(pairs), key=len)
        chosen: list[int] = []
        for n_left, part in zip(range(len(parts), 0, -1), parts, strict=True):
            share = min((n - len(chosen)) // n_left, len(part))
            chosen += [int(part[i]) for i in spread(len(part), share)] if share else []
        return sorted(chosen)


def spread(n_all: int, n: int) -> list[int]:
    """Indices of `n` sentences at equal distances, so that each part of a mixed corpus has its share; n=0: all."""
    n = min(n or n_all, n_all)
    return [i * n_all // n for i in range(n)]


def _path(source: SourceSpec) -> str:
    return masked(source.src if isinstance(source, SourceFiles) else source.path)


class Sample(NamedTuple):
    """A validation sentence and its latest translation."""

    pair: int  # of valid, counted from 0
    domain: str
    source: str
    reference: str  # the first one
    translation: str
    chrf: float  # of this sentence, against all its references


def translate_store(
    model: Transformer,
    store: PairStore,
    tokenizer: Tokenizer,
    config: DecodingConfig,
    n_sentences: int = 0,
    bf16: bool = False,
) -> list[str]:
    """Translate the sources of a corpus; returns the translations in order, on every rank.

    Each rank decodes every `world_size`-th sentence. All ranks gather the translations, because an average of the
    ranks' scores is not the score of the corpus.

    Args:
        n_sentences: how many of them, chosen by `spread`; 0: all.
        bf16: multiply in bfloat16, as training did.
    """
    rank, world_size = rank_of_all()
    indices = spread(len(store), n_sentences)[rank::world_size]
    device = next(model.parameters()).device
    sources = [store.src(i).tolist() for i in indices]
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        hypotheses = decode_ids(model, sources, config, device, max_length=model.config.max_length)
    local = dict(zip(indices, tokenizer.target.decode([best.tokens for best, *_ in hypotheses]), strict=True))
    return in_order(local)


def teacher_forced(
    model: Transformer, pairs: Pairs, max_tokens: int, bf16: bool = False, domains: Domains | None = None
) -> tuple[dict[str, float], dict[str, dict[str, float]]]:
    """Loss (nats per token, without label smoothing), perplexity and accuracy of the references of all pairs.

    Each rank takes every `world_size`-th batch; the results are those of all of them, on every rank.

    Returns:
        the metrics of all pairs, and those of each domain.
    """
    device = next(model.parameters()).device
    domains = domains or Domains(["all"], np.zeros(len(pairs), dtype=np.int64))
    sums = torch.zeros(len(domains.names), 3, dtype=torch.float64)
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        for indices, on_cpu in valid_batches(pairs, max_tokens, *rank_of_all()):
            src, tgt_in, tgt_out = (tensor.to(device) for tensor in (on_cpu.src, on_cpu.tgt_in, on_cpu.tgt_out))
            hidden = model.decode(tgt_in, model.encode(src), src)
            for number, rows in enumerate(map(torch.from_numpy, domains.places(indices))):
                if len(rows):
                    n_tokens = on_cpu.n_tgt_tokens if len(rows) == len(src) else None
                    loss = smoothed_cross_entropy(
                        *model.factors(hidden[rows]), tgt_out[rows], label_smoothing=0.0, n_tokens=n_tokens
                    )
                    sums[number] += torch.stack([loss.nll, loss.n_correct, loss.n_tokens]).cpu().double()
    if rank_of_all()[1] > 1:
        sums = sums.to(device)
        torch.distributed.all_reduce(sums)
    return _means(sums.sum(0)), {
        name: _means(found) for name, found in zip(domains.names, sums, strict=True) if found[2]
    }


def _means(sums: Tensor) -> dict[str, float]:
    nll, n_correct, n_tokens = sums.tolist()
    return {
        "loss": nll / n_tokens,
        "perplexity": math.exp(min(nll / n_tokens, 100.0)),
        "accuracy": n_correct / n_tokens,
    }


def references_of(store: PairStore) -> list[list[str]]:
    return [store.references(i) for i in range(len(store))]


class Validation:
    """Measures weights on valid, and keeps for whoever shows them the translations and what the model looked at.

    While a run trains and when it chooses its weights at the end, the same decoder meets the same text. Only
    `trainer.valid_sentences` may make the first look at fewer sentences.

    Attributes:
        signatures: how BLEU and chrF were computed; empty before the first validation.
        of_domains: the latest metrics of each domain; empty if valid has only one.
        attention: of some fixed sentences, from the latest validation while training.
    """

    def __init__(self, store: PairStore, tokenizer: Tokenizer, config: RunConfig, bf16: bool = False) -> None:
        self.store, self.tokenizer, self.config, self.bf16 = store, tokenizer, config, bf16
        self.domains = Domains.of(config.data.valid_sources, store.manifest.n_pairs_of_sources)
        self.decoded: list[int] = []  # the pairs that the latest validation translated
        self.hypotheses: list[str] = []
        self.signatures: dict[str, str] = {}
        self.of_domains: dict[str, dict[str, float]] = {}
        self.attention: list[AttentionMap] = []
        n_maps = N_ATTENTION_MAPS if config.logger.shows_text else 0
        self._readable = choose_readable(store, self.domains, n_maps)

    def while_training(self, model: Transformer) -> dict[str, float]:
        """Every metric; BLEU and chrF of `trainer.valid_sentences` sentences."""
        metrics = self._measure(model, self.config.trainer.valid_sentences)
        self.attention = attention_maps(model, self.store, self.tokenizer, self._readable)
        return metrics

    def of_all(self, model: Transformer) -> dict[str, float]:
        """Every metric, of all sentences."""
        return self._measure(model, 0)

    def _measure(self, model: Transformer, n_sentences: int) -> dict[str, float]:
        was_training = model.training
        model.eval()
        metrics, of_domains = teacher_forced(model, self.store, self.config.batch.max_tokens, self.bf16, self.domains)
        self.hypotheses = translate_store(
            model, self.store, self.tokenizer, self.config.decoding, n_sentences, self.bf16
        )
        model.train(was_training)
        self.decoded = spread(len(self.store), n_sentences)
        references = [self.store.references(i) for i in self.decoded]
        scores = self._scores(self.hypotheses, references)
        self.signatures = {name: score.signature for name, score in scores.items()}
        if len(self.domains.names) > 1:
            for name, places in zip(self.domains.names, self.domains.places(self.decoded), strict=True):
                if name in of_domains and len(places):
                    texts = [self.hypotheses[i] for i in places]
                    found = self._scores(texts, [references[i] for i in places])
                    of_domains[name] |= {metric: score.score for metric, score in found.items()}
            self.of_domains = of_domains
        return metrics | {name: score.score for name, score in scores.items()}

    def _scores(self, hypotheses: Sequence[str], references: Sequence[Sequence[str]]) -> dict[str, Score]:
        return corpus_scores(hypotheses, references, VALID_METRICS, Scoring.of(self.config))

    def outputs(self, model: Transformer, store: PairStore) -> list[str]:
        """The translations of a corpus, on every rank."""
        return translate_store(model, store, self.tokenizer, self.config.decoding, bf16=self.bf16)

    def samples(self, n: int) -> list[Sample]:
        """`n` of the latest translations, always of the same sentences, spread over valid and its domains."""
        places = self.domains.choose(self.decoded, n)
        pairs, texts = [self.decoded[i] for i in places], [self.hypotheses[i] for i in places]
        chrf = sentence_chrf(texts, [self.store.references(i) for i in pairs])
        return [
            Sample(i, self.domains.name(i), self.store.src_text(i), self.store.tgt_text(i), text, score)
            for i, text, score in zip(pairs, texts, chrf, strict=True)
        ]


class AttentionMap(NamedTuple):
    """Each row is a target token, and says how much of the source the model used to predict it."""

    pair: int  # of the corpus, counted from 0
    source: list[str]  # pieces
    target: list[str]
    heads: NDArray[np.float32]  # (L, H, T, S); rows sum to 1

    @property
    def weights(self) -> NDArray[np.float32]:
        """The mean over layers and heads, (T, S)."""
        mean: NDArray[np.float32] = self.heads.mean((0, 1))
        return mean

    @property
    def name(self) -> str:
        return f"attention/line_{self.pair + 1}"


def choose_readable(store: PairStore, domains: Domains, n: int) -> list[int]:
    """Up to `n` pairs of a length that suits a picture, spread over the corpus and its domains."""
    shorter, longer = (side(store.src_lengths, store.tgt_lengths) for side in (np.minimum, np.maximum))
    for longest in (READABLE, LONGEST):
        fitting = np.flatnonzero((shorter > 0) & (longer < longest))
        if len(fitting):
            return [int(fitting[place]) for place in domains.choose(fitting.tolist(), n)]
    return []


def attention_maps(model: Transformer, store: PairStore, tokenizer: Tokenizer, pairs: list[int]) -> list[AttentionMap]:
    """What the model looks at while it is given the reference: a pair always has the same axes."""
    device, was_training = next(model.parameters()).device, model.training
    model.eval()
    maps = []
    for pair in pairs:
        batch = collate([store.src(pair)], [store.tgt(pair)])
        with torch.inference_mode():
            found = model.attention_weights(batch.src.to(device), batch.tgt_in.to(device)).cross
        heads = torch.stack(found).float()[:, 0]  # (B, H, T, S) of each layer -> (L, H, T, S)
        source = tokenizer.pieces(batch.src[0].tolist())
        target = tokenizer.target.pieces(batch.tgt_out[0].tolist())
        maps.append(AttentionMap(pair, source, target, heads.cpu().numpy()))
    model.train(was_training)
    return maps


def rank_of_all() -> tuple[int, int]:
    """This rank, and how many there are."""
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


def in_order(local: Mapping[int, _T]) -> list[_T]:
    """The results of all ranks, in the order of the sentences.

    Args:
        local: those of this rank, by the number of the sentence.
    """
    world_size = rank_of_all()[1]
    shares: list[Mapping[int, _T]] = [local]
    if world_size > 1:
        shares = [{} for _ in range(world_size)]
        torch.distributed.all_gather_object(shares, local)
    return [result for _, result in sorted(chain.from_iterable(share.items() for share in shares), key=lambda e: e[0])]
