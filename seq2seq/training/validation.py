"""BLEU and chrF of validation: decoded as in the final test, by all ranks together."""

from itertools import chain

import torch

from seq2seq.config import DecodingConfig
from seq2seq.dataset.store import PairStore
from seq2seq.decoding.sentences import decode_ids
from seq2seq.evaluation.scores import Score, corpus_scores
from seq2seq.model.transformer import Transformer
from seq2seq.tokenizer import Tokenizer


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


def score_store(
    model: Transformer,
    store: PairStore,
    tokenizer: Tokenizer,
    config: DecodingConfig,
    n_sentences: int = 0,
    bf16: bool = False,
) -> tuple[dict[str, Score], list[str]]:
    """BLEU and chrF against all raw references, and the translations that got them."""
    was_training = model.training
    model.eval()
    hypotheses = translate_store(model, store, tokenizer, config, n_sentences, bf16)
    model.train(was_training)
    references = [store.references(i) for i in spread(len(store), n_sentences)]
    return corpus_scores(hypotheses, references), hypotheses


def spread(n_all: int, n: int) -> list[int]:
    """Indices of `n` sentences at equal distances, so that each part of a mixed corpus has its share; n=0: all."""
    n = min(n or n_all, n_all)
    return [i * n_all // n for i in range(n)]


def _rank() -> tuple[int, int]:
    if torch.distributed.is_available() and torch.distributed.is_initialized():
        return torch.distributed.get_rank(), torch.distributed.get_world_size()
    return 0, 1


class Validation:
    """Scores real decoding at the end of each validation, and keeps the translations for whoever shows them."""

    def __init__(
        self, store: PairStore, tokenizer: Tokenizer, config: DecodingConfig, n_sentences: int, bf16: bool = False
    ) -> None:
        self.store, self.tokenizer, self.config = store, tokenizer, config
        self.n_sentences, self.bf16 = n_sentences, bf16
        self.hypotheses: list[str] = []

    def __call__(self, model: Transformer) -> dict[str, float]:
        scores, self.hypotheses = score_store(
            model, self.store, self.tokenizer, self.config, n_sentences=self.n_sentences, bf16=self.bf16
        )
        return {name: score.score for name, score in scores.items()}

    def samples(self, n: int) -> list[tuple[str, str, str]]:
        """Source, reference and latest translation of the first `n` sentences, the same ones each time."""
        texts = zip(spread(len(self.store), self.n_sentences), self.hypotheses[:n], strict=False)
        return [(self.store.src_text(i), self.store.tgt_text(i), text) for i, text in texts]
