import gzip
from dataclasses import replace
from pathlib import Path

import pytest

from seq2seq.config import DataConfig
from seq2seq.config.sources import SourceFiles, SourcePath, parse_sources
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.sources import Source, form_of, specs_of
from seq2seq.errors import ConfigError, CorpusError


def find(config: DataConfig, value: object, *, key: str = "data.train", with_references: bool = False) -> list[Source]:
    return fetch_sources(config, parse_sources(key, value), with_references=with_references)


def touch(folder: Path, *names: str) -> None:
    for name in names:
        (folder / name).touch()


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_a_prefix_finds_both_languages_in_each_compression(tmp_path, suffix):
    touch(tmp_path, f"train.fr{suffix}", "train.en")
    assert find(DataConfig(dir=str(tmp_path)), "train") == [
        Source("lines", (tmp_path / f"train.fr{suffix}", tmp_path / "train.en"))
    ]


def test_a_prefix_may_contain_dots_and_directories(tmp_path):
    (tmp_path / "raw").mkdir()
    touch(tmp_path / "raw", "train.lc.tok.fr", "train.lc.tok.en")
    (found,) = find(DataConfig(dir=str(tmp_path)), "raw/train.lc.tok")
    assert found.files == (tmp_path / "raw/train.lc.tok.fr", tmp_path / "raw/train.lc.tok.en")


def test_a_list_mixes_all_forms_in_order(tmp_path):
    touch(tmp_path, "a.fr", "a.en", "b.tsv.gz", "c.jsonl", "left", "right")
    config = DataConfig(dir=str(tmp_path), tsv_columns=["en", "-", "fr"])
    found = find(config, ["a", "b.tsv.gz", "c.jsonl", {"src": "left", "tgt": "right"}])
    assert found == [
        Source("lines", (tmp_path / "a.fr", tmp_path / "a.en")),
        Source("tsv", (tmp_path / "b.tsv.gz",), ("fr", "en"), ("en", "-", "fr")),
        Source("jsonl", (tmp_path / "c.jsonl",), ("fr", "en")),
        Source("lines", (tmp_path / "left", tmp_path / "right")),
    ]


def test_numbered_files_beside_the_targets_are_further_references(tmp_path):
    touch(
        tmp_path,
        "test.fr",
        "test.en.gz",
        "test.en.1",
        "test.en.2.xz",
        "test.en.4",
        "b.tsv",
        "left",
        "right.gz",
        "right.1",
    )
    config = DataConfig(dir=str(tmp_path))
    entries = ["test", "b.tsv", {"src": "left", "tgt": "right.gz"}]
    found = find(config, entries, with_references=True)
    assert [source.files[2:] for source in found] == [
        (tmp_path / "test.en.1", tmp_path / "test.en.2.xz"),
        (),
        (tmp_path / "right.1",),
    ]
    assert [source.files[2:] for source in find(config, entries)] == [(), (), ()]
    assert find(DataConfig(dir=str(tmp_path), src_lang="en", tgt_lang="fr"), "test", with_references=True) == [
        Source("lines", (tmp_path / "test.en.gz", tmp_path / "test.fr"))
    ]


def test_the_plain_file_comes_before_its_compressed_form(tmp_path):
    touch(tmp_path, "a.fr", "a.fr.gz", "a.en")
    assert find(DataConfig(dir=str(tmp_path)), "a")[0].files[0] == tmp_path / "a.fr"


def test_tilde_is_the_home_directory(tmp_path, monkeypatch):
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "corpus").mkdir()
    touch(tmp_path / "corpus", "a.fr", "a.en")
    expected = [Source("lines", (tmp_path / "corpus/a.fr", tmp_path / "corpus/a.en"))]
    assert find(DataConfig(dir="~/corpus"), "a") == expected
    assert find(DataConfig(dir=""), "~/corpus/a") == expected
    with pytest.raises(CorpusError, match=r"found no file .*/~nobody-has-this-name/a\.fr"):
        find(DataConfig(dir="~/corpus"), "~nobody-has-this-name/a")


