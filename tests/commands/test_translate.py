"""The command line that translates files and streams: every option of it."""

import argparse
import bz2
import gzip
import json
import lzma
import os
import pickle
import re
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
import zstandard

from seq2seq.artifacts.checkpoint import write_checkpoint
from seq2seq.commands import translate
from seq2seq.evaluation import scores
from seq2seq.translation.translator import Translator
from tests.places import ROOT
from tests.translating import (
    SENTENCES,
    TEXT,
    Cli,
    Stream,
    model_content,
    run_cli,
    sentences,
    trained_content,
    write_run,
)
from tests.translation.test_output import device, needs_devices

GREEDY = ("--beam-size", "1")
PAIRS = sentences(12)
SOURCES, REFERENCES = (list(sides) for sides in zip(*PAIRS, strict=True))
LEARNED = "".join(f"{line}\n" for line in SOURCES)

# Each option, and a test below that fails if it does nothing. A new option has no line here before it has a test.
OPTIONS = {
    "--help": "test_help_and_mistyped_options_do_not_wait_for_torch",
    "--model": "test_several_models_are_an_ensemble",
    "--quiet": "test_the_report_counts_lines_and_kinds_of_warnings",
    "--input": "test_files_are_plain_or_compressed_by_their_names",
    "--output": "test_files_are_plain_or_compressed_by_their_names",
    "--resume": "test_what_is_complete_is_not_translated_again",
    "--errors": "test_text_that_is_not_utf_8_is_refused_or_replaced",
    "--prefix": "test_each_translation_begins_with_its_prefix",
    "--tag": "test_a_tag_says_what_kind_of_text_it_is",
    "--json": "test_json_has_all_there_is_to_say",
    "--n-best": "test_n_best_lists_are_tables",
    "--nbest": "test_n_best_lists_are_tables",
    "--token-scores": "test_token_scores_sum_to_the_log_probability",
    "--alignment": "test_alignments_are_in_the_format_of_pharaoh",
    "--typography": "test_french_typography_is_restored",
    "--reference": "test_scores_are_those_of_sacrebleu",
    "--compare": "test_another_translation_is_compared",
    "--score": "test_own_translations_get_their_own_scores",
    "--beam-size": "test_settings_of_the_search_reach_it",
    "--length-normalization": "test_settings_of_the_search_reach_it",
    "--alpha": "test_settings_of_the_search_reach_it",
    "--max-length": "test_translations_are_as_long_as_asked_for",
    "--min-length": "test_translations_are_as_long_as_asked_for",
    "--no-repeat-ngram": "test_nothing_is_repeated_where_that_is_forbidden",
    "--repetition-penalty": "test_nothing_is_repeated_where_that_is_forbidden",
    "--sample": "test_samples_depend_on_their_seed_alone",
    "--temperature": "test_samples_come_from_the_likelier_tokens",
    "--top-k": "test_samples_come_from_the_likelier_tokens",
    "--top-p": "test_samples_come_from_the_likelier_tokens",
    "--seed": "test_samples_depend_on_their_seed_alone",
    "--engine": "test_ctranslate2_writes_what_torch_writes",
    "--max-batch-tokens": "test_the_machine_s_options_reach_the_engine",
    "--device": "test_the_machine_s_options_reach_the_engine",
    "--precision": "test_the_machine_s_options_reach_the_engine",
    "--threads": "test_the_machine_s_options_reach_the_engine",
    "--workers": "test_one_worker_and_two_write_the_same",
}


def test_every_option_has_a_test() -> None:
    actions = translate._parser()._actions
    found = {option for action in actions for option in action.option_strings if option.startswith("--")}
    assert found == set(OPTIONS)
    assert all(callable(globals().get(name)) for name in OPTIONS.values())
    assert not [action.dest for action in actions if action.help in (None, argparse.SUPPRESS)]


@pytest.fixture(scope="module")
def run_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("run"), model_content())


@pytest.fixture(scope="module")
def cli(run_dir: Path) -> Cli:
    """With a random model."""
    return Cli(run_dir)


@pytest.fixture(scope="module")
def trained_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("trained"), trained_content())


@pytest.fixture(scope="module")
def trained(trained_dir: Path) -> Cli:
    return Cli(trained_dir)


@pytest.fixture(scope="module")
def translations(trained: Cli) -> list[str]:
    return trained.lines(LEARNED)


