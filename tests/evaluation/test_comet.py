"""COMET's program, here a stand-in that pip installs, scores files beside the other metrics."""

import json
import math
import os
import statistics
import zipfile
from pathlib import Path
from typing import Any

import pytest

from seq2seq.evaluation.comet import VERSION
from tests.training.tiny_runs import command

# The share of the words of a translation that its reference has, as a model of COMET would be called.
PROGRAM = """
import argparse, json, sys
from pathlib import Path
def score_command():
    parser = argparse.ArgumentParser()
    for name in ("-s", "-r", "--model", "--to_json", "--gpus"):
        parser.add_argument(name, required=True)
    parser.add_argument("-t", nargs="+", required=True)
    for name in ("--only_system", "--quiet"):
        parser.add_argument(name, action="store_true", required=True)
    args = parser.parse_args()
    if not Path(args.model).parents[1].joinpath("hparams.yaml").is_file():
        sys.exit("hparams.yaml is missing")  # as COMET looks for it
    if "broken" in args.model:
        sys.exit("the model is broken")
    def lines(path):
        with open(path, encoding="utf-8") as file:
            return [line.strip() for line in file]
    def score(text, reference):
        words = text.split()
        return sum(word in reference.split() for word in words) / max(1, len(words))
    found = {}
    for path in args.t:
        triples = zip(lines(args.s), lines(path), lines(args.r), strict=True)
        found[path] = [{"src": src, "mt": mt, "ref": ref, "COMET": score(mt, ref)} for src, mt, ref in triples]
    with open(args.to_json, "w", encoding="utf-8") as file:
        json.dump(found, file)
    print("a line that nobody reads")
"""
REFERENCE = [f"the cat {number} sits on a mat" for number in range(40)]
GOOD = [line.replace("sits", "sat") if number % 4 else line for number, line in enumerate(REFERENCE)]
POOR = [line.replace("the cat", "one dog") for line in REFERENCE]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    texts = {"good.en": GOOD, "poor.en": POOR, "ref.en": REFERENCE, "source.fr": REFERENCE}
    texts["good.en"][3] = "the cat 3 sits\u2028on a mat"  # one line, though not to Python's `splitlines`
    for name, lines in texts.items():
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    (tmp_path / "checkpoints").mkdir()
    (tmp_path / "hparams.yaml").touch()
    for name in ("model.ckpt", "broken.ckpt"):
        (tmp_path / "checkpoints" / name).touch()
    return {path.stem: path for path in tmp_path.rglob("*.*")}


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Variables with which pip finds the stand-in, and nothing else; and a cache."""
    folder = tmp_path_factory.mktemp("comet")
    info = f"unbabel_comet-{VERSION}.dist-info"
    with zipfile.ZipFile(folder / f"unbabel_comet-{VERSION}-py3-none-any.whl", "w") as wheel:
        wheel.writestr("comet/__init__.py", "")
        wheel.writestr("comet/cli/__init__.py", "")
        wheel.writestr("comet/cli/score.py", PROGRAM)
        wheel.writestr("torch.py", "class cuda:\n    is_available = staticmethod(lambda: False)\n")
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: unbabel-comet\nVersion: {VERSION}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    own = {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(folder), "PIP_CONFIG_FILE": os.devnull}
    return own | {"SEQ2SEQ_CACHE": str(folder / "cache")}


def score(env: dict[str, str], *words: object) -> Any:
    return command("score", *map(str, words), script="seq2seq/__main__.py", env=env)


@pytest.mark.slow
def test_it_is_one_more_metric(files: dict[str, Path], environment: dict[str, str], tmp_path: Path) -> None:
    words = [files["good"], "--reference", files["ref"], "--source", files["source"], "--comet", files["model"]]
    done = score(environment, *words, "--metrics", "bleu", "--format", "json")
    assert done.returncode == 0, done.stderr
    assert "making an environment for COMET" in done.stderr
    found = json.loads(done.stdout)["hypotheses"]["scores"]
    of_sentences = [100.0 if "sits" in line else 100 * 6 / 7 for line in GOOD]
    assert found["comet"]["score"] == pytest.approx(statistics.mean(of_sentences), abs=1e-4)
    error = statistics.pstdev(of_sentences) / math.sqrt(len(GOOD))
    assert found["comet"]["half_width"] == pytest.approx(1.96 * error, rel=0.1)
    assert found["comet"]["signature"] == f"nrefs:1|bs:1000|model:{tmp_path.name}|version:{VERSION}"
    assert found["bleu"]["score"] > 50

    other = score(environment, *words, "--baseline", files["poor"], "--metrics", "bleu", "--format", "json")
    assert other.returncode == 0, other.stderr
    assert "making" not in other.stderr
    against = json.loads(other.stdout)["baselines"][0]["against"]["comet"]
    assert against["difference"] == pytest.approx(statistics.mean(of_sentences) - 100 * 5 / 7, abs=1e-4)
    assert (against["p_value"] < 0.01, against["verdict"]) == (True, "better")
    assert len(list((Path(environment["SEQ2SEQ_CACHE"])).glob("comet-*"))) == 1

    broken = score(environment, *words[:-1], files["broken"])
    assert (broken.returncode, broken.stdout) == (2, "")
    assert "COMET failed: the model is broken" in broken.stderr


def test_what_it_refuses(files: dict[str, Path], environment: dict[str, str], tmp_path: Path) -> None:
    words = [files["good"], "--reference", files["ref"], "--comet", files["model"]]
    source, baseline = ["--source", files["source"]], ["--baseline", files["poor"]]
    (other := tmp_path / "model.ckpt").touch()
    for more, sentence in (
        ([], "--comet reads the source, too; add --source SRC"),
        ([*source, *baseline, "--test-method", "ar"], "--comet is tested by paired bootstrap"),
        ([*source, "--comet", "wmt22"], "--comet wmt22: no such checkpoint; give the .ckpt file"),
        (
            [*source, "--comet", other],
            f"COMET needs {tmp_path.parent}/hparams.yaml beside the folder of the checkpoint",
        ),
    ):
        done = score(environment, *words, *more)
        assert (done.returncode, done.stdout) == (2, "")
        assert sentence in done.stderr


@pytest.mark.slow
def test_what_cannot_be_installed_leaves_nothing(files: dict[str, Path], tmp_path: Path) -> None:
    env = {"PIP_NO_INDEX": "1", "PIP_CONFIG_FILE": os.devnull, "SEQ2SEQ_CACHE": str(tmp_path / "cache")}
    words = [files["good"], "--reference", files["ref"], "--source", files["source"], "--comet", files["model"]]
    done = score(env, *words)
    assert (done.returncode, done.stdout) == (2, "")
    assert "COMET cannot be installed: " in done.stderr and "unbabel-comet" in done.stderr
    assert not list((tmp_path / "cache").iterdir())
