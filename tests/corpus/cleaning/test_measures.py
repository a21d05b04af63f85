"""Each rule against French and English that it must keep, and that it must drop. All pairs were written by hand."""

import re
from pathlib import Path

import pytest

from seq2seq.characters import is_unspaced
from seq2seq.config import DataConfig
from seq2seq.config.clean import CleanConfig
from seq2seq.corpus.cleaning import measures
from seq2seq.corpus.cleaning.languages import detected
from seq2seq.corpus.cleaning.measures import RULES, Pair, normal_forms_of
from seq2seq.corpus.judge import Judge

THRESHOLDS = CleanConfig(rules="all").thresholds

# Good pairs, of which no rule may drop any.
GOOD = [
    ("L'été, c'est aujourd'hui !", "Summer is today!"),
    ("« Qu'est-ce que c'est ? » demanda-t-elle.", '"What is that?" she asked.'),
    ("Il a dit : « Où est l'hôtel ? »", "He said, “Where is the hotel?”"),
    ("Elle a vingt ans.", "She is 20 years old."),
    ("Elle a 20 ans, et lui trente-cinq.", "She is twenty, and he is thirty-five."),
    ("Il est né en mille neuf cent soixante-douze.", "He was born in 1972."),
    ("Louis XIV régna au XVIIe siècle.", "Louis 14 reigned in the 17th century."),
    ("Le 14 juillet 1789, à 15 h.", "On July 14, 1789, at 3 p.m."),
    ("Cela coûte 1 234,50 €.", "That costs €1,234.50."),
    ("Cela coûte 1\u202f234,50\u00a0€.", "That costs €1234.50."),
    ("M. Müller et Mme. Dvořák arrivent.", "Mr. Müller and Ms. Dvořák are coming."),
    ("J. R. R. Tolkien a écrit cela, etc.", "J. R. R. Tolkien wrote that, etc."),
    ("Paris", "Paris"),
    ("Tom ! Tom !", "Tom! Tom!"),
    ("Non, non, non !", "No, no, no!"),
    ("Ah… bon ?", "Oh... really?"),
    ("Voyez https://example.org/fr/aide.", "See https://example.org/en/help."),
    ("Écrivez à aide@example.org, svp.", "Please write to aide@example.org."),
    ("CAFÉ» et «THÉ» en capitales", "COFFEE and TEA in capitals"),
    ("Ça va mieux qu'hier à Noël", "It is better than yesterday at Christmas"),
    ("AT&T et R&D sont des sigles.", "AT&T and R&D are abbreviations."),
    ("Si a < b et b > c, alors quoi ?", "If a < b and b > c, then what?"),
    ("La constante π vaut environ 3,14159.", "The constant π is about 3.14159."),
    ("Le prix d’un cœur naïf à Œuilly", "The price of a naive heart in Œuilly"),
    ("👨\u200d👩\u200d👧 La famille est là.", "👨\u200d👩\u200d👧 The family is here."),
    ("ATTENTION : DANGER DE MORT POUR TOUS", "WARNING: DANGER OF DEATH FOR EVERYBODY"),
    ("Il est parti. Elle pleure. Il pleut.", "He left. She cries. It rains."),
    ("Les anticonstitutionnellement-nommés", "Those who were named against the constitution"),
]

GOOD_ELSEWHERE = [
    (
        "zh",
        "ja",
        "他昨天一个人走了很久很久，我们很担心他，今天还在找他。",
        "彼は昨日一人で長い間歩いていった。今日も探している。",
    ),
    ("zh", "ja", "東京都", "東京都"),
    ("am", "en", "ሰላም ነው። እንዴት ነህ። ደህና ነኝ።", "It is peace. How are you. I am well."),
]
# A language, English, and its translation into that language. All were written by hand for this file.
WRITTEN = [line.split("\t") for line in Path(__file__).with_name("good_pairs.tsv").read_text("utf-8").splitlines()]

