"""Whose sentence boundaries are right, and how fast?  python benchmarks/sentence_boundaries.py [--data DIR]

It compares our rules with pysbd, sentence-splitter and BlingFire, as far as these are installed, on the marked cases of
our tests and on clean sentences of corpora, two or three of which are joined to a line. A false boundary is one that
is not marked. benchmarks/README.md says how to read it.
"""

import argparse
import importlib.util
import random
import re
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate, pairwise
from pathlib import Path

from rounds import as_table

from seq2seq.corpus.reader import read_lines
from seq2seq.corpus.sentences import sentence_ends

CASES = Path(__file__).parent.parent / "tests" / "corpus" / "sentence_cases"
LANGUAGES = ("en", "fr")
# Begins as a sentence does, ends as one does.
CLEAN = re.compile(r"[\"«“‘'(—–-]?\s?[^\W\d_]{1,99}.*[^\s.!?…][.!?…]+\s?[\"»”’')]?")
HOSTILE = {"dots": ".", "closers": ". »", "abbreviations": "M. ", "letters": "abcdefghij", "spaces": " ", "marks": "? "}
SEED = 1

Segment = Callable[[str], Sequence[str]]
Marked = Sequence[Sequence[str]]  # the sentences of each line


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", type=Path, metavar="DIR", help="folder of parallel text: NAME.en, NAME.fr (.gz)")
    parser.add_argument("--joins", type=int, default=5000, metavar="N", help="lines to make of each file")
    parser.add_argument("--hostile", type=int, default=0, metavar="BYTES", help="time lines of one mark over and over")
    args = parser.parse_args()
    rows = []
    for language in LANGUAGES:
        segmenters = dict(installed(language))
        for name, lines in {**cases(language), **joined(args.data, language, args.joins, segmenters)}.items():
            rows += [[f"{name}, {language}", title, *figures(segment, lines)] for title, segment in segmenters.items()]
            print(f"{name}, {language}: {len(lines):,} lines", file=sys.stderr)
    print(as_table(["text", "by", "precision", "recall", "F1", "CPU s per MB"], rows))
    if args.hostile:
        print(as_table(["a line of", "by", "CPU s", "twice as long"], hostile(dict(installed("en")), args.hostile)))


def installed(language: str) -> Iterator[tuple[str, Segment]]:
    """Our rules, and those libraries that are installed."""
    yield "seq2seq", segment
    if importlib.util.find_spec("pysbd"):
        import pysbd

        yield "pysbd", pysbd.Segmenter(language=language, clean=False).segment
    if importlib.util.find_spec("sentence_splitter"):
        from sentence_splitter import SentenceSplitter

        yield "sentence-splitter", SentenceSplitter(language=language).split
    if importlib.util.find_spec("blingfire"):
        import blingfire

        yield "BlingFire", lambda text: blingfire.text_to_sentences(text).split("\n")


def segment(text: str) -> list[str]:
    """The sentences of a text by our rules."""
    ends = [0, *sentence_ends(text), len(text)]
    return [text[start:end] for start, end in pairwise(ends)]


def cases(language: str) -> dict[str, Marked]:
    """The cases of our tests: those that we wrote the rules with, and those that we did not look at before."""
    return {
        name: [
            line.split("|")
            for line in (CASES / f"{name}.{language}.txt").read_text(encoding="utf-8").splitlines()
            if not line.startswith("#")
        ]
        for name in ("known", "held_out")
    }


def joined(folder: Path | None, language: str, n_lines: int, segmenters: dict[str, Segment]) -> dict[str, Marked]:
    """Lines of two or three sentences of each file. Lines that all libraries find to be several sentences are not used.

    Our rules have no say in this. So sentences that only they find within a line count against them.
    """
    theirs = [segment for title, segment in segmenters.items() if title != "seq2seq"]
    made: dict[str, Marked] = {}
    for file in sorted(folder.glob(f"**/*.{language}*")) if folder else ():
        drawn = random.Random(SEED)
        clean = sorted({line.strip() for line in read_lines(file) if CLEAN.fullmatch(line.strip())})
        drawn.shuffle(clean)
        clean = clean[: 4 * n_lines]
        if theirs:
            clean = [line for line in clean if not all(len(segment(line)) > 1 for segment in theirs)]
        sizes = [drawn.choice((2, 3)) for _ in range(n_lines)]
        ends = [end for end in accumulate(sizes) if end <= len(clean)]
        if ends:
            made[file.name.partition(".")[0]] = [clean[a:b] for a, b in zip([0, *ends], ends, strict=False)]
    return made


def figures(segment: Segment, lines: Marked) -> list[str]:
    """Precision, recall and F1 of the boundaries in percent, and CPU seconds per MB."""
    texts = [" ".join(line) for line in lines]
    start = time.process_time()
    found = [segment(text) for text in texts]
    elapsed_s = time.process_time() - start
    n_right = n_found = n_marked = 0
    for line, parts in zip(lines, found, strict=True):
        marked, boundaries = places(line), places(parts)
        n_right, n_found, n_marked = (
            n_right + len(marked & boundaries),
            n_found + len(boundaries),
            n_marked + len(marked),
        )
    precision, recall = n_right / max(n_found, 1), n_right / max(n_marked, 1)
    f1 = 2 * precision * recall / max(precision + recall, 1e-9)
    n_bytes = sum(len(text.encode()) for text in texts)
    return [*(f"{100 * share:.1f}" for share in (precision, recall, f1)), f"{elapsed_s / n_bytes * 1e6:.2f}"]


def places(sentences: Sequence[str]) -> set[int]:
    """The boundaries between sentences, each as the number of characters before it that are no white space."""
    sizes = [len("".join(sentence.split())) for sentence in sentences]
    return set(accumulate(sizes)) - {sum(sizes), 0}


def hostile(segmenters: dict[str, Segment], n_bytes: int) -> list[list[str]]:
    """CPU seconds that one long line of each kind takes, and a line of twice the length."""
    rows = []
    for name, unit in HOSTILE.items():
        for title, segment in segmenters.items():
            elapsed_s = []
            for length in (n_bytes, 2 * n_bytes):
                text = unit * (length // len(unit.encode()))
                start = time.process_time()
                segment(text)
                elapsed_s.append(time.process_time() - start)
            rows.append([name, title, *(f"{seconds:.2f}" for seconds in elapsed_s)])
    return rows


if __name__ == "__main__":
    main()
