"""What one command writes is what the next one reads, under the names that are the default of both."""

import json
from pathlib import Path

import polib
import pytest

from seq2seq.cli import main
from seq2seq.dataset.prepare import prepare
from tests.corpus.test_split import lines, train_pairs
from tests.training.tiny_runs import reversed_pairs, tiny_config

PAIRS = [(fr, en) for fr, en in dict.fromkeys(reversed_pairs(500, seed=1))]


def written(folder: Path, form: str) -> list[str]:
    """The words of a command that name the pairs in a form."""
    path = folder / f"corpus.{form}"
    match form:
        case "prefix" | "files":
            for language, side in zip(("fr", "en"), zip(*PAIRS, strict=True), strict=True):
                (folder / f"corpus.{language}").write_text("".join(f"{line}\n" for line in side))
            return (
                [str(folder / "corpus")]
                if form == "prefix"
                else [str(folder / f"corpus.{each}") for each in ("fr", "en")]
            )
        case "tsv":
            text = "".join(f"{fr}\t{en}\n" for fr, en in PAIRS)
        case "csv":
            text = "French;English\n" + "".join(f'"{fr}";"{en}"\n' for fr, en in PAIRS)
        case "jsonl":
            text = "".join(json.dumps({"fr": fr, "en": en}) + "\n" for fr, en in PAIRS)
        case "tmx":
            tuv = '<tuv xml:lang="{}"><seg>{}</seg></tuv>'.format
            text = "".join(f"<tu>{tuv('fr-FR', fr)}{tuv('en', en)}</tu>\n" for fr, en in PAIRS)
            text = f"<tmx><body>{text}</body></tmx>"
        case "xliff":
            text = "".join(f"<trans-unit><source>{fr}</source><target>{en}</target></trans-unit>" for fr, en in PAIRS)
            text = f'<xliff><file source-language="fr" target-language="en">{text}</file></xliff>'
        case "po":
            po = polib.POFile()
            po.metadata = {"Language": "en"}
            po.extend([polib.POEntry(msgid=fr, msgstr=en, msgctxt=str(i)) for i, (fr, en) in enumerate(PAIRS)])
            text = str(po)
    path.write_text(text)
    return [str(path)]


LANGUAGES = ["--languages", "fr", "en"]
SIZES = ["--valid", "20", "--test", "30"]


@pytest.mark.parametrize("form", ["prefix", "files", "tsv", "csv", "jsonl", "tmx", "xliff", "po"])
def test_every_form_is_cleaned_and_split_alike(tmp_path: Path, form: str) -> None:
    clean, words = tmp_path / "clean", written(tmp_path, form)
    main(["corpus", "clean", *words, *LANGUAGES, "--rules", "none", "--output", str(clean)])
    assert list(zip(lines(tmp_path / "clean.fr"), lines(tmp_path / "clean.en"), strict=True)) == PAIRS
    for each, output in (([str(clean)], "split"), (words, "again")):
        main(["corpus", "split", *each, *LANGUAGES, "--output", str(tmp_path / output), *SIZES])
    assert train_pairs(tmp_path / "split") == train_pairs(tmp_path / "again")


def test_a_run_and_a_report_read_what_split_writes_and_a_tmx(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (path,), split = written(tmp_path, "tmx"), tmp_path / "split"
    main(["corpus", "split", path, *LANGUAGES, "--output", str(split), *SIZES])
    prepared = prepare(tiny_config(split, tmp_path / "run", {"data.train": path}))
    assert prepared.report["splits"]["train"]["pairs_read"] == len(PAIRS)
    capsys.readouterr()
    held_out = [str(split / "valid"), str(split / "test")]
    main(["corpus", "report", str(split / "train"), *LANGUAGES, "--against", *held_out, "--rules", "none"])
    assert f"{len(train_pairs(split)):,} pairs" in capsys.readouterr().out
