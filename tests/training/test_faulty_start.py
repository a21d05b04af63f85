"""What a run says when it cannot start."""

import gzip
import shutil

import pytest
import torch

from tests.training.tiny_runs import arguments, command


def spoil(corpus, kind):
    """Damage a corpus; what the error has to say about it."""
    train = corpus / "train.fr"
    if kind == "missing file":
        (corpus / "valid.en").unlink()
        return ["data.valid", "valid.en"]
    if kind == "line counts":
        with train.open("a") as file:
            file.write("one more\n")
        return ["train.fr", "301", "train.en", "300"]
    if kind == "not UTF-8":
        content = train.read_bytes().split(b"\n")
        content[41] = "déjà".encode("latin-1")
        train.write_bytes(b"\n".join(content))
        return ["train.fr", "42", "UTF-8"]
    if kind == "empty corpus":
        for side in ("fr", "en"):
            (corpus / f"train.{side}").write_text("\n\n")
        return ["data.train"]
    if kind == "cut compression":
        train.with_suffix(".fr.gz").write_bytes(gzip.compress(train.read_bytes())[:-20])
        train.unlink()
        return ["train.fr.gz"]
    raise AssertionError(kind)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["missing file", "line counts", "not UTF-8", "empty corpus", "cut compression"])
def test_a_fault_in_the_corpus_is_told_in_a_sentence_and_can_be_mended(corpus, tmp_path, kind):
    damaged = shutil.copytree(corpus, tmp_path / "corpus", ignore=shutil.ignore_patterns("cache"))
    expected = spoil(damaged, kind)
    call = arguments(damaged, tmp_path / "run", {"trainer.max_steps": 2})
    done = command(*call)
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ") and done.stderr.count("error:") == 1
    assert all(part in done.stderr for part in expected), done.stderr
    if kind == "not UTF-8":  # one of them is enough for the rest of the way
        shutil.copytree(corpus, damaged, dirs_exist_ok=True)
        mended = command(*call)
        assert mended.returncode == 0, mended.stderr
        assert (tmp_path / "run/scores.json").is_file()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"tokenizer.vocab_size": 9000}, "tokenizer.vocab_size=9000 is more than the training text supports"),
        ({"trainer.accelerator": "gpu"}, "trainer.accelerator=gpu, but torch"),
        ({"data.dir": "/nowhere"}, "/nowhere"),
    ],
)
@pytest.mark.skipif(torch.cuda.is_available(), reason="one of the errors is that there is no GPU")
def test_what_cannot_start_says_why(corpus, tmp_path, changes, message):
    done = command(*arguments(corpus, tmp_path / "run", changes))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    assert done.stderr.splitlines()[-1].startswith("error: ") and message in done.stderr
    assert not (tmp_path / "run").exists()
