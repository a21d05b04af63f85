"""A run with the analyses of its test sets, as pages show it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from seq2seq.analysis.analyse import analyse
from seq2seq.analysis.test_set import TestSetAnalysis
from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.corpus.test_sets import all_test_sets
from seq2seq.errors import RunError, command


@dataclass(frozen=True)
class AnalysedRun:
    """A run and what its model gets wrong.

    Attributes:
        analyses: by test set. Those that `data.robustness` adds are not among them.
        problems: why a test set could not be analysed, one sentence each.
    """

    run: RunDirectory
    analyses: Mapping[str, TestSetAnalysis]
    problems: Sequence[str] = ()

    @classmethod
    def read(cls, run: RunDirectory) -> "AnalysedRun":
        """A run as it is on disk; without analyses before its end."""
        analyses: dict[str, TestSetAnalysis] = {}
        problems: list[str] = []
        augmented = {name for name, test in all_test_sets(run.config().data).items() if test.clean}
        for test in run.tests() if run.is_scored else ():
            if test not in augmented:
                try:
                    analyses[test] = _analyse(run, test)
                except RunError as error:  # a run of an older version may lack files
                    problems.append(str(error))
        return cls(run, analyses, problems)


def _analyse(run: RunDirectory, test: str) -> TestSetAnalysis:
    """
    Raises:
        RunError: a file is missing or damaged, or the analysis is of what an earlier part of the run translated.
    """
    analysis = analyse(run, test)
    if [sentence.hypothesis for sentence in analysis.sentences] != run.hypotheses(test):
        raise RunError(
            f"{run.analysis_file(test)}: is of other translations than the run has; make it again with: "
            f"{command('train', f'resume={run.path}')}"
        )
    return analysis
