"""How the documentation is written. tests/test_site.py follows its links."""

import re

from tests.documentation import pages
from tests.places import ROOT


def test_the_rows_of_a_table_have_equally_many_cells() -> None:
    ragged = []
    for page in pages():
        n_before = 0
        for number, line in enumerate(page.read_text().splitlines(), 1):
            n_cells = len(re.findall(r"(?<!\\)\|", line)) if line.startswith("|") else 0
            if n_before and n_cells and n_cells != n_before:
                ragged.append(f"{page.relative_to(ROOT)}:{number}")
            n_before = n_cells
    assert not ragged, r"GitHub ends a cell at each |, also inside code; write \|"


def test_each_picture_is_drawn_by_the_script_of_make_pictures_and_stands_on_a_page() -> None:
    drawn = set(re.findall(r"[\w-]+\.png", (ROOT / "docs/draw_pictures.py").read_text(encoding="utf-8")))
    text = "".join(page.read_text(encoding="utf-8") for page in pages())
    assert {file.name for file in (ROOT / "docs/images").glob("*.png")} == drawn
    assert set(re.findall(r"images/([\w-]+\.png)\)", text)) == drawn


def test_nobody_is_told_to_install_what_an_index_has_under_our_name() -> None:
    """A stranger's package has the name: a clone installs itself (`pip install '.[clean]'`), or the library alone."""
    files = [*pages(), *(ROOT / "seq2seq").rglob("*.py"), *(ROOT / "conf").rglob("*.yaml")]
    told = re.compile(r"""pip install [^\n`]*['" ]seq2seq(?![./\w-])""")
    assert [str(file) for file in files if told.search(file.read_text(encoding="utf-8"))] == []
