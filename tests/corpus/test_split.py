"""What comes out of `python -m seq2seq corpus split`, read back from its files."""

import os
import random
import re
import sys
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.cli import main
from seq2seq.corpus import reader, split
from seq2seq.corpus.groups import comparable
from seq2seq.corpus.hashes import file_sha256
from seq2seq.dataset.prepare import prepare
from tests.places import ROOT, SHARED
from tests.training.tiny_runs import tiny_config

TATOEBA = SHARED / "tatoeba/fra-eng.tsv"
Pair = tuple[str, str]
DIRECTIONS = (("en", "fr"), ("fr", "en"))

# Few words, so that sentences repeat, in forms that differ only where that should not matter.
sentences = st.builds(
    lambda words, end: " ".join(words) + end,
    st.lists(st.sampled_from(["a", "A", "b", "c", "d", "é", "e\u0301", "ﬁ", "fi"]), max_size=3),
    st.sampled_from(["", ".", " !", "\u202f?", " "]),
)
corpora = st.lists(st.tuples(sentences, sentences), min_size=1, max_size=60)


def lines(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def write_tsv(path: Path, pairs: Sequence[Pair]) -> Path:
    path.write_text("".join(f"{en}\t{fr}\n" for en, fr in pairs), encoding="utf-8", newline="")
    return path


def run(file: Path, output: Path, *options: object) -> None:
    main(["corpus", "split", str(file), "--languages", "en", "fr", "--output", str(output), *map(str, options)])


def refused(capsys: pytest.CaptureFixture[str], *args: object) -> str:
    with pytest.raises(SystemExit) as stopped:
        main(["corpus", "split", *map(str, args)])
    assert stopped.value.code == 2
    message = capsys.readouterr().err
    assert message.startswith("error: ")
    return message


def train_pairs(folder: Path) -> list[Pair]:
    return list(zip(lines(folder / "train.en"), lines(folder / "train.fr"), strict=True))


def held_out_pairs(folder: Path, name: str, direction: Pair) -> list[Pair]:
    """Pairs of valid or test, English first, from the files of one direction."""
    src_lang, tgt_lang = direction
    prefix = f"{name}.{src_lang}-{tgt_lang}"
    sources = lines(folder / f"{prefix}.{src_lang}")
    assert len(sources) == len(set(sources))
    numbered = sorted(folder.glob(f"{prefix}.{tgt_lang}*"), key=lambda path: (len(path.name), path.name))
    assert [path.name for path in numbered] == [
        f"{prefix}.{tgt_lang}{'.' * bool(i)}{i or ''}" for i in range(len(numbered))
    ]
    streams = [lines(path) for path in numbered]
    assert all(streams[0])
    assert all(any(stream) for stream in streams)
    pairs = [(src, tgt) for src, *targets in zip(sources, *streams, strict=True) for tgt in targets if tgt]
    return [(tgt, src) if src_lang == "fr" else (src, tgt) for src, tgt in pairs]


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


def split_in(folder: Path, pairs: Sequence[Pair], name: str = "out", *options: object) -> Path | None:
    """The directory that is written; None where there are too few groups."""
    try:
        run(write_tsv(folder / "corpus.tsv", pairs), folder / name, "--valid", 1, "--test", 2, *options)
    except SystemExit:
        assert not (folder / name).exists()
        return None
    return folder / name


@given(pairs=corpora, seed=st.integers(0, 5), max_group=st.sampled_from([1, 3, 50]))
def test_no_sentence_is_in_two_splits_and_each_pair_is_in_one(pairs: list[Pair], seed: int, max_group: int) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = split_in(Path(temporary), pairs, "out", "--seed", seed, "--max-group", max_group)
        if folder is None:
            return
        splits = {
            "train": train_pairs(folder),
            "valid": held_out_pairs(folder, "valid", ("en", "fr")),
            "test": held_out_pairs(folder, "test", ("en", "fr")),
        }
        for name in ("valid", "test"):
            assert Counter(held_out_pairs(folder, name, ("fr", "en"))) == Counter(splits[name])
            assert all(count <= max_group for count in Counter(en for en, _ in splits[name]).values())
        expected = {pair for pair in pairs if pair[0].strip() and pair[1].strip()}
        assert Counter(pair for each in splits.values() for pair in each) == Counter(expected)
        for side in (0, 1):
            seen = [{comparable(pair[side]) for pair in each} for each in splits.values()]
            assert sum(map(len, seen)) == len(set().union(*seen))
        first_seen = dict.fromkeys(pairs)
        assert splits["train"] == [pair for pair in first_seen if pair in set(splits["train"])]


@given(pairs=corpora, seed=st.integers(0, 5))
@settings(max_examples=25)
def test_the_same_text_and_seed_give_the_same_bytes_and_the_order_of_lines_moves_no_pair(
    pairs: list[Pair], seed: int
) -> None:
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary)
        first, again = (split_in(folder, pairs, name, "--seed", seed) for name in ("first", "again"))
        if first is None or again is None:
            assert first is again
            return
        assert contents(first) == contents(again)
        shuffled = split_in(folder, random.Random(seed).sample(pairs, len(pairs)), "shuffled", "--seed", seed)
        assert shuffled is not None
        assert Counter(train_pairs(shuffled)) == Counter(train_pairs(first))
        for name in ("valid", "test"):
            found = [Counter(held_out_pairs(each, name, ("en", "fr"))) for each in (first, shuffled)]
            assert found[0] == found[1]


