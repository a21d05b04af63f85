"""Faults of sweeps and searches: jobs that are lost, done twice or called the same, and draws that repeat."""

from tests.mutants.mutant import Mutant

SWEEP = "tests/sweeps/test_multirun.py"
SEARCH = "tests/sweeps/test_search.py"
NAMES = "tests/artifacts/test_sweep_directory.py"

MUTANTS = [
    Mutant(
        fault="another worker looks for a trial while one tells how its trial ended",
        file="seq2seq/sweeps/search.py",
        text="with self._search.alone():",
        becomes="if True:",
        tests=[f"{SEARCH}::test_how_a_trial_ended_is_told_while_no_other_worker_looks"],
    ),
    Mutant(
        fault="a sweep that goes on does finished jobs again",
        file="seq2seq/sweeps/multirun.py",
        text="    if run.is_scored:\n",
        becomes="    if not run:\n",
        tests=[f"{SWEEP}::test_the_same_command_goes_on_and_a_job_that_fails_stops_no_other"],
    ),
    Mutant(
        fault="the jobs of a sweep are called by all that they have in common",
        file="seq2seq/sweeps/multirun.py",
        text="sorted(fixed | {'run_dir'})",
        becomes="['run_dir']",
        tests=[f"{SWEEP}::test_what_a_command_says_twice_counts_once"],
    ),
    Mutant(
        fault="a sweep that is refused has begun",
        file="seq2seq/sweeps/multirun.py",
        text="    with_hydra(first, check)\n",
        becomes="    with_hydra(['experiment=demo'], check)\n",
        tests=[f"{SWEEP}::test_what_no_sweep_can_do_is_told_before_it_does_anything"],
    ),
    Mutant(
        fault="an interrupted trial does not go on",
        file="seq2seq/sweeps/search.py",
        text=', f"resume={AUTO}"]',
        becomes="]",
        tests=["tests/faults/test_stopped_sweeps.py::test_an_interrupted_search_goes_on_with_what_it_left"],
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
        text="seed=(self.space.seed * 100_003 + n_begun) % 2**32",
        becomes="seed=self.space.seed",
        tests=[f"{SEARCH}::test_what_is_drawn_depends_on_the_seed_and_the_number_of_a_trial_alone"],
    ),
    Mutant(
        fault="the worst trial is called the best",
        file="seq2seq/sweeps/trial_table.py",
        text="value if space.minimizes else -value",
        becomes="value",
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
        fault="a sweep whose jobs are not all finished ends as if they were",
        file="seq2seq/sweeps/multirun.py",
        text="resume={sweep.path}')}\")\n    return 2\n",
        becomes="resume={sweep.path}')}\")\n    return 0\n",
        tests=[f"{SWEEP}::test_the_same_command_goes_on_and_a_job_that_fails_stops_no_other"],
    ),
    Mutant(
        fault="a search begins with values that a key cannot have",
        file="seq2seq/commands/search.py",
        text="composed([*words, *sample])",
        becomes="composed(words)",
        tests=[f"{SEARCH}::test_a_value_that_a_key_cannot_have_is_told_before_any_trial"],
    ),
]
