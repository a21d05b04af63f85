"""Repairs before the rules: what has a fault is mended, and everything else stays as it is."""

import html
import sys
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.cleaning import measures
from seq2seq.corpus.cleaning.measures import Pair
from seq2seq.corpus.cleaning.repair import repaired
from seq2seq.errors import ConfigError
from tests.corpus.cleaning.test_measures import GOOD, WRITTEN


def mended(text):
    counts: Counter[str] = Counter()
    ((found, other),) = repaired(iter([(text, "x")]), counts)
    assert other == "x"
    return found, sorted(counts)


@pytest.mark.parametrize(
    ("text", "right", "names"),
    [
        ("L'Ã©tÃ© arrive.", "L'été arrive.", ["mojibake"]),
        ("Â« Oui. Â»", "« Oui. »", ["mojibake"]),
        ("Привет".encode().decode("cp1252"), "Привет", ["mojibake"]),
        ("Русский".encode().decode("cp1252", "replace"), "Ру\ufffd\ufffdкий", ["mojibake"]),  # lost bytes stay lost
        ("Γεια σου".encode().decode("latin-1"), "Γεια σου", ["mojibake"]),
        ("你好，世界".encode().decode("latin-1"), "你好，世界", ["mojibake"]),
        ("Tom &amp; L&#233;a &laquo;ici&raquo;", "Tom & Léa «ici»", ["entities"]),
        ("a &amp;amp; b", "a & b", ["entities"]),
        ("one&#10;two &lt;b&gt;", "one two <b>", ["entities"]),
        ("AT&T &unknown; R&D", "AT&T &unknown; R&D", []),
        ("<p>One<br/>two <b>three</b></p>", "One two three", ["tags"]),
        ('<a href="/x">Tom &amp; Léa</a>', "Tom & Léa", ["entities", "tags"]),
        ("a <!-- b", "a <!-- b", []),
        ("co\u00adopé&shy;rer", "coopérer", ["entities", "invisible"]),
        ("\ufeffបទ\u200bបញ្ជា", "បទ\u200bបញ្ជា", ["invisible"]),  # U+200B separates words of Khmer
        ("if a < b and c > d", "if a < b and c > d", []),
    ],
)
def test_what_is_mended(text, right, names):
    assert mended(text) == (right, names)


def test_good_text_of_every_script_stays():
    pairs = [*GOOD, *((english, other) for _, english, other in WRITTEN)]
    counts: Counter[str] = Counter()
    assert list(repaired(iter(pairs), counts)) == pairs and not counts


@given(st.text(st.sampled_from("aé<>/=\"'&;#1x ÃÂ©€a\u0301不ก.\u200b"), max_size=30))
def test_text_without_a_fault_stays_and_mending_twice_is_mending_once(text):
    pair = Pair(text, "x", "fr", "en")
    found, names = mended(text)
    if not measures.mojibake(pair) and not measures.entities(pair) and not measures.tags(pair):
        assert found == text
    assert (found == text) == (not names)
    assert len(found.splitlines()) <= max(1, len(text.splitlines()))


def test_what_is_escaped_comes_back():
    for text in ("Tom & Léa", '"x" < y > z', "l'été"):
        assert mended(html.escape(text))[0] == text


def test_without_ftfy_there_is_no_repair(monkeypatch):
    monkeypatch.setitem(sys.modules, "ftfy", None)
    with pytest.raises(ConfigError, match=r"--repair needs ftfy, .*: pip install 'ftfy>=6.3'"):
        mended("x")
