"""From the files that a configuration names to a tokenizer and memory-mapped stores, which are made once and cached.

    CACHE/
        tokenizers/KEY.FINGERPRINT.model
        stores/KEY/                         (seq2seq/dataset/store.py)
        {tokenizers,stores}/KEY.lock        is locked while somebody makes that entry

A key is a SHA-256 over all that decides the content: the bytes of the files, languages, tokenizer, judge and format
version. So the cache never gives old content, and the files may move. What the cache has is compared with its SHA-256
whenever it is opened.
"""

import errno
import hashlib
import json
import logging
import random
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cached_property, partial
from itertools import accumulate, chain, islice, pairwise
from pathlib import Path
from typing import Any, TypeVar

from seq2seq.config import DataConfig, RunConfig, SourceSpec, TokenizerConfig
from seq2seq.config.clean import NO_LANGUAGE_MODEL
from seq2seq.config.on_resume import marks
from seq2seq.corpus.augmentation import SEED
from seq2seq.corpus.augmentation import VERSION as AUGMENTATIONS_VERSION
from seq2seq.corpus.cleaning.held_out import HeldOut
from seq2seq.corpus.hashes import file_sha256
from seq2seq.corpus.judge import Judge, JudgeInOrder, good_pairs
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.named.library import locked, noted_sha256
from seq2seq.corpus.reader import read_pairs, read_references
from seq2seq.corpus.report import overlap_report, render
from seq2seq.corpus.sources import Source, corpus_dir
from seq2seq.corpus.test_sets import all_test_sets
from seq2seq.corpus.tokenised import is_tokenised
from seq2seq.dataset.epoch import copies
from seq2seq.dataset.executors import encoded
from seq2seq.dataset.seen import SeenSource, SeenText, seen_in_epoch
from seq2seq.dataset.store import FORMAT_VERSION, PairStore, write_store
from seq2seq.dataset.subword_text import spelling_shares, subword_text
from seq2seq.errors import ConfigError, CorpusError, TokenizerError
from seq2seq.files import cache_directory
from seq2seq.tokenizer import Tokenizer

_FEW = 100_000  # pairs: 40 MB in memory

logger = logging.getLogger(__name__)
_T = TypeVar("_T")
_TEST = "test/"  # begins the name of a test set among all splits, so that one may be called train


@dataclass(frozen=True)
class Prepared:
    """All that training needs of the text.

    `train` is filtered, and has text only if its segmentation is sampled or some of it is augmented. `valid` and
    `tests` (by their names in `data.test`, and those that `data.robustness` adds) hold every pair of their files, also
    blank and long ones, with text: the references. `seen` is what an epoch of `train` has.
    """

    tokenizer: Tokenizer
    train: PairStore
    valid: PairStore
    tests: dict[str, PairStore]
    seen: SeenText
    report: dict[str, Any]


def prepare(config: RunConfig, tokenizer: Tokenizer | None = None) -> Prepared:
    """Find, read, tokenise and store the corpus of a run, or open what is in the cache already.

    Args:
        tokenizer: of the model to continue; None trains one on the training text.
    Raises:
        ConfigError: `data.executor` cannot be used.
        CorpusError: missing files (of all splits, in one message), text that cannot be read or that is not parallel, or
            a cache that cannot be written.
        TokenizerError: the training text is too small for the vocabulary, or `tokenizer` does not have a tag.
    """
    splits = find_all(config.data)
    corpus = _Corpus(config, cache_directory(config.data.cache_dir), splits, *_digests(splits))
    try:
        tokenizer = tokenizer or _tokenizer(corpus)
        stores = {name: _store(corpus, name, tokenizer) for name in splits}
    except OSError as error:
        raise CorpusError(
            f"cannot keep prepared text under {corpus.cache_dir}: {error.strerror or error}; make room there, or "
            "set data.cache_dir to another directory"
        ) from error
    seen = _seen(splits["train"], stores["train"], config.data)
    report = _report(corpus, tokenizer, stores)
    report["splits"]["train"]["sentences"] = seen.sentences
    logger.info("data report\n%s", render(report))
    return Prepared(
        tokenizer=tokenizer,
        train=stores["train"],
        valid=stores["valid"],
        tests={name: stores[_TEST + name] for name in all_test_sets(config.data)},
        seen=seen,
        report=report,
    )


