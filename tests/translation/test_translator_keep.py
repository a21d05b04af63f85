"""Things that come through a translation unchanged, and terms, with a model that translates word by word."""

import re

import pytest

from seq2seq.errors import ConfigError
from seq2seq.translation.text.kept import KINDS
from seq2seq.translation.translator import Translator
from tests.translating import LEXICON
from tests.translation.translations import kinds, texts


def word_by_word(line: str) -> str:
    """The translation that the model has learned; things have no words of the lexicon."""
    return re.sub(r"\w+", lambda match: LEXICON.get(match[0].lower(), match[0]), line)


LINES = [
    "Ba be <b>bi</b> bo da.",
    "Ba {x} be bi.",
    "Ba be <i>bi <b>bo</b></i> da 😀.",
    "😀 Ba be bi. 🇫🇷 Da di <em>do</em> ga.",
    "Ba <em>be bo. Di</em> do ga.",
    "<p>Ba de di do.</p>",
    "Ba be http://a.fr/b.c?d. Di do %s ga.",
    "Ba be<br/>bi <img src='a b'> bo.",
]  # fmt: skip


def test_kept_things_stand_where_their_words_went(trained: Translator) -> None:
    found = trained.translate(LINES, keep=KINDS)
    assert texts(found) == [word_by_word(line) for line in LINES]
    assert [each.kept for each in found[:3]] == [["<b>", "</b>"], ["{x}"], ["<i>", "<b>", "</b>", "</i>", "😀"]]
    assert found[3].parts == ["Ba be bi.", "Da di do ga."]
    assert not any(each.findings for each in found)


def test_without_the_option_nothing_is_kept(trained: Translator) -> None:
    found = trained.translate(LINES[:2])
    assert [each.kept for each in found] == [[], []]
    assert texts(found) != texts(trained.translate(LINES[:2], keep=KINDS))


@pytest.mark.parametrize("line", ["<b>😀</b>", " http://a.fr/b. (www.c.fr) ", "{x} : %s !"])
def test_a_line_of_nothing_but_kept_things_comes_out_as_it_was(trained: Translator, line: str) -> None:
    (found,) = trained.translate([line], keep=KINDS, alignment=True, n_best=2)
    assert (found.text, found.parts, found.findings) == (line, [], [])
    assert found.hypotheses[0].alignment == [(i, i) for i in range(len(line.split()))]


def test_the_alignment_counts_the_words_of_the_line(trained: Translator) -> None:
    lines = ["Ba be {x} bi bo.", "Ba <b class='c'>be</b> bi. 😀 Da di do."]
    for line, found in zip(lines, trained.translate(lines, keep=KINDS, alignment=True), strict=True):
        best = found.hypotheses[0]
        assert best.alignment is not None
        assert {(i, i) for i in range(len(line.split()))} <= set(best.alignment)
        assert best.text == texts(trained.translate([line], keep=KINDS))[0]
        assert best.attention is not None and len(best.attention) == len(found.parts)


def test_each_hypothesis_and_each_typography_has_all_things(trained: Translator) -> None:
    line = "Ba \"{x}\" l'be <b>bi</b> http://a.fr/?b='c';d !"
    (found,) = trained.translate([line], keep=KINDS, n_best=3, typography="fr", normalize="never")
    assert len(found.hypotheses) == 3
    for hypothesis in found.hypotheses:
        assert all(hypothesis.text.count(thing) == 1 for thing in found.kept)
    assert found.kept == ["{x}", "<b>", "</b>", "http://a.fr/?b='c';d"]


def test_what_comes_back_is_left_out_of_the_prefix(trained: Translator) -> None:
    (found,) = trained.translate(["Ba <b>be</b> bi bo."], keep=KINDS, prefixes=["Bas <b>Bes</b>"])
    assert found.text == "Bas <b>Bes</b> Bis Bos."


def test_terms_are_in_the_translation_as_often_as_in_the_line(trained: Translator) -> None:
    lines = ["Ba be bi.", "Bo ba da ba. Di ba do.", "Da di do."]
    plain = trained.translate(lines)
    assert not any("Gas" in text for text in texts(plain))
    found = trained.translate(lines, terms={"ba": "Gas"}, beam_size=5)
    assert [each.text.count("Gas") for each in found] == [1, 3, 0]
    assert [kinds(each) for each in found] == [[], [], []]
    assert found[2].text == plain[2].text


