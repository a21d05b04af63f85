"""The section `tokenizer`."""

from collections.abc import Iterator
from dataclasses import dataclass

from seq2seq.config.checks import at_least, at_most, one_of
from seq2seq.config.on_resume import for_training


@dataclass(kw_only=True)
class TokenizerConfig:
    """One SentencePiece model for both languages, trained on the training text alone."""

    model_type: str = "bpe"  # bpe, unigram
    vocab_size: int = 8000  # pieces, with the 256 bytes, the 4 special ids and the tags
    character_coverage: float = 1.0  # share of characters that have a piece of their own; the rest become bytes
    split_digits: bool = False  # each of 0-9 is a piece; else what is frequent in numbers is one
    normalization: str = "nmt_nfkc"  # nfc: all characters stay, white space is single spaces; identity: all stays
    max_sentences: int = 1_000_000  # lines of each language to train on; of more, a random sample is taken
    subword_regularization: float = for_training(0.0)  # BPE-dropout probability, or alpha of unigram; 0: off

    def problems(self) -> Iterator[str]:
        yield from one_of("tokenizer", self, model_type=("bpe", "unigram"))
        yield from one_of("tokenizer", self, normalization=("nmt_nfkc", "nfkc", "nmt_nfkc_cf", "nfc", "identity"))
        yield from at_least("tokenizer", self, vocab_size=261, max_sentences=1, subword_regularization=0.0)
        yield from at_most("tokenizer", self, vocab_size=1e6)  # SentencePiece counts some times as many pieces
        if not 0 < self.character_coverage <= 1:
            yield f"tokenizer.character_coverage={self.character_coverage} is not in (0, 1]"
        if self.model_type == "bpe" and self.subword_regularization >= 1:
            yield (
                f"tokenizer.subword_regularization={self.subword_regularization} is not a BPE-dropout probability; "
                "choose one below 1"
            )
        if self.model_type == "unigram" and self.subword_regularization > 10:
            yield (
                f"tokenizer.subword_regularization={self.subword_regularization} is an alpha that leaves nothing to "
                "chance; choose 10 or less, as a rule 0.1 to 0.5"
            )
