"""`sacrebleu:NAME`: the test sets that sacreBLEU knows, with all their references.

sacreBLEU says where a set is published, and makes plain lines of it. The download is ours, which resumes and tries
again; sacreBLEU's own ends the process on an error.
"""

import copy
import shutil
from pathlib import Path

from seq2seq.config import SourceFiles
from seq2seq.corpus.named.catalogue import Download, nearest
from seq2seq.corpus.named.library import Library
from seq2seq.corpus.named.unpack import unpack
from seq2seq.errors import ConfigError, CorpusError

LICENCE = "see the organisers of the task"
_ARCHIVES = (".tgz", ".tar.gz", ".zip")


def names_for(languages: tuple[str, str]) -> dict[str, str]:
    """The sets of one direction: name and description."""
    from sacrebleu.dataset import DATASETS

    direction = "-".join(languages)
    return {name: each.description or "" for name, each in DATASETS.items() if direction in each.langpairs}


def fetch(library: Library, name: str, languages: tuple[str, str], corpus: str = "") -> SourceFiles:
    """The files of a set in one direction: NAME.src-tgt.src, NAME.src-tgt.tgt, and further references beside it.

    Args:
        corpus: the name that it is fetched for, if that is another one.
    Raises:
        ConfigError: sacreBLEU has no such set, or not in this direction.
        CorpusError: it cannot be fetched, or is not what sacreBLEU expects.
    """
    from sacrebleu import __version__
    from sacrebleu.dataset import DATASETS

    if name not in DATASETS:
        raise ConfigError(
            f"sacrebleu:{name}: sacreBLEU {__version__} has no such test set{nearest(name, DATASETS)}; "
            "`python -m seq2seq corpus find` lists those of your languages"
        )
    direction = "-".join(languages)
    dataset = copy.copy(DATASETS[name])
    if direction not in dataset.langpairs:
        raise ConfigError(
            f"sacrebleu:{name}: has no direction {direction}, but {', '.join(sorted(dataset.langpairs))}; correct "
            "data.src_lang and data.tgt_lang"
        )
    urls = dataset.data or []
    md5 = dataset.md5 or [""] * len(urls)
    downloads = [Download(url, md5=digest or "") for url, digest in zip(urls, md5, strict=False)]
    flat = name.replace("/", "-")
    src_file, tgt_file = (f"{flat}.{direction}.{language}" for language in languages)

    def make(folder: Path) -> None:
        raw = folder / "raw"
        raw.mkdir()
        archives = [library.download(each, corpus or f"sacrebleu:{name}") for each in downloads]
        for each, archive in zip(downloads, archives, strict=True):
            if each.file_name.endswith(_ARCHIVES):
                unpack(archive, raw)
            else:
                (raw / dataset._get_tarball_filename(each.url)).symlink_to(archive)
        dataset.data = []  # nothing is left to download
        dataset._outdir, dataset._rawdir = str(folder), str(raw)
        try:
            files = [dataset.get_source_file(direction), *dataset.get_reference_files(direction)]
        except Exception as error:  # sacreBLEU raises whatever the content makes its parser raise
            raise CorpusError(
                f"sacrebleu:{name}: sacreBLEU cannot read what was downloaded ({error}); remove "
                f"{', '.join(map(str, archives))}, and try again"
            ) from error
        targets = [src_file, tgt_file, *(f"{tgt_file}.{number}" for number in range(1, len(files) - 1))]
        for file, target in zip(files, targets, strict=True):
            Path(file).rename(folder / target)
        shutil.rmtree(raw)
        for path in folder.iterdir():  # other languages
            if path.name not in targets:
                path.unlink()

    recipe = {"sacrebleu": name, "direction": direction, "md5": md5, "version": __version__}
    folder = library.made(corpus or f"sacrebleu:{name}", recipe, LICENCE, make)
    return SourceFiles(str(folder / src_file), str(folder / tgt_file))