def write(path: Path, lines: Iterable[str]) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def read(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


# --- one line out for each line in ---


def test_what_was_learned_is_written(translations: list[str]) -> None:
    assert sum(line == reference for line, reference in zip(translations, REFERENCES, strict=True)) > 8


def test_lines_come_out_in_order_whatever_the_batches(cli: Cli) -> None:
    lines = cli.lines(TEXT * 2)
    assert len(lines) == 8
    assert len(set(lines)) == 4
    assert lines[:4] == lines[4:]
    assert cli.lines(TEXT * 2, "--max-batch-tokens", 1) == lines
    assert cli.lines("\n".join(SENTENCES[::-1])) == lines[3::-1]


# --- what is written ---


def test_n_best_lists_are_tables(cli: Cli) -> None:
    text = f"{SENTENCES[0]}\n\n{SENTENCES[1]}\n"
    best = cli.lines(text)
    rows = [line.split("\t") for line in cli.lines(text, "--n-best", 2)]
    assert [(number, rank) for number, rank, _, _ in rows] == [
        ("1", "1"), ("1", "2"), ("2", "1"), ("3", "1"), ("3", "2")
    ]  # fmt: skip
    assert [text for _, rank, _, text in rows if rank == "1"] == best
    assert rows[2][2:] == ["0.0000", ""]
    assert float(rows[0][2]) >= float(rows[1][2])
    assert len(cli.lines(TEXT, "--n-best", 1)[0].split("\t")) == 4
    assert cli.lines(text, "--nbest", 2) == cli.lines(text, "--n-best", 2)


def test_json_has_all_there_is_to_say(trained: Cli, trained_dir: Path) -> None:
    long = " ".join(SOURCES[:4])
    sources = [SOURCES[0], "", long, '\u2028 a\tb\x0b"c\\']
    lines = trained.lines("".join(f"{line}\n" for line in sources), "--json", "--n-best", 2)
    records = [json.loads(line) for line in lines]
    translator = Translator.load(trained_dir, device="cpu", precision="float32", threads=1)
    expected = translator.translate(sources, n_best=2)
    for number, (record, translation) in enumerate(zip(records, expected, strict=True), start=1):
        assert set(record) - {"parts"} == {"line", "source", "translation", "hypotheses", "warnings"}
        assert (record["line"], record["source"], record["translation"]) == (
            number, translation.source, translation.text
        )  # fmt: skip
        for each, alternative in zip(record["hypotheses"], translation.hypotheses, strict=True):
            assert set(each) == {"text", "score", "log_prob"}
            assert each["text"] == alternative.text
            assert (each["score"], each["log_prob"]) == pytest.approx(
                (alternative.score, alternative.log_prob), abs=1e-4
            )
        assert [(each["kind"], each["message"]) for each in record["warnings"]] == translation.findings
    assert records[1]["hypotheses"] == [{"text": "", "score": 0.0, "log_prob": 0.0}]
    assert ["parts" in record for record in records] == [False, False, True, False]
    assert " ".join(records[2]["parts"]) == long
    assert "split" in [each["kind"] for each in records[2]["warnings"]]


def test_token_scores_sum_to_the_log_probability(trained: Cli) -> None:
    lines = trained.lines(LEARNED, "--json", "--token-scores", "--n-best", 2)
    hypotheses = [each for line in lines for each in json.loads(line)["hypotheses"]]
    assert len(hypotheses) == 2 * len(SOURCES)
    for each in hypotheses:
        assert all(set(token) == {"piece", "log_prob"} for token in each["tokens"])
        assert sum(token["log_prob"] for token in each["tokens"]) == pytest.approx(each["log_prob"], abs=1e-3)
        pieces = [token["piece"] for token in each["tokens"]]
        assert pieces[-1] == "</s>"
        assert "".join(pieces[:-1]).replace("▁", " ").strip() == each["text"]


def test_alignments_are_in_the_format_of_pharaoh(trained: Cli, translations: list[str]) -> None:
    plain = trained.lines(LEARNED, "--alignment")
    assert [line.split(" ||| ")[0] for line in plain] == translations
    table = [line.split("\t") for line in trained.lines(LEARNED, "--alignment", "--n-best", 2)]
    assert {len(row) for row in table} == {5}
    records = [
        json.loads(line)["hypotheses"] for line in trained.lines(LEARNED, "--alignment", "--n-best", 2, "--json")
    ]
    by_rank: list[list[list[Any]]] = [table[0::2], table[1::2]]
    n_diagonal = n_words = 0
    for number, (source, line) in enumerate(zip(SOURCES, plain, strict=True)):
        text, alignment = line.split(" ||| ")
        assert re.fullmatch(r"(\d+-\d+( |$))+", alignment)
        pairs = [tuple(map(int, pair.split("-"))) for pair in alignment.split()]
        assert sorted(tgt for _, tgt in pairs) == list(range(len(text.split())))
        assert all(src < len(source.split()) for src, _ in pairs)
        n_diagonal += sum(src == tgt for src, tgt in pairs)
        n_words += len(pairs)
        assert by_rank[0][number][3:] == [text, alignment]
        for rank, each in enumerate(records[number]):
            assert by_rank[rank][number][3:] == [each["text"], each["alignment"]]
            (part,) = each["attention"]
            assert set(part) == {"source", "target", "weights"}
            assert len(part["weights"]) == len(part["target"])
            for row in part["weights"]:
                assert len(row) == len(part["source"])
                assert sum(row) <= 1 + 1e-4 * len(row)
    assert n_diagonal > 0.5 * n_words  # word n translates word n


def test_french_typography_is_restored(trained: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from seq2seq.tokenizer import Tokenizer

    monkeypatch.setattr(Tokenizer, "decode", lambda self, ids: ["L'eau « a » ?" for _ in ids])
    assert trained.lines("ba bi.\n") == ["L'eau « a » ?"]
    assert trained.lines("ba bi.\n", "--typography", "fr") == ["L’eau «\u202fa\u202f»\u202f?"]
    (record,) = map(json.loads, trained.lines("ba bi.\n", "--typography", "fr", "--json"))
    assert record["translation"] == record["hypotheses"][0]["text"] == "L’eau «\u202fa\u202f»\u202f?"


# --- the search ---


def test_settings_of_the_search_reach_it(cli: Cli) -> None:
    outputs = {
        options: cli.lines(TEXT, "--n-best", 1, *options)
        for options in (
            (),
            GREEDY,
            ("--length-normalization", "none"),
            ("--length-normalization", "gnmt"),
            ("--length-normalization", "gnmt", "--alpha", "0.3"),
        )
    }
    assert len({tuple(lines) for lines in outputs.values()}) == len(outputs)


def log_probs_and_scores(trained: Cli, *options: object) -> list[tuple[int, float, float]]:
    """Of each translation, how many tokens it has, its end included."""
    records = map(json.loads, trained.lines(LEARNED, "--json", "--token-scores", *options))
    return [
        (len(best["tokens"]), best["log_prob"], best["score"]) for (best,) in (each["hypotheses"] for each in records)
    ]


def test_scores_are_normalized_as_asked_for(trained: Cli) -> None:
    penalties: dict[str, Callable[[int], float]] = {
        "none": lambda n: 1.0,
        "length": lambda n: n**0.7,
        "gnmt": lambda n: ((5 + n) / 6) ** 0.7,
    }
    for name, penalty in penalties.items():
        for n, log_prob, score in log_probs_and_scores(trained, "--length-normalization", name, "--alpha", 0.7):
            assert score == pytest.approx(log_prob / penalty(n), rel=1e-6)


def n_tokens(trained: Cli, *options: object) -> list[int]:
    return [n for n, _, _ in log_probs_and_scores(trained, *options)]


def test_translations_are_as_long_as_asked_for(trained: Cli, translations: list[str]) -> None:
    usual = n_tokens(trained)
    assert 4 < max(usual) < 25 and min(usual) < 8
    assert max(n_tokens(trained, "--max-length", 0, 4)) == 4
    assert n_tokens(trained, "--max-length", 0, 4, *GREEDY) == [min(4, n) for n in n_tokens(trained, *GREEDY)]
    assert min(n_tokens(trained, "--min-length", 0, 8)) == 9  # its end counts too
    assert n_tokens(trained, "--min-length", 0, 2) == usual
    # A word is a token here, and so is the last full stop.
    limits = [int(0.5 * (len(source.split()) + 1) + 1) for source in SOURCES]
    greedy = n_tokens(trained, "--max-length", 0.5, 1, *GREEDY)
    assert greedy == [min(pair) for pair in zip(limits, n_tokens(trained, *GREEDY), strict=True)]


def test_nothing_is_repeated_where_that_is_forbidden(trained: Cli) -> None:
    text = "ba ba ba ba.\nfi fi fi fi fi.\n"
    assert any(len(set(line.rstrip(".").split())) < len(line.split()) for line in trained.lines(text))
    for line in trained.lines(text, "--no-repeat-ngram", 1):
        assert len(set(line.split())) == len(line.split())
    pairs = [
        list(zip(line.split(), line.split()[1:], strict=False)) for line in trained.lines(text, "--no-repeat-ngram", 2)
    ]
    assert all(len(set(each)) == len(each) for each in pairs)
    for line in trained.lines(text, "--repetition-penalty", 1000, *GREEDY):
        words = line.rstrip(".").split()
        assert len(set(words)) == len(words)


def test_samples_depend_on_their_seed_alone(cli: Cli, run_dir: Path) -> None:
    drawn = cli.lines(TEXT * 3, "--sample", "--seed", 4)
    assert len(set(drawn)) == 12  # the same line is drawn anew in each place
    translator = Translator.load(run_dir, device="cpu", precision="float32", threads=1)
    assert [each.text for each in translator.translate(SENTENCES * 3, sampling=True, seed=4)] == drawn
    assert cli.lines(TEXT * 3, "--sample", "--seed", 4) == drawn
    assert cli.lines(TEXT * 3, "--sample", "--seed", 4, "--max-batch-tokens", 1) == drawn
    assert cli.lines(TEXT * 3, "--sample", "--seed", 5) != drawn
    assert cli.lines(TEXT * 3, "--sample") == cli.lines(TEXT * 3, "--sample", "--seed", 1)
    several = [line.split("\t") for line in cli.lines(TEXT, "--sample", "--n-best", 5)]  # more than the beam
    assert [int(row[1]) for row in several] == [1, 2, 3, 4, 5] * 4
    assert len({row[3] for row in several}) > 15


def test_samples_come_from_the_likelier_tokens(cli: Cli) -> None:
    greedy = cli.lines(TEXT, *GREEDY)
    for options in (("--top-k", 1), ("--top-p", 1e-9), ("--temperature", 1e-6)):
        assert cli.lines(TEXT, "--sample", *options) == greedy
    drawn = {options: cli.lines(TEXT, "--sample", *options) for options in (
        (), ("--top-k", 5), ("--top-p", 0.1), ("--temperature", 0.3)
    )}  # fmt: skip
    assert len({tuple(lines) for lines in drawn.values()}) == 4
    assert greedy not in drawn.values()


def test_each_translation_begins_with_its_prefix(cli: Cli, tmp_path: Path) -> None:
    prefixes = write(tmp_path / "prefixes", ["Le chien", "", "Oui", "gare la balle"])
    free, forced = cli.lines(TEXT), cli.lines(TEXT, "--prefix", prefixes)
    assert all(line.startswith(prefix) for line, prefix in zip(forced, read(prefixes), strict=True))
    assert forced[1] == free[1] and not free[0].startswith("Le chien")
    assert "not as many prefixes as lines" in cli(*GREEDY, "--prefix", prefixes, stdin=TEXT * 2)[2]
    source = write(tmp_path / "in", SENTENCES * 2)
    assert cli.refusal("--input", source, "--prefix", prefixes).startswith(
        "error: --prefix has 4 lines and the input 8; line n of one must belong to line n of the other"
    )


# --- models, engines and machines ---


def test_several_models_are_an_ensemble(run_dir: Path, tmp_path: Path) -> None:
    other = write_run(tmp_path / "other", model_content(seed=8))
    one, two = Cli(run_dir).lines(TEXT, "--n-best", 1), Cli(other).lines(TEXT, "--n-best", 1)
    both = Cli(run_dir, other).lines(TEXT, "--n-best", 1)
    assert both not in (one, two)
    assert Cli(other, run_dir).lines(TEXT, "--n-best", 1) == both
    assert Cli(run_dir, run_dir).lines(TEXT) == Cli(run_dir).lines(TEXT)
    assert Cli(run_dir / "checkpoints" / "model.ckpt").lines(TEXT, "--n-best", 1) == one


def test_models_with_different_tokenizers_are_no_ensemble(run_dir: Path, trained_dir: Path) -> None:
    assert "have different tokenizers" in Cli(run_dir, trained_dir).refusal(stdin=TEXT)


@pytest.fixture(scope="module")
def exported(trained_dir: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model directory with weights for CTranslate2 only."""
    pytest.importorskip("ctranslate2", reason="pip install '.[ctranslate2]'")
    from seq2seq.export import export

    folder = tmp_path_factory.mktemp("exported")
    lines = write(folder / "lines", SOURCES)
    target = folder / "model"
    export.main([str(trained_dir), "--format", "ctranslate2", "--output", str(target), "--parity-input", str(lines)])
    return target


def test_ctranslate2_writes_what_torch_writes(exported: Path, translations: list[str]) -> None:
    assert Cli(exported).lines(LEARNED) == translations  # the only weights there are
    assert Cli(exported).lines(LEARNED, "--engine", "ctranslate2") == translations
    assert "holds weights for CTranslate2 only" in Cli(exported).refusal("--engine", "torch", stdin=LEARNED)
    assert "CTranslate2 gives no attention" in Cli(exported).refusal("--alignment", stdin=LEARNED)
    assert "CTranslate2 has no ensembles" in Cli(exported, exported).refusal("--engine", "ctranslate2")
    assert "decoding.sampling=true draws other random numbers" in Cli(exported).refusal("--sample", stdin=LEARNED)


@pytest.fixture(scope="module")
def tagged_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_run(tmp_path_factory.mktemp("tagged"), trained_content("t", "z"))


def test_a_tag_says_what_kind_of_text_it_is(tagged_dir: Path, trained: Cli, tmp_path: Path) -> None:
    cli = Cli(tagged_dir)
    plain, tagged = cli.lines(LEARNED), cli.lines(LEARNED, "--tag", "z")
    n_words = len(LEARNED.split())
    assert sum(line.count("s") for line in plain) > 0.9 * n_words
    assert sum(line.count("z") for line in tagged) > 0.9 * n_words
    for number, line in enumerate(cli.lines(LEARNED, "--tag", "z", "--json", "--alignment")):
        record = json.loads(line)
        assert (record["source"], record["translation"]) == (SOURCES[number], tagged[number])
        attention = record["hypotheses"][0]["attention"]
        assert " ".join("".join(part["source"]).replace("▁", " ").strip() for part in attention) == SOURCES[number]
        assert all(len(row) == len(part["source"]) for part in attention for row in part["weights"])
    assert cli.refusal("--tag", "x", stdin=TEXT) == "error: the model has no tag 'x', only t, z; choose one\n"
    assert "has no tag 'z', or any other; leave the tag out" in trained.refusal("--tag", "z", stdin=TEXT)
    targets = write(tmp_path / "targets", tagged)
    scored, otherwise = (
        [float(line) for line in cli.lines(LEARNED, "--score", targets, *tag)] for tag in (("--tag", "z"), ())
    )
    assert all(a > b for a, b in zip(scored, otherwise, strict=True))


def test_ctranslate2_reads_the_same_tags(tagged_dir: Path, tmp_path: Path) -> None:
    pytest.importorskip("ctranslate2", reason="pip install '.[ctranslate2]'")
    from seq2seq.export import export

    lines, target = write(tmp_path / "lines", SOURCES), tmp_path / "model"
    export.main([str(tagged_dir), "--format", "ctranslate2", "--output", str(target), "--parity-input", str(lines)])
    assert "- tags for kinds of text (`--tag`): t, z\n" in (target / "README.md").read_text()
    for beam_size in (1, 3):
        options = ("--tag", "z", "--beam-size", beam_size)
        translations = Cli(tagged_dir).lines(LEARNED, *options)
        assert "z" in translations[0]
        assert Cli(target).lines(LEARNED, *options) == translations
    assert "has no tag 'x', only t, z" in Cli(target).refusal("--tag", "x", stdin=TEXT)


def test_a_run_has_no_weights_for_ctranslate2(trained: Cli) -> None:
    assert "has no weights for CTranslate2" in trained.refusal("--engine", "ctranslate2", stdin=LEARNED)


def test_one_worker_and_two_write_the_same(cli: Cli) -> None:
    options = ("--threads", 2, "--max-batch-tokens", 60, "--alignment", "--n-best", 2)
    text = "".join(f"{' '.join(SENTENCES[i % 4 :])}\n" for i in range(20))
    assert cli.lines(text, "--workers", 2, *options) == cli.lines(text, "--workers", 1, *options)
    assert cli.lines(text, "--workers", 2) == cli.lines(text, "--workers", 1)


def test_the_machine_s_options_reach_the_engine(run_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from seq2seq.translation.engines.pytorch import PyTorchEngine

    engines: list[PyTorchEngine] = []
    batches: list[int] = []
    decode = PyTorchEngine.decode

    def watched(self: PyTorchEngine, sentences: Any, config: Any) -> Any:
        engines.append(self)
        batches.append(len(sentences))
        return decode(self, sentences, config)

    monkeypatch.setattr(PyTorchEngine, "decode", watched)
    options = ("--device", "cpu", "--precision", "bfloat16", "--threads", 6, "--workers", 2, "--max-batch-tokens", 1)
    status, _, err = run_cli("--model", run_dir, *options, stdin=TEXT)
    assert status == 0, err
    (engine,) = set(engines)
    assert (engine.device.type, engine.precision) == ("cpu", "bfloat16")
    assert (engine.n_workers, engine.threads_per_worker) == (2, 3)
    assert batches == [1, 1, 1, 1]


def test_precisions_and_devices_that_are_not_there_are_refused(run_dir: Path) -> None:
    model = ("--model", run_dir)
    assert "precision='int3' is not one of auto, float32, bfloat16" in run_cli(*model, "--precision", "int3")[2]
    import torch

    if not torch.cuda.is_available():
        assert "has no device 'cuda' here; use auto or cpu" in run_cli(*model, "--device", "cuda")[2]


# --- files ---


@pytest.mark.parametrize("suffix", ["", ".gz", ".xz", ".bz2", ".zst"])
def test_files_are_plain_or_compressed_by_their_names(cli: Cli, tmp_path: Path, suffix: str) -> None:
    pack: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.compress,
        ".xz": lzma.compress,
        ".bz2": bz2.compress,
        ".zst": zstandard.compress,
    }
    unpack: dict[str, Callable[[bytes], bytes]] = {
        ".gz": gzip.decompress,
        ".xz": lzma.decompress,
        ".bz2": bz2.decompress,
    }
    source, target = tmp_path / f"in.fr{suffix}", tmp_path / f"out.en{suffix}"
    source.write_bytes(pack.get(suffix, bytes)(TEXT.encode()))
    status, out, err = cli("--input", source, "--output", target, *GREEDY)
    assert (status, out) == (0, ""), err
    data = target.read_bytes()
    text = (
        zstandard.ZstdDecompressor().stream_reader(data).read() if suffix == ".zst" else unpack.get(suffix, bytes)(data)
    )
    assert text.decode().split("\n")[:-1] == cli.lines(TEXT, *GREEDY)
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([source.name, target.name])


def test_an_output_replaces_what_was_there_and_leaves_links_links(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "old.en").write_text("old\n")
    (tmp_path / "link.en").symlink_to(tmp_path / "old.en")
    assert cli("--output", tmp_path / "link.en", *GREEDY, stdin=TEXT)[0] == 0
    assert (tmp_path / "link.en").is_symlink()
    assert read(tmp_path / "old.en") == cli.lines(TEXT, *GREEDY)


def test_what_is_complete_is_not_translated_again(trained: Cli, tmp_path: Path, translations: list[str]) -> None:
    source, target = write(tmp_path / "in", SOURCES), tmp_path / "out"
    files = ("--input", source, "--output", target, "--resume")
    assert trained(*files)[0] == 0  # begins where there is nothing
    assert read(target) == translations
    before = target.stat()
    status, out, err = trained(*files, "--reference", write(tmp_path / "ref", REFERENCES))
    assert (status, out) == (0, "")
    assert f"nothing to resume: {target} is complete" in err
    assert re.search(r"^bleu  ", err, re.MULTILINE)
    assert (target.stat().st_mtime_ns, target.stat().st_ino) == (before.st_mtime_ns, before.st_ino)


@needs_devices
def test_devices_are_written_to_and_not_replaced(cli: Cli, trained: Cli, tmp_path: Path) -> None:
    null, full = device(tmp_path, "null"), device(tmp_path, "full")
    reference = write(tmp_path / "ref", REFERENCES)
    status, _, err = trained("--output", null, "--reference", reference, stdin=LEARNED)
    assert status == 0, err
    assert null.is_char_device()
    assert "\nbleu  " in err  # of what cannot be read again
    status, _, err = cli("--output", full, *GREEDY, stdin=TEXT)
    assert status == 2
    assert f"error: cannot write {full}: No space left on device" in err
    assert "cannot be resumed" in cli.refusal("--output", null, "--resume", stdin=TEXT)


@pytest.mark.parametrize(
    ("output", "message"),
    [
        ("missing/out.en", "no directory {tmp}/missing; create it first"),
        ("folder", "is a directory; name a file in it"),
        ("in.fr", "would overwrite --input; choose another name"),
        ("folder/../in.fr", "would overwrite --input"),
        ("ref.en", "would overwrite --reference"),
        ("model.ckpt", "would overwrite --model"),
        ("x" * 300, "File name too long: "),
    ],
)
def test_outputs_that_cannot_be_are_refused_before_the_model_is_read(tmp_path: Path, output: str, message: str) -> None:
    (tmp_path / "folder").mkdir()
    for name in ("in.fr", "ref.en", "model.ckpt"):
        (tmp_path / name).write_text(TEXT)
    files = ("--input", tmp_path / "in.fr", "--reference", tmp_path / "ref.en")
    status, out, err = run_cli("--model", tmp_path / "model.ckpt", *files, "--output", tmp_path / output)
    assert (status, out) == (2, "")
    assert err.startswith("error: ")
    assert message.format(tmp=tmp_path) in err
    assert {(tmp_path / name).read_text() for name in ("in.fr", "ref.en", "model.ckpt")} == {TEXT}


@pytest.mark.parametrize("option", ["--compare", "--prefix", "--score"])
def test_no_file_that_is_read_is_overwritten(cli: Cli, tmp_path: Path, option: str) -> None:
    source, other = write(tmp_path / "in", SENTENCES), write(tmp_path / "other", SENTENCES)
    more = ("--reference", source) if option == "--compare" else ()
    message = cli.refusal("--input", source, option, other, "--output", other, *more)
    assert message == f"error: --output {other} would overwrite {option}; choose another name\n"
    assert read(other) == SENTENCES


def test_write_protected_outputs_are_refused(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "out.en").touch(mode=0o444)
    monkeypatch.setattr(os, "access", lambda path, mode: bool(path.stat().st_mode & 0o222))  # root may write everywhere
    assert "is write-protected; choose another name" in cli.refusal("--output", tmp_path / "out.en")


def test_closed_streams_are_named_with_what_to_give_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, option in (("stdout", "--output"), ("stdin", "--input")):  # stdin is looked at first
        errors = Stream()
        monkeypatch.setattr(sys, "stderr", errors)
        monkeypatch.setattr(sys, name, None)
        with pytest.raises(SystemExit, match="2"):
            translate.main(["--model", "no model"])
        assert errors.written().startswith(f"error: {name} is closed; open it or give {option} FILE")


@pytest.mark.parametrize("option", ["--input", "--reference", "--compare", "--prefix", "--score"])
def test_missing_files_and_directories_are_refused(tmp_path: Path, option: str) -> None:
    here = write(tmp_path / "here", SENTENCES)
    more = ("--reference", here) if option == "--compare" else ()
    status, _, err = run_cli("--model", "no model", *more, option, tmp_path / "in.fr")
    assert (status, err) == (2, f"error: {option} {tmp_path}/in.fr: no such file\n")
    status, _, err = run_cli("--model", "no model", *more, option, tmp_path)
    assert (status, err) == (2, f"error: {option} {tmp_path}: is a directory; name a file\n")


def test_text_that_is_not_utf_8_is_refused_or_replaced(cli: Cli, tmp_path: Path) -> None:
    data = "Un chat.\nUn café.\nOui !\n".encode("latin-1")
    source, target = tmp_path / "in.fr", tmp_path / "out.en"
    source.write_bytes(data)
    message = "error: {}:2: byte 7 of the line (0xe9) is not UTF-8"
    assert message.format(source) in cli.refusal("--input", source, "--output", target)
    assert message.format("stdin") in cli.refusal("--output", target, "--errors", "strict", stdin=data)
    assert list(tmp_path.iterdir()) == [source]
    for files, stdin in ((("--input", source), b""), ((), data)):
        status, out, err = cli(*files, "--errors", "replace", "--json", *GREEDY, stdin=stdin)
        assert status == 0, err
        assert [json.loads(line)["source"] for line in out.split("\n")[:-1]] == ["Un chat.", "Un caf\ufffd.", "Oui !"]
        assert "\n1 lines of input were not UTF-8; U+FFFD stands for what could not be read\n" in err


def test_damaged_input_leaves_no_output(cli: Cli, tmp_path: Path) -> None:
    (tmp_path / "in.fr.gz").write_bytes(gzip.compress(TEXT.encode())[:-9])
    message = cli.refusal("--input", tmp_path / "in.fr.gz", "--output", tmp_path / "out.en")
    assert "in.fr.gz: damaged or cut off" in message
    assert [path.name for path in tmp_path.iterdir()] == ["in.fr.gz"]


# --- models that are refused ---


class Malicious:
    """Creates a file when it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, ...]:
        return Path.touch, (self.path,)


def test_what_is_no_model_is_refused_and_not_executed(run_dir: Path, tmp_path: Path) -> None:
    whole = (run_dir / "checkpoints" / "model.ckpt").read_bytes()
    trap = tmp_path / "executed"
    (tmp_path / "text.ckpt").write_text("no model")
    (tmp_path / "half.ckpt").write_bytes(whole[: len(whole) // 2])
    (tmp_path / "pickle.ckpt").write_bytes(pickle.dumps(Malicious(trap)))
    write_checkpoint({"config": Malicious(trap)}, tmp_path / "code.ckpt")
    write_checkpoint({"state_dict": {}}, tmp_path / "other.ckpt")
    write_checkpoint(model_content(tokenizer_sha256="0" * 64), tmp_path / "mixed.ckpt")
    (tmp_path / "run").mkdir()
    for name, message in {
        "missing": "no such run directory or checkpoint",
        "run": "holds no checkpoint",
        "text.ckpt": "not a checkpoint",
        "half.ckpt": "not a checkpoint, or not a whole one",
        "pickle.ckpt": "not a checkpoint",
        "code.ckpt": "not a checkpoint",
        "other.ckpt": "has no config, tokenizer, tokenizer_sha256, so this project did not write it",
        "mixed.ckpt": "is not the one that the model was trained with",
    }.items():
        for models in ((tmp_path / name,), (run_dir, tmp_path / name)):
            status, out, err = run_cli("--model", *models, stdin=TEXT)
            assert (status, out) == (2, ""), name
            assert err.startswith(f"error: {tmp_path / name}: ")
            assert message in err
    assert not trap.exists()


# --- options that are refused ---


@pytest.mark.parametrize(
    ("option", "values"),
    [
        ("--beam-size", ["0", "-1", "1.5", "x", ""]),
        ("--n-best", ["0", "x"]),
        ("--alpha", ["-1", "nan", "inf"]),
        ("--no-repeat-ngram", ["0"]),
        ("--repetition-penalty", ["0", "-1", "nan", "inf"]),
        ("--temperature", ["0", "nan"]),
        ("--top-k", ["0"]),
        ("--top-p", ["0", "1.1", "nan"]),
        ("--seed", ["-1", "1.5"]),
        ("--max-batch-tokens", ["0"]),
        ("--threads", ["0"]),
        ("--workers", ["0"]),
        ("--device", ["abacus"]),
        ("--engine", ["steam"]),
        ("--errors", ["ignore"]),
        ("--typography", ["de"]),
        ("--length-normalization", ["sqrt"]),
    ],
)
def test_values_that_cannot_work_are_refused(option: str, values: list[str]) -> None:
    for value in values:
        status, _, err = run_cli("--model", "no model", f"{option}={value}")
        assert status == 2
        assert re.search(rf"argument {option}[a-z/-]*: invalid", err), err


@pytest.mark.parametrize("option", ["--max-length", "--min-length"])
@pytest.mark.parametrize("values", [("1",), ("1", "x"), ("nan", "1"), ("1", "2", "3")])
def test_lengths_are_two_numbers(option: str, values: tuple[str, ...]) -> None:
    assert run_cli("--model", "no model", option, *values)[0] == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--compare", "FILE"), "--compare needs --reference"),
        (("--resume",), "--resume needs --output"),
        (("--token-scores",), "--token-scores needs --json"),
        (("--temperature", "0.5"), "--temperature needs --sample"),
        (("--top-k", "5"), "--top-k needs --sample"),
        (("--top-p", "0.5"), "--top-p needs --sample"),
        (("--seed", "0"), "--seed needs --sample"),
        *(
            (("--score", "FILE", *option), f"{option[0]} has no meaning with --score, which translates nothing")
            for option in (
                ("--reference", "FILE"),
                ("--prefix", "FILE"),
                ("--n-best", "2"),
                ("--alignment",),
                ("--typography", "fr"),
                ("--sample",),
            )
        ),
    ],
)
def test_options_that_make_no_sense_together_are_refused(options: tuple[str, ...], message: str) -> None:
    assert run_cli("--model", "no model", *options) == (2, "", f"error: {message}\n")


def test_a_list_longer_than_the_beam_is_refused(cli: Cli) -> None:
    message = cli.refusal("--n-best", "4")  # the checkpoint's beam is 3
    assert message == "error: --n-best 4 is more than a beam of 3 holds; add --beam-size 4\n"
    assert len(cli.lines(TEXT, "--n-best", 4, "--beam-size", 4)) == 16


# --- scores ---


def sacrebleu_cli(hypotheses: list[str], reference: Path, metric: str) -> dict[str, Any]:
    """What the program says that everybody compares with."""
    command = [sys.executable, "-m", "sacrebleu", str(reference), "-m", metric, "-w", "6"]
    text = "".join(f"{line}\n" for line in hypotheses)
    done = subprocess.run(command, input=text, capture_output=True, text=True, encoding="utf-8", check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def reported(err: str) -> dict[str, tuple[float, float, str]]:
    """Name: score, half the width of its interval, what follows."""
    rows = re.findall(r"^(bleu|chrf|ter) +([\d.]+) ± ([\d.]+)  (.*)$", err, re.MULTILINE)
    return {name: (float(score), float(half), rest) for name, score, half, rest in rows}


def test_scores_are_those_of_sacrebleu(trained: Cli, tmp_path: Path) -> None:
    reference = write(tmp_path / "ref", [*REFERENCES[:3], *REFERENCES[4:], REFERENCES[3]])
    status, out, err = trained("--reference", reference, "--quiet", stdin=LEARNED)
    assert status == 0
    assert err.count("\n") == 3
    found = reported(err)
    assert found["bleu"][2].endswith("  typography:none")
    hypotheses = out.split("\n")[:-1]
    for name in ("bleu", "chrf", "ter"):
        expected = sacrebleu_cli(hypotheses, reference, name)
        score, half_width, rest = found[name]
        assert score == pytest.approx(expected["score"], abs=0.006)
        signature = rest.split("  ")[0]
        assert re.sub(r"bs:1000\|seed:12345\||rs:12345\|bs:1000\|", "", signature).split("|")[0] == "nrefs:1"
        assert all(each in signature for each in re.findall(r"case:\w+|eff:\w+|tok:\w+", expected["signature"]))
        interval = scores.bootstrap_interval(hypotheses, read(reference), name)
        assert half_width == pytest.approx(interval.half_width, abs=0.006)
        assert 0 < score < 100


def test_several_files_of_references_are_scored_against(trained: Cli, tmp_path: Path, translations: list[str]) -> None:
    first = write(tmp_path / "ref", reversed(REFERENCES))
    second = write(tmp_path / "ref.1", ["", *translations[1:]])
    found = reported(trained("--reference", first, second, "--quiet", stdin=LEARNED)[2])
    expected = scores.report(translations, list(zip(read(first), read(second), strict=True)), ("bleu", "chrf", "ter"))
    assert {name: row[0] for name, row in found.items()} == pytest.approx(
        {name: score.score for name, score in expected.items()}, abs=0.006
    )
    assert found["bleu"][2].startswith("nrefs:var|")
    source = write(tmp_path / "in.fr", LEARNED.split("\n")[:-1])
    short = write(tmp_path / "short", ["one", "two"])
    message = trained.refusal("--input", source, "--reference", first, short)
    assert message.startswith("error: --reference has 2 lines and the input ")
    status, _, err = trained("--reference", first, short, "--quiet", stdin=LEARNED)
    assert status == 2
    assert f"{first} has {len(REFERENCES)} lines but {short} has 2; line n of one" in err


@pytest.mark.parametrize("form", [("--n-best", 2), ("--json",), ("--alignment",), ("--alignment", "--n-best", 2)])
def test_scores_are_the_same_in_every_form(
    trained: Cli, tmp_path: Path, translations: list[str], form: tuple[object, ...]
) -> None:
    reference = write(tmp_path / "ref", ["", *reversed(REFERENCES)])
    text = f"\n{LEARNED}"
    expected = reported(trained("--reference", reference, stdin=text)[2])
    assert set(expected) == {"bleu", "chrf", "ter"}
    assert reported(trained("--reference", reference, *form, stdin=text)[2]) == expected
    target = tmp_path / "out.gz"
    assert reported(trained("--reference", reference, *form, "--output", target, stdin=text)[2]) == expected


def test_another_translation_is_compared(trained: Cli, tmp_path: Path, translations: list[str]) -> None:
    reference = write(tmp_path / "ref", REFERENCES)
    bad = write(tmp_path / "bad", [line.rsplit(" ", 1)[0] for line in REFERENCES])
    status, _, err = trained("--reference", reference, "--compare", bad, "--quiet", stdin=LEARNED)
    assert status == 0
    assert f"\npaired bootstrap against {bad}:\n" in err
    rows = re.findall(r"^(\w+) +([\d.]+) against +([\d.]+)  p = ([\d.]+)(.*)  nrefs", err, re.MULTILINE)
    expected = scores.paired_test(read(bad), translations, REFERENCES)
    assert [row[0] for row in rows] == ["bleu", "chrf", "ter"]
    for name, ours, theirs, p_value, verdict in rows:
        test = expected[name]
        assert (float(ours), float(theirs)) == pytest.approx((test.system.score, test.baseline.score), abs=0.006)
        assert float(p_value) == pytest.approx(test.p_value, abs=1e-4)
        assert verdict == (", significant" if test.p_value < 0.05 else ", not significant")
    same = write(tmp_path / "same", translations)
    assert "significant" not in trained("--reference", reference, "--compare", same, stdin=LEARNED)[2]


def test_references_of_another_length_are_refused(cli: Cli, tmp_path: Path) -> None:
    source, target = write(tmp_path / "in.fr", SENTENCES), tmp_path / "out.en"
    reference, short = write(tmp_path / "ref", SENTENCES), write(tmp_path / "short", ["one", "two"])
    message = cli.refusal("--input", source, "--reference", short)
    assert message.startswith("error: --reference has 2 lines and the input 4;")
    message = cli.refusal("--input", source, "--reference", reference, "--compare", short)
    assert message.startswith("error: --compare has 2 lines and the input 4;")
    # The length of a stream is known at its end only; what was translated by then is kept.
    status, _, err = cli("--output", target, "--reference", short, *GREEDY, stdin=TEXT)
    assert status == 2
    assert "there are 4 hypotheses for 2 references" in err
    assert len(read(target)) == 4


# --- scores of given translations ---


def test_own_translations_get_their_own_scores(trained: Cli, tmp_path: Path) -> None:
    source = write(tmp_path / "in", [*SOURCES, ""])
    records = [json.loads(line) for line in trained.lines(f"{LEARNED}\n", "--json")]
    given = write(tmp_path / "given", [record["translation"] for record in records])
    expected = [record["hypotheses"][0] for record in records]
    status, out, err = trained("--input", source, "--score", given)
    assert status == 0, err
    assert out.count("\n") == len(expected)
    assert [float(line) for line in out.split()] == pytest.approx([each["score"] for each in expected], abs=1e-3)
    status, out, err = trained("--input", source, "--score", given, "--json")
    for number, (line, each) in enumerate(zip(out.split("\n")[:-1], expected, strict=True), start=1):
        record = json.loads(line)
        assert set(record) == {"line", "source", "translation", "score", "log_prob", "tokens"}
        assert (record["line"], record["source"]) == (number, read(source)[number - 1])
        assert record["translation"] == each["text"]
        assert record["log_prob"] == pytest.approx(each["log_prob"], abs=1e-3)
        assert sum(token["log_prob"] for token in record["tokens"]) == pytest.approx(record["log_prob"], abs=1e-4)
    target = tmp_path / "scores"
    assert trained("--score", given, "--output", target, stdin=f"{LEARNED}\n")[0] == 0
    assert read(target) == [f"{float(line):.4f}" for line in read(target)]
    assert len(read(target)) == len(expected)


def test_normalization_changes_scores_of_given_translations(trained: Cli, tmp_path: Path) -> None:
    given = write(tmp_path / "given", REFERENCES)
    raw = [json.loads(line) for line in trained.lines(LEARNED, "--score", given, "--json")]
    for line, record in zip(
        trained.lines(LEARNED, "--score", given, "--length-normalization", "none"), raw, strict=True
    ):
        assert float(line) == pytest.approx(record["log_prob"], abs=1e-3)


def test_texts_that_are_not_parallel_are_not_scored(trained: Cli, tmp_path: Path) -> None:
    source = write(tmp_path / "in", SOURCES)
    given = write(tmp_path / "given", REFERENCES[:-1])
    assert "--score has 11 lines and the input 12" in trained.refusal("--input", source, "--score", given)
    message = "error: --score does not have as many lines as the input; line n must translate line n"
    for lines in (REFERENCES[:-1], [*REFERENCES, "Bas."]):
        assert message in trained("--score", write(given, lines), stdin=LEARNED)[2]
    assert "line 12: one of source and translation is blank" in trained.refusal(
        "--score", write(given, [*REFERENCES[:-1], ""]), stdin=LEARNED
    )


def test_lines_that_were_not_utf_8_are_counted_in_scoring_too(trained: Cli, tmp_path: Path) -> None:
    given = write(tmp_path / "given", ["Bas."])
    assert trained("--score", given, stdin=b"b\xe9.\n")[0] == 2
    status, _, err = trained("--score", given, "--errors", "replace", stdin=b"b\xe9.\n")
    assert status == 0
    assert "1 lines of input were not UTF-8" in err


# --- reports ---


def test_the_report_counts_lines_and_kinds_of_warnings(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2seq.translation.watch.MAX_SHOWN_WARNINGS", 2)
    long = "é" * 25  # two byte pieces each
    status, _, err = cli(*GREEDY, stdin=f"\n{long}\n\n{long}\n{long}\n")
    assert status == 0
    assert re.search(r"^warning: line 2: \d+ tokens are more than the 40 ", err, re.MULTILINE)
    assert err.count("warning: line ") == 2
    assert "further warnings are counted, but not shown" in err
    assert re.search(r"^translated 5 lines in [\d.]+ s \([\d.]+ lines/s\)$", err, re.MULTILINE)
    assert re.search(r"^have a look at 3 of them: .*3 split", err, re.MULTILINE)
    assert cli(*GREEDY, "--quiet", stdin=f"{long}\n")[2] == ""


def test_progress_is_shown_to_terminals_only(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100_000))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    source = write(tmp_path / "in.fr", SENTENCES)
    arguments = ("--input", source, "--max-batch-tokens", 1, *GREEDY)
    shown = cli(*arguments, on_terminal=True)[2]
    assert re.search(r"\r2 of 4 sentences, \d\.\d sentences/s, 0:00:\d\d left\x1b\[K", shown)
    assert re.search(r"\r2 sentences, \d\.\d sentences/s\x1b\[K", cli(*arguments[2:], stdin=TEXT, on_terminal=True)[2])
    assert "\r" not in cli(*arguments)[2]
    assert cli(*arguments, "--quiet", on_terminal=True)[2] == ""


def test_help_and_mistyped_options_do_not_wait_for_torch() -> None:
    code = """
import sys
from seq2seq.commands.translate import main
try:
    main()
finally:
    assert "torch" not in sys.modules
"""
    for argument, status in (("--help", 0), ("--modle", 2)):
        done = subprocess.run([sys.executable, "-c", code, argument], cwd=ROOT, capture_output=True)
        assert done.returncode == status, done.stderr
