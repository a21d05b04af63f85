"""A line as the parts that a model can read. Translating and scoring split alike.

A model that was trained with one sentence a line translates the first sentence of a line and forgets the others, long
before the line is too long to be read. So lines are split into as many sentences as training had on a line.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from seq2seq.corpus.sentences import n_sentences, sentence_ends
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.text.splitting import Part, split_line


@dataclass(frozen=True)
class LineSplitter:
    """How lines are split.

    Attributes:
        max_tokens: of a part; a part may have more only if it is a single character.
        max_sentences: of a part; None: as many as fit.
    """

    tokenizer: Tokenizer
    max_tokens: int
    max_sentences: int | None

    def split(self, text: str) -> tuple[list[Part], list[list[int]]]:
        """The parts of a line, and the token ids of each. A line without tokens has no parts.

        Raises:
            TokenizerError: the line is not Unicode.
        """
        (ids,) = self.encode([text.strip()])
        if not ids:
            return [], []
        is_whole = self.max_sentences is None or n_sentences(text) <= self.max_sentences
        if is_whole and len(ids) <= self.max_tokens:
            return [Part(text.strip(), len(text) - len(text.lstrip()))], [ids]
        parts = split_line(text, self.max_tokens, self._count_tokens, max_sentences=self.max_sentences)
        if len(parts) == 1:
            return parts, [ids]
        # A part may hold nothing but characters that the tokenizer leaves out.
        kept = [
            (part, ids)
            for part, ids in zip(parts, self.tokenizer.encode([part.text for part in parts]), strict=True)
            if ids
        ]
        return [part for part, _ in kept], [ids for _, ids in kept]

    def encode(self, texts: Sequence[str]) -> list[list[int]]:
        """Token ids of each text. A blank one has none, even if the tokenizer would make tokens of spaces."""
        return self.tokenizer.encode(["" if text.isspace() else text for text in texts])

    def _count_tokens(self, texts: Sequence[str]) -> list[int]:
        return [len(ids) for ids in self.tokenizer.encode(texts)]


def n_cut_sentences(text: str, parts: Sequence[Part]) -> int:
    """How many parts end inside a sentence."""
    ends = set(sentence_ends(text)) if len(parts) > 1 else set()
    return sum(part.start + len(part.text) not in ends for part in parts[:-1])