def test_a_missing_file_is_named_with_similar_ones(tmp_path):
    touch(tmp_path, "train.fr", "train.eng", "unrelated")
    with pytest.raises(CorpusError) as caught:
        find(DataConfig(dir=str(tmp_path)), "train")
    message = str(caught.value)
    assert f"found no file {tmp_path}/train.en (nor with .gz, .xz, .bz2, .zst appended)" in message
    assert "similar files there: train.eng, train.fr" in message
    assert "unrelated" not in message
    assert "data.src_lang" in message
    assert message.count("found no file") == 1


def test_a_directory_is_not_taken_for_a_file(tmp_path):
    (tmp_path / "b.tsv").mkdir()
    with pytest.raises(CorpusError, match=r"b\.tsv is a directory, not a file; name the files inside it"):
        find(DataConfig(dir=str(tmp_path)), "b.tsv")


def test_a_missing_directory_is_named():
    with pytest.raises(CorpusError, match=r"data\.dir=/nowhere: /nowhere is not a directory; correct"):
        find(DataConfig(dir="/nowhere"), "train")
    with pytest.raises(CorpusError, match=r"there is no directory /nowhere/deep"):
        find(DataConfig(), "/nowhere/deep/train")


def test_an_unknown_bundled_corpus_is_answered_with_the_known_ones(tmp_path, monkeypatch):
    (tmp_path / "sample").mkdir()
    monkeypatch.setattr("seq2seq.corpus.sources.bundled_corpus", lambda name: tmp_path / name)
    with pytest.raises(CorpusError, match=r"bundled:smaple: .*choose one of sample or give a directory"):
        find(DataConfig(dir="bundled:smaple"), "train")
    touch(tmp_path / "sample", "train.fr", "train.en")
    assert find(DataConfig(dir="bundled:sample"), "train")[0].files[0] == tmp_path / "sample/train.fr"


def test_each_form_may_have_a_tag(tmp_path):
    touch(tmp_path, "a.fr", "a.en", "a.en.1", "b.tsv", "c.jsonl", "left", "right")
    config = DataConfig(dir=str(tmp_path))
    entries = ["a", "b.tsv", "c.jsonl", {"src": "left", "tgt": "right"}]
    tagged = [{"source": entry, "tag": f"t{i}"} for i, entry in enumerate(entries)]
    expected = [replace(source, tag=f"t{i}") for i, source in enumerate(find(config, entries))]
    assert find(config, tagged) == expected
    assert find(config, tagged[1]) == expected[1:2]
    (with_references,) = find(config, tagged[0], with_references=True)
    assert (with_references.tag, with_references.files[2:]) == ("t0", (tmp_path / "a.en.1",))


@pytest.mark.parametrize(("columns", "count"), [(["en", "de"], 0), (["fr", "en", "fr"], 2)])
def test_tsv_columns_name_each_language_once(tmp_path, columns, count):
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(b"x\ty\n"))
    with pytest.raises(ConfigError, match=rf"has {count} columns of data\.src_lang=fr; .*'-' for a column"):
        find(DataConfig(dir=str(tmp_path), tsv_columns=columns), "a.tsv.gz")


def test_an_unknown_augmentation_is_refused_with_those_there_are(tmp_path):
    touch(tmp_path, "a.fr", "a.en")
    config = DataConfig(dir=str(tmp_path))
    entry = {"source": "a", "augmentation": ["lower", "typo"]}
    with pytest.raises(ConfigError, match=r"there is no augmentation 'typo'; choose from upper, title, .*, join3"):
        find(config, entry, key="data.test")
    entry["augmentation"] = ["lower", "typos"]
    (found,) = find(config, entry, key="data.test")
    assert found.augmentations == ("lower", "typos")


