"""Text flows one way: a module imports from stages before its own, never after, through any chain of imports.

Every import counts, also one inside a function, and one for type checkers.
"""

from collections.abc import Iterator

import pytest

from docs.packages import FRONT, imported_modules, imports, modules, package

pytestmark = pytest.mark.slow

# The packages of one stage do not know each other. FRONT is `seq2seq/__init__.py`: its `load` imports the translator
# and its `train` a run, so for all others it stands above both.
STAGES = [
    ("masking",),
    ("characters", "errors", "vocabulary", "cores"),
    ("files",),
    ("exit_status", "memory", "options", "plugins"),
    ("config",),
    ("hardware",),
    ("corpus",),
    ("nfc",),
    ("tokenizer",),
    ("segmentation",),
    ("dataset",),
    ("model",),
    ("decoding",),
    ("evaluation",),
    ("artifacts",),
    ("analysis",),
    ("reports",),
    ("training", "translation"),
    ("export", "inspection", "sweeps"),
    ("steps",),
    ("backtranslation", "distillation"),
    ("commands", FRONT),
    ("cli",),
    ("__main__",),
]
STAGE_OF = {name: number for number, names in enumerate(STAGES) for name in names}


def chains(module: str) -> dict[str, list[str]]:
    """Each module that the imports of `module` lead to, and the shortest chain from `module` to it."""
    found = {module: [module]}
    waiting = [module]
    for importing in waiting:  # which grows meanwhile
        for imported in sorted(imported_modules(importing) - set(found)):
            found[imported] = [*found[importing], imported]
            waiting.append(imported)
    return found


def modules_of(part: str) -> list[str]:
    """Those of a package, or of a part of one such as `training.loss`."""
    found = [name for name in modules() if f"{name}.".startswith(f"{FRONT}.{part}.")]
    assert found, f"there is no {part}"
    return found


def named(module: str, *packages: str) -> list[str]:
    """The imports of these packages that stand in a module."""
    return [name for name in imports(module) if any(f"{name}.".startswith(f"{package}.") for package in packages)]


def ways(part: str, *packages: str) -> Iterator[str]:
    """Every chain of imports from a part of the project to one of these libraries."""
    for module in modules_of(part):
        for end, chain in chains(module).items():
            yield from (" imports ".join([*chain, name]) for name in named(end, *packages))


def packages_with(*packages: str) -> set[str]:
    return {package(module) for module in modules() if named(module, *packages)}


def test_every_package_has_a_stage() -> None:
    assert {package(module) for module in modules()} == set(STAGE_OF)


def test_text_flows_one_way() -> None:
    backwards = [
        " imports ".join(chain)
        for module in modules()
        for reached, chain in chains(module).items()
        if package(reached) != package(module) and STAGE_OF[package(reached)] >= STAGE_OF[package(module)]
    ]
    assert not sorted(backwards, key=len)


def test_no_import_hides_behind_a_computed_name() -> None:
    # The command line finds the files of commands/, which it imports anyway. A plugin is no part of the project.
    found = {module: set(named(module, "importlib", "runpy")) for module in modules()}
    # They import nothing.
    harmless = {"importlib.metadata.distributions", "importlib.metadata.version", "importlib.util.find_spec"}
    found = {module: names for module, names in found.items() if names - harmless}
    assert list(found) == ["seq2seq.cli", "seq2seq.plugins"]
    assert not [module for module, path in modules().items() if "__import__" in path.read_text(encoding="utf-8")]


@pytest.mark.parametrize("part", ["model", "decoding", "training.loss", "training.optimizer"])
def test_the_model_its_loss_and_the_search_know_tensors_and_not_files(part: str) -> None:
    reached = {package(module) for start in modules_of(part) for module in chains(start)}
    assert reached <= {"masking", "errors", "vocabulary", "plugins", "config", "model", part.partition(".")[0]}
    assert not [name for module in modules_of(part) for name in named(module, "pathlib", "os", "io", "tempfile")]


def test_decoding_knows_a_protocol_and_not_the_model() -> None:
    assert not list(ways("decoding", "seq2seq.model"))


@pytest.mark.parametrize(
    "part",
    [
        "errors",
        "vocabulary",
        "files",
        "exit_status",
        "config",
        "corpus",
        "tokenizer",
        "dataset.epoch",
        "dataset.store",
        "dataset.prepare",
        "evaluation",
        "analysis",
        "artifacts.run_directory",
        "artifacts.model_card",
        "reports",
        "translation.text",
        "translation.forms",
        "translation.streams",
        "translation.parts",
        "translation.blocks",
        "translation.result",
        "translation.watch",
    ],
)
def test_text_is_handled_without_torch(part: str) -> None:
    assert not list(ways(part, "torch", "pytorch_lightning", "safetensors", "ctranslate2"))


def test_only_what_composes_and_what_sweeps_knows_hydra() -> None:
    known = ["seq2seq.config.by_hydra", "seq2seq.config.command", "seq2seq.config.compose", "seq2seq.sweeps.multirun"]
    assert [m for m in modules() if named(m, "hydra")] == known


def test_lightning_stays_in_training() -> None:
    # The package itself names the type of the callbacks that a program may give.
    assert packages_with("pytorch_lightning") == {"training", FRONT}
