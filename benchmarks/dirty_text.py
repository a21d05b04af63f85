"""How much dirt each rule finds, and how much good text it takes:  python benchmarks/dirty_text.py --data DIR

Makes a dirty copy of each corpus in DIR (multi30k, news, tatoeba) with faults of known kinds at known rates, always the
same ones for a seed. Prints, in Markdown, for each fault how many pairs cleaning finds, and for each rule its precision
(the share of what it drops that is dirty) and its recall (the share of the fault that it is for).

    --speed N     instead, cleans N synthetic pairs, and prints pairs a second and peak memory
    --train OUT   also writes original, dirty and cleaned text of multi30k to OUT and trains on each:
                  three trainings of --steps (experiment=multi30k_fast), then prints their BLEU
"""

import argparse
import json
import random
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from seq2seq.config import CleanConfig, DataConfig
from seq2seq.config.clean import NEAR_DUPLICATE, CorpusCleanConfig
from seq2seq.config.sources import SourcePath
from seq2seq.corpus.cleaning.held_out import HeldOut
from seq2seq.corpus.cleaning.measures import RULES
from seq2seq.corpus.judge import DUPLICATE, NEAR_OVERLAP, OVERLAP, Judge, JudgeInOrder
from seq2seq.corpus.reader import read_pairs
from seq2seq.corpus.sources import find_source

ROOT = Path(__file__).parent.parent
Pair = tuple[str, str]
_RUN = 10  # pairs in a row whose targets are shifted by one line
_CORPORA = {
    "multi30k": (["train"], ["val", "test_2016_flickr"]),
    "news": (["news-test2008", "newstest2009", "newstest2010", "newstest2011"], ["newstest2012"]),
    "tatoeba": (["fra-eng.tsv"], []),
}
# Which rules are for which fault.
_MEANT_FOR = {
    "swapped": ["language"],
    "copy": ["copy"],
    "mojibake": ["mojibake"],
    "entities": ["entities"],
    "tags": ["tags"],
    "control": ["control"],
    "loop": ["repetition"],
    "symbols": ["letters"],
    "cut": ["char_ratio"],
    "number": ["numbers"],
    "address": ["urls"],
    "shifted": ["numbers", "punctuation", "char_ratio"],
    DUPLICATE: [DUPLICATE],
    NEAR_DUPLICATE: [NEAR_DUPLICATE],
    OVERLAP: [OVERLAP],
    NEAR_OVERLAP: [NEAR_OVERLAP],
}


def swapped(pair: Pair, draw: random.Random) -> Pair | None:
    return pair[1], pair[0]


def copied(pair: Pair, draw: random.Random) -> Pair | None:
    return (pair[0], pair[0]) if draw.random() < 0.5 else (pair[1], pair[1])


def mojibake(pair: Pair, draw: random.Random) -> Pair | None:
    broken = tuple(side.encode().decode("cp1252", errors="replace") for side in pair)
    return (broken[0], broken[1]) if broken != pair else None


def entities(pair: Pair, draw: random.Random) -> Pair | None:
    escaped = [side.replace("&", "&amp;").replace('"', "&quot;").replace("'", "&#39;") for side in pair]
    return (escaped[0], escaped[1]) if escaped != list(pair) else None


def tags(pair: Pair, draw: random.Random) -> Pair | None:
    return f"<b>{pair[0]}</b>", f'<a href="/x">{pair[1]}'


def control(pair: Pair, draw: random.Random) -> Pair | None:
    place = draw.randrange(len(pair[0]) + 1)
    return pair[0][:place] + draw.choice("\u200b\u00ad\ufeff\x01\x85") + pair[0][place:], pair[1]


def loop(pair: Pair, draw: random.Random) -> Pair | None:
    """As a translation model that goes round in circles."""
    words = pair[1].split()
    start = draw.randrange(len(words))
    phrase = words[start : start + draw.randint(1, 4)]
    return pair[0], " ".join(words[:start] + phrase * draw.randint(4, 8))


def symbols(pair: Pair, draw: random.Random) -> Pair | None:
    return pair[0], "".join(draw.choices("0123456789|/-_=+*#~ ", k=max(10, len(pair[1]))))


