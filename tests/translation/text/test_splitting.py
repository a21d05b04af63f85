import random
from collections.abc import Callable, Sequence
from itertools import chain

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.translation.text.splitting import LineSplitter, Part, rejoin
from tests.effort import no_hang
from tests.translation.engines.models import tokenizer

FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"
FLAGS = "\U0001f1eb\U0001f1f7\U0001f1ec\U0001f1e7"  # of France and of the United Kingdom
ENGLAND = "\U0001f3f4\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f"


def count(texts: Sequence[str]) -> list[list[int]]:
    return [[0] * sum(1 + len(word) // 4 for word in text.split()) for text in texts]


def count_pieces(texts: Sequence[str]) -> list[int]:
    return [len(ids) for ids in tokenizer().encode(texts)]


def parts_of(text: str, max_tokens: int) -> list[str]:
    """With SentencePiece; all that must be true of every text is checked here."""
    parts, ids = LineSplitter(tokenizer().encode, max_tokens).split(text)
    assert ids == tokenizer().encode([part.text for part in parts])
    assert all(text.startswith(part.text, part.start) for part in parts)
    places = [0, *chain.from_iterable((part.start, part.end) for part in parts), len(text)]
    between = [text[a:b].strip() for a, b in zip(places[::2], places[1::2], strict=True)]
    assert not any(tokenizer().encode(between))  # white space, or what the tokenizer leaves out
    texts = [part.text for part in parts]
    assert all(
        n_tokens <= max_tokens or len(part) == 1 for part, n_tokens in zip(texts, count_pieces(texts), strict=True)
    )
    return texts


def fewest(text: str, max_tokens: int) -> int:
    return -(-count_pieces([text])[0] // max_tokens)


# --- sentences ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("M. Dupont est venu hier. Il dort encore.", ["M. Dupont est venu hier.", "Il dort encore."]),
        ("Oui ! Il est parti. Non.", ["Oui !", "Il est parti.", "Non."]),
        ("他昨天走了。我们没有听见他说什么！", ["他昨天走了。", "我们没有听见他说什么！"]),
        ("是的。他昨天一个人走了。", ["是的。", "他昨天一个人走了。"]),
        ("他昨天走了。 ！ 我们没有听见。", ["他昨天走了。 ！", "我们没有听见。"]),
    ],
)
def test_sentences_and_fragments_are_parts(text: str, expected: list[str]) -> None:
    assert [part.text for part in LineSplitter(count, 50).split(text)[0]] == expected


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
    assert [part.text for part in LineSplitter(count, 13).split(" ".join(clauses))[0]] == clauses


@pytest.mark.parametrize(
    "clauses",
    [
        ["我爱北京天安门，", "我们都很喜欢那里的人"],
        ["彼は昨日ここに来て、", "すぐに帰った"],
        ["ሰላም ለዓለም ሁሉ፣", "እንዴት ነህ ዛሬ"],
        ["သူသွားသည်၊", "ငါလာသည်"],
    ],
)
def test_every_script_has_its_commas(clauses: list[str]) -> None:
    text = (" " if clauses[0][-1] == "፣" else "").join(clauses)
    assert parts_of(text, max(count_pieces(clauses))) == clauses


def test_a_number_with_a_decimal_comma_is_no_clause() -> None:
    assert [part.text for part in LineSplitter(count, 5).split("il coûte 3,50 euros ici")[0]] == [
        "il coûte 3,50",
        "euros ici",
    ]


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


@pytest.mark.slow
@pytest.mark.parametrize(
    "text",
    [
        "abcdefghij" * 20_000,
        "." * 200_000,  # quadratic if each dot looked for the end of the row
        ". »" * 60_000,
        "." + " »" * 60_000 + "a",
        "M. " * 60_000,
        " " * 200_000 + "a",
        "e" + "\u0301" * 100_000,
        "\u200d" * 100_000,
        FLAGS * 20_000,
        "क" + "्क" * 60_000,
        "「我。」" * 20_000,
    ],
    ids=[
        *("letters", "dots", "closers", "row of closers", "abbreviations", "spaces", "marks", "joiners", "flags"),
        *("conjuncts", "quotations"),
    ],
)
def test_a_very_long_line_takes_time_in_proportion_to_its_length(text: str) -> None:
    with no_hang():  # less than a second, and a minute if it were quadratic
        parts_of(text, 100)


@pytest.mark.parametrize(
    ("unit", "max_tokens"),
    [
        (FAMILY, 30),
        (FAMILY, 100),
        (FLAGS[:2], 20),
        (ENGLAND, 60),
        ("e\u0323\u0302", 20),
        ("\U0001f44d\U0001f3fd", 25),
        ("क्षि", 20),
        ("ខ្ញុំ", 20),
        ("น้ำ", 20),
    ],
    ids=["family", "families", "flag", "England", "marks", "skin tone", "Hindi", "Khmer", "Thai"],
)
def test_what_looks_like_one_character_stays_whole(unit: str, max_tokens: int) -> None:
    assert count_pieces([unit])[0] <= max_tokens
    parts = parts_of(unit * 301, max_tokens)
    assert len(parts) > 1
    assert {part.replace(unit, "") for part in parts} == {""}


@given(text=st.text() | st.text(alphabet=f"aB .!é{FAMILY}{FLAGS}\ufdfa。\u202f»"), max_tokens=st.integers(1, 40))
@example(text=FAMILY * 3, max_tokens=6)  # as one character, it does not fit
@example(text="e" + "\u0301" * 500, max_tokens=20)
@example(text="\ufdfa" * 90, max_tokens=5)  # normalisation makes these longer
@example(text=" ".join(["\ufdfa"] * 90), max_tokens=50)
@example(text="①ﬁ…" * 90, max_tokens=5)
def test_any_text_fits(text: str, max_tokens: int) -> None:
    parts_of(text, max_tokens)


# --- how much a part holds ---

FOUR = "Il est parti hier. Elle pleure encore. Le chien dort bien. Nous mangeons tard."


@pytest.mark.parametrize(
    ("max_tokens", "max_sentences", "expected"),
    [
        (99, 1, ["Il est parti hier.", "Elle pleure encore.", "Le chien dort bien.", "Nous mangeons tard."]),
        (99, 2, ["Il est parti hier. Elle pleure encore.", "Le chien dort bien. Nous mangeons tard."]),
        (99, 3, ["Il est parti hier. Elle pleure encore. Le chien dort bien.", "Nous mangeons tard."]),
        (99, 4, [FOUR]),
        (99, None, [FOUR]),
        (14, None, ["Il est parti hier. Elle pleure encore.", "Le chien dort bien. Nous mangeons tard."]),
        (7, 4, ["Il est parti hier.", "Elle pleure encore.", "Le chien dort bien.", "Nous mangeons tard."]),
    ],
)
def test_a_part_holds_as_many_sentences_as_it_may(max_tokens: int, max_sentences: int, expected: list[str]) -> None:
    parts, _ = LineSplitter(count, max_tokens, max_sentences).split(FOUR)
    assert [part.text for part in parts] == expected


def test_a_line_that_fits_is_counted_as_a_whole() -> None:
    def count_together(texts: Sequence[str]) -> list[list[int]]:
        return [[0] * (1 + len(text.split())) for text in texts]  # one more for each text, as special ids are

    assert [part.text for part in LineSplitter(count_together, 15, None).split(FOUR)[0]] == [FOUR]


# --- joining ---


def joined(text: str, lang: str = "fr", max_tokens: int = 50, translate: Callable[[str], str] = str.upper) -> str:
    parts, _ = LineSplitter(count, max_tokens).split(text)
    return rejoin([translate(part.text) for part in parts], parts, lang)


@pytest.mark.parametrize("space", [" ", "  ", "\t", "\u00a0", "\u202f", "\u3000", " \t "])
def test_the_white_space_of_a_line_stays(space: str) -> None:
    assert joined(f" Il est parti hier.{space}Elle pleure encore. ") == f"IL EST PARTI HIER.{space}ELLE PLEURE ENCORE."


@pytest.mark.parametrize("end", ["\u2028", "\u2029", "\x0b", "\x0c", "\x1c", "\x1d", "\x1e", "\x85", "\r"])
def test_no_line_separator_comes_into_a_translation(end: str) -> None:
    line = f"Il est parti hier.{end}Elle pleure encore."
    assert joined(line) == "IL EST PARTI HIER. ELLE PLEURE ENCORE."


@pytest.mark.parametrize("lang", ["zh", "zh-CN", "JA_JP", "zho_Hans"])
def test_languages_without_spaces_get_none(lang: str) -> None:
    assert joined("Il est parti hier. Elle pleure encore.", lang) == "IL EST PARTI HIER.ELLE PLEURE ENCORE."


@pytest.mark.parametrize("lang", ["th", "lo-LA", "km", "my", "bo"])
def test_thai_and_its_neighbours_have_a_space_between_sentences(lang: str) -> None:
    assert joined("Il est parti hier. Elle pleure encore.", lang) == "IL EST PARTI HIER. ELLE PLEURE ENCORE."
    assert joined("他昨天走了。我们没有听见。", lang) == "他昨天走了。 我们没有听见。"


@pytest.mark.parametrize(
    "line",
    [
        "他昨天走了很久。我们没有听见他说什么！",
        "電車で家に帰りました。あなたも帰りますか？",
        "我爱北京天安门广场我爱北京天安门广场",
        "走吧!我走了.",
        "སྐད་ཡིག།བོད་པ།",
    ],
)
def test_languages_with_spaces_get_them_where_chinese_and_japanese_have_none(line: str) -> None:
    assert joined(line, "en", 3, lambda part: "word").split(" ") == ["word"] * len(
        LineSplitter(count, 3).split(line)[0]
    )
    assert joined(line, "zh", 3) == line


@pytest.mark.parametrize("word", ["abcdefghij" * 9, "http://example.org/" + "a/b-c_d." * 9, FAMILY * 20, "ሰላም" * 20])
def test_the_pieces_of_a_word_stay_one_word(word: str) -> None:
    line = f"un {word} deux"
    assert len(LineSplitter(count, 5).split(line)[0]) > 3
    assert joined(line, max_tokens=5, translate=str) == line


def test_stops_that_need_no_space_get_one_in_languages_that_have_them() -> None:
    assert joined("هل أنت هنا؟نعم أنا هنا.", "en", translate=lambda part: "Word.") == "Word. Word."
    assert joined("यह है।यह है।", "en", translate=lambda part: "Word.") == "Word. Word."


def test_a_part_without_translation_leaves_no_double_space() -> None:
    parts = [Part("a.", 0), Part("b.", 3, " "), Part("c.", 7, "  ")]
    assert rejoin(["A.", "", "C."], parts, "fr") == "A.  C."
    assert rejoin(["", "B.", ""], parts, "fr") == "B."


# --- invariants ---


@given(
    text=st.text() | st.text(alphabet="aB.! é走。「」।क़ीπ;؟།བน้ำာ်ب\u064bש\u05b7።ሰ։\u200d"),
    max_tokens=st.integers(1, 9),
)
def test_only_spaces_come_and_go_when_parts_are_joined(text: str, max_tokens: int) -> None:
    for lang in ("fr", "zh"):
        assert "".join(joined(text, lang, max_tokens, str).split()) == "".join(text.split())


@given(text=st.text(alphabet='aB.!? ,é\u0301नीπ;שָ\u200d("»'), max_tokens=st.integers(1, 9))
def test_a_text_with_spaces_is_itself_when_its_parts_are_joined(text: str, max_tokens: int) -> None:
    assert joined(text, "fr", max_tokens, str) == text.strip()


@given(
    text=st.text() | st.text(alphabet="aB .!,é\u0301\u200d。\u202f»"),
    max_tokens=st.integers(1, 9),
    max_sentences=st.none() | st.integers(1, 3),
)
def test_nothing_is_lost_and_every_part_fits(text: str, max_tokens: int, max_sentences: int | None) -> None:
    parts, _ = LineSplitter(count, max_tokens, max_sentences).split(text)
    assert "".join(part.before + part.text for part in parts) == text.strip()
    for part in parts:
        assert part.text and part.text == part.text.strip()
        assert not part.before.strip()
        assert text[part.start - len(part.before) : part.start + len(part.text)] == part.before + part.text
        assert len(count([part.text])[0]) <= max_tokens
