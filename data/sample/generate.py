"""Write the sample corpus:  python data/sample/generate.py

The files come out the same, byte for byte, on every run and every supported Python.
"""

import argparse
from collections import Counter
from pathlib import Path

from grammar.drafts import Sentence
from grammar.splits import Corpus, divide, forms

SEED = 2017


def write_lines(path: Path, lines: list[str]) -> None:
    path.write_bytes("".join(line + "\n" for line in lines).encode())  # bytes, so "\n" stays "\n" everywhere


def write_split(folder: Path, name: str, sentences: list[Sentence]) -> None:
    write_lines(folder / f"{name}.fr", [sentence.fr for sentence in sentences])
    write_lines(folder / f"{name}.en", [sentence.en for sentence in sentences])


def lemma_lines(corpus: Corpus) -> list[str]:
    """Each word of the training set: lemma, part of speech, sentences it occurs in, its possible forms."""
    counts = Counter(word for sentence in corpus.train for word in sentence.words)
    lines = ["lemma\tpart_of_speech\ttrain_sentences\tforms"]
    for key, count in sorted(counts.items()):
        part_of_speech, _, lemma = key.partition(":")
        lines.append(f"{lemma}\t{part_of_speech}\t{count}\t{','.join(sorted(forms(key)))}")
    return lines


def held_out_lines(corpus: Corpus) -> list[str]:
    """Each pair of words that never meet in a training sentence, with their forms."""
    lines = ["word\tforms\tother_word\tother_forms"]
    for pair in corpus.held_out:
        first, second = (f"{key}\t{','.join(sorted(forms(key)))}" for key in pair)
        lines.append(f"{first}\t{second}")
    return lines


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path(__file__).parent, help="folder to write to")
    out: Path = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    corpus = divide(SEED)
    write_split(out, "train", corpus.train)
    write_split(out, "valid", corpus.valid)
    write_split(out, "test", corpus.test)
    write_lines(out / "test.tags", ["novel" if s.fr in corpus.novel else "seen" for s in corpus.test])
    write_lines(out / "lemmas.tsv", lemma_lines(corpus))
    write_lines(out / "held_out.tsv", held_out_lines(corpus))
    sizes = f"{len(corpus.train)} train, {len(corpus.valid)} valid, {len(corpus.test)} test pairs"
    print(f"{sizes} ({len(corpus.novel)} novel), {len(corpus.held_out)} held-out word pairs -> {out}")


if __name__ == "__main__":
    main()
