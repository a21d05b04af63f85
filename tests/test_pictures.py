"""The pictures of the documentation are those that `make pictures` draws."""

import re

from tests.documentation import pages
from tests.places import ROOT


def test_each_picture_is_drawn_by_the_script_and_stands_on_a_page() -> None:
    drawn = set(re.findall(r"[\w-]+\.png", (ROOT / "docs/draw_pictures.py").read_text(encoding="utf-8")))
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert {file.name for file in (ROOT / "docs/images").glob("*.png")} == drawn
    assert set(re.findall(r"images/([\w-]+\.png)\)", text)) == drawn
