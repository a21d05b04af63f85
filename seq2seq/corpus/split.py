"""Cut a corpus into train, valid and test.

Pairs that share a sentence stay together (seq2seq/corpus/groups.py), so that no sentence of valid or test is in train.

    OUTPUT/
        train.{fr,en}               the training pairs, in the order of the corpus
        valid.fr-en.{fr,en}         each source once, and the first of its translations
        valid.fr-en.en.{1,2,...}    its further translations, blank where it has fewer than others
        test.fr-en.*                likewise; valid and test also in the other direction, en-fr
        split.txt                   the report, and the SHA-256 of what was read
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from seq2seq.corpus.groups import Groups, comparable, connected
from seq2seq.corpus.hashes import Hashes, SeenHashes, file_sha256, hash_lines, hash_pairs
from seq2seq.corpus.reader import watched_pairs
from seq2seq.corpus.sources import Source
from seq2seq.corpus.split_options import SplitOptions
from seq2seq.errors import ConfigError, CorpusError, command, printable
from seq2seq.files import atomic_directory

# What `Plan.places` says of pairs that are in neither valid nor test.
TRAIN, EMPTY, DUPLICATE = -1, -2, -3
_BLOCK = 10_000  # pairs hashed at a time


@dataclass(frozen=True)
class Plan:
    """Where each pair goes.

    Attributes:
        places: one for each pair, in the order of reading. A pair in valid has the number of its group, from 0, and one
            in test likewise, from `n_valid`. Others have `TRAIN`, or `EMPTY` or `DUPLICATE` if they are left out.
        group_sizes: pairs in each group, held out or not.
    """

    places: NDArray[np.int64]
    n_valid: int
    n_test: int
    group_sizes: Groups


def split_corpus(sources: Sequence[Source], languages: tuple[str, str], options: SplitOptions) -> list[str]:
    """Cut a corpus and write the files of every split.

    Args:
        languages: of the source and the target.
    Returns:
        The report for the user, line by line.
    Raises:
        ConfigError: options that cannot work.
        CorpusError: text that cannot be read or that is not parallel, too few groups, or an output that exists already.
        OSError: the output cannot be written.
    """
    _check_numbers(options)
    output = options.output
    if output.exists():
        raise CorpusError(f"{output} exists already; delete it, or choose another --output")
    plan = make_plan(sources, options.n_valid, options.n_test, options.max_group, options.seed)
    report = [f"read {_names(sources)}, seed {options.seed}", *describe(plan, options.max_group)]
    report += write_split(output, sources, plan, languages, report)
    direction = f"data.src_lang={languages[0]}", f"data.tgt_lang={languages[1]}"
    return [
        *report,
        f"wrote {output}; train with",
        f"    {command('train', 'data=files', f'data.dir={output}', *direction)}",
    ]


def _check_numbers(options: SplitOptions) -> None:
    numbers = {"--valid": options.n_valid, "--test": options.n_test, "--max-group": options.max_group}
    for name, number in numbers.items():
        if number < 1:
            raise ConfigError(f"{name} {number} is below 1; choose a larger number")


def make_plan(sources: Sequence[Source], n_valid: int, n_test: int, max_group: int, seed: int) -> Plan:
    """Read a corpus once and decide where each pair goes. It depends on the pairs and the seed, not on their order.

    All groups of at most `max_group` pairs have the same chance to be held out. Each pair takes about 100 bytes of
    memory.

    Raises:
        CorpusError: what `read_pairs` raises; too few groups.
    """
    places, pairs, src, tgt = _hashes(sources)
    used = places == TRAIN
    group = connected(src[used], tgt[used])
    sizes = np.bincount(group)
    names = np.full(len(sizes), np.iinfo(np.uint64).max, dtype=np.uint64)
    np.minimum.at(names, group, pairs[used])  # the name of a group must not depend on the order of its pairs
    small = np.flatnonzero(sizes <= max_group)
    n_held_out = n_valid + n_test
    if len(small) < n_held_out or len(sizes) == n_held_out:
        raise CorpusError(
            f"{_names(sources)}: of {len(sizes):,} groups, {len(small):,} have at most {max_group} pairs, too few "
            f"for {n_valid:,} in valid, {n_test:,} in test and some in train; lower --valid and --test, or raise "
            "--max-group"
        )
    drawn = small[np.argsort(_draw(names[small], seed))[:n_held_out]]
    place_of_group = np.full(len(sizes), TRAIN)
    place_of_group[drawn] = np.arange(n_held_out)
    places[used] = place_of_group[group]
    return Plan(places, n_valid, n_test, sizes)


def _hashes(sources: Sequence[Source]) -> tuple[NDArray[np.int64], Hashes, Hashes, Hashes]:
    """For each pair: `TRAIN` or why it is left out, its hash, and hashes of its sides, equal where sides are alike."""
    blocks: list[tuple[NDArray[np.int64], Hashes, Hashes, Hashes]] = []
    seen = SeenHashes()
    reader = _read(sources)
    while block := list(islice(reader, _BLOCK)):
        hashes = hash_pairs(block)
        has_text = np.fromiter((bool(src.strip() and tgt.strip()) for src, tgt in block), dtype=np.bool_)
        places = np.where(has_text, np.where(seen.add(hashes), TRAIN, DUPLICATE), EMPTY)
        sides = (hash_lines(map(comparable, side)) for side in zip(*block, strict=True))
        blocks.append((places, hashes, *sides))  # type: ignore[arg-type]
    places, pairs, src, tgt = map(np.concatenate, zip(*blocks, strict=True))
    return places, pairs, src, tgt


def _draw(names: Hashes, seed: int) -> Hashes:
    """A random number for each name. It is the same on every machine and with every version of NumPy."""
    blocks = (names[start : start + _BLOCK].tolist() for start in range(0, len(names), _BLOCK))
    return np.concatenate([hash_lines(f"{seed} {name}" for name in block) for block in blocks])


def describe(plan: Plan, max_group: int) -> list[str]:
    """What was read and found, as lines of the report."""
    empty, duplicate = (int((plan.places == reason).sum()) for reason in (EMPTY, DUPLICATE))
    sizes = plan.group_sizes
    large = sizes[sizes > max_group]
    return [
        f"{len(plan.places):,} pairs; left out {empty + duplicate:,} (empty {empty:,}, duplicate {duplicate:,})",
        f"{len(sizes):,} groups of pairs that share a sentence; the largest has {sizes.max():,} pairs",
        f"{len(large):,} groups of more than {max_group} pairs, {large.sum():,} pairs in all, stay in train",
    ]


def write_split(
    output: Path, sources: Sequence[Source], plan: Plan, languages: tuple[str, str], report: Sequence[str]
) -> list[str]:
    """Read the corpus again and write the files of every split.

    The groups of valid and test are in random order: a corpus may be sorted, and some readers look at the first lines
    only.

    Args:
        report: for `split.txt`, before what is returned.
    Returns:
        Lines of the report about what was written.
    """
    with atomic_directory(output.absolute()) as building:
        n_train, held_out = _write_train(building, sources, plan, languages)
        lines = [f"train: {len(plan.group_sizes) - plan.n_valid - plan.n_test:,} groups, {n_train:,} pairs"]
        group_ranges = {"valid": range(plan.n_valid), "test": range(plan.n_valid, plan.n_valid + plan.n_test)}
        for name, groups in group_ranges.items():
            pairs = [pair for group in groups for pair in held_out[group]]
            lines.append(f"{name}: {len(groups):,} groups, {len(pairs):,} pairs")
            for direction, directed in ((languages, pairs), (languages[::-1], [(tgt, src) for src, tgt in pairs])):
                lines.append(_write_held_out(building, name, direction, directed))
        sums = [f"{file_sha256(file)}  {printable(file.name)}" for source in sources for file in source.files]
        _write_lines(building / "split.txt", [*report, *lines, "SHA-256 of what was read:", *sums])
    return lines


def _write_train(
    folder: Path, sources: Sequence[Source], plan: Plan, languages: tuple[str, str]
) -> tuple[int, dict[int, list[tuple[str, str]]]]:
    """Write the training pairs in their order. Returns their number, and the pairs of each group that is held out."""
    n_train = 0
    held_out: dict[int, list[tuple[str, str]]] = defaultdict(list)
    src_file, tgt_file = (folder / f"train.{language}" for language in languages)
    with (
        src_file.open("w", encoding="utf-8", newline="") as src_lines,
        tgt_file.open("w", encoding="utf-8", newline="") as tgt_lines,
    ):
        for place, (src, tgt) in _placed(plan, sources):
            if place == TRAIN:
                src_lines.write(f"{src}\n")
                tgt_lines.write(f"{tgt}\n")
                n_train += 1
            elif place >= 0:
                held_out[place].append((src, tgt))
    return n_train, held_out


def _placed(plan: Plan, sources: Sequence[Source]) -> Iterator[tuple[int, tuple[str, str]]]:
    try:
        yield from zip(map(int, plan.places), _read(sources), strict=True)
    except ValueError as error:
        raise CorpusError(f"{_names(sources)} changed while it was read; start again") from error


def _write_held_out(folder: Path, name: str, direction: tuple[str, str], pairs: Iterable[tuple[str, str]]) -> str:
    """Write each source once, in the order of its first pair, and its different targets in the order of the corpus.

    Returns:
        A line of the report: how much there is in this direction.
    """
    targets: dict[str, dict[str, None]] = {}
    for src, tgt in pairs:
        targets.setdefault(src, {})[tgt] = None
    references = [list(each) for each in targets.values()]
    most = max(map(len, references))
    src_lang, tgt_lang = direction
    prefix = f"{name}.{src_lang}-{tgt_lang}"
    _write_lines(folder / f"{prefix}.{src_lang}", targets)
    for number in range(most):
        suffix = f".{number}" if number else ""
        lines = (each[number] if number < len(each) else "" for each in references)
        _write_lines(folder / f"{prefix}.{tgt_lang}{suffix}", lines)
    return (
        f"  {src_lang} to {tgt_lang}: {len(references):,} sources with "
        f"{sum(map(len, references)) / len(references):.2f} references each, at most {most}"
    )


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        file.writelines(f"{line}\n" for line in lines)


def _read(sources: Sequence[Source]) -> Iterator[tuple[str, str]]:
    return chain.from_iterable(map(watched_pairs, sources))


def _names(sources: Sequence[Source]) -> str:
    return " and ".join(map(str, sources))
