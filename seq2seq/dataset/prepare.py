"""From the files that a configuration names to a tokenizer and memory-mapped stores, which are made once and cached.

    CACHE/
        tokenizers/KEY.FINGERPRINT.model
        stores/KEY/                         (seq2seq/dataset/store.py)
        stores/KEY.blocks/                  while a large one is being made (seq2seq/dataset/block_work.py)
        digests.json                        (seq2seq/dataset/file_digests.py)

A key is a SHA-256 over all that decides the content: the bytes of the files, languages, tokenizer, filters and format
version. So the cache never gives old content, and the files may move. Checksums are compared before use; a file that
has not changed since it was last read is not read again for that.
"""

import hashlib
import json
import logging
import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, replace
from itertools import accumulate, chain, islice
from pathlib import Path
from typing import Any, TypeVar

from filelock import FileLock, Timeout

from seq2seq.config import DataConfig, RunConfig, SourceSpec, TokenizerConfig
from seq2seq.config.clean import NO_LANGUAGE_MODEL
from seq2seq.config.on_resume import marks
from seq2seq.cores import n_cores
from seq2seq.corpus.augmentation import SEED
from seq2seq.corpus.augmentation import VERSION as AUGMENTATIONS_VERSION
from seq2seq.corpus.blocks import Cut, sampled_pairs
from seq2seq.corpus.cleaning.held_out import HeldOutPairs
from seq2seq.corpus.judge import Judge, JudgeInOrder, good_pairs
from seq2seq.corpus.named.fetch import fetch_sources
from seq2seq.corpus.named.library import noted_sha256
from seq2seq.corpus.reader import read_pairs, read_references
from seq2seq.corpus.report import overlap_report, render, rewritten
from seq2seq.corpus.sources import Source, corpus_dir
from seq2seq.corpus.test_sets import all_test_sets
from seq2seq.corpus.tokenised import is_tokenised
from seq2seq.dataset.block_processes import make_blocks
from seq2seq.dataset.block_work import BLOCK, BlockWork
from seq2seq.dataset.epoch import copies
from seq2seq.dataset.file_digests import FileDigests
from seq2seq.dataset.seen import SeenSource, SeenText, seen_in_epoch
from seq2seq.dataset.store import FORMAT_VERSION, PairStore, join_blocks, write_store
from seq2seq.dataset.subword_text import spelling_shares, subword_text
from seq2seq.errors import ConfigError, CorpusError, TokenizerError
from seq2seq.files import cache_directory
from seq2seq.tokenizer import Tokenizer

