"""Faults in what a run saves and finds again: checkpoints, what is due, random numbers, files that are whole."""

from tests.mutants.mutant import Mutant

RESUMED = "tests/training/test_resume.py::test_a_continued_run_is_an_unbroken_run"

MUTANTS = [
    Mutant(
        fault="a score of 0 each time uses up the patience",
        file="seq2seq/training/selection.py",
        text="0 if is_best or self.n_alike else",
        becomes="0 if is_best else",
        tests=[
            "tests/training/test_selector.py::test_a_metric_that_never_moves_uses_up_no_patience_and_the_loss_decides"
        ],
    ),
    Mutant(
        fault="a run that lost its patience says that its time was over",
        file="seq2seq/training/milestones.py",
        text="        if self._has_lost_patience():\n            return (\n",
        becomes="        if False:\n            return (\n",
        tests=["tests/training/test_resume.py::test_early_stopping_counts_on"],
    ),
    Mutant(
        fault="how a failed run ended is not kept",
        file="seq2seq/training/run.py",
        text="            tell_ending(run, module, loggers, _why(told))\n",
        becomes="            pass\n",
        tests=["tests/training/test_resume.py::test_early_stopping_counts_on"],
    ),
    Mutant(
        fault="an error in the selection of a resumed run is blamed on its checkpoint",
        file="seq2seq/training/run.py",
        text="module.has_begun = True  # or",
        becomes="pass  # or",
        tests=["tests/training/test_wrong_states.py::test_an_error_after_the_training_is_none_of_the_state"],
    ),
    Mutant(
        fault="the average of weights begins anew when a run is resumed",
        file="seq2seq/training/averaging.py",
        text='self.weights, self.n_updates = dict(state_dict["weights"]), int(state_dict["n_updates"])',
        becomes='self.n_updates = state_dict["n_updates"]',
        tests=[f"{RESUMED}[plain]"],
    ),
    Mutant(
        fault="dropout depends on what was drawn before, not on the position",
        file="seq2seq/training/module.py",
        text="torch.manual_seed(self.config.seed",
        becomes="int(self.config.seed",
        tests=[f"{RESUMED}[plain]"],
    ),
    Mutant(
        fault="a validation that was due is forgotten when a run is stopped",
        file="seq2seq/training/milestones.py",
        text='state_dict["owes_validation"]',
        becomes="False",
        tests=["tests/training/test_milestones.py::test_a_validation_that_was_cut_off_is_made_up_for"],
    ),
    Mutant(
        fault="patience begins anew when a run is resumed",
        file="seq2seq/training/milestones.py",
        text='self.selector.load_state_dict(state_dict["selector"])',
        becomes="pass",
        tests=["tests/training/test_resume.py::test_early_stopping_counts_on"],
    ),
    Mutant(
        fault="patience ends one validation late",
        file="seq2seq/training/selection.py",
        text="return 0 < patience <= self.n_since",
        becomes="return 0 < patience < self.n_since",
        tests=["tests/training/test_selector.py::test_patience_looks_at_the_best_one_alone"],
    ),
    Mutant(
        fault="the best checkpoint has the weights, although their average was measured",
        file="seq2seq/training/selection.py",
        text="return weights | ema.whole_weights() if ema else weights",
        becomes="return weights",
        tests=["tests/training/test_milestones.py::test_what_is_watched_is_what_is_kept_and_chosen"],
    ),
    Mutant(
        fault="a validation that is due at the end of an epoch comes a step later",
        file="seq2seq/training/milestones.py",
        text="step % (self.config.val_every_n_steps or self.data.steps_per_epoch) == 0",
        becomes="step % (self.config.val_every_n_steps or self.data.steps_per_epoch) == 1",
        tests=["tests/training/test_milestones.py::test_validations_are_due_after_whole_steps_in_every_epoch"],
    ),
    Mutant(
        fault="a run that is to stop saves nothing",
        file="seq2seq/training/milestones.py",
        text="if self.stopping or is_time_to_save",
        becomes="if is_time_to_save",
        tests=["tests/training/test_run.py::test_ctrl_c_saves_and_says_how_to_go_on"],
    ),
    Mutant(
        fault="the checkpoint before the last one is not kept",
        file="seq2seq/training/milestones.py",
        text="self.run.keep_previous()",
        becomes="pass",
        tests=[
            "tests/training/test_resume.py"
            "::test_a_crash_and_a_damaged_last_checkpoint_cost_only_the_steps_since_the_one_before"
        ],
    ),
    Mutant(
        fault="a run goes on from its youngest checkpoint, not from the one with the most steps",
        file="seq2seq/artifacts/checkpoint.py",
        text="latest = max(states, key=lambda checkpoint: checkpoint.step)",
        becomes="latest = max(states, key=lambda checkpoint: checkpoint.path.stat().st_mtime)",
        tests=[
            "tests/artifacts/test_checkpoint.py"
            "::test_the_checkpoint_with_the_most_steps_is_continued_and_a_tie_goes_to_the_last"
        ],
    ),
    Mutant(
        fault="a run tries to go on from weights alone",
        file="seq2seq/artifacts/checkpoint.py",
        text="[checkpoint for checkpoint in found if checkpoint.is_state]",
        becomes="found",
        tests=[
            "tests/artifacts/test_checkpoint.py::test_the_checkpoint_with_the_most_steps_is_continued_and_a_tie_goes_to_the_last"
        ],
    ),
    Mutant(
        fault="a flipped bit in a checkpoint is not noticed",
        file="seq2seq/artifacts/checkpoint.py",
        text="if damaged := archive.testzip():",
        becomes="if damaged := None:",
        tests=["tests/artifacts/test_checkpoint.py::test_a_flipped_bit_is_told_from_a_file_that_was_cut_off"],
    ),
    Mutant(
        fault="a file is renamed before it is on disk",
        file="seq2seq/files.py",
        text="            file.flush()\n            os.fsync(file.fileno())\n",
        becomes="            file.flush()\n",
        tests=[
            "tests/test_files.py::test_a_file_is_on_disk_before_it_gets_its_name_and_the_name_before_the_write_is_over"
        ],
    ),
    Mutant(
        fault="a new name is not on disk when the write is over",
        file="seq2seq/files.py",
        text="        unfinished.replace(path)\n    sync_directory(path.parent)\n",
        becomes="        unfinished.replace(path)\n",
        tests=[
            "tests/test_files.py::test_a_file_is_on_disk_before_it_gets_its_name_and_the_name_before_the_write_is_over"
        ],
    ),
    Mutant(
        fault="the files of a folder are not on disk when it gets its name",
        file="seq2seq/files.py",
        text="                    os.fsync(opened.fileno())\n        if replace",
        becomes="                    pass\n        if replace",
        tests=["tests/test_files.py::test_the_files_of_a_folder_are_on_disk_before_it_gets_its_name"],
    ),
    Mutant(
        fault="a signal in the middle of a removal leaves what was to be removed",
        file="seq2seq/files.py",
        text="if self._path.exists():  # a signal",
        becomes="if False:  # a signal",
        tests=["tests/test_files.py::test_a_signal_in_the_middle_of_a_removal_leaves_nothing"],
    ),
    Mutant(
        fault="a file is written in its place, so that half of it can be seen",
        file="seq2seq/files.py",
        text='with unfinished.open("wb") as file:',
        becomes='with path.open("wb") as file:',
        tests=["tests/test_files.py::test_readers_see_the_old_file_until_the_new_one_is_whole"],
    ),
    Mutant(
        fault="an object that was changed passes for sealed",
        file="seq2seq/files.py",
        text="return content.get(_SEAL) == _seal(content)",
        becomes="return _SEAL in content",
        tests=["tests/test_files.py::test_a_sealed_object_is_known_by_its_checksum_after_json_changed_its_types"],
    ),
    Mutant(
        fault="a metric that will be logged again is kept",
        file="seq2seq/training/loggers.py",
        text="if step < resumed_step or",
        becomes="if step <= resumed_step + 1 or",
        tests=["tests/training/test_loggers.py::test_metrics_are_appended_and_cut_at_the_step_that_is_continued"],
    ),
    Mutant(
        fault="two processes may train in one directory",
        file="seq2seq/artifacts/lease.py",
        text="fcntl.LOCK_EX | fcntl.LOCK_NB",
        becomes="fcntl.LOCK_SH | fcntl.LOCK_NB",
        tests=["tests/training/test_claim.py::test_a_run_that_is_at_work_cannot_be_resumed_until_it_ends"],
    ),
    Mutant(
        fault="a new run writes into the directory of another one",
        file="seq2seq/training/run.py",
        text="                check_is_free(run)",
        becomes="                pass",
        tests=["tests/training/test_claim.py"],
    ),
    Mutant(
        fault="a run goes on with other text in valid",
        file="seq2seq/training/data.py",
        text='for split in ("train", "valid"):',
        becomes='for split in ("train",):',
        tests=["tests/training/test_preparation.py"],
    ),
    Mutant(
        fault="parts whose output is there already stay",
        file="seq2seq/translation/parts.py",
        text="(self.is_joined or not self.made()) and",
        becomes="not self.made() and",
        tests=["tests/translation/test_parts.py::test_an_interruption_at_any_change_of_the_file_system_loses_nothing"],
    ),
    Mutant(
        fault="a part whose text has changed is taken for that of the new text",
        file="seq2seq/translation/blocks.py",
        text="text = [(piece.line, piece.source, piece.beside)",
        becomes="text = [(piece.line, piece.beside)",
        tests=["tests/translation/test_parts.py::test_only_what_has_changed_in_the_text_is_made_again"],
    ),
    Mutant(
        fault="a part that is damaged is joined to the others",
        file="seq2seq/translation/parts.py",
        text="if hashlib.sha256(content).hexdigest().encode() != sha256:",
        becomes="if not sha256:",
        tests=["tests/faults/test_hostile_notes.py::test_the_parts_of_a_translation"],
    ),
    Mutant(
        fault="whoever has changed the settings of parts keeps others out",
        file="seq2seq/translation/parts.py",
        text="            _lock(self._file, _AT_WORK, is_shared=True)  # and no longer alone\n",
        becomes="",
        tests=["tests/faults/test_full_disks.py::test_two_equal_commands_at_once_make_one_output"],
    ),
    Mutant(
        fault="a second Ctrl-C waits for the step as the first one does",
        file="seq2seq/training/processes.py",
        text="if self.received == signal.SIGINT and number in (signal.SIGINT, signal.SIGTERM):",
        becomes="if self.received == signal.SIGTERM == number:",
        tests=["tests/training/test_run.py::test_a_second_interrupt_stops_at_once"],
    ),
    Mutant(
        fault="the steps of an earlier start do not count",
        file="seq2seq/training/module.py",
        text='self.n_steps = checkpoint["global_step"]',
        becomes="self.n_steps = 0",
        tests=[f"{RESUMED}[plain]"],
    ),
    Mutant(
        fault="the experiment that a page shows does not go on when it is started again",
        file="docs/python.md",
        text=', "resume=auto"]',
        becomes="]",
        tests=["tests/test_python.py::test_the_experiment_of_the_page_runs_in_an_empty_folder_and_goes_on"],
    ),
]
