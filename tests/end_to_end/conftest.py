"""The command line with a random and with a trained model."""

from tests.commands.conftest import cli, trained  # noqa: F401
