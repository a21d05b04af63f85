"""The catalogue: what the project's own file says, and what is wrong with a user's."""

import hashlib
from pathlib import Path
from typing import Any

import pytest
from omegaconf import OmegaConf

from seq2seq.corpus.named.catalogue import Corpus, Download, read_catalogue
from seq2seq.errors import ConfigError
from seq2seq.files import conf_dir
from tests.places import SHARED

PART = {"en": "https://x.org/a.en", "fr": "https://x.org/a.fr"}


def read(tmp_path: Path, content: Any) -> dict[str, Corpus]:
    file = tmp_path / "own.yaml"
    OmegaConf.save(OmegaConf.create(content), file)
    return read_catalogue(file)


def test_every_corpus_says_what_it_is_and_under_which_terms() -> None:
    corpora = read_catalogue()
    assert {"multi30k", "tatoeba", "news", "wmt14"} <= set(corpora)
    for corpus in corpora.values():
        assert corpus.about and corpus.licence and corpus.home.startswith("https://")
        assert all(download.url.startswith("https://") for download in corpus.downloads)


def test_the_checksums_of_multi30k_are_those_of_the_files_in_its_readme() -> None:
    readme = (conf_dir().parent / "data/multi30k/README.md").read_text()
    parts = read_catalogue()["multi30k"].parts
    for name in ("train", "val", "test_2016_flickr"):
        part = parts[name]
        assert isinstance(part, dict)
        for language in ("fr", "en"):
            assert f"`{part[language].download.sha256[:8]}…`" in readme


@pytest.mark.skipif(not (SHARED / "multi30k").is_dir(), reason="Multi30k is not in shared/data")
def test_the_checksums_of_multi30k_are_those_of_the_real_files() -> None:
    for download in read_catalogue()["multi30k"].downloads:
        if download.sha256:
            content = (SHARED / "multi30k" / download.file_name).read_bytes()
            assert (len(content), hashlib.sha256(content).hexdigest()) == (download.size, download.sha256)


def test_a_file_of_ones_own_adds_names_and_replaces_others(tmp_path: Path) -> None:
    corpora = read(tmp_path, {"corpora": {"mine": {"parts": {"a": PART}}, "news": {"parts": {"b": PART}}}})
    assert (
        list(corpora["news"].parts) == ["b"] and corpora["mine"].languages("a") == ("en", "fr") and "wmt14" in corpora
    )


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            {"corpus": {}},
            r"own.yaml: object contains unknown field `corpus`; do you mean corpora\?; known are corpora; d",
        ),
        ({"corpora": ["a"]}, r"own.yaml.corpora: expected keys with values, got a list; docs/corpora.md has the form$"),
        ({"corpora": {"A b": {}}}, r"A b: a name has letters, digits, _, - and . only"),
        ({"corpora": {"a": {}}}, "own.yaml: a: has neither or both of `parts` and `table`"),
        ({"corpora": {"a": 3}}, "own.yaml: a: expected keys with values, got `int`"),
        ({"corpora": {"a": {"licence": "\x1b[2J"}}}, r"own.yaml: a.licence: expected `str` matching regex"),
        ({"corpora": {"a": {"parts": {"\x1b[2J": PART}}}}, "own.yaml: a: expected `str` matching regex"),
        *(
            ({"corpora": {"a": {"parts": {"t": part}}}}, f"own.yaml: a.parts.t{message}")
            for part, message in [
                ({"en": "https://x.org/a"}, ": has en; give a file for two"),
                (PART | {"fr": "x.org/a"}, r".fr.url: expected `str` matching regex '\^https"),
                (PART | {"fr": {"url": "https://x", "sha256": "12"}}, r".fr.sha256: expected `str` matching regex"),
                (PART | {"fr": {"url": "https://x", "size": -1}}, ".fr.size: expected `int` >= 0"),
                (
                    PART | {"fr": {"url": "https://x", "sha": ""}},
                    r".fr: object contains .*; do you mean sha256\?; known",
                ),
                (PART | {"fr": {}}, ".fr: object missing required field `url`"),
                ({"archive": "https://x", "en": [], "fr": "a"}, ".en: expected a list of length >= 1"),
                ({"archive": "https://x", "en": "", "fr": "a"}, r".en\[0\]: expected `str` of length >= 1"),
                ({"sacrebleu": ["wmt14"]}, ".sacrebleu: expected `str`, got a list"),
            ]
        ),
        ({"corpora": {"a": {"table": {"url": "https://x", "columns": ["en", "-"]}}}}, "does not name two languages"),
        (
            {"corpora": {"a": {"table": {"url": "https://x", "columns": ["en", "fr"]}, "split": {"valid": 0}}}},
            r"a.table.split\[...\]: expected `int` >= 1",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(tmp_path: Path, content: Any, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        read(tmp_path, content)


def test_a_file_that_is_missing_or_no_yaml_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"own.yaml: cannot be read \(No such file or directory\); correct data.cat"):
        read_catalogue(tmp_path / "own.yaml")
    (tmp_path / "own.yaml").write_text("corpora: [")
    with pytest.raises(ConfigError, match=r"own.yaml: is not YAML \(.*\); correct it"):
        read_catalogue(tmp_path / "own.yaml")


@pytest.mark.parametrize(
    ("url", "name"),
    [
        ("https://x/a.tsv.gz?download=1#b", "a.tsv.gz"),
        ("https://x/", "x"),
        ("https://x/..", "file"),
        ("https://x/a b", "a_b"),
    ],
)
def test_a_download_is_kept_under_a_harmless_name(url: str, name: str) -> None:
    assert Download(url).file_name == name
