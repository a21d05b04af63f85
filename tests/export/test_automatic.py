"""CTranslate2, made by translate.py from a run that PyTorch would search more slowly."""

import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.export.automatic import ENOUGH_BYTES, with_ctranslate2
from seq2seq.translation.engines import Needs
from seq2seq.translation.engines.ctranslate2 import CTranslate2Engine
from seq2seq.translation.engines.load import load_engine
from seq2seq.translation.options import DecodingSettings, EngineOptions
from seq2seq.translation.request import TranslationRequest
from tests.export.exporting import needs_ctranslate2
from tests.translating import Cli, sentences

pytestmark = pytest.mark.slow

BY_CTRANSLATE2 = "translating with CTranslate2, made from "
ON_CPU = EngineOptions(device="cpu", precision="float32")
LITTLE = "Ba bi.\nFo fu 😀 da.\n"


@pytest.fixture
def run(trained_run: Path, tmp_path: Path) -> Path:
    needs_ctranslate2()
    return Path(shutil.copytree(trained_run, tmp_path / "run"))


@pytest.fixture
def text(tmp_path: Path) -> Path:
    """Just enough of it."""
    some = "".join(f"{source}\n" for source, _ in sentences(40))
    file = tmp_path / "text"
    file.write_text((some * (ENOUGH_BYTES // len(some) + 1))[: ENOUGH_BYTES - 1] + "\n")
    return file


def test_enough_text_makes_the_weights_which_the_next_texts_find(run: Path, text: Path) -> None:
    cli = Cli(run)
    status, translated, said = cli("--input", text)
    assert status == 0, said
    assert f"{BY_CTRANSLATE2}{run}; --engine torch does without\n" in said
    (converted,) = (run / "export").iterdir()
    assert converted.name == f"ctranslate2-of-{TrainedModel.read(run).fingerprint[:12]}"
    assert translated == cli("--input", text, "--engine", "torch")[1]

    few = cli(stdin=LITTLE)
    assert BY_CTRANSLATE2 in few[2]
    assert few[:2] == cli("--engine", "torch", stdin=LITTLE)[:2]  # the emoji, too, which is put back by attention
    aligned = cli.lines(LITTLE, "--alignment")
    assert aligned == cli.lines(LITTLE, "--alignment", "--engine", "torch")
    assert "after all" not in cli("--input", text)[2]

    model = TrainedModel.read(run)
    engine = load_engine([model], EngineOptions(converted=converted))
    assert isinstance(engine, CTranslate2Engine)
    engine.check(model.config.decoding, Needs(attention=True))


@pytest.mark.parametrize(
    "asked",
    [
        {"engine": EngineOptions(engine="torch", device="cpu", precision="float32")},
        {"engine": EngineOptions(device="cpu", precision="bfloat16")},
        {"engine": EngineOptions(device="cpu", precision="float32", attention="hard")},
        {"settings": DecodingSettings(normalization="gnmt")},
        {"prefixes": Path("beginnings")},
        {"terms": Path("glossary")},
        {"score": Path("translations")},
    ],
)
def test_what_is_asked_for_decides(run: Path, text: Path, asked: dict[str, Any]) -> None:
    request = replace(TranslationRequest(models=(run,), input=text, engine=ON_CPU), **asked)
    assert with_ctranslate2(request) == request
    assert not (run / "export").exists()


def test_a_few_lines_do_not_wait_for_a_conversion(run: Path, text: Path) -> None:
    text.write_bytes(text.read_bytes()[1:])
    request = TranslationRequest(models=(run,), input=text, engine=ON_CPU)
    assert with_ctranslate2(request) == request


def test_weights_of_another_checkpoint_are_not_taken(run: Path, tagged_run: Path, text: Path) -> None:
    request = TranslationRequest(models=(run,), input=text, engine=ON_CPU)
    before = with_ctranslate2(request).engine.converted
    shutil.copy(tagged_run / "checkpoints" / "model.ckpt", run / "checkpoints" / "model.ckpt")
    assert with_ctranslate2(request).engine.converted not in (None, before)


def test_where_the_weights_cannot_be_made_pytorch_searches(run: Path, text: Path) -> None:
    (run / "export").write_text("a file where a folder should be")
    status, out, said = Cli(run)("--input", text)
    assert (status, out.count("\n")) == (0, text.read_text().count("\n"))
    assert "translating with PyTorch after all: " in said


def test_damaged_weights_are_not_taken(run: Path, text: Path) -> None:
    with_ctranslate2(TranslationRequest(models=(run,), input=text, engine=ON_CPU))
    (weights,) = (run / "export").glob("*/ctranslate2/model.bin")
    weights.write_bytes(weights.read_bytes()[:-1] + b"?")
    status, out, said = Cli(run)(stdin=LITTLE)
    assert (status, out) == Cli(run)("--engine", "torch", stdin=LITTLE)[:2]
    assert f"translating with PyTorch after all: {weights}: differs from its checksum" in said
    assert f"; {weights.parents[1]} was made here: remove it, and it is made again" in said


def test_nothing_is_made_for_a_command_that_is_refused(run: Path, text: Path, tmp_path: Path) -> None:
    refusal = Cli(run).refusal("--input", text, "--output", tmp_path / "none" / "out.en")
    assert f"{tmp_path / 'none'}" in refusal
    assert not (run / "export").exists()