def cut(pair: Pair, draw: random.Random) -> Pair | None:
    return (pair[0], pair[1][: len(pair[1]) // 8].strip() or "I") if len(pair[1]) > 40 else None


def number(pair: Pair, draw: random.Random) -> Pair | None:
    digits = [place for place, character in enumerate(pair[1]) if character.isdigit()]
    if not digits:
        return None
    place = draw.choice(digits)
    other = draw.choice([digit for digit in "123456789" if digit != pair[1][place]])
    return pair[0], pair[1][:place] + other + pair[1][place + 1 :]


def address(pair: Pair, draw: random.Random) -> Pair | None:
    return pair[0], f"{pair[1]} https://example.org/{draw.randrange(10_000)}"


_FAULTS: dict[str, Callable[[Pair, random.Random], Pair | None]] = {
    "swapped": swapped,
    "copy": copied,
    "mojibake": mojibake,
    "entities": entities,
    "tags": tags,
    "control": control,
    "loop": loop,
    "symbols": symbols,
    "cut": cut,
    "number": number,
    "address": address,
}


def nearly(pair: Pair, draw: random.Random) -> Pair:
    """One word less in one side, as between two editions of a page."""
    sides = [side.split() for side in pair]
    side = sides[draw.randrange(2)]
    if len(side) > 1:
        side.pop(draw.randrange(len(side)))
    return " ".join(sides[0]), " ".join(sides[1])


def dirty(pairs: Sequence[Pair], held_out: Sequence[Pair], rate: float, seed: int) -> list[tuple[Pair, str]]:
    """A dirty copy: each pair with the name of its fault, or "". Each fault has about `rate` of the pairs."""
    draw = random.Random(seed)
    found: list[tuple[Pair, str]] = [(pair, "") for pair in pairs]
    n = round(rate * len(pairs))
    places = draw.sample(range(len(pairs)), len(pairs))
    for name, spoil in _FAULTS.items():
        left = n
        skipped = []
        while left and places:
            place = places.pop()
            spoiled = spoil(found[place][0], draw)
            if spoiled is None:
                skipped.append(place)
                continue
            found[place] = (spoiled, name)
            left -= 1
        places = skipped[::-1] + places
    for start in draw.sample(range(0, len(pairs) - _RUN, _RUN), n // _RUN):
        rows = [row for row in range(start, start + _RUN) if not found[row][1]]
        targets = [found[row][0][1] for row in rows]
        for row, target in zip(rows, targets[1:] + targets[:1], strict=True):
            if target != found[row][0][1]:
                found[row] = ((found[row][0][0], target), "shifted")
    more = []
    clean_rows = [row for row, (_, fault) in enumerate(found) if not fault]
    for kind, change in ((DUPLICATE, lambda pair, _: pair), (NEAR_DUPLICATE, nearly)):
        for row in draw.sample(clean_rows, min(n, len(clean_rows))):
            more.append((draw.randint(row + 1, len(pairs)), (change(found[row][0], draw), kind)))
    for kind, change in ((OVERLAP, lambda pair, _: (pair[0].upper(), pair[1])), (NEAR_OVERLAP, nearly)):
        for pair in draw.sample(list(held_out), min(n, len(held_out))):
            more.append((draw.randrange(len(pairs)), (change(pair, draw), kind)))
    for place, record in sorted(more, key=lambda each: -each[0]):
        found.insert(place, record)
    return found


def dropped_by_rule(pairs: Sequence[Pair], held_out: Sequence[Pair]) -> dict[str, np.ndarray]:
    """Which pairs each rule drops if it is the only one."""
    alone = {
        DUPLICATE: DataConfig(drop_duplicates=True),
        NEAR_DUPLICATE: DataConfig(clean=CorpusCleanConfig(rules=[NEAR_DUPLICATE])),
        OVERLAP: DataConfig(drop_overlap="exact"),
        NEAR_OVERLAP: DataConfig(drop_overlap="near"),
    }
    found = {}
    for name, config in alone.items():
        found[name] = _is_dropped(config, held_out, pairs)
    for name, values in Judge(DataConfig(clean=CleanConfig(rules="all"))).judge(pairs).measured.items():
        found[name] = values > getattr(CleanConfig(), name)
    return found


def _is_dropped(config: DataConfig, held_out: Sequence[Pair], pairs: Sequence[Pair]) -> np.ndarray:
    judge = JudgeInOrder(config, HeldOut(held_out, near=True))
    blocks = (pairs[start : start + 10_000] for start in range(0, len(pairs), 10_000))
    return np.concatenate([judge.judge(block).reasons >= 0 for block in blocks])


def tables(corpus: str, records: Sequence[tuple[Pair, str]], held_out: Sequence[Pair]) -> None:
    pairs, faults = [pair for pair, _ in records], np.array([fault for _, fault in records])
    found = dropped_by_rule(pairs, held_out)
    clean = CorpusCleanConfig(rules=["default", NEAR_DUPLICATE])
    is_dropped = _is_dropped(DataConfig(clean=clean, drop_duplicates=True, drop_overlap="near"), held_out, pairs)
    good = faults == ""
    print(f"\n### {corpus}: {len(pairs):,} pairs, {(~good).sum():,} of them dirty\n")
    print("| fault | pairs | found by all | found by the rules that are meant for it |\n|---|---:|---:|---|")
    for fault, meant in _MEANT_FOR.items():
        rows = faults == fault
        if rows.any():
            each = ", ".join(f"{name} {found[name][rows].mean():.0%}" for name in meant)
            print(f"| {fault} | {rows.sum():,} | {is_dropped[rows].mean():.1%} | {each} |")
    print(f"| none | {good.sum():,} | {is_dropped[good].mean():.2%} | |")
    print("\n| rule | drops | precision | recall of its fault | good pairs dropped |\n|---|---:|---:|---:|---:|")
    for name in [rule.name for rule in RULES] + [DUPLICATE, NEAR_DUPLICATE, OVERLAP, NEAR_OVERLAP]:
        rows = found[name]
        meant = [fault for fault, rules in _MEANT_FOR.items() if rules[0] == name and fault != "shifted"]
        recall = f"{rows[faults == meant[0]].mean():.1%}" if meant and (faults == meant[0]).any() else ""
        precision = f"{(rows & ~good).sum() / rows.sum():.1%}" if rows.any() else ""
        print(f"| {name} | {rows.sum():,} | {precision} | {recall} | {rows[good].mean():.3%} |")


def read(folder: Path, names: Sequence[str]) -> list[Pair]:
    config = DataConfig(dir=str(folder), src_lang="fr", tgt_lang="en", tsv_columns=["en", "fr"])
    return [pair for name in names for pair in read_pairs(find_source(config, SourcePath(name)))]


def corpora(folder: Path) -> Iterator[tuple[str, list[Pair], list[Pair]]]:
    for name, (train, held_out) in _CORPORA.items():
        if (folder / name).is_dir():
            pairs = read(folder / name, train)
            yield (name, pairs, read(folder / name, held_out)) if held_out else (name, pairs[::2], [])


def speed(n_pairs: int, rules: list[str]) -> None:
    """Clean synthetic pairs of 12 words a side with words of French and English."""
    draw = random.Random(1)
    words = [Path(ROOT / f"data/sample/train.{language}").read_text().split() for language in ("fr", "en")]
    sides = [list(set(each)) for each in words]

    def pairs() -> Iterator[Pair]:
        for _ in range(n_pairs):
            n = draw.randint(6, 18)
            yield " ".join(draw.choices(sides[0], k=n)), " ".join(draw.choices(sides[1], k=n))

    for _ in pairs():  # what making them costs
        pass
    draw, start = random.Random(1), time.process_time()
    made = sum(1 for _ in pairs())
    making_s = time.process_time() - start
    judge = JudgeInOrder(DataConfig(clean=CorpusCleanConfig(rules=rules), drop_duplicates=True))
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    start, reader = time.process_time(), pairs()
    while block := list(islice(reader, 10_000)):
        judge.judge(block)
    taken = time.process_time() - start - making_s
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(f"{' '.join(rules)}: {made:,} pairs, {made / taken:,.0f} pairs a second of one core")
    print(f"peak memory {peak / 1024:,.0f} MB, {before / 1024:,.0f} MB before")
    print(f"{(peak - before) * 1024 / made:.0f} bytes a pair")


def train(folder: Path, out: Path, rate: float, seed: int, steps: int) -> None:
    """Train on original, dirty and cleaned multi30k, in as many steps; the dirty text is cleaned by the run itself."""
    pairs, held_out = (read(folder / "multi30k", names) for names in _CORPORA["multi30k"])
    records = dirty(pairs, held_out, rate, seed)
    texts = {"original": list(pairs), "dirty": [pair for pair, _ in records]}
    for name, text in texts.items():
        (out / name).mkdir(parents=True, exist_ok=True)
        for number, language in enumerate(("fr", "en")):
            (out / name / f"train.{language}").write_text("".join(f"{pair[number]}\n" for pair in text))
    cleaning = ["data.clean.rules=default", "data.drop_duplicates=true", "data.drop_overlap=near"]
    for name, text, more in (("original", "original", []), ("dirty", "dirty", []), ("cleaned", "dirty", cleaning)):
        run = out / "runs" / name
        words = [
            sys.executable, "train.py", "experiment=multi30k_fast", f"data.dir={folder / 'multi30k'}",
            f"data.train={out.absolute() / text / 'train'}", "data.valid=val", "data.test={test: test_2016_flickr}",
            "trainer.max_epochs=0", f"trainer.max_steps={steps}", "trainer.max_time=", "logger.wandb=false",
            f"run_dir={run.absolute()}", *more,
        ]  # fmt: skip
        print(" ".join(words), flush=True)
        subprocess.run(words, cwd=ROOT, check=True)
        print(name, json.loads((run / "scores.json").read_text()), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, help="a folder with multi30k, news and tatoeba")
    parser.add_argument("--rate", type=float, default=0.01, help="share of the pairs that have each fault")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--speed", type=int, metavar="N")
    parser.add_argument("--rules", nargs="+", default=["default", NEAR_DUPLICATE], help="for --speed")
    parser.add_argument("--train", type=Path, metavar="OUT")
    parser.add_argument("--steps", type=int, default=1000, help="of each training; 159 are an epoch of the original")
    args = parser.parse_args()
    if args.speed:
        speed(args.speed, args.rules)
        return
    if args.data is None:
        parser.error("--data is needed: a folder with multi30k, news and tatoeba")
    for name, pairs, held_out in corpora(args.data):
        tables(name, dirty(pairs, held_out, args.rate, args.seed), held_out)
    if args.train:
        train(args.data, args.train, args.rate, args.seed, args.steps)


if __name__ == "__main__":
    main()
