"""The command line that translates files and streams: what it writes, its settings of the search, its reports."""

import json
import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

import seq2seq
from seq2seq.translation.engines.pytorch import PyTorchEngine
from tests.commands.conftest import Watch
from tests.commands.learned_text import GREEDY, LEARNED, REFERENCES, SOURCES, read, write
from tests.places import ROOT
from tests.processes import CAN_FORK, Warm
from tests.translating import SENTENCES, TEXT, Cli

# --- one line out for each line in ---


def test_what_was_learned_is_written(translations: list[str]) -> None:
    assert sum(line == reference for line, reference in zip(translations, REFERENCES, strict=True)) > 8


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


def test_json_has_all_there_is_to_say(trained: Cli, trained_run: Path) -> None:
    """In the form of tests/translation/test_result.py."""
    sources = [SOURCES[0], "", '\u2028 a\tb\x0b"c\\']
    lines = trained.lines("".join(f"{line}\n" for line in sources), "--json", "--n-best", 2, "--normalize", "never")
    translator = seq2seq.load(trained_run, device="cpu", precision="float32", threads=1)
    expected = translator.translate(sources, n_best=2, normalize="never")
    for number, (line, translation) in enumerate(zip(lines, expected, strict=True), start=1):
        record = json.loads(line)
        assert (record["line"], record["source"]) == (number, translation.source)
        assert [each["text"] for each in record["hypotheses"]] == [each.text for each in translation.hypotheses]
        assert [(each["kind"], each["message"]) for each in record["warnings"]] == translation.findings


def test_lines_of_several_sentences_are_split_as_asked_for(trained: Cli) -> None:
    line = f"{SOURCES[0]}  {SOURCES[1]}"
    apart = trained.lines(f"{SOURCES[0]}\n{SOURCES[1]}\n")
    for split in ((), ("--split", "auto"), ("--split", "always")):
        status, out, err = trained(*split, stdin=f"{line}\n")
        assert (status, out) == (0, "  ".join(apart) + "\n")
        assert "lines that were split and joined again: 1" in err
    for choice, parts in (("auto", ["Ba be bi.", "Fo fa di."]), ("never", None)):  # short enough to be read together
        (record,) = map(json.loads, trained.lines("Ba be bi. Fo fa di.", "--split", choice, "--json"))
        assert record.get("parts") == parts


def test_the_translation_can_be_chosen_by_consensus(trained: Cli) -> None:
    sampled = ("--sample", "--temperature", 3, "--json")
    records = [
        [json.loads(line) for line in trained.lines(LEARNED, *sampled, *n)] for n in (("--mbr", 32), ("--mbr", 3))
    ]
    scores = [[record["hypotheses"][0]["score"] for record in each] for each in records]
    assert all(0 < score < 100 for each in scores for score in each)
    assert scores[0] != scores[1]
    assert "--mbr=1 are too few" in trained.refusal("--mbr", 1, stdin=LEARNED)


@pytest.mark.skipif(not CAN_FORK, reason="needs the fork server")
def test_a_program_gets_an_answer_to_each_line(trained: Cli) -> None:
    """A coprocess: it writes a line and waits for its translation before it writes the next one."""
    sources = SOURCES[:3]
    expected = trained.lines("".join(f"{source}\n" for source in sources))
    (stdin, to_it), (from_it, stdout) = os.pipe(), os.pipe()
    words = [ROOT / "translate.py", *trained.defaults, "--buffer", "0.01"]
    process = Warm([str(word) for word in words], env=os.environ, stdin=stdin, stdout=stdout)
    for descriptor in (stdin, stdout):
        os.close(descriptor)
    with os.fdopen(from_it) as answers, os.fdopen(to_it, "w", buffering=1) as lines:
        for source, translated in zip(sources, expected, strict=True):
            lines.write(f"{source}\n")
            assert answers.readline() == f"{translated}\n"
    assert process.wait(120) == 0


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
    for source, line in zip(SOURCES, plain, strict=True):
        text, alignment = line.split(" ||| ")
        assert re.fullmatch(r"(\d+-\d+( |$))+", alignment)
        pairs = [tuple(map(int, pair.split("-"))) for pair in alignment.split()]
        assert sorted(tgt for _, tgt in pairs) == list(range(len(text.split())))
        assert all(src < len(source.split()) for src, _ in pairs)
    table = [line.split("\t") for line in trained.lines(LEARNED, "--alignment", "--n-best", 2)]
    assert [" ||| ".join(row[3:]) for row in table[::2]] == plain


