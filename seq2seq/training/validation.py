"""What a validation measures: the loss of the references, and BLEU and chrF of real decoding, by all ranks together."""

import math
from itertools import chain

import torch

from seq2seq.config import RunConfig
from seq2seq.config.decoding import DecodingConfig
from seq2seq.dataset.batches import Pairs, valid_batches
from seq2seq.dataset.store import PairStore
from seq2seq.decoding.sentences import decode_ids
from seq2seq.evaluation.scores import VALID_METRICS, corpus_scores
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.loss import smoothed_cross_entropy


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
    rank, world_size = _rank()
    indices = spread(len(store), n_sentences)[rank::world_size]
    device = next(model.parameters()).device
    sources = [store.src(i).tolist() for i in indices]
    with torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        hypotheses = decode_ids(model, sources, config, device, max_length=model.config.max_length)
    local = dict(zip(indices, tokenizer.decode([best.tokens for best, *_ in hypotheses]), strict=True))
    if world_size == 1:
        return list(local.values())
    shares: list[dict[int, str]] = [{} for _ in range(world_size)]
    torch.distributed.all_gather_object(shares, local)
    return [text for _, text in sorted(chain.from_iterable(share.items() for share in shares))]


def teacher_forced(model: Transformer, pairs: Pairs, max_tokens: int, bf16: bool = False) -> dict[str, float]:
    """Loss (nats per token, without label smoothing), perplexity and accuracy of the references of all pairs.

    Each rank takes every `world_size`-th batch; the results are those of all of them, on every rank.
    """
    device = next(model.parameters()).device
    sums = torch.zeros(3, dtype=torch.float64)
    with torch.inference_mode(), torch.autocast(device.type, torch.bfloat16, enabled=bf16):
        for on_cpu in valid_batches(pairs, max_tokens, *_rank()):
            src, tgt_in, tgt_out = (tensor.to(device) for tensor in (on_cpu.src, on_cpu.tgt_in, on_cpu.tgt_out))
            hidden = model.decode(tgt_in, model.encode(src), src)
            loss = smoothed_cross_entropy(
                hidden, model.embeddings.output, tgt_out, label_smoothing=0.0, n_tokens=on_cpu.n_tgt_tokens
            )
            sums += torch.stack([loss.nll, loss.n_correct, loss.n_tokens]).cpu().double()
    if _rank()[1] > 1:
        sums = sums.to(device)
        torch.distributed.all_reduce(sums)
    nll, n_correct, n_tokens = sums.tolist()
    return {
        "loss": nll / n_tokens,
        "perplexity": math.exp(min(nll / n_tokens, 100.0)),
        "accuracy": n_correct / n_tokens,
    }


def spread(n_all: int, n: int) -> list[int]:
    """Indices of `n` sentences at equal distances, so that each part of a mixed corpus has its share; n=0: all."""
    n = min(n or n_all, n_all)
    return [i * n_all // n for i in range(n)]


def _rank() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


class Validation:
    """Measures weights on valid, and keeps the translations for whoever shows them.

    While a run trains and when it chooses its weights at the end, the same decoder meets the same text. Only
    `trainer.valid_sentences` may make the first look at fewer sentences.
    """

    def __init__(self, store: PairStore, tokenizer: Tokenizer, config: RunConfig, bf16: bool = False) -> None:
        self.store, self.tokenizer, self.config, self.bf16 = store, tokenizer, config, bf16
        self.hypotheses: list[str] = []

    def while_training(self, model: Transformer) -> dict[str, float]:
        """Every metric; BLEU and chrF of `trainer.valid_sentences` sentences."""
        return self._measure(model, self.config.trainer.valid_sentences)

    def of_all(self, model: Transformer) -> dict[str, float]:
        """Every metric, of all sentences."""
        return self._measure(model, 0)

    def _measure(self, model: Transformer, n_sentences: int) -> dict[str, float]:
        was_training = model.training
        model.eval()
        metrics = teacher_forced(model, self.store, self.config.batch.max_tokens, self.bf16)
        self.hypotheses = translate_store(
            model, self.store, self.tokenizer, self.config.decoding, n_sentences, self.bf16
        )
        model.train(was_training)
        references = [self.store.references(i) for i in spread(len(self.store), n_sentences)]
        scores = corpus_scores(self.hypotheses, references, VALID_METRICS)
        return metrics | {name: score.score for name, score in scores.items()}

    def samples(self, n: int) -> list[tuple[str, str, str]]:
        """Source, reference and latest translation of the first `n` sentences, the same ones each time."""
        indices = spread(len(self.store), self.config.trainer.valid_sentences)
        texts = zip(indices, self.hypotheses[:n], strict=False)
        return [(self.store.src_text(i), self.store.tgt_text(i), text) for i, text in texts]
