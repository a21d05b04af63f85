"""The section `evaluation`."""

from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import one_of

AUTO = "auto"
# As sacreBLEU names them; the last ones are downloaded at their first use.
TOKENIZERS = (AUTO, "13a", "intl", "zh", "char", "none", "ja-mecab", "ko-mecab", "flores101", "flores200", "spBLEU-1K")


@dataclass(kw_only=True)
class EvaluationConfig:
    """How translations are scored: in validation, in the final test, and wherever the run is looked at."""

    tokenize: str = AUTO  # tokens of BLEU, as sacreBLEU names them; auto: those of the target language

    def problems(self) -> Iterator[str]:
        yield from one_of("evaluation", self, tokenize=TOKENIZERS)
