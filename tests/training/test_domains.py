import pytest

from seq2seq.config.sources import parse_sources
from seq2seq.training.validation import Domains


def test_domains_are_tags_and_sources_without_one_have_their_own_name():
    sources = parse_sources("data.valid", [
        {"source": "a/valid", "tag": "news"},
        "b/valid.tsv",
        {"source": "c/more", "tag": "news"},
        "d/other",
    ])  # fmt: skip
    domains = Domains.of(sources, [2, 1, 3, 1])
    assert domains.names == ["news", "valid", "other"]
    assert [domains.name(i) for i in range(7)] == ["news", "news", "valid", "news", "news", "news", "other"]
    assert [list(places) for places in domains.places([6, 2, 0, 5])] == [[2, 3], [1], [0]]


def test_sources_of_one_name_are_told_apart_by_their_paths():
    sources = parse_sources("data.valid", ["a/valid", {"src": "b/valid.fr", "tgt": "b/valid.en"}])
    assert Domains.of(sources, [1, 1]).names == ["a/valid", "b/valid.fr"]
    sources = parse_sources("data.valid", [f"https://ann:S3cret@host/{name}/valid.tsv" for name in "ab"])
    assert "S3cret" not in str(Domains.of(sources, [1, 1]).names)


@pytest.mark.parametrize(
    ("n", "expected"),
    [(9, [0, 4, 8, 12, 16, 20, 21, 22, 23]), (6, [0, 6, 13, 20, 21, 23]), (2, [0, 20]), (1, [0]), (40, [*range(24)])],
)
def test_small_domains_are_chosen_from_as_much_as_large_ones(n, expected):
    sources = parse_sources("data.valid", ["large", "medium", "small"])
    domains = Domains.of(sources, [20, 3, 1])
    assert domains.choose(range(24), n) == expected
