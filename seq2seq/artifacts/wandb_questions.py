"""What a W&B server is asked, in a process of its own:  python -m seq2seq.artifacts.wandb_questions QUESTION ...

    resolve NAME            which version of which model is it?
    fetch NAME FOLDER       download it

The answer is one line of JSON on stdout: `{"error": ...}`, or what was asked for. Whoever asks can end this process at
any moment (artifacts/wandb_access.py): alone, W&B would try again for minutes.
"""

import json
import os
import re
import sys
from typing import Any

import wandb

from seq2seq.artifacts.model_directory import CTRANSLATE2, MODEL_FILES

TYPE = "model"  # of the artifacts that hold a model directory
_TIMEOUT_S = 15
_PLAIN = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.\-]*")


def answer(question: str, *words: str) -> dict[str, Any]:
    api = wandb.Api(timeout=_TIMEOUT_S)  # raises if the server refuses the credentials
    artifact = api.artifact(words[0])
    if artifact.type != TYPE:
        return {"error": "other type", "detail": artifact.type}
    if question == "fetch":
        for name, entry in artifact.manifest.entries.items():
            if entry.ref is not None or not is_model_file(name):
                return {"error": "other files", "detail": str(name)}
        artifact.download(root=words[1], skip_cache=True)
    name = artifact.name.partition(":")[0]
    return {"entity": artifact.entity, "project": artifact.project, "name": name, "version": artifact.version}


def is_model_file(name: str) -> bool:
    """Whether a name can be that of a file in a model directory, and of nothing else."""
    folder, slash, file = name.rpartition("/")
    if not slash:
        return name in MODEL_FILES and name != CTRANSLATE2
    return folder == CTRANSLATE2 and _PLAIN.fullmatch(file) is not None


def answer_or_error(question: str, *words: str) -> dict[str, Any]:
    try:
        return answer(question, *words)
    except Exception as error:  # many kinds, which whoever asks makes a sentence of
        return {"error": type(error).__name__, "detail": str(error)}


def main() -> None:
    print(json.dumps(answer_or_error(*sys.argv[1:])), flush=True)
    os._exit(0)  # W&B would take its time to end; whoever asked ends what it has started


if __name__ == "__main__":
    main()
