"""What of Markdown is translated, and that all else stays."""

import re

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from tests.effort import n_steps
from tests.translation.forms.reading import texts_of, translated

PAGE = """\
---
title: Un chat
---
# Le chat `dort` #

Un **chat** dort
avec [le *chien*](http://a.b/c_d "le titre").

Titre
=====

- [ ] Un chien
- ![le chat](cat.png) mange `du   pain`

    > 1. Le lapin
    >    dort

| Chat | `chien` |
|------|:-------:|
| a\\|b | le **lapin** [là] |

```python
chat = 1
```

    code = 2

<div>
Le chat
</div>

Voir [ici], [là][] et [nous][ici].[^1]

[ici]: http://a.b "Le chat"
[là]: c.md
"""
TRANSLATED = """\
---
title: Un chat
---
# LE CHAT `dort` #

UN **CHAT** DORT AVEC
[LE *CHIEN*](http://a.b/c_d "le titre").

TITRE
=====

- [ ] UN CHIEN
- ![LE CHAT](cat.png) MANGE `du   pain`

    > 1. LE LAPIN
    >    DORT

| CHAT | `chien` |
|------|:-------:|
| A\\|B | LE **LAPIN** [LÀ][là] |

```python
chat = 1
```

    code = 2

<div>
Le chat
</div>

VOIR [ICI][ici], [LÀ][là] ET [NOUS][ici].[^1]

[ici]: http://a.b "Le chat"
[là]: c.md
"""


def upper(text: str) -> str:
    """The words of a text in capitals, as a translation that leaves tags as they are."""
    return "".join(part if part.startswith("<") else part.upper() for part in re.split("(<[^<>]*>)", text))


@pytest.mark.parametrize("end", ["\n", "\r\n"])
def test_only_the_texts_of_a_page_change(end: str) -> None:
    page = PAGE.replace("\n", end)
    assert translated(page, "markdown") == page
    assert translated(page, "markdown", translate=upper) == TRANSLATED.replace("\n", end)


@pytest.mark.parametrize(
    ("text", "texts"),
    [
        # Elements
        ("Un `a``b` ``c`d`` ` chat", ['Un <x id="1"/> <x id="2"/> ` chat']),
        ("Un ***chat*** _noir_ ~~dort~~.", ['Un <g id="1">chat</g> <g id="2">noir</g> <g id="3">dort</g>.']),
        ("Un **chat *noir* dort**.", ['Un <g id="1">chat <g id="2">noir</g> dort</g>.']),
        ("2 * 3 * 4, mon_nom_ici, *chat", ["2 * 3 * 4, mon_nom_ici, *chat"]),
        (r"Un \*chat\* noir\_dort", ['Un <g id="1"/>chat<g id="2"/> noir<g id="3"/>dort']),
        ("Un [chat](a (b).md) et [chat](<a b> 'c')", ["Un [chat](a (b).md) et " '<g id="1">chat</g>']),
        ("Un [chat](a(b).md)", ['Un <g id="1">chat</g>']),
        ("Un [*chat*][a] [noir] [![dort](b)](c)", [
            'Un <g id="1"><g id="2">chat</g></g> [noir] <g id="3"><g id="4">dort</g></g>'
        ]),
        ("Un [](a) ![](b.png) chat", ['Un <x id="1"/> <x id="2"/> chat']),
        ("Un chat <http://a.b> <a@b.fr> <b>noir</b>[^1]", ['Un chat <x id="1"/> <x id="2"/> <b>noir</b><x id="3"/>']),
        ("Si $a_1 * b_2$, 5 $ et 6 $", ['Si <x id="1"/>, 5 $ et 6 $']),
        ("Un <x> *chat*", ["Un <x> *chat*"]),  # the tags of the text are not ours
        # Texts
        ("Un  \nchat\\\nnoir\ndort", ["Un", "chat", "noir dort"]),
        ("> [!NOTE]\n> Un chat\n\n::: tip\nUn chien\n:::\n", ["Un chat", "Un chien"]),
        ("[^1]: Un chat dort.\n- [x] Un chien", ["Un chat dort.", "Un chien"]),
        ("`a`\n\n![](b)\n\n---\n\n***\n\n[a]: b\n", []),
        ("---\nUn chat\n---\nUn chien", ["Un chien"]),
        ("---\n\nUn chat", ["Un chat"]),
        ("+++\na = 1\n+++\nUn chat", ["Un chat"]),
        ("a | b\n-|-\nUn | `c`\n", ["a", "b", "Un"]),
        ("> | a | b |\n> |---|---|\n> Un | chat\n", ["a", "b", "Un", "chat"]),
        ("1. Un\n   ```\n   chat\n   ```\n   chien", ["Un", "chien"]),
        ("医生*每天*看见\n面包。", ['医生<g id="1">每天</g>看见面包。']),
    ],
)  # fmt: skip
def test_texts_have_tags_for_elements(text: str, texts: list[str]) -> None:
    assert texts_of(text, "markdown") == texts


