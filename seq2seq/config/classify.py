"""The section `classify`."""

from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import one_of


@dataclass(kw_only=True)
class ClassifyConfig:
    """A classifier on top of an encoder, in place of a translation model (docs/classification.md)."""

    encoder: str = ""  # fresh, or of the model in `finetune`: frozen, finetuned; empty: the run learns to translate
    pool: str = "mean"  # over the tokens of a sentence: mean, max, or the first one
    dropout: float = 0.1  # on the vectors that the labels are read from
    class_weights: str = "none"  # `balanced`: the rarer a label, the more its sentences count

    @property
    def is_on(self) -> bool:
        """Whether the run learns to classify."""
        return self.encoder != ""

    def problems(self) -> Iterator[str]:
        yield from one_of("classify", self, encoder=("", "fresh", "frozen", "finetuned"))
        yield from one_of("classify", self, pool=("mean", "max", "first"), class_weights=("none", "balanced"))
        if not 0 <= self.dropout < 1:
            yield f"classify.dropout={self.dropout} is not a probability below 1"