def find_all(config: DataConfig) -> dict[str, list[Source]]:
    """The sources of every split, or one error that lists the problems of all."""
    wanted: dict[str, Sequence[SourceSpec]] = {"train": config.train_sources, "valid": config.valid_sources}
    tests = all_test_sets(config)
    wanted |= {_TEST + name: test.sources for name, test in tests.items() if not test.clean}
    corpus_dir(config)  # if the directory is wrong: one message, not one for each split
    splits: dict[str, list[Source]] = {}
    problems: list[str] = []
    for split, specs in wanted.items():
        try:
            splits[split] = fetch_sources(config, specs, with_references=split != "train")
        except (CorpusError, ConfigError) as error:
            key = split.replace(_TEST, "test.")
            problems += [f"data.{key}: {line}" for line in str(error).splitlines()]
    if problems:
        raise CorpusError("\n".join(problems))
    for name, test in tests.items():
        if test.clean:  # the files of a test set that was found
            splits[_TEST + name] = fetch_sources(config, test.sources, with_references=True)
    return splits


def _digests(splits: Mapping[str, list[Source]]) -> tuple[dict[Path, str], dict[Path, tuple[int, int]]]:
    """SHA-256 of each file, and its stamp. What was fetched must be as it was then: fetching looks at lengths only."""
    digests: dict[Path, str] = {}
    stamps: dict[Path, tuple[int, int]] = {}
    fetched = {file for sources in splits.values() for source in sources if source.origin for file in source.files}
    for file in dict.fromkeys(file for sources in splits.values() for source in sources for file in source.files):
        try:
            stamps[file], digests[file] = _stamp(file), file_sha256(file)
        except OSError as error:
            raise CorpusError(f"cannot read {file}: {error.strerror}; check its permissions") from error
        if file in fetched and noted_sha256(file) not in (None, digests[file]):
            raise CorpusError(f"{file}: has changed since it was fetched; remove it, and start again")
    return digests, stamps


def _stamp(file: Path) -> tuple[int, int]:
    """Size and time of the last change: another one for a file that somebody has changed."""
    found = file.stat()
    return found.st_size, found.st_mtime_ns


@dataclass(frozen=True)
class _Corpus:
    """The text of a run, by what decides it, and where what is made of it is kept."""

    config: RunConfig
    cache_dir: Path
    splits: Mapping[str, list[Source]]
    digests: Mapping[Path, str]
    stamps: Mapping[Path, tuple[int, int]]

    def check_unchanged(self) -> None:
        """
        Raises:
            CorpusError: a file is no longer the one of its digest, so what was read of it belongs under another key.
        """
        for file, stamp in self.stamps.items():
            if not file.exists() or _stamp(file) != stamp:
                raise CorpusError(f"{file} changed while it was read; start again")

    def content(self, sources: Sequence[Source]) -> list[dict[str, Any]]:
        """All that decides the pairs and the tags of the sources. The places of the files do not count."""
        return [
            {"layout": list(source.layout), "sha256": [self.digests[file] for file in source.files], "tag": source.tag}
            | ({"augmentations": [*source.augmentations, SEED, AUGMENTATIONS_VERSION]} if source.augmentations else {})
            for source in sources
        ]

    def made_from(self, split: str) -> dict[str, Any]:
        data = self.config.data
        return {"sources": self.content(self.splits[split]), "languages": [data.src_lang, data.tgt_lang]}

    @property
    def held_out_sources(self) -> list[Source]:
        """The sources of valid and of all test sets, each once, as plain text."""
        sources = chain.from_iterable(self.splits[name] for name in self.splits if name != "train")
        return list(dict.fromkeys(replace(source, augmentations=(), tag="") for source in sources))

    @cached_property
    def held_out(self) -> HeldOut:
        """The pairs of valid and of all test sets, if they must not be in the training text. Reads them."""
        return HeldOut.of(self.held_out_sources, self.config.data.drop_overlap)

    @property
    def judged_by(self) -> dict[str, Any]:
        """All that decides which training pairs stay."""
        judge = Judge(self.config.data)
        return judge.settings | ({"held_out": self.content(self.held_out_sources)} if judge.drops_overlap else {})


