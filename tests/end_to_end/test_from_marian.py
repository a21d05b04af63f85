"""A model in Marian's form is translated with, and trained on."""

from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.trained_model import TrainedModel
from tests.training.tiny_runs import checkpoint, command

pytest.importorskip("transformers", reason="pip install -e '.[hf]'")
from tests.artifacts.marian_directories import ENGLISH, FRENCH, marian_directory

N_STEPS = 3


@pytest.fixture(scope="module")
def opus_mt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return marian_directory(tmp_path_factory.mktemp("marian") / "opus-mt")


def test_translate_py_gives_what_transformers_gives(opus_mt: Path, tmp_path: Path) -> None:
    from transformers import MarianMTModel, MarianTokenizer

    (tmp_path / "in.en").write_text("".join(f"{line}\n" for line in ENGLISH[:12]), encoding="utf-8")
    limits = ["--max-length", "0", "20", "--split", "never", "--normalize", "never", "--precision", "float32"]
    done = command("--model", f"hf:{opus_mt}", "--input", str(tmp_path / "in.en"), *limits, script="translate.py")
    assert done.returncode == 0, done.stderr
    tokenizer, model = MarianTokenizer.from_pretrained(opus_mt), MarianMTModel.from_pretrained(opus_mt).eval()
    forbidden = [[tokenizer.pad_token_id], [tokenizer.unk_token_id]]
    with torch.inference_mode():
        expected = [
            tokenizer.decode(
                model.generate(
                    **tokenizer(line, return_tensors="pt"), max_new_tokens=20, min_new_tokens=1, bad_words_ids=forbidden
                )[0],
                skip_special_tokens=True,
            )
            for line in ENGLISH[:12]
        ]
    assert done.stdout.splitlines() == expected


def test_a_run_goes_on_from_it_and_is_resumed(opus_mt: Path, tmp_path: Path) -> None:
    for split, lines in (("train", slice(0, 200)), ("valid", slice(200, 210)), ("test", slice(210, 215))):
        for language, text in (("en", ENGLISH), ("fr", FRENCH)):
            (tmp_path / f"{split}.{language}").write_text("".join(f"{line}\n" for line in text[lines]), "utf-8")
    run_dir = tmp_path / "run"
    words = [
        *("data=files", f"data.dir={tmp_path}", f"data.cache_dir={tmp_path / 'cache'}", "data.max_sentence_tokens=60"),
        *("data.src_lang=en", "data.tgt_lang=fr", "batch.max_tokens=400", "optim.lr=1e-9", "logger=csv"),
        *("trainer.accelerator=cpu", "trainer.precision=32-true", "trainer.threads=1", "trainer.progress=False"),
        *("tokenizer.subword_regularization=0.1", "data.tag_dropout=0.5"),
    ]
    started = command(*words, f"finetune=hf:{opus_mt}", f"run_dir={run_dir}", f"trainer.max_steps={N_STEPS}")
    assert started.returncode == 0, started.stderr
    start, run = TrainedModel.read(opus_mt), TrainedModel.read(run_dir)
    assert run.tokenizer.fingerprint == start.tokenizer.fingerprint
    for name, weight in start.weights.items():
        torch.testing.assert_close(run.weights[name], weight)
    resumed = command(f"resume={run_dir}", f"trainer.max_steps={2 * N_STEPS}")
    assert resumed.returncode == 0, resumed.stderr
    assert checkpoint(run_dir)["global_step"] == 2 * N_STEPS
    translated = command("--model", str(run_dir), "--input", str(tmp_path / "test.en"), script="translate.py")
    assert translated.returncode == 0, translated.stderr
    assert len(translated.stdout.splitlines()) == 5
