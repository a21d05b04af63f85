"""Faults in what `hours=H` chooses."""

from tests.mutants.mutant import Mutant

RECIPE, TESTS = "seq2seq/training/recipe.py", "tests/training/test_recipe.py"

MUTANTS = [
    Mutant(
        fault="a wider model is taken though it sees too little text in the time",
        file=RECIPE,
        text="(slower := _measured(sized(wider), measure)).tokens_per_s < least_speed",
        becomes="(slower := _measured(sized(wider), measure)).tokens_per_s < 0",
        tests=[f"{TESTS}::test_more_text_and_more_time_get_a_wider_model_and_more_subwords"],
    ),
    Mutant(
        fault="dropout does not ask how often the text is seen",
        file=RECIPE,
        text="_up_to(DROPOUT, n_epochs)",
        becomes="_up_to(DROPOUT, 20)",
        tests=[f"{TESTS}::test_what_is_seen_more_often_has_more_dropout"],
    ),
    Mutant(
        fault="a text that is soon learned by heart has large batches, as if there were time for many steps",
        file=RECIPE,
        text='values["trainer.max_epochs"] or math.inf)',
        becomes="math.inf)",
        tests=[f"{TESTS}::test_where_there_is_time_for_few_steps_each_is_smaller"],
    ),
    Mutant(
        fault="no time is left for selection and tests",
        file=RECIPE,
        text="min(max(hours * 3600 - seconds_after(found) - spent(), least), most)",
        becomes="hours * 3600",
        tests=[
            f"{TESTS}::test_the_time_is_that_of_training_and_of_what_follows",
            f"{TESTS}::test_long_tests_leave_less_time_for_training_but_half_of_it",
        ],
    ),
    Mutant(
        fault="what the command sets is chosen all the same",
        file=RECIPE,
        text='return given.isdisjoint((key, key.partition(".")[0]))',
        becomes="return bool(key)",
        tests=[f"{TESTS}::test_a_run_takes_its_keys_from_the_hours_and_keeps_them"],
    ),
]
