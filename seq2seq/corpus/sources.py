"""From the paths that a configuration names to files that exist. `named/` fetches what has another name."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from pathlib import Path

from seq2seq.config import BUNDLED, CORPUS, DataConfig, SourceFiles, SourceSpec
from seq2seq.corpus.augmentation import named
from seq2seq.errors import ConfigError, CorpusError
from seq2seq.files import bundled_corpus

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")


@dataclass(frozen=True)
class Origin:
    """Where text comes from that was fetched by its name."""

    name: str  # as the configuration has it, such as corpus:multi30k/train
    licence: str  # in words; empty: nobody has said


@dataclass(frozen=True)
class PairedFiles:
    """Two files with one sentence in each line. Line n of one translates line n of the other.

    Valid and test can have `references`, files with further translations. Line n of each is a translation of line n of
    `src`, or blank.
    """

    src: Path
    tgt: Path
    references: tuple[Path, ...] = ()
    tag: str = ""  # what kind of text this is; empty: none
    augmentations: tuple[str, ...] = ()  # what its text is read in, one after another
    origin: Origin | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.src, self.tgt, *self.references)

    @property
    def layout(self) -> tuple[str | int, ...]:
        """What decides which pairs are read, besides the bytes of the files."""
        return ("lines",)


@dataclass(frozen=True)
class TsvFile:
    """One file with `n_columns` tab-separated fields in each line. The first column is 0."""

    path: Path
    src_column: int
    tgt_column: int
    n_columns: int
    tag: str = ""
    augmentations: tuple[str, ...] = ()
    origin: Origin | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def layout(self) -> tuple[str | int, ...]:
        return ("tsv", self.src_column, self.tgt_column, self.n_columns)


@dataclass(frozen=True)
class JsonlFile:
    """One file with a JSON object in each line. Its keys are language codes, possibly inside `translation`."""

    path: Path
    src_key: str
    tgt_key: str
    tag: str = ""
    augmentations: tuple[str, ...] = ()
    origin: Origin | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return (self.path,)

    @property
    def layout(self) -> tuple[str | int, ...]:
        return ("jsonl", self.src_key, self.tgt_key)


Source = PairedFiles | TsvFile | JsonlFile


def find_sources(config: DataConfig, specs: Sequence[SourceSpec], *, with_references: bool = False) -> list[Source]:
    """Find the files of each source that a configuration names.

    Args:
        with_references: for a file TGT of targets, also find TGT.1, TGT.2, ...: further references of the same lines.
    Raises:
        CorpusError: files that do not exist. One message names all of them and what was tried.
        ConfigError: `data.tsv_columns` without the two languages, or an unknown augmentation.
    """
    folder = corpus_dir(config)
    sources: list[Source] = []
    problems: list[str] = []
    for spec in specs:
        try:
            augmentations = tuple(augmentation.name for augmentation in named(spec.augmentations))
            source = replace(_find(config, folder, spec), tag=spec.tag or "", augmentations=augmentations)
            if with_references and isinstance(source, PairedFiles):
                source = replace(source, references=_references(source.tgt))
            sources.append(source)
        except CorpusError as error:
            problems.append(str(error))
    if problems:
        raise CorpusError("\n".join(problems))
    return sources


def without_compression(path: Path) -> Path:
    """The name of a file without the suffix of its compression."""
    return path.with_suffix("") if path.suffix in COMPRESSIONS else path


def corpus_dir(config: DataConfig) -> Path:
    """The directory where relative sources start. Of names there is none, and paths among them start here.

    Raises:
        CorpusError: it does not exist.
    """
    if config.dir.startswith(BUNDLED):
        folder = bundled_corpus(config.dir.removeprefix(BUNDLED))
        if not folder.is_dir():
            shipped = sorted(path.name for path in folder.parent.glob("*/")) if folder.parent.is_dir() else []
            raise CorpusError(
                f"data.dir={config.dir}: no such corpus ships with the project; "
                f"choose one of {', '.join(shipped) or '(none)'} or give a directory"
            )
        return folder
    if config.dir.startswith(CORPUS):
        return Path()
    folder = Path(config.dir).expanduser()
    if not folder.is_dir():
        raise CorpusError(f"data.dir={config.dir}: {folder.absolute()} is not a directory; correct data.dir")
    return folder


def _find(config: DataConfig, folder: Path, spec: SourceSpec) -> Source:
    if isinstance(spec, SourceFiles):
        files = [folder / Path(name).expanduser() for name in (spec.src, spec.tgt)]
        src, tgt = _existing(files, or_compressed=False)
        return PairedFiles(src, tgt)
    path = folder / Path(spec.path).expanduser()
    kind = without_compression(path).suffix
    if kind == ".tsv":
        src_column, tgt_column = _columns(config)
        return TsvFile(_existing([path])[0], src_column, tgt_column, len(config.tsv_columns))
    if kind == ".jsonl":
        return JsonlFile(_existing([path])[0], config.src_lang, config.tgt_lang)
    sides = [path.with_name(f"{path.name}.{language}") for language in (config.src_lang, config.tgt_lang)]
    src, tgt = _existing(sides)
    return PairedFiles(src, tgt)


def _references(tgt: Path) -> tuple[Path, ...]:
    plain = without_compression(tgt)
    numbered = (_present(plain.with_name(f"{plain.name}.{number}")) for number in count(1))
    return tuple(takewhile(bool, numbered))  # type: ignore[arg-type]


def _present(path: Path, or_compressed: bool = True) -> Path | None:
    """The file of this name, or the first compressed form of it that exists."""
    suffixes = ("", *COMPRESSIONS) if or_compressed else ("",)
    candidates = (path.with_name(path.name + suffix) for suffix in suffixes)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _existing(wanted: list[Path], or_compressed: bool = True) -> list[Path]:
    """The file of each wanted path."""
    found: list[Path] = []
    problems: list[str] = []
    for path in wanted:
        file = _present(path, or_compressed)
        if file is not None:
            found.append(file)
        else:
            problems.append(_missing(path, or_compressed))
    if problems:
        raise CorpusError("\n".join(problems))
    return found


def _missing(path: Path, or_compressed: bool) -> str:
    tried = f"{path}" + (f" (nor with {', '.join(COMPRESSIONS)} appended)" if or_compressed else "")
    if path.is_dir():
        return f"{path} is a directory, not a file; name the files inside it"
    if not path.parent.is_dir():
        return f"found no file {tried}: there is no directory {path.parent}; correct data.dir or the source"
    present = [file.name for file in sorted(path.parent.iterdir()) if file.is_file()]
    stem = path.name.split(".")[0]
    close = difflib.get_close_matches(path.name, present, n=6, cutoff=0.5)
    similar = list(dict.fromkeys([name for name in present if name.startswith(stem)] + close))
    hint = f"similar files there: {', '.join(similar[:6])}" if similar else "nothing there has a similar name"
    return f"found no file {tried}; {hint}. Correct data.dir, the source, or data.src_lang and data.tgt_lang"


def _columns(config: DataConfig) -> tuple[int, int]:
    """The columns of the source and the target language in `data.tsv_columns`."""
    named = [column for column in config.tsv_columns if column not in ("", "-")]
    for key, language in (("src_lang", config.src_lang), ("tgt_lang", config.tgt_lang)):
        if named.count(language) != 1:
            raise ConfigError(
                f"data.tsv_columns={config.tsv_columns} has {named.count(language)} columns of "
                f"data.{key}={language}; give each column's language once, and '-' for a column to skip"
            )
    return config.tsv_columns.index(config.src_lang), config.tsv_columns.index(config.tgt_lang)
