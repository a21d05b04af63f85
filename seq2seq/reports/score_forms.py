"""Scores of files as text and as JSON."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import Any

from seq2seq.evaluation.scores import without_minus_zero
from seq2seq.reports.score_files import ScoredFile
from seq2seq.reports.tables import Table, as_text, label
from seq2seq.reports.verdict import METHODS, verdict


def scores_as_text(n_sentences: int, files: Sequence[ScoredFile], method: str, width: int) -> str:
    """A table of all files, and the signatures."""
    names = [label(number) for number in range(len(files))]
    lines = [f"{name}  {file.path}" for name, file in zip(names, files, strict=True)]
    lines.append(f"{n_sentences:,} sentences" + (f"; {METHODS[method]}" if len(files) > 1 else ""))
    for name, file in zip(names, files, strict=True):
        if file.n_copied is not None:
            lines.append(f"{name}: {file.n_copied:,} lines are their source as it was, {file.n_blank:,} are blank")
    header = ["metric", "file", "score", f"{names[0]} minus it", "p", "p (Holm)", f"{names[0]} is"]
    table = Table("", header, list(_rows(names, files)), 2).without_empty_columns()
    signatures = [f"{metric:15} {score.signature}" for metric, score in files[0].scores.items()]
    return "\n".join([*lines, as_text(table, width), "", *signatures])


def _rows(names: Sequence[str], files: Sequence[ScoredFile]) -> Iterator[list[str]]:
    for metric in files[0].scores:
        for name, file in zip(names, files, strict=True):
            score = file.scores[metric]
            row = [metric, name, f"{score.score:6.2f} ± {score.half_width:.2f}"]
            if not file.against:
                yield [*row, "", "", "", ""]
                continue
            test = file.against[metric]
            yield [
                *row,
                f"{without_minus_zero(test.difference):+6.2f}",
                "" if test.p_value is None else f"{test.p_value:.4f}",
                "" if test.p_holm is None or len(files) < 3 else f"{test.p_holm:.4f}",
                verdict(metric, test.difference, test.p_holm),
            ]


def scores_as_json(n_sentences: int, files: Sequence[ScoredFile], method: str) -> str:
    """One JSON object. What is not known is null."""
    first, *baselines = ({**asdict(file), "path": str(file.path)} for file in files)
    content: dict[str, Any] = {"n_sentences": n_sentences, "test_method": method, "hypotheses": first}
    for file in baselines:
        file["against"] = {
            metric: {**test, "verdict": verdict(metric, test["difference"], test["p_holm"])}
            for metric, test in file["against"].items()
        }
    del first["against"]
    return json.dumps(content | {"baselines": baselines}, indent=2, ensure_ascii=False)
