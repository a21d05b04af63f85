"""The model itself, to look inside: in float32, so that numbers do not depend on the hardware."""

from seq2seq.artifacts.trained_model import TrainedModel
from seq2seq.errors import ConfigError
from seq2seq.inspection.attention_kinds import Kind
from seq2seq.model.attention import MultiHeadAttention
from seq2seq.model.transformer import Transformer
from seq2seq.translation.engines import Engine
from seq2seq.translation.engines.load import load_engine
from seq2seq.translation.engines.pytorch import PyTorchEngine
from seq2seq.translation.options import EngineOptions


def engine_of_one_model(engine: Engine, what: str) -> PyTorchEngine:
    """The engine, if one can look inside its model.

    Args:
        what: of the model, for messages.
    Raises:
        ConfigError: CTranslate2 searches, or several models do.
    """
    if not isinstance(engine, PyTorchEngine):
        raise ConfigError(f"CTranslate2 does not tell {what}; use engine=torch")
    if len(engine.models) > 1:
        raise ConfigError(f"each model of an ensemble has its own answer to {what}; give one model")
    return engine


def torch_model(trained: TrainedModel, device: str = "auto") -> Transformer:
    """The model on its device, ready for a search.

    Raises:
        CheckpointError: it has no weights for PyTorch.
        ConfigError: several devices are named.
        TranslationError: there is no such device.
    """
    engine = load_engine([trained], EngineOptions(engine="torch", device=device, precision="float32", workers=1))
    assert isinstance(engine, PyTorchEngine)
    return engine.models[0]


def attention_modules(model: Transformer) -> dict[Kind, list[MultiHeadAttention]]:
    """The modules of each kind in which the model attends, in the order of the layers."""
    return {
        "encoder": [layer.self_attention for layer in model.encoder.layers],
        "decoder": [layer.self_attention for layer in model.decoder.layers],
        "cross": [layer.cross_attention for layer in model.decoder.layers],
    }
