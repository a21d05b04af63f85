"""A comparison of runs as text, Markdown, CSV and JSON."""

import csv
import dataclasses
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from seq2seq.evaluation.scores import without_minus_zero
from seq2seq.reports.compare import Comparison
from seq2seq.reports.compared_run import Measured
from seq2seq.reports.tables import Table, as_markdown, as_text
from seq2seq.reports.verdict import METHODS, verdict

_COST = {
    "n_parameters": ("parameters", "{:,}"),
    "steps": ("steps", "{:,}"),
    "tgt_tokens": ("target tokens", "{:,}"),
    "tgt_tokens_per_s": ("target tokens/s", "{:,.0f}"),
    "hours": ("hours", "{:.2f}"),
    "memory_gb": ("memory (GB)", "{:.2f}"),
    "device_memory_gb": ("GPU memory (GB)", "{:.2f}"),
}
_OF_RECIPES = ("deviation", "difference", "difference_half_width", "p_value", "p_holm")
_LONGEST_VALUE = 28  # of a setting, in text


def as_form(comparison: Comparison, form: str, width: int) -> str:
    """The comparison as `text`, `markdown`, `csv` or `json`; tables of text are `width` characters wide."""
    match form:
        case "text":
            return _as_text(comparison, width)
        case "markdown":
            return _as_markdown(comparison)
        case "csv":
            return _as_csv(comparison)
    assert form == "json"
    return json.dumps(_as_json(comparison), indent=2, ensure_ascii=False)


# --- for people ---


def _as_text(comparison: Comparison, width: int) -> str:
    lines = [f"{run.name:3}{run.run.path}" for run in comparison.runs]
    lines += [_head(comparison), *_recipes(comparison)]
    lines += [f"note: {note}" for note in comparison.notes]
    tables = [as_text(table, width) for table in _tables(comparison, _LONGEST_VALUE)]
    signatures = [f"{metric:15} {signature}" for metric, signature in _signatures(comparison)]
    return "\n\n".join(["\n".join(lines), *tables, *(["\n".join(signatures)] if signatures else [])])


def _as_markdown(comparison: Comparison) -> str:
    lines = [f"- {run.name}: `{run.run.path}`" for run in comparison.runs]
    notes = [f"- {note}" for note in [*_recipes(comparison), *comparison.notes]]
    tables = [as_markdown(table) for table in _tables(comparison)]
    signatures = [f"- {metric}: `{signature}`" for metric, signature in _signatures(comparison)]
    parts = ["\n".join(lines), _head(comparison), "\n".join(notes), *tables, "\n".join(signatures)]
    return "\n\n".join(part for part in parts if part)


def _head(comparison: Comparison) -> str:
    unfinished = "; * is not finished" if any(not run.is_finished for run in comparison.runs) else ""
    return f"{' to '.join(comparison.languages)}; {METHODS[comparison.method]}{unfinished}"


def _recipes(comparison: Comparison) -> list[str]:
    return [str(recipe) for recipe in comparison.recipes if len(recipe.runs) > 1 or recipe.setting]


def _tables(comparison: Comparison, longest: int = 1000) -> Iterator[Table]:
    if comparison.differing:
        yield _differing(comparison, longest)
    if comparison.valid:
        rows = list(_rows(comparison, comparison.valid))
        yield _score_table(comparison, "valid", ["metric"], rows)
    plain = [name for name in comparison.tests if name.rpartition("/")[0] not in comparison.tests]
    for name in plain:
        test = comparison.tests[name]
        size = f", {test.n_sentences:,} sentences" if test.n_sentences else ""
        if test.scores:
            yield _score_table(comparison, f"test set {name}{size}", ["metric"], list(_rows(comparison, test.scores)))
        rows = [
            [augmented.removeprefix(f"{name}/"), *row]
            for augmented, other in comparison.tests.items()
            if augmented.rpartition("/")[0] == name
            for row in _rows(comparison, other.scores)
        ]
        if rows:
            yield _score_table(comparison, f"test set {name} with augmentation", ["augmentation", "metric"], rows)
    yield _cost(comparison)


def _differing(comparison: Comparison, longest: int) -> Table:
    def shown(value: Any) -> str:
        text = str(value)
        return text if len(text) <= longest else f"{text[: longest - 1]}…"

    labels = [run.label for run in comparison.runs]
    rows = [
        [key, *(shown(values[label]) if label in values else "" for label in labels)]
        for key, values in comparison.differing.items()
    ]
    return Table("what differs", ["key", *labels], rows)


