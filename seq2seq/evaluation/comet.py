"""COMET (Rei et al. 2020), a score that is learned: its own program computes it, in an environment of its own.

What `unbabel-comet` needs does not fit what we need (docs/evaluation.md). So pip installs it into a virtual environment
in our cache, once, with our version of torch.
"""

import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path

from seq2seq.errors import TranslationError
from seq2seq.evaluation.scores import N_SAMPLES, Resampled, on_same_resamples
from seq2seq.exit_status import note
from seq2seq.files import cache_directory

VERSION = "2.2.7"
# Its own torch says whether there is a GPU; by default, COMET wants one.
PROGRAM = """import sys, torch
from comet.cli.score import score_command
sys.argv += ["--gpus", str(int(torch.cuda.is_available()))]
score_command()"""


def comet(
    model: Path, source: Sequence[str], systems: Sequence[Sequence[str]], reference: Sequence[str]
) -> list[Resampled]:
    """The score of each system: 100 times the mean of what the model gives its sentences.

    Args:
        model: a checkpoint of COMET.
    Raises:
        TranslationError: there is no such model; COMET cannot be installed, or fails.
    """
    if not (model.is_file() and model.suffix == ".ckpt"):
        raise TranslationError(
            f"--comet {model}: no such checkpoint; give the .ckpt file of a model that you have downloaded"
        )
    model = model.absolute()
    published = model.parent.parent  # COMET looks there, too
    if not (published / "hparams.yaml").is_file():
        raise TranslationError(
            f"--comet {model}: COMET needs {published}/hparams.yaml beside the folder of the checkpoint; give "
            "DIR/checkpoints/model.ckpt of a model as it is published"
        )
    python = _environment()
    with tempfile.TemporaryDirectory() as folder:
        files = [Path(folder) / name for name in ("source", "reference", *map(str, range(len(systems))))]
        for file, lines in zip(files, [source, reference, *systems], strict=True):
            # One sentence stays one line, whatever else ends a line for the program that reads it.
            file.write_text("".join(f"{' '.join(line.split())}\n" for line in lines), encoding="utf-8")
        src, ref, *translations = files
        found = Path(folder) / "scores.json"
        words: list[str | Path] = ["-c", PROGRAM, "-s", src, "-r", ref, "-t", *translations, "--model", model]
        words += ["--to_json", found, "--only_system", "--quiet"]
        _do([python, *words], "COMET failed")
        content = json.loads(found.read_text(encoding="utf-8"))
    return _resampled([[each["COMET"] for each in content[str(file)]] for file in translations], published.name)


def _resampled(systems: Sequence[Sequence[float]], model: str) -> list[Resampled]:
    import numpy as np

    n_samples = N_SAMPLES["bs"]
    scores = [100 * np.array(each)[:, None] for each in systems]
    on_resamples = on_same_resamples(scores, lambda sums: float(sums[0]) / len(scores[0]), n_samples)
    signature = f"nrefs:1|bs:{n_samples}|model:{model}|version:{VERSION}"
    return [Resampled(float(own.mean()), drawn, signature) for own, drawn in zip(scores, on_resamples, strict=True)]


def _environment() -> Path:
    """The Python that has COMET. It is made if it is not there; what is there is whole."""
    folder = cache_directory() / f"comet-{VERSION}"
    if not folder.exists():
        note(f"making an environment for COMET in {folder}, once; pip downloads what it needs")
        folder.parent.mkdir(parents=True, exist_ok=True)
        new = folder.with_name(f"{folder.name}-{secrets.token_hex(4)}")  # others may share the cache, as the umask says
        try:
            _do([sys.executable, "-m", "venv", new], "there is no environment for COMET")
            constraints = new / "constraints.txt"
            constraints.write_text(f"torch=={version('torch').partition('+')[0]}\n", encoding="utf-8")
            install = ["-m", "pip", "install", "-q", "--disable-pip-version-check", f"unbabel-comet=={VERSION}"]
            install += ["-c", str(constraints)]
            _do([_python(new), *install], "COMET cannot be installed")
            new.rename(folder)
        except OSError:
            if not folder.exists():  # else another command was quicker
                raise
        finally:
            shutil.rmtree(new, ignore_errors=True)
    return _python(folder)


def _python(folder: Path) -> Path:
    return folder / "bin/python"


def _do(words: Sequence[str | Path], problem: str) -> None:
    """
    Raises:
        TranslationError: the program failed; the last line that it said is in the sentence.
    """
    without_ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(words, capture_output=True, text=True, errors="replace", env=without_ours, check=False)
    if done.returncode:
        said = done.stderr.strip() or done.stdout.strip() or "it said nothing"
        raise TranslationError(f"{problem}: {said.splitlines()[-1]}")
