import re

from seq2seq.corpus.augmentation import AUGMENTATIONS
from tests.places import ROOT


def test_the_page_has_the_table_of_all_augmentations() -> None:
    page = (ROOT / "docs/robustness.md").read_text(encoding="utf-8")
    table = page.partition("## The augmentations\n")[2].partition("\n\n`accents`")[0]
    rows = re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.M)
    assert rows == [(name, augmentation.reason) for name, augmentation in AUGMENTATIONS.items()]
