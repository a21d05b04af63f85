"""Faults of sweeps and searches: jobs that are lost, done twice or called the same, and draws that repeat."""

from tests.mutants.mutant import Mutant

SWEEP = "tests/sweeps/test_sweep.py"
SEARCH = "tests/sweeps/test_search.py"
NAMES = "tests/artifacts/test_sweep_directory.py"

MUTANTS = [
    Mutant(
        fault="a trial that ends while another worker looks is done again",
        file="seq2seq/sweeps/search.py",
        text="if self.study.trials[each.number].state == optuna.trial.TrialState.RUNNING:",
        becomes="if each:",
        tests=["tests/sweeps/test_search.py::test_a_trial_that_ends_while_another_worker_looks_is_not_done_again"],
    ),
    Mutant(
        fault="a sweep that goes on does finished jobs again",
        file="seq2seq/sweeps/sweep.py",
        text="left = [job for job in jobs if not sweep.run(job.name).is_scored]",
        becomes="left = list(jobs)",
        tests=[f"{SWEEP}::test_a_job_that_fails_does_not_stop_the_others_and_is_tried_again_last"],
    ),
    Mutant(
        fault="a job that fails ends the sweep",
        file="seq2seq/sweeps/sweep.py",
        text="if status and not goes_on_after_failure:",
        becomes="if status:",
        tests=[f"{SWEEP}::test_a_job_that_fails_does_not_stop_the_others_and_is_tried_again_last"],
    ),
    Mutant(
        fault="what failed before is tried before what has not begun",
        file="seq2seq/sweeps/sweep.py",
        text="sorted(left, key=lambda job: bool(sweep.error(job.name)))",
        becomes="left",
        tests=[f"{SWEEP}::test_a_job_that_fails_does_not_stop_the_others_and_is_tried_again_last"],
    ),
    Mutant(
        fault="two processes do the jobs of one sweep",
        file="seq2seq/sweeps/sweep.py",
        text="with leased(sweep.lease_file):",
        becomes="if True:",
        tests=[f"{SWEEP}::test_a_sweep_is_done_by_one_process_at_a_time"],
    ),
    Mutant(
        fault="an interrupted job begins anew",
        file="seq2seq/artifacts/sweep_directory.py",
        text="if run.has_checkpoints:\n            return [path_word",
        becomes="if not run:\n            return [path_word",
        tests=[f"{NAMES}::test_a_job_begins_with_its_words_and_goes_on_from_what_it_saved"],
    ),
    Mutant(
        fault="the thousandth job sorts before the second",
        file="seq2seq/artifacts/sweep_directory.py",
        text="max(3, len(str(n_jobs - 1)))",
        becomes="3",
        tests=[f"{NAMES}::test_a_job_is_called_by_its_number_and_by_what_differs"],
    ),
    Mutant(
        fault="a path with a quote is cut off",
        file="seq2seq/config/command.py",
        text=""".replace("'", "\\\\'")""",
        becomes="",
        tests=[f"{NAMES}::test_hydra_reads_any_path"],
    ),
    Mutant(
        fault="a search that goes on draws the same values again",
        file="seq2seq/sweeps/search.py",
        text="seed=self.space.seed * 100_003 + n_begun",
        becomes="seed=self.space.seed",
        tests=[f"{SEARCH}::test_what_is_drawn_depends_on_the_seed_and_the_number_of_a_trial_alone"],
    ),
    Mutant(
        fault="the worst trial is called the best",
        file="seq2seq/sweeps/trial_table.py",
        text="trial.value if space.minimizes else -trial.value",
        becomes="trial.value",
        tests=[f"{SEARCH}::test_a_table_has_the_best_first_and_those_that_did_not_finish_last"],
    ),
    Mutant(
        fault="a trial is compared at other validations than it had",
        file="seq2seq/sweeps/search.py",
        text="start=self._n_reported + 1",
        becomes="start=self._n_reported",
        tests=[f"{SEARCH}::test_trials_are_runs_and_one_that_fails_stops_no_other"],
    ),
    Mutant(
        fault="a loss that is not a number is a result",
        file="seq2seq/sweeps/search.py",
        text="if math.isfinite(value):",
        becomes="if value is not None:",
        tests=[f"{SEARCH}::test_a_value_that_is_no_number_is_a_failure"],
    ),
    Mutant(
        fault="W&B draws a learning rate evenly, not its logarithm",
        file="seq2seq/sweeps/wandb_sweep.py",
        text='{"distribution": "log_uniform_values", **limits}',
        becomes='{"distribution": "uniform", **limits}',
        tests=["tests/sweeps/test_wandb_sweep.py::test_wandb_searches_the_same_space"],
    ),
    Mutant(
        fault="a sweep whose jobs are not all finished ends as if they were",
        file="seq2seq/sweeps/end.py",
        text="    return 2\n",
        becomes="    return 0\n",
        tests=[f"{SWEEP}::test_a_job_that_fails_does_not_stop_the_others_and_is_tried_again_last"],
    ),
    Mutant(
        fault="whole numbers are searched without the step that the space gives",
        file="seq2seq/sweeps/space.py",
        text="step=int(axis.step or 1)",
        becomes="step=1",
        tests=["tests/sweeps/test_space.py::test_a_space_is_one_of_optuna"],
    ),
]