# Pairs from which blocks pay. Fewer take seconds, and then threads of SentencePiece are as fast as processes.
LARGE = 200_000
_FIRST_LINES = 50_000  # of training text, which each data report looks at: a quarter of a second

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
        CorpusError: missing files (of all splits, in one message), text that cannot be read or that is not parallel, or
            a cache that cannot be written.
        TokenizerError: the training text is too small for the vocabulary, or `tokenizer` does not have a tag.
    """
    splits = _find_all(config.data)
    cache_dir = cache_directory(config.data.cache_dir)
    known = FileDigests(cache_dir)
    digests = _digests(splits, known)
    try:
        if tokenizer is None:
            tokenizer = _tokenizer(cache_dir, config, splits, digests)
        stores = {name: _store(cache_dir, config, name, splits, digests, known, tokenizer) for name in splits}
    except OSError as error:
        raise CorpusError(
            f"cannot keep prepared text under {cache_dir}: {error.strerror or error}; make room there, or "
            "set data.cache_dir to another directory"
        ) from error
    finally:
        known.save()
    seen = _seen(splits["train"], stores["train"], config.data)
    report = _report(config, splits, digests, tokenizer, stores)
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


def _find_all(config: DataConfig) -> dict[str, list[Source]]:
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


def _digests(splits: Mapping[str, list[Source]], known: FileDigests) -> dict[Path, str]:
    """SHA-256 of each file. What was fetched must be as it was then."""
    digests: dict[Path, str] = {}
    fetched = {file for sources in splits.values() for source in sources if source.origin for file in source.files}
    for file in dict.fromkeys(file for sources in splits.values() for source in sources for file in source.files):
        try:
            digests[file] = known.sha256(file)
        except OSError as error:
            raise CorpusError(f"cannot read {file}: {error.strerror}; check its permissions") from error
        if file in fetched and noted_sha256(file) not in (None, digests[file]):
            raise CorpusError(f"{file}: has changed since it was fetched; remove it, and start again")
    return digests


def _held_out(splits: Mapping[str, list[Source]]) -> list[Source]:
    """The sources of valid and of all test sets, each once, as plain text."""
    sources = [
        replace(source, augmentations=(), tag="") for name in splits if name != "train" for source in splits[name]
    ]
    return list(dict.fromkeys(sources))


def _filter_key(filters: Judge, splits: Mapping[str, list[Source]], digests: Mapping[Path, str]) -> dict[str, Any]:
    """All that decides which training pairs stay."""
    known = {"held_out": _content(_held_out(splits), digests)} if filters.drops_overlap else {}
    return filters.settings | known


def _tokenizer(
    cache_dir: Path,
    config: RunConfig,
    splits: Mapping[str, list[Source]],
    digests: Mapping[Path, str],
) -> Tokenizer:
    """The tokenizer for this training text and these settings. It learns from clean text only, if text is cleaned."""
    train = splits["train"]
    filters = JudgeInOrder(config.data, HeldOutPairs(_held_out(splits)))
    cleaned = {"filters": _filter_key(filters, splits, digests)} if filters.reads_text else {}
    settings = {
        key: getattr(config.tokenizer, key) for key, mark in marks(TokenizerConfig).items() if not mark.only_trains
    }
    shares = spelling_shares(config.data.augment.shares)
    augmentations = {"augmentations": {"version": AUGMENTATIONS_VERSION, "shares": shares}} if shares else {}
    made_from = {"sources": _content(train, digests), "languages": _languages(config.data), "settings": settings}
    key = _key(made_from | augmentations | cleaned)
    directory = cache_dir / "tokenizers"

    def find() -> Tokenizer | None:
        for path in sorted(directory.glob(f"{key}.*.model")):
            try:
                proto = path.read_bytes()
            except OSError:
                continue
            if path.name == f"{key}.{hashlib.sha256(proto).hexdigest()}.model":  # SentencePiece sees no damaged bytes
                return Tokenizer.from_bytes(proto)
        return None

    def make() -> Tokenizer:
        for damaged in directory.glob(f"{key}.*.model"):
            logger.warning("the cached tokenizer %s is damaged; training it again", damaged)
            damaged.unlink(missing_ok=True)
        logger.info("training a tokenizer of %s pieces", f"{config.tokenizer.vocab_size:,}")
        pairs = _sampled(train, config.tokenizer.max_sentences)
        pairs = good_pairs(filters, pairs) if filters.reads_text else pairs
        tokenizer = Tokenizer.train(subword_text(pairs, shares), config.tokenizer, config.data.tags)
        tokenizer.save(directory / f"{key}.{tokenizer.fingerprint}.model")
        return tokenizer

    return _find_or_make(directory, key, find, make)


def _sampled(train: Sequence[Source], most: int) -> Iterator[tuple[str, str]]:
    """All training pairs, or `most` of them at random, always the same."""
    if sum(Cut.of(source, size=1).n_pairs for source in train) <= most:
        return chain.from_iterable(map(read_pairs, train))
    logger.info("learning from %s pairs, which are drawn at random", f"{most:,}")
    return sampled_pairs(train, most)


def _store(
    cache_dir: Path,
    config: RunConfig,
    split: str,
    splits: Mapping[str, list[Source]],
    digests: Mapping[Path, str],
    known: FileDigests,
    tokenizer: Tokenizer,
) -> PairStore:
    """The store of one split."""
    sources = splits[split]
    filters = Judge(config.data, HeldOutPairs(_held_out(splits))) if split == "train" else None
    keep_text = split != "train" or config.tokenizer.subword_regularization > 0 or bool(config.data.augment.shares)
    made_from = {"sources": _content(sources, digests), "languages": _languages(config.data)}
    key = _key(
        made_from
        | {
            "format_version": FORMAT_VERSION,
            "tokenizer": tokenizer.fingerprint,
            "filters": _filter_key(filters, splits, digests) if filters is not None else None,
            "keep_text": keep_text,
        }
    )
    directory = cache_dir / "stores"
    n_workers = config.data.n_workers or n_cores()

    def open_intact() -> PairStore:
        store = PairStore.open(directory / key)
        store.verify(known.sha256)
        store.check_tokenizer(tokenizer)
        return store

    def find() -> PairStore | None:
        with suppress(CorpusError, TokenizerError):
            return open_intact()
        return None

    def make() -> PairStore:
        if (directory / key).exists():
            try:
                open_intact()
            except (CorpusError, TokenizerError) as error:
                logger.warning("the cached text of %s is damaged and is made again (%s)", split, error)
            shutil.rmtree(directory / key, ignore_errors=True)  # if it stays, the next line says so
        if filters is not None and config.data.clean.lacks_language:
            logger.warning("data.clean: %s; so it is left out", NO_LANGUAGE_MODEL)
        for language in filters.unknown_languages if filters is not None else ():
            logger.warning("data.clean: the rules script and language know nothing of %r", language)
        logger.info("encoding %s", split)
        has_references = any(source.references for source in sources)
        references = chain.from_iterable(map(read_references, sources)) if has_references else None
        if (work := large_work()) is not None:
            make_blocks(work, n_workers)
            logger.info("joining %s blocks", f"{work.n_blocks:,}")
            blocks = work.blocks()
            return join_blocks(directory / key, blocks, tokenizer, filters, keep_text, references, made_from)
        return write_store(
            directory / key,
            list(map(read_pairs, sources)),
            tokenizer,
            tags=[source.tag for source in sources],
            filters=filters,
            keep_text=keep_text,
            references=references,
            made_from=made_from,
            n_threads=n_workers,
        )

    def large_work() -> BlockWork | None:
        """The work on text of which so much is there that several processes pay; None: there is less."""
        if any(source.augmentations for source in sources):
            return None
        cuts = [Cut.of(source, BLOCK) for source in sources]
        if sum(cut.n_pairs for cut in cuts) < LARGE:
            return None
        tags = [source.tag for source in sources]
        return BlockWork(_blocks_dir(directory, key), directory / key, cuts, tags, tokenizer, filters, keep_text)

    def help_others() -> None:
        if (work := large_work()) is not None:
            logger.info("another process is preparing %s; helping it", split)
            with suppress(CorpusError, TokenizerError, OSError):  # whoever joins the blocks tells it
                make_blocks(work, n_workers)

    return _find_or_make(directory, key, find, make, help_others)


def _find_or_make(
    directory: Path,
    key: str,
    find: Callable[[], _T | None],
    make: Callable[[], _T],
    help_others: Callable[[], None] = lambda: None,
) -> _T:
    """A cache entry. If several processes want the same one, the first makes it. The others help, or wait."""
    if (found := find()) is not None:
        return found  # without the lock: a cache may be read-only
    directory.mkdir(parents=True, exist_ok=True)
    with _locked(directory / f"{key}.lock", help_others):
        if (found := find()) is None:
            found = _made_alone(directory, key, make)
        shutil.rmtree(_blocks_dir(directory, key), ignore_errors=True)
        return found


def _made_alone(directory: Path, key: str, make: Callable[[], _T]) -> _T:
    """Make an entry that no other process is making."""
    for leftover in directory.glob(f".{key}.*.tmp"):  # of a process that was killed
        shutil.rmtree(leftover) if leftover.is_dir() else leftover.unlink()
    return make()


def _blocks_dir(directory: Path, key: str) -> Path:
    return directory / f"{key}.blocks"


@contextmanager
def _locked(path: Path, help_others: Callable[[], None]) -> Iterator[None]:
    lock = FileLock(path)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        help_others()
        logger.info("another process is preparing the same text; waiting for it (%s)", path)
        lock.acquire()
    try:
        yield
    finally:
        lock.release()


def _key(parts: Mapping[str, Any]) -> str:
    return hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()


def _content(sources: list[Source], digests: Mapping[Path, str]) -> list[dict[str, Any]]:
    """All that decides the pairs and the tags of the sources. The places of the files do not count."""
    return [
        {"layout": list(source.layout), "sha256": [digests[file] for file in source.files], "tag": source.tag}
        | ({"augmentations": [*source.augmentations, SEED, AUGMENTATIONS_VERSION]} if source.augmentations else {})
        for source in sources
    ]


def _languages(config: DataConfig) -> list[str]:
    return [config.src_lang, config.tgt_lang]


def _report(
    config: RunConfig,
    splits: Mapping[str, list[Source]],
    digests: Mapping[Path, str],
    tokenizer: Tokenizer,
    stores: Mapping[str, PairStore],
) -> dict[str, Any]:
    """The data report: for each split the report of its store, its files, and its overlap with the training text.

    A test set that `data.robustness` adds is checked, and left out: its text is that of another one.
    """
    longest = config.model.max_length - 1  # one more token ends a sentence
    seen = stores["train"].hashes
    added = {_TEST + name for name, test in all_test_sets(config.data).items() if test.clean}
    report: dict[str, Any] = {}
    for name, store in stores.items():
        split = dict(store.manifest["report"])
        split["files"] = {str(file): digests[file] for source in splits[name] for file in source.files}
        if origins := list(dict.fromkeys(source.origin for source in splits[name] if source.origin is not None)):
            split["origins"] = [asdict(origin) for origin in origins]
        if store.n_references > len(store):
            split["references"] = store.n_references
        if name == "train":
            n_an_epoch = _pairs_an_epoch(store.n_pairs_of_sources, config.data)
            split["sources"] = _shares(splits[name], store, n_an_epoch)
            first = (islice(read_pairs(source), _FIRST_LINES // len(splits[name])) for source in splits[name])
            split["rewritten"] = rewritten((tgt for _, tgt in chain.from_iterable(first)), tokenizer.normalized)
            if config.data.drop_overlap != "off":
                held_out = _held_out(splits)
                split["without"] = {str(file): digests[file] for source in held_out for file in source.files}
        else:
            split["overlap"] = overlap_report(seen, store.hashes)
            some = [store.tgt_text(i) for i in range(0, len(store), len(store) // 1000 + 1)]
            split["tokenised"] = is_tokenised(some)
            n_long = int(((store.src_lengths > longest) | (store.tgt_lengths > longest)).sum())
            if n_long:  # without them the scores would be of another text
                raise CorpusError(
                    f"{name}: {n_long:,} pairs have a side of more than {longest} tokens, which the model cannot take; "
                    f"raise model.max_length={config.model.max_length}, or split those lines into sentences"
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
    n_pairs = store.n_pairs_of_sources
    ends = list(accumulate(n_pairs))
    of_sources = []
    for source, end, n, m, sentences, looks in zip(
        sources,
        ends,
        n_pairs,
        _pairs_an_epoch(n_pairs, config),
        store.sentences_of_sources,
        store.looks_of_sources,
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
            sources, store.n_pairs_of_sources, n_an_epoch, store.rejected_of_sources, strict=True
        )
    ]
