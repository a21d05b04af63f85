"""A teacher that knows a language translates, and a student learns it, though its references are wrong."""

import json
import re
import shutil
import sys
from copy import deepcopy
from pathlib import Path

import pytest
import torch

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.cli import main
from tests.export.exporting import needs_exact_int8
from tests.training.tiny_runs import STUDENT, command, write_wrong_corpus
from tests.translating import model_content, sentences, write_run

TORCHRUN = Path(sys.executable).with_name("torchrun")  # it need not be on the PATH of who runs the tests


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    return write_wrong_corpus(tmp_path / "corpus")


def distil(teacher: Path | list[Path], corpus: Path, output: Path, *options: object, **changes: object):
    keys = STUDENT | {"data.dir": corpus, "data.cache_dir": corpus / "cache"} | changes
    words = ["data=files", "logger=csv", *(f"{key}={value}" for key, value in keys.items())]
    teachers = teacher if isinstance(teacher, list) else [teacher]
    words = [*map(str, teachers), *words, "--output", str(output), *map(str, options)]
    return command("distill", *words, script="seq2seq/__main__.py")


@pytest.mark.slow
def test_a_student_learns_what_its_teacher_knows(trained_run: Path, corpus: Path, tmp_path: Path) -> None:
    needs_exact_int8()
    output, more = tmp_path / "été à l'eau", corpus / "more"
    more.write_text("".join(f"{src}\n" for src, _ in sentences(40, seed=7)))
    options = ("--n-best", 3, "--mono", more)
    done = distil(trained_run, corpus, output, *options)
    assert done.returncode == 0, done.stderr
    assert re.findall("--n-best .*", done.stderr) == ["--n-best 3 --beam-size 3", "--n-best 1"]

    page = (output / "README.md").read_text()
    assert done.stdout.strip().endswith(page.strip())
    rows = [[cell.strip() for cell in row.split("|")[1:-1]] for row in page.splitlines() if row.startswith("| test ")]
    scores = {name: float(bleu) for _, name, bleu, *_ in rows[1:]}
    assert list(scores) == ["teacher", "student", "student, beam of 2, int8", "student, greedy, int8"]
    assert scores["teacher"] > 90
    assert scores["student"] > 30  # 8 where it has hardly begun
    assert min(score for name, score in scores.items() if "int8" in name) > 25
    assert all(50 < int(row[-1].replace(",", "")) < 4000 for row in rows[1:])  # MB of memory: torch alone takes 200
    written = {file.name: len(file.read_text().splitlines()) for file in (output / "pairs").iterdir()}
    assert written == {"0.src": 500, "0.tgt": 500, "monolingual-0.src": 40, "monolingual-0.tgt": 40}
    assert len({row.split("\t")[0] for row in (output / "translations" / "0.tsv").read_text().splitlines()}) == 500
    learned = RunDirectory(output / "student").config().data.train_sources
    assert [source.stem for source in learned] == ["0", "monolingual-0"]  # no references

    # The same command makes nothing twice, and what is missing again.
    times = {file: file.stat().st_mtime_ns for file in output.rglob("*.ckpt")}
    for file in ("README.md", "tests/test/teacher.json", "tests/test/teacher"):
        (output / file).unlink()
    again = distil(trained_run, corpus, output, *options)
    assert (again.returncode, again.stderr.count("\npython ")) == (0, 1), again.stderr
    assert {file: file.stat().st_mtime_ns for file in output.rglob("*.ckpt")} == times
    assert len((output / "README.md").read_text().splitlines()) == len(page.splitlines())

    (output / "student" / "selection.json").unlink()  # as if the student was killed before it wrote that
    assert distil(trained_run, corpus, output, *options).returncode == 0
    assert RunDirectory(output / "student").is_scored

    other = distil(trained_run, corpus, output, "--references", 0.5)
    assert (other.returncode, other.stdout) == (2, "")
    assert "is about another distillation (references, n_best, monolingual); choose another --output" in other.stderr
    others = distil(trained_run, corpus, output, *options, **{"model.dropout": 0.1})
    assert (others.returncode, others.stdout) == (2, "")
    assert "student was trained with the words in " in others.stderr
    shutil.rmtree(output / "student")  # and a student with other words is another one
    new = distil(trained_run, corpus, output, *options, **{"trainer.max_steps": 2})
    assert new.returncode == 0, new.stderr
    assert float(re.search(r"\| student \| ([\d.]+)", new.stdout)[1]) < scores["student"]  # type: ignore[index]


