"""Text to ids at random: the pieces of a tokenizer, drawn anew each time (subword regularisation).

SentencePiece can draw too. But its random numbers differ from process to process, whatever its seed is (0.2.3). Here a
segmentation is a function of the text and of the numbers that the caller draws, in every process and on every machine.

No piece crosses a space. So each word is drawn by itself, and what was worked out for a word is kept for the next time.
"""

from bisect import bisect_right
from collections.abc import Callable
from decimal import Context, Decimal
from functools import lru_cache
from math import inf
from typing import NamedTuple

from seq2seq.tokenizer import SPACE, Tokenizer
from seq2seq.vocabulary import UNK

Draw = Callable[[], float]  # a random number in [0, 1), as `random.Random(seed).random`

_MOST_MERGED_KEPT = 2**16  # words after their merges: 40 MB
_MOST_LATTICES_KEPT = 2**15  # words with the chances of their pieces: 80 MB
_LONGEST_KEPT = 24  # characters; a text without spaces is one word, and is not met again
_UNKNOWN_PENALTY = 10  # as in SentencePiece: what the score of an unknown character is below the lowest score
_NO_MERGE = -inf
_PRECISE = Context(prec=25)


class RandomSegmentation:
    """Draws segmentations of texts. It has the distribution of SentencePiece's own sampler.

    Attributes:
        target: draws those of target texts; see `Tokenizer.target`.
    """

    def __init__(self, tokenizer: Tokenizer, rate: float) -> None:
        """
        Args:
            rate: for BPE the probability to leave out a merge, in [0, 1); for unigram the power of the probabilities
                to draw with, at least 0.
        """
        self.tokenizer, self.rate = tokenizer, rate
        subwords = _Subwords(tokenizer)
        self.target = self if tokenizer.target is tokenizer else RandomSegmentation(tokenizer.target, rate)
        self._words = _Merges(subwords, rate) if tokenizer.model_type == "bpe" else _Lattices(subwords, rate)

    def __call__(self, text: str, draw: Draw) -> list[int]:
        """Ids of a text, without bos and eos. They decode to the same text as those of `Tokenizer.encode`.

        There are usually more of them; in the worst case each byte is an id.
        """
        ids: list[int] = []
        for word in self.tokenizer.normalized(text).replace(SPACE, f" {SPACE}").split(" "):
            if word:
                ids += self._words.segment(word, draw)
        return ids

    def __reduce__(self) -> tuple[type["RandomSegmentation"], tuple[Tokenizer, float]]:
        return RandomSegmentation, (self.tokenizer, self.rate)


