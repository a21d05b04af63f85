"""A model translates text that has no sources, and the pairs are training text of the other direction."""

import re
import shlex
from pathlib import Path

import pytest

from seq2seq.evaluation.scores import corpus_scores
from seq2seq.steps import translate
from tests.training.tiny_runs import arguments, command
from tests.translating import sentences


def backtranslate(model: Path, mono: list[Path], output: Path, *options: object, env: dict[str, str] | None = None):
    words = [model, "--mono", *mono, "--output", output, *options]
    return command("backtranslate", *map(str, words), script="seq2seq/__main__.py", env=env)


@pytest.fixture
def mono(tmp_path: Path) -> list[Path]:
    files = [tmp_path / "un été.fr", tmp_path / "deux.fr"]
    for seed, file in enumerate(files):
        file.write_text("\n\n".join(src for src, _ in sentences(40, seed=seed)) + "\n \n")
    return files


@pytest.mark.slow
def test_its_pairs_are_training_text(trained_run: Path, mono: list[Path], tmp_path: Path) -> None:
    output = tmp_path / "à l'eau"
    done = backtranslate(trained_run, mono, output)
    assert done.returncode == 0, done.stderr
    own, other = zip(*(pair for seed in (0, 1) for pair in sentences(40, seed=seed)), strict=True)
    assert (output / "text.fr").read_text().splitlines() == list(own)
    drawn = (output / "sources.en").read_text().splitlines()
    assert len(drawn) == 80
    assert corpus_scores(drawn, list(other))["bleu"].score > 30
    assert "--sample --seed 1" in done.stderr
    pairs = list(zip(*((output / f"train.{side}").read_text().splitlines() for side in ("en", "fr")), strict=True))
    assert 60 < len(pairs) <= 80 and set(pairs) <= set(zip(drawn, own, strict=True))

    word = re.search("with it:  (.*)", done.stdout)
    assert word
    for side, lines in (("en", other), ("fr", own)):
        for split in ("train", "valid"):
            (tmp_path / f"{split}.{side}").write_text("".join(f"{line}\n" for line in lines[:20]))
    ways = {"data.src_lang": "en", "data.tgt_lang": "fr", "data.test": "", "trainer.max_steps": 2}
    run = command(*arguments(tmp_path, tmp_path / "run", ways), *shlex.split(word[1]))
    assert run.returncode == 0, run.stderr

    times = {file: file.stat().st_mtime_ns for file in output.iterdir()}
    again = backtranslate(trained_run, mono, output)
    assert (again.returncode, again.stdout.count("\n")) == (0, 1), again.stderr
    assert done.stdout.endswith(again.stdout)
    assert {file: file.stat().st_mtime_ns for file in output.iterdir()} == times
    other_seed = backtranslate(trained_run, mono, output, "--seed", 2)
    assert (other_seed.returncode, other_seed.stdout) == (2, "")
    assert "is about another backtranslation (seed); choose another --output" in other_seed.stderr


@pytest.mark.slow
def test_a_search_finds_what_the_model_knows(trained_run: Path, mono: list[Path], tmp_path: Path) -> None:
    done = backtranslate(trained_run, mono[:1], tmp_path / "out", "--beam-size", 2, "--processes", 2)
    assert done.returncode == 0, done.stderr
    assert "  # in 2 processes\n" in done.stderr
    found = (tmp_path / "out" / "sources.en").read_text().splitlines()
    assert corpus_scores(found, [tgt for _, tgt in sentences(40, seed=0)])["bleu"].score > 90


def test_a_step_of_several_processes_ends_as_they_do(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "text").write_text("un\n")
    files = ["--input", tmp_path / "text", "--output", tmp_path / "translations"]
    with pytest.raises(SystemExit, match=r"^2$"):
        translate("--model", tmp_path / "nowhere", *files, n_processes=2, launcher="")
    assert [line.split()[0] for line in capfd.readouterr().err.splitlines()] == ["error:"] * 2


def test_what_it_refuses(trained_run: Path, mono: list[Path], tmp_path: Path) -> None:
    ranks = {"WORLD_SIZE": "2", "RANK": "0", "LOCAL_RANK": "0"}
    missing, table, blank = tmp_path / "nowhere", tmp_path / "a.tsv", tmp_path / "blank"
    table.write_text("un\tone\n")
    blank.write_text("\n \n")
    for done, sentence in (
        (backtranslate(trained_run, [missing], tmp_path / "out"), f"--mono {missing}: no such file"),
        (
            backtranslate(trained_run, [table], tmp_path / "out"),
            f"--mono {table}: is of the form tsv; give a file with",
        ),
        (backtranslate(trained_run, [blank], tmp_path / "out"), f"--mono {blank}: has no text"),
        (backtranslate(trained_run, mono, tmp_path / "out", env=ranks), "leave torchrun or srun out"),
        (backtranslate(trained_run, mono, tmp_path), "holds something else; choose a new directory"),
        (backtranslate(missing, mono, tmp_path / "out"), str(missing)),
    ):
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr
    assert not (tmp_path / "out").exists()
