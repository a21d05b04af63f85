"""`metrics.csv` of a run directory: always written, one metric a line, continued when the run is."""

import csv
import io
import time
from argparse import Namespace
from typing import Any

from pytorch_lightning.loggers.logger import Logger, rank_zero_experiment
from pytorch_lightning.utilities.rank_zero import rank_zero_only

from seq2seq.artifacts.run_directory import METRICS_HEADER, RunDirectory
from seq2seq.files import append_text, write_text


class MetricsCsv(Logger):
    """A Lightning logger that appends `step,metric,value,unix_time` rows, one for each step and metric.

    Lightning's own CSVLogger deletes the file when a run resumes. Rows are long rather than wide because
    training and validation metrics come at different steps, and so that appending never rewrites a header.

    Args:
        resumed_step: optimizer steps done by the run that is continued. Rows of later steps, left by a run that
            died after its last checkpoint, are dropped. (Lightning counts from 0 here: the first step is 0.)
    """

    def __init__(self, run: RunDirectory, resumed_step: int = -1) -> None:
        super().__init__()
        self.run = run
        self._begin(resumed_step)

    @rank_zero_only
    def _begin(self, resumed_step: int) -> None:
        kept = [
            (step, name, f"{value:.7g}", time) for step, name, value, time in self.run.metrics() if step < resumed_step
        ]
        self.written = {(int(step), name) for step, name, *_ in kept if step == resumed_step - 1}  # of the latest step
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows([METRICS_HEADER, *kept])
        write_text(self.run.metrics_file, text.getvalue())

    @property
    def name(self) -> str:
        return "csv"

    @property
    def version(self) -> str:
        return ""

    @property
    @rank_zero_experiment
    def experiment(self) -> None:
        return None

    def log_hyperparams(self, params: dict[str, Any] | Namespace, *args: Any, **kwargs: Any) -> None:
        """The configuration is in config.yaml."""

    @rank_zero_only
    def log_metrics(self, metrics: dict[str, float], step: int | None = None) -> None:
        now = f"{time.time():.1f}"
        step = step or 0
        self.written = {row for row in self.written if row[0] == step}
        rows = [
            (step, name, f"{float(value):.7g}", now)
            for name, value in metrics.items()
            if name != "epoch" and (step, name) not in self.written
        ]
        self.written |= {(step, name) for step, name, *_ in rows}
        text = io.StringIO()
        csv.writer(text, lineterminator="\n").writerows(rows)
        append_text(self.run.metrics_file, text.getvalue())
