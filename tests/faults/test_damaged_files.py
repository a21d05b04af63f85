"""Whatever happens to a file that is read back, the reader gives what was written, or our own error in one sentence."""

import logging
import shutil
from collections.abc import Callable
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from seq2seq.analysis.analyse import analyse
from seq2seq.artifacts.checkpoint import read_checkpoint
from seq2seq.artifacts.model_directory import write_model_directory, write_safetensors
from seq2seq.artifacts.run_directory import Metric, RunDirectory, Selection
from seq2seq.artifacts.saved_model import SavedModel
from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.config import DataConfig, RunConfig, TokenizerConfig, read_config
from seq2seq.dataset.prepare import Prepared, prepare
from seq2seq.errors import CheckpointError, UserError
from seq2seq.evaluation.scores import Interval
from tests.analysis.test_test_set import ANALYSIS
from tests.dataset.small_corpus import sentence, write_split
from tests.faults.many import COSTLY_FAULTS, FAULTS
from tests.faults.sentences import assert_helps, may_refuse
from tests.translating import model_content, write_run


@st.composite
def damages(draw: st.DrawFn) -> Callable[[bytes], bytes]:
    """A flipped bit, a torn tail, or a range of zeros, anywhere in a file."""
    kind = draw(st.sampled_from(["flip", "cut", "zeros"]))
    place, bit, length = draw(st.floats(0, 1)), draw(st.integers(0, 7)), draw(st.integers(1, 5_000))

    def damaged(whole: bytes) -> bytes:
        start = min(int(place * len(whole)), len(whole) - 1)
        if kind == "cut":
            return whole[:start]
        data = bytearray(whole)
        if kind == "flip":
            data[start] ^= 1 << bit
        else:
            data[start : start + length] = bytes(len(data[start : start + length]))
        return bytes(data)

    return damaged


def damage(folder: Path, data: st.DataObject) -> Path:
    """Damage one file of a folder, and name it."""
    files = sorted(file for file in folder.rglob("*") if file.is_file() and file.stat().st_size)
    file = data.draw(st.sampled_from(files))
    file.write_bytes(data.draw(damages())(file.read_bytes()))
    return file


def fresh_copy(folder: Path) -> Path:
    """A copy of a folder, in the place of the one before."""
    copy = folder.with_name("copy")
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(folder, copy)
    return copy


CONTENT = model_content()


def assert_is_whole(model: SavedModel) -> None:
    assert (model.tokenizer, model.tokenizer_sha256) == (CONTENT.tokenizer, CONTENT.tokenizer_sha256)
    assert read_config(model.config).model == read_config(CONTENT.config).model
    assert model.weights.keys() == CONTENT.weights.keys()
    assert all(torch.equal(model.weights[name], weight) for name, weight in CONTENT.weights.items())


