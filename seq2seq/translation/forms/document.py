"""Whole texts: paragraphs, wrapped or not, with their blank lines, indentation, list markers and headings.

A paragraph is one text to translate. It ends

- at a blank line, and at a line without a letter or digit (a rule, or the underline of a heading), which stay;
- before and after a Markdown heading, and a line with columns: it begins with "|", or has a tab or four spaces inside;
- before a list item: a line with a bullet or a hyphen; with "1." or "a)"; in a list, with any number or letter. After
  another line, "3. Januar" is not one. An en or em dash is a new speaker if the line before it ends a sentence;
- where the indentation changes. But the further lines of a list item may be indented deeper, and the first line of a
  paragraph may be indented alone, unless it ends a sentence.

Indentation includes the ">" of a quotation. It stays, and so do markers. The translation of one line is one line; the
translation of more is wrapped to the longest of them.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

import regex

from seq2seq.characters import STOPS
from seq2seq.translation.forms.piece import Line, Piece, columns, has_words, numbered, unwrap, wrap

# A longer run of lines is cut, so that memory does not grow with a file without blank lines.
_LONGEST_PARAGRAPH = 20_000  # characters

_INDENT = re.compile(r"[\s>]*")
_MARKER = re.compile(
    r"(?P<heading>#{1,6}\s+)|(?P<row>\|\s*)|(?P<bullet>[-*+•◦‣]\s+)|(?P<first>(?:1[.)]|a\))\s+)"
    r"|(?P<later>(?:\d{1,3}[.)]|[a-z]\))\s+)|(?P<dash>–\s+|—\s*)"
)
_COLUMNS = re.compile(r"\t| {4}")
_SENTENCE_END = regex.compile(rf"(?V1)(?:[{STOPS}:：\u037e]|(?<=\p{{Greek}});)[\s»”\"')\]」』]*$")  # Greek asks with ;
_TAIL = 8  # characters of a line in which to look for the end of a sentence


class _Line(NamedTuple):
    line: Line
    indent: str
    marker: str
    kind: str  # of the marker, a group of `_MARKER`; empty: there is none
    rest: str  # with the marker, without white space at its end

    @classmethod
    def of(cls, line: Line) -> "_Line":
        found = _INDENT.match(line.text)
        assert found is not None  # it matches nothing, too
        rest = line.text[found.end() :].rstrip()
        marker = _MARKER.match(rest)
        return cls(line, found[0], marker[0] if marker else "", (marker and marker.lastgroup) or "", rest)

    @property
    def is_alone(self) -> bool:
        """Whether no other line belongs to its paragraph."""
        return self.kind in ("heading", "row") or _COLUMNS.search(self.rest, len(self.marker)) is not None

    @property
    def ends_sentence(self) -> bool:
        return _SENTENCE_END.search(self.rest[-_TAIL:]) is not None


def read_document(lines: Iterable[str]) -> Iterator[Piece]:
    """The paragraphs of a text, and what stands between them, as pieces.

    Args:
        lines: with their line ends.
    """
    paragraph: list[_Line] = []
    length = 0
    for line in numbered(lines):
        is_text = has_words(line.text)
        read = _Line.of(line)
        if paragraph and (not is_text or length > _LONGEST_PARAGRAPH or _begins_paragraph(paragraph, read)):
            yield _piece(paragraph)
            paragraph = []
            length = 0
        if is_text:
            paragraph.append(read)
            length += len(line.text)
        else:
            yield line.untouched()
    if paragraph:
        yield _piece(paragraph)


def _begins_paragraph(paragraph: Sequence[_Line], line: _Line) -> bool:
    first, before = paragraph[0], paragraph[-1]
    if first.is_alone or line.is_alone or line.kind in ("bullet", "first"):
        return True
    if line.kind == "later" and first.kind in ("bullet", "first", "later"):
        return True
    if line.kind == "dash" and before.ends_sentence:
        return True
    if line.indent == before.indent:
        return False
    if len(paragraph) > 1 or line.indent.count(">") != before.indent.count(">"):
        return True
    is_deeper = len(line.indent) > len(before.indent)
    return not is_deeper if first.kind else is_deeper or before.ends_sentence


def _piece(paragraph: Sequence[_Line]) -> Piece:
    first, last = paragraph[0], paragraph[-1]
    begin = first.indent + first.marker
    text = unwrap([first.rest[len(first.marker) :], *(line.rest for line in paragraph[1:])])
    source = "".join(line.line.source for line in paragraph)
    if len(paragraph) == 1:
        end = source[len(first.indent) + len(first.rest) :]
        return Piece(source, first.line.number, [text], lambda translations: begin + translations[0] + end)
    width = max(len(line.indent) + columns(line.rest) for line in paragraph)

    def render(translations: Sequence[str]) -> str:
        wrapped = wrap(translations[0], width, begin, paragraph[1].indent)
        return first.line.end.join(wrapped) + last.line.end

    return Piece(source, first.line.number, [text], render)
