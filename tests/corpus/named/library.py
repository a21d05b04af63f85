"""Libraries whose addresses all lead to a server of the tests."""

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


def catalogue_file(folder: Path, server: Server, corpora: dict[str, Any] | None = None) -> Path:
    """A user's own catalogue: its corpora, and this server instead of all others."""
    file = folder / "own.yaml"
    rewrite = {"https://": f"{server.url}/https/", "http://": f"{server.url}/http/"}
    OmegaConf.save(OmegaConf.create({"corpora": corpora or {}, "rewrite": rewrite}), file)
    return file


def settings(folder: Path, server: Server, corpora: dict[str, Any] | None = None, **more: Any) -> DataConfig:
    return DataConfig(cache_dir=str(folder / "cache"), catalogue=str(catalogue_file(folder, server, corpora)), **more)


def library_of(
    folder: Path, server: Server, corpora: dict[str, Any] | None = None, patience: Patience = IMPATIENT, **more: Any
) -> Library:
    return replace(Library.of(settings(folder, server, corpora, **more)), patience=patience)


def publish(server: Server, url: str, content: bytes) -> dict[str, Any]:
    """Put a file where the rewritten address leads; the entry of a catalogue for it."""
    server.files["/" + url.replace("://", "/")] = content
    return {"url": url, "size": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def path_of(url: str) -> str:
    return "/" + url.replace("://", "/")
