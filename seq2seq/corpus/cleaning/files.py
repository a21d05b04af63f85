"""Files in, clean files and a report out, in one pass. With scores of models there is a pass more before.

PREFIX.{fr,en}     the pairs that stay, in their order
REJECTED           JSON lines of the others: where it was, its reason, what the rule measured, and both sides
"""

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from itertools import compress, islice
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from seq2seq.config import DataConfig
from seq2seq.config.clean import CorpusCleanConfig
from seq2seq.corpus.cleaning.held_out import HeldOut
from seq2seq.corpus.cleaning.repair import repaired
from seq2seq.corpus.cleaning.survey import Survey
from seq2seq.corpus.judge import DUPLICATE, JudgeInOrder
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.reader import watched_pairs
from seq2seq.corpus.sources import Source, config_of, specs_of
from seq2seq.errors import ConfigError, CorpusError
from seq2seq.files import atomic_file

LOW_SCORE = "low_score"
_BLOCK = 10_000

Score = Callable[[Iterator[tuple[str, str]]], Iterable[float]]


@dataclass(frozen=True, kw_only=True)
class CleaningOptions:
    """What to look at, by which rules, and where to write.

    Attributes:
        files: prefixes of two files, TSV, JSONL, or names of corpora; or two aligned files.
        languages: of the two sides, of the columns of a TSV (`-` skips one), or the keys of a JSONL.
        against: valid and test.
        drop_overlap: off, exact or near.
        repair: first mend encodings, escapes and tags.
        output: a prefix for two files; None writes no text.
        rejected: a file for what is dropped; None for none.
        least_score, keep_share: the smallest score that stays, and the share with the best scores; None for all.
    """

    files: tuple[str, ...]
    languages: tuple[str, ...]
    clean: CorpusCleanConfig = field(default_factory=CorpusCleanConfig)
    against: tuple[str, ...] = ()
    drop_overlap: str = "exact"
    drop_duplicates: bool = True
    repair: bool = False
    output: Path | None = None
    rejected: Path | None = None
    least_score: float | None = None
    keep_share: float | None = None


def clean_files(options: CleaningOptions, score: Score | None = None) -> dict[str, Any]:
    """Clean a corpus, or only report what cleaning would do.

    Args:
        score: how good models find pairs, higher is better; None if none is asked.
    Returns:
        The report, in JSON types.
    Raises:
        ConfigError: options that cannot work.
        CorpusError: text that cannot be read or that is not parallel, or an output that exists.
    """
    config = _config(options)
    sources = fetch_sources(config, specs_of(options.files))
    held_out = fetch_sources(config, specs_of(options.against), with_references=True)
    texts = output_files(options.output, config)
    _check_outputs(options, texts)
    scores = _scores(options, sources, score)
    least = _least_score(options, scores)
    judge = JudgeInOrder(config, HeldOut.of(held_out, config.drop_overlap))
    reasons = [*judge.reasons, LOW_SCORE]
    survey = Survey(reasons, config.clean.thresholds)
    n_repaired: Counter[str] = Counter()
    with ExitStack() as stack:
        files = [stack.enter_context(atomic_file(path)) for path in texts]
        rejected = stack.enter_context(atomic_file(options.rejected)) if options.rejected else None
        n_read = 0
        for source in sources:
            survey.start_source(str(source))
            reader = _read(options, source, n_repaired)
            first = 1
            while block := list(islice(reader, _BLOCK)):
                judged = judge.judge(block)
                if scores is not None:
                    of_block = scores[n_read : n_read + len(block)]
                    judged.reasons[(judged.reasons < 0) & (of_block < least)] = reasons.index(LOW_SCORE)
                    judged.measured[LOW_SCORE] = of_block
                survey.add(block, judged)
                for number, file in enumerate(files):
                    kept = compress(block, judged.reasons < 0)
                    file.write("".join(f"{pair[number]}\n" for pair in kept).encode())
                if rejected is not None:
                    for row in np.flatnonzero(judged.reasons >= 0).tolist():
                        reason = reasons[judged.reasons[row]]
                        record = {"file": str(source.files[0]), "pair": first + row, "reason": reason}
                        record |= {} if (value := judged.value(reason, row)) is None else {"value": value}
                        record |= {config.src_lang: block[row][0], config.tgt_lang: block[row][1]}
                        line = json.dumps(record, ensure_ascii=False) + "\n"
                        rejected.write(line.encode(errors="backslashreplace"))  # a name may be no Unicode
                first += len(block)
                n_read += len(block)
        for file in (*files, *([rejected] if rejected else [])):  # a disk that is full says so before one has its name
            file.flush()
            os.fsync(file.fileno())
    report = {"languages": [config.src_lang, config.tgt_lang], **survey.report()}
    report |= {"repaired": dict(n_repaired)} if options.repair else {}
    if scores is not None:
        report["least_score"] = None if np.isneginf(least) else float(least)
    names = [*options.clean.names(), *([] if config.drop_duplicates else [DUPLICATE])]
    return report | {
        "off": [name for name in names if name not in config.clean.thresholds],
        "lacks_language": config.clean.lacks_language,
        "unknown_languages": judge.unknown_languages,
        "drop_overlap": config.drop_overlap,
        "against": list(options.against),
    }


def _config(options: CleaningOptions) -> DataConfig:
    """The options as the part of a configuration that readers and filters know."""
    config = DataConfig(
        clean=options.clean,
        drop_duplicates=options.drop_duplicates,
        drop_overlap=options.drop_overlap if options.against else "off",
    )
    return config_of(options.languages, config)


def _check_outputs(options: CleaningOptions, texts: Sequence[Path]) -> None:
    for path in [*texts, *([options.rejected] if options.rejected else [])]:
        if path.exists():
            raise CorpusError(f"{path} exists already; delete it, or choose another name")
    if options.keep_share is not None and not 0 < options.keep_share <= 1:
        raise ConfigError(f"--keep-share {options.keep_share} is not a share above 0, up to 1")


def output_files(output: Path | None, config: DataConfig) -> list[Path]:
    """The files of both sides, of a prefix.

    Raises:
        ConfigError: it is the name of a folder.
    """
    if output is None:
        return []
    if output.is_dir():
        raise ConfigError(f"--output {output} is a folder; name a prefix in it, such as {output / 'clean'}")
    return [output.with_name(f"{output.name}.{name}") for name in (config.src_lang, config.tgt_lang)]


def _read(options: CleaningOptions, source: Source, n_repaired: Counter[str]) -> Iterator[tuple[str, str]]:
    return repaired(watched_pairs(source), n_repaired) if options.repair else watched_pairs(source)


def _scores(options: CleaningOptions, sources: Sequence[Source], score: Score | None) -> NDArray[np.float32] | None:
    """A score for each pair, in four bytes."""
    if score is None:
        return None
    read = (_read(options, source, Counter()) for source in sources)
    return np.fromiter((found for pairs in read for found in score(pairs)), dtype=np.float32)


def _least_score(options: CleaningOptions, scores: NDArray[np.float32] | None) -> float:
    if scores is None:
        return -np.inf
    least = -np.inf if options.least_score is None else options.least_score
    if options.keep_share is not None:
        n_dropped = int((1 - options.keep_share) * len(scores) + 1e-9)
        least = max(least, float(np.partition(scores, n_dropped)[n_dropped]))
    return least
