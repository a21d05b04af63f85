"""Translation memories and message files, compared with polib and with ElementTree's other way to read XML."""

import gzip
import re
import tracemalloc
from collections.abc import Iterable
from pathlib import Path
from xml.etree import ElementTree
from xml.sax.saxutils import escape

import polib
import pytest
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.corpus.reader import read_pairs
from seq2seq.corpus.sources import Source
from tests.corpus.test_tables import refused
from tests.places import SHARED

Pair = tuple[str, str]
NEWS = SHARED / "news/newstest2012"
needs_news = pytest.mark.skipif(not NEWS.with_suffix(".fr").is_file(), reason=f"no corpus in {NEWS.parent}")


def source_of(path: Path, form: str, languages: Pair = ("fr", "en")) -> Source:
    return Source(form, (path,), languages)


def written(folder: Path, name: str, text: str | bytes) -> Source:
    path = folder / name
    path.write_bytes(text.encode() if isinstance(text, str) else text)
    return source_of(path, {".tmx": "tmx", ".xlf": "xliff", ".po": "po"}[path.suffix])


def notices(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [record.getMessage().partition(": ")[2] for record in caplog.records]


@pytest.fixture(scope="module")
def news() -> list[Pair]:
    """Three thousand pairs; white space as a reader of units leaves it."""
    sides = [NEWS.with_suffix(f".{language}").read_text(encoding="utf-8").split("\n")[:-1] for language in ("fr", "en")]
    cleaned = ([" ".join(re.split("[ \t\r]+", line)).strip(" ") for line in side] for side in sides)
    pairs = zip(*cleaned, strict=True)
    return [(src, tgt) for src, tgt in pairs if src and tgt]


# --- TMX ---

TMX = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE tmx SYSTEM "tmx14.dtd">
<tmx version="1.4">
<header srclang="en" datatype="xml"><note>Not &lt;this&gt;.</note></header>
<body>
<tu><tuv xml:lang="en-US"><seg>The <bpt i="1">&lt;b&gt;</bpt>red<ept i="1">&lt;/b&gt;</ept> cat.</seg></tuv>
    <tuv xml:lang="FR-ca"><seg>Le chat <hi type="b">rouge</hi>.</seg></tuv></tu>
<tu><tuv lang="fr"><seg>
  Une phrase
  sur\u00a0 deux lignes.
</seg></tuv><tuv lang="en"><seg>A sentence<ph type="lb"/>of two &amp; lines.</seg></tuv></tu>
<tu><tuv xml:lang="de"><seg>Nein.</seg></tuv><tuv xml:lang="en"><seg>No.</seg></tuv></tu>
<tu><tuv xml:lang="fr"><seg> </seg></tuv><tuv xml:lang="en"><seg>Empty.</seg></tuv></tu>
<tu><tuv xml:lang="fr-CA"><seg>Fin de semaine</seg></tuv><tuv xml:lang="fr"><seg>Week-end</seg></tuv>
    <tuv xml:lang="en"><seg>Week-end</seg></tuv></tu>
</body>
</tmx>
"""


def test_units_of_a_tmx_are_pairs_and_what_is_left_out_is_told_once(tmp_path, caplog):
    source = written(tmp_path, "a.tmx", TMX)
    for _ in range(2):
        assert list(read_pairs(source)) == [
            ("Le chat rouge.", "The red cat."),
            ("Une phrase sur\u00a0 deux lignes.", "A sentence of two & lines."),
            ("Week-end", "Week-end"),
        ]
    assert notices(caplog) == [
        "3 pairs; left out 3 (further texts in a language 1, without both languages 1, without text on a side 1)",
        "of 2 texts the codes of their format were left out",
    ]


def test_a_region_may_be_asked_for(tmp_path):
    path = written(tmp_path, "a.tmx", TMX).paths[0]
    assert list(read_pairs(source_of(path, "tmx", ("fr-CA", "en")))) == [
        ("Le chat rouge.", "The red cat."),
        ("Fin de semaine", "Week-end"),
    ]
    path.write_text(tmx([("Colour", "Color")]).replace('"fr"', '"en-GB"').replace('"en"', '"en-US"'))
    assert list(read_pairs(source_of(path, "tmx", ("en_us", "en")))) == [("Color", "Colour")]


def units(pairs: Iterable[Pair]) -> str:
    return "".join(
        f'<tu><tuv xml:lang="fr"><seg>{escape(fr)}</seg></tuv><tuv xml:lang="en"><seg>{escape(en)}</seg></tuv></tu>'
        for fr, en in pairs
    )


def tmx(pairs: Iterable[Pair]) -> str:
    return f'<tmx version="1.4"><body>{units(pairs)}</body></tmx>'


@needs_news
@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig", "gzip"])
def test_a_large_tmx_has_the_pairs_that_it_was_made_of(tmp_path, news, encoding):
    text = tmx(news)
    path = tmp_path / ("a.tmx.gz" if encoding == "gzip" else "a.tmx")
    path.write_bytes(gzip.compress(text.encode()) if encoding == "gzip" else text.encode(encoding))
    assert list(read_pairs(source_of(path, "tmx"))) == news
    if encoding == "utf-8":
        segments = [each.text or "" for each in ElementTree.parse(path).iter("seg")]
        assert list(zip(segments[::2], segments[1::2], strict=True)) == [
            (fr.strip(" "), en.strip(" ")) for fr, en in news
        ]


@pytest.mark.slow
def test_a_tmx_without_line_ends_is_read_in_bounded_memory(tmp_path):
    (tmp_path / "a.tmx").write_text(tmx((f"Phrase {i}.", f"Sentence number {i}, of many.") for i in range(10_000)))
    assert (tmp_path / "a.tmx").stat().st_size > 1_000_000
    tracemalloc.start()
    n_pairs = sum(1 for _ in read_pairs(source_of(tmp_path / "a.tmx", "tmx")))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert n_pairs == 10_000
    assert peak < 3_000_000


# --- XLIFF ---

XLIFF = """<?xml version="1.0"?>
<x:xliff version="1.2" xmlns:x="urn:oasis:names:tc:xliff:document:1.2">
<x:file source-language="en-US" target-language="fr" original="a.txt" datatype="plaintext"><x:body>
<x:trans-unit id="1"><x:source>Click <x:g id="1">here</x:g>.<x:x id="2" ctype="lb"/>Now.</x:source>
  <x:seg-source><x:mrk mtype="seg">Click</x:mrk></x:seg-source>
  <x:target state="final">Cliquez <x:g id="1">ici</x:g>. Maintenant<x:ph id="3">%s</x:ph>.</x:target>
  <x:alt-trans><x:source>Other</x:source><x:target>Autre</x:target></x:alt-trans></x:trans-unit>
<x:trans-unit id="2"><x:source>Untranslated</x:source></x:trans-unit>
<x:trans-unit id="3"><x:source>New</x:source><x:target state="new">New</x:target></x:trans-unit>
<x:trans-unit id="4"><x:source>Doubtful</x:source><x:target state="needs-review-translation">?</x:target></x:trans-unit>
<x:trans-unit id="5" translate="no"><x:source>ACME</x:source><x:target>ACME</x:target></x:trans-unit>
<x:trans-unit id="6"><x:source>Empty</x:source><x:target/></x:trans-unit>
</x:body></x:file>
<x:file source-language="fr" target-language="en-GB" original="b.txt" datatype="plaintext"><x:body><x:group>
<x:trans-unit id="1"><x:source>Oui.</x:source><x:target>Yes.</x:target></x:trans-unit></x:group>
</x:body></x:file>
<x:file source-language="fr" target-language="de" original="b.txt" datatype="plaintext"><x:body>
<x:trans-unit id="1"><x:source>Oui.</x:source><x:target>Ja.</x:target></x:trans-unit>
</x:body></x:file>
</x:xliff>
"""


def test_finished_units_of_an_xliff_are_pairs_in_the_direction_of_each_file(tmp_path, caplog):
    source = written(tmp_path, "a.xlf", XLIFF)
    assert list(read_pairs(source)) == [("Cliquez ici. Maintenant.", "Click here. Now."), ("Oui.", "Yes.")]
    assert notices(caplog) == [
        "2 pairs; left out 6 (without a finished translation 3, not to be translated 1, without text on a side 1, "
        "without both languages 1)",
        "of 1 texts the codes of their format were left out",
    ]


# --- XML that nobody should read ---

LAUGHS = '<!DOCTYPE tmx [<!ENTITY a "ha"><!ENTITY b "&a;&a;">]>\n<tmx><body>&b;</body></tmx>'
NO_TARGET = XLIFF.replace('target-language="fr" ', "", 1)
EXTERNAL = '<!DOCTYPE tmx [\n<!ENTITY a SYSTEM "file:///etc/passwd">]><tmx>&a;</tmx>'
PARAMETER = '<!DOCTYPE tmx [<!ENTITY % a SYSTEM "http://a.invalid/a"> %a;]><tmx/>'
XLIFF_2 = '<xliff version="2.0"><file>\n<unit id="1"/></file></xliff>'
GERMAN = TMX.replace('"fr', '"de').replace('"FR', '"de')


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("a.tmx", LAUGHS, ":1: defines the entity 'a'; write its text in its place"),
        ("a.tmx", EXTERNAL, ":2: defines the entity 'a'; "),
        ("a.tmx", PARAMETER, ":1: defines the entity 'a'; "),
        ("a.tmx", '<!DOCTYPE tmx SYSTEM "tmx14.dtd"><tmx>\n\n&nbsp;</tmx>', ":3: does not define &nbsp; write its"),
        ("a.tmx", "<tmx>\n&nbsp;</tmx>", ":2: is not well-formed XML (undefined entity)"),
        ("a.tmx", "<tmx>\n<body>\n</tmx>", ":3: is not well-formed XML (mismatched tag); copy or write the file again"),
        ("a.tmx", "<tmx><body>", ":1: is not well-formed XML (no element found)"),
        ("a.tmx", "", ":1: is not well-formed XML (no element found)"),
        ("a.tmx", '<?xml version="1.0" encoding="klingon"?><tmx/>', ":1: is not well-formed XML (unknown encoding"),
        ("a.tmx", "<tmx>\n" + "<body>" * 100, ":2: has more than 100 elements inside one another"),
        ("a.tmx", "\n<xliff/>", ":2: begins with <xliff> and not with <tmx>; give the file the ending of its form"),
        ("a.tmx", "<tmx/>", ": no unit has text in both fr and en; its languages are (none); correct data.src_lang"),
        ("a.tmx", GERMAN, ": no unit has text in both fr and en; its"),
        ("a.xlf", XLIFF_2, ":2: this is XLIFF 2.0; save it as XLIFF 1.2"),
        ("a.xlf", NO_TARGET, ":4: <file> says no source-language or no target-language; add it"),
    ],
)  # fmt: skip
def test_xml_that_cannot_be_read_is_named_by_file_and_line(tmp_path, name, text, expected):
    assert refused(written(tmp_path, name, text)).startswith(expected)


def test_a_compressed_tmx_that_was_cut_off_is_an_error(tmp_path):
    path = tmp_path / "a.tmx.gz"
    path.write_bytes(gzip.compress(tmx([(f"Oui {i * i}", f"Yes {i * i}") for i in range(3_000)]).encode())[:-2_000])
    assert "damaged or cut off after line" in refused(source_of(path, "tmx"))


# --- PO ---

PO = r"""# A comment.
#, fuzzy
msgid ""
msgstr ""
"Project-Id-Version: a\n"
"Language: fr_CA\n"
"Content-Type: text/plain; charset=UTF-8\n"

#: a.c:1
msgid "Open \"%s\"\n"
msgstr "Ouvrir « %s »\n"

msgctxt "menu"
msgid ""
"Two lines\n"
"of text"
msgstr ""
"Deux lignes\n"
"\tde texte"
#, fuzzy, c-format
#| msgid "Old"
msgid "Unsure"
msgstr "Incertain"

msgid "Untranslated"
msgstr ""

#, c-format
msgid "%d file"
msgid_plural "%d files"
msgstr[0] "%d fichier"
msgstr[1] "%d fichiers"

msgid "Last"
msgstr "Dernier"

#~ msgid "Gone"
#~ msgstr "Parti"
"""


@pytest.mark.parametrize("languages", [("en", "fr"), ("fr", "en")])
def test_messages_of_a_po_are_pairs_in_either_direction(tmp_path, caplog, languages):
    path = written(tmp_path, "a.po", PO).paths[0]
    pairs = [('Open "%s"', "Ouvrir « %s »"), ("Two lines of text", "Deux lignes de texte"), ("Last", "Dernier")]
    expected = pairs if languages[0] == "en" else [(tgt, src) for src, tgt in pairs]
    assert list(read_pairs(source_of(path, "po", languages))) == expected
    assert notices(caplog) == [
        "3 pairs; left out 4 (fuzzy 1, without text on a side 1, plural 1, obsolete 1)",
    ]


texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).filter(lambda text: text.strip(" "))


@given(pairs=st.lists(st.tuples(texts, texts), min_size=1, max_size=8), is_fuzzy=st.booleans())
def test_what_polib_writes_is_read_as_polib_reads_it(tmp_path_factory, pairs, is_fuzzy):
    path = tmp_path_factory.mktemp("po") / "a.po"
    made = polib.POFile(wrapwidth=20)
    made.metadata = {"Language": "fr"}
    for i, (msgid, msgstr) in enumerate(pairs):
        made.append(polib.POEntry(msgctxt=str(i), msgid=msgid, msgstr=msgstr, flags=["fuzzy"] * (is_fuzzy and i > 0)))
    made.save(str(path))
    read = [(entry.msgid, entry.msgstr) for entry in polib.pofile(str(path)) if not entry.fuzzy]
    expected = [tuple(" ".join(filter(None, text.split(" "))) for text in pair) for pair in read]
    assert list(read_pairs(source_of(path, "po", ("en", "fr")))) == expected


HEADER = 'msgid ""\nmsgstr "Language: fr\\n"\n\n'


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ('msgid "a"\nmsgstr "b"\n', ":1: no header says what language the translations have; add one, msgid"),
        ('msgid ""\nmsgstr "Plural-Forms: x\\n"\n', ":1: no header says"),
        (HEADER + 'msgid "a"\nmsgstr "b\n', ":5: 'msgstr \"b' has no place here in a PO file; correct it"),
        (HEADER + 'msgid "a"\nmsgstr "b"c"\n', ":5: "),
        (HEADER + 'msgid "a"\nmsgid "b"\n', ":5: "),
        (HEADER + 'msgstr "a"\n', ":4: "),
        (HEADER + '\n"a"\n', ":5: "),
        (HEADER + "junk\n", ":4: 'junk' has no place"),
        (HEADER + 'msgid "a"\n', ":4: "),
        (HEADER, ": no unit has text in both fr and en; its languages are fr; correct"),
        (HEADER.replace("fr", "de") + 'msgid "a"\nmsgstr "b"\n', ": no unit has text in both fr and en; its"),
    ],
)  # fmt: skip
def test_what_is_no_po_is_named_by_file_and_line(tmp_path, text, expected):
    assert refused(written(tmp_path, "a.po", text)).startswith(expected)