def test_a_term_that_could_not_be_placed_is_found(trained: Translator) -> None:
    longest = " ".join(["Gas Gos"] * 30)  # more tokens than the model writes
    (found,) = trained.translate(["Ba be bi."], terms={"ba": longest})
    assert longest not in found.text
    assert f"the translation lacks the term {longest!r}" in [finding.message for finding in found.findings]


def test_a_term_in_another_word_is_missing(trained: Translator) -> None:
    # The pieces of "Ba" come, but an s follows: a term is a whole word.
    (found,) = trained.translate(["Ba be bi."], terms={"ba": "Ba"}, beam_size=2)
    assert "Ba" in found.text
    assert ("missing" in kinds(found)) == (re.search(r"\bBa\b", found.text) is None)


def test_terms_of_a_headline_are_looked_for_in_its_capitals(trained: Translator) -> None:
    (found,) = trained.translate(["DA BA BE BI BO"], terms={"BE": "xyzzy" * 20}, beam_size=2, normalize="always")
    assert found.translated_as == "Da ba be bi bo" and "missing" in kinds(found)


def test_numbers_that_are_lost_are_found(trained: Translator) -> None:
    (lost,) = trained.translate(["Ba be 12 bi."], keep=["numbers"])
    assert "12" not in lost.text and kinds(lost) == ["missing"]
    assert lost.findings[0].message == "the translation lacks the number '12'"
    (written,) = trained.translate(["Ba be 12 bi."], keep=["numbers"], prefixes=["Bas 12"])
    assert "12" in written.text and "missing" not in kinds(written)


def test_wrong_kinds_and_terms_are_refused(trained: Translator) -> None:
    with pytest.raises(ConfigError, match="keep='url' is not one of markup, urls, placeholders, code, emoji, numbers"):
        trained.translate([], keep=["url"])
    with pytest.raises(ConfigError, match="terms has an entry whose term or translation is blank"):
        trained.translate([], terms={"ba": " "})
    with pytest.raises(ConfigError, match="the model writes 'ﬁn' as 'fin'; put that into the glossary"):
        trained.translate([], terms={"ba": "ﬁn"})
    with pytest.raises(ConfigError, match=r"required phrases \(terms\) need a beam: raise beam_size=1"):
        trained.translate([], terms={"ba": "Gas"}, beam_size=1)


@pytest.mark.parametrize(
    ("pattern", "message"),
    [
        ("[a", r"keep_pattern='\[a' is no regular expression: "),
        ("x*", r"keep_pattern='x\*' matches empty text, which is everywhere; write \+ in place of \*"),
    ],
)
def test_wrong_patterns_are_refused(trained: Translator, pattern: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        trained.translate([], keep_pattern=[pattern])
    with pytest.raises(TypeError, match="keep_pattern is one string; pass a list with regular expressions"):
        trained.translate([], keep_pattern=pattern)


def test_each_text_of_a_message_is_translated_by_itself(trained: Translator) -> None:
    line = "{n, plural, one {Ba # be bi.} other {Da di.}}"
    (found,) = trained.translate([line], split="never")
    assert found.text == "{n, plural, one {Bas # Bes Bis.} other {Das Dis.}}"
    assert (found.parts, found.findings) == (["Ba be bi.", "Da di."], [])
    (escaped,) = trained.translate([r"Ba be bi.\nDa di do.\tBo &amp; ga."])
    assert escaped.text == r"Bas Bes Bis.\nDas Dis Dos.\tBos &amp; Gas."
    assert escaped.parts == ["Ba be bi.", "Da di do.", "Bo ga."]


def test_letters_in_code_are_read_as_letters(trained: Translator) -> None:
    plain, coded = trained.translate(["Ba be bi.", "B&#97; b&#x65; b\\u0069."])
    assert coded.text == plain.text
    assert [change.kind for change in coded.changes] == ["forms"] * 3


def test_a_part_that_training_had_nothing_of_is_named(trained: Translator) -> None:
    (found,) = trained.translate(["Ba 龘龘 be ★ Dvořák bi."])
    assert (found.text, kinds(found)) == ("Bas 龘龘 Bes ★ Dvořák Bis.", ["unknown"])
    assert found.findings[0].message == "kept as it is, since training had no such letters: '龘龘', 'Dvořák'"
