"""Score plain files of translations, from anywhere, and test them against others."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from seq2seq.corpus.reader import read_lines
from seq2seq.errors import TranslationError
from seq2seq.evaluation.comet import comet
from seq2seq.evaluation.holm import corrected
from seq2seq.evaluation.over_seeds import compared, recipe_tests
from seq2seq.evaluation.scores import PLAIN, Interval, Scoring, check_before_work
from seq2seq.exit_status import stdin

STDIN = Path("-")


@dataclass(frozen=True)
class Against:
    """How the hypotheses compare with a baseline, in one metric.

    Attributes:
        difference: hypotheses minus baseline.
        p_value: that chance alone makes a difference as large; None for equal scores.
        p_holm: the same, corrected for the number of baselines (Holm 1979).
    """

    difference: float
    p_value: float | None
    p_holm: float | None


@dataclass(frozen=True)
class ScoredFile:
    """One file of translations.

    Attributes:
        scores: by metric.
        against: by metric, the test of the hypotheses against this file; empty for the hypotheses themselves.
        n_copied: lines that are their source, word for word; None without a source.
        n_blank: lines that are blank although their source is not; None without a source.
    """

    path: Path
    scores: Mapping[str, Interval]
    against: Mapping[str, Against]
    n_copied: int | None
    n_blank: int | None


def score_files(
    hypotheses: Path,
    references: Sequence[Path],
    baselines: Sequence[Path],
    source: Path | None,
    metrics: Sequence[str],
    scoring: Scoring = PLAIN,
    method: str = "bs",
    comet_model: Path | None = None,
) -> tuple[int, list[ScoredFile]]:
    """Score files, with 95% intervals, and test the first one against the baselines.

    Any file may be compressed, and one of them may be `STDIN`.

    Args:
        references: line n of each is a reference of sentence n. In a further one, a blank line is none.
        source: what was translated, to count what came out as it went in; None: nothing is counted.
        metrics: any of `scores.METRICS`.
        method: of the paired tests (`recipe_tests`).
        comet_model: a checkpoint for one more metric, which takes the source and the first reference.
    Returns:
        The number of sentences, and the hypotheses and each baseline with their scores.
    Raises:
        TranslationError: files differ in their number of lines, or have none; stdin is named twice; a metric needs a
            language.
        CorpusError: a file cannot be read.
    """
    check_before_work(scoring.tokenize)
    if comet_model and source is None:
        raise TranslationError("--comet reads the source, too; add --source SRC")
    if comet_model and baselines and method != "bs":
        raise TranslationError("--comet is tested by paired bootstrap; leave --test-method out")
    outputs = [hypotheses, *baselines]
    paths = [*outputs, *references, *([source] if source else [])]
    if paths.count(STDIN) > 1:
        raise TranslationError("stdin (-) can be read once; give the other text as a file")
    texts = [_lines(path) for path in paths]
    for path, lines in zip(paths, texts, strict=True):
        if len(lines) != len(texts[0]):
            raise TranslationError(
                f"{_name(path)} has {len(lines)} lines and {_name(hypotheses)} has {len(texts[0])}; line n of one "
                "must belong to line n of the other, so align the files again"
            )
    translations, others = texts[: len(outputs)], texts[len(outputs) :]
    known = list(zip(*others[: len(references)], strict=True))
    by_comet = comet(comet_model, others[-1], translations, others[0]) if comet_model else []
    found = recipe_tests([[lines] for lines in translations], known, metrics, method if baselines else "bs", scoring)
    if by_comet:
        found["comet"] = compared([[each] for each in by_comet])
    scores = [{metric: each[n].together for metric, each in found.items()} for n in range(len(outputs))]
    tests: list[dict[str, Against]] = [{} for _ in outputs]
    for metric, (ours, *theirs) in found.items():
        for test, each, p_holm in zip(tests[1:], theirs, corrected([each.p_value for each in theirs]), strict=True):
            test[metric] = Against(ours.together.score - each.together.score, each.p_value, p_holm)
    counts = [_counts(lines, others[-1]) if source else (None, None) for lines in translations]
    files = [ScoredFile(*each[:3], *each[3]) for each in zip(outputs, scores, tests, counts, strict=True)]
    return len(known), files


def _lines(path: Path) -> list[str]:
    return list(read_lines(stdin() if path == STDIN else path))


def _name(path: Path) -> str:
    return "stdin" if path == STDIN else str(path)


def _counts(translations: Sequence[str], sources: Sequence[str]) -> tuple[int, int]:
    """Lines that are their source, and lines that are blank although their source is not."""
    pairs = [(text.strip(), source.strip()) for text, source in zip(translations, sources, strict=True)]
    return sum(text == source != "" for text, source in pairs), sum(not text and source != "" for text, source in pairs)
