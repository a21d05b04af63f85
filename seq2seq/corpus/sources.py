"""From the paths that a configuration names to files that exist. `named/` fetches what has another name."""

import difflib
import glob
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import count, takewhile
from pathlib import Path

from seq2seq.config import BUNDLED, CORPUS, DataConfig, SourceFiles, SourcePath, SourceSpec, is_named
from seq2seq.corpus.augmentation import named
from seq2seq.errors import ConfigError, CorpusError, printable
from seq2seq.files import bundled_corpus, expanded

COMPRESSIONS = (".gz", ".xz", ".bz2", ".zst")
# One file with both languages, by the ending of its name.
FORMS = {
    ".tsv": "tsv", ".csv": "csv", ".jsonl": "jsonl", ".tmx": "tmx", ".xlf": "xliff", ".xliff": "xliff", ".po": "po"
}  # fmt: skip


@dataclass(frozen=True)
class Origin:
    """Where text comes from that was fetched by its name."""

    name: str  # as the configuration has it, such as corpus:multi30k/train
    licence: str  # in words; empty: nobody has said


@dataclass(frozen=True)
class Source:
    """Parallel text and how it is read.

    Attributes:
        form: `lines`, two files with one sentence in each line, where line n of one translates line n of the other; or
            one file in one of the `FORMS`.
        paths: the two files, or the one.
        languages: of the source and the target; empty for `lines`.
        columns: of a table, the language of each; `-` skips one.
        references: files with further translations, for valid and test in lines. Line n of each is a translation of
            line n of the source, or blank.
        tag: what kind of text this is; empty: none.
        augmentations: what its text is read in, one after another.
    """

    form: str
    paths: tuple[Path, ...]
    languages: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()
    references: tuple[Path, ...] = ()
    tag: str = ""
    augmentations: tuple[str, ...] = ()
    origin: Origin | None = None

    @property
    def files(self) -> tuple[Path, ...]:
        return self.paths + self.references

    @property
    def layout(self) -> tuple[str, ...]:
        """What decides which pairs are read, besides the bytes of the files."""
        return (self.form, *self.languages, *self.columns)

    def __str__(self) -> str:
        """For people; with escapes in names that are not UTF-8."""
        return printable(" and ".join(map(str, self.files)))


def find_source(config: DataConfig, spec: SourceSpec, *, with_references: bool = False) -> Source:
    """Find the files of a source that a configuration names.

    Args:
        with_references: for a file TGT of targets, also find TGT.1, TGT.2, ...: further references of the same lines.
    Raises:
        CorpusError: files that do not exist. One message names all of them and what was tried.
        ConfigError: `data.tsv_columns` without the two languages, or an unknown augmentation.
    """
    folder = corpus_dir(config)
    augmentations = tuple(augmentation.name for augmentation in named(spec.augmentations))
    source = replace(_find(config, folder, spec), tag=spec.tag or "", augmentations=augmentations)
    if with_references and source.form == "lines":
        return replace(source, references=_references(source.paths[1]))
    return source


def specs_of(words: Sequence[str]) -> list[SourceSpec]:
    """What words of a command line name: each a source, or two of them the aligned files of one.

    Of two words, a plain text and one that names nothing are such files too, so that the latter is told as mistyped.
    """
    are_texts = [Path(word).is_file() and form_of(Path(word)) is None for word in words]
    are_sides = [is_text or _names_nothing(word) for word, is_text in zip(words, are_texts, strict=True)]
    if len(words) == 2 and any(are_texts) and all(are_sides):
        return [SourceFiles(words[0], words[1])]
    return [SourcePath(word) for word in words]


def _names_nothing(word: str) -> bool:
    path = Path(word)
    return not (is_named(word) or form_of(path) or any(path.parent.glob(f"{glob.escape(path.name)}.*")))