def distinct(n: int) -> list[Pair]:
    return [(f"sentence {i}", f"phrase {i}") for i in range(n)]


def test_every_group_is_as_likely_to_be_drawn_whatever_its_size(tmp_path: Path) -> None:
    # 300 groups of one pair and 300 of six, three targets for each of two sources that share one.
    large = [(f"two {i} {j}", f"deux {i} {k}") for i in range(300) for j in range(2) for k in range(3)]
    write_tsv(tmp_path / "corpus.tsv", distinct(300) + large)
    n_large = 0
    for seed in range(4):
        run(tmp_path / "corpus.tsv", tmp_path / str(seed), "--valid", 100, "--test", 100, "--seed", seed)
        held_out = [
            pair for name in ("valid", "test") for pair in held_out_pairs(tmp_path / str(seed), name, ("en", "fr"))
        ]
        n_large += sum(en.startswith("two") for en, _ in held_out) // 6
    # Of 800 drawn without replacement in four turns, 400 are expected, with a standard deviation of 11.6.
    assert 350 < n_large < 450


def test_seeds_draw_other_groups_in_random_order(tmp_path: Path) -> None:
    corpus = write_tsv(tmp_path / "corpus.tsv", distinct(200))
    drawn = []
    for seed in (1, 2):
        run(corpus, tmp_path / str(seed), "--valid", 30, "--test", 30, "--seed", seed)
        drawn.append(lines(tmp_path / str(seed) / "test.en-fr.en"))
    assert len(set(drawn[0]) & set(drawn[1])) < 20
    assert drawn[0] != sorted(drawn[0], key=lambda line: int(line.split()[1]))


CORPUS = [
    ("Go.", "Va !"),
    ("Go!", "Allez-y."),  # like the one before
    ("Run!", "Cours !"),
    ("Run!", "Courez !"),
    ("Hurry up!", "Courez\u202f!"),  # by the target
    ("Run!", "Cours !"),  # a duplicate
    ("", "rien"),
    ("nothing", " "),
    *((f"Number {i}.", f"Numéro {i}.") for i in range(5)),
    *((f"Hello {i % 4}", f"Salut {i // 4}") for i in range(12)),  # one group of 12
]


