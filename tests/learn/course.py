"""The scripts that make the course, as modules."""

import importlib.util
import sys
from types import ModuleType

from tests.places import ROOT

LEARN = ROOT / "docs/learn"


def script(name: str) -> ModuleType:
    path = LEARN / name
    spec = importlib.util.spec_from_file_location(f"learn_{path.stem}", path)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look there
    spec.loader.exec_module(module)
    return module