@pytest.mark.slow
def test_shares_and_tags_of_a_teacher_for_each_source(
    tagged_run: Path, trained_run: Path, corpus: Path, tmp_path: Path
) -> None:
    needs_exact_int8()
    backward = deepcopy(model_content())
    data = backward.config["data"]
    data |= {"src_lang": "en", "tgt_lang": "fr"}
    write_run(tmp_path / "back", backward)
    text = {
        "data.train": "[{source: train, tag: t, weight: 2}, {source: train, tag: z}]",
        "data.test": "[{source: test, tag: t}]",
        "trainer.max_steps": 2,
    }
    options = ("--references", 0.25, "--beam-size", 1, "--backward", tmp_path / "back", "--keep-share", 0.5, "--each")
    teachers = [tagged_run, trained_run]  # the second knows no tag
    launcher = f"'{sys.executable}' -m torch.distributed.run --standalone --nproc-per-node 2 --no-python"
    done = distil(teachers, corpus, tmp_path / "out", *options, "--launcher", launcher, **text)
    assert done.returncode == 0, done.stderr
    assert re.findall(r"--no-python python (\w+)", done.stderr) == ["translate", "translate", "train"]
    assert done.stderr.count(" --n-best 1 --beam-size 1") == 2
    student = RunDirectory(tmp_path / "out" / "student")
    assert torch.load(student.last, weights_only=True)["position"]["world_size"] == 2
    sources = student.config().data.train_sources
    assert [(source.tag, source.weight) for source in sources] == [("t", 0.5), ("t", 1.5), ("z", 0.25), ("z", 0.75)]
    pairs, kept = (
        set(zip(*((tmp_path / "out" / folder / f"0.{side}").read_text().splitlines() for side in sides), strict=True))
        for folder, sides in (("pairs", ("src", "tgt")), ("kept", ("fr", "en")))
    )
    assert kept < pairs and len(kept) == pytest.approx(len(pairs) / 2, rel=0.05)
    first, second = ((tmp_path / "out" / "pairs" / f"{n}.tgt").read_text() for n in (0, 1))
    assert first.count("t") > 10 * first.count("s")  # words of a text of kind t end in t
    assert second.count("s") > 10 * (second.count("t") + second.count("z"))
    ways = [row.split("|")[2].strip() for row in done.stdout.splitlines() if row.startswith("| test ")]
    assert ways[1:] == ["teacher 1", "teacher 2", "student", "student, beam of 2, int8", "student, greedy, int8"]
    assert json.loads((tmp_path / "out" / "distillation.json").read_text())["references"] == 0.25


def test_text_that_cannot_be_read_ends_it(trained_run: Path, corpus: Path, tmp_path: Path) -> None:
    (corpus / "train.fr").write_bytes(b"\xff\n" * 500)
    done = distil(trained_run, corpus, tmp_path / "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert not (tmp_path / "out" / "pairs").exists()


@pytest.mark.slow
def test_a_step_that_fails_ends_it(trained_run: Path, corpus: Path, tmp_path: Path) -> None:
    needs_exact_int8()
    done = distil(trained_run, corpus, tmp_path / "out", "--n-best", 1, **{"tokenizer.vocab_size": 9000})
    assert (done.returncode, done.stdout) == (2, "")
    assert "vocab_size" in done.stderr.splitlines()[-1]
    pairs = tmp_path / "out" / "pairs" / "0.tgt"
    made = pairs.stat().st_mtime_ns
    assert not (tmp_path / "out" / "README.md").exists()
    again = distil(trained_run, corpus, tmp_path / "out", "--n-best", 1, **{"trainer.max_steps": 2})  # other words
    assert (again.returncode, pairs.stat().st_mtime_ns) == (0, made), again.stderr


@pytest.mark.parametrize(
    ("options", "changes", "sentence"),
    [
        (["--references", 1], {}, "--references 1 leaves no share for translations; give less than 1"),
        (["--n-best", 3, "--beam-size", 2], {}, "--n-best 3 is more than --beam-size 2; widen the beam"),
        (["--keep-share", 0.9], {}, "--keep-share needs the scores of a model of the other direction; add --backward"),
        (["--backward", "back", "--keep-share", 0], {}, "--keep-share 0 is not a share, above 0 and at most 1"),
        (["--backward", "data/sample"], {}, "data/sample"),
        (["--each"], {"data.train": "[train, train]"}, "--each needs a teacher for each of the 2 sources"),
        (["--each", "--mono", "nowhere"], {}, "--each has no teacher for the text of --mono;"),
        (["--mono", "nowhere"], {}, "--mono nowhere: no such file"),
        (["--launcher", "nowhere -n 2"], {}, "--launcher 'nowhere -n 2' does not begin with a program of this machine"),
        (["--launcher", f"'{TORCHRUN}' --nproc-per-node 2"], {}, "add --no-python at its end"),
        (["--launcher", "ls '"], {}, "does not begin with a program of this machine"),
        (["--launcher", "ls", "--processes", 2], {}, "--launcher says how many processes there are; leave out --pro"),
        ([], {"hours": -1}, "hours=-1.0 is not a number of hours above 0"),
        ([], {"data.valid": "nowhere"}, "data.valid: found no file"),
        ([], {"run_dir": "out"}, "run_dir=out cannot be a word of a student, whose run is in "),
        (
            [],
            {"data.src_lang": "de"},
            "translates fr to en, and has to translate de to en for a student of these data.src_lang",
        ),
        ([], {"model.window": 2}, "model.window=2"),
    ],
    ids=str,
)
def test_what_it_refuses(
    trained_run: Path, corpus: Path, tmp_path: Path, options: list[object], changes: dict[str, object], sentence: str
) -> None:
    done = distil(trained_run, corpus, tmp_path / "out", *options, **changes)
    assert (done.returncode, done.stdout) == (2, "")
    assert sentence in done.stderr
    assert "Traceback" not in done.stderr
    assert not (tmp_path / "out").exists()


def test_a_word_may_be_longer_than_the_name_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["distill", f"data.train=[{','.join(['corpus_part'] * 30)}]", "--output", str(tmp_path / "out")])
    assert "name at least one teacher" in capsys.readouterr().err


def test_what_cannot_be_taught_is_told_before_any_work(
    trained_run: Path, random_run: Path, corpus: Path, tmp_path: Path
) -> None:
    """Teachers that cannot translate together, and no word of the text."""
    together = distil([trained_run, random_run], corpus, tmp_path / "out")
    assert together.returncode == 2 and "have different tokenizers" in together.stderr
    words = (str(trained_run), "model=tiny", "--output", str(tmp_path / "out"))
    done = command("distill", *words, script="seq2seq/__main__.py")
    assert done.returncode == 2 and "no word says which text the student learns from" in done.stderr
    assert not (tmp_path / "out").exists()
