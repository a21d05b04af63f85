"""Give Weights & Biases what stayed here of runs and sweeps:  python -m seq2seq wandb sync RUN_DIR"""

import argparse

from seq2seq.commands import add_commands
from seq2seq.commands.wandb import sync

SUBCOMMANDS = {"sync": sync}


def add_options(parser: argparse.ArgumentParser) -> None:
    parser.description = "Upload what runs recorded offline."
    add_commands(parser, {"sub-commands": SUBCOMMANDS})