def test_elements_go_where_their_tags_go() -> None:
    moved = {
        'Un <g id="1">chat</g> <g id="2">noir</g> <x id="3"/>': 'A <g id="2">black</g> <x id="3"/> <g id="1">cat</g>'
    }
    assert (
        translated("Un [chat](a) *noir* `b c`", "markdown", translate=moved.__getitem__) == "A *black* `b c` [cat](a)"
    )
    assert translated("*Un* chat", "markdown", translate=lambda _: "</g>A cat") == "A cat"


@pytest.mark.parametrize(
    ("text", "translation", "html"),
    [
        ("**Note:** read", '<g id="1">注意：</g>请读', "<strong>注意：</strong> 请读"),
        ("He says **“yes”** .", '他说<g id="1">“好”</g>。', "他说 <strong>“好”</strong>。"),
        ("a _word_ here", '这是<g id="1">词</g>的', "这是<em>词</em>的"),
        ("__A__ cat", '<g id="1">ดี</g>แมว', "<strong>ดี</strong>แมว"),
        ("~~No.~~ Yes", '<g id="1">不。</g>是', "<s>不。</s> 是"),
        ("**A** **B** c", '<g id="1">甲</g><g id="2">乙</g>丙', "<strong>甲</strong> <strong>乙</strong>丙"),
        ("a ***b*** [**c**](d) e", '甲<g id="1">乙！</g><g id="2"><g id="3">丙</g></g>丁', (
            '甲<em><strong>乙！</strong></em><a href="d"><strong>丙</strong></a>丁'
        )),
        ("a **`b` *c* e** d", '甲<g id="1"><x id="2"/><g id="3">丙</g></g>丁', (
            "甲 <strong><code>b</code><em>丙</em></strong> 丁"
        )),
        ("_Un_ chat", '<g id="1">A</g> cat', "<em>A</em> cat"),
    ],
)  # fmt: skip
def test_emphasis_is_emphasis_where_no_spaces_are_between_words(text: str, translation: str, html: str) -> None:
    found = translated(text, "markdown", translate=lambda _: translation)
    assert MarkdownIt().enable("strikethrough").render(found) == f"<p>{html}</p>\n"
    assert ("_" in found) == (text == "_Un_ chat")


def test_a_line_of_markdown_ends_at_spaces_alone_since_its_end_is_one() -> None:
    page = "[un](http://a.b/一二) chat\ndort\n"
    moved = '<g id="1">三四五六七八</g>九十一二三四五六七八九十'
    assert translated(page, "markdown", translate=lambda _: moved) == (
        "[三四五六七八](http://a.b/一二)九十一二三四五六七八九十\n"
    )


BITS = [
    "un", "Chat", "医生", "1", " ", "  ", "\n", "\n\n", "\n    ", "\r\n", "\t", "*", "**", "_", "`", "``", "```",
    "~~~", "[", "](a)", "]", "][a]", "[a]: b", "![", "<b>", "</b>", "<g>", "<!--", "<http://a.b>", "\\", "\\\n", "|",
    "|-|-|", "> ", "- ", "1. ", "# ", "---\n", "===", "$", "&amp;", "[^a]", "\x00", "\x0c", "\u2028", "\u00a0",
    "\ufeff", "😀",
]  # fmt: skip


@given(st.lists(st.sampled_from(BITS) | st.characters(exclude_categories=["Cs"]), max_size=30).map("".join))
@example("a | b\n-|-\n\\|")
@example("\u00a0# a #\u00a0")
@example("un\n\u00a0\nun")
@example("\x0c\nun")
@example("```\nun\n```\u00a0\nun")
@example("> un\n> \u3000\n\nun  \nun")
def test_a_text_that_is_not_changed_stays_to_the_byte(text: str) -> None:
    assert translated(text, "markdown") == text
    translated(text, "markdown", translate=lambda tagged: tagged + "!")


@pytest.mark.parametrize(
    "bit", ["*a ", "*a b_ ", "*a* ", "[a", "[a](b) ", "`a", "`a``", "]", "](", "<a", "_a*b", "\\*", "| a ", "$a"]
)
def test_the_time_is_proportional_to_the_length(bit: str) -> None:
    few, many = (n_steps(lambda n=n: translated(f"a{bit * n}b", "markdown")) for n in (100, 400))  # type: ignore[misc]
    assert many < 6 * few  # 16 times as many, if it were quadratic