def config_of(languages: Sequence[str], config: DataConfig | None = None) -> DataConfig:
    """A configuration with `--languages` of a command: the two languages, or the columns of a table (`-` skips one).

    Raises:
        ConfigError: they are not two languages, or something else in the configuration cannot work.
    """
    named = [language for language in languages if language != "-"]
    if len(named) != 2 or named[0] == named[1]:
        raise ConfigError(f"--languages {' '.join(languages)} does not name two languages, such as: --languages en fr")
    config = replace(config or DataConfig(), src_lang=named[0], tgt_lang=named[1], tsv_columns=list(languages))
    if problems := list(config.problems()):
        raise ConfigError("\n".join(problems))
    return config


def form_of(path: Path) -> str | None:
    """The form of a file with both languages, by its name; None for others."""
    return FORMS.get(without_compression(path).suffix.lower())


def without_compression(path: Path) -> Path:
    """The name of a file without the suffix of its compression."""
    return path.with_suffix("") if compression_of(path) else path


def compression_of(path: Path) -> str:
    """The suffix of a compressed file, in small letters; blank for others."""
    return suffix if (suffix := path.suffix.lower()) in COMPRESSIONS else ""


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
    folder = expanded(config.dir)
    if not folder.is_dir():
        raise CorpusError(f"data.dir={config.dir}: {folder.absolute()} is not a directory; correct data.dir")
    return folder


def _find(config: DataConfig, folder: Path, spec: SourceSpec) -> Source:
    if isinstance(spec, SourceFiles):
        files = [folder / expanded(name) for name in (spec.src, spec.tgt)]
        return Source("lines", _existing(files, or_compressed=False))
    path = folder / expanded(spec.path)
    languages = (config.src_lang, config.tgt_lang)
    if (form := form_of(path)) is None:
        sides = _sides(path, languages) if path.name else [path]
        if path.exists() and not any(map(_present, sides)):
            raise CorpusError(_no_prefix(path))
        return Source("lines", _existing(sides))
    if form in ("tsv", "csv"):
        _check_columns(config)
        return Source(form, _existing([path]), languages, tuple(config.tsv_columns))
    return Source(form, _existing([path]), languages)


def _sides(prefix: Path, languages: tuple[str, str]) -> list[Path]:
    """The files of a prefix: PREFIX.fr; else PREFIX.fr-en.fr, as `corpus split` writes; else PREFIX.en-fr.fr."""
    directions = ("", "." + "-".join(languages), "." + "-".join(languages[::-1]))
    named = [[prefix.with_name(f"{prefix.name}{way}.{each}") for each in languages] for way in directions]
    return next((files for files in named if all(map(_present, files))), named[0])


def _no_prefix(path: Path) -> str:
    if path.is_dir():
        return _missing(path, or_compressed=True)
    return (
        f"{path}: its ending is none of {', '.join(FORMS)}; save it as one of these, or name two files with a sentence "
        "in each line"
    )


def _references(tgt: Path) -> tuple[Path, ...]:
    plain = without_compression(tgt)
    numbered = (_present(plain.with_name(f"{plain.name}.{number}")) for number in count(1))
    return tuple(takewhile(bool, numbered))  # type: ignore[arg-type]


def _present(path: Path, or_compressed: bool = True) -> Path | None:
    """The file of this name, or the first compressed form of it that exists."""
    suffixes = ("", *COMPRESSIONS) if or_compressed else ("",)
    candidates = (path.parent / (path.name + suffix) for suffix in suffixes)
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _existing(wanted: list[Path], or_compressed: bool = True) -> tuple[Path, ...]:
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
    return tuple(found)


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
    return f"found no file {tried}; {hint}. Correct the name, data.dir, or the languages (data.src_lang, data.tgt_lang)"


def _check_columns(config: DataConfig) -> None:
    for key, language in (("src_lang", config.src_lang), ("tgt_lang", config.tgt_lang)):
        if (n := config.tsv_columns.count(language)) != 1:
            raise ConfigError(
                f"data.tsv_columns={config.tsv_columns} has {n} columns of data.{key}={language}; give each column's "
                "language once, and '-' for a column to skip"
            )
