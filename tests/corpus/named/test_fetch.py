"""Sources by name: what each scheme gives, what comes before a download, and what is said of a wrong name."""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from seq2seq.config import DataConfig
from seq2seq.config.sources import parse_sources
from seq2seq.corpus.named import opus
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.reader import read_pairs, read_references
from seq2seq.corpus.sources import Origin, Source
from seq2seq.corpus.split import split_corpus
from seq2seq.corpus.split_options import SplitOptions
from seq2seq.errors import ConfigError, CorpusError
from tests.corpus.named.archives import tar, zipped
from tests.corpus.named.library import publish, settings
from tests.corpus.named.server import Server

FR, EN = b"Un chien.\nDeux chats.\n", b"A dog.\nTwo cats.\n"
PAIRS = [("Un chien.", "A dog."), ("Deux chats.", "Two cats.")]


def lines(*words: str) -> bytes:
    return "".join(f"{word}\n" for word in words).encode()


def fetched(config: DataConfig, value: object, **more: Any) -> list[Source]:
    return fetch_sources(config, parse_sources("data.valid", value), **more)


def captions(server: Server) -> dict[str, Any]:
    entry = {
        "en": publish(server, "/train.en.gz", gzip.compress(EN, mtime=0)),
        "fr": publish(server, "/train.fr.gz", gzip.compress(FR, mtime=0)),
    }
    return {"captions": {"licence": "free", "parts": {"train": entry}}}


@pytest.mark.parametrize(
    ("folder", "value"), [("corpus:captions", "train"), ("corpus:", "captions/train"), ("", "corpus:captions/train")]
)
def test_a_part_of_two_files(server: Server, tmp_path: Path, folder: str, value: str) -> None:
    (source,) = fetched(settings(tmp_path, captions(server), dir=folder), value)
    assert list(read_pairs(source)) == PAIRS
    assert source.origin == Origin("corpus:captions/train", "free")


def test_tags_and_the_other_direction(server: Server, tmp_path: Path) -> None:
    config = settings(tmp_path, captions(server), src_lang="en", tgt_lang="fr")
    (source,) = fetched(config, {"source": "corpus:captions/train", "tag": "t"})
    assert source.tag == "t" and list(read_pairs(source)) == [(en, fr) for fr, en in PAIRS]


def test_files_in_data_here_come_before_a_download(server: Server, tmp_path: Path) -> None:
    folder = Path("data/captions")
    folder.mkdir(parents=True)
    (folder / "train.fr").write_bytes(b"Le mien.\n")
    config = settings(tmp_path, captions(server), dir="corpus:captions")
    assert list(read_pairs(fetched(config, "train")[0])) == PAIRS  # one of two files is not enough
    (folder / "train.en").write_bytes(b"Mine.\n")
    (source,) = fetched(config, "train")
    assert list(read_pairs(source)) == [("Le mien.", "Mine.")]
    assert source.origin == Origin("corpus:captions/train", "free")


def test_a_directory_that_is_named_comes_before_all(server: Server, tmp_path: Path) -> None:
    (tmp_path / "train.fr").write_bytes(b"Le mien.\n")
    (tmp_path / "train.en").write_bytes(b"Mine.\n")
    (source,) = fetched(settings(tmp_path, captions(server), dir=str(tmp_path)), "train")
    assert list(read_pairs(source)) == [("Le mien.", "Mine.")] and source.origin is None
    assert not server.asked


