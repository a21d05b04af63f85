"""What is shipped and installed: the wheel, the targets of make, the pinned versions."""

import importlib.metadata
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

from tests.imported import imported_by
from tests.places import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
SHIPPED = {".fr", ".en", ".tags", ".md"}  # of the sample corpus; what generates it stays in the repository
needs_make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def pyproject() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


# --- the wheel ---


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if importlib.util.find_spec("hatchling") is None:
        pytest.skip("hatchling, which builds the wheel, is not installed: pip install -e '.[dev]'")
    out = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "pip", "wheel", "--no-deps", "--no-build-isolation", "-w", str(out)]
    built = subprocess.run([*command, str(ROOT)], capture_output=True, text=True)
    assert built.returncode == 0, built.stdout + built.stderr
    (path,) = out.glob("*.whl")
    return path


def files_below(folder: Path, pattern: str) -> set[str]:
    return {path.relative_to(ROOT).as_posix() for path in folder.rglob(pattern) if path.is_file()}


def test_the_wheel_holds_all_code_and_configuration_and_the_sample_corpus(wheel: Path) -> None:
    code = files_below(ROOT / "seq2seq", "*.py") | {"seq2seq/py.typed"}
    page = {name for kind in ("html", "css", "js") for name in files_below(ROOT / "seq2seq/reports/page", f"*.{kind}")}
    conf = files_below(ROOT / "conf", "*.yaml")
    in_sample = [path for path in (ROOT / "data" / "sample").iterdir() if path.suffix in SHIPPED]
    sample = {f"data/sample/{path.name}" for path in in_sample}
    assert conf and len(page) > 2
    assert {path.suffix for path in in_sample} >= {".fr", ".en", ".md"}
    inside = {name for name in zipfile.ZipFile(wheel).namelist() if name.startswith("seq2seq/")}
    assert inside == code | page | {f"seq2seq/{name}" for name in conf | sample}


def test_the_wheel_adds_one_package_and_one_command(wheel: Path) -> None:
    archive = zipfile.ZipFile(wheel)
    info = f"seq2seq-{pyproject()['project']['version']}.dist-info"
    assert {name.split("/")[0] for name in archive.namelist()} == {"seq2seq", info}
    assert f"{info}/licenses/LICENSE" in archive.namelist()
    assert archive.read(f"{info}/entry_points.txt").decode().splitlines() == [
        "[console_scripts]",
        "seq2seq = seq2seq.cli:main",
    ]


