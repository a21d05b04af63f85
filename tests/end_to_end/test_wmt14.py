"""The paper's experiments on WMT14: their numbers, and the way from files as statmt.org ships them to scores."""

import gzip
import json
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from seq2seq.config import ModelConfig, RunConfig, read_config
from seq2seq.dataset.prepare import prepare
from seq2seq.evaluation.scores import TEST_METRICS
from seq2seq.training.optimizer import learning_rate
from tests.config.test_config import composed
from tests.places import ROOT
from tests.training.tiny_runs import train_with

pytestmark = pytest.mark.slow

Pairs = list[tuple[str, str]]  # French, English
SMALL = [
    "tokenizer.vocab_size=600",
    "model.d_model=16",
    "model.n_heads=2",
    "model.d_ff=24",
    "model.n_encoder_layers=1",
    "model.n_decoder_layers=1",
    "trainer.max_steps=2",
    "trainer.val_every_n_steps=1",
    "trainer.accelerator=cpu",
    "trainer.precision=32-true",
    "trainer.threads=1",
    "trainer.progress=false",
    "logger=csv",
]


def sample(split: str) -> Pairs:
    sides = ((ROOT / f"data/sample/{split}.{language}").read_text(encoding="utf-8") for language in ("fr", "en"))
    pairs = zip(*(text.split("\n")[:-1] for text in sides), strict=True)
    return [(fr, en) for fr, en in pairs if max(len(fr), len(en)) < 1.1 * min(len(fr), len(en))]


def write(folder: Path, name: str, pairs: Pairs, end: str = "\n", suffix: str = "") -> None:
    (folder / name).parent.mkdir(parents=True, exist_ok=True)
    for language, side in zip(("fr", "en"), zip(*pairs, strict=True), strict=True):
        text = "".join(f"{line}{end}" for line in side).encode()
        (folder / f"{name}.{language}{suffix}").write_bytes(gzip.compress(text) if suffix == ".gz" else text)


VALID = sample("valid")[:20]
TEST = [
    *sample("test")[:12],
    ("Oui\u202f!", "Yes, and this is what nobody would say with one word."),
    ("Où ? " * 90, "Where?"),
]


