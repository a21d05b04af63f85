"""What is the encoder of a translation model worth?  python benchmarks/classify_encoders.py --corpora DIR --encoder RUN

It trains classifiers on 100, 1,000 and 10,000 labelled sentences: with a fresh encoder, with that of a translation
model as it is (frozen), and with that encoder trained on (finetuned). The task: from which corpus is a French
sentence of which one knows the first words? DIR has multi30k/, tatoeba/ and news/. benchmarks/README.md says more.
"""

import argparse
import json
import os
import random
import statistics
import subprocess
import sys
import time
from pathlib import Path

from rounds import as_table

from seq2seq.corpus.reader import read_lines

ROOT = Path(__file__).parent.parent
FILES = {  # of train, valid, test
    "captions": ("multi30k/train.fr.gz", "multi30k/val.fr.gz", "multi30k/test_2016_flickr.fr.gz"),
    "everyday": ("tatoeba/train.fr", "tatoeba/valid.fr-en.fr", "tatoeba/test.fr-en.fr"),
    "news": ("news/train.fr", "news/valid.fr", "news/test.fr"),
}
N_VALID, N_TEST = 300, 3000
# Sentences: seeds, epochs, tokens of a batch, pieces of a vocabulary that is learned from them.
SIZES = {100: (3, 30, 128, 400), 1000: (2, 12, 256, 1000), 10_000: (1, 5, 512, 4000)}
RATES = {"fresh": 1e-3, "frozen": 1e-2, "finetuned": 3e-4}  # without an encoder to spoil, a rate may be high


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--corpora", type=Path, required=True, metavar="DIR")
    parser.add_argument("--encoder", type=Path, required=True, metavar="RUN", help="a translation model from French")
    parser.add_argument("--work", type=Path, default=Path("classify_encoders"), metavar="DIR", help="for text and runs")
    parser.add_argument("--words", type=int, default=3, help="of each sentence; 0: all")
    parser.add_argument("--sizes", type=int, nargs="+", default=list(SIZES), choices=SIZES)
    args = parser.parse_args()
    rows = []
    for n in args.sizes:
        n_seeds, *settings = SIZES[n]
        for encoder in RATES:
            found = [train(args, n, seed, encoder, *settings) for seed in range(1, n_seeds + 1)]
            accuracy, macro_f1, half_width, seconds = (list(column) for column in zip(*found, strict=True))
            scores = ", ".join(f"{each:.3f}" for each in accuracy)
            means = (f"{statistics.mean(each):.3f}" for each in (accuracy, macro_f1))
            rows.append([f"{n:,}", encoder, *means, f"± {max(half_width):.3f}", scores, f"{sum(seconds):.0f}"])
            print(*rows[-1], file=sys.stderr, flush=True)
    heads = ["sentences", "encoder", "accuracy", "macro F1", "interval", "accuracy of each seed", "CPU s"]
    print(as_table(heads, rows))


def train(
    args: argparse.Namespace, n: int, seed: int, encoder: str, epochs: int, max_tokens: int, vocab_size: int
) -> tuple[float, float, float, float]:
    """Accuracy, macro F1 and half the interval of the accuracy on the test set, and seconds of CPU."""
    data, run = args.work / f"text_{n}_{seed}", args.work / f"{n}_{encoder}_{seed}"
    write_text(args.corpora, data, n, seed, args.words)
    words = [
        *(f"data.dir={data}", f"run_dir={run}", "logger=csv", "trainer=cpu", "trainer.threads=1"),
        *(f"seed={seed}", "model=small", f"tokenizer.vocab_size={vocab_size}", "data.max_sentence_tokens=100"),
        *(f"batch.max_tokens={max_tokens}", f"trainer.max_epochs={epochs}", f"optim.lr={RATES[encoder]}"),
        *(f"classify.encoder={encoder}", "trainer.progress=false", f"data.cache_dir={args.work / 'cache'}"),
    ]
    if encoder != "fresh":
        words = [word for word in words if not word.startswith(("model=", "tokenizer."))]
        words.append(f"finetune={args.encoder}")
    before = os.times()
    began = time.time()
    subprocess.run(
        [sys.executable, str(ROOT / "train.py"), "experiment=classify", *words],
        check=True,
        stdout=subprocess.DEVNULL,
        stderr=(args.work / f"{run.name}.log").open("w"),
    )
    after = os.times()
    seconds = after.children_user + after.children_system - before.children_user - before.children_system
    scores = json.loads((run / "scores.json").read_text())["test"]
    print(f"{run.name}: {seconds:.0f} s of CPU, {time.time() - began:.0f} s", file=sys.stderr, flush=True)
    accuracy = scores["accuracy"]
    return accuracy["score"], scores["macro_f1"]["score"], accuracy["half_width"], seconds


def write_text(corpora: Path, folder: Path, n: int, seed: int, n_words: int) -> None:
    """Labelled text: `n` sentences to train on, drawn anew for each seed; valid and test are always the same."""
    folder.mkdir(parents=True, exist_ok=True)
    for split, (name, n_lines) in enumerate({"train": n, "valid": N_VALID, "test": N_TEST}.items()):
        rng = random.Random(seed if name == "train" else 0)
        lines = []
        for place, (label, files) in enumerate(FILES.items()):
            texts = sorted({beginning(line, n_words) for line in read_lines(corpora / files[split])} - {""})
            share = n_lines // len(FILES) + (place < n_lines % len(FILES))
            lines += [f"{text}\t{label}\n" for text in rng.sample(texts, min(share, len(texts)))]
        rng.shuffle(lines)
        (folder / f"{name}.tsv").write_text("".join(lines), encoding="utf-8")


def beginning(line: str, n_words: int) -> str:
    words = line.split()
    return " ".join(words[:n_words] if n_words else words)


if __name__ == "__main__":
    main()
