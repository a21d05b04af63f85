"""A large split is the same store, however many processes make its blocks, and whatever happens to them."""

import gzip
import os
import pickle
import signal
import sys
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DataConfig, RunConfig, TokenizerConfig
from seq2seq.config.clean import CleanConfig
from seq2seq.corpus.blocks import Cut
from seq2seq.corpus.judge import Judge
from seq2seq.corpus.reader import read_pairs
from seq2seq.corpus.sources import Source
from seq2seq.dataset import block_processes
from seq2seq.dataset import prepare as prepare_module
from seq2seq.dataset.block_processes import make_blocks
from seq2seq.dataset.block_work import BlockWork
from seq2seq.dataset.encoding import load_block
from seq2seq.dataset.prepare import prepare
from seq2seq.dataset.store import PairStore, join_blocks, write_store
from seq2seq.errors import CorpusError
from seq2seq.exit_status import exit_status
from seq2seq.tokenizer import Tokenizer
from tests.dataset.preparing import (
    blocks,
    config_of,
    content,
    kill_all,
    pausing,
    prepared,
    preparing,
)
from tests.dataset.small_corpus import sentence, write_split
from tests.processes import descendants, lives, until

ODD = [("", "x"), ("x", ""), ("un chat " * 40, "a cat"), ("a", "un chat " * 9), ("\u2028 \x85", "é"), ("\u200b", "y")]
HELD_OUT = ("le chat noir dort sur le lit ce soir", "the black cat sleeps on the bed tonight")
LIKE_ANOTHER = [
    ("le chat noir dort sur le lit ce soir, oui", "the black cat sleeps on the bed tonight, yes"),
    ("la petite fille joue dans le grand jardin vert", "the little girl plays in the large green garden"),
    ("la petite fille joue dans le grand jardin vert, a", "the little girl plays in the large green garden a"),
]
PAIRS = st.lists(
    st.one_of(
        st.sampled_from(ODD + LIKE_ANOTHER),
        st.integers(0, 9).map(lambda i: (sentence(i), sentence(-i - 1))),
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=20)] * 2),
    ),
    min_size=1,
    max_size=30,
)
CLEAN = CleanConfig(rules=["control", "repetition"])
FILTERS = DataConfig(
    drop_duplicates=True, max_sentence_tokens=60, max_length_ratio=4.0, clean=CLEAN, drop_overlap="near"
)


def filters() -> Judge:
    return Judge(FILTERS, held_out=[HELD_OUT])


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    lines = [sentence(i) for i in range(300)]
    return Tokenizer.train(lines, TokenizerConfig(vocab_size=350), ["law", "med"])


def work_on(folder: Path, sources: list[list[tuple[str, str]]], tokenizer: Tokenizer, size: int = 4) -> BlockWork:
    cuts = []
    for number, pairs in enumerate(sources):
        source = Source("lines", (folder / f"{number}.fr.gz", folder / f"{number}.en"))
        for file, side in zip(source.files, zip(*pairs, strict=True), strict=True):
            data = "".join(f"{line}\n" for line in side).encode()
            file.write_bytes(gzip.compress(data) if file.suffix == ".gz" else data)
        cuts.append(Cut.of(source, size))
    tags = ["", "law", "med"][: len(sources)]
    store = folder / "store"
    return BlockWork(folder / "blocks", store, cuts, tags, tokenizer, filters(), True)


def joined(work: BlockWork) -> dict[str, str]:
    join_blocks(work.store, work.blocks(), work.tokenizer, work.filters, work.keep_text)
    return content(work.store)


def in_one_pass(work: BlockWork) -> dict[str, str]:
    store = write_store(
        work.store.with_name("plain"),
        [read_pairs(cut.source) for cut in work.cuts],
        work.tokenizer,
        tags=work.tags,
        filters=filters(),
        keep_text=True,
    )
    return content(store.directory)


