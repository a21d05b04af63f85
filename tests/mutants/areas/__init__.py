"""The mutants, in one file for each area. To add one, add it to the list of its area."""

from importlib import import_module
from pathlib import Path

from tests.mutants.mutant import Mutant

AREAS: dict[str, list[Mutant]] = {
    file.stem: import_module(f"{__name__}.{file.stem}").MUTANTS
    for file in sorted(Path(__file__).parent.glob("[!_]*.py"))
}
