import random
import re
import unicodedata
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.corpus.augmentation.insertions import emoji, number, placeholder, url, with_piece

PIECES = [emoji, url, number, placeholder]
some_text = st.text() | st.text(alphabet="Aab ,.!?()«»'\u00a0")


def pieces(piece: Callable[[random.Random], str], n: int = 3000) -> set[str]:
    return {piece(random.Random(seed)) for seed in range(n)}


@pytest.mark.parametrize("piece", PIECES)
@settings(max_examples=30)
@given(texts=st.lists(some_text, min_size=1, max_size=4), seed=st.integers())
def test_every_text_has_the_piece_once_more_and_nothing_else(
    piece: Callable[[random.Random], str], texts: list[str], seed: int
) -> None:
    added = piece(random.Random(seed))  # the first that is drawn
    changed = with_piece(piece, texts, random.Random(seed))
    assert len(changed) == len(texts)
    for before, after in zip(texts, changed, strict=True):
        if not before.strip():
            assert after == before
            continue
        starts = [match.start() for match in re.finditer(f"(?={re.escape(added)})", after)]
        without = {after[:at].removesuffix("(") + after[at + len(added) :].removeprefix(")") for at in starts}
        without |= {after[:at] + after[at + len(added) :] for at in starts}
        assert before.replace(" ", "") in {text.replace(" ", "") for text in without}
        assert len(added) <= len(after) - len(before) <= len(added) + 4


def test_pieces_stand_where_people_put_them() -> None:
    texts = ["Hier, Léa dort !", "Yesterday, Léa slept!"]
    seen: dict[str, int] = {}
    for seed in range(2000):
        src, tgt = with_piece(lambda draw: "@", texts, random.Random(seed))
        seen[f"{src} / {tgt}"] = seen.get(f"{src} / {tgt}", 0) + 1
    assert set(seen) == {
        "Hier, Léa dort ! @ / Yesterday, Léa slept! @",
        "Hier, Léa dort @ ! / Yesterday, Léa slept @!",
        "@ Hier, Léa dort ! / @ Yesterday, Léa slept!",
        "Hier, @ Léa dort ! / Yesterday, @ Léa slept!",
        "Hier, Léa @ dort ! / Yesterday, Léa @ slept!",
    }
    assert 0.55 < seen["Hier, Léa dort ! @ / Yesterday, Léa slept! @"] / 2000 < 0.65


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("en 2010", {"en 2010 (7)", "7 en 2010"}),
        ("3 chats.", {"3 chats. 7", "3 chats 7.", "(7) 3 chats.", "3 (7) chats."}),
    ],
)
def test_two_numbers_do_not_become_one(text: str, expected: set[str]) -> None:
    assert {with_piece(lambda draw: "7", [text], random.Random(seed))[0] for seed in range(200)} == expected


def test_a_blank_reference_stays_blank_and_the_others_agree() -> None:
    assert with_piece(lambda draw: "@", ["Oui.", "", "Yes.", " "], random.Random(1)) == ["Oui. @", "", "Yes. @", " "]


def test_emoji_have_several_code_points_among_them() -> None:
    found = pieces(emoji)
    assert 38 <= len(found) <= 50
    assert {"😀", "👍🏽", "👩🏼\u200d💻", "👨\u200d👩\u200d👧\u200d👦", "❤\ufe0f", "🇫🇷"} <= found
    assert not [text for text in found if text.isalnum() or any(map(str.isspace, text))]
    assert all(unicodedata.category(text[0]) in ("So", "Nd") for text in found)


def test_urls_lead_to_domains_that_are_reserved_for_examples() -> None:
    found = pieces(url)
    hosts = {re.split("[/?]", re.sub(r"^(https?://|.*@)", "", text))[0] for text in found}
    assert len(found) > 1000
    assert all(re.fullmatch(r"(.+\.)?example(\.(com|org|net))?", host) for host in hosts)
    assert any("@" in text for text in found) and any(text.startswith("www.") for text in found)


def test_numbers_are_written_alike_in_all_languages() -> None:
    shapes = {re.sub(r"\d+", "1", text) for text in pieces(number)}
    assert shapes == {"(1)", "[1]", "1", "1:1", "#1", "1-1-1"}


def test_placeholders_are_no_markup() -> None:
    found = pieces(placeholder)
    assert {"{name}", "%s", "{{count}}", "$VAR"} <= found
    assert not [text for text in found if "<" in text or "\n" in text]
