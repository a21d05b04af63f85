"""The command line with a random and with a trained model."""

from tests.commands.conftest import cli, run_dir, trained  # noqa: F401
