"""Finished runs of a few sentences, with what an analysis says of them."""

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from seq2seq.analysis.test_set import AnalysedSentence, AttentionMap, Slice, TestSetAnalysis
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.reports.preset import preset
from seq2seq.training.loggers import MetricsCsv

SOURCES = ["Un chien court.", "Deux enfants jouent dans la neige.", "Il a 3 chats </script><b>gras</b>."]
REFERENCES = ["A dog is running.", "Two children play in the snow.", "He has 3 cats </script><b>bold</b>."]
TRANSLATIONS = ["A dog runs.", "Two children play in the snow.", "He has cats </script><b id=hostile>bold</b>."]
CHRF = [40.5, 100.0, 71.25]
SCORE = {"score": 54.5163, "mean": 54.4, "half_width": 1.6, "signature": "nrefs:1|bs:1000|case:mixed|tok:13a"}


def unfinished_run(path: Path, name: str = "demo", losses: Sequence[float] = (6.0, 5.0, 4.0)) -> RunDirectory:
    """A run that has saved its configuration and logged these losses, at every tenth step."""
    path.mkdir(parents=True)
    run = RunDirectory(path)
    logger = MetricsCsv(run)
    for number, loss in enumerate(losses, start=1):
        losses_and_rate = {"train/loss": loss, "train/lr": number / 100, "valid/bleu": number * 5.0}
        took = {"progress/hours": number / 10, "progress/tgt_tokens": number * 1e6}
        logger.log_metrics(losses_and_rate | took, number * 10)
    recipe = preset("demo")
    data = dataclasses.replace(recipe.data, test="news")
    run.write_config(dataclasses.replace(recipe, name=name, seed=7, data=data))
    return run


def finished_run(path: Path, translations: Sequence[str] = TRANSLATIONS, name: str = "demo") -> RunDirectory:
    run = unfinished_run(path, name)
    scores: dict[str, Any] = {"news": dict.fromkeys(("bleu", "chrf"), SCORE)}
    (path / "scores.json").write_text(json.dumps(scores))
    valid = {"last (step 30)": {"bleu": 15.0, "chrf": 30.0}}
    (path / "selection.json").write_text(json.dumps({"selected": "last (step 30)", "step": 30, "valid": valid}))
    tokenizer = {"vocab_size": 300, "fingerprint": "1f2e"}
    run.write_provenance({"starts": [], "data_report": {"tokenizer": tokenizer, "splits": {}}})
    run.write_test("news", "en", translations, [[reference] for reference in REFERENCES])
    return run


def analysis(translations: Sequence[str] = TRANSLATIONS, chrf: Sequence[float] = CHRF) -> TestSetAnalysis:
    """Of `finished_run`. Its first two sentences have an alignment, its last one a finding."""
    findings = {"lost numbers": ("3",)}
    alignment = ((0, 0), (1, 1), (2, 2))
    sentences = [
        AnalysedSentence(
            1, SOURCES[0], translations[0], (REFERENCES[0],), chrf[0], 10.0, "web", False, 5, {}, alignment
        ),
        AnalysedSentence(
            2, SOURCES[1], translations[1], (REFERENCES[1],), chrf[1], 99.0, "web", True, 9, {}, alignment
        ),
        AnalysedSentence(3, SOURCES[2], translations[2], (REFERENCES[2],), chrf[2], 50.0, "books", False, 0, findings),
    ]
    slices = {
        "source length": (Slice("1 to 5 words", 1, 30.0, 41.5), Slice("6 words and more", 2, 60.0, 72.0, 5.5, 4.25))
    }
    attention = (
        AttentionMap(1, "worst", ("▁Un", "▁chien", "</s>"), ("▁A", "</s>"), ((0.9, 0.1, 0.0), (0.2, 0.1, 0.7))),
    )
    return TestSetAnalysis("news", sentences, slices, {"lost numbers": 1, "copied words": 0}, attention, ("A note.",))
