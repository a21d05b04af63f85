"""Upload a directory to the Hugging Face hub, or to a server with its protocol (`HF_ENDPOINT`)."""

import shlex
from pathlib import Path

from seq2seq.errors import ConfigError


def check_push(name: str) -> None:
    """Refuse, before any work, what cannot be uploaded.

    Raises:
        ConfigError: the package is not installed, no such name can be, or nobody is logged in.
    """
    try:
        from huggingface_hub import get_token
        from huggingface_hub.errors import HFValidationError
        from huggingface_hub.utils import validate_repo_id  # type: ignore[attr-defined]
    except ImportError as error:
        raise ConfigError("--push needs huggingface_hub; run, in a clone of seq2seq: pip install -e '.[hf]'") from error
    try:
        validate_repo_id(name)
    except HFValidationError as error:
        raise ConfigError(f"--push {name}: is no name of a repository of the hub; give it as OWNER/NAME") from error
    if get_token() is None:
        raise ConfigError(f"--push {name}: there is no token of the hub; run hf auth login, or set HF_TOKEN")


def push(directory: Path, name: str) -> str:
    """Upload all files in one commit, into a repository that is made if there is none. Returns its address.

    Raises:
        ConfigError: the hub refused it, or cannot be reached; the directory stays.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import HfHubHTTPError

    api = HfApi()
    try:
        address = api.create_repo(name, exist_ok=True)
        api.upload_folder(repo_id=name, folder_path=directory, commit_message="Upload a model trained with seq2seq")
    except HfHubHTTPError as error:
        reason = error.server_message or f"status {error.response.status_code}"
    except Exception as error:  # also of its HTTP client, which is another package in another version
        reason = str(error) or type(error).__name__
    else:
        return str(address)
    raise ConfigError(
        f"{directory} is written, but could not be uploaded to {api.endpoint}/{name} ({' '.join(reason.split())}); try "
        f"again with: {shlex.join(['hf', 'upload', name, str(directory)])}"
    )
