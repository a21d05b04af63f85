"""Each command, option, key and file that a page names exists."""

import argparse
import re
import shlex
from collections.abc import Iterator, Sequence
from copy import deepcopy
from dataclasses import asdict
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from inspect import signature
from pathlib import Path

import pytest
from hydra import compose, initialize_config_dir
from hydra.core.config_store import ConfigStore
from hydra.core.override_parser.overrides_parser import OverridesParser
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

import seq2seq
from docs import reference
from seq2seq.artifacts.run_directory import flat
from seq2seq.cli import READ_BY_HYDRA, build_parser, command_names
from seq2seq.commands.train import ESTIMATE
from seq2seq.config import RunConfig, read_config
from seq2seq.errors import ConfigError, PluginError
from seq2seq.plugins import import_plugins
from seq2seq.translation.translator import Translator
from tests.documentation import code_lines, pages, write_preset
from tests.places import ROOT
from tests.plugged import plugged

KEYS = set(flat(asdict(RunConfig())))
KEYS |= {key.rpartition(".")[0] for key in KEYS if key.count(".") > 1}  # a section in a section
SECTIONS = {key.partition(".")[0] for key in KEYS if "." in key}
# Options of other programs: Hydra, sacreBLEU, pip, git, pytest, torchrun, SLURM, docker, mtdata.
OF_OTHERS = {
    "--array",
    "--gpus-per-task",
    "--include-synced",
    "--max-restarts",
    "--no-python",
    "--nthreads",
    "--nworkers",
    "--rdzv-backend",
    "--rdzv-endpoint",
    "--rdzv-id",
    "--requeue",
    "--signal",
    "--output_dir",
    "--index-url",
    "--logdir",
    "--merge",
    "--nnodes",
    "--nproc-per-node",
    "--nodes",
    "--ntasks-per-node",
    "--gpus-per-node",
    "--cpus-per-task",
    "--dependency",
    "--wrap",
    "--cfg",
    "--config-dir",
    "--confidence",
    "--paired-ar",
    "--paired-bs",
    "--exclude-editable",
    "--exclude",
    "--cpus",
    "--cpuset-cpus",
    "--echo",
    "--file",
    "--interactive",
    "--publish",
    "--rm",
    "--volume",
}
OTHER_TOOLKITS = "coming-from.md"  # the page with their options and scripts
PLACEHOLDERS = {"COMMAND", "X"}
OF_READERS = {"mine.py", "experiment.py"}  # files that docs/python.md has them write


def documented(start: str) -> list[str]:
    """The words after `start` in the commands that a reader may paste, each command once."""
    found = {
        words_of(line.partition(start)[2])
        for page in pages()
        for line in code_lines(page)
        if re.match(r"(\w+=\S+ )*(\.venv/bin/)?python ", line) and start in line
    }
    assert found, f"no page has a command with {start!r}"
    return sorted(found)


def words_of(command: str) -> str:
    """The words of a command without comments, redirections and pipes."""
    return shlex.join(shlex.split(re.split(r"\s[<>|]", command)[0], comments=True))


def test_each_documented_command_is_understood() -> None:
    parser = build_parser()
    for command in documented("python -m seq2seq "):
        if command.split()[0] not in {*PLACEHOLDERS, *READ_BY_HYDRA}:
            understood(parser, shlex.split(command))
    for command in documented("python translate.py "):
        of_array = command.replace("$SLURM_ARRAY_TASK_ID/$SLURM_ARRAY_TASK_COUNT", "3/8")
        understood(parser, ["translate", *shlex.split(of_array)])


def understood(parser: argparse.ArgumentParser, words: list[str]) -> None:
    try:
        parser.parse_args(words)
    except SystemExit:
        pytest.fail(f"a page has the command {shlex.join(words)}")


def first_job(words: Sequence[str]) -> list[str]:
    """The keys that a training command sets; of a sweep, those of its first job."""
    kept = [word for word in words if re.match(r"\w[\w.]*=", word)]
    return [word.partition(",")[0] for word in kept] if "-m" in words else kept


@cache
def composed(*presets: str) -> DictConfig:
    ConfigStore.instance().store(name="schema", node=RunConfig)
    with initialize_config_dir(str(ROOT / "conf"), version_base="1.3"):
        return compose("train", list(presets))


@pytest.fixture
def mine(tmp_path: Path) -> Iterator[Path]:
    """A plugin and a folder of presets, as pages show them."""
    with plugged(tmp_path):
        yield write_preset(tmp_path)


