"""Ask a W&B server, and get a model from it:  wandb:ENTITY/PROJECT/NAME:ALIAS

A model is downloaded once, into the cache:

    CACHE/wandb/HOST/ENTITY/PROJECT/NAME/vN/    a model directory (artifacts/model_directory.py)

It is checked before it gets its name there: nothing but the files of a model directory, each as its checksum says.
A version that is in the cache needs no network.
"""

import contextlib
import json
import netrc
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from seq2seq.artifacts.model_directory import is_model_directory, read_model_directory
from seq2seq.config import LoggerConfig
from seq2seq.errors import CheckpointError, ConfigError
from seq2seq.exit_status import for_children, note
from seq2seq.files import atomic_directory, cache_directory

if TYPE_CHECKING:  # wandb is imported when it is used
    import wandb

PREFIX = "wandb:"
ANSWER_TIMEOUT_S = 20.0
STALL_TIMEOUT_S = 60.0  # for a download of which nothing more comes
FINISH_TIMEOUT_S = 600.0  # for what a run has not uploaded at its end; W&B alone would wait for days
_FORMER_HOST = "api.wandb.ai"  # of W&B's own service; credentials for it still count there
_POLL_S = 0.05
_PART = r"[A-Za-z0-9_][A-Za-z0-9_.\-]*"
_REFERENCE = re.compile(rf"wandb:(?:({_PART})/)?({_PART})/({_PART}):({_PART})")
_FORM = "wandb:ENTITY/PROJECT/NAME:ALIAS"


def server_url() -> str:
    if url := os.environ.get("WANDB_BASE_URL"):
        return url
    _prepare_wandb()
    import wandb  # half a second

    return wandb.Settings().base_url


def _host() -> str:
    return server_url().split("//")[-1].split("/")[0]


def has_credentials() -> bool:
    """Whether W&B would find an API key, or what stands for one, without asking anybody."""
    if os.environ.get("WANDB_API_KEY") or os.environ.get("WANDB_IDENTITY_TOKEN_FILE"):
        return True
    try:
        entries = netrc.netrc(os.environ.get("NETRC"))
    except (OSError, netrc.NetrcParseError):
        return False
    hosts = [_host()] if os.environ.get("WANDB_BASE_URL") else [_host(), _FORMER_HOST]
    return any((found := entries.authenticators(host)) and found[2] for host in hosts)


def wandb_project(config: LoggerConfig) -> str:
    """A key beats the environment, which beats our default."""
    return config.wandb_project or os.environ.get("WANDB_PROJECT") or "seq2seq"


def wandb_group(config: LoggerConfig, default: str) -> str:
    """Likewise; `default` is the name of the experiment or of the sweep."""
    return config.wandb_group or os.environ.get("WANDB_RUN_GROUP") or default


def wandb_mode(config: LoggerConfig) -> str:
    """`online`, `offline` or `disabled`: what the key says, else the environment. Online needs credentials.

    Raises:
        ConfigError: the environment says something that W&B does not know.
        ModuleNotFoundError: a run would be recorded, and the package is missing.
    """
    named = (os.environ.get("WANDB_MODE") or "online").replace("dryrun", "offline")  # its former name
    mode = config.wandb_mode
    if mode == "auto":
        is_disabled = os.environ.get("WANDB_DISABLED", "").lower() in ("true", "1", "yes")
        mode = "disabled" if is_disabled else named
    if mode == "disabled":
        return mode
    if named not in ("online", "offline", "disabled"):  # W&B refuses it, even if it is told a mode
        raise ConfigError(f"the environment variable WANDB_MODE={named} is not online, offline or disabled; unset it")
    _prepare_wandb()
    return "offline" if mode == "online" and not has_credentials() else mode  # W&B would ask for a key


def _prepare_wandb() -> None:
    """See that the package can be imported, and that it can read its environment.

    Raises:
        ModuleNotFoundError: it is not installed. To Python, a folder ./wandb that it once wrote is a package, too.
    """
    spec = find_spec("wandb")
    if spec is None or spec.origin is None:
        raise ModuleNotFoundError("No module named 'wandb'", name="wandb")
    for name in [name for name, value in os.environ.items() if name.startswith("WANDB_") and not value]:
        del os.environ[name]  # W&B refuses an empty one, which is how some shells and batch systems unset it


def wandb_settings(is_online: bool) -> "wandb.Settings":
    """A run that says nothing, and waits for nothing longer than it must."""
    import wandb

    return wandb.Settings(
        mode="online" if is_online else "offline",
        console="off",
        silent=True,
        reinit="create_new",  # one that failed is not taken for the next one
        init_timeout=ANSWER_TIMEOUT_S,
        finish_timeout=FINISH_TIMEOUT_S,
        finish_timeout_raises=True,
    )


def is_reference(path: str | Path) -> bool:
    return str(path).startswith(PREFIX)


def pinned(reference: str, tell: Callable[[str], None] = note) -> str:
    """The same reference with the owner and the number of the version, whose model is in the cache then.

    Raises:
        CheckpointError: as `local_model`.
    """
    folder = local_model(reference, tell)
    entity, project, name, version = folder.parts[-4:]
    return f"{PREFIX}{entity}/{project}/{name}:{version}"


