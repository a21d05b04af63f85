"""Faults in what a run says of itself: where it comes from, to W&B and on disk."""

from tests.mutants.mutant import Mutant

SHIPPING = "tests/training/test_shipping.py"
ONLINE = "tests/training/test_online.py"
ACCESS = "tests/artifacts/test_wandb_access.py"
ADDRESSES = "tests/end_to_end/test_corpora_by_name.py::test_no_secret_of_an_address_is_kept_or_shown"

MUTANTS = [
    Mutant(
        fault="a secret in the words of a command is noted",
        file="seq2seq/masking.py",
        text='word = f"{name}={MASK}"',
        becomes="pass",
        tests=["tests/test_masking.py::test_secrets_in_words_are_masked"],
    ),
    Mutant(
        fault="the rest of a password with an @ is taken for the host",
        file="seq2seq/masking.py",
        text=r"://(?:[^/?#\s]*@",
        becomes=r"://(?:[^/?#\s@]*@",
        tests=["tests/test_masking.py::test_secrets_in_text_are_masked"],
    ),
    Mutant(
        fault="an error tells the password of an address",
        file="seq2seq/errors.py",
        text='masked("\\n".join(',
        becomes='str("\\n".join(',
        tests=["tests/test_masking.py::test_an_error_does_not_tell_the_secret_that_it_quotes"],
    ),
    Mutant(
        fault="a run keeps the password of an address in its configuration",
        file="seq2seq/config/read.py",
        text="masked_addresses(dataclasses.asdict(config))",
        becomes="dataclasses.asdict(config)",
        tests=[ADDRESSES],
    ),
    Mutant(
        fault="the data report has the password of an address",
        file="seq2seq/corpus/named/fetch.py",
        text='Origin(masked(name), "")',
        becomes='Origin(name, "")',
        tests=[ADDRESSES],
    ),
    Mutant(
        fault="a resumed run refuses the address with the password that it did not keep",
        file="seq2seq/training/composed.py",
        text="(masked_addresses(value_of(each, key)) for each",
        becomes="(value_of(each, key) for each",
        tests=[ADDRESSES],
    ),
    Mutant(
        fault="of two downloads whose addresses differ in their secrets, any one is taken",
        file="seq2seq/corpus/named/library.py",
        text="if len(found) != 1:",
        becomes="if not found:",
        tests=["tests/corpus/named/test_library.py"],
    ),
    Mutant(
        fault="a sweep writes the password of an address down",
        file="seq2seq/artifacts/sweep_directory.py",
        text='isinstance(content, str) and "${" not in content',
        becomes='isinstance(content, str) and "${" in content',
        tests=["tests/artifacts/test_sweep_directory.py::test_no_secret_is_written_down"],
    ),
    Mutant(
        fault="W&B gets the words of the command with their secrets",
        file="seq2seq/training/trackers.py",
        text="[words[0], *masked_words(words[1:])]",
        becomes="list(words)",
        tests=[f"{SHIPPING}::test_a_run_shows_what_it_came_from_and_what_it_made"],
    ),
    Mutant(
        fault="a resumed run forgets its first start",
        file="seq2seq/artifacts/provenance.py",
        text='[*before.get("starts", []), start]',
        becomes="[start]",
        tests=["tests/artifacts/test_provenance.py::test_each_start_is_appended"],
    ),
    Mutant(
        fault="a folder ./wandb is taken for the package",
        file="seq2seq/artifacts/wandb_access.py",
        text="spec is None or spec.origin is None",
        becomes="spec is None",
        tests=["tests/training/test_loggers.py::test_a_folder_of_former_runs_is_not_the_package"],
    ),
    Mutant(
        fault="an empty WANDB_MODE costs a run its tracker",
        file="seq2seq/artifacts/wandb_access.py",
        text='if name.startswith("WANDB_") and not value]:',
        becomes='if name == "" and not value]:',
        tests=["tests/training/test_loggers.py::test_variables_that_are_empty_are_not_set"],
    ),
    Mutant(
        fault="W&B asks for a key",
        file="seq2seq/artifacts/wandb_access.py",
        text='"offline" if mode == "online" and not has_credentials() else mode',
        becomes="mode",
        tests=[f"{ONLINE}::test_each_run_is_tracked_online_or_else_offline[no key-works-online]"],
    ),
    Mutant(
        fault="a resumed run that cannot go online is not tracked, since its id is in use",
        file="seq2seq/training/loggers.py",
        text="            end_service()\n",
        becomes="",
        tests=[f"{ONLINE}::test_each_run_is_tracked_online_or_else_offline[wrong key-works-online]"],
    ),
    Mutant(
        fault="a server that hangs holds up the end of a run",
        file="seq2seq/artifacts/wandb_access.py",
        text="        finish_timeout_raises=True,\n",
        becomes="",
        tests=[f"{ONLINE}::test_a_server_that_fails_in_the_middle_costs_nothing"],
    ),
    Mutant(
        fault="a question to the server hangs with the run that this process tracks",
        file="seq2seq/artifacts/wandb_access.py",
        text='("WANDB_MODE", "WANDB_SERVICE")',
        becomes='("WANDB_MODE",)',
        tests=[f"{ACCESS}::test_a_question_does_not_depend_on_the_service_of_a_run"],
    ),
    Mutant(
        fault="a key for W&B's own service counts only under its former name",
        file="seq2seq/artifacts/wandb_access.py",
        text="else [_host(), _FORMER_HOST]",
        becomes="else [_FORMER_HOST]",
        tests=["tests/training/test_loggers.py::test_the_mode_is_known_before_anything_is_asked"],
    ),
    Mutant(
        fault="a downloaded model may have files of other places",
        file="seq2seq/artifacts/wandb_questions.py",
        text="entry.ref is not None or not is_model_file(name)",
        becomes="not is_model_file(name)",
        tests=[f"{ACCESS}::test_nothing_comes_from_or_goes_to_another_place"],
    ),
    Mutant(
        fault="a download is given up although more of it comes",
        file="seq2seq/artifacts/wandb_access.py",
        text="size, alive = now, time.monotonic()",
        becomes="size = now",
        tests=[f"{ACCESS}::test_a_download_is_waited_for_as_long_as_more_comes"],
    ),
]
