"""A search: trials that Optuna chooses one after another, by what those before have reached.

Several workers, in one process or in several, share the study in the search's directory. A worker that goes away, in
whatever way, leaves its trials to the next one, which goes on with them.
"""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

from filelock import FileLock

from seq2seq.artifacts.lease import LeaseTakenError, is_leased, leased
from seq2seq.artifacts.sweep_directory import Job, SweepDirectory, job_name
from seq2seq.errors import ConfigError, RunError, command
from seq2seq.exit_status import note, tell_at_end
from seq2seq.sweeps.job_process import JobProcess, why_it_failed
from seq2seq.sweeps.space import Space, Value, read_space, word
from seq2seq.training.processes import TRAIN

if TYPE_CHECKING:  # an extra
    import optuna

POLL_S = 0.3  # seconds between two looks at the trials
MOST_FAILED = 3  # trials that fail before any other ends: then it is not their values


class Trial:
    """One trial at work: a run in a process of its own, whose validations are reported to Optuna."""

    def __init__(self, search: "Search", trial: "optuna.Trial", lease: ExitStack) -> None:
        """lease: that of the trial, which this worker has until it has told how the trial ended."""
        self._trial, self._lease, self._space, self._sweep = trial, lease, search.space, search.sweep
        self.number = trial.number
        self.job = job_of(trial.number, search.space, search.words, trial.params)
        self._run = self._sweep.run(self.job.name)
        self._n_reported = len(search.study.trials[trial.number].intermediate_values)
        self._n_bytes = -1
        self._is_pruned = False
        while is_leased(self._run.lease_file):  # a worker has died, and its run still saves
            time.sleep(POLL_S)
        self._sweep.forget_error(self.job.name)
        note(f"trial {self.number}: {self._sweep.path / self.job.name}")
        log = self._sweep.log_file(self.job.name)
        self._process = JobProcess(self._sweep.words(self.job), search.command, log)

    def has_ended(self) -> bool:
        """Report what is new. If the run has ended, tell Optuna how."""
        status = self._process.poll()
        if self._reports() and not self._is_pruned and status is None and self._trial.should_prune():
            self._is_pruned = True
            self._process.stop()
        if status is None:
            return False
        self._tell(status)
        self._lease.close()
        return True

    def stop(self) -> None:
        self._process.stop()

    def wait(self) -> None:
        self._process.wait()
        self._lease.close()

    def _reports(self) -> bool:
        """Report the validations that are new to the study, by their number from 1; whether there was one."""
        file = self._run.metrics_file
        n_bytes = file.stat().st_size if file.is_file() else -1
        if n_bytes == self._n_bytes:
            return False
        self._n_bytes = n_bytes
        values = [metric.value for metric in self._run.metrics() if metric.name == self._space.metric]
        new = values[self._n_reported :]
        for number, value in enumerate(new, start=self._n_reported + 1):
            self._trial.report(value, number)
        self._n_reported += len(new)
        return bool(new)

    def _tell(self, status: int) -> None:
        from optuna.trial import TrialState

        study = self._trial.study
        if self._run.is_scored:
            selection = self._run.selection()
            value = selection.valid[selection.selected][self._space.metric.removeprefix("valid/")]
            if math.isfinite(value):
                study.tell(self._trial, value)
                note(f"trial {self.number}: {self._space.metric} {value:.4g}")
                return
            self._sweep.write_error(self.job.name, f"{self._space.metric} is not a number")
        elif self._is_pruned:
            study.tell(self._trial, state=TrialState.PRUNED)
            note(f"trial {self.number}: ended after validation {self._n_reported}, since it is worse than the median")
            return
        if not self._sweep.error(self.job.name):
            self._sweep.write_error(self.job.name, why_it_failed(status))
        study.tell(self._trial, state=TrialState.FAIL)
        note(f"trial {self.number} failed: {self._sweep.error(self.job.name)}")


