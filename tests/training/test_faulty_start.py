"""What a run says when it cannot start. Other faults, and what they say, are tested where they are found."""

import shutil

import pytest

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
