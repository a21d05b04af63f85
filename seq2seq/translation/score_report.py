"""Score translations whose references are known, and print the scores to stderr."""

from seq2seq.corpus.reader import read_aligned, read_lines
from seq2seq.exit_status import note
from seq2seq.translation import records
from seq2seq.translation.request import TranslationRequest


def print_scores(request: TranslationRequest, hypotheses: list[str] | None) -> None:
    """Print BLEU, chrF and TER with intervals, and a comparison with other translations if there are any.

    Args:
        hypotheses: the translations; None to read them from the output file, which may hold lines of an earlier run.
    """
    from seq2seq.evaluation import scores  # it imports sacrebleu, which only scores need

    if hypotheses is None:
        assert request.output is not None
        lines = read_lines(request.output)
        hypotheses = list(records.texts(lines, request.form, request.options.alignment))
    references = list(read_aligned(request.references))
    typography = f"typography:{request.options.typography or 'none'}"
    for name, score in scores.report(hypotheses, references).items():
        note(f"{name:5} {score.score:6.2f} ± {score.half_width:.2f}  {score.signature}  {typography}")
    if request.compare is None:
        return
    baseline = list(read_lines(request.compare))
    note(f"\npaired bootstrap against {request.compare}:")
    for name, test in scores.paired_test(baseline, hypotheses, references).items():
        ours, theirs = test.system.score, test.baseline.score
        significant = "" if ours == theirs else ", significant" if test.p_value < 0.05 else ", not significant"
        note(
            f"{name:5} {ours:6.2f} against {theirs:6.2f}  p = {test.p_value:.4f}{significant}  {test.system.signature}"
        )