@given(sources=st.lists(PAIRS, min_size=1, max_size=3), size=st.integers(1, 9), data=st.data())
@settings(max_examples=12)
def test_blocks_in_any_order_are_the_store_of_one_pass(
    tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer, sources, size, data
) -> None:
    sources[0] = [*sources[0], ("un chat", "a cat")]  # something is left
    work = work_on(tmp_path_factory.mktemp("work"), sources, tokenizer, size)
    expected = in_one_pass(work)
    make_blocks(work, 1)
    files = blocks_of(work)
    assert len(files) == work.n_blocks
    for lost in data.draw(st.sets(st.sampled_from(files))):
        lost.unlink()
    for damaged in sorted(data.draw(st.sets(st.sampled_from(files))) & set(blocks_of(work))):
        content = bytearray(damaged.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= 4
        damaged.write_bytes(content)
    assert joined(work) == expected


def blocks_of(work: BlockWork) -> list[Path]:
    return sorted(work.directory.glob("*.block"))


@pytest.mark.parametrize("n_workers", [1, 2])
def test_any_number_of_processes_makes_the_same_store(tmp_path, tokenizer, n_workers) -> None:
    pairs = [(sentence(i % 90), sentence(-i % 90)) for i in range(110)]
    work = work_on(tmp_path, [[*ODD, *pairs], pairs[:7] + LIKE_ANOTHER + ODD, pairs], tokenizer, size=8)
    expected = in_one_pass(work)
    reasons = PairStore.open(work.store.with_name("plain")).manifest["report"]["rejected"]
    assert {"near_overlap", "duplicate"} <= {name for name, n in reasons.items() if n}
    make_blocks(work, n_workers)
    made = {file: file.stat().st_mtime_ns for file in blocks_of(work)}
    assert len(made) == work.n_blocks
    assert joined(work) == expected
    assert made == {file: file.stat().st_mtime_ns for file in blocks_of(work)}


def test_a_damaged_block_is_named_and_made_again(tmp_path, tokenizer, caplog) -> None:
    work = work_on(tmp_path, [[(sentence(i), sentence(i)) for i in range(11)]], tokenizer)
    expected = in_one_pass(work)
    make_blocks(work, 1)
    first, second, third = blocks_of(work)
    second.write_bytes(second.read_bytes()[:-1])
    third.write_bytes(first.read_bytes())  # a whole block, but of more pairs
    assert load_block(second) is None
    assert joined(work) == expected
    assert [f"{file} is damaged and is made again" for file in (second, third)] == caplog.messages


def test_the_first_error_of_the_text_is_told_whoever_meets_one(tmp_path, tokenizer) -> None:
    work = work_on(tmp_path, [[(sentence(i), sentence(i)) for i in range(40)]], tokenizer)
    lines = [b"x\n"] * 40
    lines[9] = lines[37] = b"\xff\n"
    work.cuts[0].source.files[1].write_bytes(b"".join(lines))
    make_blocks(work, 2)
    with pytest.raises(CorpusError, match=r"0\.en:10: byte 1 of the line \(0xff\) is not UTF-8"):
        joined(work)
    assert not work.store.exists()


def test_no_block_is_made_of_a_store_that_is_there(tmp_path, tokenizer) -> None:
    work = work_on(tmp_path, [[(sentence(i), sentence(i)) for i in range(11)]], tokenizer)
    work.store.mkdir()
    make_blocks(work, 1)
    assert blocks_of(work) == []


def test_a_worker_that_is_killed_is_one_sentence_and_what_is_done_stays(tmp_path, tokenizer, monkeypatch) -> None:
    work = work_on(tmp_path, [[(sentence(i), sentence(i)) for i in range(40)]], tokenizer)
    start = block_processes._start
    workers = []

    def noted():
        workers.append(start())
        return workers[-1]

    def kill_one():
        if work.n_done == 4:
            os.kill(workers[0].pid, signal.SIGKILL)

    for name, value in pausing(tmp_path / "pause", 4).items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(block_processes, "_start", noted)
    monkeypatch.setattr(block_processes, "_LOOK_S", 0.01)
    monkeypatch.setattr(block_processes, "_progress_line", lambda *_: kill_one() or "")
    monkeypatch.setattr(block_processes, "_LOG_S", 0.0)
    with pytest.raises(CorpusError, match=r"was killed \(SIGKILL\).* memory ran out.*data\.n_workers to fewer"):
        make_blocks(work, 2)
    assert [worker.poll() for worker in workers] == [-signal.SIGKILL] * 2
    made = {file: file.stat().st_mtime_ns for file in blocks_of(work)}
    assert len(made) == 4
    make_blocks(work, 1)
    assert work.n_done == work.n_blocks == 10
    assert all(file.stat().st_mtime_ns == time_ns for file, time_ns in made.items())


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit])
def test_who_stops_it_is_told_what_stays(tmp_path, tokenizer, monkeypatch, capfd, stop) -> None:
    work = work_on(tmp_path, [[(sentence(i), sentence(i)) for i in range(11)]], tokenizer)
    monkeypatch.setattr(block_processes, "_LOG_S", 0.0)
    monkeypatch.setattr(block_processes, "_progress_line", lambda *_: (_ for _ in ()).throw(stop(1)))
    with suppress(stop):
        exit_status(lambda: make_blocks(work, 1))
    said = capfd.readouterr().err
    assert f"1 of 3 blocks of prepared text stay in {work.directory}; the same command goes on from there" in said


