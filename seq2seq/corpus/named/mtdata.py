"""`mtdata:ID`: a dataset of the index of mtdata, by its command, such as mtdata:Statmt-europarl-10-fra-eng.

mtdata pins versions of other packages, so it is a program in an environment of its own, and not a library of this one.
The last two parts of an ID are the languages, in the order of its columns.
"""

import re
import shutil
import subprocess
from pathlib import Path

from seq2seq.config import SourceFiles
from seq2seq.corpus.named.library import Library
from seq2seq.errors import ConfigError, CorpusError

_ID = re.compile(r"[\w.]+(?:-[\w.]+)+-(\w+)-(\w+)")
INSTALL = "pipx install mtdata (an environment of its own: it pins other packages)"
# Of the languages of WMT; mtdata wants ISO 639-3, and takes most codes of two letters for itself.
_THREE_LETTERS = {
    "ar": "ara", "cs": "ces", "de": "deu", "en": "eng", "es": "spa", "et": "est", "fi": "fin", "fr": "fra", "gu": "guj",
    "he": "heb", "hi": "hin", "hu": "hun", "is": "isl", "it": "ita", "ja": "jpn", "kk": "kaz", "ko": "kor", "lt": "lit",
    "lv": "lav", "nl": "nld", "pl": "pol", "ps": "pus", "pt": "por", "ro": "ron", "ru": "rus", "sv": "swe", "tr": "tur",
    "uk": "ukr", "vi": "vie", "zh": "zho",
}  # fmt: skip


def fetch(library: Library, name: str, languages: tuple[str, str]) -> SourceFiles:
    """The text of a dataset in two languages.

    Raises:
        ConfigError: an ID that has not the form, or other languages.
        CorpusError: mtdata is not installed, or cannot give the dataset.
    """
    if not (found := _ID.fullmatch(name)):
        raise ConfigError(
            f"mtdata:{name} is not an ID of mtdata, such as Statmt-europarl-10-fra-eng; `python -m seq2seq corpus find "
            f"--languages {' '.join(languages)}` lists them where mtdata is installed"
        )
    columns = found.groups()
    try:
        order = [columns.index(_code(language, columns)) for language in languages]
    except ValueError as error:
        raise ConfigError(
            f"mtdata:{name} has the languages {' and '.join(columns)}, and the run has {' and '.join(languages)}; "
            "correct data.src_lang and data.tgt_lang"
        ) from error

    def make(folder: Path) -> None:
        library.check_online(f"mtdata:{name}")
        _write(name, [folder / f"text.{column}" for column in columns])

    folder = library.made(f"mtdata:{name}", {"mtdata": name}, licence(name), make)
    src, tgt = (str(folder / f"text.{columns[index]}") for index in order)
    return SourceFiles(src, tgt)


def licence(name: str) -> str:
    return "see `mtdata list --full`"


def ids_for(languages: tuple[str, str]) -> list[tuple[str, str]]:
    """The datasets of two languages: ID and address; none where mtdata is not installed."""
    program = shutil.which("mtdata")
    if program is None:
        return []
    pair = "-".join(_THREE_LETTERS.get(language, language) for language in languages)
    done = subprocess.run([program, "list", "-l", pair], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    rows = [line.split("\t") for line in done.stdout.splitlines()]
    return [(row[0], row[1]) for row in rows if len(row) > 1 and _ID.fullmatch(row[0])]


def _code(language: str, columns: tuple[str, ...]) -> str:
    return language if language in columns else _THREE_LETTERS.get(language, language)


def _write(name: str, files: list[Path]) -> None:
    """Write what `mtdata echo` prints: a line for each pair, with a tab between the languages."""
    program = shutil.which("mtdata")
    if program is None:
        raise CorpusError(f"mtdata:{name} needs the program mtdata; install it with: {INSTALL}")
    command = [program, "-no-pb", "echo", name]
    src_file, tgt_file = files
    log = src_file.with_name("mtdata.log")
    with (
        log.open("w+", encoding="utf-8", errors="replace") as messages,
        src_file.open("wb") as src,
        tgt_file.open("wb") as tgt,
        subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=messages) as process,
    ):
        assert process.stdout is not None
        n_lines = 0
        for n_lines, line in enumerate(process.stdout, start=1):
            fields = line.rstrip(b"\r\n").split(b"\t")
            if len(fields) < 2:
                process.kill()
                raise CorpusError(f"mtdata:{name}: pair {n_lines:,} has one side only; mtdata cannot read this dataset")
            src.write(fields[0] + b"\n")
            tgt.write(fields[1] + b"\n")
        status = process.wait()
        messages.seek(0)
        said = [line.strip() for line in messages if line.strip()]
    log.unlink()
    if status or not n_lines:
        reason = said[-1][:300] if said else "without a word"
        raise CorpusError(
            f"mtdata:{name}: `{' '.join(['mtdata', *command[1:]])}` ended with {status} after {n_lines:,} pairs "
            f"({reason}); `mtdata list` has the IDs, and 0.5.1 is the version that was tried"
        )