class _Subwords:
    """The pieces of a tokenizer that are text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        subwords = tokenizer.subwords()
        self.scores = {piece: score for piece, (_, score) in subwords.items()}
        self._ids = {piece: [number] for piece, (number, _) in subwords.items()}
        self._bytes = None if UNK in (ids := tokenizer.byte_ids()) else ids

    def ids(self, symbol: str) -> list[int]:
        """Of a piece, or of a character that has none: it is spelled in bytes, or unk if there are none."""
        if found := self._ids.get(symbol):
            return found
        return [UNK] if self._bytes is None else [self._bytes[byte] for byte in symbol.encode()]


class _Merged(NamedTuple):
    """A word after its merges."""

    ids: list[int]
    n_turns: int  # merges that were possible, each at its turn; some of them were left out


class _Merges:
    """BPE-dropout (Provilkov et al. 2020): each merge is left out with a probability.

    In the paper, all merges that are possible are drawn for again after each merge that is made. Here, as in
    SentencePiece, each of them has one turn, in the order of the vocabulary, and is drawn for once.
    """

    def __init__(self, subwords: _Subwords, rate: float) -> None:
        self._subwords, self._rate = subwords, rate
        self._kept = lru_cache(_MOST_MERGED_KEPT)(
            lambda word, left_out: self._merged(word, is_left_out=left_out.__contains__),
        )

    def segment(self, word: str, draw: Draw) -> list[int]:
        """One number is drawn for each turn, whether a result was kept or not."""
        if len(word) > _LONGEST_KEPT:
            return self._merged(word, is_left_out=lambda turn: draw() < self._rate).ids
        left_out: tuple[int, ...] = ()
        turn = 0
        while True:
            ids, n_turns = self._kept(word, left_out)
            while turn < n_turns and draw() >= self._rate:
                turn += 1
            if turn == n_turns:
                return ids
            left_out += (turn,)  # which changes nothing before this turn
            turn += 1

    def _merged(self, word: str, is_left_out: Callable[[int], bool]) -> _Merged:
        """The word after all merges but some. Their turns are numbered from 0."""
        score_of = self._subwords.scores.get
        symbols = list(word)
        scores = [score_of(word[i : i + 2], _NO_MERGE) for i in range(len(word) - 1)]  # of a symbol with the next one
        n_turns = 0
        while scores and (best := max(scores)) > _NO_MERGE:
            i = scores.index(best)  # the leftmost, as in SentencePiece
            if is_left_out(n_turns):
                scores[i] = _NO_MERGE  # unless one of the two symbols grows
            else:
                symbols[i : i + 2] = [symbols[i] + symbols[i + 1]]
                del scores[i]
                for left in range(max(0, i - 1), min(i + 1, len(scores))):
                    scores[left] = score_of(symbols[left] + symbols[left + 1], _NO_MERGE)
            n_turns += 1
        return _Merged([i for symbol in symbols for i in self._subwords.ids(symbol)], n_turns)


class _LastPiece(NamedTuple):
    """The pieces that can be the last one of the first so many characters of a word."""

    chances: tuple[float, ...]  # cumulative; the last is 1
    begins: tuple[int, ...]


class _Lattices:
    """Sampling from a unigram model (Kudo 2018): a segmentation has a chance in proportion to P(segmentation) ** alpha.

    Forward filtering adds up the weights of all segmentations of the first 1, 2, ... characters. Backward sampling
    draws the last piece, then the one before it, and so on.
    """

    def __init__(self, subwords: _Subwords, alpha: float) -> None:
        self._subwords = subwords
        self._longest = max(map(len, subwords.scores))
        self._weights = {piece: _weight(score, alpha) for piece, score in subwords.scores.items()}
        self._unknown = _weight(min(subwords.scores.values()) - _UNKNOWN_PENALTY, alpha)
        self._kept = lru_cache(_MOST_LATTICES_KEPT)(self._last_pieces)

    def segment(self, word: str, draw: Draw) -> list[int]:
        """One number is drawn for each piece."""
        last_pieces = self._last_pieces(word) if len(word) > _LONGEST_KEPT else self._kept(word)
        end, backwards = len(word), []
        while end:
            chances, begins = last_pieces[end - 1]
            begin = begins[bisect_right(chances, draw())]
            backwards.append(self._subwords.ids(word[begin:end]))
            end = begin
        return [i for ids in reversed(backwards) for i in ids]

    def _last_pieces(self, word: str) -> list[_LastPiece]:
        """Of the first character, of the first two, and so on."""
        weight_of, found = self._weights.get, []
        sums = [1.0]  # of the weights of all segmentations of the first 0, 1, 2, ... characters
        for end in range(1, len(word) + 1):
            cumulative, begins = [], []
            total = 0.0
            for begin in range(max(0, end - self._longest), end):
                weight = weight_of(word[begin:end]) or (self._unknown if begin == end - 1 else 0.0)
                if weight:
                    total += sums[begin] * weight
                    cumulative.append(total)
                    begins.append(begin)
            sums.append(total)
            if not 1e-100 < total < 1e100:  # only their ratios matter, and only those of the last few
                sums[-self._longest :] = [each / total for each in sums[-self._longest :]]
            found.append(_LastPiece(tuple(each / total for each in cumulative), tuple(begins)))
        return found


def _weight(score: float, alpha: float) -> float:
    """exp(alpha * score), with the same bits on every machine, which a C library does not promise."""
    return float((Decimal(alpha) * Decimal(score)).exp(_PRECISE))
