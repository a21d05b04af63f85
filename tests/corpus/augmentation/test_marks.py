import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.augmentation.marks import other_quotes, without_stop

texts = st.text() | st.text(alphabet="ab .…!?\"'’”»)]}«“(\u00a0")


def quotes(text: str) -> set[str]:
    """All that chance can make of a text."""
    return {other_quotes(text, random.Random(seed)) for seed in range(20)}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("J'ai dit l'heure.", {"J’ai dit l’heure."}),
        ("J’ai dit ‘oui’.", {"J'ai dit 'oui'."}),
        ('Il a dit "oui".', {"Il a dit “oui”.", "Il a dit «\u00a0oui\u00a0»."}),
        ('("Don\'t!")', {"(“Don’t!”)", "(«\u00a0Don’t!\u00a0»)"}),
        ("She said 'yes' and 'no'.", {"She said ‘yes’ and ‘no’."}),
        ("the dogs' bones", {"the dogs’ bones"}),
        ("« Oui »", {'"Oui"'}),
        ("«\u202fOui\u202f», „ja“, “yes”", {'"Oui", "ja", "yes"'}),
        ("‹\u00a0Oui\u00a0›", {"'Oui'"}),
        ('l’eau "chaude", l\'eau', {"l'eau \"chaude\", l'eau"}),
        ('5" of rain', {'5" of rain'}),
        ('"', {'"'}),
        ("Rien.", {"Rien."}),
        ("", {""}),
    ],
)
def test_quotes_become_the_other_ones(text: str, expected: set[str]) -> None:
    assert quotes(text) == expected


@pytest.mark.parametrize("text", ["J'ai dit l'heure.", 'Il a dit "oui", puis "non".', '("Don\'t!")'])
def test_straight_quotes_come_back(text: str) -> None:
    for changed in quotes(text):
        assert changed != text
        assert quotes(changed) == {text}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Il pleut.", "Il pleut"),
        ("Il pleut...", "Il pleut"),
        ("Il pleut…", "Il pleut"),
        ("Il pleut .", "Il pleut"),
        ("Il pleut. ", "Il pleut "),
        ("« Il pleut. »", "« Il pleut »"),
        ("«\u00a0Il pleut.\u00a0»", "«\u00a0Il pleut\u00a0»"),
        ('He said "no."', 'He said "no"'),
        ('He said "no".', 'He said "no"'),
        ("(See p. 3.)", "(See p. 3)"),
        ("M.", "M"),
        ("Des pommes, etc.", "Des pommes, etc"),
        ("Pourquoi ?", "Pourquoi ?"),
        ("Non !", "Non !"),
        ("Quoi ?...", "Quoi ?"),
        ("他说：「他走了。」", "他说：「他走了」"),
        ("他走了吗？", "他走了吗？"),
        ("वह गया।", "वह गया"),
        ("أين؟", "أين؟"),
        ("ذهب۔", "ذهب"),
        ("Il dit (...)", "Il dit (...)"),
        ("Il dit « ... »", "Il dit « ... »"),
        ('Il dit "..."', 'Il dit "..."'),
        ("...", "..."),
        ("Il pleut", "Il pleut"),
        ("3.5", "3.5"),
        ("Il pleut. 😀", "Il pleut. 😀"),
        (" ", " "),
        ("", ""),
    ],
)
def test_the_last_stop_goes(text: str, expected: str) -> None:
    assert without_stop(text, random.Random(1)) == expected


@given(texts)
def test_without_a_stop_there_is_none_to_take_away(text: str) -> None:
    once = without_stop(text, random.Random(1))
    assert without_stop(once, random.Random(1)) == once
    assert bool(once.strip()) == bool(text.strip())


@given(texts)
def test_the_stop_takes_nothing_else_with_it(text: str) -> None:
    gone = text.translate(dict.fromkeys(map(ord, ".…")))
    left = without_stop(text, random.Random(1)).translate(dict.fromkeys(map(ord, ".…")))
    assert "".join(left.split()) == "".join(gone.split())