@pytest.fixture(scope="module")
def wmt14(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Every file under its name: in each part 70 pairs of the sample corpus, and what else occurs in such text."""
    folder = tmp_path_factory.mktemp("wmt14")
    text = iter(sample("train"))
    europarl, crawl, un, news, giga = (list(islice(text, 70)) for _ in range(5))
    one_sided = [("", "(The sitting was closed at 8.25 p.m.)"), ("Reprise de la session", " \u00a0")]
    write(folder, "training/europarl-v7.fr-en", [*europarl, *one_sided])
    lopsided = ("Accueil", "Home page of the hotel with all of its rooms and prices")
    split_line = ("Une chambre\u2028double.\u0085", "A double\u2028room.\u0085")
    write(folder, "commoncrawl.fr-en", [lopsided, split_line, *crawl], end="\r\n")
    write(folder, "un/undoc.2000.fr-en", [*un, *un[:9]])
    spaced = ("«\u00a0Pourquoi\u202f?\u00a0», a-t-il dit.", "“Why?” is what he said.")
    write(folder, "training/news-commentary-v9.fr-en", [spaced, *news])
    overlong = ("et la liste " * 120, "and the list " * 120)
    write(folder, "giga-fren.release2.fixed", [*giga, overlong], suffix=".gz")
    write(folder, "newstest2013", VALID)
    write(folder, "newstest2014", TEST)
    return folder


@pytest.fixture(scope="module")
def config(wmt14: Path) -> RunConfig:
    places = [f"data.dir={wmt14}", f"data.cache_dir={wmt14 / 'cache'}", f"run_dir={wmt14 / 'run'}"]
    return read_config(composed("experiment=wmt14_base", *SMALL, *places))


def test_every_part_is_read_and_each_rejection_counted(config: RunConfig) -> None:
    splits = prepare(config).report["splits"]
    train = splits["train"]
    assert train["pairs_read"] == 5 * 70 + 2 + 2 + 9 + 1 + 1
    assert Counter(train["rejected"]) == Counter(empty=2, too_long=1, length_ratio=1)
    assert train["duplicate_pairs"] == 9
    assert [Path(file).name for file in train["files"]] == [
        "europarl-v7.fr-en.en", "europarl-v7.fr-en.fr",
        "commoncrawl.fr-en.en", "commoncrawl.fr-en.fr",
        "undoc.2000.fr-en.en", "undoc.2000.fr-en.fr",
        "news-commentary-v9.fr-en.en", "news-commentary-v9.fr-en.fr",
        "giga-fren.release2.fixed.en.gz", "giga-fren.release2.fixed.fr.gz",
    ]  # fmt: skip
    assert list(splits) == ["train", "valid", "test/newstest2014"]


def test_two_steps_end_in_scores_of_french(config: RunConfig) -> None:
    train_with(config)
    run_dir = Path(config.run_dir)
    scores = json.loads((run_dir / "scores.json").read_text())
    assert scores.keys() == {"newstest2014"}
    assert scores["newstest2014"].keys() == set(TEST_METRICS)
    assert "tok:moses-fr" in scores["newstest2014"]["bleu_legacy_tok"]["signature"]
    for folder in ("hypotheses", "references"):
        assert len((run_dir / folder / "newstest2014.fr").read_text().split("\n")) == len(TEST) + 1
    candidates = json.loads((run_dir / "selection.json").read_text())["valid"]
    assert "average of the last 2 validations" in candidates


def test_the_commands_of_the_readme_make_every_file_that_is_read() -> None:
    data = read_config(composed("experiment=wmt14_base")).data
    readme = (ROOT / "data/wmt14/README.md").read_text(encoding="utf-8")
    commands = {word for line in readme.split("\n") if line.startswith("    ") for word in line.split()}
    for source in (*data.train, data.valid, data.test):
        for language in ("fr", "en"):
            assert commands & {f"{source}.{language}", f"{source}.{language}.gz"}


# --- the paper's numbers, in what the experiments are without any override ---


@pytest.mark.parametrize(
    ("experiment", "d_model", "d_ff", "n_heads", "n_steps", "n_averaged"),
    [("wmt14_base", 512, 2048, 8, 100_000, 5), ("wmt14_big", 1024, 4096, 16, 300_000, 20)],
)
def test_an_experiment_has_the_settings_of_vaswani_2017(
    experiment: str, d_model: int, d_ff: int, n_heads: int, n_steps: int, n_averaged: int
) -> None:
    config = read_config(composed(f"experiment={experiment}"))
    model, optim, trainer, decoding = config.model, config.optim, config.trainer, config.decoding
    # Table 3 and sections 3.1, 3.4, 3.5, 5.4
    assert model == ModelConfig(
        d_model=d_model, n_heads=n_heads, d_ff=d_ff, n_encoder_layers=6, n_decoder_layers=6, norm="post"
    )
    assert (model.norm, model.activation, model.positions, model.embeddings) == ("post", "relu", "sinusoidal", "shared")
    assert (model.dropout, model.attention_dropout, model.activation_dropout) == (0.1, 0.0, 0.0)
    # Section 5.1, and 6.1 for the direction
    assert (config.data.src_lang, config.data.tgt_lang) == ("en", "fr")
    assert config.tokenizer.vocab_size == 32_000
    assert config.batch.max_tokens * config.batch.accumulate * trainer.devices * trainer.n_nodes == 25_000
    # Sections 5.3 and 5.4
    assert (optim.beta1, optim.beta2, optim.eps, optim.weight_decay) == (0.9, 0.98, 1e-9, 0.0)
    assert (optim.label_smoothing, optim.clip_norm) == (0.1, 0.0)
    for step in (1, 4000, 100_000):
        paper = d_model**-0.5 * min(step**-0.5, step * 4000**-1.5)
        assert learning_rate(step, optim, trainer.max_steps) == pytest.approx(paper)
    # Sections 5.2 and 6.1
    assert (trainer.max_steps, trainer.max_epochs, trainer.patience) == (n_steps, 0, 0)
    assert n_steps % trainer.val_every_n_steps == 0  # so that the last weights are among those averaged
    assert trainer.average_last == n_averaged
    assert (decoding.beam_size, decoding.normalization, decoding.alpha) == (4, "gnmt", 0.6)
    assert (decoding.max_length_a, decoding.max_length_b) == (1.0, 50)
