"""`python -m seq2seq heads`: a table, numbers and a picture of all heads, on files or on a test set of the run."""

import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from seq2seq.cli import main
from tests.translating import sentences, trained_content, write_run

PAIRS = sentences(8)


@pytest.fixture
def files(tmp_path: Path) -> tuple[object, ...]:
    for side, number in (("src", 0), ("tgt", 1)):
        (tmp_path / side).write_text("".join(f"{pair[number]}\n" for pair in PAIRS))
    return ("--src", tmp_path / "src", "--tgt", tmp_path / "tgt")


@pytest.fixture
def heads(trained_run: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Callable[..., str]:
    monkeypatch.setenv("COLUMNS", "200")

    def run(*arguments: object, model: Path = trained_run) -> str:
        main(["heads", "--model", str(model), "--device", "cpu", *map(str, arguments)])
        return capsys.readouterr().out

    return run


@pytest.fixture
def refused(heads: Callable[..., str], capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    def run(*arguments: object, **options: Path) -> str:
        with pytest.raises(SystemExit) as end:
            heads(*arguments, **options)
        printed = capsys.readouterr()
        assert (end.value.code, printed.out) == (2, "")
        return printed.err

    return run


def test_all_heads_stand_in_the_table_the_json_and_the_picture(
    heads: Callable[..., str], files: tuple[object, ...], tmp_path: Path
) -> None:
    drawn, numbers = tmp_path / "heads.svg", tmp_path / "heads.json"
    table = heads(*files, "--ablation", 4, "--output", numbers, drawn).splitlines()
    found = json.loads(numbers.read_text())
    assert table[0].endswith(": 8 pairs of src, tgt")
    rows = [line.split() for line in table if line.startswith("1.")]
    assert len(rows) == 12  # four heads of three kinds
    for row, head in zip(rows[8:], range(4), strict=True):
        assert float(row[1]) == pytest.approx(found["figures"]["cross"]["entropy"][0][head], abs=0.006)
        assert float(row[11]) == pytest.approx(found["alignment"]["error_rate"][0][head], abs=0.006)
        loss = next(each for each in found["ablation"]["losses"] if each["name"] == f"cross 1.{head + 1}")
        assert float(row[8]) == pytest.approx(loss["bleu"], abs=0.006)
    best = min(range(4), key=lambda head: found["alignment"]["error_rate"][0][head])
    assert f"cross 1.{best + 1} aligns best" in "\n".join(table)
    assert "IBM model 1, learned from these pairs alone" in found["reference"]
    assert found["ablation"]["n_sentences"] == 4
    assert any(line.split()[:2] == ["decoder", "1"] for line in table)
    picture = drawn.read_text()
    assert all(title in picture for title in ("encoder: entropy", "cross: AER", "BLEU lost"))


def test_fewer_sentences_are_spread_and_the_rest_is_counted(
    heads: Callable[..., str], files: tuple[object, ...], tmp_path: Path
) -> None:
    (tmp_path / "src").write_text("".join(f"{src}\n" for src, _ in PAIRS[:7]) + "\n")
    assert "4 pairs of src, tgt\n" in heads(*files, "--sentences", 4)
    assert "7 pairs of src, tgt; 1 left out, blank or too long\n" in heads(*files, "--sentences", 0)


def test_given_links_are_the_reference(heads: Callable[..., str], files: tuple[object, ...], tmp_path: Path) -> None:
    links = tmp_path / "links"
    words = [len(src.split()) for src, _ in PAIRS]
    links.write_text("".join(" ".join(f"{i}-{i}" for i in range(n)) + "\n" for n in words))
    by_diagonal = heads(*files, "--links", links)
    assert f"(reference: {links})" in by_diagonal
    links.write_text("".join("0-0\n" for _ in words))
    assert heads(*files, "--links", links, "--sentences", 3) != by_diagonal


def test_a_test_set_of_the_run_needs_no_files(
    heads: Callable[..., str], refused: Callable[..., str], tmp_path: Path
) -> None:
    content = trained_content()
    data = content.config["data"] | {
        "dir": str(tmp_path / "corpus"),
        "test": "quiz",
        "src_lang": "fr",
        "tgt_lang": "en",
    }
    content = replace(content, config={**content.config, "data": data})  # other tests have the same content
    run = write_run(tmp_path / "run", content)
    assert "gone" in refused("--test", "gone", model=run)
    message = refused(model=run)
    assert "is not a directory" in message and "give two files: --src FILE --tgt FILE" in message
    (tmp_path / "corpus").mkdir()
    for language, number in (("fr", 0), ("en", 1)):
        for name in ("quiz", "train"):
            (tmp_path / f"corpus/{name}.{language}").write_text("".join(f"{pair[number]}\n" for pair in PAIRS[:5]))
    shown = heads(model=run)
    assert "5 pairs of quiz" in shown
    assert "IBM model 1, learned from 5 training pairs and these" in shown
    # What the run kept of its test set counts more than what the corpus has now.
    (run / "config.yaml").write_text(json.dumps(content.config))
    for folder, language, number in (("sources", "fr", 0), ("references", "en", 1), ("hypotheses", "en", 1)):
        (run / folder).mkdir()
        (run / f"{folder}/quiz.{language}").write_text("".join(f"{pair[number]}\n" for pair in PAIRS[:3]))
    assert "3 pairs of quiz" in heads("--test", "quiz", model=run)


def test_what_cannot_be_is_refused(refused: Callable[..., str], files: tuple[object, ...], tmp_path: Path) -> None:
    assert "--src and --tgt belong together" in refused(*files[:2])
    assert "names several devices, and a process uses one" in refused(*files, "--device", "cuda:0,cuda:1")
    assert "--test and --src/--tgt name two texts" in refused(*files, "--test", "quiz")
    assert "its ending must be one of json, png, svg, pdf" in refused(*files, "--output", tmp_path / "heads.txt")
    (tmp_path / "src").write_text("\n" * 8)
    assert "no pair has two sides that the model can read" in refused(*files)
    for side in ("src", "tgt"):
        (tmp_path / side).write_text("")
    assert "are empty; give files with a sentence a line" in refused(*files)