def _tokenizer(corpus: _Corpus) -> Tokenizer:
    """The tokenizer for this training text and these settings. It learns from clean text only, if text is cleaned."""
    config = corpus.config
    reads_text = Judge(config.data).reads_text
    settings = {
        key: getattr(config.tokenizer, key) for key, mark in marks(TokenizerConfig).items() if not mark.only_trains
    }
    shares = spelling_shares(config.data.augment.shares)
    augmentations = {"augmentations": {"version": AUGMENTATIONS_VERSION, "shares": shares}} if shares else {}
    cleaned = {"filters": corpus.judged_by} if reads_text else {}
    key = _key(corpus.made_from("train") | {"settings": settings} | augmentations | cleaned)
    directory = corpus.cache_dir / "tokenizers"

    def find() -> Tokenizer | None:
        for path in sorted(directory.glob(f"{key}.*.model")):
            proto = path.read_bytes()
            if path.name != f"{key}.{hashlib.sha256(proto).hexdigest()}.model":  # SentencePiece sees no damaged bytes
                raise TokenizerError(f"{path} was changed: its SHA-256 is another one")
            return Tokenizer(proto)
        return None

    def make() -> Tokenizer:
        for damaged in directory.glob(f"{key}.*.model"):
            damaged.unlink()
        logger.info("training a tokenizer of %s pieces", f"{config.tokenizer.vocab_size:,}")
        pairs = _sampled(corpus.splits["train"], config.tokenizer.max_sentences)
        pairs = good_pairs(JudgeInOrder(config.data, corpus.held_out), pairs) if reads_text else pairs
        tokenizer = Tokenizer.train(subword_text(pairs, shares), config.tokenizer, config.data.tags)
        corpus.check_unchanged()
        tokenizer.save(directory / f"{key}.{tokenizer.fingerprint}.model")
        return tokenizer

    return _find_or_make(directory / f"{key}.lock", "tokenizer", find, make)