def test_parts_of_an_archive_that_is_fetched_once(server: Server, tmp_path: Path) -> None:
    files = {f"dev/{year}.{language}": lines(f"{year} {language}") for year in range(4) for language in ("fr", "en")}
    files |= {name: content.rstrip(b"\n") for name, content in files.items() if name.startswith("dev/2.")}
    files |= {"dev/z.fr.gz": gzip.compress(FR), "dev/z.en.gz": gzip.compress(EN)}
    archive = publish(server, "/dev.tgz", tar(files, "gz"))
    train, valid, packed = (
        {"archive": archive, **{language: [f"dev/{name}.{language}" for name in names] for language in ("fr", "en")}}
        for names in ([2, 1], [0], [])
    )
    packed |= {"fr": "dev/z.fr.gz", "en": "dev/z.en.gz"}
    own = {"news": {"parts": {"train": train, "valid": valid, "packed": packed}}}
    sources = fetched(settings(tmp_path, own, dir="corpus:news"), ["train", "valid", "packed"])
    assert [list(read_pairs(source)) for source in sources] == [
        [("2 fr", "2 en"), ("1 fr", "1 en")], [("0 fr", "0 en")], PAIRS,
    ]  # fmt: skip
    assert [file.suffix for file in sources[2].files] == [".gz", ".gz"]  # as it was
    assert sorted(path.name for path in sources[0].files[0].parent.iterdir()) == ["made.json", "train.en", "train.fr"]
    assert server.asked["/dev.tgz"] == 1


def table(n: int) -> list[tuple[str, str]]:
    return [(f"Sentence {i // 2}.", f"Phrase {i}.") for i in range(n)]


def test_a_table_is_cut_as_the_command_cuts_it(server: Server, tmp_path: Path) -> None:
    rows = table(60)
    licence = "CC-BY 2.0 (France) Attribution: tatoeba.org #1"
    content = zipped({"_about.txt": b"!", "fra.txt": lines(*("\t".join([*row, licence]) for row in rows))})
    archive = publish(server, "/fra-eng.zip", content)
    own = {
        "pairs": {
            "table": {**archive, "member": "fra.txt", "columns": ["en", "fr", "-"]},
            "split": {"valid": 3, "test": 5, "max_group": 4, "seed": 2},
        }
    }
    config = settings(tmp_path, own, dir="corpus:pairs")
    (train, valid) = fetched(config, ["train", "valid.fr-en"], with_references=True)
    plain = tmp_path / "pairs.tsv"
    plain.write_bytes(lines(*("\t".join(row) for row in rows)))
    source = Source("tsv", (plain,), ("en", "fr"), ("en", "fr"))
    split_corpus(
        [source], ("en", "fr"), SplitOptions(output=tmp_path / "split", n_valid=3, n_test=5, seed=2, max_group=4)
    )
    made = train.files[0].parent
    expected = {path.name: path.read_bytes() for path in (tmp_path / "split").iterdir() if path.name != "split.txt"}
    assert {path.name: path.read_bytes() for path in made.iterdir() if path.suffix not in (".txt", ".json")} == expected
    assert f"read {server.url}/fra-eng.zip, seed 2" in (made / "split.txt").read_text()
    (back,) = fetched(
        settings(tmp_path, own, dir="corpus:pairs", src_lang="en", tgt_lang="fr"),
        "valid.en-fr",
        with_references=True,
    )
    assert any(list(read_references(back))) and valid.files[0].parent == made
    assert server.asked["/fra-eng.zip"] == 1


# --- other schemes ---


def wmt_sgm(name: str, kind: str, language: str, words: list[str]) -> bytes:
    segments = "".join(f'<seg id="{i}"> {word} </seg>\n' for i, word in enumerate(words, start=1))
    return f'<{kind}set setid="{name}">\n<doc docid="d">\n{segments}</doc>\n</{kind}set>\n'.encode()


