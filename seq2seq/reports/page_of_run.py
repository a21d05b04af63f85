"""The page of a run, whatever it has learned."""

from seq2seq.artifacts.run_directory import RunDirectory
from seq2seq.reports.analysed_run import AnalysedRun
from seq2seq.reports.classifier_page import classifier_page
from seq2seq.reports.run_page import run_page


def page_of_run(run: RunDirectory) -> str:
    """A page about one run, finished or not.

    Raises:
        RunError: a file of the run is damaged.
    """
    return classifier_page(run) if run.is_of_classifier else run_page(AnalysedRun.read(run))
