import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.translation.text.splitting import rejoin, split_line
from tests.translation.engines.models import tokenizer

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAGS = "\U0001f1eb\U0001f1f7\U0001f1ec\U0001f1e7"  # of France and of the United Kingdom
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


def count(texts: Sequence[str]) -> list[int]:
    return [sum(1 + len(word) // 4 for word in text.split()) for text in texts]


def count_pieces(texts: Sequence[str]) -> list[int]:
    return [len(ids) for ids in tokenizer().encode(texts)]


def parts_of(text: str, max_tokens: int) -> list[str]:
    """With SentencePiece; all that must be true of every text is checked here."""
    parts = split_line(text, max_tokens, count_pieces)
    assert "".join("".join(part.text for part in parts).split()) == "".join(text.split())
    assert all(text.startswith(part.text, part.start) for part in parts)
    texts = [part.text for part in parts]
    assert all(
        n_tokens <= max_tokens or len(part) == 1 for part, n_tokens in zip(texts, count_pieces(texts), strict=True)
    )
    return texts


def fewest(text: str, max_tokens: int) -> int:
    return -(-count_pieces([text])[0] // max_tokens)


# --- sentences ---


@pytest.mark.parametrize(
    "sentences",
    [
        # Abbreviations, initials, numbers
        ["M. Dupont est venu hier.", "Il dort encore."],
        ["J. K. Rowling has written it.", "We read it."],
        ["He has joined the U.S. Army today.", "We did not."],
        ["They live at No. 5 of that street.", "We do not."],
        ["She has always told him no.", "Nobody asked again."],
        ["Voir art. 5, fig. 3 et p. 12.", "Ensuite, lire la suite."],
        ["It costs 3.50 in the shop.", "5 of them are left."],
        # What does not begin a sentence
        ["Il hésite... puis il part. ensuite il revient."],
        ["« Où vas-tu ? » demande la voisine."],
        # Closers, with the spaces of French
        ["« Il est parti hier\u202f! »", "Elle pleure encore."],
        ["«\u202fIl est parti hier\u202f!\u202f»", "Elle pleure encore."],
        ["«\u00a0Il est parti hier.\u00a0»", "«\u00a0Elle pleure encore.\u00a0»"],
        ['"He has left us!"', '"She is still crying."'],
        ["(He has left us.)", "[She is still crying.]"],
        ["Es-tu vraiment là\u202f?!", "Je ne sais pas…", "— Moi non plus, dit-il."],
        # Other scripts
        ["यह एक वाक्य है।", "यह दूसरा वाक्य है॥", "यह तीसरा वाक्य है।"],
        ["هل أنت هنا الآن؟", "نعم أنا هنا الآن۔", "وأنت أين الآن؟"],
    ],
)
def test_sentences_are_parts(sentences: list[str]) -> None:
    assert [part.text for part in split_line(" ".join(sentences), 50, count)] == sentences


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Oui ! Il est parti.", ["Oui ! Il est parti."]),
        ("他昨天走了。我们没有听见他说什么！", ["他昨天走了。", "我们没有听见他说什么！"]),
        ("他说：「我明天就走。」然后他走了。", ["他说：「我明天就走。」", "然后他走了。"]),
        ("電車で帰りました。あなたも帰りますか？", ["電車で帰りました。", "あなたも帰りますか？"]),
        ("是的。他昨天一个人走了。", ["是的。他昨天一个人走了。"]),
    ],
)
def test_chinese_needs_no_space_and_fragments_stay_with_their_neighbour(text: str, expected: list[str]) -> None:
    assert [part.text for part in split_line(text, 50, count)] == expected


@pytest.mark.parametrize(
    "clauses",
    [
        ["le chat dort sous la table;", "le chien mange dans la cour"],
        ["le chat dort sous la table,", "le chien mange dans la cour"],
        ["le chat dort sous la table —", "le chien mange dans la cour"],
        ["القط ينام تحت الطاولة،", "والكلب يأكل في الفناء"],
    ],
)
def test_a_sentence_that_is_too_long_is_cut_between_clauses(clauses: list[str]) -> None:
    assert [part.text for part in split_line(" ".join(clauses), 13, count)] == clauses


def test_a_number_with_a_decimal_comma_is_no_clause() -> None:
    assert [part.text for part in split_line("il coûte 3,50 euros ici", 5, count)] == ["il coûte 3,50", "euros ici"]


# --- with SentencePiece ---


@pytest.mark.parametrize("max_tokens", [20, 100])
def test_plain_words_fill_the_parts(max_tokens: int) -> None:
    words = ["le", "chat", "la", "voisine", "chien", "balle", "rouge", "gare", "antidisestablishmentarianism"]
    text = " ".join(random.Random(0).choices(words, k=10_000))
    assert len(parts_of(text, max_tokens)) < 1.5 * fewest(text, max_tokens)


@pytest.mark.parametrize("letters", ["abcdefghij", "我爱北京天安门广场", "ሰላምለዓለም"])
def test_a_line_without_spaces_fills_the_parts(letters: str) -> None:
    text = "".join(random.Random(0).choices(letters, k=3000))
    assert len(parts_of(text, 50)) < 1.5 * fewest(text, 50)


@pytest.mark.parametrize(
    "text",
    [
        "abcdefghij" * 100_000,
        "." * 1_000_000,  # quadratic if each dot looked for the end of the row
        ". »" * 100_000,
        "." + " »" * 100_000 + "a",
        "M. " * 100_000,
        " " * 1_000_000 + "a",
        "e" + "\u0301" * 200_000,
        "\u200d" * 200_000,
        FLAGS * 50_000,
    ],
    ids=["letters", "dots", "closers", "row of closers", "abbreviations", "spaces", "marks", "joiners", "flags"],
)
def test_a_megabyte_takes_a_second(text: str) -> None:
    parts_of(text, 100)


@pytest.mark.parametrize(
    ("unit", "max_tokens"),
    [(FAMILY, 30), (FAMILY, 100), (FLAGS[:2], 20), (ENGLAND, 60), ("e\u0323\u0302", 20), ("\U0001f44d\U0001f3fd", 25)],
    ids=["family", "families", "flag", "England", "marks", "skin tone"],
)
def test_what_looks_like_one_character_stays_whole(unit: str, max_tokens: int) -> None:
    assert count_pieces([unit])[0] <= max_tokens
    parts = parts_of(unit * 301, max_tokens)
    assert len(parts) > 1
    assert {part.replace(unit, "") for part in parts} == {""}


def test_a_sequence_that_does_not_fit_is_cut_all_the_same() -> None:
    assert len(parts_of(FAMILY * 3, 6)) > 3
    assert len(parts_of("e" + "\u0301" * 500, 20)) > 10


@pytest.mark.parametrize("text", ["\ufdfa" * 90, " ".join(["\ufdfa"] * 90), "①ﬁ…" * 90])
@pytest.mark.parametrize("max_tokens", [5, 50])
def test_characters_that_normalisation_makes_longer(text: str, max_tokens: int) -> None:
    parts_of(text, max_tokens)


@given(text=st.text() | st.text(alphabet=f"aB .!é{FAMILY}{FLAGS}\ufdfa。\u202f»"), max_tokens=st.integers(1, 40))
def test_any_text_fits(text: str, max_tokens: int) -> None:
    parts_of(text, max_tokens)


# --- invariants ---


@given(text=st.text() | st.text(alphabet="aB .!,é\u0301\u200d。\u202f»"), max_tokens=st.integers(1, 9))
def test_only_white_space_is_left_out_and_every_part_fits(text: str, max_tokens: int) -> None:
    parts = split_line(text, max_tokens, count)
    assert "".join("".join(part.text for part in parts).split()) == "".join(text.split())
    for part in parts:
        assert part.text and part.text == part.text.strip()
        assert text[part.start : part.start + len(part.text)] == part.text
        assert count([part.text])[0] <= max_tokens


def test_no_tokens_are_refused() -> None:
    with pytest.raises(ValueError, match="max_tokens=0; a part needs at least 1 token"):
        split_line("a", 0, count)


def test_parts_are_joined_as_the_language_is_written() -> None:
    assert rejoin(["a", "b"], "fr") == "a b"
    assert rejoin(["a", "b"], "zh-CN") == "ab"
    assert rejoin(["a", "b"], "ja_JP") == "ab"
