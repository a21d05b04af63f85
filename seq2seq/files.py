"""Where the files that travel with the code are: the configuration tree and the bundled corpora."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parent


def _shipped(name: str) -> Path:
    """`name` beside the package in a source checkout, inside the package in an installed wheel."""
    checkout = _PACKAGE.parent
    return (checkout if (checkout / "pyproject.toml").is_file() else _PACKAGE) / name


def conf_dir() -> Path:
    """The Hydra configuration tree."""
    return _shipped("conf")


def bundled_corpus(name: str) -> Path:
    """Directory of a corpus that ships with the project; it may not exist."""
    return _shipped("data") / name
