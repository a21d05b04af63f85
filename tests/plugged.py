"""The loss of docs/python.md and the plugin of examples/, as one module on the path of this process."""

import importlib
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from seq2seq import plugins
from tests.documentation import fenced
from tests.places import ROOT

(LOSS,) = [block for block in fenced(ROOT / "docs/python.md", "python") if "LOSSES[" in block]
MODULE = f"{LOSS}\n{(ROOT / 'examples/plugin.py').read_text()}"
KEYS = {"optim.loss": "focal", "model.positions": "weighted", "model.attention": "distances"}


@contextmanager
def plugged(folder: Path, name: str = "mine") -> Iterator[None]:
    """In this block, Python finds the module in `folder`; nobody has imported it. Afterwards nothing of it is left."""
    (folder / f"{name}.py").write_text(MODULE)
    sys.path.insert(0, str(folder))
    importlib.invalidate_caches()
    try:
        yield
    finally:
        sys.path.remove(str(folder))
        unplug(name)


def unplug(name: str = "mine") -> None:
    """This process knows nothing of a plugin any more, as one that starts."""
    sys.modules.pop(name, None)
    for names in (plugins.LOSSES, plugins.POSITIONS, plugins.ATTENTIONS):
        names.clear()