class Search:
    """One worker, or several in one process, of a search."""

    def __init__(
        self, sweep: SweepDirectory, space: Space, words: Sequence[str], command: Sequence[str] = TRAIN
    ) -> None:
        """
        Args:
            words: of `train.py`, for all trials.
            command: that trains with words.
        """
        try:
            import optuna
        except ModuleNotFoundError as error:
            raise ConfigError(
                "a search needs the package optuna; run, in a clone of seq2seq: pip install -e '.[sweep]'"
            ) from error

        self.sweep, self.space, self.words, self.command = sweep, space, words, command
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        pruner = optuna.pruners.MedianPruner(n_startup_trials=space.random_trials, n_warmup_steps=space.prune_from)
        with self._alone():
            self.study = optuna.create_study(
                storage=f"sqlite:///{sweep.study_file.absolute()}",
                study_name="search",
                direction="minimize" if space.minimizes else "maximize",
                pruner=pruner if space.prune_from else optuna.pruners.NopPruner(),
                load_if_exists=True,
            )

    def work(self, n_at_once: int) -> None:
        """Do trials, so many at the same time, until there are as many as the space says.

        Raises:
            RunError: the first trials failed, and no other has ended: it is not their values.
            KeyboardInterrupt, SystemExit: a signal came. The trials have saved; how to go on is told at the end.
        """
        running: list[Trial] = []
        n_failed = n_done = 0
        try:
            while True:
                while len(running) < n_at_once and (trial := self._next(running)):
                    running.append(trial)
                if not running:
                    return
                time.sleep(POLL_S)
                for trial in [trial for trial in running if trial.has_ended()]:
                    running.remove(trial)
                    n_done += 1
                    n_failed += bool(self.sweep.error(trial.job.name))
                    if n_failed == n_done == MOST_FAILED:
                        last, logs = self.sweep.error(trial.job.name), self.sweep.log_file(trial.job.name).parent
                        raise RunError(f"the first {MOST_FAILED} trials failed, the last one so: {last}; see {logs}")
        except BaseException as error:
            for trial in running:
                trial.stop()
            for trial in running:
                trial.wait()
            if not isinstance(error, RunError):
                tell_at_end(error, f"the search is stopped; go on with: {command('search', self.sweep.path)}")
            raise

    def _next(self, running: Sequence[Trial]) -> Trial | None:
        """A trial that another worker has left, or a new one; None if there are enough."""
        import optuna

        ours = {trial.number for trial in running}
        with self._alone():
            trials = self.study.get_trials(deepcopy=False)
            for each in trials:
                is_left = each.state == optuna.trial.TrialState.RUNNING and each.number not in ours
                if is_left and (lease := self._leased(each.number)):
                    if self.study.trials[each.number].state == optuna.trial.TrialState.RUNNING:
                        trial = optuna.Trial(self.study, each._trial_id)
                        break
                    lease.close()  # its worker has told how it ended, and let it go, after we had looked
            else:
                n_begun = sum(each.state != optuna.trial.TrialState.WAITING for each in trials)
                if n_begun >= self.space.trials:
                    return None
                # Seeded by the number of the trial: a sampler that starts anew with one seed would repeat itself.
                self.study.sampler = optuna.samplers.TPESampler(
                    seed=self.space.seed * 100_003 + n_begun, n_startup_trials=self.space.random_trials
                )
                trial = self.study.ask(self.space.distributions())
                lease = self._leased(trial.number)
        assert lease is not None  # nobody else knows of a new one yet
        return Trial(self, trial, lease)

    def _alone(self) -> FileLock:
        self.sweep.path.mkdir(parents=True, exist_ok=True)
        return FileLock(self.sweep.study_lock)

    def _leased(self, number: int) -> ExitStack | None:
        """The lease of a trial; None if another worker has it."""
        file = self.sweep.worker_lease_file(number)
        file.parent.mkdir(exist_ok=True)
        stack = ExitStack()
        try:
            stack.enter_context(leased(file))
        except LeaseTakenError:
            return None
        return stack


def job_of(number: int, space: Space, words: Sequence[str], params: Mapping[str, Value]) -> Job:
    """The run of a trial."""
    name = job_name(number, [f"{key}={_short(params[key])}" for key in space.axes])
    return Job(name, [*words, *(word(key, params[key]) for key in space.axes)])


def _short(value: Value) -> str:
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def words_of_trials(space: Space, words: Sequence[str]) -> list[str]:
    """The words that all trials share: those of the space, and those of the command but `run_dir=`.

    Raises:
        ConfigError: one gives a key a value that the search decides.
    """
    shared = [*space.words, *(each for each in words if not each.startswith("run_dir="))]
    for each in shared:
        if (key := each.lstrip("+").partition("=")[0]) in (*space.axes, "trainer.monitor"):
            raise ConfigError(f"{each} is given for all trials, and the search decides {key}; leave one of them out")
    return [*shared, f"trainer.monitor={space.metric}"]


def begin_search(sweep: SweepDirectory, space: Space, words: Sequence[str]) -> None:
    """Write down what a new search is, or see that the one that is there is the same.

    Raises:
        ConfigError: the directory holds something else.
    """
    content = {"words": list(words), "space": space.as_json()}
    sweep.path.mkdir(parents=True, exist_ok=True)
    with FileLock(sweep.study_lock):
        if sweep.is_sweep or sweep.is_run:
            raise ConfigError(f"run_dir={sweep.path} holds something else than a search; name another run_dir")
        if sweep.is_search:
            if _without_trials(sweep.search()) != _without_trials(content):
                raise ConfigError(
                    f"run_dir={sweep.path} holds another search; name another run_dir, or go on with it as it is: "
                    f"{command('search', sweep.path)}"
                )
        else:
            sweep.write_search(content)


def _without_trials(content: Any) -> Any:
    """What makes two searches the same; how long they are does not."""
    return {**content, "space": {**content["space"], "trials": None}}


def read_search(sweep: SweepDirectory) -> tuple[Space, list[str]]:
    """The space and the words of a search.

    Raises:
        RunError: what stands there is damaged.
    """
    content = sweep.search()
    try:
        return read_space(content["space"], ""), [str(each) for each in content["words"]]
    except (ConfigError, KeyError, TypeError) as error:
        raise RunError(f"{sweep.path}: its search.json is damaged; restore it") from error
