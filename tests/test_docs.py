"""The documentation names what there is."""

import re
from pathlib import Path

from seq2seq.config import RunConfig
from tests.documentation import keys, pages
from tests.places import ROOT

# conf/search has search spaces, which are no presets.
GROUPS = [path for path in (ROOT / "conf").iterdir() if path.is_dir() and path.name != "search"]


def test_the_page_of_keys_has_each_once_with_its_default() -> None:
    page = (ROOT / "docs/configuration.md").read_text()
    rows = re.findall(r"^\| `([\w.]+)` \| `(.*?)` \| .+ \|$", page, re.M)
    assert rows == [(key, repr(default).replace("'", '"')) for key, default in keys(RunConfig)]


def test_the_page_of_keys_has_each_preset() -> None:
    page = (ROOT / "docs/configuration.md").read_text()
    groups = dict(re.findall(r"^\| `(\w+)` \| (`\w+`(?:, `\w+`)*) \|$", page, re.M))
    found = {name: re.findall(r"\w+", choices) for name, choices in groups.items()}
    assert found == {path.name: sorted(file.stem for file in path.glob("*.yaml")) for path in GROUPS}


def test_each_key_has_a_comment_where_it_is_defined() -> None:
    mute = []
    for key, _ in keys(RunConfig):
        *section, field = key.split(".")
        file = ROOT / "seq2seq/config" / f"{section[-1] if section else 'run'}.py"
        if not re.search(rf"^    {field}: .*  # \S", file.read_text(), re.M):
            mute.append(key)
    assert not mute


def anchors(page: Path) -> set[str]:
    """The fragments by which GitHub links to the headings of `page`."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def test_every_relative_link_leads_somewhere() -> None:
    broken = []
    for page in pages():
        for target, anchor in re.findall(r"\]\((?!https?:)([^)#\s]*)#?([^)\s]*)\)", page.read_text()):
            there = page.parent / target if target else page
            if not there.exists() or (anchor and anchor not in anchors(there)):
                broken.append(f"{page.relative_to(ROOT)}: {target}#{anchor}")
    assert not broken


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


def test_nobody_is_told_to_install_what_an_index_has_under_our_name() -> None:
    """A stranger's package has the name: a clone installs itself (`pip install '.[clean]'`), or the library alone."""
    files = [*pages(), *(ROOT / "seq2seq").rglob("*.py"), *(ROOT / "conf").rglob("*.yaml")]
    told = re.compile(r"""pip install [^\n`]*['" ]seq2seq(?![./\w-])""")
    assert [str(file) for file in files if told.search(file.read_text(encoding="utf-8"))] == []
