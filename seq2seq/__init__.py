"""Train Transformer translation models on parallel text, translate files with them, track the experiments."""

__version__ = "0.1.0"
