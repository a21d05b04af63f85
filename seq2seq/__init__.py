"""Train Transformer translation models on parallel text, translate files with them, track the experiments."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from seq2seq.translation.translator import Translator

__version__ = "0.1.0"


def load(path: Any, **options: Any) -> "Translator":
    """The translator of a trained model: `seq2seq.translation.translator.Translator.load`, which says what it takes."""
    from seq2seq.translation.translator import Translator  # torch takes seconds to import

    return Translator.load(path, **options)
