"""Text flows one way: a module imports from stages before its own, never after."""

import ast
import subprocess
import sys

import pytest

from tests.places import ROOT

STAGES = [
    ("errors", "vocabulary", "files"),
    ("config",),
    ("hardware",),
    ("corpus",),
    ("tokenizer",),
    ("dataset",),
    ("model",),
    ("decoding",),
    ("evaluation",),
    ("artifacts",),
    ("training", "translation", "reports"),
    ("export",),
    ("commands",),
]
STAGE_OF = {name: number for number, names in enumerate(STAGES) for name in names}


def modules():
    """Dotted name below seq2seq: file."""
    for path in sorted((ROOT / "seq2seq").rglob("*.py")):
        parts = path.relative_to(ROOT / "seq2seq").with_suffix("").parts
        if parts[-1] == "__init__":
            parts = parts[:-1]
        if parts:
            yield ".".join(parts), path


def imports(path):
    """Every module that a file names in an import, wherever it stands."""
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: a relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def uses(part, *packages):
    """Imports of these packages in a part of seq2seq, as `module imports name`."""
    return [
        f"{module} imports {name}"
        for module, path in modules()
        if module.split(".")[0] == part
        for name in imports(path)
        if any(name == package or name.startswith(f"{package}.") for package in packages)
    ]


def test_every_module_has_a_stage():
    assert {name.split(".")[0] for name, _ in modules()} <= set(STAGE_OF)


def test_text_flows_one_way():
    backwards = [
        f"{module} imports {name}"
        for module, path in modules()
        for name in imports(path)
        if name.startswith("seq2seq.")
        and name.split(".")[1] in STAGE_OF
        and STAGE_OF[name.split(".")[1]] > STAGE_OF[module.split(".")[0]]
    ]
    assert not backwards


@pytest.mark.parametrize("part", ["model", "loss", "schedule"])
def test_the_model_knows_tensors_and_not_files(part):
    assert not uses(
        part, "seq2seq.corpus", "seq2seq.tokenizer", "seq2seq.dataset.store", "seq2seq.dataset.prepare", "pathlib"
    )


@pytest.mark.parametrize(
    "part", ["corpus", "text", "output", "scores", "tokenizer", "store", "mixture", "config", "errors"]
)
def test_text_is_handled_without_torch(part):
    assert not uses(part, "torch", "pytorch_lightning")


def test_decoding_knows_a_protocol_and_not_the_model():
    assert not uses("decoding", "seq2seq.model")


def test_only_train_knows_hydra():
    assert {use.split()[0] for part in STAGE_OF for use in uses(part, "hydra")} == {"commands.train"}


def test_lightning_stays_in_training():
    assert {use.split(".")[0] for part in STAGE_OF for use in uses(part, "pytorch_lightning")} == {"training"}


@pytest.mark.parametrize(
    "module",
    [
        "seq2seq",
        "seq2seq.commands.train",
        "seq2seq.commands.translate",
        "seq2seq.dataset.prepare",
        "seq2seq.export.export",
        "seq2seq.reports.compare",
        "seq2seq.corpus.split",
    ],
)
def test_nothing_that_starts_quickly_imports_torch(module):
    code = f"import sys, {module}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout == "False\n"