def test_an_installed_package_finds_its_configuration_and_sample_corpus(wheel: Path, tmp_path: Path) -> None:
    zipfile.ZipFile(wheel).extractall(tmp_path / "site")
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from seq2seq.files import bundled_corpus, conf_dir; "
        "print(conf_dir() / 'train.yaml', bundled_corpus('sample') / 'README.md', sep='\\n')"
    )
    site = str(tmp_path / "site")
    done = subprocess.run(
        [sys.executable, "-I", "-c", code, site], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    for found in map(Path, done.stdout.splitlines()):
        assert found.is_relative_to(tmp_path / "site")
        assert found.is_file()


def test_the_version_is_the_same_everywhere() -> None:
    code = (ROOT / "seq2seq" / "__init__.py").read_text(encoding="utf-8")
    assert f'__version__ = "{pyproject()["project"]["version"]}"' in code


# --- pinned versions ---


def requirements(lines: list[str]) -> list[Requirement]:
    return [Requirement(line) for line in lines]


def declared() -> list[Requirement]:
    """Everything pyproject.toml names, itself left out."""
    project = pyproject()
    lines = [*project["build-system"]["requires"], *project["project"]["dependencies"]]
    for extra in project["project"]["optional-dependencies"].values():
        lines += extra
    return [req for req in requirements(lines) if req.name != project["project"]["name"]]


def pins(python: str) -> dict[str, Version]:
    """Canonical name -> version that constraints.txt allows on that Python."""
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned: dict[str, Version] = {}
    for req in requirements([line for line in lines if line and not line.startswith("#")]):
        if req.marker and not req.marker.evaluate({"python_version": python}):
            continue
        (spec,) = req.specifier
        name = canonicalize_name(req.name)
        assert spec.operator == "==", f"{req} is not an exact version"
        assert "+" not in spec.version, f"{req} names one build only"
        assert name not in pinned, f"{name} has two versions on Python {python}"
        pinned[name] = Version(spec.version)
    return pinned


@pytest.mark.parametrize("python", PYTHONS)
def test_every_declared_dependency_has_a_pin_within_its_bounds(python: str) -> None:
    pinned = pins(python)
    for req in declared():
        assert req.specifier.contains(pinned[canonicalize_name(req.name)]), req


def brought_along(declared: list[Requirement]) -> Iterator[Requirement]:
    """These requirements, and what they require in turn, as far as it is installed."""
    waiting, seen = list(declared), set()
    while waiting:
        req = waiting.pop()
        if (key := (canonicalize_name(req.name), frozenset(req.extras))) in seen:
            continue
        seen.add(key)
        yield req
        with suppress(importlib.metadata.PackageNotFoundError):
            brings = requirements(importlib.metadata.requires(req.name) or [])
            for extra in ["", *req.extras]:
                waiting += [dep for dep in brings if not dep.marker or dep.marker.evaluate({"extra": extra})]


def is_installed(name: str) -> bool:
    try:
        return bool(importlib.metadata.version(name))
    except importlib.metadata.PackageNotFoundError:
        return False


def test_everything_the_declared_dependencies_bring_along_is_pinned() -> None:
    comes_with_a_gpu_build = re.compile(r"nvidia-|cuda-|triton")
    pinned = pins(f"{sys.version_info.major}.{sys.version_info.minor}")
    if Version(importlib.metadata.version("numpy")) != pinned["numpy"]:
        pytest.skip("this environment has other versions, as that of `make lowest` has")
    names = {canonicalize_name(req.name) for req in brought_along(declared()) if is_installed(req.name)}
    assert len(names) > 20
    assert not {name for name in names - set(pinned) if not comes_with_a_gpu_build.match(name)}


def test_every_declared_dependency_is_explained() -> None:
    text = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    explained = set(re.findall(r"^\| \*\*([\w.-]+)\*\* \|", text, flags=re.MULTILINE))
    assert {req.name for req in declared()} == explained


# --- what is installed without the extra `train` ---


def test_an_exported_model_is_translated_with_the_packages_of_the_extra_ctranslate2(exported_model: Path) -> None:
    project = pyproject()["project"]
    few = requirements([*project["dependencies"], *project["optional-dependencies"]["ctranslate2"]])
    may = {canonicalize_name(req.name) for req in brought_along(few)} | {"seq2seq"}
    may |= {"attrs", "setuptools"}  # OmegaConf, and Python as it starts, import them if they are there
    modules = imported_by("translate", "--model", exported_model, "--device", "cpu", stdin="Ba bi. FO FU DA BI.\n")
    packages = importlib.metadata.packages_distributions()
    used = {canonicalize_name(name) for module in modules for name in packages.get(module.partition(".")[0], ())}
    assert {"ctranslate2", "numpy", "omegaconf", "sentencepiece"} <= used <= may


SENTENCE = (
    "the package {} is not installed; switch on the environment that has it (. .venv/bin/activate), or install it, "
)
SENTENCE += "in a clone of seq2seq: pip install -e '.[train]'\n"


def ended_without(package: str, code: str, *words: object) -> subprocess.CompletedProcess[str]:
    """A process that cannot import a package."""
    code = f"import sys; sys.modules[{package!r}] = None\n{code}"
    return subprocess.run([sys.executable, "-c", code, *map(str, words)], cwd=ROOT, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("package", "words"),
    [
        ("hydra", ["train", "experiment=demo"]),
        ("requests", ["prepare", "experiment=demo"]),
        ("sacrebleu", ["score", "README.md", "--reference", "README.md", "--metrics", "bleu"]),
        ("torch", ["export", "nowhere", "--format", "safetensors"]),
    ],
)
def test_a_command_that_needs_more_says_how_to_install_it(package: str, words: list[str]) -> None:
    done = ended_without(package, "from seq2seq.cli import main; main()", *words)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"error: {SENTENCE.format(package)}")


