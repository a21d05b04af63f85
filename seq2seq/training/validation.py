"""What a validation measures: the loss of the references, and BLEU and chrF of real decoding, by all ranks together."""

import math
from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import torch
from torch import Tensor

from seq2seq.config import RunConfig
from seq2seq.config.decoding import DecodingConfig
from seq2seq.corpus.test_sets import TestSet
from seq2seq.dataset.batches import Pairs, valid_batches
from seq2seq.dataset.store import PairStore
from seq2seq.decoding.sentences import decode_ids
from seq2seq.evaluation.scores import (
    ROBUSTNESS_METRICS,
    TEST_METRICS,
    VALID_METRICS,
    Interval,
    corpus_scores,
    report,
)
from seq2seq.evaluation.sentences import sentence_chrf
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.attention_maps import AttentionMap, attention_maps, choose_readable
from seq2seq.training.domains import Domains, spread
from seq2seq.training.loss import smoothed_cross_entropy
from seq2seq.training.sharing import in_order, rank_of_all

N_ATTENTION_MAPS = 3


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
    local = dict(zip(indices, tokenizer.decode([best.tokens for best, *_ in hypotheses]), strict=True))
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
                        hidden[rows], model.embeddings.output, tgt_out[rows], label_smoothing=0.0, n_tokens=n_tokens
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


def _references(store: PairStore) -> list[list[str]]:
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
        self.domains = Domains.of(config.data.valid_sources, store.n_pairs_of_sources)
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
        scores = corpus_scores(self.hypotheses, references, VALID_METRICS)
        self.signatures = {name: score.signature for name, score in scores.items()}
        if len(self.domains.names) > 1:
            for name, places in zip(self.domains.names, self.domains.places(self.decoded), strict=True):
                if name in of_domains and len(places):
                    texts = [self.hypotheses[i] for i in places]
                    found = corpus_scores(texts, [references[i] for i in places], VALID_METRICS)
                    of_domains[name] |= {metric: score.score for metric, score in found.items()}
            self.of_domains = of_domains
        return metrics | {name: score.score for name, score in scores.items()}

    def describe(self, metrics: Mapping[str, float]) -> str:
        return f"BLEU {metrics['bleu']:.2f}, chrF {metrics['chrf']:.2f}"

    def outputs(self, model: Transformer, store: PairStore) -> list[str]:
        """The translations of a corpus, on every rank."""
        return translate_store(model, store, self.tokenizer, self.config.decoding, bf16=self.bf16)

    def scores_of_valid(self, hypotheses: list[str]) -> dict[str, Interval]:
        """With intervals."""
        return report(hypotheses, _references(self.store), VALID_METRICS)

    def scores_of_test(self, hypotheses: list[str], store: PairStore, test: TestSet) -> dict[str, Interval]:
        """With intervals. They take long, so only one rank asks for them."""
        metrics = ROBUSTNESS_METRICS if test.clean else TEST_METRICS
        language, ignore_case = self.config.data.tgt_lang, test.ignores_case
        return report(hypotheses, _references(store), metrics, language=language, ignore_case=ignore_case)

    def samples(self, n: int) -> list[Sample]:
        """`n` of the latest translations, always of the same sentences, spread over valid and its domains."""
        places = self.domains.choose(self.decoded, n)
        pairs, texts = [self.decoded[i] for i in places], [self.hypotheses[i] for i in places]
        chrf = sentence_chrf(texts, [self.store.references(i) for i in pairs])
        return [
            Sample(i, self.domains.name(i), self.store.src_text(i), self.store.tgt_text(i), text, score)
            for i, text, score in zip(pairs, texts, chrf, strict=True)
        ]