def _sampled(sources: Sequence[Source], most: int) -> Iterator[tuple[str, str]]:
    """All pairs, or `most` of them, always the same ones: one of each stretch of the same length, drawn at random.

    Few pairs are read once. More are counted first, so that no sample has to be in memory.
    """
    pairs: Iterator[tuple[str, str]] = chain.from_iterable(map(read_pairs, sources))
    few = list(islice(pairs, _FEW))
    n = len(few) + sum(1 for _ in pairs)
    pairs = iter(few) if n == len(few) else chain.from_iterable(map(read_pairs, sources))
    if n <= most:
        yield from pairs
        return
    logger.info("learning from %s of %s pairs, which are drawn at random", f"{most:,}", f"{n:,}")
    draw = random.Random(0).random
    bounds = pairwise(k * n // most for k in range(most + 1))
    places = (begin + int(draw() * (end - begin)) for begin, end in bounds)
    place = next(places)
    for number, pair in enumerate(pairs):
        if number == place:
            yield pair
            place = next(places, -1)


def _store(corpus: _Corpus, split: str, tokenizer: Tokenizer) -> PairStore:
    """The store of one split."""
    config, sources, is_train = corpus.config, corpus.splits[split], split == "train"
    keep_text = not is_train or config.tokenizer.subword_regularization > 0 or bool(config.data.augment.shares)
    made_from = corpus.made_from(split)
    key = _key(
        made_from
        | {
            "format_version": FORMAT_VERSION,
            "tokenizer": tokenizer.fingerprint,
            "filters": corpus.judged_by if is_train else None,
            "keep_text": keep_text,
        }
    )
    directory = corpus.cache_dir / "stores" / key

    def find() -> PairStore | None:
        if not directory.exists():
            return None
        store = PairStore.open(directory)
        store.verify()
        return store

    def make() -> PairStore:
        shutil.rmtree(directory, ignore_errors=True)  # if it stays, writing says so
        judge = Judge(config.data, corpus.held_out) if is_train else None
        if judge is not None and config.data.clean.lacks_language:
            logger.warning("data.clean: %s; so it is left out", NO_LANGUAGE_MODEL)
        for language in judge.unknown_languages if judge is not None else ():
            logger.warning("data.clean: the rules script and language know nothing of %r", language)
        logger.info("encoding %s", split)
        has_references = not is_train and any(source.references for source in sources)
        store = write_store(
            directory,
            list(map(read_pairs, sources)),
            tokenizer,
            tags=[source.tag for source in sources],
            judge=judge,
            keep_text=keep_text,
            references=chain.from_iterable(map(read_references, sources)) if has_references else None,
            made_from=made_from,
            encode=partial(encoded, data=config.data),
        )
        try:
            corpus.check_unchanged()
        except CorpusError:
            shutil.rmtree(directory)
            raise
        return store

    return _find_or_make(directory.with_name(f"{key}.lock"), f"text of {split}", find, make)


def _find_or_make(lock: Path, what: str, find: Callable[[], _T | None], make: Callable[[], _T]) -> _T:
    """A cache entry. If several processes want the same one, the first makes it, and the others wait.

    Args:
        find: gives the entry, or None if there is none; a damaged one raises what a user can repair.
    """
    with suppress(CorpusError, TokenizerError, OSError):
        if (found := find()) is not None:
            return found  # without the lock: a cache may be read-only
    lock.parent.mkdir(parents=True, exist_ok=True)
    with locked(lock):
        try:
            if (found := find()) is not None:
                return found
        except (CorpusError, TokenizerError) as error:
            logger.warning("the cached %s is damaged and is made again (%s)", what, error)
        try:
            return make()
        except OSError as error:  # NFS may hide for a minute what another machine has made
            if error.errno not in (errno.EEXIST, errno.ENOTEMPTY) or (found := find()) is None:
                raise
            return found


def _key(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _report(corpus: _Corpus, tokenizer: Tokenizer, stores: Mapping[str, PairStore]) -> dict[str, Any]:
    """The data report: for each split the report of its store, its files, and its overlap with the training text.

    A test set that `data.robustness` adds is checked, and left out: its text is that of another one.
    """
    config, splits, digests = corpus.config, corpus.splits, corpus.digests
    longest = config.model.max_length - 1  # one more token ends a sentence
    seen = stores["train"].hashes
    added = {_TEST + name for name, test in all_test_sets(config.data).items() if test.clean}
    report: dict[str, Any] = {}
    for name, store in stores.items():
        split = dict(store.manifest.report)
        split["files"] = {str(file): digests[file] for source in splits[name] for file in source.files}
        if origins := list(dict.fromkeys(source.origin for source in splits[name] if source.origin is not None)):
            split["origins"] = [asdict(origin) for origin in origins]
        if store.n_references > len(store):
            split["references"] = store.n_references
        if name == "train":
            n_an_epoch = _pairs_an_epoch(store.manifest.n_pairs_of_sources, config.data)
            split["sources"] = _shares(splits[name], store, n_an_epoch)
            if config.data.drop_overlap != "off":
                split["without"] = {
                    str(file): digests[file] for source in corpus.held_out_sources for file in source.files
                }
        else:
            split["overlap"] = overlap_report(seen, store.hashes)
            some = [store.tgt_text(i) for i in range(0, len(store), len(store) // 1000 + 1)]
            split["tokenised"] = is_tokenised(some)
            n_long = int(((store.src_lengths > longest) | (store.tgt_lengths > longest)).sum())
            if n_long:  # without them the scores would be of another text
                raise CorpusError(
                    f"{name}: {n_long:,} pairs have a side of more than {longest} tokens, which the model cannot take; "
                    + (
                        "leave data.robustness out, and name the augmentations that fit (docs/robustness.md)"
                        if name in added
                        else f"raise model.max_length={config.model.max_length}, or split those lines into sentences"
                    )
                )
        if name not in added:
            report[name] = split
    return {
        "languages": {"src": config.data.src_lang, "tgt": config.data.tgt_lang},
        "tokenizer": {"vocab_size": tokenizer.vocab_size, "fingerprint": tokenizer.fingerprint},
        "splits": report,
    }


def _seen(sources: list[Source], store: PairStore, config: DataConfig) -> SeenText:
    """What an epoch of training has."""
    n_pairs = store.manifest.n_pairs_of_sources
    ends = list(accumulate(n_pairs))
    of_sources = []
    for source, end, n, m, sentences, looks in zip(
        sources,
        ends,
        n_pairs,
        _pairs_an_epoch(n_pairs, config),
        store.manifest.sentences_of_sources,
        store.manifest.looks_of_sources,
        strict=True,
    ):
        src, tgt = (lengths[end - n : end] for lengths in (store.src_lengths, store.tgt_lengths))
        src = src - (src > 0) if source.tag else src
        of_sources.append(SeenSource(src, tgt, sentences, looks, m / max(n, 1)))
    return seen_in_epoch([source for source in of_sources if source.times])


def _pairs_an_epoch(n_pairs: list[int], config: DataConfig) -> list[int]:
    """How many pairs of each source an epoch has, counted as often as they come."""
    return [c.n_pairs(n) for n, c in zip(n_pairs, copies(n_pairs, config.temperature, config.weights), strict=True)]


def _shares(sources: list[Source], store: PairStore, n_an_epoch: list[int]) -> list[dict[str, Any]]:
    """The part of an epoch that each source has, and what was left out of it."""
    return [
        {
            "files": [str(file) for file in source.files],
            "tag": source.tag,
            "pairs": n,
            "rejected": rejected,
            "times": m / max(n, 1),
            "share": m / sum(n_an_epoch),
        }
        for source, n, m, rejected in zip(
            sources, store.manifest.n_pairs_of_sources, n_an_epoch, store.manifest.rejected_of_sources, strict=True
        )
    ]
