"""translate.py, which waits at a batch until a file is there:  rank.py NUMBER FOLDER OPTION ...

At the batch of this number, counted from 0, it leaves a file `FOLDER/waits-RANK`, and goes on when `FOLDER/go` is
there. A number below 0 is that of no batch.
"""

import itertools
import os
import sys
from pathlib import Path
from typing import Any

from seq2seq.cli import front_door
from seq2seq.translation.engines.pytorch import PyTorchEngine
from tests.processes import until

if __name__ == "__main__":
    place, folder = int(sys.argv[1]), Path(sys.argv[2])
    numbers, decode = itertools.count(), PyTorchEngine.decode

    def decode_or_wait(self: PyTorchEngine, *arguments: Any, **options: Any) -> Any:
        if next(numbers) == place:
            (folder / f"waits-{os.environ['RANK']}").touch()
            until((folder / "go").exists, limit_s=600)
        return decode(self, *arguments, **options)

    PyTorchEngine.decode = decode_or_wait  # type: ignore[method-assign]
    front_door("translate", sys.argv[3:], prog="translate.py")