def test_the_report_counts_what_was_read_left_out_and_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_tsv(tmp_path / "corpus.tsv", CORPUS)
    out = tmp_path / "new" / "out"
    run(corpus, out, "--valid", 4, "--test", 3, "--max-group", 3)
    report = capsys.readouterr().out
    found = report.splitlines()
    assert found[:5] == [
        f"read {corpus}, seed 1",
        "25 pairs; left out 3 (empty 2, duplicate 1)",
        "8 groups of pairs that share a sentence; the largest has 12 pairs",
        "1 groups of more than 3 pairs, 12 pairs in all, stay in train",
        "train: 1 groups, 12 pairs",
    ]
    assert found[-1].endswith(f"data.dir={out} data.src_lang=en data.tgt_lang=fr")
    n_pairs = [int(n) for n in re.findall(r"^(?:valid|test): [43] groups, (\d+) pairs$", report, re.M)]
    assert sum(n_pairs) == 10
    for name in ("valid", "test"):
        for src_lang, tgt_lang in DIRECTIONS:
            pairs = held_out_pairs(out, name, (src_lang, tgt_lang))
            sources = Counter(pair[src_lang == "fr"] for pair in pairs)
            assert (
                f"  {src_lang} to {tgt_lang}: {len(sources)} sources with {len(pairs) / len(sources):.2f} references "
                f"each, at most {max(sources.values())}"
            ) in report
    kept = (out / "split.txt").read_text(encoding="utf-8")
    assert report.split("\nwrote")[0] in kept
    assert kept.endswith(f"{file_sha256(corpus)}  corpus.tsv\n")


@pytest.mark.skipif(sys.platform != "linux", reason="needs names that are not Unicode")
def test_a_name_that_is_not_unicode_is_told_with_escapes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = write_tsv(tmp_path / os.fsdecode(b"donn\xe9es.tsv"), CORPUS)
    run(corpus, tmp_path / "out", "--valid", 1, "--test", 1)
    assert r"donn\udce9es.tsv, seed 1" in capsys.readouterr().out
    assert (tmp_path / "out/split.txt").read_text().count(r"donn\udce9es.tsv") == 2


def test_each_source_comes_once_with_its_targets_in_the_order_of_the_corpus(tmp_path: Path) -> None:
    run(write_tsv(tmp_path / "c.tsv", CORPUS), tmp_path / "out", "--valid", 1, "--test", 6, "--max-group", 3)
    references: dict[str, list[str]] = {}
    for name in ("valid", "test"):
        files = sorted((tmp_path / "out").glob(f"{name}.en-fr.fr*"))
        rows = zip(lines(tmp_path / "out" / f"{name}.en-fr.en"), *map(lines, files), strict=True)
        references |= {src: [line for line in row if line] for src, *row in rows}
    assert references["Run!"] == ["Cours !", "Courez !"]
    assert references["Go."] == ["Va !"]
    assert references["Go!"] == ["Allez-y."]
    assert references["Hurry up!"] == ["Courez\u202f!"]


@pytest.mark.parametrize("direction", DIRECTIONS)
def test_training_finds_every_reference_in_either_direction(tmp_path: Path, direction: Pair) -> None:
    pairs = [
        *CORPUS,
        *((f"word {i // 2}", f"mot {i}") for i in range(400)),
        *((f"a {i}", f"un {i // 2}") for i in range(400)),
    ]
    run(write_tsv(tmp_path / "c.tsv", pairs), tmp_path / "out", "--valid", 20, "--test", 150, "--max-group", 3)
    src_lang, tgt_lang = direction
    languages = {"data.src_lang": src_lang, "data.tgt_lang": tgt_lang}
    prepared = prepare(tiny_config(tmp_path / "out", tmp_path / "run", languages))
    (test,) = prepared.tests.values()
    found = [(test.src_text(i), reference) for i in range(len(test)) for reference in test.references(i)]
    expected = held_out_pairs(tmp_path / "out", "test", direction)
    assert Counter(found) == Counter(expected if src_lang == "en" else [(fr, en) for en, fr in expected])
    assert len(found) > len(test)
    assert prepared.report["splits"]["test/test"]["overlap"] == {"sources_in_train": 0, "pairs_in_train": 0}


def test_a_terminal_shows_how_much_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    corpus = write_tsv(tmp_path / "c.tsv", distinct(25))
    monkeypatch.setattr(reader, "_TOLD", 10)
    run(corpus, tmp_path / "mute", "--valid", 4, "--test", 3)
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    monkeypatch.setenv("COLUMNS", "1000")
    run(corpus, tmp_path / "out", "--valid", 4, "--test", 3)
    once = "".join(f"\r\x1b[K{text}" for text in (f"{corpus}: 10 pairs", f"{corpus}: 20 pairs", ""))
    assert capsys.readouterr().err == 2 * once