BAD = {
    "copy": [
        ("The weather is nice today.", "The weather is nice today."),
        ("Le temps est beau.", "le temps EST beau."),
    ],
    "control": [("Le\u200b chat", "The cat"), ("Le chat", "The cat\x07"), ("cha\u00adtons", "kittens"), ("a\x85", "b")],
    "mojibake": [
        ("L'Ã©tÃ© arrive.", "Summer comes."),
        ("câ€™est lui", "that is him"),
        ("Ã\u00a0 demain", "See you tomorrow"),
        ("10Â\u00a0%", "10%"),
        ("L'\ufffdt\ufffd", "Summer"),
        ("Ã‰cole", "School"),
        ("cÅ“ur", "heart"),
        ("Ã\x89tat", "state"),
    ],
    "entities": [("Tom &amp; Jerry", "Tom & Jerry"), ("l&#39;été", "summer"), ("a &#xE9;", "b"), ("&laquo;", "x")],
    "tags": [("<b>Gras</b>", "Bold"), ("a<br/>b", "a b"), ('<a href="/x">lien', "link"), ("<!-- a", "b")],
    "letters": [("12 / 34 - 56 | 78", "Page"), ("★★★★★ ok", "okay")],
    "script": [("Привет, как дела?", "Hello, how are you?"), ("Bonjour", "你好吗")],
    "language": [
        ("The weather is very nice in London today.", "Il fait très beau à Londres aujourd'hui, mes amis."),
        ("Das Wetter ist heute in Berlin sehr schön, meine Freunde.", "The weather is very nice today, my friends."),
    ],
    "words": [("mot " * 151, "word " * 150)],
    "char_ratio": [("Oui.", "Yes, but only if everybody who lives here agrees to it."), ("x" * 61, "a")],
    "long_word": [("a" * 41, "b")],
    "repetition": [
        ("le chat le chat le chat le chat dort", "the cat sleeps"),
        ("ha ha ha ha", "laughs"),
        ("不不不不", "no"),
    ],
    "numbers": [
        ("Il y en a 12.", "There are 13."),
        ("Cela coûte 4 254 euros.", "That costs a lot."),
        ("En 1989", "In 1998"),
    ],
    "urls": [("Voyez le site.", "See https://example.org/."), ("www.example.org", "the page")],
    "punctuation": [("Oui. Non. Si. Tiens.", "Yes and no"), ("Fin", "End! End? End. Well.")],
    "normal_forms": [("e\u0301te\u0301", "summer")],
}


def measured(name, src, tgt):
    return getattr(measures, name)(Pair(src, tgt, "fr", "en"))


def reason(src, tgt, src_lang="en", tgt_lang="fr"):
    judge = Judge(DataConfig(src_lang=src_lang, tgt_lang=tgt_lang, clean=CleanConfig(rules="default")))
    number = judge.judge([(src, tgt)]).reasons[0]
    return judge.reasons[number] if number >= 0 else ""


@pytest.mark.parametrize("pair", GOOD, ids=lambda pair: pair[1])
def test_good_pairs_stay(pair):
    assert [rule.name for rule in RULES if measured(rule.name, *pair) > THRESHOLDS[rule.name]] == []


@pytest.mark.parametrize(
    ("src_lang", "tgt_lang", "src", "tgt"),
    [*(("en", *each) for each in WRITTEN), *GOOD_ELSEWHERE],
)
def test_good_pairs_of_every_script_stay_in_both_directions(src_lang, tgt_lang, src, tgt):
    assert reason(src, tgt, src_lang, tgt_lang) == reason(tgt, src, tgt_lang, src_lang) == ""


LANGUAGES = [name for name in dict.fromkeys(written[0] for written in WRITTEN) if name != "bo"]


