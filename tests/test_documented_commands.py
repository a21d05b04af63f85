"""The commands of the guides do their work: `make nightly` runs all those of a page, in the order of the page.

The words RUN_DIR, corpus, input.fr and the like are small files and runs of this test. A training ends after a few
steps. What needs a network, a cluster, a GPU or hours is left out.
"""

import gzip
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.documentation import code_lines, pages, write_experiment, write_preset
from tests.places import ROOT
from tests.plugged import MODULE
from tests.processes import LIMIT_S

OUTSIDE = re.compile(
    r"wmt14|multi30k_tiny|lc\.norm\.tok|(experiment|data)=(tatoeba|mixed)(?!.*data(\.dir)?=)|opus:|hf:|sacrebleu:"
    r"|wandb[: ]|corpus (find|get)|hf upload|dask:|submitit|/shared/|_ARRAY_|benchmarks/|serve\.py|COMMAND"
)
SMALL = (
    "model.d_model=32 model.d_ff=64 tokenizer.vocab_size=600 optim.warmup_steps=4 batch.max_tokens=1024 "
    "batch.accumulate=1 trainer.precision=32-true trainer.threads=1"
)
SHORT = "trainer.max_steps=6 trainer.max_epochs=1 trainer.max_time= trainer.val_every_n_steps=0"
LONGER = "trainer.max_steps=24"  # than the runs that are here
MULTI30K = {
    "train": ["train"],
    "valid": ["val"],
    "test": ["test_2016_flickr", "test_2017_flickr", "test_2017_mscoco"],
}
COMMAND = re.compile(r"(\w+=\S+ )*python ")


def commands(page: Path) -> list[str]:
    """What somebody may paste into a shell on this machine, alone."""
    lines = [re.sub(r"\s{2,}#.*", "", line) for line in code_lines(page)]
    return [line for line in lines if COMMAND.match(line) and not OUTSIDE.search(line)]


def shortened(command: str) -> str:
    """The same command with little to do, if it trains."""
    if not re.search(r"train\.py|seq2seq (train|search) ", command) or "--cfg" in command:
        return command
    if "resume=" in command and "resume=auto" not in command:
        return f"{command} {LONGER}"
    if "search" in command:
        words = re.sub(r"(optim|batch)\.\S+ ", "", f"{SMALL} {SHORT}")  # the space has these
        return re.sub(r"( --.*)?$", f" {words} --trials 2", command, count=1)
    return f"{command} {SHORT}" if "finetune=" in command else f"{command} {SMALL} {SHORT}"


def run(command: str, folder: Path, limit_s: float = 10 * LIMIT_S) -> subprocess.CompletedProcess[str]:
    env = {
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "HOME": str(folder),
        "WANDB_MODE": "offline",
        "COLUMNS": "120",
    }
    return subprocess.run(
        ["bash", "-o", "pipefail", "-c", command],
        cwd=folder,
        env=env,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=limit_s,
    )


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with what the pages name."""
    folder = tmp_path_factory.mktemp("made")
    whole = {
        (part, language): (ROOT / f"data/sample/{part}.{language}").read_text(encoding="utf-8").splitlines()
        for part in ("train", "valid", "test")
        for language in ("fr", "en")
    }
    most = {"train": 1200, "valid": 60, "test": 40}
    lines = {(part, language): text[: most[part]] for (part, language), text in whole.items()}

    def write(name: str, text: list[str]) -> None:
        file = folder / name
        file.parent.mkdir(parents=True, exist_ok=True)
        content = "".join(f"{line}\n" for line in text).encode()
        file.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)

    for (part, language), text in lines.items():
        write(f"corpus/{part}.{language}", text)
        write(f"{part}.{language}", text)
        for name in MULTI30K[part]:
            write(f"PATH/{name}.{language}.gz", text)
            write(f"data/multi30k/{name}.{language}.gz", text)
    for language in ("fr", "en"):
        for name in ("input", "chat"):
            write(f"{name}.{language}", lines["test", language][:10])
        write(f"corpus.{language}.gz", whole["train", language])
        write(f"big.{language}.gz", lines["test", language])
    write("corpus.tsv", list(map("\t".join, zip(lines["train", "fr"], lines["train", "en"], strict=True))))
    for name in ("dev", "test"):
        write(f"{name}.tsv", list(map("\t".join, zip(lines["test", "fr"], lines["test", "en"], strict=True))))
    for name in ("train", "valid", "test"):
        write(f"kinds/{name}.tsv", [f"{line}\t{len(line) > 60}" for line in lines[name, "fr"][:100]])
    write("other.en", lines["test", "en"])
    write("letter.txt", [*lines["test", "fr"][:3], "", *lines["test", "fr"][3:5]])
    write("film.fr.srt", ["1", "00:00:01,000 --> 00:00:02,000", lines["test", "fr"][0], ""])
    write("page.fr.md", ["# Titre", "", lines["test", "fr"][0]])
    write("table.tsv", [f"{i}\t{line}" for i, line in enumerate(lines["test", "fr"][:5])])
    write("terms.tsv", ["chat\tcat"])
    write("chat.jsonl", [json.dumps({"message": {"text": line}}) for line in lines["test", "fr"][:5]])
    write_preset(folder)
    write_experiment(folder)
    (folder / "mine.py").write_text(MODULE)
    preset = folder / "presets/experiment/focal.yaml"
    preset.write_text(preset.read_text().replace("max_epochs: 5", "max_steps: 6"))
    for name in ("train.py", "translate.py", "examples"):
        (folder / name).symlink_to(ROOT / name)
    (folder / "data/sample").symlink_to(ROOT / "data/sample")
    words = f"{SMALL} trainer.max_epochs=2 trainer.max_steps=20 trainer.val_every_n_steps=10 data=files data.dir=corpus"
    words += " model.positions=sinusoidal"  # which transformers has, too
    for name, more in {
        "RUN_DIR": "seed=1",
        "OTHER_RUN_DIR": "seed=2",
        "EN_FR_RUN_DIR": "data.src_lang=en data.tgt_lang=fr",
    }.items():
        done = run(f"python train.py experiment=demo {words} {more} run_dir={name}", folder)
        assert done.returncode == 0, done.stderr
    done = run(f"python train.py -m experiment=demo {words} seed=1,2 optim.lr=1e-3,3e-3 run_dir=SWEEP_DIR", folder)
    assert done.returncode == 0, done.stderr
    return folder


def guides() -> list[str]:
    found = [page.relative_to(ROOT).as_posix() for page in pages()]
    return sorted(page for page in found if not re.search("decisions|learn|CHANGELOG", page) and commands(ROOT / page))


@pytest.mark.nightly
@pytest.mark.parametrize("page", guides())
def test_the_commands_of_a_page_end_well(made: Path, tmp_path: Path, page: str) -> None:
    folder = tmp_path / "folder"
    shutil.copytree(made, folder, symlinks=True)
    failed = {}
    for command in commands(ROOT / page):
        done = run(shortened(command), folder)
        if done.returncode:
            failed[command] = done.stderr.strip().splitlines()[-3:]
    assert not failed
