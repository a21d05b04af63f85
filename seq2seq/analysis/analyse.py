"""What a model gets wrong on a test set: read it from a run, or find what its translations alone can say."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

import msgspec

from seq2seq.analysis.findings import KEPT, NEEDS_ALIGNMENT, NEEDS_SOURCE, find_all, to_keep, unsaid
from seq2seq.analysis.slices import tables
from seq2seq.analysis.test_set import FINDINGS, AnalysedSentence, TestSetAnalysis
from seq2seq.analysis.training_text import TrainingText
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.errors import RunError, command
from seq2seq.evaluation.scores import PLAIN, Scoring
from seq2seq.evaluation.sentences import sentence_bleu, sentence_chrf

Alignment = Sequence[tuple[int, int]]


def analyse(run: RunDirectory, test: str) -> TestSetAnalysis:
    """What a run's model gets wrong on a test set.

    Runs of older versions kept no analysis. Then it is made of the translations, the references and the sources, if
    these were kept: what needs the model or its training text is None or absent.

    Raises:
        RunError: the run has no such test set, or a file is damaged.
    """
    if test not in (tests := run.tests()):
        raise RunError(f"{run.path} was not tested on {test!r}; choose from {', '.join(tests) or '(none)'}")
    file = run.analysis_file(test)
    if file.is_file():
        try:
            return msgspec.json.decode(file.read_bytes(), type=TestSetAnalysis)
        except (OSError, ValueError, RecursionError) as error:
            raise RunError(
                f"{file}: is not an analysis of this version of seq2seq, so it is damaged; restore it, or make it "
                f"again with: {command('train', f'resume={run.path}')}"
            ) from error
    sources = run.sources(test)
    analysis = analysed(
        test,
        sources,
        run.hypotheses(test),
        run.references(test),
        scoring=run.scoring(test),
    )
    missing = "its model and its training text" if sources else "its sources, its model and its training text"
    again = command("train", f"resume={run.path}")
    note = f"This run kept no analysis, so what needs {missing} is left out; {again} makes it."
    return replace(analysis, notes=[note, *analysis.notes])


def analysed(
    test: str,
    sources: Sequence[str] | None,
    hypotheses: Sequence[str],
    references: Sequence[Sequence[str]],
    *,
    training_text: TrainingText | None = None,
    alignments: Sequence[Alignment] | None = None,
    domains: Sequence[str] = (),
    scoring: Scoring = PLAIN,
) -> TestSetAnalysis:
    """The analysis of given translations.

    Args:
        references: all of each sentence.
        training_text: with the words of the sources; only with sources.
        alignments, domains: of each sentence.
    """
    chrf, bleu = sentence_chrf(hypotheses, references), sentence_bleu(hypotheses, references, scoring)
    are_in_train = training_text.has_sources(sources) if training_text and sources else None
    known_words = training_text.tgt_words if training_text else ()
    sentences = []
    for i, (hypothesis, known) in enumerate(zip(hypotheses, references, strict=True)):
        source = sources[i] if sources else None
        alignment = alignments[i] if alignments else None
        sentences.append(
            AnalysedSentence(
                number=i + 1,
                source=source,
                hypothesis=hypothesis,
                references=tuple(known),
                chrf=round(chrf[i], 2),
                bleu=round(bleu[i], 2),
                domain=domains[i] if domains else "",
                is_in_train=are_in_train[i] if are_in_train else None,
                rarest_count=training_text.rarest_count(source) if training_text and source is not None else None,
                findings=find_all(source, hypothesis, known, alignment, known_words),
                alignment=alignment,
            )
        )
    unseen = (*(NEEDS_SOURCE if not sources else ()), *(NEEDS_ALIGNMENT if not alignments else ()))
    counts = {kind: sum(kind in sentence.findings for sentence in sentences) for kind in FINDINGS if kind not in unseen}
    blind = [kind for kind in unsaid(sources or [], references) if not counts.get(kind, 1)]
    notes = [training_text.note] if training_text and training_text.note else []
    if kept := _kept(sentences):
        notes.append(kept)
    if blind:
        notes.append(f"The script of the text does not show {' and '.join(blind)}, so these are left out.")
    return TestSetAnalysis(
        test=test,
        sentences=sentences,
        slices=tables(sentences, scoring),
        findings={kind: n for kind, n in counts.items() if kind not in blind},
        notes=notes,
    )


def _kept(sentences: Sequence[AnalysedSentence]) -> str:
    """How much of what they had to keep the translations have; empty if there was nothing to keep."""
    n, n_lost = Counter[str](), Counter[str]()
    for each in sentences:
        if each.source is not None and (references := list(filter(str.strip, each.references))):
            for kind in KEPT:
                n[kind] += len(to_keep(kind, each.source, references))
                n_lost[kind] += len(each.findings.get(f"lost {kind}", ()))
    told = [f"{n[kind] - n_lost[kind]:,} of {n[kind]:,} {kind}" for kind in KEPT if n[kind]]
    return f"Translated as in the references: {', '.join(told)}." if told else ""