@pytest.mark.parametrize(("direction", "order"), [("fr-en", 1), ("en-fr", 1), ("en-fr", -1)])
def test_a_prefix_finds_files_that_name_the_direction(tmp_path, direction, order):
    touch(tmp_path, f"valid.{direction}.fr.gz", f"valid.{direction}.en", f"valid.{direction}.en.1")
    src_lang, tgt_lang = ("fr", "en")[::order]
    config = DataConfig(dir=str(tmp_path), src_lang=src_lang, tgt_lang=tgt_lang)
    (found,) = find(config, "valid", with_references=True)
    names = {"fr": f"valid.{direction}.fr.gz", "en": f"valid.{direction}.en"}
    assert found.paths == (tmp_path / names[src_lang], tmp_path / names[tgt_lang])
    assert found.references == ((tmp_path / f"valid.{direction}.en.1",) if tgt_lang == "en" else ())


def test_of_two_directions_a_prefix_finds_its_own_and_plain_names_come_first(tmp_path):
    touch(tmp_path, *(f"valid.{way}.{each}" for way in ("fr-en", "en-fr") for each in ("fr", "en")), "valid.fr")
    (found,) = find(DataConfig(dir=str(tmp_path), src_lang="en", tgt_lang="fr"), "valid")
    assert found.paths == (tmp_path / "valid.en-fr.en", tmp_path / "valid.en-fr.fr")
    touch(tmp_path, "valid.en")
    assert find(DataConfig(dir=str(tmp_path)), "valid")[0].paths == (tmp_path / "valid.fr", tmp_path / "valid.en")


@pytest.mark.parametrize(
    ("name", "form"),
    [("a.csv", "csv"), ("a.tmx", "tmx"), ("a.xlf", "xliff"), ("a.xliff", "xliff"), ("a.po", "po"), ("A.TMX", "tmx")],
)
@pytest.mark.parametrize("suffix", ["", ".gz"])
def test_an_ending_names_a_form(tmp_path, name, form, suffix):
    touch(tmp_path, name + suffix)
    columns = ("fr", "en") if form == "csv" else ()
    expected = [Source(form, (tmp_path / f"{name}{suffix}",), ("fr", "en"), columns)]
    assert find(DataConfig(dir=str(tmp_path)), name) == find(DataConfig(dir=str(tmp_path)), name + suffix) == expected
    assert form_of(Path(f"{name}{suffix}".upper())) == form


def test_what_decides_the_pairs_besides_the_bytes_is_in_the_layout():
    path = Path("a")
    sources = [
        Source("lines", (path, path)),
        *(Source("tsv", (path,), ("fr", "en"), columns) for columns in (("fr", "en"), ("en", "fr"), ("fr", "en", "-"))),
        *(Source(form, (path,), ("fr", "en")) for form in ("jsonl", "tmx")),
        Source("tmx", (path,), ("en", "fr")),
    ]
    assert len({source.layout for source in sources}) == len(sources)


def test_words_of_a_command_line_are_sources(tmp_path):
    touch(tmp_path, "a.fr.gz", "a.en", "b.tsv", "c.po")
    words = [str(tmp_path / name) for name in ("a.fr.gz", "a.en", "b.tsv", "c.po", "a")]
    assert specs_of(words[:2]) == [SourceFiles(words[0], words[1])]
    assert specs_of(words[2:4]) == [SourcePath(word) for word in words[2:4]]
    assert specs_of(words[:3]) == [SourcePath(word) for word in words[:3]]
    assert specs_of(words[4:]) == [SourcePath(words[4])]


@pytest.mark.parametrize("other", ["a", "b.tsv", "c.po", "corpus:a/train", "https://a.org/b"])
def test_of_two_words_a_mistyped_one_is_told_as_a_file(tmp_path, other):
    touch(tmp_path, "c.fr", "c.en", "a.fr", "a.en")
    text, mistyped = str(tmp_path / "c.fr"), str(tmp_path / "c.ne")
    with pytest.raises(CorpusError, match=r"^found no file \S+/c\.ne; similar files there: c\.en, c\.fr") as told:
        fetch_sources(DataConfig(), specs_of([text, mistyped]))
    assert str(told.value).count("\n") == 0
    other = other if ":" in other else str(tmp_path / other)
    assert specs_of([text, other]) == [SourcePath(text), SourcePath(other)]  # that names something of its own