@pytest.mark.slow
def test_each_documented_training_is_understood(mine: Path) -> None:
    """To compose presets takes the time, so that is done once for all commands that have the same."""
    groups = {path.name for path in (ROOT / "conf").iterdir() if path.is_dir()}
    for command in documented("python train.py ") + documented("python -m seq2seq prepare "):
        words = first_job(shlex.split(command))
        presets = [word for word in words if word.partition("=")[0] in groups]
        presets += [f"hydra.searchpath=[{mine}]"] if "--config-dir=presets" in command else []
        try:
            config = deepcopy(composed(*presets))
            for word in OverridesParser.create().parse_overrides(
                [word for word in words if word not in presets and not word.startswith("hydra")]
            ):
                OmegaConf.update(config, word.key_or_group, word.value())
            import_plugins(config.plugins)
            read_config(config)
        except (ConfigError, PluginError, OmegaConfBaseException, HydraException) as error:
            pytest.fail(f"a page has the command {command}: {error}")


def named_on_pages(pattern: str, *, but_on: str = "") -> set[tuple[str, str]]:
    """What pages name, each with the name of its page."""
    found = {
        (page.name, name) for page in pages() if page.name != but_on for name in re.findall(pattern, page.read_text())
    }
    assert len(found) > 10, f"pages hardly name {pattern}"
    return found


def test_each_command_that_a_page_names_exists() -> None:
    named = named_on_pages(r"python\s+-m\s+seq2seq\s+([\w-]+)")
    assert not {(page, command) for page, command in named if command not in {*command_names(), *PLACEHOLDERS}}


def test_each_option_that_a_page_names_exists() -> None:
    rows = re.findall(r"^\| `(--.*?)` \|", reference.content("commands"), re.M)
    existing = {option for row in rows for option in re.findall(r"--[a-z][\w-]*", row)}
    existing |= {ESTIMATE, "--help", "--help-all", "--version", *OF_OTHERS}
    folders = ("benchmarks", "data", "docs", "examples")
    for program in [file for folder in folders for file in ROOT.glob(f"{folder}/**/*.py")]:
        existing.update(re.findall(r"--[a-z][\w-]*", program.read_text()))
    named = named_on_pages(r"(?<![\w-])--[a-z][\w-]*", but_on=OTHER_TOOLKITS)
    assert not {(page, option) for page, option in named if option not in existing}


def test_each_key_that_a_page_names_exists() -> None:
    pattern = rf"(?<![\w./])(?:{'|'.join(sorted(SECTIONS))})\.[a-z]\w*(?!\w*\()"
    files = re.compile(r"\.(?:py|ckpt|safetensors|model|yaml|md|json)$")
    named = named_on_pages(pattern)
    assert not {(page, name) for page, name in named if name not in KEYS and not files.search(name)}


def files_named_in(page: Path) -> set[str]:
    """The files of code in its text, and the paths that stand as code. Another test follows the links."""
    text = re.sub(r"https?://\S+|\[[^\]]*\]\([^)]*\)", "", page.read_text())
    code = re.findall(r"(?<![\w/.*-])[\w./-]+\.(?:py|sh)\b", text)
    paths = re.findall(r"`((?:seq2seq|tests|conf|docs|benchmarks)/[\w./-]+)`", text)
    return {name for name in code + paths if "NAME" not in name} - OF_READERS


def test_each_file_that_a_page_names_exists() -> None:
    """It is named from the root of the repository, from the package, or from the folder of the page."""
    missing = [
        (page.name, name)
        for page in pages()
        if page.name != OTHER_TOOLKITS
        for name in files_named_in(page)
        if not any((folder / name).exists() for folder in (ROOT, ROOT / "seq2seq", page.parent))
    ]
    assert sum(len(files_named_in(page)) for page in pages()) > 30
    assert not missing


def test_each_module_that_a_page_names_exists() -> None:
    named = named_on_pages(r"(?<![\w./-])seq2seq(?:\.[a-z]\w*)+")
    modules = {(page, name) for page, name in named if not name.endswith((".py", ".md"))}
    assert modules
    assert not {(page, name) for page, name in modules if not is_module_or_attribute(name)}


def is_module_or_attribute(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    try:
        return hasattr(import_module(module), attribute) or find_spec(name) is not None
    except ModuleNotFoundError:
        return False


def test_the_page_of_translation_has_each_argument() -> None:
    page = (ROOT / "docs/translation.md").read_text()
    for call in (seq2seq.load, Translator.translate, Translator.translate_stream, Translator.score):
        row = re.search(rf"^\| `[\w.]+\.{call.__name__}\(.*$", page, re.M)
        names = set(signature(call).parameters) - {"self", "settings"}
        assert row and names <= set(re.findall(r"\w+", row[0])) | {"decoding", "first_number"}