@FAULTS
@given(data=st.data())
def test_a_checkpoint(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    folder = _made_once(tmp_path_factory, "checkpoint", lambda folder: write_run(folder, CONTENT))
    file = damage(fresh_copy(folder), data)
    try:
        found = read_checkpoint(file)
    except CheckpointError as error:
        assert_helps(error, file)
    else:  # the damage is where an archive has nothing, such as the gaps between its members
        assert found.step == 1
        assert_is_whole(found.model)


@COSTLY_FAULTS
@given(data=st.data())
def test_a_model_directory(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    def write(folder: Path) -> None:
        def write_weights(building: Path) -> None:
            write_safetensors(building, CONTENT.weights, CONTENT.tokenizer_sha256)

        write_model_directory(folder, CONTENT, "# A model", write_weights)

    directory = fresh_copy(_made_once(tmp_path_factory, "model_directory", write))
    damage(directory, data)
    try:
        found = TrainedModel.read(directory)
    except UserError as error:
        assert_helps(error, directory)
    else:
        assert_is_whole(found.saved)


@COSTLY_FAULTS
@given(data=st.data())
def test_a_run_directory(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Its text files have no checksums, since people read and write them."""
    metric = Metric(3, "valid/bleu", 12.5, "1700000000.0")

    def write(folder: Path) -> None:
        run = RunDirectory(folder)
        run.write_config(read_config(CONTENT.config))
        run.write_selection(Selection("best", 3, {"best": {"bleu": 12.5}}))
        run.write_scores({"test": {"bleu": Interval(12.5, 12.4, 0.3, "nrefs:2|case:mixed|")}})
        run.write_test("test", "en", ["a cat"], [("a cat", "one cat")])
        run.write_sources("test", "fr", ["un chat"])
        run.write_analysis("test", ANALYSIS.as_json())
        run.metrics_file.write_text("step,metric,value,unix_time\n" + ",".join(map(str, metric)) + "\n")

    run = RunDirectory(fresh_copy(_made_once(tmp_path_factory, "run_directory", write)))
    damage(run.path, data)
    readers: list[Callable[[], Any]] = [run.config, run.languages, run.selection, run.scores, run.metrics, run.tests]
    readers += [lambda: run.scoring("test")]
    readers += [lambda: run.hypotheses("test"), lambda: run.references("test"), lambda: run.sources("test")]
    readers += [lambda: analyse(run, "test")]
    for read in readers:
        with may_refuse(run.path):
            read()


@COSTLY_FAULTS
@given(data=st.data())
def test_the_cache(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """What is damaged in it is made again, and the run has the text that it should have."""

    def write(folder: Path) -> None:
        pairs = [(sentence(i), sentence(-i - 1)) for i in range(120)]
        for split, n in (("train", 100), ("valid", 10), ("test", 10)):
            write_split(folder, split, pairs[:n])
        _prepared(folder)

    folder = _made_once(tmp_path_factory, "corpus", write)
    expected = _content(_prepared(folder))
    copy = fresh_copy(folder)
    damage(copy / "cache", data)
    assert _content(_prepared(copy)) == expected


def _prepared(folder: Path) -> Prepared:
    config = RunConfig(
        data=DataConfig(dir=str(folder), cache_dir=str(folder / "cache")), tokenizer=TokenizerConfig(vocab_size=330)
    )
    with pytest.MonkeyPatch.context() as patch:
        # pytest keeps what is logged of an error, and with its traceback the files that were open: too many in the end.
        patch.setattr(logging.getLogger("seq2seq.dataset.prepare"), "disabled", True)
        return prepare(config)


def _content(prepared: Prepared) -> Any:
    stores = {"train": prepared.train, "valid": prepared.valid, **prepared.tests}
    ids = {
        name: [(store.src(i).tolist(), store.tgt(i).tolist()) for i in range(len(store))]
        for name, store in stores.items()
    }
    counts = {name: store.manifest.report for name, store in stores.items()}
    return prepared.tokenizer.fingerprint, ids, counts, prepared.seen


def _made_once(factory: pytest.TempPathFactory, name: str, make: Callable[[Path], object]) -> Path:
    """A folder that all examples of a test share, and copy."""
    folder = factory.getbasetemp() / f"damaged_{name}" / "whole"
    if not folder.exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        if name != "model_directory":
            folder.mkdir()
        make(folder)
    return folder


def test_each_of_several_problems_in_a_file_is_a_line_that_names_the_file(tmp_path: Path) -> None:
    config = read_config(CONTENT.config)
    config.model.n_heads, config.batch.max_tokens = 5, -1
    RunDirectory(tmp_path).write_config(config)
    write_run(tmp_path, replace(CONTENT, config=asdict(config)))
    for file, read in (
        (tmp_path / "config.yaml", RunDirectory(tmp_path).config),
        (tmp_path / "checkpoints" / "model.ckpt", lambda: TrainedModel.read(tmp_path)),
    ):
        with pytest.raises(UserError) as caught:
            read()
        assert_helps(caught.value, file)
        for key in ("model.n_heads", "batch.max_tokens"):
            assert any(key in problem for problem in caught.value.problems)