def test_a_worker_that_fails_for_another_reason_shows_it(tmp_path, tokenizer, capfd) -> None:
    work = work_on(tmp_path, [[(sentence(i), sentence(i)) for i in range(11)]], tokenizer)
    broken: Any = "no filter"
    with pytest.raises(CorpusError, match="ended with status 1; its message stands above"):
        make_blocks(replace(work, filters=broken), 2)
    assert "AttributeError: 'str' object has no attribute 'judge'" in capfd.readouterr().err


def test_work_can_be_sent_to_a_process(tmp_path, tokenizer) -> None:
    work = work_on(tmp_path, [[("un chat", "a cat")]], tokenizer)
    assert pickle.loads(pickle.dumps(work)).cuts == work.cuts


# --- whole preparations, as processes ---


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """1,000 training pairs, which are many where 500 count as such."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    pairs = [(sentence(i), sentence(-i - 1)) for i in range(800)]
    write_split(folder, "train", [*pairs, ("", "blank"), *pairs[:199]])
    write_split(folder, "valid", pairs[:40])
    write_split(folder, "test", pairs[40:60])
    return folder


pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


def test_a_preparation_that_was_killed_goes_on_and_leaves_no_process(large, tmp_path) -> None:
    whole = prepare(config_of(large, tmp_path / "whole", 1)).train.directory
    process = preparing(large, tmp_path / "cache", 2, 10, pausing(tmp_path / "pause", 40))
    try:
        until(lambda: len(blocks(tmp_path / "cache")) == 40)
        workers = descendants(process.pid)
        os.kill(process.pid, signal.SIGKILL)
        until(lambda: not any(map(lives, workers)))
    finally:
        kill_all([process])
    assert len(workers) == 2
    made = blocks(tmp_path / "cache")
    assert len(made) == 40
    made[7].write_bytes(made[7].read_bytes()[:-1])
    store, said = prepared(preparing(large, tmp_path / "cache", 1, 10))
    assert "40 of 100 blocks are there already" in said
    assert f"{made[7]} is damaged and is made again" in said
    assert content(store) == content(whole)
    assert not list((tmp_path / "cache/stores").glob("*.blocks"))


def test_two_preparations_at_once_share_the_work(large, tmp_path) -> None:
    whole = prepare(config_of(large, tmp_path / "whole", 1)).train.directory
    processes = [preparing(large, tmp_path / "cache", 1, 10, pausing(tmp_path / "pause", 40))]
    try:
        until(lambda: len(blocks(tmp_path / "cache")) == 40)
        processes.append(preparing(large, tmp_path / "cache", 1, 10))
        until(lambda: len(blocks(tmp_path / "cache")) == 99)
        (tmp_path / "pause/go").touch()
        (store, first), (other, second) = map(prepared, processes)
    finally:
        kill_all(processes)
    assert store == other == tmp_path / "cache/stores" / whole.name
    assert content(store) == content(whole)
    assert "another process is preparing train; helping it" in second
    assert "joining 100 blocks" in first and "joining" not in second
    assert not list((tmp_path / "cache/stores").glob("*.blocks"))


def test_a_process_that_is_still_starting_leaves_signals_to_its_parent(tmp_path, tokenizer, monkeypatch, capfd) -> None:
    """Python starts it in 0.3 s, and Ctrl-C reaches all processes of a terminal."""
    work = work_on(tmp_path, [[(sentence(i), sentence(i)) for i in range(11)]], tokenizer)
    work.directory.mkdir()
    starts, may_start = tmp_path / "starts", tmp_path / "may_start"
    (tmp_path / "sitecustomize.py").write_text(f"""