def test_french_typography_is_restored(trained: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    from seq2seq.tokenizer import Tokenizer

    monkeypatch.setattr(Tokenizer, "decode", lambda self, ids: ["L'eau « a » ?" for _ in ids])
    assert trained.lines("ba bi.\n") == ["L'eau « a » ?"]
    assert trained.lines("ba bi.\n", "--typography", "fr") == ["L’eau «\u202fa\u202f»\u202f?"]
    (record,) = map(json.loads, trained.lines("ba bi.\n", "--typography", "fr", "--json"))
    assert record["translation"] == record["hypotheses"][0]["text"] == "L’eau «\u202fa\u202f»\u202f?"


def test_headlines_and_emoji_are_normalized_as_asked_for(trained: Cli) -> None:
    plain, headline = trained.lines("Ba be bi bo.\n")[0], "BA BE BI BO. 😀\n"
    status, out, err = trained(stdin=headline)
    assert (status, out) == (0, f"{plain.upper()} 😀\n")
    assert "lines that were read as training had them, see --normalize: 1 (1 pieces, 1 case)" in err
    assert trained.lines(headline, "--normalize", "never") != [f"{plain.upper()} 😀"]
    (record,) = map(json.loads, trained.lines(headline, "--json"))
    assert record["normalized"][0] == {"kind": "pieces", "from": "😀", "to": ""}
    assert (record["translated_as"], record["kept"]) == ("Ba be bi bo.", ["😀"])


# --- the search ---


@pytest.mark.parametrize(
    ("options", "settings"),
    [
        (
            "--beam-size 2 --length-normalization gnmt --alpha 0.3 --max-length 0.5 4 --min-length 0.25 1 "
            "--no-repeat-ngram 3 --repetition-penalty 1.5",
            {
                "beam_size": 2,
                "normalization": "gnmt",
                "alpha": 0.3,
                "max_length_a": 0.5,
                "max_length_b": 4,
                "min_length_a": 0.25,
                "min_length_b": 1,
                "no_repeat_ngram": 3,
                "repetition_penalty": 1.5,
            },
        ),
        (
            "--sample --temperature 0.5 --top-k 7 --top-p 0.75 --seed 4",
            {"sampling": True, "temperature": 0.5, "top_k": 7, "top_p": 0.75, "seed": 4},
        ),
    ],
)
def test_settings_of_the_search_reach_it(cli: Cli, watched: Watch, options: str, settings: dict[str, Any]) -> None:
    """What they do there, tests/decoding shows."""
    batches = watched(PyTorchEngine)
    cli.lines("Oui !\n", *options.split())
    (_, _, config), *_ = batches
    assert {name: getattr(config, name) for name in settings} == settings


def test_each_translation_begins_with_its_prefix(cli: Cli, tmp_path: Path) -> None:
    prefixes = write(tmp_path / "prefixes", ["Le chien", "", "Oui", "gare la balle"])
    free, forced = cli.lines(TEXT), cli.lines(TEXT, "--prefix", prefixes)
    assert all(line.startswith(prefix) for line, prefix in zip(forced, read(prefixes), strict=True))
    assert forced[1] == free[1] and not free[0].startswith("Le chien")
    assert "--prefix does not have as many lines as the input" in cli(*GREEDY, "--prefix", prefixes, stdin=TEXT * 2)[2]
    source = write(tmp_path / "in", SENTENCES * 2)
    assert cli.refusal("--input", source, "--prefix", prefixes).startswith(
        "error: --prefix has 4 lines and the input 8; line n of one must belong to line n of the other"
    )


# --- reports ---


def test_the_report_counts_lines_and_kinds_of_warnings(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("seq2seq.translation.watch.MAX_SHOWN_WARNINGS", 2)
    long = "é" * 25  # two byte pieces each
    status, _, err = cli(*GREEDY, "--normalize", "never", stdin=f"\n{long}\n\n{long}\n{long}\n")
    assert status == 0
    assert re.search(r"^warning: line 2: a sentence of more than 40 tokens was cut ", err, re.MULTILINE)
    assert err.count("warning: line ") == 2
    assert "further warnings are counted, but not shown" in err
    assert re.search(r"^translated 5 lines in [\d.]+ s \([\d.]+ lines/s\)$", err, re.MULTILINE)
    assert re.search(r"^have a look at 3 of them: .*3 split", err, re.MULTILINE)
    assert cli(*GREEDY, "--normalize", "never", "--quiet", stdin=f"{long}\n")[2] == ""


def test_progress_is_shown_to_terminals_only(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ticks = iter(range(100_000))
    monkeypatch.setattr(time, "monotonic", lambda: next(ticks))
    source = write(tmp_path / "in.fr", SENTENCES)
    arguments = ("--input", source, "--max-batch-tokens", 1, *GREEDY)
    shown = cli(*arguments, on_terminal=True)[2]
    assert re.search(r"\r\x1b\[K1 of 4 lines, \d\.\d lines/s, 0:00:\d\d left\r", shown)
    assert re.search(r"\r\x1b\[K1 lines, \d\.\d lines/s\r", cli(*arguments[2:], stdin=TEXT, on_terminal=True)[2])
    assert "\r" not in cli(*arguments)[2]
    assert cli(*arguments, "--quiet", on_terminal=True)[2] == ""
