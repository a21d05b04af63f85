"""Any bytes are a corpus, a glossary or a text to translate; or they are refused in a sentence that names the file."""

import io
from collections.abc import Iterator
from pathlib import Path

from hypothesis import example, given
from hypothesis import strategies as st

from seq2seq.config import DataConfig, RunConfig, TokenizerConfig
from seq2seq.corpus.compression import open_member
from seq2seq.corpus.reader import read_lines, read_pairs
from seq2seq.corpus.sources import COMPRESSIONS, Source
from seq2seq.corpus.sources import FORMS as ENDINGS
from seq2seq.dataset.prepare import prepare
from seq2seq.errors import UserError
from seq2seq.translation.forms.read import FORMS, form_of, read_pieces
from seq2seq.translation.text.glossary import Glossary, read_terms
from tests.faults.many import COSTLY_FAULTS, FAULTS
from tests.faults.sentences import assert_helps

# What some format gives a meaning, and what some program takes for an end of a line, a word or a file.
_TELLING = [
    *("\n", "\r\n", "\n\n", "\r", "\t", " ", "\x00", "\x1a", "\x0b", "\u2028", "\x85", "\ufeff", "\ufffd", "\u200b"),
    *('{"fr": "a", "en": "b"}', '{"fr": "\\ud800", "en": 3}', '{"translation": {"fr": "", "en": ""}}', "{", "[", '"'),
    *("1\n", "00:00:01,000 --> 00:00:02,000\n", "WEBVTT\n", "00:01.000 --> 00:02.000\n", "NOTE ", "<i>", "</i>", "&lt"),
    *("<tmx><tu>", "</tu></tmx>", '<tuv xml:lang="fr"><seg>', '<tuv lang="en"><seg>', "</seg></tuv>", "<ph>", "</ph>"),
    *('<xliff><file source-language="fr" target-language="en">', "<trans-unit><source>", "</source>", "</xliff>"),
    *("<target>", "</target></trans-unit>", "<!DOCTYPE a [<!ENTITY e 'e'>]>", "&e;", '<?xml encoding="x"?>'),
    *('msgid "a\\n"\n', 'msgstr "b"\n', 'msgid ""\nmsgstr "Language: fr\\n"\n', "#, fuzzy\n", "#~ ", "msgstr[0] "),
    *('"x ""y"" z"', ",", ";", "fr\ten\n", "source,target\n", "en;fr\n"),
    *("un chat dort .", "a cat", "#", "- ", "> ", "1. ", "▁", "<s>", "⁇", "文", "😀", "9" * 5_000, "[" * 5_000),
]  # fmt: skip
_PARTS = st.sampled_from([part.encode() for part in _TELLING]) | st.binary(max_size=6)


@st.composite
def contents(draw: st.DrawFn) -> bytes:
    """The bytes of a file: text or not, compressed, compressed and cut off, or compressed only by its first bytes."""
    data = b"".join(draw(st.lists(_PARTS, max_size=12)))
    suffix = draw(st.none() | st.sampled_from(sorted(COMPRESSIONS)))
    if suffix is None:
        return data
    file = io.BytesIO()
    with open_member(file, suffix) as member:
        member.write(data)
    whole = file.getvalue()
    cut = draw(st.just(len(whole)) | st.integers(0, len(whole)))
    return whole[:cut] + draw(st.sampled_from([b"", b"", b"\x00", data]))


def written(folder: Path, name: str, data: bytes) -> Path:
    file = folder / name
    file.write_bytes(data)
    return file


@FAULTS
@given(form=st.sampled_from(["lines", *ENDINGS.values()]), data=contents(), other=contents())
def test_a_corpus(tmp_path: Path, form: str, data: bytes, other: bytes) -> None:
    file, second = written(tmp_path, f"corpus.{form}", data), written(tmp_path, "second", other)
    languages = ("fr", "en")
    source = Source("lines", (file, second)) if form == "lines" else Source(form, (file,), languages, languages)
    try:
        pairs = list(read_pairs(source))
    except UserError as error:
        assert_helps(error, file, second)
        return
    for side in (side for pair in pairs for side in pair):
        assert "\n" not in side and side.encode().decode() == side


@FAULTS
@given(
    data=contents(), errors=st.sampled_from(["strict", "replace"]), form=st.sampled_from(FORMS), is_first=st.booleans()
)
def test_a_text_of_any_form(tmp_path: Path, data: bytes, errors: str, form: str, is_first: bool) -> None:
    """What is not translated stays as it is, to the byte."""
    file = written(tmp_path, "text", data)
    field = ("1" if is_first else "fr") if form in ("tsv", "jsonl") else None
    try:
        form = form_of(form, field, file)
        text = "".join(read_lines(file, errors, is_exact=True))
        pieces = list(read_pieces(read_lines(file, errors, is_exact=True), str(file), form, field))
    except UserError as error:
        assert_helps(error, file, "--field")
        return
    assert "".join(piece.source for piece in pieces) == text
    for piece in pieces:
        assert not any("\n" in each for each in piece.texts)
        rendered = piece.render(["x"] * len(piece.texts))
        rendered.encode()
        if not piece.texts and form != "lines":
            assert rendered == piece.source


@FAULTS
@given(data=contents(), text=st.text(max_size=40) | contents().map(lambda data: data.decode(errors="replace")))
@example(data=b"\xe2\x80\x8b\ta\n", text="\u200b")
def test_a_glossary(tmp_path: Path, data: bytes, text: str) -> None:
    file = written(tmp_path, "terms", data)
    try:
        terms = read_terms(read_lines(file), str(file))
    except UserError as error:
        assert_helps(error, file)
        return
    for match in Glossary(terms).find(text):
        assert 0 <= match.start < match.end <= len(text)


@COSTLY_FAULTS
@given(train=contents(), valid=contents(), kind=st.sampled_from(["bpe", "unigram"]), n_copies=st.sampled_from([1, 40]))
@example(train=b"9" * 5_000, valid=b"a", kind="unigram", n_copies=40)
def test_a_corpus_to_train_on(tmp_path: Path, train: bytes, valid: bytes, kind: str, n_copies: int) -> None:
    """Tokenizer, stores and report; both sides are the same file, so that the lines are as many."""
    for name, data in (("train", (train + b"\n") * n_copies), ("valid", valid), ("test", valid)):
        for language in ("fr", "en"):
            written(tmp_path, f"{name}.{language}", data)
    config = RunConfig(data=DataConfig(dir=str(tmp_path), cache_dir=str(tmp_path / "cache")))
    config.tokenizer = TokenizerConfig(vocab_size=300, model_type=kind)
    try:
        prepared = prepare(config)
    except UserError as error:
        assert_helps(error)
        return
    for store in (prepared.train, prepared.valid, *prepared.tests.values()):
        assert len(store) > 0
        assert all(id_ < prepared.tokenizer.vocab_size for id_ in _ids(store))


def _ids(store: object) -> Iterator[int]:
    for i in range(len(store)):  # type: ignore[arg-type]
        yield from (int(id_) for id_ in store.src(i))  # type: ignore[attr-defined]
