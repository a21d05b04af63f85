"""The text of a run, made ready once on each machine for all its processes."""

import pickle
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from seq2seq.artifacts.identity import RunIdentity
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from seq2seq.dataset.prepare import Prepared, prepare
from seq2seq.errors import ConfigError, RunError
from seq2seq.tokenizer import Tokenizer
from seq2seq.training.ranks import Ranks

NETWORK_DELAY_S = 3.0  # until a file that one machine wrote is seen by another, on a file system that they share


def prepare_together(
    config: RunConfig, run: RunDirectory, run_id: str, tokenizer: Tokenizer | None, ranks: Ranks
) -> Prepared:
    """What the run needs of its text. The first process of each machine makes it; the others only open it.

    Raises:
        ConfigError: the run began with other text.
        RunError: a machine does not see the directory of the run, or another process told an error.
        CorpusError, TokenizerError: see `prepare`.
    """
    see_run(run, run_id, ranks.machine)
    ranks.meet("seen")
    name = f"prepared on machine {ranks.machine}"
    if ranks.is_first_on_machine:
        prepared = prepare(config, tokenizer)
        ranks.tell(name, pickle.dumps(prepared))
    else:
        prepared = pickle.loads(ranks.hear(name))
    if ranks.is_first:
        remember(run, prepared.report)
    ranks.meet("prepared")
    return prepared


def see_run(run: RunDirectory, run_id: str, machine: int) -> None:
    """
    Raises:
        RunError: the directory that this machine sees is not the one of the run.
    """
    end = time.monotonic() + NETWORK_DELAY_S
    while (found := run.identity()) is None or found.id != run_id:
        if time.monotonic() > end:
            state = "nothing there" if found is None else "another run there"
            raise RunError(
                f"machine {machine} of this run finds {state}: {run.path.absolute()}; put run_dir where all machines "
                "see it under this name"
            )
        time.sleep(0.1)


def remember(run: RunDirectory, report: Mapping[str, Any]) -> None:
    """Keep the digests of text and tokenizer with the identity of the run.

    Args:
        report: the data report.
    Raises:
        ConfigError: the run began with other text.
    """
    identity = run.identity()
    assert identity is not None  # the run has been claimed
    corpus = {split: list(_files(found).values()) for split, found in report["splits"].items()}
    _refuse_other_text(run, identity, corpus, report)
    run.write_identity(replace(identity, corpus=corpus, tokenizer=report["tokenizer"]["fingerprint"]))


def _refuse_other_text(
    run: RunDirectory, identity: RunIdentity, corpus: Mapping[str, Sequence[str]], report: Mapping[str, Any]
) -> None:
    for split in ("train", "valid"):
        if identity.corpus.get(split, corpus[split]) != corpus[split]:
            files = ", ".join(_files(report["splits"][split]))
            raise ConfigError(
                f"{run.path} began with other text in {split} than there is now in {files}; restore the files, or "
                f"train on the new ones with finetune={run.path}"
            )


def _files(split: Mapping[str, Any]) -> dict[str, str]:
    """The digests of all files that decide the pairs of a split: with `data.drop_overlap`, those of all splits."""
    return {**split["files"], **split.get("without", {})}