# --- errors ---


def test_nothing_is_overwritten(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = write_tsv(tmp_path / "c.tsv", distinct(9))
    (tmp_path / "out").mkdir()
    message = refused(capsys, corpus, "--languages", "en", "fr", "--output", tmp_path / "out")
    assert message == f"error: {tmp_path / 'out'} exists already; delete it, or choose another --output\n"


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        ("a\tb\nc\n", (), "c.tsv:2: expected 2 tab-separated fields, found 1 in 'c'"),
        ("", (), "no sentence pair in "),
        ("a\tb\nc\td\n", (), "of 2 groups, 2 have at most 8 pairs, too few for 1,000 in valid, 2,000 in test and some"),
        ("a\tb\nc\td\n", ("--valid", 1, "--test", 1), "too few for 1 in valid, 1 in test and some in train"),
        (" \t \n", (), "of 0 groups, 0 have"),
        ("a\tb\n", ("--valid", 0), "--valid 0 is below 1"),
    ],
)
def test_what_cannot_be_cut_is_one_sentence_and_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, options: tuple[object, ...], expected: str
) -> None:
    (tmp_path / "c.tsv").write_bytes(text.encode("latin-1"))
    message = refused(capsys, tmp_path / "c.tsv", "--languages", "en", "fr", "--output", tmp_path / "out", *options)
    assert expected in message
    assert message.count("\n") == 1
    assert [path.name for path in tmp_path.iterdir()] == ["c.tsv"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("c.tsv", "--languages", "en"), "--languages en does not name two languages"),
        (("c.tsv", "--languages", "en", "fr/x"), "'fr/x'"),
        (("c.txt", "--languages", "en", "fr"), "c.txt: its ending is none of .tsv, .csv, "),
    ],
)
def test_mistaken_arguments_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], expected: str
) -> None:
    write_tsv(tmp_path / "c.tsv", distinct(9))
    (tmp_path / "c.txt").write_text("one\n")
    until = arguments.index("--languages")
    files = [tmp_path / name for name in arguments[:until]]
    assert expected in refused(capsys, *files, *arguments[until:], "--output", tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["c.tsv", "c.txt"]


def test_an_interruption_leaves_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(path: Path) -> str:
        raise KeyboardInterrupt

    monkeypatch.setattr(split, "file_sha256", interrupt)  # when all the rest is written
    with pytest.raises(SystemExit) as stopped:
        run(write_tsv(tmp_path / "c.tsv", distinct(9)), tmp_path / "out", "--valid", 2, "--test", 2)
    assert stopped.value.code == 130
    assert capsys.readouterr().err == "interrupted\n"
    assert [path.name for path in tmp_path.iterdir()] == ["c.tsv"]


def test_a_corpus_that_changes_meanwhile_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    corpus = write_tsv(tmp_path / "c.tsv", distinct(9))
    describe = split.describe

    def meanwhile(plan: split.Plan, max_group: int) -> list[str]:
        write_tsv(corpus, distinct(10))
        return describe(plan, max_group)

    monkeypatch.setattr(split, "describe", meanwhile)
    options = ("--languages", "en", "fr", "--output", tmp_path / "out", "--valid", 2, "--test", 2)
    assert f"{corpus} changed while it was read; start again" in refused(capsys, corpus, *options)
    assert not (tmp_path / "out").exists()


def test_a_place_that_cannot_be_written_is_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    corpus = write_tsv(tmp_path / "c.tsv", distinct(9))
    options = ("--output", corpus / "out", "--valid", 2, "--test", 2)
    assert "c.tsv" in refused(capsys, corpus, "--languages", "en", "fr", *options)


# --- a real corpus ---


@pytest.mark.skipif(not TATOEBA.is_file(), reason=f"no corpus in {TATOEBA}")
def test_tatoeba_is_cut_as_documented(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run(TATOEBA, tmp_path / "out")
    report = capsys.readouterr().out.split("\nwrote")[0].split("\n", 1)[1]
    page = (ROOT / "docs" / "data.md").read_text(encoding="utf-8")
    assert "\n".join(f"    {line}" for line in report.splitlines()) in page
