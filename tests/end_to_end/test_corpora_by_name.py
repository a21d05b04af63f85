"""An experiment on a fresh machine: its text comes by itself, once, and the run goes on wherever the text lies."""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

from seq2seq import cli
from seq2seq.artifacts.model_card import model_card
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.config import RunConfig
from tests.corpus.named.library import catalogue_file, publish
from tests.corpus.named.server import cut_after, serving, status
from tests.training.tiny_runs import TINY, command, reversed_pairs, train_here
from tests.training.two_ranks import at_a_free_port, launcher

pytestmark = [pytest.mark.slow, pytest.mark.usefixtures("own_signals")]

SPLITS = {"train": 200, "val": 9, "test_2016_flickr": 7}


def text(n: int, language: str) -> bytes:
    sides = zip(*reversed_pairs(n, seed=n), strict=True)
    return "".join(f"{line}\n" for line in dict(zip(("fr", "en"), sides, strict=True))[language]).encode()


def words(folder: Path, **changes: Any) -> list[str]:
    small = {name: value for name, value in TINY.items() if name not in ("data.name", "trainer.max_epochs")}
    keys = small | {"data.cache_dir": folder / "cache", "run_dir": folder / "run", "trainer.max_steps": 2}
    keys |= {name.replace("__", "."): value for name, value in changes.items()}
    return ["experiment=multi30k_tiny", "logger=csv", *(f"{name}={value}" for name, value in keys.items())]


def test_a_run_fetches_its_text_once_and_resumes_with_the_same_text_elsewhere(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    with serving() as server:
        parts: dict[str, Any] = {}
        for split, n in SPLITS.items():
            part = f"{split}.lc.norm.tok"
            for language in ("en", "fr"):
                content = gzip.compress(text(n, language), mtime=0)
                name = f"{part}.{language}.gz"
                parts.setdefault(part, {})[language] = publish(server, f"/{name}", content)
                (tmp_path / "elsewhere" / name).write_bytes(content)
        own = catalogue_file(tmp_path, {"multi30k": {"licence": "free for all", "parts": parts}})
        train, valid = (f"/{name}.lc.norm.tok.fr.gz" for name in ("train", "val"))
        server.faults[train], server.faults[valid] = [cut_after(500)], [status(503)]
        env = {"SEQ2SEQ_CATALOGUE": str(own), **at_a_free_port()}
        done = command(*words(tmp_path, trainer__devices=2), script=launcher(tmp_path), env=env)
        assert done.returncode == 0, done.stderr
        assert set(server.asked.values()) == {1, 2}  # one process of two fetches, and only what failed a second time
        assert {path for path, n in server.asked.items() if n == 2} == {train, valid}
        assert server.ranges[train] == ["", "bytes=500-"]
    assert "from corpus:multi30k/train.lc.norm.tok (licence: free for all)" in done.stderr
    noted = json.loads((tmp_path / "run/provenance.json").read_text())["data_report"]["splits"]
    assert noted["valid"]["origins"] == [{"name": "corpus:multi30k/val.lc.norm.tok", "licence": "free for all"}]
    card = model_card(RunConfig(), 10, 300, [], RunDirectory(tmp_path / "run"))
    assert "\n- text: corpus:multi30k/train.lc.norm.tok (licence: free for all)\n" in card and "/val" not in card
    monkeypatch.setenv("SEQ2SEQ_OFFLINE", "1")
    done = train_here(
        f"resume={tmp_path / 'run'}", f"data.dir={tmp_path / 'elsewhere'}", f"data.cache_dir={tmp_path / 'other'}",
        "trainer.max_steps=3", "trainer.devices=1",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


def test_no_secret_of_an_address_is_kept_or_shown(tmp_path: Path) -> None:
    """The run goes on from its cached text. Without that, it needs the addresses again, with whatever secret."""
    secrets = ["S3cret", "t@il", "T0k3n", "51gnature", "fr0m-the-env"]
    run, env = tmp_path / "run", {"MY_SECRET": "fr0m-the-env"}
    with serving() as server:
        for language in ("fr", "en"):
            server.files[f"/train.{language}"] = text(200, language)
            server.files[f"/valid.{language}?x=1&token=T0k3n"] = text(9, language)
        pairs = zip(text(7, "fr").splitlines(), text(7, "en").splitlines(), strict=True)
        news = "/fr0m-the-env/news.tsv?X-Amz-Signature=51gnature"
        server.files[news] = b"".join(b"%s\t%s\n" % pair for pair in pairs)
        addresses = [
            f"data.train={server.url.replace('://', '://ann:S3cret@t@il@')}/train",
            f"data.valid={server.url}/valid?x=1&token=T0k3n",
            f"data.test={{news: '{server.url}{news.replace('fr0m-the-env', '${oc.env:MY_SECRET}')}'}}",
        ]
        keys = [word for word in words(tmp_path, seed=5) if not word.startswith("experiment")]
        trackers = ["logger=all", "logger.wandb=true", "logger.wandb_mode=offline", "logger.upload_model=true"]
        elsewhere = [f"data.cache_dir={tmp_path / 'elsewhere'}", "trainer.max_steps=4"]
        told = ""
        for status, command_words in [
            (0, ["data=files", *addresses, *keys, *trackers]),
            (0, [f"resume={run}", "trainer.max_steps=3"]),
            (2, [f"resume={run}", *elsewhere]),
            (0, [f"resume={run}", *elsewhere, *addresses]),
        ]:
            done = command(*command_words, env=env)
            assert done.returncode == status, done.stderr
            told += done.stderr
        assert set(server.asked.values()) == {2}  # by the first command and by the last one
    lines = [line for line in told.splitlines() if "*** stands for a secret that was not kept" in line]
    assert [line.partition(": http")[0] for line in lines] == ["error: data.train", "data.valid", "data.test.news"]
    assert "no downloads of this address; give the key its whole address again" in lines[0]

    cli.main(["export", str(run), "--output", str(tmp_path / "model"), "--format", "safetensors"])
    found = [file for file in tmp_path.rglob("*") if file.is_file()]
    kept = ["config.yaml", "provenance.json", "summary.txt", "report.html", "last.ckpt", "download.json"]
    assert {*kept, "README.md", "config.json"} <= {file.name for file in found}
    assert {".wandb", ".0"} <= {file.suffix for file in found}  # those of W&B and TensorBoard
    for secret in secrets:
        assert not [file for file in found if secret in str(file) or secret.encode() in file.read_bytes()]
        assert secret not in told


def test_without_a_network_a_run_ends_with_one_sentence_for_each_text(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SEQ2SEQ_OFFLINE", "1")
    done = train_here(*words(tmp_path))
    assert done.returncode == 2 and "Traceback" not in done.stderr
    told = [line for line in done.stderr.splitlines() if "python -m seq2seq corpus get multi30k" in line]
    assert [line.partition(": multi30k")[0] for line in told] == [
        "error: data.train", "data.valid", "data.test.test_2016_flickr",
    ]  # fmt: skip
    assert not (tmp_path / "run").exists()
