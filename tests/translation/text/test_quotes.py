"""Quotation marks and apostrophes as training had them."""

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.translation.text.origins import Text
from seq2seq.translation.text.rewriting import quote_edits

STRAIGHT = {"'": 0.3, '"': 0.1, "’": 0.01}
CURLY = {"’": 0.3, "“": 0.1, "”": 0.1}
FRENCH = {"’": 0.3, "«": 0.1, "»": 0.1}


def as_in(training: dict[str, float], text: str, src_lang: str = "fr") -> str:
    edits = quote_edits(text, lambda character: training.get(character, 0.0), src_lang)
    return Text.of(text).edited(edits).text


@pytest.mark.parametrize(
    ("training", "lang", "text", "expected"),
    [
        (STRAIGHT, "fr", "L’homme n’est pas là.", "L'homme n'est pas là."),
        (STRAIGHT, "fr", "Il dit “oui”.", 'Il dit "oui".'),
        (STRAIGHT, "fr", "Il dit « oui ».", 'Il dit "oui".'),
        (STRAIGHT, "fr", "Il dit «\u00a0oui\u202f», puis « non ».", 'Il dit "oui", puis "non".'),
        (STRAIGHT, "en", "It’s ‘odd’.", "It's 'odd'."),
        (STRAIGHT, "de", "„Nein“, sagt er.", '"Nein", sagt er.'),
        (CURLY, "en", "It's \"odd\" (\"very\").", "It’s “odd” (“very”)."),
        (CURLY, "fr", "Il dit « oui ».", "Il dit “oui”."),
        (FRENCH, "fr", "L'homme dit \"oui\".", "L’homme dit « oui »."),
        (FRENCH, "de", 'Er sagt "ja".', "Er sagt «ja»."),
        (FRENCH, "fr", "Il dit “oui”.", "Il dit « oui »."),
    ],
)  # fmt: skip
def test_marks_become_those_of_training(training: dict[str, float], lang: str, text: str, expected: str) -> None:
    assert as_in(training, text, lang) == expected


@pytest.mark.parametrize(
    ("training", "text"),
    [
        (STRAIGHT, "5′10″ de haut"),  # prime signs are units
        (STRAIGHT, "» Lire la suite"),  # an arrow
        (STRAIGHT, "2 « 3"),
        (CURLY, "He is 5'10\" tall."),
        (CURLY, "Type x='a' or f'abc' or print(\"a\")."),
        (CURLY, 'One " alone.'),
        (CURLY, "the dogs' bowl, rock 'n' roll"),
        (STRAIGHT | {"’": 0.2}, "L’homme"),  # training had both
        ({}, "L’homme “dit” « oui »."),  # training had neither
    ],
)
def test_what_could_mean_something_else_stays(training: dict[str, float], text: str) -> None:
    assert as_in(training, text) == text


# Of one style: where several stand side by side, one that changes is the neighbour of another.
marked = st.sampled_from(['"', "“”„", "«»"]).flatmap(lambda marks: st.text(f"ab '’‘{marks}\u00a0(.=5", max_size=20))


@example("‘»«", STRAIGHT)  # what becomes an apostrophe stands before a mark as one
@given(marked, st.sampled_from([STRAIGHT, CURLY, FRENCH]))
def test_twice_is_once(text: str, training: dict[str, float]) -> None:
    once = as_in(training, text, "de")  # the spaces of French marks would part words of code
    assert as_in(training, once, "de") == once
