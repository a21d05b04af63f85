"""Text to ids and back: one SentencePiece model for both languages, with the special ids of `vocabulary`.

The model normalises text: `decode(encode(text))` is the normalised text. With the rule `identity` that is the text
itself, except that U+2581 and line ends become spaces. With `nfc` it is the text in NFC (as far as `seq2seq.nfc` says),
with single spaces for white space and none at the ends.

A model from elsewhere (artifacts/marian.py) can have two SentencePiece models, one for each side. Then the tokenizer is
that of the source, and `Tokenizer.target` is the other.
"""

import hashlib
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, takewhile
from pathlib import Path

import sentencepiece

from seq2seq.config import TokenizerConfig
from seq2seq.errors import TokenizerError
from seq2seq.files import atomic_file
from seq2seq.nfc import nfc_rules
from seq2seq.vocabulary import BOS, EOS, PAD, UNK

SPACE = "▁"  # U+2581, as SentencePiece writes spaces in pieces

# The pieces that unigram finds depend on the number of threads. The vocabulary must not depend on the machine.
_TRAINING_THREADS = 4
# SentencePiece leaves out longer lines without a message. Its default is 4,192 bytes.
_MAX_LINE_BYTES = 1_000_000
_LARGE_SAMPLE = 10_000_000  # lines from which unigram training needs 64-bit indices
_NO_PIECE = "\ue000"  # a character that nobody uses, so it is written in bytes, which no piece holds together with text
_NOT_IN_A_LINE = str.maketrans({"\n": " ", "\r": " ", "\ufffd": ""})  # U+FFFD: bytes that are no character
# Pieces after this one are cut, but have no id: they are read as unk.
END_OF_VOCABULARY = "<end of vocabulary>"
_TARGET = b"\xc2\x0c"  # begins field 200 of SentencePiece's ModelProto, which it leaves to others and passes over
_LENGTH_BYTES = 5
_FEW = 64  # for a list of texts, SentencePiece starts threads, which takes longer than so many texts do one by one


