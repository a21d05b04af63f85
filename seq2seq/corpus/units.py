"""Pairs from the files of translators and of programs: TMX, XLIFF 1.2 and PO.

A pair is a unit that has text in both languages. `fr` finds `fr-CA`, too. White space within a text, line breaks
included, becomes one space. A target of XLIFF in the state `new` or `needs-...` is not finished, and left out; so are
messages of PO that are fuzzy, obsolete or plural. The header of PO says the language of `msgstr`. Codes of a format
(`bpt`, `ept`, `ph`, `it`, `ut`) are left out; text in `g`, `mrk` and `hi` is not. XML is read in memory that does not
grow with the file, and nothing outside of it is ever opened.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from xml.etree.ElementTree import Element, TreeBuilder
from xml.parsers import expat

from seq2seq.corpus.sources import Source
from seq2seq.errors import CorpusError

Pair = tuple[str, str]

_CODES = {"bpt", "ept", "ph", "it", "ut"}
_DEEPEST = 100  # elements inside one another
_SPACE = re.compile(r"[ \t\r\n]+")
_LINE_OF_PO = re.compile(r'(?:(msgctxt|msgid_plural|msgid|msgstr)(\[\d+\])?\s*)?"((?:[^"\\]|\\.)*)"')
_ESCAPE = re.compile(r"\\(?:x([0-9a-fA-F]{1,2})|([0-7]{1,3})|(.))")
_ESCAPED = {"n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v"}


@dataclass
class _Reading:
    """What one reading of a file has met."""

    source: Source
    skipped: Counter[str] = field(default_factory=Counter)
    languages: dict[str, None] = field(default_factory=dict)  # as the file writes them
    n_pairs: int = 0
    n_with_codes: int = 0

    def fits(self, code: str, side: int) -> bool:
        """Whether text in a language of the file is that of a side."""
        if code:
            self.languages[code] = None
        wanted, other = (_plain(self.source.languages[each]) for each in (side, 1 - side))
        return _plain(code) == wanted or (_plain(code) != other and _plain(code).split("-")[0] == wanted)

    def pair(self, src: str, tgt: str) -> Iterator[Pair]:
        src, tgt = (_SPACE.sub(" ", text).strip(" ") for text in (src, tgt))
        if src and tgt:
            self.n_pairs += 1
            yield src, tgt
        else:
            self.skipped["without text on a side"] += 1

    def notes(self) -> Iterator[str]:
        """What a user should know of what was not read as it stands there."""
        if self.skipped:
            counts = ", ".join(f"{reason} {n:,}" for reason, n in self.skipped.most_common())
            yield f"{self.source.paths[0]}: {self.n_pairs:,} pairs; left out {self.skipped.total():,} ({counts})"
        if self.n_with_codes:
            yield f"{self.source.paths[0]}: of {self.n_with_codes:,} texts the codes of their format were left out"


def unit_pairs(
    source: Source, lines: Iterator[str], chunks: Iterator[bytes], notice: Callable[[str], None]
) -> Iterator[Pair]:
    """The pairs of a TMX, an XLIFF or a PO.

    Args:
        lines, chunks: of the file; the first for a PO, the others for XML.
        notice: told how many units were left out, and why.
    Raises:
        CorpusError: a file that has another form than its name says, damaged XML, one that defines entities, or a file
            without a unit in both languages.
    """
    reading = _Reading(source)
    match source.form:
        case "tmx":
            yield from _tmx(reading, chunks)
        case "xliff":
            yield from _xliff(reading, chunks)
        case "po":
            yield from _po(reading, lines)
    for note in reading.notes():
        notice(note)
    if not reading.n_pairs:
        raise CorpusError(
            f"{source.paths[0]}: no unit has text in both {' and '.join(source.languages)}; its languages are "
            f"{', '.join(reading.languages) or '(none)'}; correct data.src_lang and data.tgt_lang, or give another file"
        )


def _plain(code: str) -> str:
    """`pt-br` for `pt_BR` and for `pt_BR.UTF-8@latin`."""
    return re.split("[.@]", code)[0].replace("_", "-").casefold()


# --- XML ---


@dataclass(frozen=True)
class _Unit:
    element: Element
    line: int  # where it begins
    around: Mapping[str, Mapping[str, str]]  # attributes of the elements that came before, by tag


def _tmx(reading: _Reading, chunks: Iterable[bytes]) -> Iterator[Pair]:
    for unit in _units(reading.source.paths[0], chunks, "tmx", "tu"):
        texts = []
        for side in (0, 1):
            variants = [variant for variant in unit.element.findall("tuv") if reading.fits(_language(variant), side)]
            wanted = _plain(reading.source.languages[side])
            variants.sort(key=lambda variant: _plain(_language(variant)) != wanted)
            reading.skipped["further texts in a language"] += max(len(variants) - 1, 0)
            texts += [_text(reading, variant.find("seg")) for variant in variants[:1]]
        if len(texts) == 2:
            yield from reading.pair(*texts)
        else:
            reading.skipped["without both languages"] += 1
    reading.skipped += Counter()  # only what is above 0 stays


def _language(variant: Element) -> str:
    return variant.get("xml:lang") or variant.get("lang") or ""


def _xliff(reading: _Reading, chunks: Iterable[bytes]) -> Iterator[Pair]:
    for unit in _units(reading.source.paths[0], chunks, "xliff", "trans-unit", "unit"):
        where, element = f"{reading.source.paths[0]}:{unit.line}", unit.element
        if element.tag == "unit":
            raise CorpusError(f"{where}: this is XLIFF {unit.around['xliff'].get('version')}; save it as XLIFF 1.2")
        src, tgt = element.find("source"), element.find("target")
        state = "new" if tgt is None else tgt.get("state", "")
        if src is None or tgt is None or state == "new" or state.startswith("needs-"):
            reading.skipped["without a finished translation"] += 1
            continue
        if element.get("translate") == "no":
            reading.skipped["not to be translated"] += 1
            continue
        file = unit.around.get("file", {})
        codes = [file.get("source-language", ""), file.get("target-language") or tgt.get("xml:lang") or ""]
        if not all(codes):
            raise CorpusError(
                f"{where}: <file> says no source-language or no target-language; add it to <file>, as in "
                'source-language="en" target-language="fr"'
            )
        texts = _text(reading, src), _text(reading, tgt)
        if all(map(reading.fits, codes, (0, 1))):
            yield from reading.pair(*texts)
        elif all(map(reading.fits, codes, (1, 0))):
            yield from reading.pair(*texts[::-1])
        else:
            reading.skipped["without both languages"] += 1


def _text(reading: _Reading, element: Element | None) -> str:
    """The text in an element, without codes of a format. A code for a line break is a space."""
    parts: list[str] = []

    def collect(element: Element) -> None:
        parts.append(element.text or "")
        for child in element:
            if child.tag not in _CODES:
                collect(child)
            if "lb" in (child.get("ctype"), child.get("type")):
                parts.append(" ")
            parts.append(child.tail or "")

    if element is not None:
        collect(element)
        reading.n_with_codes += any(child.tag in _CODES for child in element.iter())
    return "".join(parts)


def _units(path: Path, chunks: Iterable[bytes], root: str, *tags: str) -> Iterator[_Unit]:
    """The elements with one of these tags.

    Raises:
        CorpusError: it is not well-formed, has another root, entities other than those of XML, or is too deep.
    """
    parser = expat.ParserCreate()
    parser.buffer_text = True
    found: list[_Unit] = []
    around: dict[str, Mapping[str, str]] = {}
    open_tags: list[str] = []
    unit_line, unit_depth = 0, 0
    builder: TreeBuilder | None = None  # of the unit that is being read

    def refuse(problem: str) -> None:
        raise CorpusError(f"{path}:{parser.CurrentLineNumber}: {problem}")

    def start(tag: str, attributes: dict[str, str]) -> None:
        nonlocal builder, unit_line, unit_depth
        tag = tag.rpartition(":")[2]
        if not open_tags and tag != root:
            refuse(f"begins with <{tag}> and not with <{root}>; give the file the ending of its form")
        if len(open_tags) == _DEEPEST:
            refuse(f"has more than {_DEEPEST} elements inside one another; write it anew with another program")
        if builder is None and tag in tags:
            builder, unit_line, unit_depth = TreeBuilder(), parser.CurrentLineNumber, len(open_tags)
        if builder is not None:
            builder.start(tag, attributes)
        else:
            around[tag] = attributes
        open_tags.append(tag)

    def end(_: str) -> None:
        nonlocal builder
        tag = open_tags.pop()
        if builder is not None:
            builder.end(tag)
            if len(open_tags) == unit_depth:
                found.append(_Unit(builder.close(), unit_line, dict(around)))
                builder = None

    def data(text: str) -> None:
        if builder is not None:
            builder.data(text)

    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = start, end, data
    # Entities can stand for a file elsewhere, or for more text than any memory has.
    parser.EntityDeclHandler = lambda name, *_: refuse(f"defines the entity {name!r}; write its text in its place")
    parser.SkippedEntityHandler = lambda name, _: refuse(f"does not define &{name}; write its text in its place")
    for chunk in chain(chunks, [None]):
        try:
            parser.Parse(chunk or b"", chunk is None)
        except (expat.ExpatError, LookupError, ValueError) as error:  # the last two: an encoding that nobody knows
            reason = re.sub(": line .*", "", str(error))
            raise CorpusError(
                f"{path}:{parser.CurrentLineNumber}: is not well-formed XML ({reason}); copy or write the file again"
            ) from error
        yield from found
        found.clear()


# --- PO ---


@dataclass
class _Entry:
    texts: dict[str, str] = field(default_factory=dict)  # msgid, msgstr, msgstr[0]; as they stand there
    is_fuzzy: bool = False


def _po(reading: _Reading, lines: Iterable[str]) -> Iterator[Pair]:
    """`msgid` is in the one language, and `msgstr` in that of the header."""
    translated = -1  # which side msgstr is
    for entry in _entries(reading, lines):
        texts = entry.texts
        if translated < 0:
            code = re.search(r"^Language:\s*(\S+)", texts.get("msgstr", ""), re.MULTILINE)
            if texts["msgid"] or code is None:
                raise CorpusError(
                    f"{reading.source.paths[0]}:1: no header says what language the translations have; add one, "
                    'msgid "" and msgstr "Language: fr\\n"'
                )
            translated = next((side for side in (1, 0) if reading.fits(code[1], side)), 2)
        elif "msgid_plural" in texts:
            reading.skipped["plural"] += 1
        elif entry.is_fuzzy:
            reading.skipped["fuzzy"] += 1
        elif translated == 2:
            reading.skipped["without both languages"] += 1
        else:
            pair = texts["msgid"], texts.get("msgstr", "")
            yield from reading.pair(*(pair if translated else pair[::-1]))


def _entries(reading: _Reading, lines: Iterable[str]) -> Iterator[_Entry]:
    entry, key, number = _Entry(), "", 0
    for number, line in enumerate(lines, start=1):
        line = line.strip(" \t\r")
        if line.startswith("#~"):
            reading.skipped["obsolete"] += line.removeprefix("#~").strip().startswith("msgid ")
        match = _LINE_OF_PO.fullmatch(line)
        begins = match is not None and match[1] in ("msgctxt", "msgid")
        if (begins or match is None) and any(each.startswith("msgstr") for each in entry.texts):
            yield entry
            entry, key = _Entry(), ""
        if match is None:
            if line and not line.startswith("#"):
                raise _no_po(reading, number, line)
            entry.is_fuzzy |= line.startswith("#,") and "fuzzy" in line
            continue
        if match[1]:
            key = match[1] + (match[2] or "")
        if not key or (match[1] and key in entry.texts) or (match[1] == "msgstr" and "msgid" not in entry.texts):
            raise _no_po(reading, number, line)
        entry.texts[key] = entry.texts.get(key, "") + _ESCAPE.sub(_unescaped, match[3])
    if any(each.startswith("msgstr") for each in entry.texts):
        yield entry
    elif entry.texts:
        raise _no_po(reading, number, next(iter(entry.texts)))
    reading.skipped += Counter()


def _unescaped(match: re.Match[str]) -> str:
    if match[3]:
        return _ESCAPED.get(match[3], match[3])
    return chr(int(match[1], 16) if match[1] else int(match[2], 8) & 0xFF)


def _no_po(reading: _Reading, number: int, line: str) -> CorpusError:
    return CorpusError(
        f"{reading.source.paths[0]}:{number}: {line[:60]!r} has no place here in a PO file; correct it, and see what "
        "msgfmt -c says"
    )