import time
from pathlib import Path
Path({str(starts)!r}).touch()
while not Path({str(may_start)!r}).exists():
    time.sleep(0.01)
""")
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    worker = block_processes._start()
    assert worker.stdin is not None
    until(starts.exists)
    for signum in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1):
        worker.send_signal(signum)
    may_start.touch()
    with suppress(BrokenPipeError):
        worker.stdin.write(pickle.dumps(work))
        worker.stdin.flush()
    worker.wait(timeout=120)
    worker.stdin.close()
    assert (worker.returncode, work.n_done, capfd.readouterr().err) == (0, work.n_blocks, "")


def test_a_signal_ends_it_at_once_and_says_what_stays(large, tmp_path) -> None:
    process = preparing(large, tmp_path / "cache", 2, 10, pausing(tmp_path / "pause", 7))
    try:
        until(lambda: len(blocks(tmp_path / "cache")) == 7)
        workers = descendants(process.pid)
        os.killpg(process.pid, signal.SIGINT)  # as a terminal does
        _, said = process.communicate(timeout=120)
    finally:
        kill_all([process])
    assert process.returncode == 130
    assert "7 of 100 blocks of prepared text stay in" in said and "the same command goes on from there" in said
    assert "Traceback" not in said and "was killed" not in said
    assert not any(map(lives, workers))
    assert len(blocks(tmp_path / "cache")) == 7


def test_fewer_pairs_than_pay_start_no_process(config: RunConfig, monkeypatch) -> None:
    monkeypatch.setattr(block_processes, "_start", lambda: pytest.fail("a process"))
    small = prepare(config)
    for n_workers, large, block in [(1, 302, 50), (2, 1, 302)]:
        config.data.cache_dir += "_"
        config.data.n_workers = n_workers
        monkeypatch.setattr(prepare_module, "LARGE", large)
        monkeypatch.setattr(prepare_module, "BLOCK", block)
        other = prepare(config)
        assert other.train.manifest == small.train.manifest
        assert other.seen == small.seen


def test_subwords_of_large_text_are_learned_from_a_sample_of_each_language(config, monkeypatch, caplog) -> None:
    caplog.set_level("INFO")
    learned: list[list[str]] = []
    train = Tokenizer.train

    def noted(lines, *args):
        learned.append(list(lines))
        return train(learned[-1], *args)

    monkeypatch.setattr(Tokenizer, "train", noted)
    config.tokenizer.max_sentences = 302  # all
    prepare(config)
    config.tokenizer.max_sentences = 100
    prepare(config)
    assert [len(lines) for lines in learned] == [604, 200]
    pairs = list(zip(learned[0][::2], learned[0][1::2], strict=True))
    drawn = [pairs.index(pair) for pair in zip(learned[1][::2], learned[1][1::2], strict=True)]
    assert all(k * 302 // 100 <= place < (k + 1) * 302 // 100 for k, place in enumerate(drawn[:-1]))
    assert "learning from 100 pairs, which are drawn at random" in caplog.text
