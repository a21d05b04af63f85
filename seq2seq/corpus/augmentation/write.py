"""Files with augmentation: a source file, and its translations if there are any."""

from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from seq2seq.corpus.augmentation.kinds import Augmentation
from seq2seq.corpus.augmentation.stream import augmented_in_turn
from seq2seq.corpus.reader import read_aligned
from seq2seq.errors import CorpusError
from seq2seq.exit_status import stdin, stdout
from seq2seq.files import atomic_file

_STDIN = Path("-")


def write_augmented(
    files: Sequence[Path], outputs: Sequence[Path], augmentations: Sequence[Augmentation], seed: int
) -> None:
    """Write each file with augmentation, line by line: a large file takes no more memory than a small one.

    Args:
        files: a source, then its translations; `-` is stdin.
        outputs: one for each file, which appear when they are whole. None: the source goes to stdout.
    Raises:
        CorpusError: files that cannot be read or are not parallel, or outputs that cannot be written.
        UserError: stdin or stdout is closed.
    """
    _check(files, outputs)
    aligned = read_aligned([stdin() if file == _STDIN else file for file in files])
    rows = augmented_in_turn(aligned, augmentations, seed)
    with ExitStack() as written:
        streams = [written.enter_context(atomic_file(output)) for output in outputs] or [stdout()]
        for row in rows:
            for stream, text in zip(streams, row, strict=True):
                stream.write(f"{text}\n".encode())


def _check(files: Sequence[Path], outputs: Sequence[Path]) -> None:
    if files.count(_STDIN) > 1:
        raise CorpusError("stdin (-) stands for two files; name one of them")
    if len(outputs) != len(files) and (outputs or len(files) > 1):
        raise CorpusError(f"--output names {len(outputs)} files for {len(files)}; name one for each, in their order")
    seen: set[Path] = set()
    for output in outputs:
        target = output.resolve()
        if target in seen:
            raise CorpusError(f"--output names {output} twice; choose two names")
        seen.add(target)