def test_a_program_that_needs_more_is_told_how_to_install_it(random_run: Path) -> None:
    code = """
import seq2seq
for call in (lambda: seq2seq.config(["experiment=demo"]), lambda: seq2seq.load(sys.argv[1])):
    try:
        call()
    except seq2seq.UserError as error:
        print(error)
"""
    done = ended_without("torch", "sys.modules['hydra'] = None" + code, random_run)
    assert done.stdout == SENTENCE.format("hydra") + SENTENCE.format("torch"), done.stderr


# --- make ---


@needs_make
def test_make_help_describes_every_target() -> None:
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^\.PHONY: ([a-z-]+)$", makefile, re.MULTILINE)
    shown = subprocess.run(["make", "help"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    described = dict(re.findall(r"^  make ([a-z-]+) +(\S.*)$", shown, re.MULTILINE))
    assert {"help", "demo", "train", "test", "check", "clean"} <= set(targets)
    assert set(described) == set(targets)


@needs_make
def test_the_demo_ends_with_the_report_that_the_readme_names() -> None:
    make = ["make", "--no-print-directory", "-n", "demo", "VENV=.venv"]
    shown = subprocess.run(make, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    page = re.findall(r"runs/\S+\.html", shown)[-1]
    assert shown.rstrip().endswith(f"/{page}'")
    assert f"`{page}`" in (ROOT / "README.md").read_text(encoding="utf-8")


class Checkout:
    """A directory with the Makefile and a Python that only pretends, so that installing takes no time.

    Its `-m venv` writes a `bin/python` that notes every call in calls.txt; pip fails while a file `offline`
    exists.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.python = folder / "python"
        for name in ("Makefile", "pyproject.toml", "constraints.txt"):
            shutil.copy(ROOT / name, folder)
        self.pretend()

    def pretend(self, broken: str = "nothing-is-broken") -> None:
        """A Python on which every command that mentions `broken` fails."""
        self.python.write_text(
            f"""#!/bin/sh
case "$*" in
  *{broken}*) exit 1 ;;
  "-m venv "*)
    echo "$*" >> calls.txt
    mkdir -p "$3/bin"
    printf '#!/bin/sh\\necho "$*" >> calls.txt\\ntest ! -f offline\\n' > "$3/bin/python"
    chmod +x "$3/bin/python"
    touch "$3/bin/pip" ;;
esac
""",
            encoding="utf-8",
        )
        self.python.chmod(0o755)

    def make(self, *args: str) -> subprocess.CompletedProcess[str]:
        command = ["make", f"PYTHON={self.python}", *args]
        clean = {key: value for key, value in os.environ.items() if not key.startswith(("MAKE", "MFLAGS"))}
        return subprocess.run(command, cwd=self.folder, env=clean, capture_output=True, text=True)

    def calls(self) -> list[str]:
        """What was asked of Python since the last question: venv, pip."""
        log = self.folder / "calls.txt"
        calls = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        log.unlink(missing_ok=True)
        return [call.split()[1] for call in calls]


@pytest.fixture
def checkout(tmp_path: Path) -> Checkout:
    return Checkout(tmp_path)


@needs_make
def test_an_environment_for_training_grows_into_one_for_developers_and_is_renewed_with_the_pins(
    checkout: Checkout,
) -> None:
    for target, calls in ((".venv/runtime.stamp", ["venv", "pip"]), ("install", ["pip"]), ("install", [])):
        done = checkout.make(target)
        assert (done.returncode, checkout.calls()) == (0, calls), done.stderr
    assert checkout.make(".venv/runtime.stamp").returncode == 0
    assert checkout.calls() == []

    later = (checkout.folder / ".venv" / "dev.stamp").stat().st_mtime + 5
    os.utime(checkout.folder / "constraints.txt", (later, later))
    assert checkout.make("install").returncode == 0
    assert checkout.calls() == ["pip"]


@needs_make
def test_a_failed_install_goes_on_and_without_its_python_the_environment_is_made_anew(checkout: Checkout) -> None:
    (checkout.folder / "offline").touch()
    assert checkout.make("install").returncode != 0
    assert not (checkout.folder / ".venv" / "dev.stamp").exists()
    (checkout.folder / "offline").unlink()
    checkout.calls()

    done = checkout.make("install")
    assert (done.returncode, checkout.calls()) == (0, ["pip"]), done.stderr
    assert done.stdout.count("\n") == 1
    assert done.stdout.startswith("Installing what the tests and checks need into .venv")

    python = checkout.folder / ".venv" / "bin" / "python"
    python.unlink()
    python.symlink_to(checkout.folder / "uninstalled")
    assert checkout.make("install").returncode == 0
    assert checkout.calls() == ["venv", "pip"]


@needs_make
def test_an_environment_of_another_program_gets_pip(checkout: Checkout) -> None:
    assert checkout.make(".venv/runtime.stamp").returncode == 0
    for name in ("bin/pip", "runtime.stamp"):
        (checkout.folder / ".venv" / name).unlink()
    checkout.calls()
    assert checkout.make("install").returncode == 0
    assert checkout.calls() == ["ensurepip", "pip"]


@needs_make
def test_make_keeps_away_from_an_install_that_is_still_going_on(checkout: Checkout) -> None:
    (checkout.folder / ".venv").mkdir()
    (checkout.folder / ".venv" / "unfinished").write_text(f"{os.getpid()}\n", encoding="utf-8")
    refused = checkout.make("install")
    assert refused.returncode != 0
    assert refused.stderr.startswith("Another make is installing into .venv: wait")
    assert checkout.calls() == []


@needs_make
@pytest.mark.parametrize(
    ("broken", "sentence"),
    [("version_info", "is too old: install Python 3.10 or newer"), ("ensurepip", "lacks the modules venv")],
)
def test_an_unfit_python_is_one_sentence(checkout: Checkout, broken: str, sentence: str) -> None:
    checkout.pretend(broken)
    refused = checkout.make("test")
    assert refused.returncode != 0
    message, make_says = refused.stderr.splitlines()
    assert sentence in message
    assert make_says.startswith("make: ***")
    assert not (checkout.folder / ".venv").exists()


@needs_make
def test_a_missing_python_is_one_sentence(checkout: Checkout) -> None:
    checkout.python.unlink()
    refused = checkout.make("demo")
    assert refused.returncode != 0
    assert refused.stderr.splitlines()[0].startswith(f"No working '{checkout.python}' here: install Python 3.10")


@needs_make
def test_the_lowest_versions_are_the_bounds_in_an_environment_of_their_own(checkout: Checkout) -> None:
    assert checkout.make("lowest").returncode == 0
    assert (checkout.folder / ".venv-lowest/dev.stamp").exists() and not (checkout.folder / ".venv").exists()
    assert checkout.calls() == ["venv", "pip", "pytest"]
    found = {line.rstrip("\n") for line in (checkout.folder / "constraints-lowest.txt").open(encoding="utf-8")}
    bounds = {f"{req.name}=={spec.version}" for req in declared() for spec in req.specifier if spec.operator == ">="}
    assert found == bounds
    assert len(bounds) == len({req.name for req in declared()})  # each has one bound


@needs_make
def test_clean_keeps_runs_and_the_environment(checkout: Checkout) -> None:
    for kept_or_not in ("runs/demo", ".venv", ".venv-lowest", "build", "seq2seq/__pycache__", ".mypy_cache"):
        (checkout.folder / kept_or_not).mkdir(parents=True)
    assert checkout.make("clean").returncode == 0
    left = {path.name for path in checkout.folder.iterdir() if path.is_dir()}
    assert left == {"runs", ".venv", ".venv-lowest", "seq2seq"}
    assert list((checkout.folder / "seq2seq").iterdir()) == []