def test_a_test_set_of_sacrebleu(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.dataset import DATASETS

    content = tar(
        {
            "test-full/newstest2014-fren-src.fr.sgm": wmt_sgm("n", "src", "fr", ["Un  chien.", "Deux\u00a0chats."]),
            "test-full/newstest2014-fren-ref.en.sgm": wmt_sgm("n", "ref", "en", ["A dog.", "Two cats."]),
        },
        "gz",
    )
    monkeypatch.setattr(DATASETS["wmt14/full"], "md5", [hashlib.md5(content).hexdigest()])
    monkeypatch.setattr(DATASETS["wmt14/full"], "data", [publish(server, "/test-full.tgz", content)["url"]])
    (source,) = fetched(settings(tmp_path), "sacrebleu:wmt14/full", with_references=True)
    assert list(read_pairs(source)) == PAIRS  # as sacreBLEU's own --echo, with one space for any white space
    assert sorted(path.name for path in source.files[0].parent.iterdir()) == [
        "made.json", "wmt14-full.fr-en.en", "wmt14-full.fr-en.fr",
    ]  # fmt: skip
    (part,) = fetched(settings(tmp_path, dir="corpus:wmt14"), "newstest2014")
    assert list(read_pairs(part)) == PAIRS
    assert server.asked["/test-full.tgz"] == 1


def test_all_references_of_a_test_set(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from sacrebleu.dataset import DATASETS
    from sacrebleu.dataset.plain_text import PlainTextDataset

    content = tar({"x/a.fr": FR, "x/a.en": EN, "x/b.en": lines("One dog.", "Cats.")})

    class Several(PlainTextDataset):
        def fieldnames(self, langpair: str) -> list[str]:
            return ["src", "ref:0", "ref:1"]

    langpairs = {"fr-en": ["x/a.fr", "x/a.en", "x/b.en"]}
    data = Several(
        "several", data=[f"{server.url}/several.tgz"], md5=[hashlib.md5(content).hexdigest()], langpairs=langpairs
    )
    monkeypatch.setitem(DATASETS, "several", data)
    server.files["/several.tgz"] = content
    (source,) = fetched(settings(tmp_path), "sacrebleu:several", with_references=True)
    assert list(read_references(source)) == [["One dog."], ["Cats."]]


def test_a_corpus_of_opus(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = "/OPUS-Tatoeba/v2023-04-12/moses/en-fr.txt.zip"
    monkeypatch.setattr(opus, "FILES", opus.FILES.replace("https://object.pouta.csc.fi", server.url))
    server.files[path] = zipped({"README": b"", "Tatoeba.en-fr.en": EN, "Tatoeba.en-fr.fr": FR, "LICENSE": b""})
    (source,) = fetched(settings(tmp_path), "opus:Tatoeba/v2023-04-12")
    assert list(read_pairs(source)) == PAIRS
    assert source.origin == Origin("opus:Tatoeba/v2023-04-12", "see https://opus.nlpl.eu/Tatoeba")
    (back,) = fetched(settings(tmp_path, src_lang="en", tgt_lang="fr"), "opus:Tatoeba/v2023-04-12")
    assert list(read_pairs(back)) == [(en, fr) for fr, en in PAIRS]
    assert server.asked[path] == 1


def test_addresses_of_one_file_of_two_and_of_a_prefix(server: Server, tmp_path: Path) -> None:
    both = publish(server, "/a.tsv.gz", gzip.compress(b"Un chien.\tA dog.\nDeux chats.\tTwo cats.\n"))
    server.files["/A.TSV.GZ"] = server.files["/a.tsv.gz"]
    fr, en = publish(server, "/t.fr", FR), publish(server, "/t.en.gz", gzip.compress(EN))
    rows = [{"fr": fr_line, "en": en_line} for fr_line, en_line in PAIRS]
    publish(server, "/a.jsonl", lines(*map(json.dumps, rows)))
    publish(server, "/q.fr?token=S3cret", FR)
    publish(server, "/q.en.gz?token=S3cret", gzip.compress(EN))
    (tmp_path / "own.en").write_bytes(EN)
    for value in (
        {"url": both["url"], "sha256": both["sha256"]},
        f"{server.url}/a.tsv.gz#sha256={both['sha256']}",
        f"{server.url}/A.TSV.GZ",
        f"{server.url}/a.jsonl",
        f"{server.url}/t",
        f"{server.url}/q?token=S3cret",
        f"{server.url}/t#sha256={fr['sha256']},{en['sha256']}",
        {"src": {"url": fr["url"], "sha256": fr["sha256"]}, "tgt": en["url"]},
        {"src": f"{fr['url']}#sha256={fr['sha256']}", "tgt": str(tmp_path / "own.en")},
    ):
        (source,) = fetched(settings(tmp_path), value)
        assert list(read_pairs(source)) == PAIRS, value
    wrong = "0" * 64
    with pytest.raises(CorpusError, match="and 000000000000… was promised"):
        fetched(settings(tmp_path), f"{server.url}/a.tsv.gz#sha256={wrong}")


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("https://x.org/a.tsv#sha256=12", "what follows # is not of the form sha256= and 64 digits"),
        (f"https://x.org/a.tsv#sha256={'0' * 64},{'1' * 64}", "has two digests, and it is one file"),
        (f"https://x.org/a#sha256={'0' * 64}", r"has one digest for the two files of a prefix; write #sha256=FR,EN"),
        ({"src": f"https://x.org/a#sha256={'0' * 64},{'1' * 64}", "tgt": "b"}, "has two digests, and it is one file"),
        ({"src": "corpus:captions/train", "tgt": "b"}, "is both sides of a text; write it alone"),
        ("corpus:captoins/train", r"there is no such corpus; do you mean captions\?; `python -m seq2seq corpus find`"),
        ("corpus:captions/trian", r"captions has no part 'trian'; do you mean train\?; its parts are train"),
        ("corpus:captions", r"captions has no part ''; its parts are train"),
        ("sacrebleu:wmt41", r"sacreBLEU \S+ has no such test set; do you mean wmt24 or"),
        ("sacrebleu:wmt18", r"sacrebleu:wmt18: has no direction fr-en, but cs-en, "),
        ("opus:Tatoeba", r"is not of the form opus:CORPUS/VERSION, such as .*corpus find --languages fr en` lists"),
        ("hf:wmt14", r"is not of the form hf:NAME/CONFIG or hf:NAME/CONFIG@SPLIT"),
    ],
)
def test_a_wrong_name_is_told_before_anything_is_asked(
    server: Server, tmp_path: Path, value: object, message: str
) -> None:
    with pytest.raises(ConfigError, match=message):
        fetched(settings(tmp_path, captions(server)), value)
    assert not server.asked


def test_a_language_that_a_part_has_not(server: Server, tmp_path: Path) -> None:
    with pytest.raises(CorpusError, match=r"corpus:captions/train has en, fr and not de; correct data.src_lang and"):
        fetched(settings(tmp_path, captions(server), tgt_lang="de"), "corpus:captions/train")


def test_two_files_below_a_name_are_refused(server: Server, tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"data.dir=corpus:captions: \{src: a, tgt: b\} is no part of it"):
        fetched(settings(tmp_path, captions(server), dir="corpus:captions"), {"src": "a", "tgt": "b"})


def test_the_problems_of_all_sources_come_together(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(opus, "FILES", server.url + "/en-fr.txt.zip")
    config = settings(tmp_path, captions(server), dir=str(tmp_path))
    with pytest.raises(CorpusError) as caught:
        fetched(config, ["nowhere", "opus:A/v1", f"{server.url}/b.tsv"])
    first, _, second, third = str(caught.value).splitlines()
    assert "found no file" in first and "opus:A/v1: cannot fetch en-fr.txt.zip" in second and "b.tsv" in third


def test_nothing_is_fetched_where_that_is_not_wanted(server: Server, tmp_path: Path) -> None:
    config = settings(tmp_path, captions(server), dir="corpus:captions")
    with pytest.raises(CorpusError, match="and it is not fetched"):
        fetched(config, "train", is_offline=True)
    assert not server.asked
