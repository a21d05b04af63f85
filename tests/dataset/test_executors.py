"""A store is the same, whoever makes its blocks, and nothing is left of processes or of what they did not finish."""

import errno
import os
import pickle
import signal
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from multiprocessing import active_children, parent_process
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from seq2seq.config import DataConfig, RunConfig, TokenizerConfig
from seq2seq.config.clean import CleanConfig
from seq2seq.corpus.cleaning.held_out import HeldOut
from seq2seq.corpus.judge import Judge
from seq2seq.dataset import executors
from seq2seq.dataset import store as store_module
from seq2seq.dataset.encoding import Encoder, Text
from seq2seq.dataset.executors import encoded, in_order
from seq2seq.dataset.prepare import prepare
from seq2seq.dataset.store import write_store
from seq2seq.errors import ConfigError, CorpusError, TokenizerError
from seq2seq.tokenizer import Tokenizer
from tests.dataset.preparing import config_of, content, kill_all, pausing, prepared, preparing
from tests.dataset.small_corpus import sentence, write_split
from tests.processes import descendants, lives, until

ODD = [("", "x"), ("x", ""), ("un chat " * 40, "a cat"), ("a", "un chat " * 9), ("\u2028 \x85", "é"), ("\u200b", "y")]
HELD_OUT = HeldOut([("le chat noir dort sur le lit ce soir", "the black cat sleeps on the bed tonight")], near=True)
LIKE_ANOTHER = ("le chat noir dort sur le lit ce soir, oui", "the black cat sleeps on the bed tonight, yes")
PAIRS = st.lists(
    st.one_of(
        st.sampled_from([*ODD, LIKE_ANOTHER]),
        st.integers(0, 9).map(lambda i: (sentence(i), sentence(-i - 1))),
        st.tuples(*[st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\r"), max_size=20)] * 2),
    ),
    min_size=1,
    max_size=30,
)
FILTERS = DataConfig(
    drop_duplicates=True,
    max_sentence_tokens=60,
    max_length_ratio=4.0,
    clean=CleanConfig(rules=["control", "repetition"]),
    drop_overlap="near",
)


@pytest.fixture(scope="module")
def tokenizer() -> Tokenizer:
    lines = [sentence(i) for i in range(300)]
    return Tokenizer.train(lines, TokenizerConfig(vocab_size=350), ["law", "med"])


def stored(
    directory: Path, sources: list[list[tuple[str, str]]], tokenizer: Tokenizer, **options: Any
) -> dict[str, str]:
    tags: Any = ["", "law", "med"][: len(sources)]
    judge = Judge(FILTERS, HELD_OUT)
    options = {"tags": tags, "judge": judge, "keep_text": True, **options}
    return content(write_store(directory, list(map(iter, sources)), tokenizer, **options).directory)


@given(sources=st.lists(PAIRS, min_size=1, max_size=3), size=st.integers(1, 9), most=st.integers(1, 5))
@settings(max_examples=12)
def test_blocks_of_any_size_that_are_made_at_once_are_the_store_of_one_block(
    tmp_path_factory: pytest.TempPathFactory, tokenizer: Tokenizer, sources, size, most
) -> None:
    sources[0] = [*sources[0], ("un chat", "a cat")]  # something is left
    folder = tmp_path_factory.mktemp("stores")
    expected = stored(folder / "whole", sources, tokenizer)

    def at_once(encoder, texts):
        return in_order(lambda text: pool.submit(encoder, text), texts, most)

    with pytest.MonkeyPatch.context() as patch, ThreadPoolExecutor(3) as pool:
        patch.setattr(store_module, "BLOCK", size)
        assert stored(folder / "blocks", sources, tokenizer, encode=at_once) == expected


def test_no_more_blocks_than_asked_for_are_on_their_way() -> None:
    texts: Any = iter(range(9))
    double: Any = (2).__mul__
    with ThreadPoolExecutor(2) as pool:
        found: Any = [
            (block, texts.__length_hint__()) for block in in_order(lambda n: pool.submit(double, n), texts, 4)
        ]
    assert found == [(2 * n, max(5 - n, 0)) for n in range(9)]


@pytest.fixture
def many(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight blocks of eight pairs are many."""
    monkeypatch.setattr(store_module, "BLOCK", 8)
    monkeypatch.setattr(executors, "FEW", 5)


SOURCES = [[*ODD, *[(sentence(i % 40), sentence(-i % 40)) for i in range(50)]], [LIKE_ANOTHER, (sentence(3), "x")]]
BROKEN = [[(sentence(i), "\ud800" if i == 41 else "x") for i in range(50)]]
by_processes = partial(encoded, data=DataConfig(n_workers=2))


def test_processes_make_the_same_store_without_torch(tmp_path, tokenizer, many) -> None:
    expected = stored(tmp_path / "here", SOURCES, tokenizer)
    assert stored(tmp_path / "by_processes", SOURCES, tokenizer, encode=by_processes) == expected
    work = pickle.dumps(Encoder(tokenizer, Judge(FILTERS, HELD_OUT), True))
    with executors._processes(1) as (executor, _):
        block = executor.submit(executors._block, work, Text(0, [], 0, [("un chat", "a cat")])).result()
        assert block.kept.tolist() == [True]
        assert executor.submit(eval, "'torch' in __import__('sys').modules").result() is False
    assert active_children() == []


def test_few_pairs_and_one_worker_start_no_process(config: RunConfig, monkeypatch) -> None:
    monkeypatch.setattr(executors, "ProcessPoolExecutor", lambda *_: pytest.fail("a process"))
    config.data.n_workers = 2
    small = prepare(config)
    config.data.cache_dir += "_"
    config.data.n_workers = 1
    monkeypatch.setattr(store_module, "BLOCK", 50)
    other = prepare(config)
    assert other.train.manifest == small.train.manifest
    assert other.seen == small.seen


class Deadly(Judge):
    """Ends the process that uses it first, or every one."""

    first: Path | None = None

    def judge(self, *arguments):
        assert parent_process() is not None, "these tests would end"
        if self.first is None or not self.first.exists():
            if self.first is not None:
                self.first.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().judge(*arguments)


def test_a_program_that_no_process_can_import_is_refused(tmp_path, tokenizer, many, monkeypatch) -> None:
    monkeypatch.setattr(sys.modules["__main__"], "__file__", "<stdin>", raising=False)
    with pytest.raises(ConfigError, match=r"it is read from stdin; put it into a file, or set data\.n_workers=1"):
        stored(tmp_path / "store", SOURCES, tokenizer, encode=by_processes)


def test_a_process_that_cannot_start_is_not_the_fault_of_the_disk() -> None:
    told = r"cannot start \(no more processes\); set data\.n_workers to fewer"
    with pytest.raises(CorpusError, match=told), executors._processes(1):
        raise BlockingIOError(errno.EAGAIN, "no more processes")


def test_a_process_that_is_killed_is_one_sentence_and_leaves_nothing(tmp_path, tokenizer, many) -> None:
    with pytest.raises(CorpusError, match=r"was killed, most likely because memory ran out; set data\.n_workers to f"):
        stored(tmp_path / "store", SOURCES, tokenizer, judge=Deadly(FILTERS), encode=by_processes)
    assert active_children() == [] and list(tmp_path.iterdir()) == []


def test_an_error_of_a_process_is_the_one_of_this_process(tmp_path, tokenizer, many) -> None:
    with pytest.raises(TokenizerError, match="half a surrogate pair"):
        stored(tmp_path / "store", BROKEN, tokenizer, encode=by_processes)
    assert active_children() == [] and list(tmp_path.iterdir()) == []


# --- whole preparations, as processes ---


@pytest.fixture
def large(tmp_path: Path) -> Path:
    """1,000 training pairs in ten blocks, which are many where five are few."""
    folder = tmp_path / "corpus"
    folder.mkdir()
    pairs = [(sentence(i), sentence(-i - 1)) for i in range(800)]
    write_split(folder, "train", [*pairs, ("", "blank"), *pairs[:199]])
    write_split(folder, "valid", pairs[:40])
    write_split(folder, "test", pairs[40:60])
    return folder


linux = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")


def pids(folder: Path) -> set[int]:
    return {int(file.name) for file in folder.iterdir()}


def interrupt_twice(process: int) -> None:
    for _ in range(2):
        os.killpg(process, signal.SIGINT)  # as a terminal does


@linux
@pytest.mark.parametrize(
    ("stop", "status"),
    [
        (interrupt_twice, 130),
        (lambda process: os.kill(process, signal.SIGTERM), 143),
        (lambda process: os.killpg(process, signal.SIGTERM), 143),
        (lambda process: os.kill(process, signal.SIGKILL), -signal.SIGKILL),
    ],
    ids=["Ctrl-C twice", "SIGTERM", "SIGTERM to all", "SIGKILL"],
)
def test_a_preparation_that_is_stopped_leaves_no_process_and_the_next_one_is_whole(
    large: Path, tmp_path: Path, stop: Callable[[int], None], status: int
) -> None:
    pause = tmp_path / "pause"
    process = preparing(large, tmp_path / "cache", 2, pausing(pause))
    try:
        until(lambda: len(pids(pause / "starts")) == 2)
        (pause / "begin").touch()
        until(lambda: len(pids(pause / "encodes")) == 2)
        workers = descendants(process.pid)
        assert pids(pause / "encodes") <= workers
        stop(process.pid)
        said = process.communicate(timeout=120)[1]
    finally:
        kill_all([process])
    until(lambda: not any(map(lives, workers)))
    assert process.returncode == status
    assert "Traceback" not in said and "was killed" not in said, said
    assert not [file for file in (tmp_path / "cache/stores").iterdir() if file.suffix not in (".lock", ".tmp")]
    if status > 0:
        assert not list((tmp_path / "cache/stores").glob("*.tmp"))
    store, _ = prepared(preparing(large, tmp_path / "cache", 2))
    assert content(store) == content(prepare(config_of(large, tmp_path / "whole", 1)).train.directory)
    assert not list((tmp_path / "cache/stores").glob("*.tmp"))


@linux
def test_a_process_that_is_still_starting_leaves_ctrl_c_to_its_parent(large: Path, tmp_path: Path) -> None:
    """Python starts it in 0.3 s, and Ctrl-C reaches all processes of a terminal."""
    pause = tmp_path / "pause"
    process = preparing(large, tmp_path / "cache", 2, pausing(pause))
    try:
        until(lambda: len(pids(pause / "starts")) == 2)
        for worker in pids(pause / "starts"):
            os.kill(worker, signal.SIGINT)
        for name in ("begin", "go"):
            (pause / name).touch()
        _, said = prepared(process)
    finally:
        kill_all([process])
    assert "Traceback" not in said


# --- a Dask cluster ---


@pytest.fixture
def dask_config() -> Any:
    """`dask.config.set`, after the defaults that importing the names of the library brings."""
    distributed = pytest.importorskip("distributed", reason="the extra dask is not installed")
    assert distributed.Client
    return pytest.importorskip("dask").config.set


@pytest.fixture
def cluster(dask_config: Any) -> Iterator[Any]:
    """A scheduler and two workers, each a process, on this machine."""
    from distributed import LocalCluster

    with (
        dask_config({"distributed.scheduler.allowed-failures": 3}),
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
    ):
        yield cluster


def by_dask(cluster: Any) -> Any:
    return partial(encoded, data=DataConfig(executor=cluster.scheduler_address.replace("tcp://", "dask://")))


def test_a_cluster_makes_the_same_store_also_if_a_worker_dies(tmp_path, tokenizer, many, cluster) -> None:
    expected = stored(tmp_path / "here", SOURCES, tokenizer)
    assert stored(tmp_path / "by_dask", SOURCES, tokenizer, encode=by_dask(cluster)) == expected
    with pytest.raises(TokenizerError, match="half a surrogate pair"):
        stored(tmp_path / "store", BROKEN, tokenizer, encode=by_dask(cluster))
    judge = Deadly(FILTERS, HELD_OUT)
    judge.first = tmp_path / "died"
    assert stored(tmp_path / "one_died", SOURCES, tokenizer, judge=judge, encode=by_dask(cluster)) == expected
    assert judge.first.exists()
    cluster.scheduler.allowed_failures = 0
    with pytest.raises(CorpusError, match=r"data\.executor=dask://.*: the cluster gave the work up"):
        stored(tmp_path / "store", SOURCES, tokenizer, judge=Deadly(FILTERS), encode=by_dask(cluster))
    assert not (tmp_path / "store").exists()


def test_a_cluster_that_is_not_there_is_named(tmp_path, tokenizer, many, dask_config) -> None:
    nowhere = partial(encoded, data=DataConfig(executor="dask://127.0.0.1:1"))
    with (
        dask_config({"distributed.comm.timeouts.connect": "100ms"}),
        pytest.raises(ConfigError, match=r"data\.executor=dask://127\.0\.0\.1:1: no scheduler with a worker answers"),
    ):
        stored(tmp_path / "store", SOURCES, tokenizer, encode=nowhere)
    assert list(tmp_path.iterdir()) == []