class Tokenizer:
    """A trained SentencePiece model. It never changes, and its pickle is small.

    Attributes:
        target: what target text is read and written with: this tokenizer itself, if one model serves both sides.
    """

    def __init__(self, proto: bytes) -> None:
        """The tokenizer that `proto` was taken from.

        Raises:
            TokenizerError: not a SentencePiece model with the special ids of this project.
        """
        self.proto = proto
        self.fingerprint = hashlib.sha256(proto).hexdigest()
        self._processor = model = sentencepiece.SentencePieceProcessor()
        try:
            # Not through the constructor, which takes empty bytes for "no model".
            model.LoadFromSerializedProto(proto)
        except RuntimeError as error:
            raise TokenizerError("not a SentencePiece model, or a damaged one; restore it or train anew") from error
        end = model.piece_to_id(END_OF_VOCABULARY)
        self._has_end = model.is_control(end)
        self.vocab_size: int = end if self._has_end else model.vocab_size()
        special = (model.pad_id(), model.unk_id(), model.bos_id(), model.eos_id())
        if special != (PAD, UNK, BOS, EOS):
            raise TokenizerError(
                f"this SentencePiece model has pad, unk, bos, eos = {special} instead of {(PAD, UNK, BOS, EOS)}; "
                "train it with seq2seq"
            )
        # The control symbols `<tag:NAME>` follow the special ids.
        tags = takewhile(model.is_control, range(EOS + 1, self.vocab_size))
        self.tags = {model.id_to_piece(i).removeprefix("<tag:").removesuffix(">"): i for i in tags}  # ids by name
        self.model_type = _model_type(model)  # bpe, unigram
        own = _target_of(proto)
        self.target = Tokenizer(own) if own else self

    @classmethod
    def train(cls, lines: Iterable[str], config: TokenizerConfig, tags: Sequence[str] = ()) -> "Tokenizer":
        """Learn the pieces from sentences of both languages. The same lines give the same bytes.

        SentencePiece keeps all of them in memory, so `lines` should be a sample of a large text.

        Args:
            tags: names of kinds of text; see `tag`.
        Raises:
            TokenizerError: no text, or too little for config.vocab_size. The message has the largest size that works.
            Exception: whatever iterating over `lines` raises.
        """
        reader_errors: list[BaseException] = []  # SentencePiece makes a RuntimeError of whatever reading a line raises

        def utf8() -> Iterator[bytes]:
            try:
                yield from map(str.encode, lines)
            except BaseException as error:
                reader_errors.append(error)
                raise

        model = io.BytesIO()
        try:
            sentencepiece.SentencePieceTrainer.train(
                sentence_iterator=utf8(),
                model_writer=model,
                model_type=config.model_type,
                vocab_size=config.vocab_size,
                character_coverage=config.character_coverage,
                split_digits=config.split_digits,
                normalizer=_normalizer(config.normalization),
                byte_fallback=True,
                pad_id=PAD,
                unk_id=UNK,
                bos_id=BOS,
                eos_id=EOS,
                control_symbols=[f"<tag:{name}>" for name in tags],
                max_sentence_length=_MAX_LINE_BYTES,
                train_extremely_large_corpus=2 * config.max_sentences > _LARGE_SAMPLE,
                num_threads=_TRAINING_THREADS,
                minloglevel=2,
            )
        except RuntimeError as error:
            if reader_errors:
                raise reader_errors[0] from None
            raise TokenizerError(_training_problem(str(error), config, len(tags))) from error
        return cls(model.getvalue())

    @classmethod
    def load(cls, path: str | Path) -> "Tokenizer":
        """Read what `save` wrote.

        Raises:
            TokenizerError: no such file, or not a SentencePiece model with the special ids of this project.
        """
        try:
            return cls(Path(path).read_bytes())
        except OSError as error:
            raise TokenizerError(f"cannot read the tokenizer {path}: {error.strerror}; check its name") from error
        except TokenizerError as error:
            raise TokenizerError(f"{path}: {error}") from error

    def save(self, path: str | Path) -> None:
        """Write a SentencePiece model file, whole or not at all."""
        with atomic_file(Path(path)) as file:
            file.write(self.proto)

    def encode(self, texts: Sequence[str], *, n_threads: int = -1) -> list[list[int]]:
        """Ids of each text, without bos and eos. A string like `</s>` in a text is text.

        Args:
            n_threads: that work on a long list; -1: one for each core.
        Raises:
            TokenizerError: a text with half a surrogate pair, which is not Unicode.
        """
        try:
            form = str if self._has_end else int
            if len(texts) < _FEW:
                found = [self._processor.encode(text, out_type=form) for text in texts]
            else:
                found = list(self._processor.encode(list(texts), out_type=form, num_threads=n_threads))
        except (RuntimeError, TypeError) as error:  # which of them depends on SentencePiece's version
            raise TokenizerError("a text has half a surrogate pair; decode the input as UTF-8") from error
        return [self._looked_up(pieces) for pieces in found] if self._has_end else found

    def _looked_up(self, pieces: list[str]) -> list[int]:
        """The ids of pieces in a vocabulary that is not that of the SentencePiece model.

        A character that the model does not know can be in the vocabulary all the same, as a piece of the other side.
        """
        texts = range(EOS + 1 + len(self.tags), self.vocab_size)
        return [i if i in texts else UNK for i in self._processor.piece_to_id(pieces)]

    def encode_inside(self, text: str) -> list[int]:
        """Ids of a text that stands right after another one. `encode` puts a space before its text."""
        marked = _NO_PIECE + text
        n_before = sum(begin < 1 for begin, _ in self.offsets(marked))
        return self.encode([marked])[0][n_before:]

    def offsets(self, text: str) -> list[tuple[int, int]]:
        """Where each id of a text begins and ends in it, in characters. Only the last byte of one has a width."""
        return list(self._processor.encode(text, return_type="offset_mapping")["offsets"])

    def decoded_offsets(self, ids: Sequence[int]) -> list[tuple[int, int]]:
        """Where each id begins and ends in the decoded text, as in `offsets`."""
        decoded = self._processor.decode(list(ids), return_type="offset_mapping")
        place = list(accumulate((len(each.translate(_NOT_IN_A_LINE)) for each in decoded["text"]), initial=0))
        return [(place[begin], place[end]) for begin, end in decoded["offsets"]]

    def normalized(self, text: str) -> str:
        """What `encode` cuts into pieces: the text by the rule of this model, with `SPACE` for each space."""
        return str(self._processor.normalize(text))

    def subwords(self) -> dict[str, tuple[int, float]]:
        """Id and score of each piece that is text: not those of special ids, tags and bytes.

        The score is a log-probability (nats) in a unigram model; in BPE, the merge with the higher score comes first.
        """
        model = self._processor
        others = (model.is_control, model.is_unknown, model.is_byte, model.is_unused)
        ids = [i for i in range(model.vocab_size()) if not any(is_other(i) for is_other in others)]
        read = [i if i < self.vocab_size else UNK for i in ids]
        return dict(zip(self.pieces(ids), zip(read, model.get_score(ids), strict=True), strict=True))

    def byte_ids(self) -> list[int]:
        """The ids of the 256 bytes, of which a character that has no piece is made; all unk, if it is made of none."""
        return list(self._processor.piece_to_id([f"<0x{byte:02X}>" for byte in range(256)]))

    def decode(self, ids: Sequence[Sequence[int]]) -> list[str]:
        """Text of each sequence, without special ids.

        It is always one line of valid Unicode. Byte pieces of a line end become a space; those that form no
        character are left out.

        Raises:
            TokenizerError: an id outside the vocabulary.
        """
        if not ids:
            return []
        try:
            if len(ids) < _FEW:
                texts = [self._processor.decode(list(each)) if each else "" for each in ids]
            else:
                texts = self._processor.decode(list(ids))
        except IndexError as error:
            raise TokenizerError(
                f"an id is outside this tokenizer's vocabulary of {self.vocab_size}; "
                "use the tokenizer that the model was trained with"
            ) from error
        return [text.translate(_NOT_IN_A_LINE) for text in texts]

    def tag(self, name: str) -> list[int]:
        """The ids to put before a source of this kind of text: the id of its tag, or nothing for the name "".

        A tag is a control symbol. No text has its id, and decoding leaves it out.

        Raises:
            TokenizerError: this vocabulary has no such tag.
        """
        if not name:
            return []
        if name not in self.tags:
            known = f"only {', '.join(self.tags)}; choose one" if self.tags else "or any other; leave the tag out"
            raise TokenizerError(f"the model has no tag {name!r}, {known}")
        return [self.tags[name]]

    def pieces(self, ids: Sequence[int]) -> list[str]:
        """The piece of each id, `▁` for a space, `<0x41>` for a byte."""
        return list(self._processor.id_to_piece(list(ids)))

    def __reduce__(self) -> tuple[Callable[[bytes], "Tokenizer"], tuple[bytes]]:
        return _unpickled, (self.proto,)


