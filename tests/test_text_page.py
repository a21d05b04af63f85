"""docs/text.md says what happens to each script, and this is what happens."""

import re
import unicodedata
from itertools import pairwise

import pytest

from seq2seq.corpus.sentences import sentence_ends
from seq2seq.translation.text.glossary import Glossary
from tests.places import ROOT

PAGE = (ROOT / "docs/text.md").read_text(encoding="utf-8")
ROWS = [tuple(row.strip("| ").split(" | ")) for row in re.findall(r"^\| \w.*`.*$", PAGE, re.MULTILINE)]


@pytest.mark.parametrize(("name", "sentences", "term", "found"), ROWS, ids=[row[0] for row in ROWS])
def test_each_row_is_as_run(name: str, sentences: str, term: str, found: str) -> None:
    expected = re.findall("`(.*?)`", sentences)
    text = "".join(expected)
    assert [text[a:b] for a, b in pairwise([0, *sentence_ends(text), len(text)])] == expected
    wanted, within = re.findall("`(.*?)`", term)
    within = unicodedata.normalize("NFD" if "decomposed" in term else "NFC", within)
    assert bool(Glossary([(wanted, "x")]).find(within)) == (found == "yes")


def test_the_page_has_every_script() -> None:
    assert len(ROWS) >= 18
