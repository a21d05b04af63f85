"""What is true of any text, in any mix of scripts, marks, markup and placeholders, with a model that copies."""

import dataclasses
import html
import unicodedata
from collections import Counter
from pathlib import Path

import pytest
import regex
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.characters import STOPS
from seq2seq.translation.text.kept import KINDS, things
from seq2seq.translation.translator import Translator
from tests.effort import n_steps, no_hang
from tests.toy_languages import LANGUAGES
from tests.translation.copying import Copying, tokenizer

WORDS = ["Un", "chat", "CHAT DORT", "l'été", "arc-en-ciel", "नली", "שָׁלוֹם", "சென்னை", "ክቡር", "བོད་", "မြန်မာ"]
for language in LANGUAGES.values():
    WORDS += [*language.who[:2], *language.what[:2], language.unknown, language.sentence(0, 1, 2, 3)[0]]
MARKS = [
    *".!?…。！？．।॥؟:;·՞։።፧།༎၊။‼⁇⁉\"'’“”«»()[]「」,、،-–—/&%$#@*_`|\\",
    *"\u0301\u0947\u064b\u05b7\u0e31\u3099\u0640",
]
SPACES = [" ", " ", " ", "  ", *"\t\u00a0\u202f\u3000\u2028\x0c\u200b\u00ad\u200d\ufeff"]
THINGS = [
    "<b>", "</b>", "<br/>", "<!-- a -->", "&nbsp;", "&amp;", "&eacute;", "http://a.b/c?d=1", "www.a.fr", "a@b.fr",
    "{x}", "{{ y }}", "%s", "%(n)d", "%1$s", "$t(a)", "@:a.b", ":smile:", "\\n", "{n, plural, one {a} other {b}}", "😀",
    "👩‍👩‍👧", "🇫🇷", "1,500.00", "12:30", "3", "½", "ﬁ",
]  # fmt: skip
bits = st.one_of(
    st.sampled_from(WORDS),
    st.sampled_from(SPACES),
    st.sampled_from(MARKS),
    st.sampled_from(THINGS),
    st.characters(exclude_categories=["Cs", "Cn"], exclude_characters="\n"),
)
any_line = st.lists(bits, max_size=16).map("".join)
any_kinds = st.sampled_from([(), KINDS])


@pytest.fixture(scope="module")
def model(random_run: Path) -> TrainedModel:
    return dataclasses.replace(TrainedModel.read(random_run), tokenizer=tokenizer())


@pytest.fixture(scope="module")
def copies(model: TrainedModel) -> Translator:
    return Translator([model], Copying())


# Stops and quotation marks that training had not are read as others; marks that writers may leave out are left out.
OTHERWISE = regex.compile(
    rf"(?V1){STOPS}|\s|\p{{Cc}}|\p{{Cf}}|\p{{Quotation_Mark}}|’"
    r"|[\p{M}&&[\p{Script_Extensions=Arabic}\p{Hebrew}]]|[\u0300\u0301\u0640]"
)


def seen(text: str) -> str:
    """The letters and marks of a text, each in one of its forms, without what may come out otherwise."""
    return OTHERWISE.sub("", unicodedata.normalize("NFKC", html.unescape(text)).casefold())


def assert_kept(line: str, keep: tuple[str, ...], text: str) -> None:
    if regex.search(r"\p{Cc}|\p{Cf}|&", line):
        return  # what goes, or is decoded, may have kept a thing apart from a letter that makes it another thing
    for thing, n in Counter(each.text for each in things(line, keep)).items():
        assert n <= text.count(thing) <= line.count(thing), thing


@given(line=any_line, keep=any_kinds)
@example("医生看见https://example.org/a?b=1每天！吃了%d面包。", KINDS)
def test_nothing_of_a_line_is_lost_or_comes_twice(copies: Translator, line: str, keep: tuple[str, ...]) -> None:
    (found,) = copies.translate([line], keep=keep, alignment=True)
    assert found.source == line and len(found.text.splitlines()) <= 1
    assert Counter(seen(found.text)) == Counter(seen(line))
    assert_kept(line, keep, found.text)


@given(line=any_line, keep=any_kinds)
def test_all_that_a_model_says_comes_out_with_all_that_was_kept(
    model: TrainedModel, line: str, keep: tuple[str, ...]
) -> None:
    (said,) = model.tokenizer.encode(["bread"])
    engine = Copying(lambda _: said)
    (found,) = Translator([model], engine).translate([line], keep=keep)
    assert found.text.lower().count("bread") == len(engine.given)
    assert_kept(line, keep, found.text)
    assert bool(found.text) == bool(engine.given or found.kept)


UNITS = [
    "Un chat. ",
    "医生看见面包。",
    "नली ",
    "ฉันไป",
    "ABC ",
    "a",
    "é",
    "龘",
    "<b>a</b> ",
    "😀 a",
    "a! ",
    "！",
    "「",
    "l'",
    "a\u2029",
    "chat.\\n",
]


@pytest.mark.parametrize("unit", [*THINGS, *UNITS])
def test_the_work_is_proportional_to_the_length(copies: Translator, unit: str) -> None:
    def steps(n: int) -> int:
        return n_steps(lambda: copies.translate([unit * n], keep=KINDS, alignment=True))

    with no_hang():
        steps(1)  # what only the first call does is not counted
        few, many = steps(25), steps(100)
    assert many < 6 * few  # 16 times as many, if it were quadratic
