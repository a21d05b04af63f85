"""`python -m seq2seq`: it names each command, refuses others, and answers a shell that completes words."""

import os
import pkgutil
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

from seq2seq import __version__, commands, errors
from seq2seq.cli import command_names, main
from tests.places import ROOT

COMMANDS = sorted(command_names())
FRONT_DOORS = {"train": "python train.py ", "translate": "python translate.py "}


def ended(words: list[str]) -> int:
    with pytest.raises(SystemExit) as end:
        main(words)
    assert isinstance(end.value.code, int)
    return end.value.code


def test_there_is_a_command_for_each_file() -> None:
    files = {module.name.replace("_", "-") for module in pkgutil.iter_modules(commands.__path__)}
    assert sorted(files) == COMMANDS


def test_the_first_line_of_a_command_says_in_the_help_what_it_does_and_shows_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ended(["--help"]) == 0
    shown = " ".join(capsys.readouterr().out.split())
    for command in COMMANDS:
        module = import_module(f"seq2seq.commands.{command.replace('-', '_')}")
        summary, separator, example = (module.__doc__ or "").splitlines()[0].partition(":  ")
        assert separator and re.fullmatch(r"[A-Z][^:]+[^.:]", summary)
        assert example.startswith(FRONT_DOORS.get(command, f"python -m seq2seq {command} "))
        assert f" {command} {summary[:1].lower()}{summary[1:]}" in shown
    assert shown.index(" corpus find") < shown.index(" export ") < shown.index(" more: ") < shown.index(" prepare ")


def test_a_missing_or_mistyped_command_ends_with_2_and_the_others_are_named(
    capsys: pytest.CaptureFixture[str],
) -> None:
    assert ended([]) == 2
    assert "COMMAND" in capsys.readouterr().err
    assert ended(["trian"]) == 2
    message = capsys.readouterr().err
    assert "trian" in message and all(command in message for command in COMMANDS)


def test_a_command_to_paste_is_one_that_works_in_this_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert errors.command("train", "resume=a b") == "python train.py 'resume=a b'"
    assert errors.command("export", "run") == "python -m seq2seq export run"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").touch()  # somebody else's
    assert errors.command("train", "resume=a b") == "python -m seq2seq train 'resume=a b'"


def test_a_word_after_the_options_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(["search", "multi30k", "--trials", "2", "optim.lr=1"]) == 2
    assert "unrecognized arguments: optim.lr=1; words come before options" in capsys.readouterr().err


def test_version_is_that_of_the_package(capsys: pytest.CaptureFixture[str]) -> None:
    assert ended(["--version"]) == 0
    assert capsys.readouterr().out == f"seq2seq {__version__}\n"


@pytest.mark.parametrize(
    ("program", "line", "expected"),
    [
        (["-m", "seq2seq"], "seq2seq tr", ["train", "translate"]),
        (["-m", "seq2seq"], "seq2seq export RUN --format ", ["ctranslate2", "safetensors", "transformers"]),
        (["translate.py"], "translate.py --typ", ["--typography"]),
    ],
)
def test_a_shell_that_asks_gets_what_could_come_next(
    program: list[str], line: str, expected: list[str], tmp_path: Path
) -> None:
    asked = {"_ARGCOMPLETE": "1", "_ARGCOMPLETE_IFS": "\n", "COMP_LINE": line, "COMP_POINT": str(len(line))}
    answer = tmp_path / "answer"  # a shell reads file descriptor 8, unless it names a file
    environment = os.environ | asked | {"_ARGCOMPLETE_STDOUT_FILENAME": str(answer)}
    subprocess.run([sys.executable, *program], cwd=ROOT, env=environment, check=True, stdout=subprocess.DEVNULL)
    assert sorted(answer.read_text().split()) == expected


@pytest.mark.parametrize(("package", "told"), [("regex", "is not installed; switch on"), ("_lzma", "built without")])
def test_a_package_that_is_missing_is_one_sentence_for_each_command(package: str, told: str) -> None:
    program = f"import sys; sys.modules[{package!r}] = None; from seq2seq.cli import main; main(['score', '-', 'x'])"
    done = subprocess.run([sys.executable, "-c", program], stdin=subprocess.DEVNULL, capture_output=True, text=True)
    assert (done.returncode, done.stderr.count("\n")) == (2, 1)
    assert done.stderr.startswith("error: ") and told in done.stderr
