"""An engine that copies: what a line loses on its way, it loses outside the model."""

from collections.abc import Callable, Sequence
from itertools import chain

import numpy as np

from seq2seq.config import DecodingConfig, TokenizerConfig
from seq2seq.decoding import Hypothesis
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.engines import Needs, Sentence
from tests.toy_languages import LANGUAGES


class Copying:
    """An engine whose translation of some tokens are these tokens, or what a function makes of them."""

    precision = "float32"
    max_length = 200
    max_batch_tokens = 10_000
    n_workers = 1
    splits_last = False
    forks = False
    gives_attention = True

    def __init__(self, change: Callable[[list[int]], list[int]] = lambda tokens: tokens) -> None:
        self.change = change
        self.given: list[list[int]] = []

    def start_worker(self) -> None:
        pass

    def check(self, config: DecodingConfig, needs: Needs) -> None:
        pass

    def decode(self, sentences: Sequence[Sentence], config: DecodingConfig) -> list[list[Hypothesis]]:
        self.given += [list(sentence.source) for sentence in sentences]
        return [[Hypothesis(self.change(list(sentence.source)), -1.0, -1.0, True)] for sentence in sentences]

    def score(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[list[float]]:
        raise NotImplementedError

    def attention(self, sources: Sequence[Sequence[int]], targets: Sequence[Sequence[int]]) -> list[np.ndarray]:
        """Each target token comes from the first source token that is equal and has not been taken, or from all."""
        found = []
        for source, target in zip(sources, targets, strict=True):
            weights = np.full((len(target), len(source)), 1 / len(source))
            left = {token: [i for i, each in enumerate(source) if each == token][::-1] for token in set(source)}
            for t, token in enumerate(target):
                if left.get(token):
                    weights[t] = np.eye(len(source))[left[token].pop()]
            found.append(weights)
        return found


def tokenizer() -> Tokenizer:
    """It has pieces for the letters of eight scripts and for those of English, and changes nothing by itself."""
    config = TokenizerConfig(vocab_size=900, normalization="identity")
    pairs = chain.from_iterable(language.pairs(60) for language in LANGUAGES.values())
    return Tokenizer.train(chain.from_iterable(pairs), config)
