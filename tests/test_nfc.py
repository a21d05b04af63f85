"""The rule `nfc` of the tokenizer, against the unicodedata of Python, over all of Unicode."""

import pickle
import unicodedata
from typing import Literal

import pytest
import sentencepiece
from hypothesis import assume, given
from hypothesis import strategies as st

from seq2seq.config import TokenizerConfig
from seq2seq.segmentation import RandomSegmentation
from seq2seq.tokenizer import Tokenizer

EVERY_CHARACTER = [chr(i) for i in range(0x110000) if not 0xD800 <= i < 0xE000]
COMPOSED = [character for character in EVERY_CHARACTER if unicodedata.normalize("NFD", character) != character]
# What a person wrote and nmt_nfkc folds: full-width marks, small signs, ligatures, a joiner, a Thai vowel.
FOLDED = "好？！，m² ™ … ﬁn ﷺ ½ ｶﾅ می\u200cخواهم น้ำ ① ‐ ′"

characters = st.characters(exclude_categories=["Cs"])
any_text = st.text(characters)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    return Tokenizer.train(["le chat dort là"] * 9, TokenizerConfig(vocab_size=280, normalization="nfc"))


def told(text: str) -> str:
    """What the tokenizer should make of a text."""
    return " ".join(unicodedata.normalize("NFC", text).replace("\u2581", " ").replace("\ufffd", "").split())


def read(tokenizer: Tokenizer, text: str) -> str:
    return tokenizer.decode(tokenizer.encode([text]))[0]


@st.composite
def spellings(draw: st.DrawFn) -> str:
    """A character with all its marks in any order, composed in part."""
    letter, *marks = list(unicodedata.normalize("NFD", draw(st.sampled_from(COMPOSED))))
    assume(not unicodedata.combining(letter))
    marks = draw(st.permutations(marks))
    spelled = draw(st.integers(0, len(marks)))
    return unicodedata.normalize("NFC", letter + "".join(marks[:spelled])) + "".join(marks[spelled:])


def pointed(letters: str, block: int) -> st.SearchStrategy[str]:
    """A letter with up to three points of its script."""
    points = [chr(i) for i in range(block, block + 256) if 10 <= unicodedata.combining(chr(i)) < 37]
    rows = st.lists(st.sampled_from(points), max_size=3, unique=True).map("".join)
    return st.tuples(st.sampled_from(letters), rows).map("".join)


pointed_text = pointed("שבו", 0x500) | pointed("بيل", 0x600)
no_mark = characters.filter(lambda character: not unicodedata.combining(character))


@given(text=st.lists(spellings() | no_mark | pointed_text).map("".join))
def test_text_comes_back_in_nfc_with_single_spaces(tokenizer: Tokenizer, text: str) -> None:
    assert read(tokenizer, text) == told(text)


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_every_character_is_written_as_nfc_has_it(tokenizer: Tokenizer, form: Literal["NFC", "NFD"]) -> None:
    spelled = "a".join(unicodedata.normalize(form, character) for character in EVERY_CHARACTER)
    written = tokenizer.normalized(spelled).split("\u2581")
    assert written[1:] == unicodedata.normalize("NFC", "a".join(EVERY_CHARACTER)).replace("\u2581", " ").split()


@given(text=any_text)
def test_any_text_stays_the_same_by_unicode(tokenizer: Tokenizer, text: str) -> None:
    assert told(read(tokenizer, text)) == told(text)


@pytest.mark.parametrize(
    "text",
    [
        "e\u0323\u0301", "e\u0301\u0323", "\u00e9\u0323", "\u1eb9\u0301",  # of Yoruba: two marks, no character for both
        "a\u0302\u0323", "\u00e2\u0323", "A\u030a", "\u212b",
        "\u03b1\u0345\u0301\u0313", "\u1112\u1161\u11ab", "\ud558\u11ab",
        "\u0915\u093c", "\u0958", "\u05e9\u05bc\u05c1", "\ufb2c", "\u05e9\u05c1\u05bc\u05b8", "\u0628\u0651\u064e",
        "\u0dd9\u0dcf\u0dca", "\U0001d15e", "\uf900",
    ],
)  # fmt: skip
def test_rows_of_marks_exclusions_and_syllables(tokenizer: Tokenizer, text: str) -> None:
    assert read(tokenizer, f"x{text}y") == unicodedata.normalize("NFC", f"x{text}y")


def test_what_people_wrote_stays(tokenizer: Tokenizer) -> None:
    assert read(tokenizer, FOLDED) == FOLDED
    usual = Tokenizer.train(["le chat dort là"] * 9, TokenizerConfig(vocab_size=280))
    assert read(usual, FOLDED) != FOLDED
    assert read(tokenizer, "\ufeff" + "x\u200b\u00ady") == "\ufeff" + "x\u200b\u00ady"  # no white space for Unicode


def test_white_space_is_single_spaces(tokenizer: Tokenizer) -> None:
    spaces = "".join(character for character in EVERY_CHARACTER if character.isspace())
    assert read(tokenizer, f"{spaces}a{spaces}b{spaces}") == "a b"
    assert [read(tokenizer, f"a{space}b") for space in spaces] == ["a b"] * len(spaces)


def test_it_travels_with_the_model(tokenizer: Tokenizer) -> None:
    text = f"{FOLDED} e\u0301\u0323"
    copy = pickle.loads(pickle.dumps(tokenizer))
    foreign = sentencepiece.SentencePieceProcessor(model_proto=tokenizer.proto)  # as other programs read it
    assert copy.encode([text]) == tokenizer.encode([text]) == [foreign.encode(text)]
    again = Tokenizer.train(["le chat dort là"] * 9, TokenizerConfig(vocab_size=280, normalization="nfc"))
    assert again.proto == tokenizer.proto


@given(text=any_text)
def test_offsets_and_random_segmentations_follow(tokenizer: Tokenizer, text: str) -> None:
    assume("\ufffd" not in text)
    offsets = tokenizer.offsets(text)
    assert len(offsets) == len(tokenizer.encode([text])[0])
    assert all(0 <= begin <= end <= len(text) for begin, end in offsets)
    assert tokenizer.decode([RandomSegmentation(tokenizer, 0.5)(text, lambda: 0.25)]) == [read(tokenizer, text)]
