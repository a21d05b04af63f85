"""The models, engines and machines that the command line translates with."""

import dataclasses
import json
from pathlib import Path

import pytest

from seq2seq.artifacts.checkpoint import write_checkpoint, write_model
from seq2seq.translation.engines.pytorch import PyTorchEngine
from tests.commands.conftest import Watch
from tests.commands.learned_text import LEARNED, SOURCES, write
from tests.translating import SENTENCES, TEXT, Cli, model_content, run_cli, write_run

FEW = "Un chat dort.\nOui !\n"

# --- models, engines and machines ---


def test_several_models_are_an_ensemble(random_run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", model_content(seed=8))
    one, two = Cli(random_run).lines(FEW, "--n-best", 1), Cli(other).lines(FEW, "--n-best", 1)
    both = Cli(random_run, other).lines(FEW, "--n-best", 1)
    assert both not in (one, two)
    assert Cli(other, random_run).lines(FEW, "--n-best", 1) == both
    assert Cli(random_run, random_run).lines(FEW) == Cli(random_run).lines(FEW)
    assert Cli(random_run / "checkpoints" / "model.ckpt").lines(FEW, "--n-best", 1) == one


def test_the_models_of_an_ensemble_have_weights(random_run: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", model_content(seed=8))
    both = Cli(random_run, other)
    for weights, alone in ((("1", "1e-9"), random_run), (("1e-9", "1"), other)):
        assert both.lines(FEW, "--weights", *weights) == Cli(alone).lines(FEW)
    assert both.lines(FEW, "--weights", 2, 2) == both.lines(FEW)
    assert "weights" in both.refusal("--weights", 1, stdin=FEW)


def test_heads_of_a_soft_model_can_choose_hard(random_run: Path, tmp_path: Path) -> None:
    hardened = model_content()
    hardened.config["model"]["hard_attention"] = True
    exact = ("--precision", "float32")  # a choice may fall the other way for a rounding error
    hard = Cli(write_run(tmp_path / "hard", hardened)).lines(FEW, *exact)
    soft = Cli(random_run).lines(FEW, *exact)
    assert Cli(random_run).lines(FEW, *exact, "--attention", "hard") == hard != soft
    assert Cli(tmp_path / "hard").lines(FEW, *exact, "--attention", "soft") == soft


def test_ctranslate2_writes_what_torch_writes(exported_model: Path, translations: list[str]) -> None:
    assert Cli(exported_model).lines(LEARNED) == translations  # the only weights there are
    assert Cli(exported_model).lines(LEARNED, "--engine", "ctranslate2") == translations
    (scored,) = (json.loads(line) for line in Cli(exported_model).lines("Ba bi.", "--json", "--token-scores"))
    (best,) = scored["hypotheses"]
    assert sum(token["log_prob"] for token in best["tokens"]) == pytest.approx(best["log_prob"], abs=1e-3)
    assert "holds weights for CTranslate2 only" in Cli(exported_model).refusal("--engine", "torch", stdin=LEARNED)
    assert "CTranslate2 gives no attention" in Cli(exported_model).refusal("--alignment", stdin=LEARNED)
    assert "CTranslate2 has no ensembles" in Cli(exported_model, exported_model).refusal("--engine", "ctranslate2")
    assert "--sample draws other random numbers" in Cli(exported_model).refusal("--sample", stdin=LEARNED)


def test_ctranslate2_puts_things_back_at_the_ends_of_sentences(exported_model: Path, trained: Cli) -> None:
    lines = ["😀 Ba be bi bo.", "Ba be bi bo 😀.", "BA BE 😀 BI BO. DA DE DI.", "Ba be bi bo. 😀 Da de di."]
    text = "".join(f"{line}\n" for line in lines)
    found = Cli(exported_model).lines(text)
    expected = trained.lines(text)
    assert [found[0], found[1], found[3]] == [expected[0], expected[1], expected[3]]
    first, second = expected[2].replace(" 😀", "").split(". ")
    assert found[2] == f"{first} 😀. {second}"  # nobody knows where it stood


def test_what_ctranslate2_cannot_do_is_said_before_any_work(exported_model: Path, tmp_path: Path) -> None:
    """It was said in the batch with the first prefix: for this one after all lines before it."""
    output = tmp_path / "out"
    options = ("--output", output, "--max-batch-tokens", 1)
    prefixes = write(tmp_path / "prefixes", ["", "", "s"])
    text = LEARNED.splitlines(keepends=True)[:2]
    message = Cli(exported_model).refusal(*options, "--prefix", prefixes, stdin="".join(text * 2))
    assert message.count("\n") == 1
    assert "CTranslate2 cannot let a translation begin with given words" in message
    terms = write(tmp_path / "terms", ["a\tb"])
    for more, told in (
        (("--keep", "numbers,urls"), "CTranslate2 gives no attention"),
        (("--terms", terms), "CTranslate2 cannot make a translation contain given phrases"),
        (("--attention", "hard"), "--attention=hard cannot be chosen for CTranslate2, whose models attend as they"),
    ):
        assert told in Cli(exported_model).refusal(*options, *more, stdin=LEARNED)
    assert not list(tmp_path.glob("out*"))


def test_patience_reaches_ctranslate2(exported_model: Path, watched: Watch) -> None:
    from seq2seq.translation.engines.ctranslate2 import CTranslate2Engine

    batches = watched(CTranslate2Engine)
    Cli(exported_model).lines(LEARNED, "--patience", "2.5")
    assert {config.patience for _, _, config in batches} == {2.5}


def test_a_tag_says_what_kind_of_text_it_is(tagged_run: Path, trained: Cli) -> None:
    cli = Cli(tagged_run)
    plain, tagged = cli.lines(LEARNED), cli.lines(LEARNED, "--tag", "z")
    n_words = len(LEARNED.split())
    assert sum(line.count("s") for line in plain) > 0.9 * n_words
    assert sum(line.count("z") for line in tagged) > 0.9 * n_words
    assert cli.refusal("--tag", "x", stdin=TEXT) == "error: the model has no tag 'x', only t, z; choose one\n"
    assert "has no tag 'z', or any other; leave the tag out" in trained.refusal("--tag", "z", stdin=TEXT)


def test_ctranslate2_reads_the_same_tags(tagged_run: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="pip install -e '.[ctranslate2]'")
    from seq2seq.export.export import export

    lines, target = write(tmp_path / "lines", SOURCES), tmp_path / "model"
    export(tagged_run, formats=("ctranslate2",), output=target, parity_input=lines)
    assert "- tags for kinds of text (`--tag`): t, z\n" in (target / "README.md").read_text()
    for beam_size in (1, 3):
        options = ("--tag", "z", "--beam-size", beam_size)
        translations = Cli(tagged_run).lines(LEARNED, *options)
        assert "z" in translations[0]
        assert Cli(target).lines(LEARNED, *options) == translations
    assert "has no tag 'x', only t, z" in Cli(target).refusal("--tag", "x", stdin=TEXT)


def test_a_run_has_no_weights_for_ctranslate2(trained: Cli) -> None:
    assert "has no weights for CTranslate2" in trained.refusal("--engine", "ctranslate2", stdin=LEARNED)


def test_one_worker_and_two_write_the_same(cli: Cli) -> None:
    options = ("--threads", 2, "--max-batch-tokens", 60, "--alignment", "--n-best", 2)
    text = "".join(f"{' '.join(SENTENCES[i % 4 :])}\n" for i in range(4))
    assert cli.lines(text, "--workers", 2, *options) == cli.lines(text, "--workers", 1, *options)


def test_the_machine_s_options_reach_the_engine(random_run: Path, watched: Watch) -> None:
    batches = watched(PyTorchEngine)
    options = "--device cpu --precision bfloat16 --threads 6 --workers 2 --max-batch-tokens 1 --no-repeat-ngram 9"
    status, _, err = run_cli("--model", random_run, *options.split(), stdin=TEXT)
    assert status == 0, err
    (engine,) = {engine for engine, _, _ in batches}
    assert (engine.device.type, engine.precision) == ("cpu", "bfloat16")
    assert (engine.n_workers, engine.threads_per_worker) == (2, 3)
    assert [n_sentences for _, n_sentences, _ in batches] == [1, 1, 1, 1]


# --- models that are refused ---


class Malicious:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_what_is_no_model_is_refused_and_not_executed(random_run: Path, tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    (tmp_path / "text.ckpt").write_text("no model")
    write_checkpoint({"config": Malicious(trap)}, tmp_path / "code.ckpt")
    write_model(dataclasses.replace(model_content(), tokenizer_sha256="0" * 64), tmp_path / "mixed.ckpt", step=1)
    (tmp_path / "run").mkdir()
    for name, message in {
        "missing": "no such run directory or checkpoint",
        "run": "holds no checkpoint",
        "text.ckpt": "not a checkpoint",
        "code.ckpt": "asks for '__builtin__ getattr'",
        "mixed.ckpt": "is not the one that the model was trained with",
    }.items():
        for models in ((tmp_path / name,), (random_run, tmp_path / name)):
            status, out, err = run_cli("--model", *models, stdin=TEXT)
            assert (status, out) == (2, ""), name
            assert err.startswith(f"error: {tmp_path / name}: ")
            assert message in err
    assert not trap.exists()
