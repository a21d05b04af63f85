"""How well two models, one of each direction, agree that a pair is a translation.

Dual conditional cross-entropy (Junczys-Dowmunt 2018, section 3.1). For H, the mean negative log-probability of a token
in nats:

    score(x, y) = exp(-(|H(y|x) - H(x|y)| + (H(y|x) + H(x|y)) / 2))

It is 1 for a pair of which both models are sure, and near 0 where both are surprised, or only one of them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from math import exp, inf
from pathlib import Path

from seq2seq.errors import ConfigError
from seq2seq.translation.options import EngineOptions
from seq2seq.translation.result import Scored
from seq2seq.translation.translator import Translator

_BLOCK = 2_000  # pairs that both models score before the next ones are read


@contextmanager
def dual_scores(
    forward: str | Path, backward: str | Path, languages: Sequence[str]
) -> Iterator[Callable[[Iterator[tuple[str, str]]], Iterable[float]]]:
    """A function that scores pairs, as long as the models are loaded.

    Args:
        forward, backward: a model from the first language to the second, and one back.
    Raises:
        UserError: a model that cannot be read.
        ConfigError: a model of other languages.
    """
    src, tgt = languages
    with _loaded(forward, src, tgt) as there, _loaded(backward, tgt, src) as back:

        def score(pairs: Iterator[tuple[str, str]]) -> Iterator[float]:
            while block := list(islice(pairs, _BLOCK)):
                turned = [(target, source) for source, target in block]
                for in_there, in_back in zip(there.score(block), back.score(turned), strict=True):
                    yield dual_score(cross_entropy(in_there), cross_entropy(in_back))

        yield score


def dual_score(forward: float, backward: float) -> float:
    """The score of a pair from its cross-entropies in both directions; see above."""
    if forward == inf or backward == inf:
        return 0.0
    return exp(-(abs(forward - backward) + (forward + backward) / 2))


def cross_entropy(scored: Scored) -> float:
    """Mean negative log-probability of the tokens of a target, in nats; infinite if it could not be scored."""
    return -scored.log_prob / len(scored.tokens) if scored.tokens else inf


@contextmanager
def _loaded(path: str | Path, src: str, tgt: str) -> Iterator[Translator]:
    with Translator.load([path], EngineOptions()) as model:
        data = model.config.data
        if (data.src_lang, data.tgt_lang) != (src, tgt):
            raise ConfigError(
                f"--score: {path} translates {data.src_lang} to {data.tgt_lang}, and a model from {src} to {tgt} is "
                "needed here; give MODEL_FWD and MODEL_BWD in the order of --languages"
            )
        yield model
