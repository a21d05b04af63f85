"""Libraries whose addresses lead to a server of the tests."""

import hashlib
from dataclasses import replace
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf

from seq2seq.config import DataConfig
from seq2seq.corpus.named.download import Patience
from seq2seq.corpus.named.library import Library
from tests.corpus.named.server import Server

IMPATIENT = Patience(attempts=3, wait_s=0.01, silence_s=60)


def catalogue_file(folder: Path, corpora: dict[str, Any] | None = None) -> Path:
    """A user's own catalogue."""
    file = folder / "own.yaml"
    OmegaConf.save(OmegaConf.create({"corpora": corpora or {}}), file)
    return file


def settings(folder: Path, corpora: dict[str, Any] | None = None, **more: Any) -> DataConfig:
    return DataConfig(cache_dir=str(folder / "cache"), catalogue=str(catalogue_file(folder, corpora)), **more)


def library_of(
    folder: Path, corpora: dict[str, Any] | None = None, patience: Patience = IMPATIENT, **more: Any
) -> Library:
    return replace(Library.of(settings(folder, corpora, **more)), patience=patience)


def publish(server: Server, path: str, content: bytes) -> dict[str, Any]:
    """Put a file on a server; the entry of a catalogue for it."""
    server.files[path] = content
    return {"url": server.url + path, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}
