"""A page in one file: whole, and safe against what stands in it."""

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

from hypothesis import given
from hypothesis import strategies as st

from seq2seq.reports.html import page
from tests.places import ROOT


class Parts(HTMLParser):
    """The content of each style and script, and the attributes of all elements."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.content: dict[str, str] = {}
        self.attributes: list[tuple[str, str | None]] = []
        self.inside = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.attributes += attrs
        self.inside = dict(attrs).get("id") or tag
        self.content.setdefault(self.inside, "")

    def handle_endtag(self, tag: str) -> None:
        self.inside = ""

    def handle_data(self, data: str) -> None:
        if self.inside:
            self.content[self.inside] += data


HOSTILE = ["</script>", "<!--<script>", "]]>", "&lt;", "\u2028", "$title ${data}", '"; alert(1); //', "\ud800"]


@given(st.lists(st.sampled_from(HOSTILE) | st.text(), max_size=4))
def test_any_text_comes_back_from_the_page_and_is_no_markup(texts: list[str]) -> None:
    html = page(" ".join(texts).encode(errors="replace").decode(), {"texts": texts}, "run.js")
    parts = Parts(html.encode().decode())  # half a pair of surrogates can be written, too
    assert json.loads(parts.content["data"]) == {"texts": texts}
    assert parts.content.keys() == Parts(page("", {"texts": []}, "run.js")).content.keys()


def test_the_policy_allows_only_the_style_and_the_program_of_the_page() -> None:
    parts = Parts(page("t", {}, "diff.js"))
    policy = next(value for name, value in parts.attributes if name == "content" and value and "default-src" in value)
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    digests = {
        kind: "'sha256-" + base64.b64encode(hashlib.sha256(parts.content[kind].encode()).digest()).decode() + "'"
        for kind in ("style", "script")
    }
    assert rules["default-src"] == "'none'"
    assert (rules["style-src"], rules["script-src"]) == (digests["style"], digests["script"])


def test_pages_name_no_address_but_that_of_svg() -> None:
    text = "".join(file.read_text(encoding="utf-8") for file in (ROOT / "seq2seq/reports/page").iterdir())
    assert set(re.findall(r"\w+://[^\s\"'`]+", text)) == {"http://www.w3.org/2000/svg"}
    assert not re.search(r"\bsrc=|@import|url\(|innerHTML|insertAdjacentHTML|document\.write|eval\(", text)
