"""What a W&B run came from and what it made, as artifacts: corpus and tokenizer -> run -> model.

Of the corpus, W&B gets digests and counts, never its text. The tokenizer and the model are files only with
`logger.upload_model`. All that is uploaded lies in the run directory, so a run that was offline can be synced later.
"""

import logging
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from seq2seq.artifacts.wandb_access import PREFIX
from seq2seq.config import RunConfig
from seq2seq.files import atomic_file, write_json
from seq2seq.tokenizer import Tokenizer

if TYPE_CHECKING:  # wandb is imported when it is used
    import wandb

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Origin:
    """Something that a run is made from.

    Attributes:
        facts: what W&B shows of it. They also decide whether it is the same as that of another run.
        files: what is uploaded beside the facts.
    """

    name: str
    type: str
    facts: Mapping[str, Any]
    files: Mapping[str, bytes] = field(default_factory=dict)


@dataclass(frozen=True)
class Product:
    """A model directory that a run has made, and what W&B shows of it."""

    name: str
    directory: Path
    facts: Mapping[str, Any]


def origins(config: RunConfig, report: Mapping[str, Any], tokenizer: Tokenizer) -> list[Origin]:
    """The corpus and the tokenizer of a run.

    Args:
        report: the data report.
    """
    data = config.data
    splits = {  # nothing that depends on filters or the tokenizer: the same text is the same artifact
        split: {"pairs": found["pairs_read"], "sha256": list(found["files"].values())}
        for split, found in report["splits"].items()
    }
    corpus = {"name": data.name, "languages": [data.src_lang, data.tgt_lang], "splits": splits}
    subwords = {
        "sha256": tokenizer.fingerprint,
        "vocab_size": tokenizer.vocab_size,
        "model_type": config.tokenizer.model_type,
    }
    files = {"tokenizer.model": tokenizer.proto} if config.logger.upload_model else {}
    return [
        Origin(artifact_name("corpus", data.name, data.src_lang, data.tgt_lang), "corpus", corpus),
        Origin(artifact_name("tokenizer", data.name, data.src_lang, data.tgt_lang), "tokenizer", subwords, files),
    ]


def artifact_name(*parts: str) -> str:
    """A name that W&B accepts."""
    return re.sub(r"[^A-Za-z0-9_.\-]+", "-", "-".join(parts))[:120]


def use(run: "wandb.Run", found: Sequence[Origin], finetuned: str, folder: Path) -> None:
    """Note what a run is made from. If that fails, the run is tracked without it.

    Args:
        finetuned: the model that it starts from, if that is one of W&B.
        folder: where the facts are kept until they are uploaded.
    """
    import wandb

    try:
        for origin in found:
            artifact = wandb.Artifact(origin.name, origin.type, metadata=dict(origin.facts))
            place = folder / origin.name
            write_json(place / "facts.json", origin.facts)
            for name, content in origin.files.items():
                with atomic_file(place / name) as file:
                    file.write(content)
            for name in ("facts.json", *origin.files):
                artifact.add_file(str(place / name), policy="immutable", skip_cache=True)
            # What `use_artifact` does, which waits for the server, and refuses to work offline.
            run._log_artifact(artifact, is_user_created=True, use_after_commit=True)
        if finetuned and not run.offline:
            run.use_artifact(finetuned.removeprefix(PREFIX))
    except Exception as error:
        log.warning("W&B does not show what this run came from (%s: %s)", type(error).__name__, error)


def give(run: "wandb.Run", product: Product) -> None:
    """Give W&B a model. If that fails, the run is tracked without it."""
    import wandb

    try:
        artifact = wandb.Artifact(product.name, "model", metadata=dict(product.facts))
        artifact.add_dir(str(product.directory), policy="immutable", skip_cache=True)
        run.log_artifact(artifact, aliases=[run.id])
    except Exception as error:
        log.warning("W&B does not get the model (%s: %s)", type(error).__name__, error)
