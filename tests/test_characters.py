"""What is a word and a character, in every script."""

import pytest

from seq2seq.characters import has_spaces, has_spaces_between_sentences, letter_words, n_words, script_of, split_words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("L'été, à l'heure !", ["L'été,", "à", "l'heure", "!"]),
        ("iPhone手机，3元", ["iPhone", "手", "机", "，3", "元"]),
        ("が か\u3099 カード 々", ["が", "か\u3099", "カ", "ー", "ド", "々"]),
        ("น้ำใน", ["น้ำ", "ใ", "น"]),
        ("ខ្ញុំទៅ", ["ខ្ញុំ", "ទៅ"]),
        ("မြန်မာ", ["မြ", "န်", "မာ"]),
        ("नली तमिल।", ["नली", "तमिल।"]),
        ("서울에 간다", ["서울에", "간다"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
    ],
)
def test_words_stand_between_spaces_and_are_characters_where_there_are_none(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


def test_words_of_letters_have_their_marks() -> None:
    assert letter_words("l'e\u0301te\u0301, 3 நீர்! שָׁלוֹם شَجَرة نَ 我们_a1") == [
        *("l", "e\u0301te\u0301", "நீர்", "שָׁלוֹם", "شَجَرة", "نَ", "我", "们", "a")
    ]


def test_two_characters_count_as_a_word() -> None:
    assert [n_words(text) for text in ("", "un mot", "我", "我们", "我们去 a b")] == [0, 2, 1, 1, 4]


def test_languages_have_spaces_between_words_or_between_sentences_alone() -> None:
    languages = ["fr", "ko", "zh-CN", "zho_Hans", "JA", "th_TH", "my"]
    assert [has_spaces(language) for language in languages] == [True, True, *[False] * 5]
    assert [has_spaces_between_sentences(language) for language in languages] == [True, True, *[False] * 3, True, True]


def test_scripts_have_the_names_of_unicode() -> None:
    assert [script_of(letter) for letter in "aéж我あ\x00"] == ["Latin", "Latin", "Cyrillic", "Cjk", "Hiragana", ""]
