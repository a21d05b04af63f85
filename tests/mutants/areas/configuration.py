"""Faults in what a run may be told: what resuming may change, and what somebody else's files may say."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="a resumed run takes another value of a key that decides what is computed",
        file="seq2seq/training/composition.py",
        text="if old != new and mark == IDENTITY:",
        becomes="if old != new and mark is None:",
        tests=["tests/training/test_resume.py::test_the_command_that_resumes"],
    ),
    Mutant(
        fault="a key without a mark may change when a run is resumed",
        file="seq2seq/config/on_resume.py",
        text='prefix: str = "", mark: str = IDENTITY)',
        becomes='prefix: str = "", mark: str = RUNTIME)',
        tests=["tests/test_docs.py::test_what_may_change_on_resume_is_documented"],
    ),
    Mutant(
        fault="a stored configuration is told what the environment holds",
        file="seq2seq/config/read.py",
        text="if found := list(_looked_up(plain)):",
        becomes="if found := []:",
        tests=["tests/config/test_config.py::test_what_is_stored_is_never_looked_up"],
    ),
    Mutant(
        fault="a key that does not exist is ignored",
        file="seq2seq/config/read.py",
        text="OmegaConf.merge(_schema(), plain)",
        becomes="OmegaConf.merge(_schema(), {key: plain[key] for key in plain if hasattr(RunConfig(), str(key))})",
        tests=["tests/config/test_config.py::test_unknown_keys_and_wrong_types_are_named"],
    ),
    Mutant(
        fault="the name of a test set leads out of its folder",
        file="seq2seq/config/checks.py",
        text='part and not part.startswith(".") and len',
        becomes="part and len",
        tests=["tests/config/test_config.py::test_a_name_that_becomes_a_path_stays_in_its_folder"],
    ),
    Mutant(
        fault="a language leads out of its folder",
        file="seq2seq/config/checks.py",
        text=r"""if not re.fullmatch(r"\w[\w.-]{0,40}", name):""",
        becomes=r"""if not re.match(r"\w[\w.-]{0,40}", name):""",
        tests=["tests/config/test_config.py::test_a_language_that_cannot_end_a_file_name_is_refused"],
    ),
    Mutant(
        fault="a model directory is read without a look at its checksums",
        file="seq2seq/artifacts/model_directory.py",
        text="        if not is_whole:\n            raise",
        becomes="        if is_whole is None:\n            raise",
        tests=["tests/artifacts/test_model_directory.py::test_a_file_that_differs_from_its_checksum_is_named"],
    ),
    Mutant(
        fault="a checkpoint of another version is read as if it were of this one",
        file="seq2seq/artifacts/checkpoint.py",
        text="if not isinstance(version, int) or not OLDEST_VERSION <= version <= FORMAT_VERSION:",
        becomes="if not isinstance(version, int):",
        tests=["tests/artifacts/test_checkpoint.py::test_another_format_version_is_refused_by_its_number"],
    ),
    Mutant(
        fault="a checkpoint of a few bytes fills the memory when it is read",
        file="seq2seq/artifacts/checkpoint.py",
        text='"GLOBAL" in operation.name and',
        becomes="False and",
        tests=["tests/faults/test_hostile_files.py::test_a_small_checkpoint_that_would_fill_the_memory"],
    ),
    Mutant(
        fault="nested lists that are one list make a small checkpoint endless",
        file="seq2seq/artifacts/checkpoint.py",
        text="if address in seen:",
        becomes="if False:",
        tests=["tests/faults/test_hostile_files.py::test_a_small_checkpoint_that_would_fill_the_memory"],
    ),
    Mutant(
        fault="nested aliases make a small config.yaml endless",
        file="seq2seq/artifacts/run_directory.py",
        text="isinstance(event, yaml.AliasEvent)",
        becomes="False",
        tests=["tests/reports/test_compare.py::test_what_is_not_a_finished_run_is_refused"],
    ),
    Mutant(
        fault="a pair may be joined with the next one and with the next two",
        file="seq2seq/config/augment.py",
        text='(("upper", "title", "lower"), ("join", "join3"))',
        becomes='(("upper", "title", "lower"),)',
        tests=["tests/config/test_config.py::test_values_that_cannot_work_are_refused"],
    ),
    Mutant(
        fault="the number of compiled products that a user chose is replaced",
        file="seq2seq/hardware.py",
        text='os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "4096")',
        becomes='os.environ["ONEDNN_PRIMITIVE_CACHE_CAPACITY"] = "4096"',
        tests=["tests/test_hardware.py::test_a_number_of_compiled_products_that_the_user_chose_is_kept"],
    ),
]
