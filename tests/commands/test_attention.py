"""`python -m seq2seq attention`: from sentences to a page, a picture or numbers."""

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from seq2seq.cli import main
from tests.translating import Stream

OPTIONS = ("--device", "cpu", "--precision", "float32")


def refusal(capsys: pytest.CaptureFixture[str], *arguments: object) -> str:
    with pytest.raises(SystemExit) as end:
        main(["attention", *map(str, arguments), *OPTIONS])
    printed = capsys.readouterr()
    assert end.value.code == 2 and not printed.out, printed.err
    return printed.err


def look(*arguments: object) -> None:
    main(["attention", *map(str, arguments), *OPTIONS])


def sentences(page: Path) -> Any:
    (found,) = re.findall(r'id="data">(.*?)</script>', page.read_text(encoding="utf-8"), re.DOTALL)
    return json.loads(found)["sentences"]


def test_it_writes_what_the_ending_of_the_output_names(
    trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    look("--model", trained_run, "--src", "Ba do.", "--src", "Fe ki.", "--output", tmp_path / "page.html")
    first, second = sentences(tmp_path / "page.html")
    assert (first["source"], first["target"], first["is_given"]) == ("Ba do.", "Bas Dos.", False)
    assert second["target"] == "Fes Kis."
    assert capsys.readouterr().out == f"{tmp_path / 'page.html'}\n"
    pair = ("--model", trained_run, "--src", "Ba do.", "--tgt", "Dos Bas.")
    look(*pair, "--output", tmp_path / "weights.npz")
    with np.load(tmp_path / "weights.npz") as archive:
        assert str(archive["1/target"]) == "Dos Bas." and archive["1/cross"].shape[:2] == (1, 4)
    look(*pair, "--kind", "encoder", "--layer", 1, "--head", 4, "--pieces", "--output", tmp_path / "one.svg")
    drawn = (tmp_path / "one.svg").read_text(encoding="utf-8")
    assert "layer 1, head 4" in drawn and "▁do" in drawn


def test_sentences_come_from_files_and_from_stdin(
    trained_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "source").write_text("Ba do.\n\nFe ki.\n")
    (tmp_path / "target").write_text("Bas.\n\nKis.\n")
    output = ("--model", trained_run, "--output", tmp_path / "page.html")
    look(*output, "--input", tmp_path / "source", "--translations", tmp_path / "target")
    found = [(each["source"], each["target"]) for each in sentences(tmp_path / "page.html")]
    assert found == [("Ba do.", "Bas."), ("Fe ki.", "Kis.")]
    for arguments in ((), ("--input", "-")):
        monkeypatch.setattr(sys, "stdin", Stream(b"\xef\xbb\xbfGa.\r\n"))
        look(*output, *arguments)
        assert [each["target"] for each in sentences(tmp_path / "page.html")] == ["Gas."]


def test_a_tag_is_shown(tagged_run: Path, tmp_path: Path) -> None:
    look("--model", tagged_run, "--src", "Ba do.", "--tag", "z", "--output", tmp_path / "page.html")
    (found,) = sentences(tmp_path / "page.html")
    assert found["views"]["encoder"]["keys"]["words"][0] == "<tag:z>" and found["target"] == "Baz Doz."


def test_notes_go_to_stderr(trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    long = " ".join(["ba"] * 20)
    look("--model", trained_run, "--src", "Ba.", "--src", long, "--output", tmp_path / "page.html")
    assert re.search(r"sentence 2: .* would be split into \d parts", capsys.readouterr().err)
    assert "split into" in sentences(tmp_path / "page.html")[1]["notes"][0]


def test_what_cannot_be_shown_is_refused_in_a_sentence(
    trained_run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    output = ("--output", tmp_path / "page.html")
    model = ("--model", trained_run, *output)
    src = (*model, "--src", "Ba.")
    assert "its ending must be one of html, png, svg, pdf, npz" in refusal(
        capsys, "--model", trained_run, "--src", "Ba.", "--output", tmp_path / "page.txt"
    )
    (tmp_path / "file").touch()
    assert "no directory" in refusal(
        capsys, "--model", trained_run, "--src", "Ba.", "--output", tmp_path / "file/a/page.html"
    )
    assert "--src is given 1 times and --tgt 2 times" in refusal(capsys, *src, "--tgt", "A", "--tgt", "B")
    assert "--src and --input both name sentences" in refusal(capsys, *src, "--input", "file")
    assert "--input and --translations are both stdin; name a file" in refusal(capsys, *model, "--translations", "-")
    assert "--tgt needs --src" in refusal(capsys, *model, "--tgt", "A", "--input", "file")
    assert "sentence 2: the source ' ' has nothing that the model reads" in refusal(capsys, *src, "--src", " ")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"\n")))
    assert "there is no sentence to look at; give one with --src" in refusal(capsys, *model)
    (tmp_path / "source").write_text("Ba do.\nFe ki.\n")
    (tmp_path / "target").write_text("Bas.\n")
    files = ("--input", tmp_path / "source", "--translations", tmp_path / "target")
    assert re.search(r"source has 2 lines but .*target has 1", refusal(capsys, *model, *files))
    assert not (tmp_path / "page.html").exists()
