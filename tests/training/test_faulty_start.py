"""What a run says when it cannot start. Tests of readers and of preparation have the other faults of a corpus."""

import shutil

import pytest
import torch

from tests.training.tiny_runs import arguments, train_here


@pytest.mark.usefixtures("own_signals")
def test_a_fault_in_the_corpus_is_told_in_a_sentence_and_can_be_mended(corpus, tmp_path):
    damaged = shutil.copytree(corpus, tmp_path / "corpus", ignore=shutil.ignore_patterns("cache"))
    content = (corpus / "train.fr").read_bytes().split(b"\n")
    content[41] = "d\xe9j\xe0".encode("latin-1")
    (damaged / "train.fr").write_bytes(b"\n".join(content))
    call = arguments(damaged, tmp_path / "run", {"trainer.max_steps": 2})
    done = train_here(*call)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ") and done.stderr.count("error:") == 1
    assert all(part in done.stderr for part in ("train.fr", "42", "UTF-8")), done.stderr
    shutil.copy(corpus / "train.fr", damaged / "train.fr")
    mended = train_here(*call)
    assert mended.returncode == 0, mended.stderr
    assert (tmp_path / "run/scores.json").is_file()


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokenizer.vocab_size": 9000}, "tokenizer.vocab_size=9000 is more than the training text supports"),
        ({"trainer.accelerator": "gpu"}, "trainer.accelerator=gpu, but torch"),
        ({"data.dir": "/nowhere"}, "/nowhere"),
        ({"data.train": "blank"}, "data.train"),
    ],
    ids=str,
)
@pytest.mark.skipif(torch.cuda.is_available(), reason="one of the errors is that there is no GPU")
@pytest.mark.usefixtures("own_signals")
def test_what_cannot_start_says_why(corpus, tmp_path, changes, message):
    mine = shutil.copytree(corpus, tmp_path / "corpus", ignore=shutil.ignore_patterns("cache"))
    for side in ("fr", "en"):
        (mine / f"blank.{side}").write_text("\n\n")
    done = train_here(*arguments(mine, tmp_path / "run", changes))
    assert done.returncode == 2
    assert done.stderr.count("error: ") == 1 and message in done.stderr
    assert not (tmp_path / "run/checkpoints").exists()
