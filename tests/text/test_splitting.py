import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.text.splitting import rejoin, split


def count(texts):
    return [sum(1 + len(word) // 4 for word in text.split()) for text in texts]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("M. Dupont est venu hier. Il dort encore.", ["M. Dupont est venu hier.", "Il dort encore."]),
        ("J. K. Rowling has written it. We read it.", ["J. K. Rowling has written it.", "We read it."]),
        ("« Il est parti hier\u202f! » Elle pleure encore.", ["« Il est parti hier\u202f! »", "Elle pleure encore."]),
        ("Oui ! Il est parti.", ["Oui ! Il est parti."]),
    ],
)
def test_sentences_are_parts(text, expected):
    assert [part.text for part in split(text, 50, count)] == expected


@given(text=st.text() | st.text(alphabet="aB .!,é\u0301\u200d。\u202f»"), max_tokens=st.integers(1, 9))
def test_only_white_space_is_left_out_and_every_part_fits(text, max_tokens):
    parts = split(text, max_tokens, count)
    assert "".join("".join(part.text for part in parts).split()) == "".join(text.split())
    for part in parts:
        assert part.text and part.text == part.text.strip()
        assert text[part.start : part.start + len(part.text)] == part.text
        assert count([part.text])[0] <= max_tokens


def test_parts_are_joined_as_the_language_is_written():
    assert rejoin(["a", "b"], "fr") == "a b"
    assert rejoin(["a", "b"], "zh-CN") == "ab"
