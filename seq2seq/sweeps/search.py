"""A search: trials that Optuna chooses one after another, by what those before have reached.

Several workers, in one process or in several, share the study in the search's directory. A worker that goes away, in
whatever way, leaves its trials to the next one, which goes on with them.
"""

import dataclasses
import math
import time
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from filelock import FileLock, Timeout

from seq2seq.artifacts.lease import is_leased
from seq2seq.artifacts.sweep_directory import SweepDirectory, job_name
from seq2seq.config.command import AUTO, path_word
from seq2seq.errors import ConfigError, RunError, command
from seq2seq.exit_status import note, tell_at_end
from seq2seq.sweeps.job_process import JobProcess, why_it_failed
from seq2seq.sweeps.space import Space, Value, read_space, short, word
from seq2seq.training.processes import TRAIN

if TYPE_CHECKING:  # an extra
    import optuna

POLL_S = 0.3  # seconds between two looks at the trials
ENDS = {"COMPLETE": "finished", "PRUNED": "pruned", "FAIL": "failed", "RUNNING": "not yet", "WAITING": "not yet"}
MOST_FAILED = 3  # trials that fail before any other ends: then it is not their values


class Trial:
    """One trial at work: a run in a process of its own, whose validations are reported to Optuna."""

    def __init__(self, search: "Search", trial: "optuna.Trial", lease: FileLock) -> None:
        """lease: that of the trial, which this worker has until it has told how the trial ended."""
        self._search, self._trial, self.lease = search, trial, lease
        self.name, words = job_of(trial.number, search.space, trial.params)
        self._run = search.sweep.run(self.name)
        self._n_reported = len(search.study.trials[trial.number].intermediate_values)
        self._n_bytes = 0
        self._is_pruned = False
        while is_leased(self._run.lease_file):  # a worker has died, and its run still saves
            time.sleep(POLL_S)
        search.sweep.forget_error(self.name)
        note(f"trial {trial.number}: {self._run.path}")
        words = [*search.words, *words, path_word("run_dir", self._run.path), f"resume={AUTO}"]
        self.process = JobProcess(words, search.command, search.sweep.log_file(self.name))

    def how_it_ended(self) -> str:
        """Report what is new. If the run has ended, tell Optuna how, and return that; else an empty text."""
        status = self.process.poll()
        if self._reports() and not self._is_pruned and status is None and self._trial.should_prune():
            self._is_pruned = True
            self.process.stop()
        return "" if status is None else self._end(status)

    def _reports(self) -> bool:
        """Report the validations that are new to the study, by their number from 1; whether there was one."""
        file = self._run.metrics_file
        if not file.is_file() or file.stat().st_size == self._n_bytes:
            return False
        self._n_bytes = file.stat().st_size
        values = [metric.value for metric in self._run.metrics() if metric.name == self._search.space.metric]
        new = values[self._n_reported :]
        for number, value in enumerate(new, start=self._n_reported + 1):
            self._trial.report(value, number)
        self._n_reported += len(new)
        return bool(new)

    def _end(self, status: int) -> str:
        from optuna.trial import TrialState

        sweep, metric, value = self._search.sweep, self._search.space.metric, math.nan
        if self._run.is_scored:
            selection = self._run.selection()
            value = selection.valid[selection.selected][metric.removeprefix("valid/")]
        if math.isfinite(value):
            state, found = TrialState.COMPLETE, f"{metric} {value:.4g}"
        elif self._is_pruned:
            state, found = TrialState.PRUNED, ""
        else:
            reason = f"{metric} is not a number" if self._run.is_scored else why_it_failed(status)
            sweep.write_error(self.name, sweep.error(self.name) or reason)
            state, found = TrialState.FAIL, sweep.error(self.name)
        # Together, or another worker could find the trial at work and nobody at it.
        with self._search.alone():
            self._search.study.tell(self._trial, value if state == TrialState.COMPLETE else None, state)
            self.lease.release()
        note(f"trial {self._trial.number}: {', '.join(filter(None, [ENDS[state.name], found]))}")
        return state.name


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
        import optuna
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

        self.sweep, self.space, self.words, self.command = sweep, space, words, command
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        pruner = optuna.pruners.MedianPruner(n_startup_trials=space.random_trials, n_warmup_steps=space.prune_from)
        with self.alone():
            file = str(sweep.study_file)
            self._storage = optuna.storages.JournalStorage(JournalFileBackend(file, JournalFileOpenLock(file)))
            self.study = optuna.create_study(
                storage=self._storage,
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
        ends: list[str] = []
        n_noted = read_search(self.sweep)[0].trials
        try:
            while True:
                while len(running) < n_at_once and (found := self._next()):
                    running.append(Trial(self, *found))
                if not running:
                    return
                time.sleep(POLL_S)
                for trial in list(running):
                    if end := trial.how_it_ended():
                        running.remove(trial)
                        ends.append(end)
                    if ends == ["FAIL"] * MOST_FAILED:
                        logs = self.sweep.log_file(trial.name).parent
                        raise RunError(f"the first {MOST_FAILED} trials failed; see {logs} for what they said")
        except BaseException as error:
            for trial in running:
                trial.process.stop()
            for trial in running:
                trial.process.wait()
                trial.lease.release()
            trials = ["--trials", self.space.trials] if self.space.trials != n_noted else []
            tell_at_end(error, f"the search is stopped; go on with: {command('search', self.sweep.path, *trials)}")
            raise

    def _next(self) -> "tuple[optuna.Trial, FileLock] | None":
        """A trial that another worker has left, or a new one, with its lease; None if there are enough."""
        import optuna
        from optuna.trial import TrialState

        with self.alone():
            trials = self.study.get_trials(deepcopy=False)
            for each in trials:
                if each.state.name == "RUNNING" and (lease := self._leased(each.number)):
                    if each.params.keys() < self.space.space.keys():
                        name, _ = job_of(each.number, self.space, each.params)
                        self.sweep.write_error(name, "its worker ended while it drew the values; none was tried")
                        self.study.tell(each.number, state=TrialState.FAIL)
                        lease.release()
                        continue
                    study_id = self._storage.get_study_id_from_name(self.study.study_name)
                    trial_id = self._storage.get_trial_id_from_study_id_trial_number(study_id, each.number)
                    return optuna.Trial(self.study, trial_id), lease
            n_begun = sum(each.state.name != "WAITING" for each in trials)
            if n_begun >= self.space.trials:
                return None
            # Seeded by the number of the trial: a sampler that starts anew with one seed would repeat itself.
            self.study.sampler = optuna.samplers.TPESampler(
                seed=(self.space.seed * 100_003 + n_begun) % 2**32, n_startup_trials=self.space.random_trials
            )
            trial = self.study.ask(self.space.distributions())
            lease = self._leased(trial.number)
            assert lease is not None  # nobody else knows of a new one yet
            return trial, lease

    def alone(self) -> FileLock:
        """While one worker has this, no other looks for a trial, or tells how one ended."""
        return FileLock(self.sweep.study_lock)

    def _leased(self, number: int) -> FileLock | None:
        """The lease of a trial; None if some worker has it."""
        lease = FileLock(self.sweep.worker_lease_file(number))
        try:
            lease.acquire(blocking=False)
        except Timeout:
            return None
        return lease


def job_of(number: int, space: Space, params: Mapping[str, Value]) -> tuple[str, list[str]]:
    """The name of a trial's run, and the words that it does not share.

    Args:
        params: of all keys, unless its worker ended while it drew them.
    """
    drawn = {key: params[key] for key in space.space if key in params}
    name = job_name(number, [f"{key}={short(value, 3)}" for key, value in drawn.items()])
    return name, [word(key, value) for key, value in drawn.items()]


def words_of_trials(space: Space, words: Sequence[str]) -> list[str]:
    """The words that all trials share: those of the space, and those of the command but `run_dir=`.

    Raises:
        ConfigError: one gives a key a value that the search decides.
    """
    shared = [*space.words, *(each for each in words if not each.startswith("run_dir="))]
    for each in shared:
        if (key := each.lstrip("+").partition("=")[0]) in (*space.space, "trainer.monitor"):
            raise ConfigError(f"{each} is given for all trials, and the search decides {key}; leave one of them out")
    return [*shared, f"trainer.monitor={space.metric}"]


def begin_search(sweep: SweepDirectory, space: Space, words: Sequence[str]) -> None:
    """Write down what a new search is, or see that the one that is there is the same.

    Raises:
        ConfigError: the directory holds something else.
    """
    with FileLock(sweep.study_lock):
        if sweep.is_sweep or sweep.is_run:
            raise ConfigError(f"run_dir={sweep.path} holds something else than a search; name another run_dir")
        if not sweep.is_search:
            sweep.write_search({"words": list(words), "space": dataclasses.asdict(space)})
        found, theirs = read_search(sweep)
        if (dataclasses.replace(found, trials=space.trials), theirs) != (space, list(words)):
            raise ConfigError(
                f"run_dir={sweep.path} holds another search; name another run_dir, or go on with it as it is: "
                f"{command('search', sweep.path)}"
            )


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