def _score_table(comparison: Comparison, title: str, keys: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    first = comparison.recipes[0].label
    header = [*keys, "run", "score", "std", f"minus {first}", "p", "p (Holm)", f"against {first}"]
    return Table(title, header, rows, len(keys)).without_empty_columns()


def _rows(comparison: Comparison, scores: Mapping[str, Mapping[str, Measured]]) -> Iterator[list[str]]:
    """Metric, run or recipe, score, deviation, difference, p, corrected p, verdict. Runs of a recipe are indented."""
    names = {}
    for recipe in comparison.recipes:
        names[recipe.label] = ", ".join(run.name for run in recipe.runs)
        if len(recipe.runs) > 1:
            names |= {run.label: f"  {run.name}" for run in recipe.runs}
    for metric, by_label in scores.items():
        n_tested = sum(each.is_tested for each in by_label.values())
        for label, each in by_label.items():
            yield [
                metric,
                names[label],
                _with_interval(f"{each.score:6.2f}", each.half_width),
                "" if each.deviation is None else f"{each.deviation:.2f}",
                ""
                if each.difference is None
                else _with_interval(f"{without_minus_zero(each.difference):+6.2f}", each.difference_half_width),
                "" if each.p_value is None else f"{each.p_value:.4f}",
                "" if each.p_holm is None or n_tested < 2 else f"{each.p_holm:.4f}",
                _verdict(metric, each),
            ]


def _with_interval(number: str, half_width: float | None) -> str:
    return number if half_width is None else f"{number} ± {half_width:.2f}"


def _verdict(metric: str, measured: Measured) -> str:
    """Empty if that was not tested."""
    if not measured.is_tested or measured.difference is None:
        return ""
    return verdict(metric, measured.difference, measured.p_holm)


def _cost(comparison: Comparison) -> Table:
    rows = []
    for key, (name, form) in _COST.items():
        values = [getattr(run.cost, key) for run in comparison.runs]
        if any(value is not None for value in values):
            rows.append([name, *("" if value is None else form.format(value) for value in values)])
    return Table("cost", ["", *(run.name for run in comparison.runs)], rows)


def _signatures(comparison: Comparison) -> list[tuple[str, str]]:
    """Metric and signature, each pair once."""
    found = [
        (name.rpartition("/")[2], each.signature)
        for name, by_label in comparison.scores.items()
        for each in by_label.values()
        if each.signature
    ]
    return list(dict.fromkeys(found))


# --- for programs ---


def _as_csv(comparison: Comparison) -> str:
    """A line for each run, with its settings, its scores, the tests of its recipe, and its cost."""
    settings = list(comparison.differing)
    recipe_of = {run.label: each for each in enumerate(comparison.recipes, 1) for run in each[1].runs}
    rows = []
    for run in comparison.runs:
        row: dict[str, Any] = {"run": run.label, "path": run.run.path, "is_finished": run.is_finished}
        row["recipe"], recipe = recipe_of[run.label]
        row |= {key: comparison.differing[key].get(run.label, "") for key in settings}
        for name, by_label in comparison.scores.items():
            own, together = by_label.get(run.label), by_label.get(recipe.label)
            row[name] = own.score if own else ""
            row[f"{name}/half_width"] = own.half_width if own else ""
            row |= {f"{name}/{detail}": getattr(together, detail, "") for detail in _OF_RECIPES}
        row |= dataclasses.asdict(run.cost)
        rows.append(row)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().rstrip("\n")


def _as_json(comparison: Comparison) -> dict[str, Any]:
    """The comparison as JSON values. What is not known is null."""
    src_lang, tgt_lang = comparison.languages
    return {
        "src_lang": src_lang,
        "tgt_lang": tgt_lang,
        "test_method": comparison.method,
        "notes": list(comparison.notes),
        "runs": {
            run.label: {
                "path": str(run.run.path),
                "is_finished": run.is_finished,
                "settings": {
                    key: values[run.label] for key, values in comparison.differing.items() if run.label in values
                },
                "cost": dataclasses.asdict(run.cost),
            }
            for run in comparison.runs
        },
        "valid": _plain(comparison.valid),
        "tests": {
            name: {"n_sentences": test.n_sentences, "metrics": _plain(test.scores)}
            for name, test in comparison.tests.items()
        },
        "recipes": [
            {"label": recipe.label, "runs": [run.label for run in recipe.runs], "seeds": recipe.seeds}
            for recipe in comparison.recipes
        ],
    }


def _plain(scores: Mapping[str, Mapping[str, Measured]]) -> dict[str, dict[str, dict[str, Any]]]:
    return {
        metric: {
            label: {**dataclasses.asdict(each), "verdict": _verdict(metric, each) or None}
            for label, each in by_label.items()
        }
        for metric, by_label in scores.items()
    }
