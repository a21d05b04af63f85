"""Markdown (CommonMark, with tables and front matter): headings, paragraphs, items and cells are texts.

markdown-it finds the blocks. Code, HTML, front matter, definitions of links, rules and all markers stay, to the byte.
Inside a text, an element becomes a tag of XLIFF, which `--keep markup` puts where its words go:

    See [the *page*](a.md), `x` or ![a cat](c.png).
    See <g id="1">the <g id="2">page</g></g>, <x id="3"/> or <g id="4">a cat</g>.

The lines of a paragraph are one text, which ends at a hard line break. A text that its translation leaves as it was
stays as it was wrapped; any other is wrapped anew.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, NamedTuple

import regex
from markdown_it import MarkdownIt
from markdown_it.common.utils import normalizeReference

from seq2seq.translation.forms.piece import Line, Piece, columns, has_words, numbered, unwrap, wrap

_CLOSING = re.compile(r"[ \t]+#+$")  # the marks after a heading
_HARD_BREAK = re.compile(r"(?: {2,}|\\)$")
_ALONE = re.compile(r"\[![A-Za-z]+\]|:::.*")  # [!NOTE] and the like are no words
_BEFORE = re.compile(r"\[[ xX]\]\s+|\[\^[^\]\s]+\]:\s+")  # a box to tick, a footnote
_CELL = re.compile(r"(?:\\.|[^\\|])+")

_EMPHASIS = re.compile(r"\*{1,3}|_{1,3}|~~")
_ELEMENT = re.compile(
    r"(?P<escape>\\[!-/:-@\[-`{-~])"
    r"|(?P<code>`+)"
    r"|(?P<thing><[A-Za-z][A-Za-z0-9+.-]{1,31}:[^\s<>]*>|<[^\s<>@]{1,64}@[^\s<>]+>"  # an address
    r"|\[\^[^\]\s]{1,100}\]"  # a footnote
    r"|\$(?![\s$])[^$`]{0,200}(?<=[^\s\\])\$(?!\d))"  # a formula
    r"|(?P<html><[!/?A-Za-z][^<>]*>)"  # is markup already
    r"|(?P<open>!?\[)"
    r"|(?P<close>\](?:"
    r"\(\s*(?:<[^<>]{0,2000}>|[^\s()<][^\s()]{0,2000}(?:\([^\s()]{0,2000}\)[^\s()]{0,2000})?)?"
    r"(?:\s+(?:\"[^\"]{0,500}\"|'[^']{0,500}'|\([^()]{0,500}\)))?\s*\)"
    r"|\[[^\[\]]{0,500}\])?)"
    rf"|(?P<emphasis>{_EMPHASIS.pattern})"
)
_NESTED = 8  # elements inside each other; of more, the outer ones are left as they are
_TAG = re.compile(r"<g id=\"(?P<opens>\d+)\">|(?P<closes></g>)|<[gx] id=\"(?P<void>\d+)\"/>")
_PUNCTUATION = regex.compile(r"[\p{P}\p{S}]")  # to CommonMark
_IN_WORD = regex.compile(r"[^\s\p{P}\p{S}]")
_LIKE_A_TAG = re.compile(r"</?[gx]\b")
_SPACE = "\ufdd0"  # a noncharacter, which no text has: a space of an element, where no line may end


class _Text(NamedTuple):
    """A text, its source, and what makes a new source of a translation that is another text."""

    source: str
    tagged: str
    render: Callable[[str], str]

    def translated(self, translation: str) -> str:
        return self.source if translation == self.tagged else self.render(translation)


class _Inside(NamedTuple):
    """A line of a paragraph, and where its text stands in it."""

    line: Line
    start: int
    text: str


class _Mark(NamedTuple):
    """Where emphasis begins or ends in a translation."""

    element: int
    start: int
    end: int
    closes: bool


class _Element(NamedTuple):
    start: int
    end: int
    text: str
    tag: str


def read_markdown(lines: Iterable[str]) -> Iterator[Piece]:
    """The texts of a document, and what stands between them, as pieces. It is read whole: links are defined at its end.

    Args:
        lines: with their line ends.
    """
    all_lines = list(numbered(lines))
    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["block"])  # which leaves line ends and inner text alone
    n_before = _n_front_matter(all_lines)
    defined: dict[str, Any] = {}
    texts = ["" if i < n_before else _for_parser(line.text) for i, line in enumerate(all_lines)]
    tokens = parser.parse("\n".join(texts), defined)
    labels = defined.get("references", {})
    done = 0
    in_row = False
    for token in tokens:
        in_row = token.type == "tr_open" or (in_row and token.type != "tr_close")
        if token.type != "tr_open" and (in_row or token.type != "inline"):
            continue
        assert token.map is not None  # markdown-it gives it to these
        start, end = token.map
        yield from (line.untouched() for line in all_lines[done:start])
        if in_row:
            yield _piece(all_lines[start].source, all_lines[start].number, _row(all_lines[start], labels))
        else:
            yield from _paragraph(all_lines[start:end], token.content.split("\n"), labels)
        done = end
    yield from (line.untouched() for line in all_lines[done:])


def _for_parser(text: str) -> str:
    """The line, but blank if it is only white space: to markdown-it a line of U+00A0 is text, and then it strips it."""
    return text if text.replace(">", " ").strip() else text.rstrip()


def _n_front_matter(lines: Sequence[Line]) -> int:
    fence = lines[0].text.rstrip() if lines else ""
    if fence not in ("---", "+++"):
        return 0
    ends = (fence, "...") if fence == "---" else (fence,)
    return next((n for n, line in enumerate(lines[1:], start=2) if line.text.rstrip() in ends), 0)


def _piece(source: str, number: int, parts: Sequence[str | _Text]) -> Piece:
    def render(translations: Sequence[str]) -> str:
        each = iter(translations)
        return "".join(part if isinstance(part, str) else part.translated(next(each)) for part in parts)

    return Piece(source, number, [part.tagged for part in parts if isinstance(part, _Text)], render)


def _row(line: Line, labels: Mapping[str, Any]) -> list[str | _Text]:
    """A row of a table, with a text for each cell that has words."""
    parts: list[str | _Text] = []
    done = 0
    for cell in _CELL.finditer(line.text):
        text = cell[0].strip()
        start = cell.start() + cell[0].index(text)
        if cell.start() == 0:  # a row need not begin with "|", but may stand in a quotation
            text = text.lstrip("> ")
            start = cell[0].rindex(text)
        tagged, elements = _tagged(text, labels)
        if has_words(_TAG.sub("", tagged)):
            parts += [line.text[done:start], _Text(text, tagged, partial(_restored, elements=elements))]
            done = start + len(text)
    return [*parts, line.text[done:] + line.end]


def _paragraph(lines: Sequence[Line], contents: Sequence[str], labels: Mapping[str, Any]) -> Iterator[Piece]:
    """The lines of a paragraph or heading, a piece for each text.

    Args:
        contents: of each line, what markdown-it takes for text, and white space around it.
    """
    texts: list[_Inside] = []
    for line, content in zip(lines, contents, strict=True):
        inside = _inside(line, content.strip())
        if inside is None:
            yield from _joined(texts, labels)
            yield line.untouched()
            texts = []
        elif line is not lines[-1] and (hard_break := _HARD_BREAK.search(line.text)):
            text = inside.text.removesuffix(hard_break[0]).rstrip()
            yield from _joined([*texts, inside._replace(text=text)], labels)
            texts = []
        else:
            texts.append(inside)
    yield from _joined(texts, labels)


def _inside(line: Line, text: str) -> _Inside | None:
    """Where the text is, at the end of the line; None if it is no text."""
    shown = line.text.rstrip()
    if not shown.endswith(text):
        shown = _CLOSING.sub("", shown).rstrip()
    if not shown.endswith(text) or _ALONE.fullmatch(text):
        return None
    return _Inside(line, len(shown) - len(text), text)


def _joined(lines: Sequence[_Inside], labels: Mapping[str, Any]) -> Iterator[Piece]:
    """Some lines as one text."""
    if not lines:
        return
    before = _BEFORE.match(lines[0].text)
    n_before = before.end() if before else 0
    texts = [lines[0].text[n_before:], *(each.text for each in lines[1:])]
    tagged, elements = _tagged(unwrap(filter(None, texts)), labels)
    if not has_words(_TAG.sub("", tagged)):
        yield from (each.line.untouched() for each in lines)
        return
    first, last = lines[0].line, lines[-1]
    source = "".join(each.line.source for each in lines)
    indent = first.text[: lines[0].start + n_before]
    after = last.line.source[last.start + len(last.text) :]

    def render(translation: str) -> str:
        if len(lines) == 1:
            return indent + _restored(translation, elements) + after
        unbroken = [(begin.replace(" ", _SPACE), end.replace(" ", _SPACE)) for begin, end in elements]
        width = max(each.start + columns(each.text) for each in lines)
        rest = lines[1].line.text[: lines[1].start]
        # A line end between two characters of Chinese would be shown as a space, and may not be in an address.
        wrapped = wrap(_restored(translation, unbroken), width, indent, rest, only_at_spaces=True)
        return first.end.join(wrapped).replace(_SPACE, " ") + after

    yield _piece(source, first.number, [_Text(source, tagged, render)])


def _tagged(text: str, labels: Mapping[str, Any]) -> tuple[str, list[tuple[str, str]]]:
    """A text with tags for its elements.

    Args:
        labels: of links that are defined, as markdown-it writes them.
    Returns:
        The text, and for each tag what stands for its beginning and its end; nothing for the end of a tag without one.
    """
    if _LIKE_A_TAG.search(text):
        return text, []
    found, originals = [], []
    for one, other in sorted(_elements(text, labels), key=lambda pair: pair[0].start):
        originals.append((one.text, "" if other is None else other.text))
        found += [one._replace(tag=one.tag.format(len(originals)))] + ([other] if other else [])
    tagged, done = [], 0
    for element in sorted(found):
        tagged += [text[done : element.start], element.tag]
        done = element.end
    return "".join([*tagged, text[done:]]), originals


def _restored(translation: str, elements: Sequence[tuple[str, str]]) -> str:
    """A text with its elements in place of their tags."""
    is_open: list[int] = []
    marks: list[_Mark] = []
    n_longer = 0

    def original(tag: re.Match[str]) -> str:
        nonlocal n_longer
        closes = tag["closes"] is not None
        text = ""
        if not closes or is_open:
            number = is_open.pop() if closes else int(tag["opens"] or tag["void"]) - 1
            text = elements[number][closes]
            if tag["opens"]:
                is_open.append(number)
            if _EMPHASIS.fullmatch(text):
                start = tag.start() + n_longer
                marks.append(_Mark(number, start, start + len(text), closes))
        n_longer += len(text) - len(tag[0])
        return text

    return _readable(_TAG.sub(original, translation), marks) if elements else translation


def _readable(text: str, marks: Sequence[_Mark]) -> str:
    """The text with each mark of emphasis as CommonMark (6.2) reads it, also between words without spaces.

    A mark between punctuation inside and a letter outside would be text, as in `**注意：**请`: a space goes outside. So
    would be `_` beside a letter: it becomes `*`. Two marks side by side would be one, and get a space, too.
    """
    in_words = {
        mark
        for mark in marks
        if _IN_WORD.match(text[mark.end : mark.end + 1] if mark.closes else text[mark.start - 1 : mark.start])
    }
    changed = {mark.element for mark in in_words}
    ends = {mark.end for mark in marks if mark.closes}
    parts: list[str] = []
    done = 0
    for mark in marks:
        inside = text[mark.start - 1 : mark.start] if mark.closes else text[mark.end : mark.end + 1]
        is_apart = (mark in in_words and _PUNCTUATION.match(inside)) or (not mark.closes and mark.start in ends)
        space = " " if is_apart else ""
        written = text[mark.start : mark.end]
        if mark.element in changed:
            written = written.replace("_", "*")
        parts += [text[done : mark.start], written + space if mark.closes else space + written]
        done = mark.end
    return "".join([*parts, text[done:]])


def _elements(text: str, labels: Mapping[str, Any]) -> Iterator[tuple[_Element, _Element | None]]:
    """What each tag stands for: something, or the beginning and the end of something."""
    code_ends = _code_ends(text)
    is_open: list[tuple[str, re.Match[str]]] = []
    i = 0
    while match := _ELEMENT.search(text, i):
        kind, start, i = match.lastgroup, match.start(), match.end()
        if kind == "code":
            if start in code_ends:
                i = code_ends[start]
                yield _Element(start, i, text[start:i], '<x id="{}"/>'), None
        elif kind in ("escape", "thing"):
            tag = '<g id="{}"/>' if kind == "escape" else '<x id="{}"/>'  # a `g` may be inside a word
            yield _Element(start, i, match[0], tag), None
        elif kind == "open":
            is_open.append(("[", match))
        elif kind == "close":
            opened = _last(is_open, "[")
            if opened is None:
                i = start + 1
                continue
            label = text[opened.end() : start]
            end = match[0]
            if end in ("]", "[]", "][]"):
                if normalizeReference(label) not in labels:
                    i = start + 1
                    continue
                end = f"][{label}]"  # the label is no longer the text
            if start == opened.end():
                yield _Element(opened.start(), i, text[opened.start() : i], '<x id="{}"/>'), None
            else:
                yield _Element(opened.start(), opened.end(), opened[0], '<g id="{}">'), _Element(start, i, end, "</g>")
        elif kind == "emphasis":
            before, after = text[start - 1 : start], text[i : i + 1]
            is_inside = match[0][0] == "_" and before.isalnum() and after.isalnum()
            opened = None if is_inside or not before.strip() else _last(is_open, match[0])
            if opened is not None and opened.end() < start:
                yield (
                    _Element(opened.start(), opened.end(), match[0], '<g id="{}">'),
                    _Element(start, i, match[0], "</g>"),
                )
            elif after.strip() and not is_inside:
                is_open.append((match[0], match))


def _last(is_open: list[tuple[str, re.Match[str]]], mark: str) -> re.Match[str] | None:
    """The last of these that opened, and none of those that opened after it is open any more."""
    for n in range(1, min(_NESTED, len(is_open)) + 1):
        if is_open[-n][0] == mark:
            opened = is_open[-n][1]
            del is_open[-n:]
            return opened
    return None


def _code_ends(text: str) -> dict[int, int]:
    """Where code that begins at a run of backticks ends: after the next run of as many."""
    ends: dict[int, int] = {}
    next_end: dict[int, int] = {}
    for run in reversed(list(re.finditer("`+", text))):
        if len(run[0]) in next_end:
            ends[run.start()] = next_end[len(run[0])]
        next_end[len(run[0])] = run.end()
    return ends