def broken(language):
    """Pairs made of good ones, with the reason that each should be dropped for."""
    pairs = [(english, other) for name, english, other in WRITTEN if name == language]
    english, other = max(pairs, key=lambda pair: len(pair[1]))
    elsewhere = next(text for name, _, text in WRITTEN if name == ("el" if language == "ru" else "ru"))
    with_number = next(pair for pair in pairs if re.search(r"\d{3}", pair[0]) and re.search(r"\d{3}", pair[1]))
    changed = re.sub(r"\d", lambda digit: chr(ord(digit[0]) - int(digit[0]) + (int(digit[0]) + 3) % 10), with_number[1])
    yield english, english, "copy"
    yield english, max((pair[0] for pair in pairs if pair[0] != english), key=len), "other language"
    phrase = other[: len(other) // 4] if is_unspaced(other) else " ".join(other.split()[:4]) + " "
    yield english, phrase * 5, "repetition"
    yield with_number[0], changed, "numbers"
    yield english, elsewhere, "script"
    yield english, other[: len(other) // 5], "char_ratio"


@pytest.mark.parametrize("language", LANGUAGES)
def test_broken_pairs_of_every_script_go_for_the_right_reason(language):
    for english, other, right in broken(language):
        found = reason(english, other, "en", language)
        if right == "other language":
            right = "language" if language == "fr" else "script"
        assert (found, other) == (right, other)


@pytest.mark.parametrize(("name", "pair"), [(name, pair) for name, pairs in BAD.items() for pair in pairs])
def test_bad_pairs_go(name, pair):
    assert measured(name, *pair) > THRESHOLDS[name]


def test_each_rule_has_bad_pairs_here():
    assert set(BAD) == {rule.name for rule in RULES}


@pytest.mark.parametrize(
    ("name", "pair", "value"),
    [
        ("copy", ("a b c d", "a b c e"), 0.75),
        ("copy", ("a a b", "a c d"), 1 / 3),
        ("copy", ("我们昨天去了", "我们昨天走了"), 5 / 6),
        ("words", ("我们昨天去了北京", "a b c"), 4),
        ("repetition", ("去北京去北京去北京", "a"), 3),
        ("punctuation", ("ነው። ነህ፧ ነኝ።", "ab."), 2),
        ("letters", ("नली है।", "a"), 1 / 6),
        ("letters", ("ab 12", "abcd"), 0.5),
        ("words", ("a b", "a b c"), 3),
        ("char_ratio", ("a" * 20, "b" * 50), 2),
        ("long_word", ("mot", "https://example.org/" + "a" * 60), 3),
        ("repetition", ("a b a b a b c", "x"), 3),
        ("numbers", ("1 2 3", "1 2 4"), 3 / 3),
        ("numbers", ("5 6", "7 8"), 5),
        ("numbers", ("1 000 000", "1,000,000"), 1 / 2),  # one number
        ("numbers", ("12 3", "3 12"), 1 / 3),
        ("urls", ("a@b.org c@d.org", "x"), 2),
        ("punctuation", ("Aa. Bb! Cc?!", "Aa..."), 2),
        ("punctuation", ("شكرًا. شكرًا. شكرًا.", "Aa. Aa. Aa."), 0),
        ("script", ("абв abc", "abc"), 0.5),
        ("numbers", ("5 करो\u095c", "50 million"), 0.5),  # the dot in the letter, and after it
        ("numbers", ("5 करोड\u093c", "50 million"), 0.5),
    ],
)
def test_what_a_measure_is(name, pair, value):
    assert measured(name, *pair) == pytest.approx(value)


def test_of_an_unknown_language_nothing_is_said():
    pair = Pair("Привет, как у вас дела сегодня?", "nothing at all to see here, my friend", "zz", "q1")
    assert measures.script(pair) == 0
    assert measures.language(pair) == 0


@pytest.mark.parametrize(
    ("text", "language", "twin"),
    [
        ("Hun har boet i byen i mange år.", "no", "da"),
        ("Danas je lijepo vrijeme i idemo na more.", "bs", "hr"),
        ("Saya pergi ke pasar untuk membeli ikan segar.", "ms", "id"),
    ],
)
def test_a_language_that_looks_like_another_one_is_not_taken_for_it(text, language, twin):
    assert detected(text)[0] == twin
    assert measures.language(Pair(text, "", language, "en")) == 0
    assert measures.language(Pair(text, "", "fr", "en")) > 0.5


def test_a_country_does_not_change_the_language():
    pair = Pair("Il fait très beau à Montréal aujourd'hui.", "The weather is very nice in Montreal.", "fr_CA", "en-GB")
    assert measures.language(pair) == 0 and measures.script(pair) == 0


@pytest.mark.parametrize(
    ("text", "form"), [("ete", "any"), ("été", "NFC"), ("e\u0301", "NFD"), ("e\u0301é", "mixed"), ("«a»", "any")]
)
def test_normal_forms(text, form):
    assert normal_forms_of(text) == form


def test_no_language_model_is_downloaded(monkeypatch):
    import socket

    from seq2seq.corpus.cleaning import languages

    def refuse(*_, **__):
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket, "socket", refuse)
    monkeypatch.setattr(socket, "create_connection", refuse)
    languages._detector.cache_clear()
    assert languages.detected("Il fait très beau aujourd'hui.")[0] == "fr"
