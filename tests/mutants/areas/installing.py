"""Faults in what is installed."""

from tests.mutants.mutant import Mutant

MUTANTS = [
    Mutant(
        fault="a package that translating needs is installed for training only",
        file="pyproject.toml",
        text='    "omegaconf>=2.3",\n',
        becomes="",
        tests=[
            "tests/test_packaging.py::test_an_exported_model_is_translated_with_the_packages_of_the_extra_ctranslate2",
        ],
    ),
    Mutant(
        fault="a package that is missing is a traceback",
        file="seq2seq/exit_status.py",
        text=", packages_needed():",
        becomes=":",
        tests=["tests/test_packaging.py::test_a_command_that_needs_more_says_how_to_install_it"],
    ),
]
