import gzip

import pytest

from seq2seq.translation.text.health import findings, unread
from tests.places import SHARED

MULTI30K = SHARED / "multi30k"
SOURCE = "Il a dit cela hier."


def kinds(source: str, translation: str, n_source: int = 5, n_target: int = 5) -> list[str]:
    return [finding.kind for finding in findings(source, translation, n_source, n_target)]


def messages(translation: str) -> list[str]:
    return [finding.message for finding in findings(SOURCE, translation, 5, 5) if finding.kind == "loop"]


@pytest.mark.parametrize(
    ("source", "translation", "n_source", "n_target", "expected"),
    [
        ("Bonjour", " ", 1, 0, ["empty"]),
        ("Bonjour", "", 20, 0, ["empty"]),  # and not also short
        ("", "", 0, 0, []),
        (" \u00a0", "Hello", 1, 1, []),
        ("Jean Dupont, Paris 75001", "Jean Dupont, Paris 75001", 4, 4, []),
        ("une phrase", "a", 10, 2, ["short"]),
        ("une phrase", "a", 10, 3, []),
        ("une phrase", "a", 9, 1, []),  # "I have no idea." is "Aucune idée."
        ("non non non non", "no no no no", 4, 4, []),  # the source does it too
    ],
)
def test_findings(source: str, translation: str, n_source: int, n_target: int, expected: list[str]) -> None:
    assert kinds(source, translation, n_source, n_target) == expected


@pytest.mark.parametrize(
    ("once", "enough"),
    [
        ("very very very big", "very very very very big"),
        ("he said he said", "he said he said he said"),
        ("a b c d e f g h " * 2, "a b c d e f g h " * 3),
        # A unit of at most 8 words, and three tenths of the words
        ("a b c d e f g h i " * 3, "a b c d e f g h " * 3),
        ("no no no no " + "a b c d e f g h i j", "no no no no " + "a b c d e f g h i"),
        # Marks between, with and without spaces
        ("oui, oui oui,", "oui, oui oui, oui."),
        ("oui,oui,oui", "oui,oui,oui,oui"),
        ("he said, he said.", "he said, he said; he said:"),
        ("« Non ! » « Non ! » « Non ! »", "« Non ! » « Non ! » « Non ! » « Non ! »"),
        ("He said ...", "He said . . . . ."),
        # Letters inside a word
        ("Nooooooo, he said", "He said A" + "A" * 7 + "X"),
        ("Hahahaha, he said", "SUEREREREREREER le chat"),
        ("un couscous à Pago Pago, barbarbar", "il barbarbarbarbara"),
        ("10000000000 xx", "aaaaaaaa 10 xx yy zz"),
        # Without spaces
        ("我" * 9, "我" * 10),
        ("我喜欢" * 4, "我喜欢" * 5),
        ("ในน้ำ" * 4, "ในน้ำ" * 5),
        ("我们都喜欢吃北京的苹果" * 4, "我们都喜欢吃北京的苹果" * 5),
        ("他走了 " + "我喜欢" * 4, "他走了 " + "我喜欢" * 5),
        ("是，是，是。", "是，是，是，是。"),
        ("نعم، نعم، نعم؟", "نعم، نعم، نعم، نعم؟"),
        ("कमला नदी। कमला नदी। वह", "कमला नदी। कमला नदी। कमला नदी।"),
        ("这是一个很长的句子没有空格也没有重复的部分" + "我喜欢" * 2, "这是一个很长的句子没有空格" + "我喜欢" * 5),
    ],
)
def test_a_loop_is_found_from_a_number_of_repetitions_on(once: str, enough: str) -> None:
    assert kinds(SOURCE, once) == []
    assert kinds(SOURCE, enough) == ["loop"]


def test_messages_name_what_is_repeated_and_how_often() -> None:
    assert messages("He said, he said, he said!") == ["The translation repeats 'he said' 3 times in a row."]
    assert messages("oui, oui oui, oui") == ["The translation repeats 'oui' 4 times in a row."]
    assert messages("我喜欢" * 6) == ["The translation repeats '我喜欢' 6 times in a row."]
    (long,) = messages("antidisestablishmentarianism floccinaucinihilipilification " * 3)
    assert long == "The translation repeats 'antidisestablishmentarianism floccinauc…' 3 times in a row."
    (short,) = findings("a", "b", 20, 5)
    assert short.message == "The translation has 5 tokens for 20 of the source."


@pytest.mark.parametrize(
    ("source", "translation", "is_copied"),
    [
        ("le chat dort ici", "Le chat dort ici.", True),
        ("le chat dort ici", "« Le chat dort ici ! »", True),
        ("我们昨天去了北京的公园。", "我们昨天去了北京的公园", True),
        ("我们昨天去了北京的公园。", "私たちは昨日北京に行きました", False),
        ("東京都庁前", "東京都庁前", False),
        ("वह कल नदी के पास गया।", "वह कल नदी के पास गया ।", True),
        ("nu\u031bo\u031b\u0301c sông chảy đi xa", "nước sông chảy đi xa.", True),
        ("هو ذهب أمس إلى البيت؟", "هو ذهب أمس إلى البيت؟", True),
        ("le chat dort", "le chat dort", False),  # three words may be the same in both languages
        ("Le Chat Dort ici", "Le Chat Dort ici", False),  # names
        ("un deux trois quatre cinq six sept huit neuf dix", "un deux trois quatre cinq six sept huit neuf ten", True),
        ("un deux trois quatre cinq six sept huit neuf dix", "un deux trois quatre cinq six sept huit nine ten", False),
        ("un deux trois quatre cinq", "un deux trois quatre cinq six", True),  # a fifth longer
        ("un deux trois quatre cinq", "un deux trois quatre cinq six sept", False),
    ],
)
def test_a_copy_is_nine_tenths_of_the_words_in_order(source: str, translation: str, is_copied: bool) -> None:
    assert kinds(source, translation) == ["copied"] * is_copied


@pytest.mark.skipif(not MULTI30K.is_dir(), reason=f"no corpus in {MULTI30K}")
def test_human_translations_are_hardly_ever_suspicious() -> None:
    french, english = (
        gzip.decompress((MULTI30K / f"test_2016_flickr.{lang}.gz").read_bytes()).decode().splitlines()
        for lang in ("fr", "en")
    )
    assert len(french) == 1000
    for sources, translations in ((french, english), (english, french)):
        suspicious = [
            (src, tgt)
            for src, tgt in zip(sources, translations, strict=True)
            if findings(src, tgt, len(src.split()), len(tgt.split()))
        ]
        assert not suspicious


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("\u200b", "U+200B"),
        (" \u200b\t\ufeff\u200b ", "U+200B, U+FEFF"),
        ("\x00\x1f", "U+0000, U+001F"),
        ("".join(map(chr, range(1, 9))), "U+0001, U+0002, U+0003, U+0004, U+0005, ..."),
    ],
)
def test_a_line_that_the_model_does_not_read_is_not_blank(line: str, names: str) -> None:
    message = f"The line holds only characters that the model does not read ({names})."
    assert unread(line) == [("empty", message)]
