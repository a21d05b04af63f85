"""Lines as a model reads them, with the tokenizer of a model and hostile text."""

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.config import RunConfig
from seq2seq.dataset.seen import Looks
from seq2seq.tokenizer import Tokenizer
from seq2seq.translation.normalising import Normaliser
from seq2seq.translation.text.origins import Text
from seq2seq.translation.text.splitting import Part
from tests.effort import no_hang
from tests.translation.engines.models import tokenizer

LOOKS = Looks({"'": 0.3, ".": 0.9, '"': 0.1}, 0.0, 0.0)
TRAINING = ["Un chat dort.", "Le chien de Paris, court après l'été.", 'Il dit "oui" à la dame.']
hostile = st.text("aéUNCHÀ 1.,'’“”«»!\u00a0\u00ad\u200b\u0301ﬁＡ😀\u200d★яЯ<b>{x}%s\n\t", max_size=24)


@pytest.fixture(scope="module")
def normaliser() -> Normaliser:
    return Normaliser(RunConfig(), tokenizer(), LOOKS, "auto")


def of_identity() -> Normaliser:
    """With a tokenizer that leaves all text as it is."""
    config = RunConfig()
    config.tokenizer.normalization, config.tokenizer.vocab_size = "identity", 300
    return Normaliser(config, Tokenizer.train(TRAINING * 3, config.tokenizer), LOOKS, "auto")


IDENTITY = of_identity()


@given(hostile)
def test_each_word_comes_from_words_of_the_line(line: str) -> None:
    for normaliser in (IDENTITY, Normaliser(RunConfig(), tokenizer(), LOOKS, "auto")):
        reading = normaliser.read(line)
        assert len(reading.source.text) == len(reading.original)
        words = reading.source.words(line)
        assert len(words) == len(reading.source.text.split())
        assert {word for found in words for word in found} <= set(range(len(line.split())))
        assert bool(reading.changes) == (reading.source.text != line) or not reading.source.text.strip()


@given(hostile | st.text() | st.text("走。！क़ी।؟بًשַน้ำπ;ա։ሰ።ဗာ།ཀ1(.! "))
def test_no_letter_is_lost(line: str) -> None:
    for keep in ((), ("markup", "placeholders")):
        reading = Normaliser(RunConfig(), tokenizer(), LOOKS, "spaces,stops,quotes,pieces", keep).read(line)
        read = reading.source.text + "".join(item.text for item in reading.items)
        assert Counter(filter(str.isalpha, read)) == Counter(filter(str.isalpha, line))


@pytest.mark.slow
@pytest.mark.parametrize(
    "unit",
    ["\u0301\u0323", "ﬁ\u0301\u0323", "ا\u064b", "क्", "e\u0301", "！ ", "。", "«", "12. ", "A. ", "😀", "\u200d", "<"],
)
def test_a_very_long_line_takes_time_in_proportion_to_its_length(unit: str) -> None:
    with no_hang():
        IDENTITY.read(unit * (40_000 // len(unit)))


# Without stops: when unseen characters are gone, sentences may end elsewhere.
@given(hostile.map(lambda line: line.translate(dict.fromkeys(map(ord, ".!")))))
def test_twice_is_once(line: str) -> None:
    once = IDENTITY.rewritten(line)[0].text
    again, changes = IDENTITY.rewritten(once)
    assert (again.text, changes) == (once, [])


@given(st.text("ahié .,'", max_size=24).map(lambda line: f"ah {line}").filter(lambda line: "  " not in line.strip()))
def test_a_line_as_training_had_them_stays(line: str) -> None:
    reading = IDENTITY.read(line)
    assert (reading.source, reading.changes, reading.items) == (Text.of(line), [], [])


@pytest.mark.parametrize(
    ("line", "identity", "nfkc"),
    [
        ("l’été", "l'été", "l'été"),
        ("le\u00a0chien", "le chien", "le\u00a0chien"),  # SentencePiece does it by its rule nmt_nfkc
        ("le  chien", "le chien", "le  chien"),
        ("e\u0301te\u0301", "été", "e\u0301te\u0301"),
        ("l'oﬃce", "l'office", "l'oﬃce"),
        ("le ch\u00adien", "le chien", "le chien"),
    ],
)
def test_what_the_tokenizer_does_is_not_done_twice(normaliser: Normaliser, line: str, identity: str, nfkc: str) -> None:
    assert IDENTITY.rewritten(line)[0].text == identity
    text, changes = normaliser.rewritten(line)
    assert text.text == nfkc and bool(changes) == (nfkc != line)


def test_nothing_inside_a_thing_is_replaced(normaliser: Normaliser) -> None:
    line = "l’été http://a.fr/l’été {l’été} <a href='l’été'>"
    assert normaliser.rewritten(line)[0].text == "l'été http://a.fr/l’été {l’été} <a href='l’été'>"


@pytest.mark.parametrize(
    ("line", "source"),
    [
        ("12 345,67 €", ""),
        ("<b>12</b> {x}", ""),
        ("Le chien. 12345. Un chat dort. 6!", "Le chien. Un chat dort."),
        ("Le chien. 12 <b>%s</b> 6000. Un chat dort.", "Le chien. Un chat dort."),
        ("Le chien a 12 ans. 3 chats.", "Le chien a 12 ans. 3 chats."),
        ("oui", "oui"),
    ],
)
def test_no_model_reads_sentences_without_a_word(line: str, source: str) -> None:
    normaliser = Normaliser(RunConfig(), tokenizer(), LOOKS, "auto", ["markup", "placeholders"])
    assert " ".join(normaliser.read(line).source.text.split()) == source
    assert normaliser.read("12", keeps_case=True).source.text == "12"  # a prefix wants a translation
    assert Normaliser(RunConfig(), tokenizer(), LOOKS, "case").read(line).items == []


def test_an_unseen_end_mark_stays_beside_a_word_that_is_taken_out() -> None:
    reading = IDENTITY.read("Привет! Un chat dort! Le chien court؟ Oui।")
    assert reading.source.text == "Un chat dort. Le chien court. Oui."
    assert [item.text for item in reading.items] == ["Привет!"]
    parts = [Part("Un chat dort.", 0), Part("Le chien court.", 14), Part("Oui.", 30)]
    assert [reading.stopped("A b.", part) for part in parts] == ["A b!", "A b؟", "A b."]


@pytest.mark.parametrize(
    ("language", "keeps_case"),
    [("tr", True), ("tr-TR", True), ("tur_Latn", True), ("azj_Latn", True), ("aze", True), ("trv", False)],
)
def test_turkish_and_azerbaijani_keep_their_case(language: str, keeps_case: bool) -> None:
    config = RunConfig()
    config.data.src_lang = language
    assert (Normaliser(config, tokenizer(), LOOKS, "always").read("UN CHAT DORT.").styled == []) == keeps_case


def test_a_headline_stays_if_the_tokenizer_makes_all_letters_small() -> None:
    folded = Normaliser(RunConfig(), of_lower_case(), None, "auto")
    assert folded.read("UN CHAT DORT.").changes == []


def of_lower_case() -> Tokenizer:
    config = RunConfig().tokenizer
    config.normalization, config.vocab_size = "nmt_nfkc_cf", 300
    return Tokenizer.train(TRAINING * 3, config)
