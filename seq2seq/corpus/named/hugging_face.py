"""`hf:NAME/CONFIG@SPLIT`: a translation dataset of the Hugging Face hub, by the library `datasets` (an extra).

The split is `train` if none is named. Each row has a `translation` with the languages, or a column for each language.
"""

import json
from pathlib import Path
from typing import Any

from seq2seq.config import SourcePath
from seq2seq.corpus.named.library import Library
from seq2seq.errors import ConfigError, CorpusError

_FILE = "rows.jsonl"


def fetch(library: Library, name: str, languages: tuple[str, str]) -> SourcePath:
    """A JSONL with the text of a dataset in two languages.

    Raises:
        ConfigError: a name that has not the form.
        CorpusError: `datasets` is not installed, it cannot load the dataset, or the rows have not these languages.
    """
    path, _, split = name.partition("@")
    dataset, _, config = path.rpartition("/")
    if not dataset or not config:
        raise ConfigError(
            f"hf:{name} is not of the form hf:NAME/CONFIG or hf:NAME/CONFIG@SPLIT, such as hf:wmt14/fr-en@test"
        )
    split = split or "train"

    def make(folder: Path) -> None:
        with (folder / _FILE).open("w", encoding="utf-8") as file:
            for number, row in enumerate(_load(library, name, dataset, config, split)):
                text = row.get("translation") or row
                try:
                    pair = {language: " ".join(text[language].splitlines()) for language in sorted(languages)}
                except (KeyError, AttributeError, TypeError) as error:
                    raise CorpusError(
                        f"hf:{name}: row {number} has {', '.join(map(str, text))} and not {' and '.join(languages)}; "
                        "correct data.src_lang and data.tgt_lang, or the config of the dataset"
                    ) from error
                file.write(json.dumps(pair, ensure_ascii=False) + "\n")

    recipe = {"hf": dataset, "config": config, "split": split, "languages": sorted(languages)}
    return SourcePath(str(library.made(f"hf:{name}", recipe, licence(name), make) / _FILE))


def licence(name: str) -> str:
    return f"see https://huggingface.co/datasets/{name.partition('@')[0].rpartition('/')[0]}"


def _load(library: Library, name: str, dataset: str, config: str, split: str) -> Any:
    library.check_online(f"hf:{name}")
    try:
        import datasets
    except ImportError as error:
        raise CorpusError(f"hf:{name} needs the library datasets: pip install 'datasets>=5.2'") from error
    try:
        return datasets.load_dataset(dataset, config, split=split)
    except Exception as error:  # of the hub, of the network, of the dataset's own files: it has no common base
        words = " ".join(str(error).split()) or type(error).__name__
        raise CorpusError(
            f"hf:{name}: datasets cannot load {dataset!r} with the config {config!r} and the split {split!r} "
            f"({words[:300]}); look at {licence(name).removeprefix('see ')}"
        ) from error