def local_model(reference: str, tell: Callable[[str], None] = note) -> Path:
    """The model directory that a reference names, downloaded if it is not in the cache.

    Args:
        tell: is told what was done.
    Raises:
        CheckpointError: it is no reference, there is no such model, it is damaged, or the server cannot be asked.
    """
    match = _REFERENCE.fullmatch(reference)
    if not match:
        raise CheckpointError(f"{reference}: does not name a model of W&B; write {_FORM}, such as wandb:ann/demo/m:v3")
    entity, project, name, alias = match.groups()
    if entity and re.fullmatch(r"v\d+", alias) and (folder := _folder(entity, project, name, alias)).is_dir():
        return folder
    _prepare_wandb()
    if not has_credentials():
        raise CheckpointError(
            f"{reference}: needs credentials of W&B for {_host()}; run wandb login, or set WANDB_API_KEY"
        )
    found = _answer(reference, "resolve", timeout_s=ANSWER_TIMEOUT_S)
    named = [str(found[key]) for key in ("entity", "project", "name", "version")]
    if not all(re.fullmatch(_PART, part) for part in named):  # they become a path
        raise CheckpointError(f"{reference}: the server calls it {'/'.join(named)!r}; give the model another name")
    folder = _folder(*named)
    exact = f"{PREFIX}{'/'.join(named[:3])}:{named[3]}"
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with FileLock(folder.with_name(f"{folder.name}.lock")):
            if folder.is_dir():
                tell(f"{exact} is in the cache: {folder}")
                return folder
            started = time.monotonic()
            with atomic_directory(folder) as building:
                _answer(exact, "fetch", str(building), timeout_s=STALL_TIMEOUT_S)
                if not is_model_directory(building):
                    raise CheckpointError(f"{exact}: holds no model directory of seq2seq; name another artifact")
                try:
                    read_model_directory(building)
                except CheckpointError as error:
                    reason = str(error).replace(f"{building}/", "")
                    raise CheckpointError(f"{exact}: what was uploaded there is not whole: {reason}") from error
                n_bytes = _size(building)
    except OSError as error:
        raise CheckpointError(
            f"{exact}: cannot be kept at {folder} ({error.strerror or error}); make room, or set SEQ2SEQ_CACHE to "
            "another directory"
        ) from error
    tell(f"downloaded {exact} ({n_bytes / 1e6:.1f} MB, {time.monotonic() - started:.0f} s) to {folder}")
    return folder


def _folder(entity: str, project: str, name: str, version: str) -> Path:
    host = re.sub(r"[^A-Za-z0-9.\-]", "_", _host())
    return cache_directory() / "wandb" / host / entity / project / name / version


def _answer(reference: str, question: str, *words: str, timeout_s: float) -> dict[str, Any]:
    """What the server says of a model.

    Raises:
        CheckpointError: an error of any kind, as a sentence.
    """
    found = _ask(question, reference.removeprefix(PREFIX), *words, timeout_s=timeout_s)
    if "error" in found:
        raise CheckpointError(f"{reference}: {_reason(found, question)}")
    return found


def _reason(found: dict[str, Any], question: str) -> str:
    """An error as a sentence with its remedy."""
    error, detail = str(found["error"]), " ".join(str(found.get("detail", "")).split())
    if error == "timeout" and question == "fetch":
        return f"nothing more came from {_host()} for {STALL_TIMEOUT_S:.0f} seconds; try again later"
    if error == "timeout" or "did not respond in time" in detail or "timed out" in detail:
        return f"{server_url()} did not answer in time; check the network and WANDB_BASE_URL, or try again later"
    if error == "other type":
        return f"is an artifact of type {detail}, not a model; name another one"
    if error == "other files":
        return f"has {detail!r}, which is no file of a model directory, so nothing was downloaded; name another one"
    if "not found" in detail or "does not exist" in detail:
        return f"{_host()} has no such artifact, or you may not see it; look at its page for the full name"
    if error == "AuthenticationError":
        return f"{server_url()} refuses the credentials ({detail[:200]}); run wandb login --relogin"
    return f"W&B failed ({error}: {detail[:200]}); try again later"


def _ask(question: str, *words: str, timeout_s: float) -> dict[str, Any]:
    """Ask in a process of its own, which is ended when nothing comes for so long.

    Args:
        words: the last one of a download is its folder, whose growth counts as a sign of life.
    """
    folder = Path(words[1]) if question == "fetch" else None
    process = subprocess.Popen(
        [sys.executable, "-m", "seq2seq.artifacts.wandb_questions", question, *words],
        env=_environment() | for_children() | {"WANDB_SILENT": "true", "WANDB_DIR": tempfile.gettempdir()},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    size, alive = 0, time.monotonic()
    try:
        while process.poll() is None:
            if folder and (now := _size(folder)) != size:
                size, alive = now, time.monotonic()
            if time.monotonic() - alive > timeout_s:
                return {"error": "timeout"}
            time.sleep(_POLL_S)
        assert process.stdout is not None
        lines = process.stdout.read().decode(errors="replace").splitlines()
        found: dict[str, Any] = json.loads(lines[-1]) if lines else {"error": "no answer"}
        return found
    except ValueError:
        return {"error": "no answer"}
    finally:
        with contextlib.suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, signal.SIGKILL)  # and all that it has started
        process.wait()
        if process.stdout is not None:
            process.stdout.close()


def _environment() -> dict[str, str]:
    """The environment for a process that asks W&B's server.

    Without `WANDB_MODE`, which is about runs: offline, W&B would refuse. Without `WANDB_SERVICE`, by which it would
    share the service of a run here, and hang with it.
    """
    return {name: value for name, value in os.environ.items() if name not in ("WANDB_MODE", "WANDB_SERVICE")}


def _size(folder: Path) -> int:
    """Bytes of all files in a folder, some of which may just go."""
    total = 0
    for file in folder.rglob("*"):
        with contextlib.suppress(OSError):
            total += file.stat().st_size
    return total
