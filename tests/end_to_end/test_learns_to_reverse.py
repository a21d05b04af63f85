"""From text files to BLEU, through the commands that a user types."""

import json

import pytest
import sacrebleu

from tests.training.tiny_runs import command, reversed_pairs, write_split


def test_a_small_model_learns_to_reverse_sentences(tmp_path):
    corpus, run_dir = tmp_path / "corpus", tmp_path / "run"
    pairs = list(dict.fromkeys(reversed_pairs(2000, seed=1, longest=4)))
    train, valid, test = pairs[:-60], pairs[-60:-30], pairs[-30:]  # none of the test is in the training text
    for split, part in (("train", train), ("valid", valid), ("test", test)):
        write_split(corpus, split, part)
    done = command(
        "data=files",
        f"data.dir={corpus}",
        f"data.cache_dir={tmp_path / 'cache'}",
        f"run_dir={run_dir}",
        "data.max_sentence_tokens=40",
        "tokenizer.vocab_size=320",
        "batch.max_tokens=512",
        "model.d_model=64",
        "model.n_heads=4",
        "model.d_ff=128",
        "model.n_encoder_layers=2",
        "model.n_decoder_layers=2",
        "model.dropout=0.0",
        "optim=cosine",
        "optim.lr=4e-3",
        "optim.warmup_steps=50",
        "trainer.accelerator=cpu",
        "trainer.threads=1",
        "trainer.precision=32-true",  # in bf16, a search with other kernels chooses another one of two like words
        "trainer.max_epochs=8",
        "trainer.patience=0",
        "trainer.val_every_n_steps=1000",  # only at the end
        "trainer.average_last=0",
        "decoding.beam_size=2",
        "logger=csv",
        timeout=300,
    )
    assert done.returncode == 0, done.stderr
    scores = json.loads((run_dir / "scores.json").read_text())["test"]
    assert scores["bleu"]["score"] > 75, done.stderr

    output = tmp_path / "test.hyp"
    options = ["--model", str(run_dir), "--input", str(corpus / "test.fr"), "--output", str(output)]
    translated = command(*options, "--device", "cpu", "--precision", "float32", script="translate.py")
    assert translated.returncode == 0, translated.stderr
    hypotheses = output.read_text().split("\n")[:-1]
    assert hypotheses == (run_dir / "hypotheses/test.en").read_text().split("\n")[:-1]
    assert sacrebleu.corpus_bleu(hypotheses, [[tgt for _, tgt in test]]).score == pytest.approx(
        scores["bleu"]["score"], abs=1e-3
    )