def with_target(source: bytes, target: bytes) -> bytes:
    """The bytes of a tokenizer with a model for each side. SentencePiece reads them as the model of the source."""
    n = len(target)
    # A number of protobuf: 7 bits a byte, and whether it goes on.
    length = bytes(n >> 7 * i & 127 | (128 if i + 1 < _LENGTH_BYTES else 0) for i in range(_LENGTH_BYTES))
    return _TARGET + length + target + source


def _target_of(proto: bytes) -> bytes:
    """The model of the target that `with_target` has put in; empty if there is none."""
    if not proto.startswith(_TARGET):
        return b""
    start = len(_TARGET) + _LENGTH_BYTES
    n = sum((byte & 127) << 7 * i for i, byte in enumerate(proto[len(_TARGET) : start]))
    return proto[start : start + n]


@lru_cache(maxsize=4)
def _unpickled(proto: bytes) -> Tokenizer:
    """A worker gets the same tokenizer with each batch, and to build one takes longer than a small batch."""
    return Tokenizer(proto)


def _model_type(processor: sentencepiece.SentencePieceProcessor) -> str:
    """`bpe` or `unigram`. The processor does not tell, but only unigram models have lists of the n best."""
    try:
        processor.nbest_encode("", nbest_size=1)
    except RuntimeError:
        return "bpe"
    return "unigram"


def _normalizer(rule: str) -> sentencepiece.SentencePieceNormalizer:
    sentencepiece.set_min_log_level(2)  # it tells how large a table is
    rules = {"norm_map": nfc_rules()} if rule == "nfc" else {"rule_name": rule}
    return sentencepiece.SentencePieceNormalizer(**rules, remove_extra_whitespaces=rule != "identity")


def _training_problem(message: str, config: TokenizerConfig, n_tags: int) -> str:
    """What a message of SentencePiece means for the configuration."""
    asked = f"tokenizer.vocab_size={config.vocab_size}"
    if too_high := re.search(r"Vocabulary size too high .* value <= (\d+)", message):
        return (
            f"{asked} is more than the training text supports; "
            f"set tokenizer.vocab_size to at most {too_high[1]} or give more text"
        )
    if too_low := re.search(r"smaller than required_chars\. \d+ vs (\d+)", message):
        return (
            f"{asked} does not hold the {int(too_low[1]) - 260 - n_tags} characters of the training text, "
            f"{4 + n_tags} special ids and 256 bytes; set it to {too_low[1]} or more or lower "
            "tokenizer.character_coverage"
        )
    if "!sentences_.empty()" in message or "all_chars_count" in message:
        return "the training text has no sentence to learn a tokenizer from; check data.train"
    return f"SentencePiece could not train with {asked}: {message.splitlines()[0]}"
